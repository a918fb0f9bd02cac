# SPDX-License-Identifier: Apache-2.0
"""Files under the simulator that fail while it runs: a full disk, a file that is truncated, one that others have.

What happens to a file must end in an error of the accesses that it concerns, never in a signal.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell.device.drives import ModelDrive, ssd_drive
from doorbell.device.functional import FunctionalSsd
from doorbell.device.functional_memory import MediaFile
from doorbell.device.messages import SimError
from doorbell.device.sim import Sim
from doorbell.device.switch_sim import SwitchSim
from doorbell.record.recording import make_image
from endpoint_device import BASE, FLUSH, LOW, MEDIA_READ, MEDIA_WRITE, READ, SIZE, WRITE, ZERO, Device, library, pattern
from own_mounts import own_mounts
from switch_card import BARS, PART, WINDOW, Card

MEDIA = 16 << 20
CHUNK = 16384  # of one operation of the endpoint
ERRORS = 0x3C  # its register: how many of its accesses to the media failed


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return tmp_path / "image"


@pytest.fixture
def device(image: Path) -> Iterator[Device]:
    d = Device(Sim(library(256), image=image, media_size=MEDIA))
    yield d
    if not d.sim.closed:
        d.sim.close()


def errors_of(d: Device, op: int, at: int, size: int = CHUNK, **more: Any) -> int:
    before = d.sim.mmio_read(ERRORS)
    d.do(op, size=size, media=at, **more)
    return d.sim.mmio_read(ERRORS) - before


def put(d: Device, at: int, seed: int) -> int:
    """Writes a chunk of the media; how many errors there were."""
    d.memory[:CHUNK] = pattern(CHUNK, seed)
    d.do(READ, BASE, CHUNK)
    return errors_of(d, MEDIA_WRITE, at)


def got(d: Device, at: int) -> tuple[int, bytes]:
    """Reads a chunk of the media; errors, and what came."""
    d.clear(CHUNK)
    errors = errors_of(d, MEDIA_READ, at)
    d.do(WRITE, BASE + 65536, CHUNK)
    d.sim.run(500)
    return errors, bytes(d.memory[65536 : 65536 + CHUNK])


def test_truncated_image(device: Device, image: Path) -> None:
    """Beyond its new end accesses fail, the rest goes on; when it has its length again, so does all of it. But nobody
    calls it written out any more: what was there is lost.
    """
    assert put(device, 0, 1) == put(device, 8 << 20, 2) == 0
    os.truncate(image, 4 << 20)
    for _ in range(2):
        errors, data = got(device, 8 << 20)
        assert errors == CHUNK // 32 and put(device, 9 << 20, 3) > 0
        assert got(device, 0) == (0, pattern(CHUNK, 1)) and put(device, 1 << 20, 4) == 0
    assert errors_of(device, FLUSH, 0) == 1 and errors_of(device, ZERO, 8 << 20) == 1
    assert "truncated" in (device.sim.trouble() or "") and device.sim.trouble() is None
    os.truncate(image, MEDIA)
    assert got(device, 8 << 20) == (0, bytes(CHUNK)) and put(device, 9 << 20, 5) == 0
    assert got(device, 9 << 20) == (0, pattern(CHUNK, 5)) and errors_of(device, FLUSH, 0) == 1
    with pytest.raises(SimError, match="could not be written out"):
        device.sim.close()
    data = image.read_bytes()
    for at, seed in ((0, 1), (1 << 20, 4), (9 << 20, 5)):
        assert data[at : at + CHUNK] == pattern(CHUNK, seed)


def test_pages_of_a_truncated_image_cost_no_mappings(device: Device, image: Path) -> None:
    """A process has only so many of them (65,530), and a large image more pages: without one the signal ends it."""

    def mappings() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    os.truncate(image, 0)
    before = mappings()
    for at in range(0, 100 * 8192, 8192):
        assert errors_of(device, MEDIA_READ, at, 512) > 0
    assert mappings() < before + 20
    with pytest.raises(SimError, match="could not be written out"):
        device.sim.close()


def test_truncated_in_a_page(device: Device, image: Path) -> None:
    """What the file has no more of a page does not read as zeros once an access has met the end."""
    end = (4 << 20) + 512
    assert put(device, 4 << 20, 1) == 0
    os.truncate(image, end)
    assert errors_of(device, FLUSH, 0) == 1
    assert errors_of(device, MEDIA_READ, end, 512) > 0 and errors_of(device, MEDIA_READ, 4 << 20, 512) == 0
    with pytest.raises(SimError, match="could not be written out"):
        device.sim.close()


def test_image_of_a_drive_in_another_simulation(image: Path) -> None:
    """An SSD of ours has a library of its own beside the card's. It is told of its image's faults, whichever of the two
    has the signal's handler."""
    ssd = ssd_drive(library(256), window=(WINDOW, 2 * PART), image=str(image), media_size=MEDIA)
    card = Card(SwitchSim(library(256, num_ssd=2), [ssd, ModelDrive(size=MEDIA)], ssd_pages=MEDIA // 4096))

    def errors(op: int, at: int) -> int:
        for register, value in ((0x10, 512), (0x14, at), (0x18, op)):
            card.poke(BARS[0] + register, value)
        while card.peek(BARS[0] + 0x20)[3] >> 7:
            card.sim.run(100)
        return struct.unpack("<I", card.peek(BARS[0] + ERRORS))[0]

    assert errors(MEDIA_WRITE, 8 << 20) == errors(MEDIA_READ, 8 << 20) == 0
    os.truncate(image, 4 << 20)
    assert errors(MEDIA_READ, 8 << 20) == 512 // 32
    with pytest.raises(SimError, match="could not be written out"):
        card.sim.close()


def test_trouble_of_ssds_is_said(tmp_path: Path) -> None:
    """Once, and of which: of one of ours, and of a model."""
    images = [tmp_path / "0", tmp_path / "1"]
    ssd = ssd_drive(library(256), window=(WINDOW, 2 * PART), image=str(images[0]), media_size=MEDIA)
    model = ModelDrive(size=MEDIA, image=str(images[1]))
    sim = SwitchSim(library(256, num_ssd=2), [ssd, model], ssd_pages=MEDIA // 4096)
    assert sim.trouble() is None
    for image in images:
        os.truncate(image, 0)
    with pytest.raises(SimError, match="could not be written out"):
        sim.ssds.flush(port=1)
    assert (sim.trouble() or "").startswith(f"SSD 1: {images[1]}: it was truncated") and sim.trouble() is None
    assert ssd.sim and ssd.sim._lib.media_sync(ssd.sim._h)
    assert (sim.trouble() or "").startswith(f"SSD 0: {images[0]}: it was truncated") and sim.trouble() is None
    with pytest.raises(SimError, match="could not be written out"):
        sim.close()


@pytest.mark.parametrize("bad", ["card", "ssd0", "ssd1"])
def test_all_of_a_card_is_closed(tmp_path: Path, bad: str) -> None:
    """The image of one fails: the others are written out and free all the same."""
    images = {name: tmp_path / name for name in ("card", "ssd0", "ssd1")}
    at = {"window": (WINDOW, 2 * PART), "media_size": MEDIA}
    ssds = [ssd_drive(library(256), image=str(images[f"ssd{i}"]), **at) for i in range(2)]
    card = SwitchSim(library(256, num_ssd=2), ssds, ssd_pages=MEDIA // 4096, image=str(images["card"]))
    os.truncate(images[bad], 0)
    with pytest.raises(SimError, match="could not be written out"):
        card.close()
    assert card.closed and all(ssd.sim and ssd.sim.closed for ssd in ssds)


def test_flushes_fail_for_good(image: Path) -> None:
    """The functional drive does as the simulated one: a file that has its length back has lost what was in it."""
    media = MediaFile(str(image), MEDIA)
    media.store(8 << 20, pattern(CHUNK))
    os.truncate(image, 4 << 20)
    for _ in range(2):
        with pytest.raises(OSError):
            media.flush()
        os.truncate(image, MEDIA)
    assert "truncated" in (media.trouble or "")
    with pytest.raises(SimError, match="could not be written out"):
        media.close()


def test_what_cannot_be_written_out_is_said(device: Device, image: Path) -> None:
    put(device, 8 << 20, 2)
    os.truncate(image, 0)
    with pytest.raises(SimError, match="could not be written out: .*truncated"):
        device.sim.close()
    assert device.sim.closed


FULL = """
import os, sys
from pathlib import Path
from test_sim_image import *
disk = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=True)
(disk / "ballast").write_bytes(bytes(256 << 10))
d = Device(Sim(library(256), image=disk / "image", media_size=MEDIA))
done, failed = [], []
for i in range(80):
    (failed if put(d, i * CHUNK, i) else done).append(i)
    assert put(d, 0, 0) == 0, "what has its place stays writable"
assert 40 <= len(done) < 50 and done == list(range(len(done))), done
text = d.sim.trouble()
assert "No space left" in text and "writes fail" in text, text
assert errors_of(d, FLUSH, 0) == 0
for i in done:
    assert got(d, i * CHUNK) == (0, pattern(CHUNK, i))
assert got(d, 12 << 20) == (0, bytes(CHUNK)), "a hole reads as zeros, though no page is left for it"
os.unlink(disk / "ballast")
for i in failed[:12]:
    assert put(d, i * CHUNK, i) == 0, "there is room again"
d.sim.close()
data = (disk / "image").read_bytes()
for i in done + failed[:12]:
    assert data[i * CHUNK : (i + 1) * CHUNK] == pattern(CHUNK, i)
print("all is well")
"""


def test_full_disk(tmp_path: Path) -> None:
    """A write that finds no room ends with an error; all others are kept."""
    library(256)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run([*own_mounts(), sys.executable, "-c", FULL, tmp_path], check=False, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": paths})  # fmt: skip
    assert done.returncode == 0 and done.stdout == "all is well\n", done.stderr


# ---------------------------------------------------------------------------------------------------------------- locks

LOCK = struct.Struct("hhqqi4x")  # struct flock


def qemu_locks(file: Path) -> int:
    """A descriptor with the locks of a QEMU that writes to the image: shared, on bytes that stand for its rights."""
    fd = os.open(file, os.O_RDWR)
    for byte in (100, 101, 103, 201, 203):
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0))
    return fd


@pytest.mark.parametrize("first", ["rtl", "functional", "qemu"])
@pytest.mark.parametrize("second", ["rtl", "functional", "qemu"])
def test_one_owner_of_an_image(image: Path, first: str, second: str) -> None:
    """Whoever comes second is refused, and changes nothing: the file does not even grow."""
    image.write_bytes(bytes(1 << 20))

    def take(kind: str, size: int) -> Any:
        if kind == "qemu":
            return qemu_locks(image)
        if kind == "functional":
            return FunctionalSsd(image=str(image), media_size=size)
        return Sim(library(256), image=image, media_size=size)

    one = take(first, 1 << 20)
    if (first, second) != ("qemu", "qemu"):  # they agree by what the other one shares
        with pytest.raises(
            BlockingIOError if second == "qemu" else SimError, match=None if second == "qemu" else "in use"
        ):
            take(second, 2 << 20)
    assert image.stat().st_size == 1 << 20
    os.close(one) if first == "qemu" else one.close()
    again = take(second, 2 << 20)
    os.close(again) if second == "qemu" else again.close()


def test_images_of_recordings_are_not_made_longer_under_others(image: Path) -> None:
    make_image(image, 1 << 20)
    for fd in (qemu_locks(image), None):
        one = None if fd else Sim(library(256), image=image)
        with pytest.raises(SimError, match="in use"):
            make_image(image, 2 << 20)
        assert image.stat().st_size == 1 << 20
        os.close(fd) if fd else one.close()  # type: ignore[union-attr]
    make_image(image, 2 << 20)
    assert image.stat().st_size == 2 << 20


# ------------------------------------------------------------------------------------------------- memory of the host


def test_host_memory_that_goes(tmp_path: Path) -> None:
    """A file that is truncated under the device: its accesses fail, other memory goes on."""
    d = Device(Sim(library(256), media_size=MEDIA))
    d.sim.unmap(LOW, SIZE)
    file = tmp_path / "memory"
    file.write_bytes(pattern(SIZE))
    with open(file, "r+b") as f:
        shared = mmap.mmap(f.fileno(), SIZE)
    d.sim.map(LOW, SIZE, shared)
    d.do(READ, LOW, 4096)
    assert d.status()[0] == 0
    os.truncate(file, 0)
    before = d.status()[0]
    d.do(READ, LOW + 8192, 4096)
    assert d.status()[0] > before and d.status()[2] == 1, "unsupported request"
    d.do(WRITE, LOW + 16384, 4096)
    os.truncate(file, SIZE)
    failed = d.status()[0]
    d.do(READ, LOW, 4096)
    assert d.status()[0] > failed, "for good: nobody knows what is in it"
    assert f"{LOW:#x}" in (d.sim.trouble() or "")
    d.memory[:4096] = pattern(4096, 9)
    d.do(READ, BASE, 4096)
    d.do(WRITE, BASE + 8192, 4096)
    d.sim.run(500)
    assert d.memory[8192:12288] == pattern(4096, 9)
    d.sim.unmap(LOW, SIZE)
    d.sim.map(LOW, SIZE, shared)
    known = d.status()[0]
    d.do(READ, LOW, 4096)
    assert d.status()[0] == known, "mapped anew it is another one"
    assert not d.sim.errors()
    d.sim.close()
