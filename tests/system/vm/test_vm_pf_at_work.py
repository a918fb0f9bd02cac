# SPDX-License-Identifier: Apache-2.0
"""Two Linux guests verify files on their VFs while the PF's client changes everything that is another VF's.

The PF's client is the Python driver over vfio-user: three emulated guests at once take minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.constants import NsAttach
from doorbell.nvme.driver import Driver
from doorbell.vm.guest import Guest, Vm
from running_guest import Running
from served_drives import new_driver
from test_vm import GUEST, pytestmark

pytestmark = [
    pytestmark,
    pytest.mark.nightly,
    pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive"),
]
GUESTS, OTHER = (1, 2), 3  # VFs
PF_NS, OTHER_NS = 1, 4  # the namespaces that the server has given them
NS_BLOCKS = (24 << 20) // 512
WORK_S = 30
OPTIONS = ["--vfs", "3", "--size", "96m", "--data-w", "256", "--link", "gen3x8"]


def test_guests_beside_a_pf_at_work(tmp_path: Path) -> None:
    path = tmp_path / "drive"
    server = Vm(Guest(stock="none"), OPTIONS)
    server.start_server(path)
    guests: list[Running] = []
    rounds = 0
    try:
        drive, pf = new_driver(str(path), 1)
        drive.client.sock.settimeout(300)
        pf.start(queues=1, entries=16)
        for fn in GUESTS:
            virtualization.assign(pf, fn, queues=1, interrupts=2)
            virtualization.online(pf, fn)
        for fn in GUESTS:
            guests.append(Running(path, fn, tmp_path / str(fn), GUEST / "verified.sh", WORK_S))
        while any(g.thread.is_alive() for g in guests):
            change_the_other(pf, rounds)
            rounds += all(b"at work" in g.said for g in guests)
            for g in guests:
                g.thread.join(0.2)
        drive.close()
    finally:
        for g in guests:
            g.vm.kill()
        status = server.stop_server()
    said = [g.said for g in guests]
    assert [g.code for g in guests] == [0, 0], said
    assert status == 0 and rounds >= 5
    assert all(int(text.split()[-1]) >= 1 for text in said)


def change_the_other(pf: Driver, number: int) -> None:
    """Its resources, its state, its namespace, and that of the PF: all there is to change."""
    virtualization.assign(pf, OTHER, queues=1 + number % 3, interrupts=1 + number % 4)
    virtualization.online(pf, OTHER)
    for nsid in (OTHER_NS, PF_NS):
        namespaces.delete(pf, nsid)
    for nsid in (PF_NS, OTHER_NS):  # where they were, on both sides of the guests'
        assert namespaces.create(pf, NS_BLOCKS) == nsid
    assert sorted(namespaces.allocated(pf)) == [1, 2, 3, 4]
    for nsid, controller in ((OTHER_NS, OTHER), (PF_NS, 0)):
        namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (controller,)).check()
    entries = {s.scid: (s.scs, s.nvq, s.nvi) for s in virtualization.secondaries(pf)}
    assert entries[OTHER] == (1, 2 + number % 3, 1 + number % 4) and all(entries[fn] == (1, 2, 2) for fn in GUESTS)
    virtualization.offline(pf, OTHER)
    assert [(s.scs, s.nvq) for s in virtualization.secondaries(pf)] == [(1, 2), (1, 2), (0, 0)]
