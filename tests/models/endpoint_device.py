# SPDX-License-Identifier: Apache-2.0
"""A small device on the runtime of the simulator, in place of a drive (tests/rtl/tb/sim_endpoint.sv)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from doorbell import build
from doorbell.build import compiler, simulators
from doorbell.build.toolchain import clang, version_of
from doorbell.device.sim import Sim

ROOT = Path(__file__).resolve().parents[2]
ENDPOINT = ROOT / "tests" / "rtl" / "tb" / "sim_endpoint.sv"
CARD = ENDPOINT.with_name("sim_card.sv")
BASE = 0x1_2340_0000  # above 4 GiB: headers of 4 dwords
LOW = 0x2000_0000
SIZE = 1 << 20
READ, WRITE, MSI, MEDIA_READ, MEDIA_WRITE, FLUSH, ZERO, INTX_ON, INTX_OFF = range(1, 10)
MSI_ADDR = 0xFEE0_1000
RATE = {"gen1": Fraction(2500 * 8, 10), "gen2": Fraction(5000 * 8, 10)} | {
    f"gen{g}": Fraction(8000 * 2 ** (g - 3) * 128, 130) for g in (3, 4, 5)
}  # Mbit/s a lane


def library(data_w: int, trace: bool = False, num_fn: int = 1, num_ssd: int = 0) -> Path:
    """The shared library of the endpoint and the runtime. trace: able to write VCD. num_fn: PCIe functions.
    num_ssd: SSDs beside it."""
    runtime, headers = simulators.runtime_sources("db_vcsd" if num_ssd else "endpoint")
    own = [ENDPOINT, CARD] if num_ssd else [ENDPOINT]
    top = own[-1].stem
    verilate = ["--cc", "-O3", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vtop",
                "--top-module", top, f"-GDATA_W={data_w}", f"-GNUM_FN={num_fn}",
                *([f"-GNUM_SSD={num_ssd}"] if num_ssd else []),
                *(["--trace"] if trace else [])]  # fmt: skip
    sources = build.rtl_sources(only=("common", "nvme", "pcie", "ssd"))  # packages, and lists of ports
    packages = [p for p in sources.packages if p.stem in ENDPOINT.read_text() or p.stem == "db_mem_pkg"]
    files = [*own, *packages, *sources.headers(), *runtime, *headers, Path(simulators.__file__)]
    key = (verilate, compiler.COMPILE, compiler.OPTIMISE, build.hash_files(files), version_of(clang()))

    def make(out: Path) -> None:
        obj = out / "obj"
        found = [*(f"+incdir+{folder}" for folder in build.include_folders()), *map(str, packages)]
        build.tool([*build.verilator(), *verilate, "--Mdir", str(obj), *found, *map(str, own)], "Verilator")
        simulators.settle_once(obj)
        defines = [*simulators.TOP_DEFINES, f"-DDB_DATA_W={data_w}", "-DDB_STRADDLE=0", f"-DDB_NUM_FN={num_fn}"]
        defines += ["-DVM_TRACE=1", "-DVM_TRACE_VCD=1"] if trace else []
        defines += [f"-DDB_NUM_SSD={num_ssd}"] if num_ssd else []
        compiler.link(obj, runtime, defines, out / f"lib{top}.so")

    return build.cached("sim-endpoint", key, make) / f"lib{top}.so"


class Device:
    """The endpoint, and host memory at BASE (above 4 GiB) and LOW (the same memory)."""

    def __init__(self, sim: Sim) -> None:
        self.sim = sim
        self.memory = bytearray(SIZE)
        sim.map(BASE, SIZE, self.memory)
        sim.map(LOW, SIZE, self.memory)

    def start(
        self, op: int, addr: int = 0, size: int = 0, *, media: int = 0, data: int = 0, repeats: int = 0, be: int = 0
    ) -> None:
        for off, value in (
            (0x08, addr & 0xFFFFFFFF),
            (0x0C, addr >> 32),
            (0x10, size),
            (0x14, media),
            (0x1C, data),
            (0x2C, repeats),
            (0x30, be),
            (0x18, op),
        ):
            self.sim.mmio_write(off, value)

    def wait(self, limit: int = 4_000_000) -> int:
        """Until the operation is over; its cycles, to within the polling of a register."""
        start = self.sim.cycle
        while self.sim.mmio_read(0x20) >> 31:
            assert self.sim.cycle - start < limit, "the operation does not end"
        return self.sim.cycle - start

    def do(self, op: int, *args: Any, **kwargs: Any) -> int:
        self.start(op, *args, **kwargs)
        return self.wait()

    def status(self) -> tuple[int, int, int]:
        """(errors of completions, last error code, its completion status)."""
        value = self.sim.mmio_read(0x20)
        return value >> 7 & 0xFFFF, value >> 3 & 15, value & 7

    def clear(self, size: int, value: int = 0) -> None:
        """Fill the device's buffer."""
        self.memory[SIZE - size :] = bytes([value]) * size
        self.do(READ, BASE + SIZE - size, size)


Make = Callable[..., Device]


def pattern(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def delta(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


def devices_made() -> Iterator[Make]:
    """What makes devices, of which each is closed behind the test and has had no errors."""
    made: list[Device] = []

    def one(data_w: int = 256, **options: Any) -> Device:
        options.setdefault("media_size", 16 << 20)
        device = Device(Sim(library(data_w), **options))
        made.append(device)
        return device

    yield one
    for device in made:
        if not device.sim.closed:  # one that was closed had errors on purpose
            errors = device.sim.errors()
            device.sim.close()
            assert not errors
