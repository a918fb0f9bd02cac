# SPDX-License-Identifier: Apache-2.0
"""`./doorbell record` and `replay`: real files through the recorder to drives of each kind and back, and what goes
wrong on the way."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT
from doorbell import build
from doorbell.device.recorder_setup import simulator_params
from doorbell.record import Recording, Session, capture

NEEDS_QEMU = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("apt-get"), reason="QEMU is one of Debian's amd64 packages"
)
KINDS = ["model", pytest.param("db_ssd", marks=pytest.mark.nightly), pytest.param("qemu", marks=NEEDS_QEMU)]
MB = 1 << 20


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "doorbell", *map(str, args)]


def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(tmp_path)}


def doorbell(folder: Path, *args: str | Path, data: bytes | None = None, timeout: float = 500,
             status: int = 0) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    done = subprocess.run(command(*args), cwd=folder, env=environment(folder), input=data, capture_output=True,
                          timeout=timeout, check=False)  # fmt: skip
    assert done.returncode == status, done.stderr.decode()
    return done


def message(done: subprocess.CompletedProcess[bytes]) -> str:
    """The error, one line."""
    return done.stderr.decode().splitlines()[-1]


def payload(path: Path, size: int, seed: int = 1) -> bytes:
    data = random.Random(seed).randbytes(size)
    path.write_bytes(data)
    return data


@pytest.mark.parametrize(("kind", "drives", "size"), [
    ("model", 2, 3 * MB + 12345), pytest.param("model", 1, 4096, marks=pytest.mark.nightly), ("db_ssd", 2, MB + 1),
    pytest.param("qemu", 2, 4 * MB - 1, marks=NEEDS_QEMU),
])  # fmt: skip
def test_there_and_back(tmp_path: Path, kind: str, drives: int, size: int) -> None:
    """Identical, for lengths that are no whole blocks; the stripes lie on the images as they should."""
    data = payload(tmp_path / "in", size)
    done = doorbell(tmp_path, "record", "in", "--drives", drives, "--ssd", kind, "--json")
    figures = json.loads(done.stdout)
    assert figures["bytes"] == size and figures["drives"] == drives and figures["blocks_lost"] == 0
    assert figures["shut_down"] == drives
    assert 0 < figures["percent_of_limit"] <= 100.5 and figures["peak_write_latency_us"] > 0
    images = [(tmp_path / f"recording-{i}.img").read_bytes() for i in range(drives)]
    blocks = -(-size // 4096)
    striped = b"".join(images[k % drives][k // drives * 4096 :][:4096] for k in range(blocks))
    assert striped[:size] == data and not any(striped[size:])
    assert json.loads(doorbell(tmp_path, "replay", "out", "--json").stdout)["shut_down"] == drives
    assert (tmp_path / "out").read_bytes() == data
    assert not list(tmp_path.glob("doorbell-p2p-*")) and b"warning" not in done.stderr


def test_pipes_and_named_images(tmp_path: Path) -> None:
    """stdin and stdout, images by name, a pace: the simulated rate is the source's."""
    data = random.Random(5).randbytes(2 * MB)
    done = doorbell(tmp_path, "record", "-", "--images", "a.img", "b,c.img", "--rate", "1.5", "--size", "16m", "--json",
                    data=data)  # fmt: skip
    figures = json.loads(done.stdout)
    assert figures["simulated_gb_per_s"] == pytest.approx(1.5, rel=0.03)
    assert (tmp_path / "a.img").stat().st_size == 16 * MB > (tmp_path / "a.img").stat().st_blocks * 512
    out = doorbell(tmp_path, "replay", "-", "--images", "a.img", "--json")
    assert out.stdout == data and json.loads(out.stderr)["bytes"] == len(data)
    (tmp_path / "a.img").rename(tmp_path / "c.img")
    (tmp_path / "a.img.json").rename(tmp_path / "c.img.json")
    out = doorbell(tmp_path, "replay", "-", "--images", "c.img", "b,c.img")
    assert out.stdout == data


@pytest.mark.nightly
def test_with_buffer(tmp_path: Path) -> None:
    """What is still in memory when the input is over is recorded."""
    data = payload(tmp_path / "in", 3 * MB + 5)
    figures = json.loads(doorbell(tmp_path, "record", "in", "--buffer", "4m", "--json").stdout)
    assert figures["bytes"] == len(data) and figures["blocks_lost"] == 0
    assert doorbell(tmp_path, "replay", "-").stdout == data


def test_empty_input(tmp_path: Path) -> None:
    doorbell(tmp_path, "record", "-", data=b"")
    assert doorbell(tmp_path, "replay", "-").stdout == b""


def test_larger_than_the_images(tmp_path: Path) -> None:
    """A file is looked at first; of a stream the part that fits is kept, and played back."""
    data = payload(tmp_path / "in", 5 * MB)
    done = doorbell(tmp_path, "record", "in", "--size", "1m", status=2)
    assert "too small" in message(done) and not (tmp_path / "recording-0.img").exists()
    done = doorbell(tmp_path, "record", "-", "--size", "1m", data=data, status=1)
    assert "full after 2097152 bytes" in message(done)
    out = doorbell(tmp_path, "replay", "-").stdout
    assert out == data[: 2 * MB]


@pytest.mark.parametrize(("args", "says"), [
    (["record", "in", "--images", "a.img"], "2 drives need 2 images"),
    (["record", "in", "--images", "a.img", "./a.img"], "an image of its own"),
    (["record", "in", "out"], "unexpected extra argument"),
    (["record", "--images", "a.img", "b.img", "in"], "Missing argument 'INPUT'"),
    (["record", "in", "--drives", "9"], "1 to 8"),
    (["record", "in", "--ssd", "tape"], "must be model, db_ssd, qemu"),
    (["record", "in", "--size", "many"], "is not a size"),
    (["record", "in", "--buffer", "3m"], "a power of two"),
    (["record", "nothing"], "cannot open nothing"),
    (["record", "in", "--images", "no/a.img", "no/b.img"], "cannot make no/a.img"),
    (["record", "in", "--images", "a.img", "."], ". is not a file"),
    (["record", "in", "--images", "in", "b.img"], "belongs to the recording"),
    (["replay", "out"], "there is no recording"),
    (["replay", "out", "--images", "in"], "there is no recording"),
], ids=lambda a: " ".join(a) if isinstance(a, list) else "")  # fmt: skip
def test_mistakes(tmp_path: Path, args: list[str], says: str) -> None:
    payload(tmp_path / "in", 10_000)
    done = doorbell(tmp_path, *args, status=2)
    assert says in message(done) and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_broken_recordings(tmp_path: Path) -> None:
    payload(tmp_path / "in", 10_000)
    doorbell(tmp_path, "record", "in")
    assert "belongs to the recording" in message(doorbell(tmp_path, "replay", "recording-1.img", status=2))
    (tmp_path / "recording-1.img").rename(tmp_path / "away")
    assert "recording-1.img is missing" in message(doorbell(tmp_path, "replay", "out", status=2))
    state = tmp_path / "recording-0.img.json"
    state.write_text(state.read_text()[:40])
    assert "does not describe a recording" in message(doorbell(tmp_path, "replay", "out", status=2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_killed(tmp_path: Path, kind: str, how: signal.Signals) -> None:
    """Ended in the middle, by force or kindly: what had been acknowledged is there."""
    data = random.Random(7).randbytes(MB) * 8
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    args = command("record", "-", "--ssd", kind)
    with subprocess.Popen(args, cwd=tmp_path, env=environment(tmp_path), **pipes) as process:
        state = tmp_path / "recording-0.img.json"
        assert process.stdin
        end = time.monotonic() + 400
        while not (state.exists() and json.loads(state.read_text())["bytes"] >= MB):
            process.stdin.write(data)  # more and more
            assert process.poll() is None and time.monotonic() < end
        process.send_signal(how)
        process.stdin.close()
        process.wait(30)
    known = json.loads(state.read_text())
    assert not known["complete"]
    out = doorbell(tmp_path, "replay", "-").stdout
    assert len(out) == known["bytes"] >= MB
    assert out == (data * (len(out) // len(data) + 1))[: len(out)]
    for _ in range(50):  # QEMU goes with it
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if names(p, tmp_path)]
        if not left:
            break
        time.sleep(0.1)
    assert not left


def test_a_pipe_that_does_not_wait(tmp_path: Path) -> None:
    """That it has nothing now is not its end."""
    data = random.Random(6).randbytes(MB)
    read, write = os.pipe()
    os.set_blocking(read, False)
    with subprocess.Popen(command("record", "-"), cwd=tmp_path, env=environment(tmp_path), stdin=read,
                          stdout=subprocess.DEVNULL) as process:  # fmt: skip
        os.close(read)
        with open(write, "wb", buffering=0) as pipe:
            time.sleep(3)
            for at in range(0, MB, MB // 4):
                pipe.write(data[at : at + MB // 4])
                time.sleep(0.2)
    assert process.returncode == 0
    assert doorbell(tmp_path, "replay", "-").stdout == data


def test_a_drive_that_would_write_over_the_recording(tmp_path: Path) -> None:
    """db_ssd keeps its settings at the end of its media, where the last blocks of another kind's recording may be."""
    data = payload(tmp_path / "in", 2 * MB)
    doorbell(tmp_path, "record", "in")
    done = doorbell(tmp_path, "replay", "out", "--ssd", "db_ssd", status=2)
    assert "recording-0.img has no room for what db_ssd keeps there: replay it with --ssd model" in message(done)
    assert not (tmp_path / "out").exists()
    assert doorbell(tmp_path, "replay", "-").stdout == data


def test_a_source_that_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer than drives may take no data: that is not the drives' fault."""
    module = importlib.import_module("doorbell.record.capture")
    for name, value in {"SLICE": 64 << 10, "STATE_S": 0.0, "QUIET_S": 3.0}.items():
        monkeypatch.setattr(module, name, value)
    data = random.Random(4).randbytes(144 << 10)
    images = [tmp_path / "a.img", tmp_path / "b.img"]
    known = Recording(0, "model", [str(image) for image in images])
    read, write = os.pipe()

    def bring() -> None:
        with open(write, "wb", buffering=0) as pipe:
            pipe.write(data[: 96 << 10])
            time.sleep(4)
            pipe.write(data[96 << 10 :])

    thread = threading.Thread(target=bring)
    with open(read, "rb") as pipe, Session("model", images, [MB, MB], rate=0.05) as session:
        thread.start()
        figures = capture(session, pipe, None, known, lambda _: None)
    thread.join()
    assert (figures["bytes"], figures["blocks_lost"], known.complete) == (len(data), 0, True)


def small_disk() -> None:
    """Files of this process end at 1 MiB, as on a disk that is full: a sparse image looks larger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MB, MB))


@pytest.mark.parametrize("killed", [False, True], ids=["to the end", "killed"])
def test_a_disk_that_is_full(tmp_path: Path, killed: bool) -> None:
    """Blocks that the drives did not take are said to be lost, whenever it ends, and it is no success."""
    build.simulator("db_recorder", simulator_params(2, 0))  # no file of it is so small
    for name in ("a.img", "b.img"):
        with open(tmp_path / name, "wb") as image:
            image.truncate(64 * MB)
    data = random.Random(3).randbytes(4 * MB)
    state = tmp_path / "a.img.json"
    args = command("record", "-", "--images", "a.img", "b.img", "--json")
    with subprocess.Popen(args, cwd=tmp_path, env=environment(tmp_path), preexec_fn=small_disk, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # fmt: skip
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(data)
        if killed:
            end = time.monotonic() + 400
            while not (state.exists() and json.loads(state.read_text())["bytes"] > 6 * MB):
                process.stdin.write(data)
                assert process.poll() is None and time.monotonic() < end
            process.kill()
        process.stdin.close()
        out, err = process.stdout.read(), process.stderr.read().decode()
    known = json.loads(state.read_text())
    assert [run[:2] for run in known["lost"]] == [[drive, MB // 4096] for drive in range(2)]
    if killed:
        assert sum(run[2] for run in known["lost"]) * 4096 >= known["bytes"] - 2 * MB
        return
    assert process.returncode == 1 and known["complete"], err
    assert [run[2] for run in known["lost"]] == [MB // 4096] * 2
    assert json.loads(out)["blocks_lost"] == 512
    assert err.splitlines()[-1].endswith("512 blocks of the stream are not on the drives")


def names(cmdline: Path, folder: Path) -> bool:
    try:
        return str(folder).encode() in cmdline.read_bytes()
    except OSError:
        return False


@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "size"), [
    pytest.param("qemu", 256 * MB, marks=NEEDS_QEMU), ("model", 256 * MB), ("db_ssd", 32 * MB)])  # fmt: skip
def test_large(tmp_path: Path, kind: str, size: int) -> None:
    """256 MiB on two stock drives of QEMU, and back."""
    with open(tmp_path / "in", "wb") as file:
        for seed in range(size // MB):
            file.write(random.Random(seed).randbytes(MB))
    doorbell(tmp_path, "record", "in", "--ssd", kind, timeout=1500)
    doorbell(tmp_path, "replay", "out", timeout=1500)
    digests = []
    for name in ("in", "out"):
        with open(tmp_path / name, "rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    assert digests[0] == digests[1]
