# SPDX-License-Identifier: Apache-2.0
"""A PF and its VFs behind the vfio-user server: a socket each, one thread for all of them."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vfio_client as vc
from doorbell.device.pci_config import NUM_VFS, SRIOV_CONTROL
from doorbell.device.vfio_user import dma_messages, wire
from doorbell.errors import UserError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.constants import AdminOpc, Cns, NvmOpc, Reg
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.structures import IdNs
from doorbell.vm import functions, serve
from served_drives import exercise, new_driver, running

pytestmark = pytest.mark.rtl
VFS = 2


@contextlib.contextmanager
def served(tmp_path: Path, **options: Any) -> Iterator[list[str]]:
    """The sockets of a drive's functions; the simulator is that of test_ssd_functions."""
    path = str(tmp_path / "drive")
    wanted = {"size": "96m", "data_w": 256, "link": "gen3x8", "params": {"SGL": 1}, **options}
    with serve.serving_device(path, vfs=VFS, **wanted) as server, running(server):
        yield [path, *(f"{path}-vf{fn}" for fn in range(1, VFS + 1))]
    assert not list(tmp_path.glob("drive*"))


def up(path: str, **kind: bool) -> tuple[vc.Drive, Driver]:
    vf = path.partition("-vf")[2]
    drive, driver = new_driver(path, 1 + int(vf or 0), **kind)
    driver.start(queues=2, entries=16)
    return drive, driver


def let_in(pf: Driver) -> None:
    """What a client of the PF has to do for those of the VFs: its coming has put them offline."""
    for fn in range(1, VFS + 1):
        virtualization.assign(pf, fn, queues=2, interrupts=8)
        virtualization.online(pf, fn)


def up_all(paths: list[str]) -> list[tuple[vc.Drive, Driver]]:
    pf = up(paths[0])
    let_in(pf[1])
    return [pf, *map(up, paths[1:])]


def busy(driver: Driver, seed: int = 0) -> None:
    """Leave commands under way on both queues."""
    for q in (1, 2):
        driver.submit(q, NvmOpc.READ, seed, 63, driver.buffer(64 * 512), ring=True)


def test_each_function_has_its_client_and_its_namespace(tmp_path: Path) -> None:
    """All have the same memory addresses and the same blocks: what one writes no other sees."""
    with served(tmp_path) as paths:
        drives = up_all(paths)
        assert {d.namespace.nsze * 512 for _, d in drives if d.namespace} == {32 << 20}
        for i, (_, driver) in enumerate(drives):
            driver.write(0, bytes([i + 1]) * 4096)
        for i, (_, driver) in enumerate(drives):
            assert driver.read(0, 8) == bytes([i + 1]) * 4096
            exercise(driver, seed=i, ios=8)
        for drive, driver in reversed(drives):  # the PF last: its end is a reset of all
            driver.stop()
            drive.close()


def test_a_client_that_goes_is_no_matter_to_the_others(tmp_path: Path) -> None:
    with served(tmp_path) as paths:
        pf, first, other = up_all(paths)
        first[0].close()
        others = [other, pf]
        for round_ in range(3):
            drive, driver = up(paths[1])
            exercise(driver, seed=round_, ios=3)
            busy(driver)
            for _, other in others:
                busy(other)
            drive.close()  # in the middle of something
            for _, other in others:
                other.wait()
                exercise(other, seed=10 + round_, ios=3)
        for drive, _ in others:
            drive.close()


@pytest.mark.parametrize("most", [128 << 20, 1 << 16], ids=["kept for it", "cut off"])
def test_a_client_that_takes_no_messages_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Its queues are in memory that is shared, and the data of its reads are messages. Others work, and are reset."""
    monkeypatch.setattr(wire, "MAX_QUEUED", 1 << 14)
    monkeypatch.setattr(dma_messages, "MAX_DMA", most)
    monkeypatch.setattr(functions, "PATIENCE_S", 60.0)
    with served(tmp_path) as paths:
        (drive, driver), (other_drive, other) = up(paths[1]), up(paths[2])
        data = bytes(range(256)) * 32
        driver.write(0, data)
        size, at = 1 << 20, 1 << 40
        memory = bytearray(size)
        drive.client.map(at, size)
        drive.client.memory.append((at, size, memory))
        reads = [
            driver.submit(1 + i % 2, NvmOpc.READ, 0, 15, prp1=at + 8192 * i, prp2=at + 8192 * i + 4096)
            for i in range(28)
        ]
        driver.ring()
        exercise(other, ios=3)
        other.flr()
        other.start(queues=2, entries=16)
        exercise(other, ios=3)
        if most == 1 << 16:
            with pytest.raises(ConnectionError):
                driver.wait(reads)
        else:
            driver.wait(reads)
            assert memory[: 28 * 8192] == data * 28
            exercise(driver, ios=3)
        for one in (drive, other_drive):
            one.close()


def test_a_client_that_answers_no_messages_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it has time for it the others wait: the drive puts reads in order."""
    monkeypatch.setattr(functions, "PATIENCE_S", 1.0)
    with served(tmp_path) as paths:
        (drive, driver), (other_drive, other) = up(paths[1], messages=True), up(paths[2])
        busy(driver)
        exercise(other, ios=3)
        time.sleep(1.5)
        with pytest.raises(ConnectionError):
            driver.wait()
        drive.close()
        drive, driver = up(paths[1], messages=True)
        exercise(driver, ios=3)
        for one in (drive, other_drive):
            one.close()


@pytest.mark.parametrize(
    "messages", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["shared memory", "messages"]
)
def test_reset_of_a_vf(tmp_path: Path, messages: bool) -> None:
    with served(tmp_path) as paths:
        (drive, driver), (other_drive, other) = up(paths[1], messages=messages), up(paths[2])
        for how in (driver.flr, lambda: (drive.client.ask(vc.RESET), driver._forget_queues())):
            busy(driver)
            busy(other)
            how()
            other.wait()
            assert driver.read32(Reg.CC) == 0 and other.read32(Reg.CC) & 1
            driver.start(queues=2, entries=16)
            exercise(driver, ios=3)
            exercise(other, ios=3)
        drive.close()
        other_drive.close()


def test_a_reset_of_the_pf_is_one_of_the_vfs(tmp_path: Path) -> None:
    """They are offline until its client puts them online; when it is gone, the server does."""
    with served(tmp_path) as paths:
        (pf_drive, pf), (drive, driver), _ = up_all(paths)
        exercise(driver, ios=3)
        pf.flr()
        assert driver.read32(Reg.CC) == 0 and driver.read32(Reg.VS) != 0xFFFFFFFF
        driver._forget_queues()
        with pytest.raises(ProtocolError, match="fatal status"):
            driver.start(queues=2, entries=16)
        driver.disable()
        pf.start(queues=2, entries=16)
        let_in(pf)
        driver.start(queues=2, entries=16)
        for d in (pf, driver):
            exercise(d, ios=3)
        pf_drive.close()  # which is a reset, too
        while driver.read32(Reg.CC):
            time.sleep(0.01)
        driver._forget_queues()
        driver.start(queues=2, entries=16)
        exercise(driver, ios=3)
        drive.close()


@pytest.mark.nightly
def test_a_client_of_the_pf_may_take_vfs_away(tmp_path: Path) -> None:
    with served(tmp_path) as paths:
        (pf_drive, pf), (one_drive, one), (two_drive, two) = up_all(paths)

        def sriov(offset: int, value: int) -> None:
            pf_drive.client.write(vc.CONFIG, offset, struct.pack("<H", value))

        sriov(SRIOV_CONTROL, 0)
        sriov(NUM_VFS, 1)
        sriov(SRIOV_CONTROL, 9)
        assert two.read32(Reg.CSTS) == 0xFFFFFFFF and one.read32(Reg.CC) == 0
        one._forget_queues()
        virtualization.assign(pf, 1, queues=2, interrupts=8)
        virtualization.online(pf, 1)
        one.start(queues=2, entries=16)
        exercise(one, ios=3)
        exercise(pf, ios=3)
        two_drive.client.ask(vc.RESET)  # does nothing, but is answered
        for drive in (pf_drive, one_drive, two_drive):
            drive.close()


def hold(drive: vc.Drive, driver: Driver) -> None:
    """A Write is under way of a client whose memory is messages. It answers for all but the data."""
    buffer = driver.buffer(64 * 512)
    driver.submit(1, NvmOpc.WRITE, 0, 63, buffer, ring=True)
    held = 0
    while held < 8:
        number, command, _, _, body, _ = drive.client.receive()
        if command == vc.DMA_READ and struct.unpack_from("<Q", body)[0] & ~4095 in buffer.pages:
            drive.client.requests.append((number, command, body))
            held += 1
        else:
            drive.client.answer_dma(number, command, body)


def test_a_reset_beside_memory_that_is_messages(tmp_path: Path) -> None:
    """What the reset function has under way may stand behind data that another client sends meanwhile."""
    with served(tmp_path) as paths:
        (drive, driver), (other_drive, other) = up(paths[1]), up(paths[2], messages=True)
        hold(other_drive, other)
        for q in (1, 2):
            driver.submit(q, NvmOpc.WRITE, 0, 63, driver.buffer(64 * 512), ring=True)
        time.sleep(0.1)
        start = time.monotonic()
        drive.client.send(vc.RESET)
        time.sleep(0.1)
        other.wait()
        assert drive.client.receive()[1] == vc.RESET and time.monotonic() - start < 10
        driver._forget_queues()
        driver.start(queues=2, entries=16)
        exercise(driver, ios=3)
        exercise(other, ios=3)
        drive.close()
        other_drive.close()


@pytest.mark.parametrize("how", ["work", "reset"])
def test_memory_that_is_messages_and_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Its client is gone after a while, as others' Writes and resets stand behind it."""
    monkeypatch.setattr(functions, "PATIENCE_S", 2.0)
    with served(tmp_path) as paths:
        (drive, driver), (silent_drive, silent) = up(paths[1]), up(paths[2], messages=True)
        hold(silent_drive, silent)
        start = time.monotonic()
        if how == "work":
            exercise(driver, ios=3)
        else:
            driver.submit(1, NvmOpc.WRITE, 0, 63, driver.buffer(64 * 512), ring=True)
            time.sleep(0.1)
            drive.client.ask(vc.RESET)
            driver._forget_queues()
            driver.start(queues=2, entries=16)
        assert time.monotonic() - start < 15
        with pytest.raises(ConnectionError):
            while True:
                silent_drive.client.receive()
        silent_drive.close()
        exercise(driver, ios=3)
        drive.close()


def test_memory_that_is_messages_and_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do others wait for a client that takes no messages in the middle of many; it is gone after a while."""
    monkeypatch.setattr(functions, "PATIENCE_S", 2.0)
    with served(tmp_path) as paths:
        (drive, driver), (silent_drive, silent) = up(paths[1]), up(paths[2], messages=True)
        exercise(silent, ios=2)
        for i in range(14):
            silent.submit(1 + i % 2, NvmOpc.READ, 0, 2047, silent.buffer(1 << 20))
        silent.ring()
        written = 0
        while written < 2000:  # then what the commands are, and where their data goes, is known
            number, command, _, _, body, _ = silent_drive.client.receive()
            silent_drive.client.answer_dma(number, command, body)
            written += command == vc.DMA_WRITE
        end = time.monotonic() + 4
        while time.monotonic() < end:
            exercise(driver, ios=2)
        with pytest.raises(ConnectionError):
            while True:
                silent_drive.client.receive()
        silent_drive.close()
        drive.close()


def test_a_client_of_the_pf_finds_vfs_with_nothing(tmp_path: Path) -> None:
    """Not with what the server gave them while it had the PF: the client may give all there is to one."""
    with served(tmp_path) as paths:
        drive, pf = up(paths[0])
        assert [(s.scs, s.nvq, s.nvi) for s in virtualization.secondaries(pf)] == [(0, 0, 0)] * VFS
        virtualization.assign(pf, 1, queues=virtualization.capabilities(pf).vq.secondary_max - 1, interrupts=8)
        drive.close()


@pytest.mark.nightly
def test_media_that_zero_slowly(tmp_path: Path) -> None:
    """The server waits for them when it shares the drive out, and behind a client of the PF that has begun a Format."""
    with served(tmp_path, zero_gbps=1.5) as paths:
        drive, pf = up(paths[0])
        pf.submit(0, AdminOpc.FORMAT_NVM, nsid=1, cdw10=1 << 9, cdw11=0, cdw12=0, ring=True)
        pf.read32(Reg.CSTS)  # it has begun
        drive.close()
        drive, driver = up(paths[1])
        exercise(driver, ios=3)
        drive.close()


def test_what_a_client_of_the_pf_took_is_the_vfs_again(tmp_path: Path) -> None:
    """Of flexible queues and interrupts: it has all of them, and goes."""
    with served(tmp_path) as paths:
        drive, pf = up(paths[0])
        most = virtualization.capabilities(pf)
        virtualization.allocate(pf, queues=most.vq.total - VFS, interrupts=most.vi.total)
        drive.close()
        for path in paths[1:]:
            drive, driver = up(path)
            exercise(driver, ios=3)
            drive.close()


def test_a_namespace_that_a_client_of_the_pf_took_is_one_vfs_matter(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """There is none for VF 2, and no room for one: VF 1 has its own."""
    with served(tmp_path) as paths:
        (pf_drive, pf), (drive, driver), _ = up_all(paths)
        driver.write(0, b"1" * 4096)
        namespaces.delete(pf, 3)
        namespaces.attach(pf, namespaces.create(pf, namespaces.capacity(pf)[1] // 512))
        pf_drive.close()
        while driver.read32(Reg.CC):
            time.sleep(0.01)
        driver._forget_queues()
        driver.start(queues=2, entries=16)
        assert driver.read(0, 8) == b"1" * 4096
        exercise(driver, ios=3)
        drive.close()
        assert "a VF stays without a namespace" in capfd.readouterr().err


@pytest.mark.nightly
def test_namespaces_last(tmp_path: Path) -> None:
    """They were given once, and are found again; a drive that others have written to is not shared out."""
    image = tmp_path / "image"
    for round_ in range(2):
        with served(tmp_path, image=image) as paths:
            for i, path in enumerate(paths):
                drive, driver = up(path)
                if round_:
                    assert driver.read(0, 8) == bytes([i + 1]) * 4096
                driver.write(0, bytes([i + 1]) * 4096)
                driver.stop()
                drive.close()
    other = tmp_path / "other"
    with serve.serving_device(str(tmp_path / "one"), size="96m", image=other, data_w=256, link="gen3x8"):
        pass
    with pytest.raises(UserError, match="no namespace for VF 1, and no room"), served(tmp_path, image=other):
        pass


def sizes(paths: list[str]) -> list[int]:
    """Bytes of each function's namespaces."""
    drives = up_all(paths)
    of = [[IdNs.from_buffer_copy(d.identify(Cns.NS, nsid=n)) for n in namespaces.active(d)] for _, d in drives]
    found = [sum(space.nsze * 512 for space in spaces) for spaces in of]
    for drive, _ in reversed(drives):
        drive.close()
    return found


@pytest.mark.nightly
def test_size_of_vfs(tmp_path: Path) -> None:
    """Each VF has what was asked for, the PF the rest; what an image has already stays as it is."""
    settings = 128 << 10  # of the media, the drive's own
    image = tmp_path / "image"
    with served(tmp_path, vf_size="8m", image=image) as paths:
        assert sizes(paths) == [(96 << 20) - settings - 2 * (8 << 20), 8 << 20, 8 << 20]
    with served(tmp_path, vf_size="4m", image=image) as paths:
        assert sizes(paths)[1:] == [8 << 20, 8 << 20]
    image.unlink()
    with served(tmp_path, vf_size=str(48 * 1024 - 64) + "k", image=image) as paths:
        assert sizes(paths) == [0, (48 << 20) - (64 << 10), (48 << 20) - (64 << 10)], "nothing is left for the PF"


def test_sizes_of_vfs_that_cannot_be(tmp_path: Path) -> None:
    for size, why in (
        ("48m", "2 VFs of 50,331,648 bytes are more than the 100,532,224 bytes of the drive"),
        ("1000", "a multiple of 4096 bytes"), ("0", "a multiple of 4096 bytes"), ("big", "'big' is not a size"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=why), served(tmp_path, vf_size=size, image=tmp_path / "new"):
            pass
        assert not list(tmp_path.glob("drive*"))
    with (
        pytest.raises(UserError, match="--vf-size is the size of a VF's namespace: it needs --vfs"),
        serve.serving_device(str(tmp_path / "one"), size="96m", vf_size="4m", data_w=256, link="gen3x8"),
    ):
        pass  # fmt: skip
    # An image of a drive without VFs: what no namespace has is not enough.
    image = tmp_path / "image"
    with serve.serving_device(str(tmp_path / "one"), size="96m", image=image, data_w=256, link="gen3x8"):
        pass
    with pytest.raises(UserError, match="0 bytes that no namespace has"), served(tmp_path, image=image, vf_size="4m"):
        pass


def test_a_vf_without_a_client_costs_nothing(tmp_path: Path) -> None:
    """Its doorbells are not looked at, and its socket is only now and then."""
    path = str(tmp_path / "drive")
    with serve.serving_device(path, size="96m", data_w=256, link="gen3x8", vfs=VFS, params={"SGL": 1}) as loop:
        sim = loop._device._sim
        vf = loop._servers[1]
        pages: list[tuple[int, Any]] = []
        sim._lib, real = _Seen(sim._lib, pages), sim._lib
        with running(loop):
            drive, driver = up(f"{path}-vf2")
            exercise(driver, ios=3)
            assert not vf.connected
            vf_drive, _ = up(f"{path}-vf1")
            assert [fn for fn, page in pages if page] == [2, 1], "those that have a client"
            vf_drive.close()
            while vf.connected or len(pages) < 3:
                time.sleep(0.01)
            assert pages[-1] == (1, None)
            drive.close()
        sim._lib = real


class _Seen:
    """A library whose doorbell pages are written down."""

    def __init__(self, lib: Any, pages: list[tuple[int, Any]]) -> None:
        self._lib, self._pages = lib, pages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lib, name)

    def doorbell_page(self, handle: int, fn: int, page: Any) -> None:
        self._pages.append((fn, page))
        self._lib.doorbell_page(handle, fn, page)


@pytest.mark.parametrize("option", ["vfs", "serial"])
def test_what_the_functional_drive_has_not(tmp_path: Path, option: str) -> None:
    with (
        pytest.raises(UserError, match=f"--{option} needs --backend rtl"),
        serve.serving_device(str(tmp_path / "s"), backend="functional", **{option: 2}),
    ):
        pass
    assert not os.listdir(tmp_path)
