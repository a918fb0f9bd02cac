# SPDX-License-Identifier: Apache-2.0
"""dbfilter of tools/, and dbsum --where, on a fake drive (fake_device.c), beside Python."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_drive import FakeDrive

TYPES = {f"{sign}{bits}": (bits // 8, sign == "i") for sign in "ui" for bits in (8, 16, 32, 64)}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass
class Test:
    __test__ = False
    kind: str
    column: int
    sign: str
    number: int
    alternative: bool

    def args(self, rng: random.Random) -> list[str]:
        text = rng.choice(("{}@{}{}{}", " {}@{} {} {} ")).format(self.kind, self.column, self.sign, self.number)
        return [*(["--or"] if self.alternative else []), "--where", text]

    def holds(self, record: bytes) -> bool:
        size, signed = TYPES[self.kind]
        value = int.from_bytes(record[self.column : self.column + size], "little", signed=signed)
        return COMPARE[self.sign](value, self.number)


def passes(tests: list[Test], record: bytes) -> bool:
    groups: list[list[Test]] = [[]]
    for test in tests:
        if test.alternative:
            groups.append([])
        groups[-1].append(test)
    return any(all(t.holds(record) for t in group) for group in groups)


def random_tests(rng: random.Random, record: int, most: int) -> list[Test]:
    tests = []
    for n in range(rng.randint(1, most)):
        kind = rng.choice([k for k, (size, _) in TYPES.items() if size <= record])
        size, signed = TYPES[kind]
        raw = rng.choice((rng.randbytes(size), bytes(rng.choices(b"\x00\x7f\x80\xff", k=size))))
        number = int.from_bytes(raw, "little", signed=signed)
        column = rng.randrange(record - size + 1)
        tests.append(Test(kind, column, rng.choice(list(COMPARE)), number, n > 0 and rng.random() < 0.4))
    return tests


def random_columns(rng: random.Random, record: int, most: int) -> list[tuple[int, int]]:
    cuts = sorted(rng.sample(range(record + 1), min(record + 1, 2 * rng.randint(1, most)) // 2 * 2))
    return [(a, b - a) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]


def whole_records(data: bytes, record: int) -> list[bytes]:
    return [data[at : at + record] for at in range(0, len(data) - record + 1, record)]


@pytest.mark.parametrize("seed", range(8))
def test_records_are_those_that_python_chooses(tmp_path: Path, seed: int) -> None:
    """Files in pieces and with holes; records across extents and commands; conditions beyond the drive's."""
    rng = random.Random(seed)
    drive = FakeDrive(tmp_path, lba=rng.choice([512, 4096]))
    names = []
    for i in range(2):
        size = rng.choice([0, 1, 7, 512, 4097, 30000, 70001])
        data = rng.randbytes(size) if i else bytes(rng.choices(b"\x00\x7f\x80\xff", k=size))
        drive.write(f"f{i}", data + bytes(rng.choice([0, 0, 9000])), rng, holes=True)
        names.append(f"f{i}")
    for _ in range(20):
        record = rng.choice([1, rng.randint(1, 40), 16, rng.randint(1, 1024), rng.randint(1000, 65535)])
        tests = random_tests(rng, record, 6)
        on_cpu = record > 1024 or len(tests) > 4
        args = ["--record", str(record), *(arg for t in tests for arg in t.args(rng))]
        cpu = rng.random() < 0.3
        # On the CPU steps may be smaller than a record; a command's are blocks.
        most = rng.choice([3, 64, 999]) if cpu and record < 100 else rng.choice([512, 4096, None])
        options = ["--cpu"] if cpu else [] if on_cpu else ["--drive"]
        chosen = [[r for r in whole_records((tmp_path / n).read_bytes(), record) if passes(tests, r)] for n in names]
        done = drive.run("dbfilter", *args, *options, *names, MOST=most)
        assert done.out == b"".join(r for records in chosen for r in records), args
        assert done.status == (not any(chosen))
        assert (b"on the CPU" in done.err) == (on_cpu and not cpu and any((tmp_path / n).stat().st_size for n in names))
        columns = random_columns(rng, record, 5)
        at_once = ["--columns", ",".join(f"{at}:{size}" for at, size in columns)]
        done = drive.run("dbfilter", *args, *at_once, *(["--cpu"] if cpu else []), *names, MOST=most)
        assert done.out == b"".join(r[at : at + size] for rs in chosen for r in rs for at, size in columns), args
        assert done.status == (not any(chosen))
        done = drive.run("dbfilter", "-c", *args, *options, *names, MOST=most)
        assert done.out.decode() == "".join(f"{n}:{len(records)}\n" for n, records in zip(names, chosen, strict=True))

        kind = rng.choice([k for k, (size, _) in TYPES.items() if size <= record])
        size, signed = TYPES[kind]
        at = rng.randrange(record - size + 1)
        done = drive.run("dbsum", "--type", kind, "--column", str(at), *args, *options, names[1], MOST=most)
        values = [int.from_bytes(r[at : at + size], "little", signed=signed) for r in chosen[1]]
        low, high = (min(values), max(values)) if values else ("none", "none")
        assert done.out.decode() == f"count={len(values)} sum={sum(values)} min={low} max={high}\n", args


def test_what_the_drive_does(tmp_path: Path) -> None:
    """Its buffers grow when many records pass, so that no command is done twice for long; counts take none."""
    drive = FakeDrive(tmp_path)
    drive.write("f", bytes(range(256)) * 1024)
    where = ["--record", "16", "--where", "u8@0<255"]
    done = drive.run("dbfilter", *where, "--drive", "f")
    assert (done.status, len(done.out)) == (0, 256 * 1024)
    log = (tmp_path / "log").read_text().splitlines()
    assert len([line for line in log if line.startswith("near")]) <= 3
    (tmp_path / "log").unlink()
    assert drive.run("dbfilter", "-c", *where, "--drive", "f").out == b"16384\n"
    assert "near 0 512 262144 64 48 0" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("lba", [512, 4096])
def test_what_the_kernel_moves_with_one_command(tmp_path: Path, lba: int) -> None:
    """128 KiB, as behind an IOMMU: a result that is as large as the data is no larger."""
    drive = FakeDrive(tmp_path, lba=lba)
    data = bytes(range(256)) * 4000
    drive.write("f", data)
    done = drive.run("dbfilter", "--record", "16", "--where", "u8@0>=0", "--drive", "f", TRANSFER=128 << 10)
    assert (done.status, done.out, done.err) == (0, data, b"")
    assert max(int(words[4]) for words in drive.commands()) <= 128 << 10
    done = drive.run("dbfilter", "-c", "--record", "16", "--where", "u8@0>=0", "--drive", "f", TRANSFER=128 << 10)
    assert (done.status, done.out, len(drive.commands())) == (0, b"64000\n", 2)


@pytest.mark.parametrize("options", [["--drive"], ["--cpu"]])
def test_all_of_a_large_file(tmp_path: Path, options: list[str]) -> None:
    """Results as large as the data of a command, and the records of a MiB cut by commands of other sizes."""
    drive = FakeDrive(tmp_path)
    data = bytes(range(256)) * 10000
    drive.write("f", data)
    done = drive.run("dbfilter", "--record", "17", "--where", "u8@0>=0", *options, "f")
    assert done.out == data[: len(data) // 17 * 17]
    done = drive.run("dbfilter", "--record", "16", "--where", "u8@0>=0", "--columns", "0:1,8:7", *options, "f")
    assert done.out == b"".join(data[at : at + 1] + data[at + 8 : at + 15] for at in range(0, len(data), 16))


@pytest.mark.parametrize("lie", [{"LIE": 1}, {"FAIL": "0:0x281"}])
def test_a_drive_that_lies_or_fails(tmp_path: Path, lie: dict[str, object]) -> None:
    """Its error, or a count that cannot be, is the tool's; records that are others cannot be told."""
    drive = FakeDrive(tmp_path)
    drive.write("f", bytes(4096))
    done = drive.run("dbfilter", "-c", "--record", "16", "--where", "u8@0==0", "--drive", "f", **lie)
    assert (done.status, done.out) == (2, b"")
    assert done.err.startswith(b"dbfilter: f: ")


def test_numbers_are_decimal_or_hexadecimal(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", bytes(range(256)))
    for text, value in (("010", 10), ("0x10", 16), ("0X1f", 31), ("0", 0), ("00200", 200)):
        done = drive.run("dbfilter", "--record", "1", "--where", f"u8@0=={text}", "--drive", "f")
        assert done.out == bytes([value]), text
    between = ["--where", "i8@0>=-0x7f", "--where", "i8@0<-010"]
    done = drive.run("dbfilter", "-c", "--record", "1", *between, "--drive", "f")
    assert done.out == b"117\n"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["f"], "--record is missing"),
        (["--record", "4", "f"], "--where is missing"),
        (["--record", "0", "f"], "--record takes a number from 1 to 65535, not 0"),
        (["--where", "u9@0==1"], "--where takes TYPE@COLUMN, as in u32@8>=5, not u9@0==1"),
        (["--where", "u8==1"], "--where takes TYPE@COLUMN, as in u32@8>=5, not u8==1"),
        (["--where", "u8@-1==1"], "--where takes a column from 0 to 65535, not u8@-1==1"),
        (["--where", "u8@65536==1"], "--where takes a column from 0 to 65535, not u8@65536==1"),
        (["--where", "u8@0=1"], "--where takes ==, !=, <, <=, > or >= behind the column, not u8@0=1"),
        (["--where", "u8@0==256"], "--where takes a number that the type can hold, not u8@0==256"),
        (["--where", "u64@0==-1"], "--where takes a number that the type can hold, not u64@0==-1"),
        (["--where", "i16@0<-32769"], "--where takes a number that the type can hold, not i16@0<-32769"),
        (["--where", "u64@0<18446744073709551616"], "--where takes a number that the type can hold, not u64@0<184467"),
        (["--where", "u8@0==1x"], "--where takes a number that the type can hold, not u8@0==1x"),
        (["--where", "u8@0=="], "--where takes a number that the type can hold, not u8@0=="),
        (["--or", "--where", "u8@0==1"], "--or stands between two --where"),
        (["--record", "1", "--where", "u8@0==1", "--or", "f"], "--or stands between two --where"),
        (["--record", "4", "--where", "u32@1==1", "f"], "a column of --where does not lie in the record"),
        *(
            (
                ["--columns", text],
                f"--columns takes PLACE:BYTES, as in 4:4,12:2, ascending, none in another, not {text}",
            )
            for text in ("", "4", "4:", ":4", "4:0", "4:4,", "4:4,7:1", "4:4,0:1", "4:4;8:1", "-1:4", "4:-1", "1:65536")
        ),
        (["--columns", "0:1", "--columns", "1:1"], "--columns is there twice: 1:1"),
        (["--columns", ",".join(f"{n}:1" for n in range(17))], "--columns: there are more than 16: 0:1"),
        (["--record", "4", "--where", "u8@0==1", "--columns", "3:2", "f"], "a column of --columns does not lie in the"),
        (["--record", "4", "--where", "u8@0==1", "--columns", "3:1", "-c", "f"], "-c and --columns exclude each other"),
        (["--record", "4", "--where", "u32@0==1"], "a file is missing"),
        (["--record", "1", *["--where", "u8@0==1"] * 17, "f"], "--where: there are more than 16: u8@0==1"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, args: list[str], says: str) -> None:
    done = FakeDrive(tmp_path).run("dbfilter", *args)
    assert (done.status, done.out) == (2, b"")
    assert done.err.decode().startswith(f"dbfilter: {says}")
    assert done.err.endswith(b"(dbfilter --help says more)\n")
