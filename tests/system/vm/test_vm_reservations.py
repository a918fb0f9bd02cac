# SPDX-License-Identifier: Apache-2.0
"""Reservations by nvme-cli and Linux: guest/reservations.sh, each answer beside that of the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import BACKEND
from doorbell.nvme.constants import ResvAcquire, ResvPtpl, ResvRegister, ResvRelease, ResvType, Status
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import MSG_TIMEOUT_MS, Guest, Vm
from reservation_model import Reservations
from test_vm import GUEST, pytestmark
from test_vm_pf import OPTIONS, Devices

pytestmark = [
    pytestmark,
    pytest.mark.nightly,
    pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive"),
]
PF, VF = 0, 1
HOSTS = (0xA1 << 120 | 1, 0xB2 << 120 | 2)  # nvme-cli asks for extended reports of who can have these
KEYS = (0x1111_0000_AAAA_0001, 0x2222_0000_BBBB_0002)
SAID = {
    Status.SUCCESS: "success",
    Status.RESV_CONFLICT: "Reservation Conflict",
    Status.INVALID_FIELD: "Invalid Field in Command",
}
REFUSED = "Invalid exchange"  # EBADE: what Linux makes of a conflict


class Session:
    """What is asked in the guest, line by line, and what the model says."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.checks: list[Callable[[str], None]] = []
        self.model = Reservations()

    def _ask(self, line: str, check: Callable[[str], None]) -> None:
        self.lines.append(line)
        self.checks.append(check)

    def _equals(self, line: str, want: str) -> None:
        def check(got: str) -> None:
            assert got == want, f"{line}: {got}, not {want}"

        self._ask(line, check)

    def host(self, fn: int) -> None:
        text = "".join(f"\\x{byte:02x}" for byte in HOSTS[fn].to_bytes(16, "little"))
        self._ask(f"host_id {fn} '{text}'", lambda got: _begins(got, "set-feature:0x81 (Host Identifier)"))

    def register(self, fn: int, action: int = 0, *, current: int = 0, key: int = 0, ignore: bool = False,
                 ptpl: int = 0) -> None:  # fmt: skip
        status = self.model.register(HOSTS[fn], action, current, key, ignore, ptpl)
        line = f"ask {fn} resv-register --rrega={action} --crkey={current:#x} --nrkey={key:#x} --cptpl={ptpl}"
        self._equals(line + " --iekey" * ignore, SAID[Status(status)])

    def acquire(self, fn: int, rtype: int, action: int = 0, *, preempt: int = 0, key: int | None = None) -> None:
        key = KEYS[fn] if key is None else key
        status = self.model.acquire(HOSTS[fn], action, key, preempt, rtype, False)
        line = f"ask {fn} resv-acquire --racqa={action} --crkey={key:#x} --prkey={preempt:#x} --rtype={rtype}"
        self._equals(line, SAID[Status(status)])

    def release(self, fn: int, rtype: int, action: int = 0) -> None:
        status = self.model.release(HOSTS[fn], action, KEYS[fn], rtype, False)
        line = f"ask {fn} resv-release --rrela={action} --crkey={KEYS[fn]:#x} --rtype={rtype}"
        self._equals(line, SAID[Status(status)])

    def look(self) -> None:
        """A report to each, what each may do, and what it has been told."""
        model = self.model
        rows = sorted((fn, int(model.holds(HOSTS[fn])), HOSTS[fn], model.keys[HOSTS[fn]])
                      for fn in (PF, VF) if HOSTS[fn] in model.keys)  # fmt: skip
        want = (model.generation, model.rtype, len(rows), int(model.persists), rows)
        for fn in (PF, VF):
            self._ask(f"report {fn}", lambda got, want=want: self._report(got, want))
            may = [model.may(HOSTS[fn], write) for write in (False, True)]
            self._equals(f"io {fn}", ", ".join("yes" if one else REFUSED for one in may))
            told = [kind for host, kind in model.notices if host == HOSTS[fn]]
            for kind in (*told, 0):
                self._ask(f"notice {fn}", lambda got, kind=kind: self._notice(got, kind))
        model.notices.clear()

    @staticmethod
    def _report(got: str, want: tuple[Any, ...]) -> None:
        found = json.loads(got)
        lists = [v for v in found.values() if isinstance(v, list)]
        rows = sorted((c["cntlid"], c["rcsts"] & 1, int.from_bytes(bytes.fromhex(c["hostid"]), "little"), c["rkey"])
                      for c in (lists[0] if lists else []))  # fmt: skip
        assert (found["gen"], found["rtype"], found["regctl"], found["ptpls"], rows) == want, got

    @staticmethod
    def _notice(got: str, kind: int) -> None:
        found = {name.lower(): value for name, value in json.loads(got).items()}
        assert (found["rn_log_type"], found["nsid"]) == (kind, 1 if kind else 0), got

    def persists(self) -> None:
        self._ask("feature 0 0x83", lambda got, want=self.model.persists: _number(got, int(want)))


def _begins(got: str, want: str) -> None:
    assert got.startswith(want), got


def _number(got: str, want: int) -> None:
    assert int(got, 16) == want, got


def story(s: Session) -> None:
    for fn in (PF, VF):
        s.host(fn)
    s.look()
    s.register(PF, key=KEYS[PF])
    s.register(PF, key=KEYS[VF])  # it has another
    s.acquire(VF, ResvType.WRITE_EXCLUSIVE)  # it is none
    for rtype in range(1, 7):
        s.acquire(PF, rtype)
        s.look()
        s.release(PF, 1 + rtype % 6)
        s.release(PF, rtype)
    s.register(VF, ResvRegister.REPLACE, key=KEYS[VF], ignore=True)
    s.look()
    for rtype in range(1, 7):
        s.acquire(PF, rtype)
        s.acquire(VF, rtype)
        s.look()
        s.release(VF, rtype)
        s.release(PF, rtype)
        s.look()
    s.acquire(PF, ResvType.WRITE_EXCLUSIVE)
    s.acquire(VF, ResvType.EXCLUSIVE_ACCESS, ResvAcquire.PREEMPT, preempt=0)
    s.acquire(VF, ResvType.EXCLUSIVE_ACCESS, ResvAcquire.PREEMPT, preempt=KEYS[PF] + 7)
    s.acquire(VF, ResvType.EXCLUSIVE_ACCESS, ResvAcquire.PREEMPT_ABORT, preempt=KEYS[PF])
    s.look()
    s.register(PF, key=KEYS[PF], ptpl=ResvPtpl.SET)
    s.persists()
    s.acquire(VF, ResvType.WRITE_EXCLUSIVE_REGISTRANTS, ResvAcquire.PREEMPT, preempt=KEYS[VF])  # another type
    s.look()
    s.register(VF, ResvRegister.UNREGISTER, current=KEYS[VF])
    s.look()
    s.register(VF, key=KEYS[VF], ptpl=ResvPtpl.CLEAR)
    s.persists()
    s.acquire(VF, ResvType.EXCLUSIVE_ACCESS_ALL)
    s.release(PF, 0, ResvRelease.CLEAR)
    s.look()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "drive"
    server = Vm(Guest(stock="none"), OPTIONS)
    server.start_server(path)
    yield path
    assert server.stop_server() == 0


def test_nvme_cli(served: Path, tmp_path: Path) -> None:
    """A guest with two functions of one drive: the PF and its first VF."""
    session = Session()
    story(session)
    script = tmp_path / "script"
    script.write_text((GUEST / "reservations.sh").read_text() + "\n".join([*session.lines, "echo fine", ""]))
    said = bytearray()
    guest = Guest(str(script), stock="none", timeout=1500, log=str(tmp_path / "log"), append="nvme_core.multipath=N")
    vm = Devices(guest, [], sink=said.extend)
    vm.wanted = []
    for slot, path in enumerate((served, Path(socket_of_vf(served, 1))), 1):
        vm.wanted += ["-device", f"pcie-root-port,id=rp{slot},chassis={slot},slot={slot}", "-device", json.dumps(
            {"driver": "vfio-user-pci", "bus": f"rp{slot}", "socket": {"type": "unix", "path": str(path)},
             "x-msg-timeout": MSG_TIMEOUT_MS})]  # fmt: skip
    assert vm.run() == 0, said.decode()
    compare(session, said.decode().splitlines())


def compare(session: Session, lines: list[str]) -> None:
    start = next(i for i, line in enumerate(lines) if line.startswith("disks: ")) + 1
    assert lines[-1] == "fine" and len(lines) == start + len(session.lines) + 1, lines
    for asked, got, check in zip(session.lines, lines[start:], session.checks, strict=False):
        try:
            check(got)
        except (AssertionError, ValueError, KeyError) as e:
            raise AssertionError(f"{asked}: {got}: {e}") from e
