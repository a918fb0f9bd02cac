# SPDX-License-Identifier: Apache-2.0
"""Every register and field of regs/db_recorder.rdl against db_recorder's RTL, Python's registers and the C header.

The file is compiled and unrolled here by systemrdl-compiler itself, so what regs/register_map.py makes of it is tested
too. test_db_recorder_regs.py has the manual's table, without the file.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from recorder_model import OP_READ, OP_WRITE, Bench
from structs import layout
from systemrdl import RDLCompiler
from systemrdl.node import RegNode

BUFFER = layout("db_rec_pkg", "buffer_state_t")
LINES = ("phy_ready", "link_up", "up", "dead", "shut_down", "shutdown_failed")
"""Of a host that registers show, each by itself."""

N = 3  # not a power of two, and fewer than the file has
STREAM = 256
SPACE = 0x2000  # bytes with all registers in them
REASONS = {1: "drive down", 2: "malformed", 3: "error status", 4: "drive reset"}  # those of docs/recorder/registers.md


@dataclass(frozen=True)
class Field:
    name: str
    low: int
    width: int
    sw: str
    onwrite: str | None
    reset: int | None

    @property
    def mask(self) -> int:
        return (1 << self.width) - 1 << self.low


@dataclass(frozen=True)
class Reg:
    path: str  # with indices: Drive[1].Status
    kind: str  # without: Drive.Status
    drive: int | None  # of what is a drive's own
    address: int
    external: bool
    fields: tuple[Field, ...]

    @property
    def there(self) -> bool:
        return self.drive is None or self.drive < N

    def word(self, **values: int) -> int:
        by_name = {f.name: f for f in self.fields}
        return sum(v << by_name[name].low for name, v in values.items())


@functools.cache
def rdl() -> dict[int, Reg]:
    """All registers by address."""
    compiler = RDLCompiler()
    compiler.compile_file(str(bench.ROOT / "regs" / "db_recorder.rdl"))
    top = compiler.elaborate().top
    found = {}
    for node in top.descendants(unroll=True):
        if not isinstance(node, RegNode):
            continue
        path = node.get_path().removeprefix("db_recorder.")
        part = node.parent
        while part.parent is not top:
            part = part.parent
        fields = tuple(
            Field(f.inst_name, f.low, f.width, f.get_property("sw").name, w and w.name, f.get_property("reset"))
            for f in node.fields() for w in [f.get_property("onwrite")]
        )  # fmt: skip
        kind = "".join(c if c != "[" else "[" for c in path)
        for digits in {c.split("]")[0] for c in path.split("[")[1:]}:
            kind = kind.replace(f"[{digits}]", "")
        drive = part.current_idx[0] if part.current_idx else None
        assert node.absolute_address not in found
        found[node.absolute_address] = Reg(path, kind, drive, node.absolute_address, node.external, fields)
    return found


def reg(path: str) -> Reg:
    return next(r for r in rdl().values() if r.path == path)


seen: set[str] = set()
"""Fields (with their register, without indices) that were seen with all that is in them compared, and not zero."""


async def check(b: Bench, r: Reg, **expected: int) -> None:
    """Read a register and compare every bit: fields as expected, or else as after reset; all other bits 0."""
    want = 0
    for f in r.fields:
        value = expected.pop(f.name, f.reset) if r.there else 0
        assert value is not None, f"{r.path}.{f.name} has no reset value: the test must know what it should be"
        want |= value << f.low
        if value and r.there:
            seen.add(f"{r.kind}.{f.name}")
    assert not expected, f"{r.path} has no {sorted(expected)}"
    got = await b.read(r.address)
    assert got == want, f"{r.path} at {r.address:#x}: {got:#x}, not {want:#x}"


def live(b: Bench, r: Reg) -> dict[str, int]:
    """What the fields without a reset value should be, of drives at rest."""
    x = b.drives[(r.drive or 0) % N]
    name = r.kind.rpartition(".")[2]
    if name == "Status":
        at = r.drive or 0
        lines = {"PciePhyReady": int(b.drives[at].phy_ready), "PcieLinkUp": int(b.drives[at].link_up)}
        return {"Reset": 0, "Initialised": int(x.up), "DataEnabled": 0, "Completed": 0, **lines}
    if name == "Control":
        return {"Initialise": int(x.up)}
    if name == "ReadStatus":
        return {"Enabled": 0, "Complete": 0}
    if name == "TotalBlocks":
        return {"V": x.blocks >> (12 - x.lba_shift)}
    if r.kind == "Own.Shape":
        return {"drives": N, "width": STREAM}
    if r.kind == "Own.Drives":
        drives = list(enumerate(b.drives))
        return {"up": sum(int(x.up) << i for i, x in drives), "dead": sum(int(x.dead) << i for i, x in drives)}
    if r.kind == "Own.Shutdown":
        drives = list(enumerate(b.drives))
        return {"down": sum(int(x.shut_down) << i for i, x in drives),
                "failed": sum(int(x.shutdown_failed) << i for i, x in drives)}  # fmt: skip
    if r.kind == "Own.Buffer":
        state = BUFFER.unpack(int(b.dut.buffer.value))
        return {name: state[name] for name in ("blocks", "bad_last", "error")}
    return {}


async def ready(dut: Any, up: bool) -> Bench:
    b = Bench(dut, N, 128, STREAM)
    for i, x in enumerate(b.drives):
        x.lba_shift = (9, 12, 10)[i]
        x.blocks = (1000 + 64 * i << (12 - x.lba_shift)) + 3 * (x.lba_shift < 12)
        x.up = up
    await b.start()
    await b.wait(30)
    return b


@cocotb.test()
async def after_reset(dut: Any) -> None:
    """Every word of the space: a register's value, and zero where there is none, or its drive is not there."""
    b = await ready(dut, up=True)
    for address in range(0, SPACE, 4):
        if r := rdl().get(address):
            await check(b, r, **(live(b, r) if r.there else {}))
        else:
            assert (got := await b.read(address)) == 0, f"{address:#x}: {got:#x}"
    for r in rdl().values():  # nor is anything mirrored above it
        if r.there and r.fields[0].reset != 0:
            for high in (0x2000, 0x4000, 0x8000):
                assert await b.read(high | r.address) == 0, f"{high | r.address:#x}"


@cocotb.test()
async def access(dut: Any) -> None:
    """Ones, zeros, random words to every address: what is rw keeps them, what is woset only gets set, nothing else
    changes, and what is not there takes nothing. Drives are down, so that nothing begins."""
    b = await ready(dut, up=False)
    state = {r.address: {f.name: f.reset or 0 for f in r.fields} for r in rdl().values()}
    for r in rdl().values():
        if r.there:
            state[r.address] |= live(b, r)

    def written(r: Reg, word: int) -> None:
        for f in r.fields:
            value = (word & f.mask) >> f.low
            if f.sw == "rw":
                state[r.address][f.name] = state[r.address][f.name] | value if f.onwrite == "woset" else value
            elif f.sw == "w":
                assert f.reset == 0, f"{r.path}.{f.name} reads as 0"
            else:
                assert f.sw == "r" and f.onwrite is None, f"{r.path}.{f.name}: an access that this test does not know"

    order = [*range(0, SPACE, 4)]
    b.rng.shuffle(order)
    # Writes where there is no register: a sample, all of it when done.
    none = [a for a in order if a not in rdl()][:60] + [a | 0x2000 for a in order[:30]] + [0x8000 | 4, 0x4000 | 0x80]
    there = [r for r in rdl().values() if r.there]
    absent = [r for r in rdl().values() if not r.there and r.kind.startswith("Drive.")]
    apart = False
    for pattern in ("ones", "zeros", "random"):
        for r in b.rng.sample(there, len(there)):
            if r.external and r.kind.startswith("Extended.") and b.rng.random() < 0.5:
                continue
            word = {"ones": 0xFFFFFFFF, "zeros": 0}.get(pattern, b.rng.getrandbits(32))
            if r.kind in ("Main.Control", "Drive.Control"):
                word &= ~r.word(Reset=1)  # the next test's
            await b.write(r.address, word)
            written(r, word)
            apart |= state[reg("Drive[0].ReadBlock").address] != state[reg("Drive[1].ReadBlock").address]
            if r.kind.startswith("Main."):  # main and drives' sets are the same registers
                for i in range(N):
                    written(reg(r.path.replace("Main.", f"Drive[{i}].")), word)
            if r.path.startswith("Drive[0]."):
                written(reg(r.path.replace("Drive[0].", "Main.")), word)
        for address in [*none, *(r.address for r in absent)]:
            await b.write(address, 0xFFFFFFFF)
        for part in ("Main", *(f"Drive[{i}]" for i in range(N))):  # what is asked for waits for the drive
            for status, on, control, enable in (("Status", "DataEnabled", "Control", "DataEnable"),
                                                ("ReadStatus", "Enabled", "ReadControl", "Enable")):  # fmt: skip
                state[reg(f"{part}.{status}").address][on] = state[reg(f"{part}.{control}").address][enable]
        for r in there:
            await check(b, r, **state[r.address])
    for address in none:
        assert await b.read(address) == 0
    # A set takes part in what is written through the main set, and only there.
    assert apart


@cocotb.test()
async def lines(dut: Any) -> None:
    """Each field that shows an input shows that one."""
    b = await ready(dut, up=False)
    for i in range(N):
        for name in LINES:
            for k, x in enumerate(b.drives):
                for line in LINES:
                    setattr(x, line, k == i and name == line)
            await b.wait(3)
            for r in rdl().values():
                if r.there and r.kind.rpartition(".")[2] in ("Status", "Control", "Drives", "Shutdown"):
                    await check(b, r, **live(b, r))
    for name, values in (("bad_last", (1, 0)), ("error", (1, 0)), ("blocks", (1, 0x1ABCDEF0))):
        for value in values:
            b.put("buffer", BUFFER.pack({name: value}))
            await b.wait(2)
            await check(b, reg("Own.Buffer"), **live(b, reg("Own.Buffer")))


@cocotb.test()
async def shutdown(dut: Any) -> None:
    """Each bit asks one host, once; drives that are not there are nobody's, and nothing is kept."""
    b = await ready(dut, up=True)
    pulses: list[int] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            if int(dut.shutdown.value):
                pulses.append(int(dut.shutdown.value))

    cocotb.start_soon(watch())
    r = reg("Own.Shutdown")
    for ask in (1, 2, 5, 0, 0xFF):
        pulses.clear()
        await b.write(r.address, r.word(ask=ask))
        await b.wait(5)
        assert pulses == [ask & (1 << N) - 1] * bool(ask)
        await check(b, r, **live(b, r))
    pulses.clear()
    await b.write(reg("Own.TrimFirst").address, 1)
    await b.write(reg("Main.Control").address, 0)
    await b.wait(5)
    assert not pulses
    seen.add("Own.Shutdown.ask")


@cocotb.test()
async def reset_bit(dut: Any) -> None:
    """Control.Reset: a pulse, seen in Control and Status, to the drive or to all; what is set is cleared."""
    b = await ready(dut, up=True)
    for r in (reg("Drive[2].Control"), reg("Main.Control")):
        mine = {2} if r.drive == 2 else set(range(N))
        for name, word in (("DataChunkStart", 5), ("ReadBlock", 6)):
            await b.write(reg(f"Main.{name}").address, word)
        await b.write(reg("Own.TrimFirst").address, reg("Own.TrimFirst").word(trim=1))
        await b.write(r.address, r.word(Reset=1))
        await b.wait(3)
        assert int(dut.drive_rst.value) == sum(1 << i for i in mine)
        for i, part in ((0, "Main"), *((i, f"Drive[{i}]") for i in range(N))):
            c, s, on = reg(f"{part}.Control"), reg(f"{part}.Status"), int(i in mine)
            await check(b, c, Reset=on, Initialise=1)  # its other half is the drive being up, which it still is
            await check(b, s, **{**live(b, s), "Reset": on})
        await b.write(r.address, 0)  # does not end it
        assert int(dut.drive_rst.value) == sum(1 << i for i in mine)
        await b.until(reg("Drive[2].Status").address, reg("Drive[2].Status").word(Reset=1), 0, pause=20)
        assert int(dut.drive_rst.value) == 0
        kept = 0 if r.drive is None else 1
        await check(b, reg("Drive[1].DataChunkStart"), V=5 * kept)
        await check(b, reg("Drive[2].ReadBlock"), V=6 * kept)
        await check(b, reg("Own.TrimFirst"), trim=kept)


@cocotb.test()
async def served(dut: Any) -> None:
    """A capture and a read-out on drive 1 alone that fill every register which counts: there, and nowhere else."""
    b = await ready(dut, up=True)
    x, total, start = b.drives[1], 1064, 1000
    blocks = total - start
    buckets = [k for k in range(24) for _ in range(b.rng.choice((1, 2)))]
    buckets += [b.rng.randrange(24) for _ in range(blocks - len(buckets) - 3)] + [9] * 3
    assert len(buckets) == blocks
    micros = [b.rng.randrange(1 << k - 1, 1 << k) if k else 0 for k in buckets]
    # 17 runs: 15 errors of 1 or 2 blocks, a malformed block, and one more error that finds no place in the list.
    first, runs = 1, []
    for k in range(17):
        runs.append((first, 1 if k == 15 else 1 + k % 3 // 2, "malformed" if k == 15 else "error status"))
        first += runs[-1][1] + 1 + (k == 14)
    bad = {at + i for at, length, why in runs if why == "error status" for i in range(length)}
    malformed = next(at for at, _, why in runs if why == "malformed")
    times = iter(micros)
    x.reported = lambda _: next(times) * 250 + 249
    x.status_of = lambda op, block, count: (
        0x5A81 if op == OP_WRITE and block - start in bad else 0x2285 if op == OP_READ and block >= start + 16 else 0
    )
    numbers = {"DataChunkStart": start, "DataChunkSize": 70_000, "ReadBlock": start, "ReadNumBlocks": 20}
    for name, word in numbers.items():
        await b.write(reg(f"Drive[1].{name}").address, word)
    await b.write(reg("Own.TrimFirst").address, 1)
    control, status = reg("Drive[1].Control"), reg("Drive[1].Status")
    await b.write(control.address, control.word(DataEnable=1))
    await b.until(status.address, status.word(DataEnabled=1), status.word(DataEnabled=1))
    await check(b, status, **{**live(b, status), "DataEnabled": 1})
    await check(b, control, DataEnable=1, Initialise=1)
    dut.data_drop_blocks.value = 1
    for k in range(2):
        b.feed(b.block(1000 + k))
    while not b.accepted:
        await b.wait(1)
    dut.data_drop_blocks.value = 0
    begin = b.cycle
    for k in range(blocks):
        data = b.block(k)
        b.feed(data[: -2 * STREAM // 8] if k == malformed else data)
    await b.until(status.address, status.word(Completed=1), status.word(Completed=1), tries=1500)
    await check(b, status, **{**live(b, status), "Completed": 1})
    took = await b.read(reg("Main.TimeUs").address)
    assert abs((b.cycle - begin) // 250 - took) <= 10, "with the drops before, and looking after"
    seen.update({"Main.TimeUs.V", "Drive.TimeUs.V"})
    rcontrol, rstatus = reg("Drive[1].ReadControl"), reg("Drive[1].ReadStatus")
    dut.m_packet_ready.value = 0
    b.recv_ready = 0.0
    await b.write(rcontrol.address, rcontrol.word(Enable=1))
    await b.wait(100)
    await check(b, rstatus, Enabled=1, Complete=0)
    b.recv_ready = 1.0
    await b.until(rstatus.address, rstatus.word(Complete=1), rstatus.word(Complete=1), tries=1500)

    expected: dict[str, dict[str, int]] = {
        "Control": {"DataEnable": 1, "Initialise": 1}, "Status": {**live(b, status), "Completed": 1},
        "DataChunkStart": {"V": start}, "DataChunkSize": {"V": 70_000}, "Error": {"status": 0x5A81},
        "NumBlocks": {"V": blocks}, "PeakLatencyUs": {"V": max(micros)}, "ReadControl": {"Enable": 1},
        "ReadStatus": {"Enabled": 0, "Complete": 1}, "ReadBlock": {"V": start}, "ReadNumBlocks": {"V": 20},
        "ReadError": {"status": 0x2285}, "ReadBlocksProc": {"V": 20}, "ReadBlocksDone": {"V": 20},
        "Lost": {"V": len(bad)}, "BadReads": {"V": 4}, "Runs": {"V": len(runs)}, "Cut": {"V": blocks},
        "Trimmed": {"V": blocks},
    }  # fmt: skip
    expected |= {f"Histogram[{k}]": {"V": buckets.count(k)} for k in range(24)}
    codes = {text: code for code, text in REASONS.items()}
    for k, (at, length, why) in enumerate(runs[:16]):
        expected |= {f"Run[{k}].First": {"V": start + at}, f"Run[{k}].Why": {"blocks": length, "why": codes[why]}}
    all_drives = {"TimeUs": {"V": took}, "BlocksLost": {"V": 2}}
    own = {"Malformed": {"V": 1}, "TrimFirst": {"trim": 1}}
    left = set(expected)
    for address in range(0, SPACE, 4):
        r = rdl().get(address)
        if r is None:  # the sequencer's own words, too
            assert (got := await b.read(address)) == 0, f"{address:#x}: {got:#x}"
            continue
        if not r.there:
            await check(b, r)
            continue
        name = r.path.partition(".")[2]
        values = live(b, r) | (all_drives.get(name, {}) if r.kind[:4] in ("Main", "Driv") else {})
        if r.drive == 1:
            values |= expected.get(name, {})
            left.discard(name)
        if r.kind.startswith("Own."):
            values |= own.get(name, {})
        await check(b, r, **values)
    assert not left

    # Drive 0's are those of the main set too.
    names = [r.kind.removeprefix("Main.") for r in rdl().values() if r.kind.startswith("Main.") and r.external]
    for r in (reg("Drive[0].ReadNumBlocks"), reg("Drive[0].ReadBlock"), reg("Drive[0].DataChunkStart")):
        await b.write(r.address, 3)
    await b.write(reg("Drive[0].DataChunkSize").address, 2)
    b.drives[0].reported = lambda _: 1000
    b.drives[0].status_of = lambda op, block, count: 0x0181
    await b.write(reg("Drive[0].Control").address, control.word(DataEnable=1))
    await b.until(reg("Main.Status").address, status.word(DataEnabled=1), status.word(DataEnabled=1))
    await check(b, reg("Main.Status"), **{**live(b, reg("Main.Status")), "DataEnabled": 1})
    for k in range(2):
        b.feed(b.block(k))
    await b.until(reg("Main.Status").address, status.word(Completed=1), status.word(Completed=1), tries=1500)
    await check(b, reg("Main.Status"), **{**live(b, reg("Main.Status")), "Completed": 1})
    await check(b, reg("Main.Control"), DataEnable=1, Initialise=1)
    b.recv_ready = 0.0
    await b.write(reg("Drive[0].ReadControl").address, rcontrol.word(Enable=1))
    await b.wait(100)
    await check(b, reg("Main.ReadStatus"), Enabled=1, Complete=0)
    b.recv_ready = 1.0
    await b.until(reg("Main.ReadStatus").address, rstatus.word(Complete=1), rstatus.word(Complete=1), tries=1500)
    await check(b, reg("Main.ReadStatus"), Enabled=0, Complete=1)
    numbers = {
        "DataChunkStart": 3,
        "DataChunkSize": 2,
        "Error": 0x0181,
        "NumBlocks": 2,
        "PeakLatencyUs": 4,
        "ReadBlock": 3,
        "ReadNumBlocks": 3,
        "ReadError": 0x0181,
        "ReadBlocksProc": 3,
        "ReadBlocksDone": 3,
    }
    assert set(names) == set(numbers)
    for name, value in numbers.items():
        r = reg(f"Main.{name}")
        await check(b, r, **{r.fields[0].name: value})
        await check(b, reg(f"Drive[0].{name}"), **{r.fields[0].name: value})


@cocotb.test()
async def nothing_is_left_out(dut: Any) -> None:
    """Every field of the file was compared when it was not zero by the tests before this one."""
    b = await ready(dut, up=True)
    await b.wait(1)
    every = {f"{r.kind}.{f.name}" for r in rdl().values() for f in r.fields}
    assert every == seen, f"never seen: {sorted(every - seen)}"


def test_db_recorder_map() -> None:
    bench.run(__file__, "db_recorder_core", {"N_DRIVES": N, "STREAM_W": STREAM, "RESET_US": 2, "FIFO_BLOCKS": 2})


# ---------------------------------------------------------------- what else is made of the file


def test_python_registers() -> None:
    """doorbell.device.registers has the same registers, fields and reasons."""
    from doorbell.device.registers import register_map

    registers = register_map("db_recorder")
    assert {r.kind for r in rdl().values()} == set(registers)
    for r in rdl().values():
        index = [int(part.split("]")[0]) for part in r.path.split("[")[1:]]
        found = registers[r.kind]
        assert found.address(*index) == r.address
        assert [(f.name, f.low, f.width, f.sw, f.onwrite, f.reset) for f in found.fields.values()] == [
            (f.name, f.low, f.width, f.sw, f.onwrite, f.reset) for f in r.fields
        ]
    assert registers["Extended.Run.Why"].fields["why"].names == REASONS
    status = registers["Drive.Status"]
    assert status.word(Completed=1, PcieLinkUp=1) == 0x80000008 and status.get(0x80000008, "PcieLinkUp") == 1
    for wrong in (lambda: status.address(8), lambda: status.address(), lambda: status.word(Reset=2)):
        try:
            wrong()
        except (IndexError, ValueError):
            continue
        raise AssertionError("taken")


def test_c_header(tmp_path: Path) -> None:
    """The C header has every address and every field's mask."""
    from doorbell import build

    lines = ["#include <stddef.h>", '#include "db_recorder.h"', "#define IS(a, b) _Static_assert((a) == (b), #a)"]
    kinds = {"Main": "SET", "Drive": "SET", "Extended": "EXTENDED", "Own": "OWN"}
    for r in rdl().values():
        lines.append(f"IS(offsetof(db_recorder_t, {r.path}), {r.address}u);")
        names = r.kind.split(".")
        prefix = "__".join(["DB_RECORDER", kinds[names[0]], *(n.upper() for n in names[1:])])
        lines += [f"IS({prefix}__{f.name.upper()}_bm, {f.mask}u);" for f in r.fields]
    (tmp_path / "t.c").write_text("\n".join([*lines, ""]))
    header = str(build.regs() / "c")
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", header, str(tmp_path / "t.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
