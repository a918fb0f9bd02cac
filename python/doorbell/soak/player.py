# SPDX-License-Identifier: Apache-2.0
"""Carries steps out: commands, waiting, and disturbances that any drive knows. Those of namespaces and keys are in
admin.py, and what a reset cuts off in cuts.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import CSTS_CFS, AdminOpc, Reg, Status
from doorbell.soak.admin import Admin
from doorbell.soak.cuts import Cuts
from doorbell.soak.entries import Entries
from doorbell.soak.execute import Executes
from doorbell.soak.generate import REGION
from doorbell.soak.judge import Failure, Judge, judged
from doorbell.soak.machine import SPACE_BYTES, Machine
from doorbell.soak.memory import Memories
from doorbell.soak.model import Memory, Space
from doorbell.soak.programs import Programs
from doorbell.soak.steps import LAYOUT, Step, whole

LOOK_EVERY = 50  # steps
MEMORY_GOES = ("power", "link", "subsystem")  # resets that nobody promises a function's memory to outlast


class Player(Entries, Memories, Executes, Programs, Cuts, Admin):
    """One run. `commands` counts those that were submitted."""

    def __init__(self, top: str, folder: Path, options: dict[str, Any], seed: int) -> None:
        with judged():
            self._begin(self._machine(top, folder / f"{top}.img", options, seed))

    def _machine(self, top: str, image: Path, options: dict[str, Any], seed: int) -> Machine:
        return Machine(top, image, options, seed)

    def _begin(self, machine: Machine) -> None:
        self.judge = Judge()
        self.machine = machine
        self.judge.drive = machine.drive
        self.judge.finder = machine.finder
        self.steps = 0
        self.active: set[int] = set()
        self.sets: list[int] = []

    @property
    def ended(self) -> Counter[str]:
        """How commands have ended."""
        return self.judge.ended

    @property
    def cycles(self) -> int:
        """Of all simulations that are over."""
        return self.machine.cycles

    def close(self) -> None:
        self.machine.close()

    def play(self, step: Step) -> None:
        """Raises Failure."""
        whole_step = whole(step)
        with judged():
            if act := getattr(self, f"do_{step['do']}", None):  # else it is of another kind of drive
                act(whole_step)
            if self.judge.stale_faults:
                self.drop_faults()
        self.steps += 1
        if self.steps % LOOK_EVERY == 0:
            self.judge.look()

    def finish(self) -> None:
        """The end of a run: all has ended, all data is right."""
        self.play({"do": "check"})
        self.judge.look()

    def keys_change(self, slot: int) -> None:
        """Commands of namespaces with this slot meet another key, or none."""
        self.judge.keys_change(slot)

    # ---- time

    def do_run(self, step: Step) -> None:
        self.drive.ring()
        self.drive.advance(min(step["cycles"], 10_000_000))
        self.drive.poll()

    def do_wait(self, step: Step) -> None:
        self.settle()

    def settle(self, nsid: int | None = None) -> None:
        """All commands (of a namespace) have ended; nobody is on hold any more."""
        for cq in self.drive.cqs.values():
            cq.hold = False
        self.drive.poll(everything=True)
        mine = [c for c, s in self.judge.sent.items() if nsid is None or (s.space and s.concerns(nsid))]
        self.drive.wait(mine)

    def do_check(self, step: Step) -> None:
        self.settle()
        self.mend_media()
        queues = sorted(q for q in self.drive.sqs if q)
        for space in self.machine.model.spaces.values():
            if not self.machine.model.has(space) or self.machine.model.locked(space):
                continue
            for i, at in enumerate(range(0, min(REGION, space.blocks.blocks), 16)):
                q = queues[i % len(queues)]
                self.do_io(whole({"do": "io", "q": q, "ns": space.nsid, "op": "read", "at": at, "count": 16}))
            self.settle()
        self.check_memory()
        self.settle()

    # ---- disturbances

    def do_hold(self, step: Step) -> None:
        sq = self.drive.sqs.get(step["q"])
        if sq is None:
            return
        cq = self.drive.cqs[sq.cqid]
        cq.hold = bool(step["on"])
        if not cq.hold:
            self.drive.poll(everything=True)

    def do_abort(self, step: Step) -> None:
        """What the answer says is so: "aborted" comes after the command's own entry, "not aborted" leaves it alone."""
        drive, q = self.drive, step["q"]
        sq = drive.sqs.get(q)
        if sq is None or not q:
            return
        drive.ring()
        if step["pick"] < 0:  # a command that is not there
            if self._ask_abort(q, next(i for i in range(1 << 16) if i not in sq.pending)):
                raise Failure("abort", "Abort says that it has aborted a command that nobody has sent")
            return
        if not sq.pending:
            return
        command = sorted(sq.pending.values(), key=lambda c: -c.position)[step["pick"] % len(sq.pending)]
        cq = drive.cqs[sq.cqid]
        on_hold, cq.hold = cq.hold, True  # so that it is seen what was there before the answer
        aborted = self._ask_abort(q, command.cid)
        there = drive.unread(cq)
        cq.hold = on_hold
        self._judge_abort(
            command, aborted, [s for *who, s in there if who == [q, command.cid]], len(there) + 1 < cq.entries
        )
        drive.poll(everything=True)

    def _ask_abort(self, q: int, cid: int) -> bool:
        answer = self.drive.admin_try(AdminOpc.ABORT, cdw10=cid << 16 | q)
        if answer.status != Status.SUCCESS or answer.dw0 >> 1:
            raise Failure("status", f"Abort ended with {answer.status:#x}, dword 0 is {answer.dw0:#x}")
        return not answer.dw0 & 1

    def _judge_abort(self, command: Command, aborted: bool, ended: list[int], room: bool) -> None:
        """ended: the status in the command's entry, if there is one. room: for more entries in its queue."""
        sent = self.judge.sent[command]
        if aborted and sent.abort:
            raise Failure("abort", "Abort says that it has aborted a command that was aborted before")
        if ended and not sent.abort and aborted != (ended[0] == Status.ABORT_REQUESTED):
            what = "" if aborted else "not "
            raise Failure("abort", f"Abort says that it has {what}aborted a command that ended with {ended[0]:#x}")
        if aborted and not ended and room:
            raise Failure("abort", "Abort says that it has aborted a command that has not ended yet")
        sent.abort = sent.abort or aborted

    def do_requeue(self, step: Step) -> None:
        drive, q = self.drive, step["q"]
        if q not in drive.sqs or not q:
            return
        sq = drive.sqs[q]
        cq, prio, entries = drive.cqs[sq.cqid], sq.prio, max(2, min(step["entries"], 256))
        both = bool(step["cq"]) and cq.sqs == {q}
        if cq.hold and not both:
            cq.hold = False  # what it holds of the queue must be read before the queue is forgotten
            drive.poll(everything=True)
        drive.ring()
        self.judge.lost(drive.delete_sq(q))
        if both:
            drive.delete_cq(cq.qid)
            drive.create_cq(cq.qid, max(2, entries // 2), cq.vector)
        drive.create_sq(q, entries, cq.qid, prio=prio)

    def do_fatal(self, step: Step) -> None:
        drive, q = self.drive, step["q"]
        if q not in drive.sqs or not q or not hasattr(drive.sim, "inject"):
            return
        self.settle()
        sq = drive.sqs[q]
        drive.sim.inject(step["kind"], addr=sq.address, length=sq.entries * 64)
        self.do_io(whole({"do": "io", "q": q, "op": "flush"}))
        self.reset_if_fatal()
        self.judge.stale_faults = True

    def reset_if_fatal(self) -> None:
        """An entry could not be read: the commands under way end, or the controller has failed and is reset."""
        drive = self.drive
        for _ in range(100):
            drive.step(50)
            if not self.judge.sent:
                break
            if drive.read32(Reg.CSTS) & CSTS_CFS:
                self.do_reset(whole({"do": "reset", **self.machine.layout}))
                break
        else:
            raise Failure("stuck", "an entry that cannot be read: neither a completion nor CSTS.CFS")

    def do_bus_master(self, step: Step) -> None:
        self.settle()
        self.drive.sim.set_cfg(bus_master=False)
        self.do_io(whole({"do": "io", "op": "flush"}))
        self.drive.advance(min(step["cycles"], 1_000_000))
        self.drive.sim.set_cfg(bus_master=True)

    def do_media_error(self, step: Step) -> None:
        space = self.machine.model.spaces.get(step["ns"])
        if space is None or not hasattr(self.drive.sim, "media_error"):
            return
        home = self._home(space)
        if home is None:
            return
        size = space.blocks.block_size
        at = home + step["at"] % REGION * size
        self.drive.sim.media_error(at, max(1, step["count"]) * size, count=step["times"] or 1)
        self.judge.media_breaks()

    def _home(self, space: Space) -> int | None:
        """Where on the media errors may be for this namespace's sake."""
        return (space.nsid - 1) * SPACE_BYTES

    def do_media_mended(self, step: Step) -> None:
        self.mend_media()

    def mend_media(self) -> None:
        if self.judge.bad_media:
            self.drive.sim.media_error_clear()
            self.judge.bad_media = False

    def forget(self, kind: str) -> None:
        """What the function has not any more after such a reset."""
        memory = self.machine.model.memory
        self.machine.model.forget()
        self.active.clear()
        self.sets.clear()
        if memory is not None and kind in MEMORY_GOES:
            assert isinstance(memory.blocks, Memory)
            memory.blocks.forget()

    def do_reset(self, step: Step) -> None:
        machine, model = self.machine, self.machine.model
        self.mend_media()
        self.drive.ring()
        machine.layout = {name: step[name] for name in LAYOUT}
        lost: list[Command] = machine.reset(step["kind"], step["timing"])
        self.judge.drive = machine.drive
        self.judge.lost(lost)
        if self.judge.sent:
            raise Failure("protocol", f"{len(self.judge.sent)} commands are neither done nor taken by the reset")
        if step["kind"] == "power":
            self.timeouts = 0
        self.forget(step["kind"])
        machine.bring_up()
        self.look_at_spaces()
        model.rekey()
        self.judge.stale_faults = True
