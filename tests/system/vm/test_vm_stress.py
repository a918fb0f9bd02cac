# SPDX-License-Identifier: Apache-2.0
"""What Linux can do to drives while they work, with both kernels that Debian has: guest/stress.sh, fsx.sh, mirror.sh.

The programs that know what a disk or a file has to hold are C beside the scripts, built here for the guest. Each script
is seen to fail as well: SPOIL=1 changes what is there behind their backs.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import BACKEND
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from doorbell.build.guest_tools import compile_tools
from doorbell.device.nand import parse_media
from doorbell.nvme.vendor import MediaHealth
from doorbell.qemu.root import Kernel
from test_vm import GUEST, command, environment, left_over, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]
KERNELS = pytest.mark.parametrize("kernel", [k.value for k in Kernel])
FLAGS = ["-target", "x86_64-linux-musl", "-static", "-O2", "-s"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guest")
    compile_tools(folder, {name: [GUEST / f"{name}.c"] for name in ("witness", "fsx")}, FLAGS)
    return folder


def words(text: bytes, kind: str) -> dict[str, int]:
    """`12 writes, 3 reads` of the last line that has `kind`, by name."""
    line = [ln for ln in text.decode().splitlines() if kind in ln][-1]
    return {name: int(number) for number, name in re.findall(r"(\d+) ([a-z]+)", line)}


def stress(tmp_path: Path, programs: Path, kernel: str, *append: str) -> subprocess.CompletedProcess[bytes]:
    """The driver's patience is 40 s: when an interrupt is lost it says so, and the script fails."""
    line = " ".join(("nvme_core.io_timeout=40", *append))
    return vm(tmp_path, "--size", "64m", "--smp", "3", "--kernel", kernel, "--file", programs / "witness", "--timeout",
              "900", "--append", line, "--run", GUEST / "stress.sh", timeout=1200)  # fmt: skip


@pytest.mark.nightly
@KERNELS
def test_resets_queues_processors_and_removals_under_io(tmp_path: Path, programs: Path, kernel: str) -> None:
    done = stress(tmp_path, programs, kernel, "ROUNDS=2", f"SLEEP={int(kernel == 'stable')}")
    assert done.returncode == 0 and done.stdout.endswith(b" fine\n"), done.stdout + done.stderr
    did = words(done.stdout, "resets,")
    stable = int(kernel == "stable")  # the other one takes numbers of queues at a probe alone, and sleeps for good
    assert did["resets"] >= 20 and did["shapes"] == 4 * stable and did["sleeps"] == 2 * stable, did
    assert did["hotplugs"] == 12 and did["rescans"] == 12 and did["removals"] == 6 and did["fios"] >= 1, did
    assert did["schedulers"] >= 6, did


@pytest.mark.nightly
def test_a_spoilt_block_is_seen_under_stress(tmp_path: Path, programs: Path) -> None:
    done = stress(tmp_path, programs, "stable", "SPOIL=1")
    assert done.returncode == 1 and re.search(rb"witness: block \d+: ", done.stdout), done.stdout + done.stderr


def files(tmp_path: Path, programs: Path, kernel: str, *append: str) -> subprocess.CompletedProcess[bytes]:
    return vm(tmp_path, "--size", "400m", "--image", tmp_path / "disk", "--smp", "2", "--kernel", kernel, "--file",
              programs / "fsx", "--timeout", "900", "--append", " ".join(append), "--run", GUEST / "fsx.sh",
              timeout=1200)  # fmt: skip


@pytest.mark.nightly
@KERNELS
def test_files_of_ext4_xfs_and_dm_crypt_are_right(tmp_path: Path, programs: Path, kernel: str) -> None:
    """While the controller is reset; and what dm-crypt wrote is AES-XTS of the text, of sectors that are counted."""
    key = bytes(range(64))
    done = files(tmp_path, programs, kernel, f"KEY={key.hex()}")
    assert done.returncode == 0 and done.stdout.endswith(b" fine\n"), done.stdout + done.stderr
    lines = [ln for ln in done.stdout.decode().splitlines() if "fsx: read" in ln]
    assert len(lines) == 6 and all(int(n) > 0 for n in re.findall(r" (\d+)", lines[0].split("fsx:")[1])), lines
    with open(tmp_path / "disk", "rb") as f:
        secret = f.read(1 << 20)
    text = b""
    for sector in range(len(secret) // 512):
        cipher = Cipher(algorithms.AES(key), modes.XTS(sector.to_bytes(16, "little")))
        text += cipher.decryptor().update(secret[sector * 512 : sector * 512 + 512])
    assert text == (b"nobody reads this\n" * (1 << 16))[: 1 << 20]


@pytest.mark.nightly
def test_a_spoilt_file_is_seen(tmp_path: Path, programs: Path) -> None:
    done = files(tmp_path, programs, "stable", "SPOIL=1", "OPERATIONS=400", f"KEY={bytes(64).hex()}")
    assert done.returncode == 1 and b"file2 after the new mount" in done.stdout, done.stdout + done.stderr


@contextmanager
def served(tmp_path: Path, image: Path) -> Iterator[Path]:
    """A second drive, of a server of its own."""
    path = tmp_path / "second.sock"
    serve = [*command()[:-1], "serve", "--socket", str(path), "--size", "40m", "--image", str(image)]
    serve += ["--param", "UNCORRECTABLE=1", "--serial", "2"]
    process = subprocess.Popen(serve, env=environment(tmp_path), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + 300
        while not path.is_socket():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        yield path
    finally:
        process.terminate()
        said = process.communicate(timeout=60)[1]
        assert process.returncode and b"second" in said, said  # its image is cut off, and it says so


def talk(process: subprocess.Popen[bytes], on: dict[bytes, Callable[[], Any]]) -> bytes:
    """What a guest says; a line of `on` has something done."""
    assert process.stdout
    said = b""
    for line in process.stdout:
        said += line
        on.get(line.strip(), lambda: None)()
    return said


@pytest.mark.nightly
@KERNELS
def test_a_mirror_outlives_the_failures_of_one_drive(tmp_path: Path, programs: Path, kernel: str) -> None:
    """md RAID 1 over two drives: blocks that cannot be read, a drive removed, a medium that fails (a file cut off)."""
    image = tmp_path / "second"
    with served(tmp_path, image) as second:
        line = command("--size", "40m", "--smp", "2", "--kernel", kernel, "--beside", second, "--timeout", "900",
                       "--file", programs / "witness", "--run", GUEST / "mirror.sh")  # fmt: skip
        process = subprocess.Popen(line, env=environment(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        limit = threading.Timer(1200, process.kill)
        limit.start()
        said = talk(process, {b"break it": lambda: os.truncate(image, 0)})
        limit.cancel()
        assert process.wait() == 0 and said.endswith(b" fine\n"), said
    assert words(said, "mended")["times"] > 0
    assert not left_over(tmp_path)


def test_kernels_and_files_and_drives_that_are_not_there(tmp_path: Path) -> None:
    for args, text in [
        (["--kernel", "newest"], b"newest"),
        (["--file", tmp_path / "none"], b"is not a file"),
        (["--beside", tmp_path / "none"], b"is not a socket"),
        (["--beside", tmp_path / "none", "--guests", "2"], b"--beside is for a single guest"),
    ]:
        done = vm(tmp_path, *args, "--run", __file__, "--backend", "functional")
        assert done.returncode and text in done.stderr and b"Traceback" not in done.stderr, done.stderr


@pytest.mark.nightly
@KERNELS
def test_smart_log_of_flash_agrees_with_its_model(tmp_path: Path, kernel: str) -> None:
    """What fio moved, and write amplification and wear as the model of the media says them at its end."""
    done = vm(tmp_path, "--media", "nand:tlc", "--kernel", kernel, "--timeout", "600", "--run", GUEST / "smart.sh",
              timeout=900)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    logs, pages = [], []
    for part in done.stdout.decode().split("between\n"):
        logs.append({name: int(value) for name, value in re.findall(r"^smart (\w+) (\d+)$", part, re.MULTILINE)})
        (page,) = re.findall(r"^media ([\d ]+)$", part, re.MULTILINE)
        pages.append(dict(zip(MediaHealth, map(int, page.split()))))
    did = {name: logs[1][name] - logs[0][name] for name in logs[0]}
    assert did["host_write_commands"] == 12 * 64 and did["host_read_commands"] >= 3 * 64, did
    assert abs(did["data_units_written"] * 1000 - 12 * 2048) <= 1000, did  # in thousands of 512 bytes, rounded up
    flash = parse_media("nand:tlc").options
    waiting = flash["channels"] * flash["ways"] * flash["planes"] * flash["page_bytes"] // 4096  # for a program a die
    assert 0 <= 12 * 256 - (pages[1][MediaHealth.HOST_LO] - pages[0][MediaHealth.HOST_LO]) <= waiting, pages
    (amplification, erases, used) = re.findall(
        rb"write amplification ([\d.]+), [\d,]+ units of 4 KiB moved, ([\d,]+) blocks erased, (\d+) %", done.stderr
    )[0]
    last = pages[1]
    assert f"{last[MediaHealth.MEDIA_LO] / last[MediaHealth.HOST_LO]:.2f}" == amplification.decode(), (
        last,
        done.stderr,
    )
    assert logs[1]["percent_used"] == int(used) == last[MediaHealth.STATE] >> 16 & 0xFF, (logs, done.stderr)
    assert logs[1]["avail_spare"] == last[MediaHealth.STATE] & 0xFF and logs[1]["spare_thresh"] == 10, logs
    assert logs[1]["critical_warning"] == 0 and int(erases.replace(b",", b"")) >= last[MediaHealth.ERASES_MOST], last
