# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_hash with all below it: digests of messages that come in parts, CRC-32C, turns of functions, rates."""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cocotb
import cryptography_vectors
import pytest
import rtl_bench as bench
from doorbell.compute.near import BLOCK_BYTES, Hash, Hashed, HashStep, crc32c, message_phase
from doorbell.nvme.vendor import NearDigest
from near_packets import Packet, WordBench, reset
from near_words import words
from rtl_bench import WIDTHS, rare, rounds
from streams import start
from structs import layout

PARAM = layout("db_csd_near_pkg", "near_param_t")
CORES, PLACES, DATA_W = (int(os.environ.get(name, 1)) for name in ("CORES", "NUM_FN", "DATA_W"))
BUFFER, TURN_CYCLES = 1024, 4000
BLOCK_CYCLES = 65
DRAIN_CYCLES = BUFFER // BLOCK_BYTES * BLOCK_CYCLES
FILL_CYCLES = CORES * (BUFFER * 8 // DATA_W + 11)
"""Of all buffers, by one packet each."""
BEGIN, END, ASK = HashStep.BEGIN, HashStep.END, HashStep.ASK


class Bench(WordBench):
    """Packets in, their results out."""

    def __init__(self, dut: Any, rng: random.Random, stall: float = 0.0) -> None:
        super().__init__(dut, rng, stall, 4)

    async def load(self, digest: NearDigest) -> None:
        for addr, data in list(enumerate(words(Hash(digest), 0)))[1:]:
            self.dut.s_param.value = PARAM.pack(addr=addr, data=data)
            self.dut.s_param_valid.value = 1
            await self.step()
        self.dut.s_param_valid.value = 0

    async def forget(self, owner: int) -> None:
        self.dut.s_forget_owner.value = owner
        self.dut.s_forget.value = 1
        await self.step()
        self.dut.s_forget.value = 0
        await self.step()

    async def run(self, packets: list[Packet], owner: int = 0) -> list[Hashed]:
        self.got.clear()
        self.queue(packets, owner)
        await self.results(len(packets))
        assert len(self.got) == len(packets)
        return [Hashed.of(result) for result in self.got]

    async def one(self, data: bytes, steps: HashStep, owner: int = 0, message: int = 0, skip: int = 0) -> Hashed:
        return (await self.run([(data, message_phase(steps, message, skip))], owner))[0]

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()


class Message:
    """One that is brought in parts as a host does it: what was not taken comes again."""

    def __init__(self, b: Bench, data: bytes, owner: int, number: int, most_skip: int = 0) -> None:
        self.b, self.data, self.owner, self.number, self.most_skip = b, data, owner, number, most_skip
        self.taken, self.ended, self.digest = 0, False, None  # type: int, bool, bytes | None
        self.refused = 0  # times, one behind the other

    async def part(self, most: int) -> None:
        """The next so many bytes, or a question for the digest."""
        skip = self.b.rng.randint(0, self.most_skip)
        data = self.data[self.taken : self.taken + most]
        steps = (BEGIN if self.taken == 0 else HashStep(0)) | (
            END if self.taken + len(data) == len(self.data) else HashStep(0)
        )
        if self.ended:
            data, steps = b"x", ASK
        found = await self.b.one(bytes(BLOCK_BYTES * skip) + data, steps, self.owner, self.number, skip)
        more = found.taken - self.taken
        whole = len(data) if END in steps else len(data) // BLOCK_BYTES * BLOCK_BYTES
        assert more == 0 if self.ended else more == whole or (0 <= more < whole and more % BLOCK_BYTES == 0)
        assert found.ended == (found.taken == len(self.data))
        self.taken, self.ended, self.digest = found.taken, found.ended, found.digest
        self.refused = self.refused + 1 if whole and not more else 0
        if self.digest is not None:
            assert self.ended
            assert self.digest == hashlib.sha256(self.data).digest(), (len(self.data), self.owner, self.number)

    async def all(self, most: int = BUFFER // 2) -> None:
        for _ in range(100 + len(self.data)):
            await self.part(most)
            if self.digest is not None:
                return
            await self.b.wait(self.b.rng.randrange(2 * BLOCK_CYCLES))
        raise AssertionError("no digest")


async def begin(dut: Any, seed: int, stall: float = 0.0, digest: NearDigest = NearDigest.SHA256) -> Bench:
    await start(dut, s_param_valid=0, s_param=0, s_forget=0, s_forget_owner=0)
    b = Bench(dut, random.Random(seed), stall)
    await b.load(digest)
    return b


def published() -> Iterable[tuple[bytes, bytes]]:
    """Messages of whole bytes and their digests (NIST CAVP), shortest first."""
    folder = Path(cryptography_vectors.__file__).parent / "hashes" / "SHA2"
    for file in ("SHA256ShortMsg.rsp", "SHA256LongMsg.rsp"):
        for bits, message, digest in re.findall(r"Len = (\d+)\s+Msg = (\w+)\s+MD = (\w+)", (folder / file).read_text()):
            if int(bits):
                yield bytes.fromhex(message), bytes.fromhex(digest)


@cocotb.test()
async def published_messages(dut: Any) -> None:
    b = await begin(dut, 1)
    every = list(published())
    assert len({len(message) % BLOCK_BYTES for message, _ in every}) == BLOCK_BYTES
    for message, digest in every[:: rounds(1, 3)]:
        m = Message(b, message, 0, 0)
        await m.all()
        assert m.digest == digest


def sha256_of_length(blocks: int, end: bytes) -> bytes:
    """FIPS 180-4's digest of one block of zeros and `end`, padded with the length of so many blocks and `end`."""
    primes = [p for p in range(2, 312) if all(p % q for q in range(2, int(p**0.5) + 1))]

    def root(p: int, n: int) -> int:
        """The first 32 bits of the fraction of p's n-th root."""
        low, high = 0, p << 32
        while high - low > 1:
            low, high = (m, high) if (m := (low + high) // 2) ** n <= p << 32 * n else (low, m)
        return low & 0xFFFFFFFF

    def right(x: int, n: int) -> int:
        return (x >> n | x << 32 - n) & 0xFFFFFFFF

    k, state = [root(p, 3) for p in primes], [root(p, 2) for p in primes[:8]]
    data = bytes(BLOCK_BYTES) + end + b"\x80"
    data += bytes(-(len(data) + 8) % BLOCK_BYTES) + (8 * (blocks * BLOCK_BYTES + len(end))).to_bytes(8, "big")
    for at in range(0, len(data), BLOCK_BYTES):
        w = [int.from_bytes(data[at + i : at + i + 4], "big") for i in range(0, BLOCK_BYTES, 4)]
        for i in range(16, 64):
            small = right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3
            w.append(w[i - 16] + small + w[i - 7] + (right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10))
            w[i] &= 0xFFFFFFFF
        a, b, c, d, e, f, g, h = state
        for i in range(64):
            t = h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + (e & f ^ ~e & g) + k[i] + w[i]
            u = (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = (t + u) & 0xFFFFFFFF, a, b, c, (d + t) & 0xFFFFFFFF, e, f, g
        state = [(old + new) & 0xFFFFFFFF for old, new in zip(state, (a, b, c, d, e, f, g, h), strict=True)]
    return b"".join(word.to_bytes(4, "big") for word in state)


@cocotb.test()
async def lengths_beyond_32_bits(dut: Any) -> None:
    """512 MiB are 2^32 bits: the length's other word counts them, up to the most that a message may have. What would
    come between its first block and its last bytes is added to the length that is known of it."""
    b = await begin(dut, 13)
    end = b.rng.randbytes(100)
    assert sha256_of_length(1, end) == hashlib.sha256(bytes(BLOCK_BYTES) + end).digest()
    for blocks in (1, (1 << 23) - 2, (1 << 23) - 1, 1 << 23, 3 << 24 | 5, (1 << 42) - 2):
        found = await b.one(bytes(BLOCK_BYTES), BEGIN)
        assert found.taken == BLOCK_BYTES
        await b.wait(4)
        dut.i_known.mem_q[0].value = blocks * BLOCK_BYTES
        await b.wait(4)
        found = await b.one(end, END)
        assert found.ended and found.taken == blocks * BLOCK_BYTES + len(end)
        while found.digest is None:
            await b.wait(BLOCK_CYCLES)
            found = await b.one(b"x", ASK)
        assert found.digest == sha256_of_length(blocks, end), blocks


@cocotb.test()
async def every_size(dut: Any) -> None:
    """Of a message's last part, from 1 to two blocks and a row, behind nothing and behind others."""
    b = await begin(dut, 2)
    for before in (0, BLOCK_BYTES * 3):
        for size in range(1, 2 * BLOCK_BYTES + b.step_bytes + 1, rounds(1, 3)):
            await Message(b, b.rng.randbytes(before + size), 0, size % 4).all(before or BUFFER)


@cocotb.test()
async def many_messages(dut: Any) -> None:
    """Of all functions and programs at a time, in parts of any size, more of them than cores."""
    for seed, stall in ((3, 0.0), (4, 0.4)):
        b = await begin(dut, seed, stall)
        running: list[Message] = []
        for _ in range(rounds(3000, 400)):
            if len(running) < 2 * CORES and b.rng.random() < 0.3:
                free = [
                    (owner, number)
                    for owner in range(4 * PLACES)
                    for number in range(4)
                    if not any((m.owner, m.number) == (owner, number) for m in running)
                ]
                size = b.rng.choice((b.rng.randint(1, 100), b.rng.randint(1, 3000), BLOCK_BYTES * b.rng.randint(1, 20)))
                running.append(Message(b, b.rng.randbytes(size), *b.rng.choice(free), most_skip=7))
            if running:
                m = b.rng.choice(running)
                await m.part(b.rng.choice((b.rng.randint(64, 200), 512, 3000)))
                if m.digest is not None:
                    running.remove(m)
            await b.wait(b.rng.choice((0, 0, 5, 400)))
        for m in running:
            await m.all()


@cocotb.test()
async def what_is_no_part_of_a_message(dut: Any) -> None:
    """No message, one that has ended, less than a block, more than there is room for: it is not taken."""
    b = await begin(dut, 5)
    data = b.rng.randbytes(4 * BUFFER)
    assert await b.one(data[:64], HashStep(0)) == Hashed(0, False, None)
    assert await b.one(data[:64], END) == Hashed(0, False, None)
    assert await b.one(data[:64], ASK | BEGIN) == Hashed(0, False, None)
    assert await b.one(data[:63], BEGIN) == Hashed(0, False, None)  # so there is none
    assert await b.one(data[63:127], HashStep(0)) == Hashed(0, False, None)
    assert await b.one(data[:100], BEGIN) == Hashed(64, False, None)
    assert await b.one(data[64:65], END) == Hashed(65, True, None)
    assert await b.one(data[65:70], END) == Hashed(65, True, None)
    await b.wait(500)
    assert await b.one(data[65:], END) == Hashed(65, True, hashlib.sha256(data[:65]).digest())
    assert await b.one(data[:1], ASK | END) == Hashed(65, True, hashlib.sha256(data[:65]).digest())
    assert await b.one(data[:128], ASK | END, skip=2) == Hashed(65, True, hashlib.sha256(data[:65]).digest())
    assert await b.one(data[:128], BEGIN, skip=2) == Hashed(0, False, None)
    assert await b.one(data[:192], BEGIN, skip=1023) == Hashed(0, False, None)
    assert await b.one(data[:192], BEGIN, skip=2) == Hashed(64, False, None)
    assert await b.one(bytes(1023 * 64) + data[:65], BEGIN | END, skip=1023) == Hashed(65, True, None)
    await b.wait(600)
    found = await b.one(data, BEGIN | END)
    assert BUFFER <= found.taken < BUFFER + 2 * BLOCK_BYTES
    assert not found.ended
    await b.wait(BLOCK_CYCLES * BUFFER // BLOCK_BYTES + 200)
    assert await b.one(data[:100], ASK) == found
    assert await b.one(data[:10], BEGIN) == Hashed(0, False, None)
    assert await b.one(data[:10], ASK) == Hashed(0, False, None)


@cocotb.test()
async def a_program_that_is_written_forgets_its_messages(dut: Any) -> None:
    """Also those of which data wait, or come; and no others."""
    b = await begin(dut, 6)
    data = b.rng.randbytes(300)
    digest = hashlib.sha256(data).digest()
    for wait in (0, 1, 600):
        for owner in range(4):
            for number in range(4):
                await b.one(data[:64], BEGIN | END, owner, number)
                await b.wait(200)
        for owner in (1, 2):
            for number in (0, 1):
                assert (await b.one(data, BEGIN | END, owner, number)).taken == len(data)
                await b.wait(700)
        await b.one(data, BEGIN | END, 1, 0)
        await b.wait(wait)
        await b.forget(1)
        await b.wait(600)
        for number in range(4):
            assert await b.one(data, ASK, 1, number) == Hashed(0, False, None)
        for number in range(2):
            assert await b.one(data, ASK, 2, number) == Hashed(len(data), True, digest)
    b.queue([(data, BEGIN | END)], 2)
    await b.wait(6)
    await b.forget(2)
    await b.wait(600)
    assert await b.one(data, ASK, 2) == Hashed(0, False, None)
    m = Message(b, data, 1, 0)
    await m.all()


@cocotb.test(skip=PLACES < 2)
async def functions_take_turns(dut: Any) -> None:
    """One that has data for every core all the time, and others that come now and then: all get on."""
    b = await begin(dut, 7)
    greedy = [Message(b, b.rng.randbytes(1 << 20), n // 4, n % 4) for n in range(min(2 * CORES, 16))]
    others = [Message(b, b.rng.randbytes(2000), 4 * place, 0) for place in range(1, PLACES)]
    waited = [0] * len(others)
    served = longest = 0
    while served < 12:
        began = b.cycle
        for m in greedy:
            await m.part(BUFFER)
        for n, m in b.rng.sample(list(enumerate(others)), len(others)):
            before = m.refused
            await m.part(256)
            if m.refused:
                waited[n] = waited[n] if before else b.cycle
                assert b.cycle - waited[n] < (len(others) + 1) * (DRAIN_CYCLES + 2 * longest)
            if m.digest is not None:
                served += 1
                others[n] = Message(b, b.rng.randbytes(2000), m.owner, 0)
        longest = max(longest, b.cycle - began)
    assert sum(m.taken for m in greedy) > 5000


@cocotb.test(skip=PLACES < 2 or FILL_CYCLES > DRAIN_CYCLES)  # or cores are never all full
async def a_turn_that_nobody_takes_ends(dut: Any) -> None:
    """A function that is refused and does not come again keeps a core from others for TURN_CYCLES, no more."""
    b = await begin(dut, 8)
    greedy = [Message(b, b.rng.randbytes(1 << 16), n // 4, n % 4) for n in range(CORES)]
    for m in greedy:
        await m.part(BUFFER)
    lost = Message(b, b.rng.randbytes(64), 4, 0)
    await lost.part(64)
    assert lost.refused == 1
    lost_at = b.cycle
    await b.wait(DRAIN_CYCLES + 300)
    refused_at = 0
    while True:
        for m in greedy[:-1]:
            await m.part(BUFFER)
        await greedy[-1].part(64)
        if not greedy[-1].refused:
            break
        refused_at = b.cycle
    assert refused_at - lost_at < TURN_CYCLES + 20
    assert b.cycle - lost_at > TURN_CYCLES


@cocotb.test()
async def crc(dut: Any) -> None:
    """The check value that is published, iSCSI's of RFC 3720, and packets of any size."""
    b = await begin(dut, 9, digest=NearDigest.CRC32C)
    ramp = bytes(range(32))
    known = ((b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (ramp, 0x46DD794E),
             (ramp[::-1], 0x113FDB5C))  # fmt: skip
    for data, value in known:
        assert crc32c(data) == value
        assert (await b.one(data, HashStep(0))).digest == value.to_bytes(32, "little")
    for stall in (0.0, 0.4):
        b.rows.stall = b.out.stall = stall
        for _ in range(rounds(400, 80)):
            packets = [
                (
                    b.rng.randbytes(b.rng.choice((b.rng.randint(1, 70), b.rng.randint(1, 1500)))),
                    b.rng.randrange(1 << 16),
                )
                for _ in range(b.rng.randint(1, 4))
            ]
            for (data, _), found in zip(packets, await b.run(packets), strict=True):
                assert found == Hashed(len(data), True, crc32c(data).to_bytes(32, "little"))


@cocotb.test()
async def rate(dut: Any) -> None:
    """A row a cycle; packets in their rows and what the header says; a core 64 bytes in 65 cycles."""
    b = await begin(dut, 10)
    for digest, more in ((NearDigest.SHA256, {11}), (NearDigest.CRC32C, {12})):
        await b.load(digest)
        for size in (b.step_bytes, BLOCK_BYTES * 40):
            b.went.clear()
            await b.run([(b.rng.randbytes(size), BEGIN)] * 4)
            rows = size // b.step_bytes
            ends = b.went[rows - 1 :: rows][1:]  # the first row of a packet goes in while the one before is worked on
            assert {later - at - rows for at, later in zip(ends, ends[1:], strict=False)} == more
            assert b.went[2 * rows - 1] - b.went[rows + 1] == rows - 2 or rows == 1
    await b.load(NearDigest.SHA256)
    times = []
    for blocks in (2, 9):
        data = b.rng.randbytes(blocks * BLOCK_BYTES)
        await b.wait(2000)
        await b.one(data, BEGIN | END)
        end = b.went[-1]
        while int(dut.busy.value):
            await b.step()
        times.append(b.cycle - end)
    assert times[1] - times[0] in range(7 * BLOCK_CYCLES - CORES, 7 * BLOCK_CYCLES + CORES + 1)


@cocotb.test()
async def latency(dut: Any) -> None:
    """From the last row to the first word, as the header says; a word a cycle."""
    b = await begin(dut, 11)
    for data, steps, expected in ((bytes(256), BEGIN | END, {5}), (bytes(256), ASK, set(range(7, 8 + CORES)))):
        b.went.clear()
        b.came.clear()
        await b.one(data, steps)
        assert b.came[0] - b.went[-1] in expected
        assert [came - b.came[0] for came in b.came] == [0, 1, 2, 3]
        await b.wait(600)
    await b.load(NearDigest.CRC32C)
    for lacks in (0, 1, b.step_bytes - 1):
        b.went.clear()
        b.came.clear()
        await b.one(bytes(2 * b.step_bytes - lacks), HashStep(0))
        assert b.came[0] - b.went[-1] == 7 + lacks


@cocotb.test()
async def a_reset_forgets_all(dut: Any) -> None:
    """At any time: while a part comes, while it is hashed, while its words wait."""
    rng = random.Random(12)
    data = rng.randbytes(200)
    b = await begin(dut, 12)
    for cycles in (*range(1, 40, 3), *range(60, 500, 37)):
        await b.one(data, BEGIN | END, 0, 1)
        b.queue([(rng.randbytes(600), BEGIN), (data, END)])
        await b.wait(cycles)
        await reset(dut)
        b = Bench(dut, rng)
        for number in (0, 1):
            assert await b.one(data, ASK, 0, number) == Hashed(0, False, None)
        m = Message(b, data, 0, 0)
        await m.all()


@pytest.mark.parametrize(("cores", "functions"), [(2, 3), rare(1, 1), rare(8, 17), rare(16, 2)])
@pytest.mark.parametrize("data_w", WIDTHS)
def test_near_hash(data_w: int, cores: int, functions: int) -> None:
    parameters = {"DATA_W": data_w, "NUM_FN": functions, "CORES": cores, "BYTES": BUFFER, "TURN_CYCLES": TURN_CYCLES}
    env = {"CORES": str(cores), "NUM_FN": str(functions), "DATA_W": str(data_w)}
    bench.run(__file__, "db_csd_near_hash", parameters, env=env, inside=("db_ram_sdp",))
