# SPDX-License-Identifier: Apache-2.0
"""Two Linux guests verify files on their VFs while the PF's client changes everything that is another VF's.

The PF's client is the Python driver over vfio-user: three emulated guests at once take minutes on two cores.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.constants import NsAttach
from doorbell.nvme.driver import Driver
from doorbell.qemu import root as vmroot
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import Guest, Vm, read_script
from test_vfio_user import new_driver
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
    said = {fn: bytearray() for fn in GUESTS}
    codes: dict[int, int] = {}
    vms: list[Vm] = []
    rounds = 0
    try:
        drive, pf = new_driver(str(path), 1)
        drive.client.sock.settimeout(300)
        pf.start(queues=1, entries=16)
        for fn in GUESTS:
            virtualization.assign(pf, fn, queues=1, interrupts=2)
            virtualization.online(pf, fn)
        threads = []
        for fn in GUESTS:
            folder = tmp_path / str(fn)
            folder.mkdir()
            log = folder / "console"
            guest = Guest(log=str(log), timeout=900, append=f"SECONDS_OF_WORK={WORK_S}")
            vm = Vm(guest, [], sink=said[fn].extend, device=Path(socket_of_vf(path, fn)))
            vms.append(vm)
            channels = vm.launch(vmroot.ensure(), folder, read_script(str(GUEST / "verified.sh")), "tcg", log)
            threads.append(threading.Thread(target=lambda f=fn, v=vm, c=channels: codes.update({f: v.follow(*c)})))
            threads[-1].start()
        while any(t.is_alive() for t in threads):
            change_the_other(pf, rounds)
            rounds += all(b"at work" in text for text in said.values())
            for t in threads:
                t.join(0.2)
        drive.close()
    finally:
        for vm in vms:
            vm.kill()
        status = server.stop_server()
    assert codes == dict.fromkeys(GUESTS, 0), said
    assert status == 0 and rounds >= 5
    assert all(int(text.split()[-1]) >= 1 for text in said.values())


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
