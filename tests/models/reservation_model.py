# SPDX-License-Identifier: Apache-2.0
"""Reservations of one namespace, as the NVMe Base Specification says, 2.1 and 2.2: 7.5 to 7.8 (commands) and 8.1.22.

8.1.22 says what they mean, and has the figures "Command Behavior in the Presence of a Reservation". Section numbers are
those of 2.1 and 2.2; in 2.0 it is 7.2 to 7.5 and 8.19.

Hosts are any values that can be compared; a host has one or more controllers. Statuses are {SCT, SC}.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from doorbell.nvme.constants import ResvAcquire, ResvNotice, ResvPtpl, ResvRegister, ResvRelease, ResvType, Status

OK, CONFLICT, INVALID = Status.SUCCESS, Status.RESV_CONFLICT, Status.INVALID_FIELD
Host = Hashable
ALL = (ResvType.WRITE_EXCLUSIVE_ALL, ResvType.EXCLUSIVE_ACCESS_ALL)
REGISTRANTS = (ResvType.WRITE_EXCLUSIVE_REGISTRANTS, ResvType.EXCLUSIVE_ACCESS_REGISTRANTS, *ALL)
EXCLUSIVE_ACCESS = (
    ResvType.EXCLUSIVE_ACCESS,
    ResvType.EXCLUSIVE_ACCESS_REGISTRANTS,
    ResvType.EXCLUSIVE_ACCESS_ALL,
)


@dataclass
class Reservations:
    keys: dict[Host, int] = field(default_factory=dict)  # of each registrant
    rtype: int = 0
    holder: Host | None = None  # of a reservation that is not all registrants'
    generation: int = 0
    persists: bool = False
    notices: list[tuple[Host, int]] = field(default_factory=list)  # who hears of what, since it was last emptied

    # ---- what is
    def holds(self, host: Host) -> bool:
        return host in self.keys and (self.rtype in ALL or (self.rtype != 0 and self.holder == host))

    def may(self, host: Host, write: bool) -> bool:
        """A command of the read group, or of the write group (8.1.22.1, both figures)."""
        if self.rtype == 0 or self.holds(host):
            return True
        if self.rtype in REGISTRANTS and host in self.keys:
            return True
        return not write and self.rtype not in EXCLUSIVE_ACCESS

    def _released(self, but: Host) -> None:
        self.notices += [(h, ResvNotice.RESERVATION_RELEASED) for h in self.keys if h != but]

    def _drop(self, host: Host) -> None:
        """A registrant is none any more."""
        del self.keys[host]
        if self.rtype and (not self.keys if self.rtype in ALL else self.holder == host):
            self.rtype, self.holder = 0, None

    # ---- commands
    def register(self, host: Host, action: int, current: int, new: int, ignore: bool, ptpl: int) -> int:
        """8.1.22.3: any key will do; Register does not look at IEKEY, and with it one replaces a key that one has not.

        8.1.22.4: with IEKEY nobody leaves who is not there.
        """
        if action not in (ResvRegister.REGISTER, ResvRegister.UNREGISTER, ResvRegister.REPLACE) or ptpl == 1:
            return INVALID
        if action == ResvRegister.REGISTER:
            if self.keys.get(host, new) != new:
                return CONFLICT
            self.keys[host] = new
        elif action == ResvRegister.REPLACE:
            if not ignore and self.keys.get(host) != current:
                return CONFLICT
            self.keys[host] = new
        else:
            if host not in self.keys or (not ignore and self.keys[host] != current):
                return CONFLICT
            self.leave(host)
        if ptpl:
            self.persists = ptpl == ResvPtpl.SET
        self.generation += 1
        return OK

    def leave(self, host: Host) -> None:
        """8.1.22.4: with the holder the reservation goes, and registrants hear of it if it was of Registrants Only."""
        was = self.rtype
        self._drop(host)
        if was in REGISTRANTS and not self.rtype:  # of those of All Registrants nobody is left
            self._released(host)

    def acquire(self, host: Host, action: int, key: int, preempt: int, rtype: int, ignore: bool) -> int:
        """7.5, 8.1.22.5."""
        if action > ResvAcquire.PREEMPT_ABORT or ignore or not 1 <= rtype <= 6:
            return INVALID
        if self.keys.get(host) != key:
            return CONFLICT
        if action == ResvAcquire.ACQUIRE:
            if self.rtype == 0:
                self._take(host, rtype)
                return OK
            return OK if self.holds(host) and self.rtype == rtype else CONFLICT
        status = self._preempt(host, preempt, rtype)
        self.generation += status == OK
        return status

    def _take(self, host: Host, rtype: int) -> None:
        self.rtype, self.holder = rtype, None if rtype in ALL else host

    def _preempt(self, host: Host, key: int, rtype: int) -> int:
        """8.1.22.7: registrants with the key go; with the holder's key, or 0 where all hold, the reservation is ours.

        Where all hold it is an error that nobody has the key, and there alone.
        """
        was = self.rtype
        replaces = bool(was) and (key == 0 if was in ALL else self.keys[self.holder] == key)
        if was and was not in ALL and not replaces and key == 0:
            return INVALID
        if replaces:
            victims = [h for h, k in self.keys.items() if h != host and (was in ALL or k == key)]
        else:
            victims = [h for h, k in self.keys.items() if k == key]
            if was in ALL and not victims:
                return CONFLICT
        for victim in victims:
            self._drop(victim)
            if victim != host:
                self.notices.append((victim, ResvNotice.REGISTRATION_PREEMPTED))
        if replaces:
            self._take(host, rtype)
            if rtype != was:
                self._released(host)
        return OK

    def release(self, host: Host, action: int, key: int, rtype: int, ignore: bool) -> int:
        """8.1.22.6, 8.1.22.8."""
        if action > ResvRelease.CLEAR or ignore:
            return INVALID
        if self.keys.get(host) != key:
            return CONFLICT
        if action == ResvRelease.CLEAR:
            self.notices += [(h, ResvNotice.RESERVATION_PREEMPTED) for h in self.keys if h != host]
            self.keys, self.rtype, self.holder = {}, 0, None
            self.generation += 1
        elif self.holds(host):
            if rtype != self.rtype:
                return INVALID
            self.rtype, self.holder = 0, None
            if rtype in REGISTRANTS:
                self._released(host)
        return OK

    # ---- what happens to it
    def reset(self) -> None:
        """All resets but power loss: registrants and reservation stay (8.1.22.1). Log pages go (5.1.12.1.32)."""
        self.notices = []

    def power_loss(self) -> None:
        """A host whose identifier is 0 is to have left before: it is another one then."""
        if not self.persists:
            self.keys, self.rtype, self.holder = {}, 0, None
            self.generation = 0
        elif not self.keys:
            self.generation = 0  # nothing is kept of it then, and nothing needs it
        self.notices = []
