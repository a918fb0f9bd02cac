# SPDX-License-Identifier: Apache-2.0
"""How fast near-storage commands look at data, and what crosses the link meanwhile, beside Reads of the same blocks;
and how fast those that store take them to other blocks, beside a Read and a Write.

./doorbell python examples/near_storage.py
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from doorbell.compute import near
from doorbell.compute.drive import load_key
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Csv, Filter, Grep, Hash, Hashed, HashStep, Predicate
from doorbell.device import open_sim
from doorbell.nvme import Command, Driver, HostMemory, NvmOpc
from doorbell.nvme.cmb import map_cmb
from doorbell.nvme.memory import Buffer
from doorbell.nvme.vendor import NearComparison, NearDigest

DEPTH_BYTES = 256 << 10
"""Under way at once: so many bytes, but at least 4 commands."""
TOTAL = 2 << 20
SIZES = (4096, 16384, 65536, 1 << 20)
BEHIND = 8 << 20
"""Where what is stored goes, behind what is read."""
KEY_SLOT = 1


class Row(NamedTuple):
    what: str
    size: int
    gb_per_s: float  # of the media's data
    to_host: float  # bytes of payload to the host for each byte of data


def rate(drive: Driver, what: str, size: int, send: Callable[[int], Command]) -> Row:
    """TOTAL bytes in commands of `size`; send: one, at a block. The first ones do not count."""
    depth, count = max(4, DEPTH_BYTES // size), TOTAL // size
    count += depth
    sent = ended = 0
    begin = end = 0.0
    payload = 0
    under_way: set[Command] = set()
    while ended < count:
        while sent < count and len(under_way) < depth:
            under_way.add(send(sent * size % TOTAL // drive.block_size))
            sent += 1
        drive.ring()
        for command in drive.step():
            command.check()
            assert command.buffer is not None
            command.buffer.free()
            under_way.discard(command)
            ended += 1
            if ended == depth // 2:
                begin, payload = drive.sim.ns, drive.sim.counters()["up.MWr.payload"]
        end = drive.sim.ns
    data = (count - depth // 2) * size
    return Row(what, size, data / (end - begin), (drive.sim.counters()["up.MWr.payload"] - payload) / data)


def digests(drive: Driver, messages: int = 16, bytes_each: int = 64 << 10, part: int = 8192) -> Row:
    """SHA-256 of so many messages at once, from first command to last digest; each has one command under way."""
    for number in range(near.PROGRAMS):
        near.load(drive, number, Hash().program())
    data = drive.read(0, messages * bytes_each // drive.block_size)
    found = dict.fromkeys(range(messages), Hashed(0, False, None))
    begin, payload = drive.sim.ns, drive.sim.counters()["up.MWr.payload"]

    def send(n: int) -> Command:
        at = found[n].taken
        length = min(part, bytes_each - at)
        steps = HashStep.BEGIN if at == 0 else HashStep(0)
        steps |= HashStep.END if at + length == bytes_each else HashStep(0)
        if found[n].ended:
            at, length, steps = 0, 1, HashStep.ASK
        block, skip = divmod(n * bytes_each + at, drive.block_size)
        length += skip
        return near.submit(
            drive, n % near.PROGRAMS, block, -(-length // drive.block_size), length=length, room=64,
            phase=near.message_phase(steps, n // near.PROGRAMS, skip // near.BLOCK_BYTES),
        )  # fmt: skip

    under_way = {send(n): n for n in found}
    while under_way:
        drive.ring()
        for command in drive.step():
            n = under_way.pop(command)
            buffer = command.check().buffer
            assert buffer is not None
            found[n] = Hashed.of(buffer.read())
            buffer.free()
            if found[n].digest is None:
                under_way[send(n)] = n
    size = messages * bytes_each
    assert all(h.digest == hashlib.sha256(data[n * bytes_each :][:bytes_each]).digest() for n, h in found.items())
    to_host = (drive.sim.counters()["up.MWr.payload"] - payload) / size
    return Row(f"SHA-256, {messages} messages", part, size / (drive.sim.ns - begin), to_host)


def measure(sizes: tuple[int, ...] = SIZES, **options: object) -> list[Row]:
    """options: of open_sim, in place of a 256-bit drive on Gen3 x8."""
    wanted = {"top": "db_csd", "data_w": 256, "link": "gen3x8", "params": {"NEAR": 1, "NEAR_SLOTS": 0x63211}}
    sim = open_sim("rtl", **wanted | {"media_size": 16 << 20} | options)  # type: ignore[arg-type]
    drive = Driver(sim, HostMemory(64 << 20))
    drive.start(queues=1, entries=256)
    text = "".join(f"{i} {random.Random(i).getrandbits(100):x}\n" for i in range(40_000)).encode()[: TOTAL // 2]
    for at in range(0, TOTAL, 65536):
        drive.write(at // drive.block_size, (text * 2)[at : at + 65536])
    half = Predicate(ColumnType.U8, 0, NearComparison.LESS, ord("7"))  # the text has digits, letters, spaces
    column = Aggregate(ColumnType.I32, 16, 4)
    programs: dict[str, near.Program] = {
        "Grep, counts": Grep((b"no such line", b"nor this one")),
        "Grep, says where": Grep((b"a", b"b", b"c"), where=True),  # nearly each line: what costs most
        "Aggregate": column,
        "Filter and Aggregate": Filter(16, (half,), behind=column),
        "Csv": Csv(0, ord(" ")),
        "Filter and Grep": Filter(16, (half,), behind=Grep((b"no such line", b"nor this one"))),
        "Filter, half passes": Filter(16, (half,)),
        "Filter, a column": Filter(16, (half,), columns=((4, 4),)),
        "CRC-32C": Hash(NearDigest.CRC32C),
        "Decrypt, Filter, Aggregate": Crypt(KEY_SLOT, behind=Filter(16, (half,), behind=column)),
        "Grep, lines": Grep((b"ab",), lines=True),  # one of ten
        "Grep and Csv": Grep((b"ab",), lines=True, behind=Csv(0, ord(" "))),
        "Grep, Grep, Csv": Grep((b"ab",), lines=True, behind=Grep((b"f",), lines=True, behind=Csv(0, ord(" ")))),
    }
    load_key(drive, KEY_SLOT, bytes(range(32)), bytes(range(32, 64)))
    rows = []
    for size in sizes:
        blocks = size // drive.block_size

        def read(at: int, blocks: int = blocks) -> Command:
            return drive.submit(1, NvmOpc.READ, at, blocks - 1, drive.buffer(blocks * drive.block_size))

        rows.append(rate(drive, "Read", size, read))
        for n, (name, program) in enumerate(programs.items()):
            if size > near.longest(program):
                continue
            number, room = n % near.PROGRAMS, 64
            near.load(drive, number, program.program())
            if isinstance(program, Grep) and program.where:
                room = size // 2
            if isinstance(program, Grep) and program.lines and not program.behind:
                room = size // 4
            if isinstance(program, Filter) and not program.behind:
                room = size * program.packed // program.record

            def ask(at: int, number: int = number, room: int = room, blocks: int = blocks) -> Command:
                return near.submit(drive, number, at, blocks, room=room)

            rows.append(rate(drive, name, size, ask))
    rows.append(digests(drive))
    sim.close()
    return rows


class Stored(NamedTuple):
    what: str
    size: int
    gb_per_s: float  # of what is read
    on_link: float  # bytes of payload, both ways, for each byte that is read


def moved(drive: Driver, what: str, size: int, send: Callable[[int], Command], writes: bool = False) -> Stored:
    """TOTAL bytes, `size` a command; send: one, from a block on. writes: what it reads is written then."""
    depth, blocks = max(4, DEPTH_BYTES // size), size // drive.block_size
    begin, before = drive.sim.ns, drive.sim.counters()
    starts = iter(range(0, TOTAL // drive.block_size, blocks))
    under_way = {send(at) for at in islice(starts, depth)}
    while under_way:
        drive.ring()
        for command in drive.step():
            under_way.remove(command.check())
            if writes and command.opcode == NvmOpc.READ:
                at = BEHIND // drive.block_size + command.slba
                under_way.add(drive.submit(1, NvmOpc.WRITE, at, blocks - 1, command.buffer))
                continue
            if command.buffer is not None:
                command.buffer.free()
            under_way |= {send(at) for at in islice(starts, 1)}
    after = drive.sim.counters()
    payload = sum(after[n] - before[n] for n in ("up.MWr.payload", "down.CplD.payload"))
    return Stored(what, size, TOTAL / (drive.sim.ns - begin), payload / TOTAL)


def stored(sizes: tuple[int, ...] = SIZES, **options: object) -> list[Stored]:
    """From blocks to others: by a host that reads and writes, by commands that store; and what is looked at in memory.

    options: as of `measure`.
    """
    wanted = {"top": "db_csd", "data_w": 256, "link": "gen3x8", "params": {"NEAR": 1, "CMB_LOG2": 23}}
    sim = open_sim("rtl", **wanted | {"media_size": 16 << 20} | options)  # type: ignore[arg-type]
    drive = Driver(sim, HostMemory(64 << 20))
    drive.start(queues=1, entries=256)
    card = map_cmb(drive, 1 << 40)
    data = random.Random(7).randbytes(TOTAL)
    for at in range(0, TOTAL, 65536):
        drive.write(at // drive.block_size, data[at : at + 65536])
    load_key(drive, KEY_SLOT, bytes(range(32)), bytes(range(32, 64)))
    near.load(drive, 0, Crypt(KEY_SLOT, encrypt=True).program())
    near.load(drive, 1, Filter(16, (Predicate(ColumnType.U8, 0, NearComparison.LESS, 96),)).program())
    near.load(drive, 2, Aggregate(ColumnType.I32, 16, 4).program())

    def read(size: int) -> Callable[[int], Command]:
        return lambda at: drive.submit(1, NvmOpc.READ, at, size // drive.block_size - 1, drive.buffer(size))

    def store(number: int, size: int, room: int, memory: HostMemory) -> Callable[[int], Command]:
        blocks, behind = size // drive.block_size, BEHIND // drive.block_size
        return lambda at: near.submit(
            drive, number, at, blocks, room=room, to=behind + at, buffer=Buffer(memory, room)
        )  # fmt: skip

    def look(held: Buffer, size: int) -> Callable[[int], Command]:
        blocks = size // drive.block_size
        return lambda at: near.submit(drive, 2, 0, blocks, room=64, source=held.address + at * drive.block_size)

    held = [(Buffer(memory, TOTAL), where) for memory, where in ((drive.memory, "host"), (card, "card"))]
    for buffer, _ in held:
        buffer.write(data)
    rows = []
    for size in sizes:
        rows.append(moved(drive, "Read, then Write", size, read(size), writes=True))
        for memory, where in ((drive.memory, "host memory"), (card, "card memory")):
            rows.append(moved(drive, f"Encrypt, in {where}", size, store(0, size, size, memory)))
            rows.append(moved(drive, f"Filter, in {where}", size, store(1, size, size // 2, memory)))
        for buffer, where in held:
            rows.append(moved(drive, f"Aggregate of {where} memory", size, look(buffer, size)))
    sim.close()
    return rows


if __name__ == "__main__":
    print(f"{'':27} {'size':>8} {'GB/s':>7} {'to host':>9}")
    for row in measure():
        print(f"{row.what:27} {row.size:8} {row.gb_per_s:7.2f} {row.to_host:8.1%}")
    print(f"\n{'to other blocks':33} {'size':>8} {'GB/s':>7} {'on the link':>12}")
    for move in stored():
        print(f"{move.what:33} {move.size:8} {move.gb_per_s:7.2f} {move.on_link:11.1%}")
