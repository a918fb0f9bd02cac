# SPDX-License-Identifier: Apache-2.0
"""Steps of a drive that stores in SSDs (db_vcsd): what SSDs do at their worst. It costs the namespaces that are on
them, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doorbell.device.drives import WINDOW_BYTES
from doorbell.nvme import namespaces, virtual_drives
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.soak.backends import faults_of
from doorbell.soak.card import GRANULE, PATIENT_US, CardMachine
from doorbell.soak.judge import Failure
from doorbell.soak.model import Space
from doorbell.soak.player import Player
from doorbell.soak.steps import Step, whole

OPCODES = {"read": NvmOpc.READ, "write": NvmOpc.WRITE, "zeroes": NvmOpc.WRITE_ZEROES, "flush": NvmOpc.FLUSH}
READ_ERROR, WRITE_FAULT = 0x281, 0x280
MISLEADING = ("astray",)
FATAL = ("hang", "vanish")  # until its power goes
OFF_CYCLES = 1000
"""An SSD is away for so long at least: what the card had sent before it knew has nowhere to go, as on any link that is
down, and does not reach the SSD that comes."""


class CardPlayer(Player):
    """A run on a card with SSDs."""

    machine: CardMachine
    _resetting = False

    def _machine(self, top: str, image: Path, options: dict[str, Any], seed: int) -> CardMachine:
        return CardMachine(top, image, options, seed)

    def ssd_fails(self, ssd: int, lies: bool = False) -> None:
        self.judge.ssd_fails(ssd, lies)

    def ssds_mended(self) -> None:
        self.judge.ssds_mended()

    # ---- what SSDs do

    def do_ssd_fault(self, step: Step) -> None:
        ssd, kind, op = step["ssd"], step["kind"], step["op"]
        if not self._there(ssd) or kind not in faults_of(self.machine.shape.ssd):
            return
        us, by = max(0, min(step["us"], 50_000)), max(1, step["by"])
        if kind == "astray":
            op = "read"  # what it stores is right
        misleads = kind in MISLEADING
        if kind != "double" and (kind != "late" or us > PATIENT_US):
            self.ssd_fails(ssd, misleads)
        self.machine.fault(
            ssd, kind, opcode=OPCODES[op] if op else None, skip=max(0, step["skip"]),
            count=None if step["count"] < 0 else max(1, step["count"]), us=us,
            by={"cid": by & 0xFFFF, "copy": by * 16}.get(kind, self._within_windows(ssd, by * 64)),
            status=WRITE_FAULT if op == "write" else READ_ERROR,
        )  # fmt: skip
        self.faulty.add(ssd)
        if kind in FATAL:
            self.fatal.add(ssd)

    def _within_windows(self, ssd: int, by: int) -> int:
        """So far beside a place in its window that it is in one of them still."""
        begin = ssd * WINDOW_BYTES
        return (begin + by) % (self.machine.shape.ssds * WINDOW_BYTES) - begin

    def do_ssd_away(self, step: Step) -> None:
        if self._there(step["ssd"]):
            self._take_away(step["ssd"])

    def _take_away(self, ssd: int) -> None:
        self.drive.ring()
        self.ssd_fails(ssd)
        self.machine.sim.ssds.link(False, port=ssd)
        self.away.add(ssd)
        self.off_at = self.machine.now

    def do_ssd_back(self, step: Step) -> None:
        """Its commands may fail until it is up, and nobody says when that is: until it is mended."""
        if step["ssd"] in self.away:
            self.drive.advance(max(0, self.off_at + OFF_CYCLES - self.machine.now))
            self.machine.sim.ssds.link(True, port=step["ssd"])
            self.away.discard(step["ssd"])

    def do_ssd_power(self, step: Step) -> None:
        if not self._there(step["ssd"]):
            return
        self._take_away(step["ssd"])
        self.drive.advance(max(OFF_CYCLES, min(step["cycles"], 1_000_000)))
        self.drive.poll()
        self.do_ssd_back(step)

    def _there(self, ssd: int) -> bool:
        return 0 <= ssd < self.machine.shape.ssds and ssd not in self.away

    # ---- and the end of it

    def do_ssd_mended(self, step: Step) -> None:
        self.mend_media()

    def mend_media(self) -> None:
        if self._resetting:
            return
        machine, ssds = self.machine, self.machine.sim.ssds
        for ssd in self.faulty:
            machine.faults_clear(ssd)
        bad = self.judge.bad_ssds
        for ssd in sorted(bad - self.away):
            if ssd in self.fatal or not machine.comes_up(1 << ssd, patient=False):  # nothing but power helps
                ssds.link(False, port=ssd)
                self.away.add(ssd)
        if self.away:
            self.drive.advance(OFF_CYCLES)
        for ssd in sorted(self.away):
            ssds.link(True, port=ssd)
        if bad and not machine.comes_up(machine.all_bits):
            raise Failure("ssd", f"all SSDs are there, without faults; up are {machine.sim.up:#b}")
        self._all_well()

    def _all_well(self) -> None:
        self.faulty.clear()
        self.fatal.clear()
        self.away.clear()
        self.ssds_mended()

    def do_reset(self, step: Step) -> None:
        """SSDs stay as they are; power makes all of them good."""
        self._resetting = True
        try:
            super().do_reset(step)
        finally:
            self._resetting = False
        if step["kind"] == "power":
            self._all_well()

    def _begin(self, machine: Any) -> None:
        self.faulty: set[int] = set()  # with faults in the simulator
        self.fatal: set[int] = set()  # ... with those that nothing but power ends
        self.away: set[int] = set()
        self.off_at = 0  # when one went last
        super()._begin(machine)
        machine.troubled = lambda: bool(self.judge.bad_ssds)

    def do_media_error(self, step: Step) -> None:
        """The card's own memory holds settings alone: it is an SSD that says so."""
        space = self.machine.model.spaces.get(step["ns"])
        if space is None:
            return
        for ssd in sorted(space.ssds):
            fault = {"kind": "status", "op": "", "skip": 0, "count": step["times"] or 1, "us": 0, "by": 1}
            self.do_ssd_fault({"do": "ssd_fault", "ssd": ssd, **fault})

    # ---- virtual drives, while nobody uses them

    def do_grow(self, step: Step) -> None:
        """What was there stays, what comes is zero; blocks on both sides of the seam work."""
        model, granules = self.machine.model, max(1, step["granules"])
        if not namespaces.supported(self.drive):
            return
        self.settle(step["ns"])
        self.mend_media()
        space = model.spaces.get(step["ns"])
        want: set[int] = {Status.INVALID_FIELD}
        if space is not None and space.blocks.blocks * space.blocks.block_size % GRANULE == 0:
            want = {Status.SUCCESS, Status.NS_INSUFFICIENT_CAP}
            want |= set() if space.granular else {Status.INVALID_FIELD}
        command = virtual_drives.grow_try(self.drive, step["ns"], granules, self.machine.ssds_of(step["on"]))
        if not self._expect(command, "Grow", *want):
            return
        assert space is not None
        was = space.blocks.blocks
        space.blocks.blocks += granules * GRANULE // space.blocks.block_size
        if self.machine.size_of(space.nsid) != (space.blocks.blocks, space.blocks.block_size):
            raise Failure("namespaces", f"namespace {space.nsid} has {self.machine.size_of(space.nsid)} after it grew")
        self.machine.placed(space)
        for op, at in (("read", was - 8), ("write", was - 4), ("read", was), ("read", space.blocks.blocks - 8)):
            self._seen(space, op, at)

    def do_exchange(self, step: Step) -> None:
        model, names = self.machine.model, (step["ns"], step["other"])
        if not namespaces.supported(self.drive):
            return
        for nsid in names:
            self.settle(nsid)
        self.mend_media()
        one, other = (model.spaces.get(nsid) for nsid in names)
        want: set[int] = {Status.INVALID_FIELD}
        if one is not None and other is not None and one is not other and self._alike(one, other):
            want = {Status.SUCCESS} | (set() if one.granular and other.granular else {Status.INVALID_FIELD})
        if not self._expect(virtual_drives.exchange_try(self.drive, *names), "Exchange", *want):
            return
        assert one is not None and other is not None
        one.blocks, other.blocks = other.blocks, one.blocks
        for space in (one, other):
            self.machine.placed(space)
            self._seen(space, "read", 0)

    def _alike(self, one: Space, other: Space) -> bool:
        shapes = [(s.blocks.blocks, s.blocks.block_size, s.slot) for s in (one, other)]
        return shapes[0] == shapes[1] and one.blocks.blocks * one.blocks.block_size % GRANULE == 0

    def _seen(self, space: Space, op: str, at: int) -> None:
        for q in [q for q in self.drive.sqs if q][:1]:
            fields = {"q": q, "ns": space.nsid, "at": max(0, at), "count": 8, "data": at}
            self.do_io(whole({"do": "io", "op": op, **fields}))
