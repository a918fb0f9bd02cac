# SPDX-License-Identifier: Apache-2.0
"""dbgrep of tools/ on a fake drive (fake_device.c), beside grep; and what it has in common with dbsum."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tools_build
from doorbell.compute import near
from doorbell.nvme.vendor import VendorIoOpc, VendorOpc, VendorStatus
from fake_drive import BLOCK, FakeDrive, grep

OPTIONS = ["-i", "-c", "-v", "-n", "-H", "-h", "-l", "-q"]


def text(rng: random.Random, size: int, alphabet: bytes, line: int) -> bytes:
    """So many bytes, with a line end every `line` bytes on average."""
    return bytes(10 if rng.randrange(line) == 0 else rng.choice(alphabet) for _ in range(size))


def holds(drive: FakeDrive, *args: str | bytes | Path, quiet: bool = True, **settings: object) -> None:
    """What dbgrep says is what grep says."""
    own = [a for a in args if a == "--cpu" or isinstance(a, str) and a.startswith("-j")]
    got, want = drive.run("dbgrep", *args, **settings), grep(drive.folder, *(a for a in args if a not in own))
    assert (got.status, got.out) == (want.status, want.out), (args, settings, got.err)
    assert not quiet or got.err == b"", got.err


# ---- dbgrep beside grep


@pytest.mark.parametrize("seed", range(12))
def test_random_files_in_pieces_are_as_grep_says(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    drive = FakeDrive(tmp_path, lba=rng.choice([512, 4096]), start=rng.choice([0, 1 << 20]))
    alphabet = rng.choice([b"ab", b"abAB \t", bytes(set(range(256)) - {10}), b"\0aA"])
    names = []
    for i in range(rng.randint(1, 3)):
        data = text(rng, rng.choice([1, 511, 512, 5000, 40000, 90000]), alphabet, rng.choice([2, 20, 300, 9000]))
        if rng.random() < 0.5:
            data = data.rstrip(b"\n") or b"a"
        if rng.random() < 0.3:
            data += bytes(3 * BLOCK) + data
        drive.write(f"f{i}", data, rng, holes=True)
        names.append(f"f{i}")
    for _ in range(12):
        args: list[str | bytes] = [o for o in OPTIONS if rng.random() < 0.25]
        for _ in range(rng.randint(1, 4)):
            n = rng.choice([1, 2, 3, 5, 9])
            args += [b"-e", bytes(rng.choice(alphabet.replace(b"\0", b"") or b"a") for _ in range(n))]
        jobs = f"-j{rng.randint(1, 5)}"
        holds(drive, *args, jobs, *names, MOST=rng.choice([512, 1024, 4096, None]))
        assert drive.commands() or not any((tmp_path / name).read_bytes().strip(b"\0") for name in names)


@pytest.mark.parametrize("options", [[], ["-v"], ["-c"], ["-n", "-i"]], ids=" ".join)
def test_a_string_is_found_wherever_it_lies_about_a_cut(tmp_path: Path, options: list[str]) -> None:
    """Of 64 bytes, so that it may lie on three parts of the tool on the CPU, and on two of the drive."""
    needle = bytes(range(97, 97 + 26)) * 2 + b"0123456789AB"
    drive = FakeDrive(tmp_path)
    for shift in [*range(-66, 3), 400]:
        for before, after in ((b"", b""), (b"x\n", b"\ny"), (b"x" * 700, b"y" * 700)):
            drive._image.clear()
            data = (b"." * 2048)[: 1536 + shift - len(before)] + before + needle + after + b"\n" + b"." * 600
            drive.write("f", data)
            if shift % 5 == 0 or abs(shift + 32) > 30:
                holds(drive, *options, needle, "f", MOST=512)
            else:
                holds(drive, *options, needle, "f", "--cpu", MOST=20)


def test_strings_across_many_small_parts_on_the_cpu(tmp_path: Path) -> None:
    rng = random.Random(5)
    drive = FakeDrive(tmp_path)
    drive.write("f", text(rng, 700, b"ab", 40))
    for i in range(120):
        strings = [
            b"--regexp=" + bytes(rng.choice(b"ab") for _ in range(rng.randint(0, 12))) for _ in range(rng.randint(1, 9))
        ]
        options = [o for o in OPTIONS if rng.random() < 0.2]
        holds(drive, *options, *strings, "f", "--cpu", MOST=1 + i % 17)


def test_file_without_lines_or_without_matches(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    for name, data in {"empty": b"", "end": b"\n", "ends": b"\n\n", "one": b"a", "none": b"bcd\n" * 3000}.items():
        drive.write(name, data)
        for options in ([], ["-v"], ["-c"], ["-vc"], ["-l"], ["-q"], ["-vn"], ["-H"]):
            holds(drive, *options, "a", name, MOST=512)
    holds(drive, "-vc", "a", "empty", "end", "one", "none")


@pytest.mark.parametrize(
    "args",
    [
        ["-e", "", "f"], ["-e", "a\nb", "f"], ["-e", "a\n", "f"], ["--", "-x", "f"], ["-ni", "OUT OF", "f"],
        ["a", "f", "-c"], ["-lc", "a", "f", "g"], ["-ql", "a", "f", "g"], ["-hH", "a", "f"], ["-Hh", "a", "f", "g"],
        ["--count", "a", "f"],
        ["-e", "a" * 65, "f"], [*(f"-e{i}" for i in range(9)), "f"], [*(f"-e{c * 17}" for c in "abcde"), "f"],
    ],
    ids=str,
)  # fmt: skip
def test_options_mean_what_they_mean_to_grep(tmp_path: Path, args: list[str]) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n-x\nout of memory\nb\n" + b"q" * 3000 + b"5" + b"\n" + b"a" * 70)
    holds(drive, *args, quiet=False, MOST=512) if "g" not in args else None
    drive.write("g", b"a\n")
    holds(drive, *args, quiet=False, MOST=512)


def test_exit_status_and_other_files_after_an_error(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n")
    for args in (
        ["a", "none", "f"],
        ["z", "none", "f"],
        ["-q", "a", "none", "f"],
        ["-q", "z", "none", "f"],
        ["a", "."],
    ):
        holds(drive, *args, quiet=False)
    assert drive.run("dbgrep", "a", "none", "f").err == b"dbgrep: none: No such file or directory\n"
    assert drive.run("dbgrep", "a", "/dev/null").err == b"dbgrep: /dev/null: neither a file nor a block device\n"


@pytest.mark.parametrize("options", [[], ["-n"]], ids=" ".join)
def test_a_file_that_is_the_output_is_no_input(tmp_path: Path, options: list[str]) -> None:
    """As with `*` on a line whose output goes to a file there."""
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 5000)
    found = []
    for tool in (["grep", "-F", "-a"], [tools_build.tools(fake=True) / "dbgrep"]):
        with open(tmp_path / "out", "wb") as out:
            done = subprocess.run([*tool, *options, "a", "f", "out"], stdout=out, stderr=subprocess.PIPE,
                                  env=drive.env(), cwd=tmp_path)  # fmt: skip
        found.append((done.returncode, (tmp_path / "out").read_bytes(), done.stderr.count(b"also the output")))
    assert found[0] == found[1]


def test_result_too_large_comes_again_with_a_larger_buffer(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"a\n" * (1 << 20))
    holds(drive, "a", "f", "-j1")
    near = drive.commands()
    refused = [words for words in near if words[6] == "1c0"]
    assert len(refused) == 1 and len(near) == 3
    assert [int(words[4]) for words in near] == [4096, (1 << 18) + 64, (1 << 18) + 64]
    assert all(int(words[3]) == 1 << 20 for words in near)
    holds(drive, "-n", "a", "f", TRANSFER=128 << 10)
    assert max(int(words[4]) for words in drive.commands()) <= 128 << 10


def bytes_read(drive: FakeDrive, *args: str) -> int:
    """By dbgrep and its drive, which are one process, from whatever files."""
    command = [tools_build.tools(fake=True) / "dbgrep", *args]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=drive.env(), cwd=drive.folder) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        figures = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
    assert process.returncode == 0
    return int(figures["rchar"])


def test_what_the_tool_reads_itself(tmp_path: Path) -> None:
    """The lines that count; all data before them only for their numbers."""
    drive = FakeDrive(tmp_path)
    size = 4 << 20
    drive.write("f", b"b\n" * ((size - 2) // 2) + b"a\n")
    assert size < bytes_read(drive, "a", "f") < 1.1 * size < 1.2 * size < bytes_read(drive, "-n", "a", "f")


def test_count_asks_for_no_places(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"a\n" * 300000)
    holds(drive, "-c", "a", "f")
    assert [int(words[4]) for words in drive.commands()] == [64]
    data = b"." * (3 << 20)
    drive.write("g", data)
    holds(drive, "-c", "a", "g", MDTS=5)
    assert [int(words[2]) for words in drive.commands()] == [256] * 24


def test_quiet_and_names_stop_at_the_first_line(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"a\n" * 300000)
    for option in ("-q", "-l"):
        holds(drive, option, "a", "f", "-j1", MOST=4096)
        assert len(drive.commands()) < 10


# ---- what goes wrong


def test_unreadable_part_is_looked_at_on_the_cpu_and_others_by_the_drive(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", text(random.Random(1), 60000, b"ab", 50))
    holds(drive, "-n", "aba", "f", quiet=False, MOST=4096, FAIL="3:0x4281")
    assert len(drive.commands()) == 14
    said = b"the drive ended a command with status type 2h, code 81h\n"
    assert drive.run("dbgrep", "a", "f", MOST=4096, FAIL="3:0x4281").err == b"dbgrep: f: partly on the CPU: " + said
    refused = drive.run("dbgrep", "--drive", "a", "f", MOST=4096, FAIL="3:0x4281")
    assert (refused.status, refused.err) == (2, b"dbgrep: f: " + said)


def test_refused_command_ends_the_drives_part(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", text(random.Random(1), 60000, b"ab", 50))
    holds(drive, "-n", "aba", "f", "-j1", quiet=False, MOST=4096, FAIL="3:0x4002")
    assert len(drive.commands()) <= 4
    holds(drive, "-c", "aba", "f", quiet=False, MOST=4096, FAIL="-1:-22")
    assert b"the kernel refused a command" in drive.run("dbgrep", "a", "f", FAIL="-1:-22").err


def test_nonsense_of_a_drive_is_an_error_and_no_result(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 1000)
    for tool in (["dbgrep", "a"], ["dbsum", "--type", "u8"]):
        done = drive.run(*tool, "f", LIE=1)
        assert (done.status, done.out) == (2, b"")
        assert done.err.endswith(b": f: what the drive says makes no sense\n")


@pytest.mark.parametrize("lease", [True, False], ids=["lease", "no lease"])
def test_file_that_changed_meanwhile_is_said(tmp_path: Path, lease: bool) -> None:
    drive = FakeDrive(tmp_path)
    path = drive.write("f", b"abc\n" * 1000)
    writer = None if lease else open(path, "ab")
    assert drive.run("dbgrep", "-c", "a", "f").status == 0
    for tool in (["dbgrep", "-c", "a"], ["dbsum", "--type", "u8"]):
        done = drive.run(*tool, "f", TOUCH=path)
        assert done.status == 2
        assert done.err.endswith(b": f: it changed meanwhile, so the result may be wrong\n")
    if writer:
        writer.close()


@pytest.mark.parametrize("lease", [True, False], ids=["lease", "no lease"])
def test_file_that_moved_meanwhile_is_said(tmp_path: Path, lease: bool) -> None:
    """As by FIDEDUPERANGE: its times stay, and who does it has it open to read. The blocks may be another's by now."""
    drive = FakeDrive(tmp_path)
    path = drive.write("f", b"abc\n" * 1000)
    drive.write("other", b"xyz\n" * 1000)
    (tmp_path / "f.next").write_bytes((tmp_path / "other.map").read_bytes())
    with open(path, "rb" if lease else "r+b"):
        done = drive.run("dbgrep", "-c", "a", "f", MOVE=path)
    assert (done.status, done.err) == (2, b"dbgrep: f: it changed meanwhile, so the result may be wrong\n")


def until(condition: Callable[[], object]) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("this did not happen within ten seconds")


def hear_signals() -> None:
    """As in a shell, whatever these tests run under: nohup hides SIGHUP from all below it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(drive: FakeDrive, *args: str, **settings: object) -> subprocess.Popen[bytes]:
    drive.log_file().unlink(missing_ok=True)
    tool = tools_build.tools(fake=True) / "dbgrep"
    env = drive.env(**settings)
    return subprocess.Popen(
        [tool, *args],
        env=env,
        cwd=drive.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_signals,
    )


def test_lease_keeps_writers_out_while_the_drive_looks(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    path = drive.write("f", b"abc\n" * 1000)
    process = start(drive, "-c", "a", "f", SLOW=700)
    until(drive.log)
    with pytest.raises(BlockingIOError):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, b"1000\n", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_program_is_forgotten_when_a_signal_ends_the_tool(tmp_path: Path, number: signal.Signals) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 1000)
    process = start(drive, "a", "f", SLOW=20000)
    until(drive.log)
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (-number, b"", b"")
    assert drive.log() == [["load", "0", "17"], ["load", "0", "0"]]


def test_program_is_forgotten_when_nobody_reads_the_output(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 100000)
    process = start(drive, "a", "f")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.wait(), process.stderr.read()) == (-signal.SIGPIPE, b"")
    process.stderr.close()
    assert drive.log()[-1] == ["load", "0", "0"]


def test_program_is_loaded_once_and_forgotten_in_the_end(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    for name in ("f", "g"):
        drive.write(name, b"abc\n" * 1000)
    holds(drive, "-c", "a", "f", "g")
    assert [words for words in drive.log() if words[0] == "load"] == [["load", "0", "17"], ["load", "0", "0"]]


def test_tools_at_once_have_programs_of_their_own(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 1000)
    running = []
    for n in range(4):
        running.append(start(drive, "-c", "a", "f", SLOW=20000))
        until(lambda n=n: drive.log() == [["load", str(n), "17"]])
    fifth = drive.run("dbgrep", "-c", "a", "f")
    assert fifth.err == b"dbgrep: f: on the CPU: all 4 programs of fake0 are in use\n"
    assert (fifth.status, fifth.out) == (0, b"1000\n")
    for process in running:
        process.terminate()
        process.communicate()
    holds(drive, "-c", "a", "f")


# ---- without the drive

NO_DRIVE = {
    "there is no drive": {"IMAGE": None},
    "the drive has no near-storage commands": {"NONE": 1},
}


@pytest.mark.parametrize("why", NO_DRIVE)
def test_cpu_does_what_no_drive_can_and_says_why(tmp_path: Path, why: str) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 1000)
    done = drive.run("dbgrep", "-c", "a", "f", **NO_DRIVE[why])
    assert (done.status, done.out, done.err) == (0, b"1000\n", f"dbgrep: f: on the CPU: {why}\n".encode())
    done = drive.run("dbgrep", "-c", "--drive", "a", "f", **NO_DRIVE[why])
    assert (done.status, done.out, done.err) == (2, b"", f"dbgrep: f: not by the drive: {why}\n".encode())
    done = drive.run("dbgrep", "-c", "--cpu", "a", "f", **NO_DRIVE[why])
    assert (done.status, done.out, done.err) == (0, b"1000\n", b"")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0 0 4096 3", "the file system keeps a part of it in a form of its own (extent flags 2h)"),
        ("0 0 4096 9", "the file system keeps a part of it in a form of its own (extent flags 8h)"),
        ("0 0 4096 200", "the file system keeps a part of it in a form of its own (extent flags 200h)"),
        ("0 0 4096 7", "the file system keeps a part of it in a form of its own (extent flags 6h)"),
        ("0 100 4096 1", "an extent of it does not begin or end with a block of the drive"),
        ("0 0 700 0\n700 4096 4096 1", "an extent of it does not begin or end with a block of the drive"),
        ("0 1048576 4096 1", "an extent of it lies behind the end of fake0n1"),
        ("0 0 2048 0\n1024 4096 4096 1", "what the file system says of its extents makes no sense"),
    ],
)
def test_extents_that_are_not_plain_are_for_the_cpu(tmp_path: Path, line: str, why: str) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"abc\n" * 1000)
    (tmp_path / "f.map").write_text(line + "\n")
    done = drive.run("dbgrep", "-c", "a", "f")
    assert (done.status, done.out, done.err) == (0, b"1000\n", f"dbgrep: f: on the CPU: {why}\n".encode())
    assert drive.commands() == []


def test_holes_are_zeros_and_no_reason_to_refuse(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    data = b"abc\n" * 1024 + bytes(BLOCK) + b"abc\n" * 1024
    drive.write("f", data)
    (tmp_path / "f.map").write_text(f"0 0 {BLOCK} 0\n{2 * BLOCK} {2 * BLOCK} {BLOCK} 1\n")
    done = drive.run("dbgrep", "--drive", "-c", "a", "f")
    assert (done.status, done.out, done.err) == (0, b"2048\n", b"")
    assert len(drive.commands()) == 2
    (tmp_path / "f.map").write_text("")
    done = drive.run("dbgrep", "--drive", "-c", "a", "f")
    assert (done.status, done.out, drive.commands()) == (0, b"2048\n", [])


def test_more_extents_than_one_answer_of_fiemap_has(tmp_path: Path) -> None:
    rng = random.Random(3)
    drive = FakeDrive(tmp_path)
    drive.write("f", text(rng, 700 * BLOCK, b"abc", 90), rng)
    assert len((tmp_path / "f.map").read_text().splitlines()) > 256
    holds(drive, "-n", "abcab", "f")


def test_tool_for_linux_says_what_grep_says(tmp_path: Path) -> None:
    """Wherever this is: on no drive of ours, so the CPU does it and says why."""
    tool = tools_build.tools(fake=False) / "dbgrep"
    (tmp_path / "f").write_bytes(text(random.Random(2), 3 << 20, b"abc \n", 60))
    kernel = (["-i", "NAME", "/proc/cpuinfo"], ["-n", "0", "/sys/devices/system/cpu/online"])
    for args in (["-n", "ab", "f"], ["-c", "ab", "f"], *kernel):
        done = subprocess.run([tool, *args], capture_output=True, cwd=tmp_path)
        want = grep(tmp_path, *args)
        assert (done.returncode, done.stdout) == (want.status, want.out)
        assert done.stderr.startswith(b"dbgrep: " + args[-1].encode() + b": on the CPU: ")
        assert done.stderr.count(b"\n") == 1
    with open("/dev/full", "w") as full:
        done = subprocess.run([tool, "--cpu", "a", "f"], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, b"dbgrep: cannot write: No space left on device\n")


def test_line_of_the_readme_builds_the_tools(tmp_path: Path) -> None:
    lines = [
        x.strip() for x in (tools_build.TOOLS / "README.md").read_text().splitlines() if x.strip().startswith("cc ")
    ]
    assert len(lines) == len(tools_build.COMMANDS)
    for line in lines:
        command = line.replace("cc ", "gcc -Wall -Wextra -Werror ", 1).replace("-o ", f"-o {tmp_path}/")
        subprocess.run(command, shell=True, check=True, cwd=tools_build.TOOLS)
    assert subprocess.run([tmp_path / "dbgrep", "--help"], capture_output=True).returncode == 0


def test_numbers_are_those_of_the_drive() -> None:
    header = (tools_build.TOOLS / "near.h").read_text()
    numbers = {name: int(value, 0) for name, value in re.findall(r"NEAR_(\w+) = (0x[0-9a-f]+|\d+),", header)}
    assert numbers["OPC"] == VendorIoOpc.NEAR
    assert numbers["ADMIN_OPC_LOAD"] == VendorOpc.LOAD_PROGRAM
    assert numbers["SC_TOO_LARGE"] == 0x100 | VendorStatus.RESULT_TOO_LARGE
    assert numbers["PROGRAMS"] == near.PROGRAMS


# ---- input


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["dbgrep"], "dbgrep: a string to look for is missing"),
        (["dbgrep", "a"], "dbgrep: a file is missing"),
        (["dbgrep", "-e"], "dbgrep: something is missing behind -e"),
        (["dbgrep", "-cx", "a", "f"], "dbgrep: there is no such option: -x"),
        (["dbgrep", "--colour", "a", "f"], "dbgrep: there is no such option: --colour"),
        (["dbgrep", "-j0", "a", "f"], "dbgrep: -j takes a number from 1 to 64, not 0"),
        (["dbgrep", "--cpu", "--drive", "a", "f"], "dbgrep: --cpu and --drive exclude each other"),
        (["dbsum", "f"], "dbsum: --type is missing"),
        (["dbsum", "--type", "f32", "f"], "dbsum: there is no such type: f32"),
        (["dbsum", "--type", "i32", "--record", "0", "f"], "dbsum: --record takes a number from 1 to 65535, not 0"),
        (["dbsum", "--type", "i32", "--record", "4x", "f"], "dbsum: --record takes a number from 1 to 65535, not 4x"),
        (["dbsum", "--type", "i32", "--column", "-1", "f"], "dbsum: --column takes a number from 0 to 65535, not -1"),
        (
            ["dbsum", "--type", "i32", "--record", "8", "--column", "5", "f"],
            "dbsum: the column does not lie in the record",
        ),
        (["dbsum", "--type", "i32"], "dbsum: a file is missing"),
    ],
    ids=str,
)
def test_bad_input_gives_one_line(tmp_path: Path, args: list[str], said: str) -> None:
    done = FakeDrive(tmp_path).run(*args)
    assert (done.status, done.out) == (2, b"")
    assert done.err == f"{said} ({args[0]} --help says more)\n".encode()


@pytest.mark.parametrize("command", tools_build.COMMANDS)
def test_help_has_an_example_and_narrow_lines(tmp_path: Path, command: str) -> None:
    done = FakeDrive(tmp_path).run(command, "--help")
    lines = done.out.decode().splitlines()
    assert done.status == 0 and any(line.startswith(f"Example: {command} ") for line in lines)
    assert max(map(len, lines)) <= 120
