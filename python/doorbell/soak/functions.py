# SPDX-License-Identifier: Apache-2.0
"""A drive with several functions and their hosts: a machine for the PF, and one for each VF in the PF's simulation.

The PF's host gives each VF a namespace, queues and interrupts, and lets it come and go; the VF's host knows nothing of
that. Namespaces are private but for the last, which the PF and the first VF have too. Each host has memory of its own,
at other addresses than everybody else's, and an IOMMU of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from doorbell.device.messages import MmioError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import (
    CSTS_CFS,
    CSTS_RDY,
    NsAttach,
    Reg,
)
from doorbell.nvme.memory import HostMemory
from doorbell.soak.card import PARAMS as CARD_PARAMS
from doorbell.soak.generate import Shape
from doorbell.soak.generate_crowd import VF_QUEUES, crowd_shape
from doorbell.soak.judge import Failure
from doorbell.soak.machine import MEMORY_PARAMS, SPACE_BYTES, Machine, driver_of, shape_of, wants_memory
from doorbell.soak.machine import PARAMS as OF_ONE
from doorbell.soak.model import Blocks, Drive, Space
from doorbell.soak.steps import LAYOUT, Step

MEMORY_BYTES = 24 << 20  # of each function
STEP = 1 << 36  # between their memories
PATIENCE_US = 150_000  # longer than an Abort waits (CFG_WATCH_US); at full cost, as some function is always at work
ENABLE_CYCLES = 250_000  # between two changes of VF Enable, a ms; SR-IOV wants a second
SHARERS = (0, 1)  # have the last function's namespace too
PARAMS = OF_ONE | {"db_vcsd": CARD_PARAMS}
MANY = 9  # functions for which the default NUM_QP is enough


class FunctionMachine(Machine):
    """What the hosts of a drive with several functions have in common."""

    patience_us = PATIENCE_US


class PfMachine(FunctionMachine):
    """The PF's host. before, after: what becomes of the VFs, called with the kind of a reset of the PF around it.
    vfs: how many are there, by VF Enable."""

    def __init__(self, top: str, image: Path, options: dict[str, Any], seed: int, functions: int) -> None:
        self.functions = functions
        self.before: Callable[[str], None] = lambda kind: None
        self.after: Callable[[str], None] = lambda kind: None
        self.vfs = 0
        shape = self._shape(top, options)
        many = {"NUM_QP": 64} if functions > MANY else {}
        memory = MEMORY_PARAMS if shape.memory else {}
        params = {"SGL": 1, **PARAMS.get(top, {}), **memory, "NUM_NS": shape.spaces, **many}
        super().__init__(top, image, {"num_fn": functions, "params": params, **options}, seed)
        self.model.functions = functions

    def _shape(self, top: str, options: Mapping[str, Any]) -> Shape:
        return crowd_shape(shape_of(top, options), self.functions, wants_memory(options))

    def _first_look(self) -> None:
        """Namespaces of the same size, a private one for each function; but the last one is shared with SHARERS."""
        drive, model = self.drive, self.model
        model.mdts_bytes = drive.max_transfer
        namespaces.delete(drive)
        for fn in range(self.functions):
            shared = fn == self.functions - 1
            fns = {fn, *SHARERS} if shared else {fn}
            command, blocks = self.create_try(SPACE_BYTES // 512, 512, shared, self._first_on(fn))
            nsid = command.check().dw0
            namespaces.attachment_try(drive, nsid, NsAttach.ATTACH, tuple(sorted(fns))).check()
            space = Space(nsid, Blocks(blocks, 512), fns, shared, home=fn * SPACE_BYTES)
            model.spaces[nsid] = self.placed(space)

    def _first_on(self, fn: int) -> int:
        """Where the first namespace of a function is: see `create_try`."""
        return 0

    def enable_vfs(self, count: int) -> None:
        falls = count < self.vfs
        self.drive.sim.enable_vfs(count)
        if falls:
            self.drive.advance(ENABLE_CYCLES)
        self.vfs = count

    def reset(self, kind: str, timing: int) -> list[Command]:
        self.before(kind)
        lost = super().reset(kind, timing)
        if kind in ("flr", "link", "power"):
            self.vfs = 0
        self.after(kind)
        return lost


class VfMachine(FunctionMachine):
    """The host of a VF, which the PF's gives what it needs. online, given: its state, its queues and interrupts, as the
    PF's host knows them."""

    def __init__(self, pf: PfMachine, fn: int, seed: int, enable_vfs: Callable[[int], None]) -> None:
        """enable_vfs: VF Enable for so many VFs; all that go are told."""
        self.pf, self.fn, self.seed, self.enable_vfs = pf, fn, seed + fn, enable_vfs
        self.functions = pf.functions
        self.shape = replace(pf.shape, queues=VF_QUEUES, manage=False)
        model = pf.model
        self.model = Drive(model.spaces, model.keys, model.mdts_bytes, fn, pf.functions, model.near, model.greps)
        self.layout: Step = {**dict(LAYOUT), "queues": 2}
        self.cycles = 0
        self.given = (0, 0)
        self.online = False
        self.power_on(0)

    def power_on(self, timing: int) -> None:
        """The PF's host has: this one finds its function in the new simulation."""
        memory = HostMemory(MEMORY_BYTES, self.pf.drive.memory.base + self.fn * STEP, seed=self.seed)
        self.drive = driver_of(self.pf.drive.sim.function(self.fn), memory, self.seed, self.pf.patience_us)

    def close(self) -> None:
        """The PF's host does."""

    # ---- what the PF's host does for it

    def bring_up(self) -> None:
        pf = self.pf.drive
        if self.pf.vfs < self.fn:
            self.pf.enable_vfs(self.fn)
        self.look()
        if not self.given[0]:
            virtualization.assign(pf, self.fn, queues=VF_QUEUES, interrupts=VF_QUEUES + 1)
            self.given = VF_QUEUES + 1, VF_QUEUES + 1
        if not self.online:
            virtualization.online(pf, self.fn)
            self.online = True
            self.look()
        if self.drive.read32(Reg.CSTS) & CSTS_CFS:  # it was offline and enabled: RDY, already 0, says nothing
            self.drive.write32(Reg.CC, 0)
            self.drive.wait_csts(CSTS_CFS, 0, PATIENCE_US, "after an offline controller was disabled")
        super().bring_up()
        controller = self.drive.controller
        self.drive.sgl = bool(self.fn % 2 and controller is not None and controller.sgls & 3)  # every other VF

    def look(self) -> None:
        """The drive says of it what its host knows, once what it had under way is over."""
        until = self.pf.drive.sim.ns + 1000 * PATIENCE_US
        while True:
            found = virtualization.secondaries(self.pf.drive, self.fn)[0]
            says, knows = (bool(found.scs), found.nvq, found.nvi), (self.online, *self.given)
            if (found.scid == self.fn and says == knows) or self.pf.drive.sim.ns > until:
                break
            self.pf.drive.advance(1000)
        if found.scid != self.fn or says != knows:
            raise Failure("functions", f"VF {self.fn}: online, queues, interrupts are {says}, not {knows}")

    def offline(self) -> None:
        """Afterwards it touches nothing, and has nothing."""
        virtualization.offline(self.pf.drive, self.fn)
        self.online, self.given = False, (0, 0)
        if self.pf.vfs >= self.fn:
            self.drive.wait_csts(CSTS_RDY, 0, PATIENCE_US, "after it went offline")

    def taken(self) -> None:
        """VF Enable has fallen, or the PF was reset: it is offline, and its host sees that it is quiet."""
        if self.online:
            self.online, self.given = False, (0, 0)
        if self.pf.vfs >= self.fn:
            self.drive.wait_csts(CSTS_RDY, 0, PATIENCE_US, "after a reset of the PF")
            return
        try:
            csts = self.drive.read32(Reg.CSTS)
        except MmioError:
            return
        raise Failure("functions", f"VF {self.fn} is not enabled, and its CSTS reads {csts:#x}")

    def forget(self) -> list[Command]:
        """Its queues are gone; the commands that will never end."""
        lost = self.drive._forget_queues()
        self.drive.take_irqs()
        return lost

    def reset(self, kind: str, timing: int) -> list[Command]:
        match kind:
            case "offline":
                self.offline()
            case "vf_enable":
                self.enable_vfs(self.fn - 1)
            case _:
                return super().reset(kind, timing)
        return self.forget()
