# SPDX-License-Identifier: Apache-2.0
"""A drive with its host: power, bring-up, resets of every kind. The media is a file, so a power cut is one: the
simulation ends in that cycle, and another one opens what is in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from doorbell.compute.programs import Programs
from doorbell.device.opening import open_sim
from doorbell.errors import UserError
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CSTS_NSSRO, CSTS_RDY, NSSR_MAGIC, Reg
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.vendor import SETTINGS_PAGES, NearOperator
from doorbell.soak import backends
from doorbell.soak.generate import MEMORY_CELLS, Shape
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.model import Blocks, Drive, Memory, Space
from doorbell.soak.steps import LAYOUT, TIMINGS, Step

SPACE_BYTES = 1 << 20  # of a namespace
MEMORY_BYTES = 32 << 20
SHAPES = {
    "db_ssd": Shape(),
    "db_csd": Shape(spaces=6, keys=True, manage=True, near=True, memory=True),
    "db_vcsd": Shape(spaces=4, keys=True, manage=True, ssds=2, near=True),
}
PARAMS: dict[str, dict[str, int]] = {"db_csd": {"NEAR": 1, "NEAR_HASHES": 2, "NEAR_SLOTS": 0x63211}}
"""Of a top, beside NUM_NS: those of its tests too."""
ONE_OF_EACH = 0x6321
"""NEAR_SLOTS, where nothing else is said."""
MEMORY_PARAMS = {"SGL": 1, "CMB_LOG2": 21, "SLM": 1}
"""... whose functions have memory and programs."""
NOTHING: Mapping[str, Any] = {}
PATIENCE_US = 2_000_000  # longer than any command of these may take


def shape_of(top: str, options: Mapping[str, Any] = NOTHING) -> Shape:
    """Of a top; options: those of a script."""
    if top not in SHAPES:
        raise UserError(f"--top {top}: soak knows {', '.join(SHAPES)}")
    shape = SHAPES[top]
    ssds, ssd = backends.chosen(options, shape.ssds)
    if wants_memory(options) and not shape.near:
        raise UserError(f"--memory: a function of {top} has none")
    memory = shape.memory or wants_memory(options)
    return replace(shape, ssds=ssds, ssd=ssd, spaces=max(shape.spaces, 2 * ssds), memory=memory)


def wants_memory(options: Mapping[str, Any]) -> bool:
    return bool(options.get("memory"))


def driver_of(sim: Any, memory: HostMemory, seed: int, patience_us: float = PATIENCE_US) -> GrantingDriver:
    return GrantingDriver(
        sim, memory, seed=seed, admin_timeout_us=patience_us, io_timeout_us=patience_us, ready_timeout_us=patience_us
    )


class Machine:
    """`drive` is the host's driver of the present simulation. functions: how many the drive has."""

    functions = 1
    patience_us: float = PATIENCE_US
    own: Programs | None = None
    """The function's memory and programs."""
    memory_at = 0
    """Of a function's memory: byte where the soak's window begins."""
    finder: Any = None
    """Who is told of simulations that begin, and how commands end (doorbell.soak.wave)."""

    def __init__(self, top: str, image: Path, options: dict[str, Any], seed: int) -> None:
        self.shape = self._shape(top, options)
        self.image, self.seed = image, seed
        params = {"NUM_NS": self.shape.spaces} if self.shape.spaces > 1 else {}
        params |= PARAMS.get(top, {}) | (MEMORY_PARAMS if self.shape.memory else {})
        self.options = {"top": top, "params": params, "image": str(image), **options}
        self.finder = self.options.pop("finder", None)
        for name in ("ssds", "ssd", "memory"):
            self.options.pop(name, None)
        its = self.options["params"]
        greps = f"{its.get('NEAR_SLOTS', ONE_OF_EACH):x}".count(str(int(NearOperator.GREP)))
        self.model = Drive(near=bool(its.get("NEAR")), greps=greps)
        self.layout: Step = dict(LAYOUT)
        self.cycles = 0  # of simulations that are over
        self.power_on(0)
        self.bring_up()
        self._first_look()

    @property
    def now(self) -> int:
        return self.cycles + self.drive.sim.cycle

    def close(self) -> None:
        if not self.drive.sim.closed:
            self.cycles += self.drive.sim.cycle
            self.drive.sim.close()

    def _shape(self, top: str, options: Mapping[str, Any]) -> Shape:
        return shape_of(top, options)

    # ---- power and bring-up

    def power_on(self, timing: int) -> None:
        fresh = not self.image.exists()
        size = {"media_size": self.shape.spaces * SPACE_BYTES + SETTINGS_PAGES * 4096} if fresh else {}
        options = {**TIMINGS[timing % len(TIMINGS)], **self.options, **size}
        sim = open_sim(seed=self.seed, **options)
        self.opened(sim)
        self.drive = driver_of(sim, HostMemory(MEMORY_BYTES, seed=self.seed), self.seed, self.patience_us)

    def opened(self, sim: Any) -> None:
        """A simulation begins."""
        if self.finder is not None:
            self.finder.opened(sim, self.cycles)

    def bring_up(self) -> None:
        lay = self.layout
        queues = max(1, min(lay["queues"], self.shape.queues))
        self.drive.start(
            queues=queues, entries=max(2, lay["entries"]), cq_entries=max(2, lay["cq_entries"]),
            shared_cqs=min(lay["shared"], queues) or None, wrr=bool(lay["wrr"]), prios=(1, 2, 3, 0),
            all_sets=self.shape.memory,
        )  # fmt: skip
        if self.shape.memory:
            self.own = Programs(self.drive)
            if self.model.memory is None:
                self.memory_at = self.own.size // 2
                self.model.memory = Space(self.own.memory, Memory(MEMORY_CELLS))

    def _first_look(self) -> None:
        """What a new drive has."""
        drive = self.drive
        self.model.mdts_bytes = drive.max_transfer
        for nsid in self.allocated() if namespaces.supported(drive) else (1,):
            blocks, size = self.size_of(nsid)
            self.model.spaces[nsid] = self.placed(Space(nsid, Blocks(blocks, size)))

    def allocated(self) -> list[int]:
        """Namespaces of blocks that exist."""
        return [nsid for nsid in namespaces.allocated(self.drive) if nsid <= self.shape.spaces or not self.shape.memory]

    def active(self) -> list[int]:
        """... and are attached."""
        return [nsid for nsid in namespaces.active(self.drive) if nsid <= self.shape.spaces or not self.shape.memory]

    def size_of(self, nsid: int) -> tuple[int, int]:
        """Blocks of a namespace, and their bytes, as the drive says."""
        ns = namespaces.of(self.drive, nsid, attached=not namespaces.supported(self.drive))
        return ns.nsze, 1 << ns.lbaf[ns.flbas & 15].ds if ns.nsze else 512

    def create_try(self, blocks: int, size: int, shared: bool, on: int) -> tuple[Command, int]:
        """Create Namespace, and how many blocks it has if it succeeds. on: which SSDs, of a drive that has some."""
        return namespaces.create_try(self.drive, blocks, size, nmic=int(shared)), blocks

    def placed(self, space: Space) -> Space:
        """A new namespace, with what the drive says of its place."""
        return space

    # ---- resets

    def reset(self, kind: str, timing: int) -> list[Command]:
        """Down, by a way of RESETS; returns the commands that will never end."""
        drive = self.drive
        match kind:
            case "disable":
                return drive.disable()
            case "flr":
                return drive.flr()
            case "subsystem":
                drive.write32(Reg.NSSR, NSSR_MAGIC)
                drive.wait_csts(CSTS_RDY, 0, PATIENCE_US, "after a subsystem reset")
                lost = drive._forget_queues()
                drive.write32(Reg.CSTS, CSTS_NSSRO)
                return lost
            case "shutdown" | "abrupt":
                self.shut_down(abrupt=kind == "abrupt")
                drive.poll(everything=True)
                return drive.disable()
            case "link":
                drive.sim.reset()
                return drive._forget_queues()
            case _:
                lost = drive._forget_queues()
                self.close()
                self.power_on(timing)
                return lost

    def shut_down(self, abrupt: bool) -> None:
        """CC.SHN, until it is done. Nobody reads completion queues meanwhile."""
        self.drive.shutdown(abrupt=abrupt)
