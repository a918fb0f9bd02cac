# SPDX-License-Identifier: Apache-2.0
"""`./doorbell serve --top db_vcsd --images`: a card whose SSDs and own memory are files. They outlive it, whatever ends
it; with others, or put in another way, it does not start. Its simulator is that of tests/system/vcsd."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cards
import pytest
from conftest import BACKEND
from doorbell import build
from doorbell.errors import UserError
from doorbell.nvme import namespaces
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.vm import serve
from doorbell.vm.ssds import SsdOptions
from served_drives import new_driver
from test_vm import pytestmark as needs_guests

pytestmark = pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated card")

SIZE = 16 << 20  # of each SSD
PARAMS = {name: value for name, value in cards.PARAMS.items() if name not in ("DATA_W", "NUM_SSD")}
FORM = ["--top", "db_vcsd", "--data-w", "128", "--link", "gen3x4", "--size", str(2 * SIZE)]
KINDS = [
    "model",
    pytest.param("qemu", marks=[needs_guests, pytest.mark.nightly]),
    pytest.param("db_ssd", marks=pytest.mark.nightly),
]


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    """Built before a server is started: that would take its time."""
    build.simulator("db_vcsd", dict(cards.PARAMS))


def processes_of(file: Path) -> list[int]:
    """QEMUs that have this image: their command lines name it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes()
            if f"file={file}".encode() in line:
                found.append(int(entry.parent.name))
    return found


@contextlib.contextmanager
def served(folder: Path, kind: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process that has said that it is ready, and its socket. At the end it is gone, however that came."""
    path = str(folder / "s")
    ready, ready_w = os.pipe()
    words = [w for name, value in PARAMS.items() for w in ("--param", f"{name}={value}")]
    images = [str(folder / name) for name in ("a", "b")]
    command = [sys.executable, "-m", "doorbell", "serve", "--socket", path, *FORM, *words, "--ssd", kind, "--ready-fd",
               str(ready_w), "--images", *images, *options]  # fmt: skip
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(command, pass_fds=(ready_w,), stderr=subprocess.PIPE, text=True, env=env)
    os.close(ready_w)
    try:
        with os.fdopen(ready, "rb") as pipe:
            assert pipe.read(1) == b"r", process.communicate()
        yield process, path
    finally:
        process.kill()
        process.communicate(timeout=60)
        end = time.monotonic() + 30
        while any(processes_of(folder / name) for name in ("a", "b")):
            assert time.monotonic() < end, "a QEMU stays"
            time.sleep(0.05)


@contextlib.contextmanager
def host(path: str) -> Iterator[Driver]:
    drive, driver = new_driver(path)
    try:
        driver.start(queues=1, entries=32)
        yield driver
    finally:
        drive.close()


def cut(process: subprocess.Popen[str], folder: Path) -> None:
    """Nobody gets to say a last word."""
    for pid in [process.pid, *processes_of(folder / "a"), *processes_of(folder / "b")]:
        os.kill(pid, signal.SIGKILL)
    process.wait(10)


@pytest.mark.parametrize("kind", KINDS)
def test_power_is_cut(tmp_path: Path, kind: str) -> None:
    """Server and QEMUs are killed while the host writes. Then: the namespaces are as they were, what was flushed is
    there, at the place in the files that the documentation names."""
    rng = random.Random(kind)
    secrets = {nsid: rng.randbytes(64 << 10) for nsid in (1, 2)}
    at = 40
    with served(tmp_path, kind) as (process, path):
        with contextlib.suppress(OSError), host(path) as driver:
            for nsid in namespaces.allocated(driver):
                namespaces.delete(driver, nsid)
            for nsid, secret in secrets.items():
                assert namespaces.create(driver, SIZE // 512, 512) == nsid
                namespaces.attach(driver, nsid)
                driver.nsid = nsid
                driver.identify_all()
                driver.write(at, secret)
                driver.flush()
            for i in range(8):
                buffer = driver.buffer(4096)
                buffer.write(rng.randbytes(4096))
                driver.submit(1, NvmOpc.WRITE, 1000 + 8 * i, 7, buffer)
            driver.ring()
            cut(process, tmp_path)
    for name, secret in zip("ab", secrets.values()):
        data = (tmp_path / name).read_bytes()
        assert data[at * 512 : at * 512 + len(secret)] == secret
    with served(tmp_path, kind) as (_, path), host(path) as driver:
        assert namespaces.allocated(driver) == [1, 2]
        for nsid, secret in secrets.items():
            driver.nsid = nsid
            driver.identify_all()
            assert driver.namespace and driver.namespace.nsze == SIZE // 512
            assert driver.read(at, len(secret) // 512) == secret


@needs_guests
@pytest.mark.nightly
def test_a_drive_is_pulled(tmp_path: Path) -> None:
    """A QEMU ends: commands for it end with errors, those for the other go on, and the server says so in a line."""
    with served(tmp_path, "qemu") as (process, path):
        with host(path) as driver:
            half = SIZE // 512
            for nsid in namespaces.allocated(driver):
                namespaces.delete(driver, nsid)
            namespaces.attach(driver, namespaces.create(driver, 2 * half, 512))
            driver.identify_all()
            kept = random.Random(9).randbytes(4096)
            driver.write(8, kept)
            commands = []
            for i in range(24):
                buffer = driver.buffer(4096)
                commands.append(driver.submit(1, NvmOpc.READ, half * (i % 2) + 8, 7, buffer))
            driver.ring()
            for pid in processes_of(tmp_path / "b"):
                os.kill(pid, signal.SIGKILL)
            driver.wait(commands)
            assert all(c.status == Status.SUCCESS for c in commands[::2])
            assert {c.status for c in commands[1::2]} <= {Status.SUCCESS, Status.READ_ERROR}
            end = time.monotonic() + 20
            while (status := gone(driver, half + 64)) == Status.SUCCESS:
                assert time.monotonic() < end
            assert status == Status.READ_ERROR
            assert driver.read(8, 8) == kept
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert said.count("\n") == 1 and "SSD 1 is taken away" in said, said


def gone(driver: Driver, at: int) -> int:
    command = driver.submit(1, NvmOpc.READ, at, 7, driver.buffer(4096), ring=True)
    driver.wait([command])
    return command.status


def test_a_card_knows_its_ssds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in another order, in another form, of another size, another number: a line that says so."""
    a, b, c, d = (tmp_path / name for name in "abcd")

    monkeypatch.setattr("doorbell.qemu.ssds.LOCK_S", 0.2)

    def start(*images: Path, size: str | None = None, card: Path | None = None, stripe: bool = False,
              **more: int) -> Any:  # fmt: skip
        wanted = SsdOptions("model", images, None, stripe)
        return serve.serving_device(tmp_path / "s", top="db_vcsd", size=size, ssds=wanted, image=card,
                                    data_w=128, link="gen3x4", params=PARAMS | more)  # fmt: skip

    def refused(why: str, *images: Path, **how: Any) -> None:
        with pytest.raises(UserError, match=why), start(*images, **how):
            pass

    with start(a, b, size="32m"):
        assert [f.stat().st_size for f in (a, b)] == [SIZE, SIZE]
        assert (tmp_path / "a.card").stat().st_size < 132 << 10
        refused("in use by another process", a, c, card=d)
    with start(a, b):
        pass
    b.rename(d)
    refused(f"b is missing, or a part of it: .*a.card was made with {SIZE:,} bytes", a, b)
    assert not b.exists()
    b.touch()
    refused("b is missing, or a part of it", a, b)
    d.rename(b)
    refused("in another order: --images a b", b, a, card=tmp_path / "a.card")
    refused("without --stripe", a, b, stripe=True)
    for more in ({"EXTENTS": 2 * SIZE >> 21}, {"GRANULE_LOG2": 21}):
        refused(r"granules of 2\^20 bytes, not 2\^21: give the same EXTENTS or GRANULE_LOG2", a, b, **more)
    refused("2 SSDs, not 4", a, b, c, d)
    refused("bytes of each SSD, not", a, b, size="64m")
    refused("leave --size out", a, b, size="16m")
    refused("is its own memory", card=d)
    refused("each SSD needs a file of its own", a, a)
    refused("1, 2, 4 or 8 SSDs", a, b, c)
    for small in (c, d):
        small.write_bytes(bytes(65536))
    refused("are too small", c, d)
    for text in (b"x" * SIZE, bytes(SIZE), b"x", b"x" * (128 << 10)):  # of others: it stays as it is
        c.write_bytes(text)
        refused("is not the memory of a card", a, b, card=c)
        assert c.read_bytes() == text


@pytest.mark.parametrize(("options", "why"), [
    ({"top": "db_ssd", "ssds": SsdOptions("qemu")}, "are for db_vcsd"),
    ({"ssds": SsdOptions("disk")}, "--ssd disk: must be model, db_ssd, qemu"),
    ({"ssds": SsdOptions(number=3)}, "a card has 1, 2, 4 or 8"),
    ({"ssds": SsdOptions(images=(Path("a"),), number=2)}, "leave --ssds out"),
    ({"ssds": SsdOptions(stripe=True), "params": {"STRIPE": 0}}, "--param STRIPE=0"),
    ({"ssds": SsdOptions(stripe=True), "backend": "functional"}, "need --backend rtl"),
])  # fmt: skip
def test_what_does_not_go_together(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why), serve.serving_device(tmp_path / "s", **{"top": "db_vcsd", **options}):
        pass
    assert not list(tmp_path.iterdir())
