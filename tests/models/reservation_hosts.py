# SPDX-License-Identifier: Apache-2.0
"""Hosts that share namespace 1 of a drive, a function each, beside the model of its reservations.

What each can do, what it is told, what a report says; resets and power cycles of all.
"""

from __future__ import annotations

import random
from pathlib import Path

from doorbell.nvme import reservations, virtualization
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import CSTS_CFS, AdminOpc, Cns, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from owners import bring_up_functions
from reservation_model import Reservations
from traffic import MakeDrive

OK, CONFLICT = Status.SUCCESS, Status.RESV_CONFLICT
TYPES = range(1, 7)
READS = (NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.VERIFY)
WRITES = (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.DSM, NvmOpc.FLUSH)
MEMORY = 16 << 20
KEY = 0x0111_0000_0AAA_0001
"""Of the first host; each other one has a multiple."""


def io(drive: Driver, opcode: int, nsid: int | None = None) -> Command:
    """A command of one block at 0; Dataset Management deallocates block 4096."""
    buffer = drive.buffer(512)
    buffer.write(bytes(4) + (1).to_bytes(4, "little") + (4096).to_bytes(8, "little") + bytes(496))
    geometry = {"cdw10": 0, "cdw11": 4} if opcode == NvmOpc.DSM else {}
    command = drive.submit(1, opcode, buffer=buffer, nbytes=16 if geometry else 512, nsid=nsid, ring=True, **geometry)
    drive.wait([command])
    buffer.free()
    return command


def allowed(drive: Driver, opcode: int) -> bool:
    command = io(drive, opcode)
    expect(command, OK, CONFLICT, *([Status.COMPARE_FAILED] if opcode == NvmOpc.COMPARE else []))
    assert command.status != CONFLICT or command.dnr
    return command.status != CONFLICT


class Cluster:
    """Functions of a drive whose hosts have identifiers Ah, Bh, ..., one each."""

    def __init__(self, make_drive: MakeDrive, num_fn: int = 3, image: Path | None = None, **options: int) -> None:
        """image: of the media; with one there are power cycles."""
        self.make_drive, self.num_fn, self.image, self.options = make_drive, num_fn, image, options
        self.hosts = [0xA + fn for fn in range(num_fn)]
        self.keys = [KEY * (1 + fn) for fn in range(num_fn)]
        self.queues = {fn: 2 if fn == 0 else 1 for fn in range(num_fn)}
        self.model = Reservations()
        self._open(new=True)
        self.name()

    def _open(self, new: bool) -> None:
        media = {"image": str(self.image)} if self.image else {}
        pf = self.make_drive(num_fn=self.num_fn, memory=MEMORY, params={"NUM_NS": self.num_fn, "SGL": 1},
                             media_size=32 << 20, **media, **self.options)  # fmt: skip
        self.drives = bring_up_functions(pf, queues=self.queues, entries=32, memory=MEMORY, new=new)

    def name(self) -> None:
        """Each function is told whose it is."""
        for drive, host in zip(self.drives, self.hosts, strict=True):
            reservations.set_host_id(drive, host)

    @property
    def controllers(self) -> dict[int, int]:
        """By host, its CNTLID."""
        return {host: fn for fn, host in enumerate(self.hosts)}

    # ---- resets of all
    def link_reset(self) -> None:
        """All are up again, and nobody has said who it is. Power was never off."""
        self.drives[0].sim.reset()
        self._revive()

    def hang(self) -> None:
        """The processor does not sleep for a second, as the watchdog counts it; the PF's host resets it."""
        pf = self.drives[0]
        pf.submit(0, AdminOpc.IDENTIFY, nsid=0, buffer=pf.buffer(4096), cdw10=Cns.CTRL, ring=True)
        for _ in range(100):
            pf.sim.run(100)
            for _ in range(2):
                pf.sim.time_us += 1 << 19
                pf.sim.run(5)
            if pf.read32(Reg.CSTS) & CSTS_CFS:
                break
        assert pf.read32(Reg.CSTS) & CSTS_CFS
        pf.disable()
        self._revive()

    def _revive(self) -> None:
        pf = self.drives[0]
        for drive in self.drives:
            drive._forget_queues()
        pf.start(queues=self.queues[0], entries=32)
        pf.sim.enable_vfs(self.num_fn - 1)
        for fn, vf in enumerate(self.drives[1:], 1):
            virtualization.assign(pf, fn, queues=self.queues[fn], interrupts=2)
            virtualization.online(pf, fn)
            vf.start(queues=self.queues[fn], entries=32, vectors=1)
        self.model.reset()

    def power_cycle(self) -> None:
        """... but what is on the media is all that it remembers."""
        self.drives[0].sim.close()
        self._open(new=False)
        self.model.power_loss()

    # ---- as the model says
    def probe(self, thorough: bool = False) -> None:
        """Each function can do what the model says."""
        for drive, host in zip(self.drives, self.hosts, strict=True):
            for write, group in ((False, READS), (True, WRITES)):
                for opcode in group if thorough else group[:1]:
                    may = self.model.may(host, write)
                    assert allowed(drive, opcode) == may, f"host {host:x}, {NvmOpc(opcode).name}"

    def same_report(self, fn: int = 0, named: bool = True) -> None:
        """named: functions have said whose they are."""
        found, model = reservations.report(self.drives[fn]), self.model
        assert (found.generation, found.rtype, found.persists) == (model.generation, model.rtype, model.persists)
        controllers = self.controllers if named else {}
        want = {(controllers.get(h, 0xFFFF), model.holds(h), h, k) for h, k in model.keys.items()}
        assert {(c.cntlid, c.holder, c.hostid, c.key) for c in found.controllers} == want
        assert len(found.controllers) == len(want)

    def heard(self) -> None:
        """Each function has the notices that the model has for its host, in their order."""
        for drive, host in zip(self.drives, self.hosts, strict=True):
            for want in [kind for h, kind in self.model.notices if h == host]:
                assert reservations.notification(drive).type == want
            assert reservations.notification(drive).type == 0
        self.model.notices.clear()

    # ---- one command, of the drive and of the model
    def register(self, fn: int, action: int = 0, *, current: int = 0, key: int = 0, ignore: bool = False,
                 ptpl: int = 0) -> int:  # fmt: skip
        command = reservations.register_try(self.drives[fn], action, current=current, key=key, ignore=ignore, ptpl=ptpl)
        return self._same(command, self.model.register(self.hosts[fn], action, current, key, ignore, ptpl))

    def acquire(self, fn: int, action: int = 0, *, key: int, rtype: int, preempt: int = 0, ignore: bool = False) -> int:
        keys = {"key": key, "preempt": preempt}
        command = reservations.acquire_try(self.drives[fn], action, **keys, rtype=rtype, ignore=ignore)
        return self._same(command, self.model.acquire(self.hosts[fn], action, key, preempt, rtype, ignore))

    def release(self, fn: int, action: int = 0, *, key: int, rtype: int = 0, ignore: bool = False) -> int:
        command = reservations.release_try(self.drives[fn], action, key=key, rtype=rtype, ignore=ignore)
        return self._same(command, self.model.release(self.hosts[fn], action, key, rtype, ignore))

    @staticmethod
    def _same(command: Command, status: int) -> int:
        got, want = Status(command.status).name, Status(status).name
        assert got == want, f"{NvmOpc(command.opcode).name}: {got}, not {want}"
        return status

    def at_random(self, rng: random.Random) -> str:
        """What was done, and how it ended."""
        fn = rng.randrange(self.num_fn)
        model, keys = self.model, self.keys
        own = model.keys.get(self.hosts[fn], keys[fn])
        key = own if rng.random() < 0.85 else rng.choice(keys)
        kind = rng.choices(("register", "acquire", "release"), (4, 4, 2))[0]
        ignore = rng.random() < (0.2 if kind == "register" else 0.03)
        if kind == "register":
            action, new = rng.choice((0, 0, 0, 1, 2, 3)), rng.choice((keys[fn], keys[fn], *keys, 0))
            status = self.register(
                fn, action, current=key, key=new, ignore=ignore, ptpl=rng.choice((0, 0, 0, 0, 1, 2, 3)))  # fmt: skip
        elif kind == "acquire":
            action, rtype = rng.choice((0, 0, 1, 1, 2, 3)), rng.choice((*TYPES, *TYPES, 0, 7))
            victim = rng.choice((*model.keys.values(), *keys, 0))
            status = self.acquire(fn, action, key=key, rtype=rtype, preempt=victim, ignore=ignore)
        else:
            action = rng.choice((0, 0, 0, 1, 2))
            rtype = model.rtype if rng.random() < 0.7 else rng.choice((*TYPES, 0))
            status = self.release(fn, action, key=key, rtype=rtype, ignore=ignore)
        return f"{kind} action {action}: {Status(status).name}"
