# SPDX-License-Identifier: Apache-2.0
"""All functions of one drive at work at once: a player each, with a host, a judge and a model of its own.

Time passes for all of them: while one waits, the commands of the others go on, and are judged when it is their turn.
A reset of one ends its commands alone; a reset of the PF ends all, and its VFs are away until a step brings them back.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from doorbell.soak.functions import PfMachine, VfMachine
from doorbell.soak.judge import Failure, judged
from doorbell.soak.model import Space
from doorbell.soak.player import LOOK_EVERY, Player
from doorbell.soak.steps import RESETS, VF_RESETS, Step, whole

ALONE = ("link", "power")  # the drive stops at once, with all that is under way


class Member(Player):
    """The player of one function. up: its host uses it."""

    machine: PfMachine | VfMachine

    def __init__(self, crowd: Crowd, machine: PfMachine | VfMachine, fn: int) -> None:
        self.crowd, self.fn, self.up = crowd, fn, not fn
        self._begin(machine)

    @property
    def timeouts(self) -> int:  # type: ignore[override]
        """Tags are the drive's."""
        return self.crowd.timeouts

    @timeouts.setter
    def timeouts(self, count: int) -> None:
        self.crowd.timeouts = count

    # ---- what concerns others too

    def settle(self, nsid: int | None = None) -> None:
        """Of a namespace: those of all functions, of some that do not have it any more too."""
        super().settle(nsid)
        for m in self.crowd.members if nsid is not None else ():
            if mine := [c for c, s in m.judge.sent.items() if s.concerns(nsid)]:
                for cq in m.drive.cqs.values():
                    cq.hold = False
                m.drive.poll(everything=True)
                m.drive.wait(mine)

    def meet(self, nsid: int) -> None:
        for m in self.crowd.members:
            if m.up:
                m.drive.ring()
            m.judge.namespace_changes(nsid)

    def keys_change(self, slot: int) -> None:
        for m in self.crowd.members:
            m.judge.keys_change(slot)

    def mend_media(self) -> None:
        if any(m.judge.bad_media for m in self.crowd.members):
            self.drive.sim.media_error_clear()
            for m in self.crowd.members:
                m.judge.bad_media = False

    def _home(self, space: Space) -> int | None:
        """So that the errors of one are no other's."""
        return space.home if self.machine.model.has(space) and not space.shared else None

    def drop_faults(self) -> None:
        self.crowd.drop_faults()

    # ---- resets, coming and going

    def has_reset(self, kind: str) -> bool:
        return kind in (VF_RESETS if self.fn else RESETS)

    def do_cut(self, step: Step) -> None:
        if self.has_reset(step["kind"]):
            super().do_cut(step)

    def do_reset(self, step: Step) -> None:
        if self.has_reset(step["kind"]):
            super().do_reset(step)
            self.up = True

    def leave(self) -> None:
        """It is quiet: nothing may be touched for it from now on."""
        assert isinstance(self.machine, VfMachine)
        self.judge.lost(self.machine.forget())
        self.forget("")
        self.up = False
        if self.judge.sent:
            raise Failure("protocol", f"{len(self.judge.sent)} commands of VF {self.fn} are neither done nor taken")

    def catch_up(self) -> None:
        """What has ended is judged before something ends the rest."""
        if self.up:
            self.drive.ring()
            self.drive.poll(everything=True)

    def do_offline(self, step: Step) -> None:
        if not isinstance(self.machine, VfMachine):
            return
        self.catch_up()
        was_up = self.up
        if self.machine.online or not was_up:
            self.machine.offline()
        if was_up:
            self.leave()

    def do_online(self, step: Step) -> None:
        if self.up:
            return
        self.machine.bring_up()
        self.up = True
        self.look_at_spaces()

    def do_bus_master(self, step: Step) -> None:
        """Off, a function of several is silent: what it does meanwhile is lost, an entry that it fetches too."""
        super().do_bus_master(step)
        self.reset_if_fatal()

    def do_vfs(self, step: Step) -> None:
        self.crowd.enable_vfs(max(0, min(step["count"], len(self.crowd.members) - 1)))


class Crowd:
    """A run of several functions, as a Player is of one."""

    pf_machine: type[PfMachine] = PfMachine
    vf_machine: type[VfMachine] = VfMachine
    member: type[Member] = Member

    def __init__(self, top: str, folder: Path, options: dict[str, Any], seed: int, functions: int) -> None:
        self.timeouts = 0
        self.steps = 0
        self.members: list[Member] = []
        with judged():
            self.pf = self.pf_machine(top, folder / f"{top}.img", options, seed, functions)
            self.members.append(self.member(self, self.pf, 0))
            for fn in range(1, functions):
                machine = self.vf_machine(self.pf, fn, seed, self.enable_vfs)
                self.members.append(self.member(self, machine, fn))
            self.pf.enable_vfs(functions - 1)
            for member in self.members:
                member.do_online({})
        self.pf.before, self.pf.after = self._before, self._after

    @property
    def vfs(self) -> list[Member]:
        return self.members[1:]

    @property
    def commands(self) -> int:
        return sum(m.commands for m in self.members)

    @property
    def ended(self) -> Counter[str]:
        return sum((m.judge.ended for m in self.members), Counter())

    @property
    def cycles(self) -> int:
        return self.pf.cycles

    def close(self) -> None:
        self.pf.close()

    def play(self, step: Step) -> None:
        """Raises Failure."""
        whole_step, fn = whole(step), step.get("fn", 0)
        if not 0 <= fn < len(self.members):
            return
        member = self.members[fn]
        with judged(f"function {fn}: "):
            if step["do"] == "run":
                self.run(whole_step["cycles"])
            elif member.up or step["do"] in ("online", "offline", "vfs"):
                if act := getattr(member, f"do_{step['do']}", None):  # else it is of another kind of drive
                    act(whole_step)
            if any(m.judge.stale_faults for m in self.members):
                self.drop_faults()
        self.steps += 1
        if self.steps % LOOK_EVERY == 0:
            self.look()

    def finish(self) -> None:
        """All functions come back; all has ended, all data is right."""
        for do in ("online", "check"):
            for m in self.members:
                self.play({"do": do, "fn": m.fn})
        self.look()

    def run(self, cycles: int) -> None:
        """Time for all."""
        up = [m for m in self.members if m.up]
        for m in up:
            m.drive.ring()
        self.pf.drive.advance(min(cycles, 10_000_000))
        for m in up:
            m.drive.poll()

    def look(self) -> None:
        """What is refused to one is judged as its."""
        for m in self.members:
            m.judge.look_at_strays()
        self.members[0].judge.look()

    def drop_faults(self) -> None:
        """Takes back those that were not met; there is only one list of them."""
        if any(m.met_faults() for m in self.members):
            return
        self.pf.drive.sim.inject_clear()
        for m in self.members:
            m.inject_again()

    # ---- VFs that go

    def enable_vfs(self, count: int) -> None:
        """VFs 1 to `count` are there, those that were offline or away still are. The others go."""
        gone = self.vfs[count:]
        for m in gone:
            m.catch_up()
        self.pf.enable_vfs(count)
        self._taken(gone)

    def _before(self, kind: str) -> None:
        for m in self.vfs:
            m.catch_up()
            if kind in ALONE and m.up:
                m.leave()
        if kind == "power":
            self.look()  # afterwards nobody can say it any more

    def _after(self, kind: str) -> None:
        for m in self.vfs:
            if kind in ALONE:
                m.machine.given = (0, 0)
            if kind == "power":
                m.machine.power_on(0)
                m.judge.drive = m.drive
        self._taken(self.vfs)
        for m in self.vfs:
            m.forget(kind)

    def _taken(self, gone: list[Member]) -> None:
        for m in gone:
            m.machine.taken()
        for m in gone:
            if m.up:
                m.leave()
