# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands whose result are lines (docs/csd/near-storage.md), held against grep and awk."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from csd_drive import csd, get, put
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import ColumnType, Crypt, Csv, Cut, Filter, Grep, Hash, Hashed, Predicate, Program
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NEAR_LINES_MOST, NearComparison, NearDigest, VendorStatus
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
PLAIN = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
TOO_LARGE = 0x100 | VendorStatus.RESULT_TOO_LARGE
KEY1, KEY2 = bytes(range(32)), bytes(range(32, 64))


def log(rng: random.Random, size: int) -> bytes:
    """Lines of a log: a name, a number, a text; some have no byte, some thousands."""
    out = b""
    while len(out) < size:
        name = rng.choice((b"disk", b"net", b"Disk", b"fan"))
        words = b" ".join(rng.choice((b"error", b"ok", b"Error", b"retry")) for _ in range(rng.choice((0, 1, 4, 9))))
        out += b"%s,%d.%02d,%s\n" % (name, rng.randrange(-999, 1000), rng.randrange(100), words)
        out += rng.choice((b"", b"", b"", b"\n", b"x" * rng.randrange(3000) + b"\n"))
    return out[:size]


def fill(drive: Driver, data: bytes) -> None:
    data = data.ljust(-(-len(data) // 512) * 512, b"\0")
    for at in range(0, len(data), 65536):
        put(drive, at // 512, data[at : at + 65536])


def pieces(rng: random.Random, size: int) -> Iterator[tuple[int, int]]:
    """Begin, a whole block, and end of what commands look at, one behind another."""
    at = 0
    while at < size:
        end = min(size, at + 512 * rng.choice((1, 8, 32, rng.randint(1, 32))))
        yield at, end
        at = end


def found_in(drive: Driver, number: int, data: bytes, cuts: list[tuple[int, int]], host: Grep) -> bytes:
    """Lines of `data`, which the drive has from block 0 on: its own, and those across cuts that the host looks at."""
    out, open_from = b"", 0
    for at, end in cuts:
        phase = (Cut.FIRST if at else Cut(0)) | (Cut.LAST if end < len(data) else Cut(0))
        blocks = -(-(end - at) // 512)
        command, got = near.run(drive, number, at // 512, blocks, length=end - at, phase=phase)
        command.check()
        if at:  # the line that a cut is in
            stop = data.find(b"\n", at) + 1 or len(data)
            if stop > end and end < len(data):  # all of the command is of one line
                assert not command.dw0
                continue
            out += host.result(data[open_from:stop])
        out += got[: command.dw0]
        open_from = data.rfind(b"\n", 0, end) + 1
    return out


@pytest.mark.skipif(shutil.which("grep") is None, reason="grep is not installed")
def test_lines_as_grep_has_them(make_drive: MakeDrive) -> None:
    """Of a whole log, in commands of any size up to the longest."""
    rng = random.Random(60)
    drive = csd(make_drive)
    data = log(rng, 100_000)
    fill(drive, data)
    for flags in ([], ["-i"], ["-v"], ["-i", "-v"]):
        program = Grep((b"error", b"disk,1"), "-i" in flags, without="-v" in flags, lines=True)
        near.load(drive, 0, program.program())
        said = subprocess.run(
            ["grep", "-F", "-a", *flags, "-eerror", "-edisk,1"], input=data, capture_output=True, check=True,
            env={"LC_ALL": "C"},
        ).stdout  # fmt: skip
        got = found_in(drive, 0, data, list(pieces(rng, len(data))), program)
        assert got.removesuffix(b"\n") == said.removesuffix(b"\n"), flags


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
@pytest.mark.parametrize("secret", [False, True])
def test_a_sum_of_lines_as_awk_has_it(make_drive: MakeDrive, secret: bool) -> None:
    """grep, then awk, in one command of three operators: the data are encrypted, and decrypted on the way."""
    rng = random.Random(61)
    drive = csd(make_drive)
    data = log(rng, NEAR_LINES_MOST)
    data = data[: data.rfind(b"\n") + 1].ljust(NEAR_LINES_MOST, b"\n")
    fill(drive, data)
    program: Program = Grep((b"error",), fold_case=True, lines=True, behind=Csv(1))
    if secret:
        compute.load_key(drive, 1, KEY1, KEY2)
        near.load(drive, 1, Crypt(1, encrypt=True).program())
        near.run(drive, 1, 0, len(data) // 512, to=0)[0].check()
        assert get(drive, 0, len(data) // 512) != data
        program = Crypt(1, behind=program)
    near.load(drive, 0, program.program())
    command, got = near.run(drive, 0, 0, len(data) // 512, room=64)
    command.check()
    lines = subprocess.run(["grep", "-F", "-a", "-i", "error"], input=data, capture_output=True, check=True).stdout
    script = '$2 != "" {n++; s += $2 * 100} END {printf "%d %d", n, s}'
    said = subprocess.run(["awk", "-F,", script], input=lines, capture_output=True, check=True).stdout.split()
    count, others = (int.from_bytes(got[at : at + 8], "little") for at in (0, 8))
    total = Decimal(int.from_bytes(got[16:32], "little", signed=True)).scaleb(-6)
    assert (count, others, total * 100) == (int(said[0]), 0, int(said[1]))


PIPELINE = (
    "grep -F -a -i -e error -e ok | grep -F -a -v retry | awk -F, '$2 != \"\" {n++; s += $2 * 100} END {print n, s}'"
)


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
@pytest.mark.parametrize("secret", [False, True])
def test_pipelines_as_the_tools_have_them(make_drive: MakeDrive, secret: bool) -> None:
    """grep, grep -v, awk, one behind another: commands of four chains, most of two Greps, beside Reads."""
    rng = random.Random(64)
    drive = csd(make_drive)
    data = log(rng, 4 * NEAR_LINES_MOST)
    fill(drive, data)
    drops = Grep((b"retry",), without=True, lines=True)
    chains: list[tuple[Grep, str]] = [
        (Grep((b"error",), lines=True, behind=drops), "grep -F -a error | grep -F -a -v retry"),
        (Grep((b"error", b"ok"), fold_case=True, lines=True, behind=replace(drops, behind=Csv(1))), PIPELINE),
        (Grep((b"disk",), lines=True, behind=Grep((b"retry",))), "grep -F -a disk | grep -F -a -c retry || true"),
        (Grep((b"disk",), lines=True, behind=Hash(NearDigest.CRC32C)), "grep -F -a disk"),
    ]
    if secret:
        compute.load_key(drive, 1, KEY1, KEY2)
        near.load(drive, 0, Crypt(1, encrypt=True).program())
        for at in range(0, len(data), NEAR_LINES_MOST):
            near.run(drive, 0, at // 512, NEAR_LINES_MOST // 512, to=at // 512)[0].check()
    for number, (chain, _) in enumerate(chains):
        program: Program = Crypt(1, behind=chain) if secret else chain
        near.load(drive, number, program.program())
    for at in range(0, len(data), NEAR_LINES_MOST):
        piece = data[at : at + NEAR_LINES_MOST]
        commands = [near.submit(drive, n, at // 512, len(piece) // 512) for n in range(len(chains))]
        read = drive.submit(1, NvmOpc.READ, at // 512, 0, drive.buffer(512))
        drive.wait([*commands, read])
        got = []
        for command in commands:
            assert command.check().buffer is not None
            got.append(command.buffer.read()[: command.dw0])  # type: ignore[union-attr]
            command.buffer.free()  # type: ignore[union-attr]
        said = [subprocess.run(["sh", "-c", line], input=piece, capture_output=True, check=True, env=PLAIN).stdout
                for _, line in chains]  # fmt: skip
        assert got[0].removesuffix(b"\n") == said[0].removesuffix(b"\n")
        count, total = int.from_bytes(got[1][:8], "little"), int.from_bytes(got[1][16:32], "little", signed=True)
        assert (count, total // 10_000) == tuple(map(int, said[1].split())) and total % 10_000 == 0
        assert int.from_bytes(got[2][:8], "little") == int(said[2])
        # grep ends the last line, if it has no end
        texts = said[3], said[3].removesuffix(b"\n")
        assert Hashed.of(got[3]).digest in [near.crc32c(text).to_bytes(32, "little") for text in texts]


def test_more_greps_than_slots(make_drive: MakeDrive) -> None:
    """Of three in a chain there is no program; the one that was there goes."""
    drive = csd(make_drive)
    one = Grep((b"a",), lines=True)
    pair = replace(one, behind=one)
    near.load(drive, 0, pair.program())
    expect(near.load_try(drive, 0, replace(one, behind=pair).program()), Status.INVALID_FIELD)
    expect(near.run(drive, 0, 0, 1)[0], Status.INVALID_FIELD)
    near.load(drive, 0, pair.program())
    near.run(drive, 0, 0, 1)[0].check()


def test_how_much_a_command_looks_at(make_drive: MakeDrive) -> None:
    """The longest, and one byte more, which is refused; also where the lines are behind a Filter or a Crypt."""
    rng = random.Random(62)
    drive = csd(make_drive)
    data = log(rng, 2 * NEAR_LINES_MOST)
    fill(drive, data)
    compute.load_key(drive, 1, KEY1, KEY2)
    lines = Grep((b"ok",), lines=True)
    some = Filter(8, (Predicate(ColumnType.U8, 0, NearComparison.NOT_LESS, 0),), behind=lines)
    programs: list[Program] = [lines, Grep((b"ok",), lines=True, behind=Csv(1)), some, Crypt(1, behind=lines)]
    for number, program in enumerate(programs):
        near.load(drive, number, program.program())
    blocks = NEAR_LINES_MOST // 512
    for number, program in enumerate(programs):
        command, got = near.run(drive, number, 0, blocks)
        command.check()
        if number < 3:
            want = program.result(data[:NEAR_LINES_MOST])
            assert (command.dw0, got) == (len(want), want.ljust(len(got), b"\0"))
        command, _ = near.run(drive, number, 0, blocks + 1, length=NEAR_LINES_MOST + 1)
        expect(command, Status.INVALID_FIELD)
        assert command.dw0 == 0
    want = lines.result(data[:NEAR_LINES_MOST])
    command, got = near.run(drive, 0, 0, blocks, room=64)
    expect(command, TOO_LARGE)
    assert (command.dw0, got) == (len(want), want[:64])


def test_an_operator_is_first_in_one_chain_and_last_in_the_next(make_drive: MakeDrive) -> None:
    """Its rows go to the Csv of the first, and are the result of the second: that Csv must get nothing of them."""
    rng = random.Random(64)
    drive = csd(make_drive)
    data = log(rng, 4096)
    fill(drive, data)
    some = Filter(8, (Predicate(ColumnType.U8, 0, NearComparison.NOT_LESS, 100),), behind=Grep((b"e",), lines=True))
    programs: list[Program] = [Grep((b"ok",), lines=True, behind=Csv(1)), some, Csv(1)]
    for number, program in enumerate(programs):
        near.load(drive, number, program.program())
    for number in (0, 1, 2, 0, 2, 1, 1, 0, 2):
        command, got = near.run(drive, number, 0, 8)
        command.check()
        want = programs[number].result(data)
        assert (command.dw0, got[: len(want)]) == (len(want), want), f"program {number}"


def test_lines_that_are_stored(make_drive: MakeDrive) -> None:
    """From blocks to blocks, with zeros behind them."""
    rng = random.Random(63)
    drive = csd(make_drive)
    data = log(rng, NEAR_LINES_MOST)
    fill(drive, data)
    program = Grep((b"retry",), without=True, lines=True)
    near.load(drive, 0, program.program())
    blocks = len(data) // 512
    near.run(drive, 0, 0, blocks, to=1000)[0].check()
    assert get(drive, 1000, blocks) == program.result(data).ljust(len(data), b"\0")
