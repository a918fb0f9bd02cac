# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm`: Linux guests. The first ones have no drive of ours: they test the guest's side alone."""

from __future__ import annotations

import json
import os
import platform
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import BACKEND, ROOT

GUEST = Path(__file__).parent / "guest"
FAILED = 125

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("apt-get"), reason="the guest is made of Debian's amd64 packages"
)


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "doorbell", "vm", *map(str, args)]


def environment(tmp_path: Path) -> dict[str, str]:
    """All temporary files, and so all that its processes name, are below tmp_path."""
    return os.environ | {"PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(tmp_path)}


def vm(tmp_path: Path, *args: str | Path, timeout: float = 300) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(command(*args), env=environment(tmp_path), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout, check=False)  # fmt: skip
    assert not left_over(tmp_path)
    return done


def left_over(tmp_path: Path) -> list[str]:
    """Processes that name something below tmp_path (QEMU and the server do), and their scratch folders."""
    found = [str(p) for p in tmp_path.glob("doorbell-vm-*") if p.is_dir()]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes()
        except OSError:
            continue
        if str(tmp_path).encode() in line and int(entry.parent.name) != os.getpid():
            found.append(line.decode(errors="replace"))
    return found


def script(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "script"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_run_is_transparent(tmp_path: Path) -> None:
    """Output byte for byte, stderr with it, the kernel's messages not; the exit status."""
    text = """#!/bin/bash
for i in {0..255}; do printf "\\\\x$(printf %02x $i)"; done
head -c 1M /dev/zero
echo to stderr >&2
echo kernel line >/dev/kmsg
[ "$(id -u)" = 0 ] || exit 1
for tool in sha256sum sfdisk blkdiscard mkfs.ext4 nvme fio awk vi modprobe; do type $tool >/dev/null || exit 2; done
exit 7
"""
    done = vm(tmp_path, "--stock", "none", "--run", script(tmp_path, text))
    assert done.returncode == 7, done.stderr
    assert done.stdout == bytes(range(256)) + bytes(1 << 20) + b"to stderr\n"


@pytest.mark.nightly
def test_shebang(tmp_path: Path) -> None:
    text = '#!/usr/bin/awk -f\nBEGIN { print "awk speaks"; exit 3 }\n'
    done = vm(tmp_path, "--stock", "none", "--run", script(tmp_path, text), "--smp", "2")
    assert (done.returncode, done.stdout) == (3, b"awk speaks\n"), done.stderr


@pytest.mark.nightly
def test_guest_that_crashes(tmp_path: Path) -> None:
    text = "#!/bin/sh\necho last words\nsleep 0.2\necho c >/proc/sysrq-trigger\nsleep 60\n"
    done = vm(tmp_path, "--stock", "none", "--run", script(tmp_path, text))
    assert (done.returncode, done.stdout) == (FAILED, b"last words\n")
    assert b"ended before its script" in done.stderr
    (log,) = tmp_path.glob("doorbell-vm-*.log")
    assert str(log).encode() in done.stderr and b"sysrq triggered crash" in log.read_bytes()


@pytest.mark.nightly
def test_timeout(tmp_path: Path) -> None:
    done = vm(tmp_path, "--stock", "none", "--run", script(tmp_path, "sleep 1000"), "--timeout", "6")
    assert done.returncode == FAILED and b"did not finish in 6 s" in done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ends_with_its_caller(tmp_path: Path, number: int) -> None:
    """However `doorbell vm` ends, QEMU and the server end too; asked politely, it cleans up and the image is whole."""
    process = subprocess.Popen(
        command("--backend", "functional", "--size", "16m", "--image", tmp_path / "disk", "--run",
                script(tmp_path, "#!/bin/sh\necho up\nsleep 1000\n")),
        env=environment(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout and process.stdout.readline() == b"up\n"
    assert left_over(tmp_path)
    process.send_signal(number)
    process.wait(30)
    process.stdout.close()
    end = time.monotonic() + 20
    while [p for p in left_over(tmp_path) if number != signal.SIGKILL or not p.startswith(str(tmp_path))]:
        assert time.monotonic() < end, left_over(tmp_path)
        time.sleep(0.1)


def test_shell(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(command("--stock", "none"), env=environment(tmp_path), stdin=slave, stdout=slave,
                               stderr=slave)  # fmt: skip
    os.close(slave)
    seen, asked, end = b"", False, time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            seen += os.read(master, 4096)
        except OSError:  # the terminal is closed: all processes are gone
            break
        if b"# " in seen and not asked:
            asked = True
            os.write(master, b"echo $((6 * 7))$(id -un); exit\r")
    assert process.wait(20) == 0, seen
    os.close(master)
    assert b"42root" in seen, seen
    assert not left_over(tmp_path)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ([], b"a shell needs a terminal"), (["--run", "/does/not/exist"], b"cannot read"), (["--run", "/"], b"folder"),
        (["--run", __file__, "--mem", "1M"], b"at least 256M"), (["--run", __file__, "--mem", "much"], b"not a size"),
        (["--run", __file__, "--size", "17"], b"did not start"),
    ],
)  # fmt: skip
def test_bad_arguments(tmp_path: Path, args: list[str], text: bytes) -> None:
    done = vm(tmp_path, *args, "--backend", "functional")
    assert done.returncode and text in done.stderr and b"Traceback" not in done.stderr


def test_smoke(tmp_path: Path) -> None:
    done = vm(tmp_path, "--backend", BACKEND, "--size", "64m", "--run", GUEST / "smoke.sh", timeout=600)
    assert done.returncode == 0 and done.stdout.endswith(b"fine\n"), done.stdout + done.stderr


@pytest.mark.nightly
def test_image_lasts(tmp_path: Path) -> None:
    """A second boot finds the files of the first. Another width than the other tests have."""
    image = ["--backend", BACKEND, "--data-w", "256", "--link", "gen3x8", "--size", "64m", "--image", tmp_path / "disk"]
    first = vm(tmp_path, *image, "--run", GUEST / "write_files.sh", timeout=600)
    assert first.returncode == 0, first.stdout + first.stderr
    second = vm(tmp_path, *image, "--run", GUEST / "read_files.sh", timeout=600)
    assert second.returncode == 0, second.stdout + second.stderr
    assert second.stdout.count(b": OK") == 2


@pytest.mark.nightly
def test_full(tmp_path: Path) -> None:
    """All that is expected of a drive: see the script."""
    done = vm(tmp_path, "--backend", BACKEND, "--size", "512m", "--smp", "2", "--run", GUEST / "full.sh", timeout=1800)
    assert done.returncode == 0 and done.stdout.endswith(b"done\n"), done.stdout + done.stderr


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="the functional drive has no SGLs")
def test_sgls(tmp_path: Path) -> None:
    """fio verify and ext4 with a driver that uses SGLs for all it can, and the proof that it does: see the script."""
    done = vm(tmp_path, "--param", "SGL=1", "--size", "64m", "--smp", "2", "--run", GUEST / "sgl.sh", timeout=900)
    assert done.returncode == 0 and done.stdout.endswith(b"fine\n"), done.stdout + done.stderr


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="speed of the Verilated drive")
def test_speed(tmp_path: Path) -> None:
    """A tenth of what QEMU's own drive does in the same guest, at QD 32: about half of what is measured."""
    done = vm(tmp_path, "--speed", "--size", "256m", "--rounds", "3", "--json", "-", timeout=600)
    assert done.returncode == 0, done.stderr
    rows = {(r["drive"], r["iodepth"]): r for r in json.loads(done.stdout)["summary"]}
    assert all(rows[drive, depth]["iops"] > 0 for drive in ("simulated", "stock") for depth in (1, 32))
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 4 * cores:  # ours is two processes, theirs is one: the busier the machine, the worse the share
        pytest.skip(f"too much other work on this machine: {load:.0f} processes for {cores} cores")
    assert rows["simulated", 32]["ratio"] >= 0.1, rows


def disturbed(tmp_path: Path, *append: str, args: tuple[str, ...] = (), timeout: float) -> dict[str, int]:
    """guest/disturbed.sh: what it counted. The driver's patience with a command is 4 s."""
    words = " ".join(("nvme_core.io_timeout=4", "nvme_core.max_retries=50", *append))
    done = vm(tmp_path, "--size", "64m", "--smp", "2", "--append", words, *args, "--timeout", str(timeout),
              "--run", GUEST / "disturbed.sh", timeout=timeout + 300)  # fmt: skip
    assert done.returncode == 0 and done.stdout.endswith(b" fine\n"), done.stdout + done.stderr
    (said,) = (line for line in done.stdout.decode().splitlines() if line.startswith("aborted "))
    counts = {name: int(number) for name, number in (pair.rsplit(" ", 1) for pair in said.split(", "))}
    (fio,) = (line for line in done.stdout.decode().splitlines() if line.startswith("fio: "))
    runs, written, verified = (int(word) for word in fio.split() if word.isdigit())
    assert runs >= 2 and verified >= written >= runs * 8192, fio
    return counts


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="the functional drive aborts nothing")
def test_verify_while_queues_are_deleted(tmp_path: Path) -> None:
    """Aborts, deletions behind the driver's back and resets under fio verify: each answer right, each byte right.

    Half a minute; on a machine with other work the driver runs out of patience with a drive that is too slow for it."""
    did = disturbed(tmp_path, timeout=480)
    assert did["aborted"] >= 3 and did["not aborted"] >= 2 and did["timeouts"] > 0, did
    assert did["deletions"] >= 6 and did["refusals"] >= 3 and did["resets"] >= 5, did


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="the functional drive aborts nothing")
@pytest.mark.parametrize("width", [("256", "gen3x8"), ("512", "gen4x8")])
def test_verify_while_queues_are_deleted_again_and_again(tmp_path: Path, width: tuple[str, str]) -> None:
    args = ("--data-w", width[0], "--link", width[1])
    did = disturbed(tmp_path, "ROUNDS=8", "ABORTS=10", args=args, timeout=1800)
    assert did["aborted"] >= 80 and did["deletions"] >= 48 and did["refusals"] >= 24 and did["resets"] >= 40, did
