# SPDX-License-Identifier: Apache-2.0
"""The PF of a drive with VFs in a guest: the answers of guest/pf.sh beside those of QEMU's own drive with SR-IOV."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.device.pci_config import SRIOV, SRIOV_CONTROL, VF_ENABLE, VF_MEMORY, PciConfig, VfConfig
from doorbell.qemu import root as vmroot
from doorbell.vm.functions import PfConfig
from doorbell.vm.guest import MSG_TIMEOUT_MS, Guest, Vm
from test_vm import GUEST, pytestmark

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]
VFS = 2
# as of test_served_functions
OPTIONS = ["--vfs", str(VFS), "--size", "96m", "--data-w", "256", "--link", "gen3x8", "--param", "SGL=1"]
PORT = ["-device", "pcie-root-port,id=rp,chassis=1,slot=1"]
STOCK = (
    f"nvme,id=c,serial=stock,bus=rp,subsys=s,sriov_max_vfs={VFS},max_ioqpairs=16,msix_qsize=16,"
    "sriov_vq_flexible=8,sriov_vi_flexible=8,sriov_max_vq_per_vf=8,sriov_max_vi_per_vf=5"
)

ON_PURPOSE = {
    # question: (our answer, QEMU's, why)
    "online, VFs not enabled": (
        "the guest cannot enable them", "Invalid Secondary Controller State",
        "QEMU's vfio-user-pci shows a guest no SR-IOV capability: the server enables VFs, each is a socket. What a "
        "drive says while they are not: test_a_vf_that_is_no_more_is_offline",
    ),
    "more queues than are left": (
        "Invalid Number of Controller Resources", "Invalid Resource Identifier", "the number is wrong, not the type"),
    "delete": ("success", "Invalid Command Opcode", "QEMU's drive has no Namespace Management"),
    "create": ("success", "Invalid Command Opcode", "the same"),
    "attach it": ("success", "Invalid Field in Command", "the same: there is none"),
    "namespaces": ("0x1 0x2 0x3", "0x1", "the same"),
}  # fmt: skip


class Devices(Vm):
    """A guest with devices of the test's choice."""

    wanted: list[str] = []

    def _devices(self, work: Path) -> list[str]:
        return self.wanted


def answers(tmp_path: Path, devices: list[str]) -> list[str]:
    said = bytearray()
    guest = Guest(str(GUEST / "pf.sh"), stock="none", timeout=500, log=str(tmp_path / "console"))
    vm = Devices(guest, [], sink=said.extend)
    vm.wanted = [*PORT, *devices]
    assert vm.run() == 0, said
    lines = said.decode().splitlines()
    assert lines[-1] == "fine", lines
    return lines


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("stock")
    image = folder / "image"
    image.touch()
    os.truncate(image, 16 << 20)
    namespace = [
        "-drive",
        f"if=none,id=d,format=raw,file={image}",
        "-device",
        "nvme-ns,drive=d,bus=c,nsid=1,shared=off",
    ]
    return answers(folder, ["-device", "nvme-subsys,id=s,nqn=stock", "-device", STOCK, *namespace])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The PF's socket."""
    path = tmp_path / "drive"
    server = Vm(Guest(stock="none"), OPTIONS)
    server.start_server(path)
    yield str(path)
    assert server.stop_server() == 0


def questions(lines: list[str]) -> dict[str, str]:
    pairs = [line.split(": ", 1) for line in lines if ": " in line and line[0] not in "|k"]
    assert len({q for q, _ in pairs}) == len(pairs), "no question twice"
    return {q: a.strip() for q, a in pairs}


@pytest.mark.nightly
def test_answers(served: str, stock: list[str]) -> None:
    """Same names, same structure, same status for wrong uses; where they differ it is on purpose."""
    device = {"driver": "vfio-user-pci", "bus": "rp", "socket": {"type": "unix", "path": served},
              "x-msg-timeout": MSG_TIMEOUT_MS}  # fmt: skip
    lines = answers(Path(served).parent, ["-device", json.dumps(device)])
    ours, theirs = questions(lines), questions(stock)
    config = ours.pop("config")
    theirs.pop("config")
    for field in ("fields of the capabilities", "fields of the list"):  # nvme-cli's order is that of a hash
        ours[field], theirs[field] = (" ".join(sorted(a[field].split())) for a in (ours, theirs))
    assert ours.keys() == theirs.keys() and len(ours) > 60
    for question, (our, their, _) in ON_PURPOSE.items():
        assert (ours.pop(question), theirs.pop(question)) == (our, their), question
    assert ours == theirs
    assert not [line for line in lines if line.startswith("kernel: ")]
    # QEMU leaves the capability out of the list, but its bytes are there: those that lspci reads below.
    pf = PfConfig(33, VFS, gen=3, lanes=8)
    assert config[:72] == pf.read(SRIOV, 64).hex()[:72]


def lspci(tmp_path: Path, config: PciConfig) -> list[str]:
    """What the root's own lspci says of a configuration space."""
    dump = tmp_path / "dump"
    rows = [f"{at:02x}: {config.read(at, 16).hex(' ')}" for at in range(0, 4096, 16)]
    dump.write_text("01:00.0 0108\n" + "\n".join(rows) + "\n")
    command = [*vmroot.ensure().command("usr/bin/lspci"), "-F", str(dump), "-vvv", "-n"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def capability(lines: list[str], name: str) -> list[str]:
    """The lines of one, without where it is and which addresses it holds."""
    found: list[str] = []
    for line in lines:
        if line.startswith("\tCapabilities: "):
            found += [name] if name in line else []
            inside = name in line
        elif found and inside and line.startswith("\t\t"):
            found.append(re.sub(r"Memory at \w+", "Memory", line.strip()))
        else:
            inside = False
    return found


SRIOV_DIFFERS = {
    # ours: QEMU's
    "VF offset: 4, stride: 1, Device ID: db11": "VF offset: 1, stride: 1, Device ID: 0010",  # PG213: the first VF is 4
}


def test_lspci_of_the_pf(tmp_path: Path, stock: list[str]) -> None:
    """After the driver has enabled two VFs, as QEMU's guest has."""
    pf = PciConfig(33, vfs=VFS)
    pf.enable_vfs(VFS)
    pf.write(SRIOV_CONTROL, bytes([VF_ENABLE | VF_MEMORY | 1 << 4]))  # 1 << 4: in an ARI hierarchy, says Linux
    ours, theirs = lspci(tmp_path, pf), part(stock, "PF")
    for name in ("Single Root I/O Virtualization (SR-IOV)", "Alternative Routing-ID Interpretation (ARI)"):
        got = [SRIOV_DIFFERS.get(line, line) for line in capability(ours, name)]
        want = capability(theirs, name)
        assert len(want) > 2 and got == want


def test_lspci_of_a_vf(tmp_path: Path, stock: list[str]) -> None:
    ours, theirs = lspci(tmp_path, VfConfig(8, alone=False)), part(stock, "VF")
    name = "Alternative Routing-ID Interpretation (ARI)"
    assert capability(ours, name) == capability(theirs, name) != []
    assert not capability(ours, "SR-IOV") and not capability(theirs, "SR-IOV")

    def bits(lines: list[str], register: str) -> str:
        return next(line for line in lines if line.strip().startswith(register))

    assert bits(ours, "Control:") == bits(theirs, "Control:")
    for lines in (ours, theirs):
        text = "\n".join(lines)
        assert "FLReset+" in text and "PBA: BAR=0 offset=00003000" in text and "Interrupt: pin" not in text
    # 9.3.5.4: what a VF takes from its PF reads as zero
    assert "MaxPayload 128 bytes, MaxReadReq 128 bytes" in "\n".join(ours)


def part(lines: list[str], which: str) -> list[str]:
    rest = lines[lines.index(f"lspci {which}") + 1 :]
    end = next(i for i, line in enumerate(rest) if not line.startswith("|"))
    return [line[1:] for line in rest[:end]]
