# SPDX-License-Identifier: Apache-2.0
"""Synthetic workloads have the statistics of their descriptions: counted here, not by what made them."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from doorbell.bench import workload_table, workloads
from doorbell.bench.synthetic import FILLED, FOOTPRINT, generate, iolog
from doorbell.bench.trace_formats import Access, Trace
from doorbell.bench.trace_statistics import split_text, statistics
from doorbell.bench.traces import parse_trace
from doorbell.bench.workloads import Blocks, Records, Workload
from doorbell.cli import main as cli
from doorbell.errors import UserError

COUNT = 40_000
NAMES = list(workloads.own())
OF_BLOCKS = [name for name in NAMES if isinstance(workloads.find(name).what, Blocks)]


def blocks(name: str) -> Blocks:
    what = workloads.find(name).what
    assert isinstance(what, Blocks)
    return what


def near(share: float, wanted: float, count: int) -> bool:
    """Within five standard deviations of what `count` draws give: one run of three million is outside."""
    return abs(share - wanted) <= 5 * math.sqrt(wanted * (1 - wanted) / count) + 1e-12


def zipf_share(theta: float, first: int, of: int) -> float:
    """Of all draws, those of the `first` most popular."""
    weights = [k**-theta for k in range(1, of + 1)]
    return sum(weights[:first]) / sum(weights)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_accesses(name: str) -> None:
    made = [generate(workloads.find(name), 500, seed).accesses for seed in (7, 7, 8)]
    assert made[0] == made[1] != made[2]
    assert generate(workloads.find(name), 300, 7).accesses == made[0][:300]


def test_accesses_are_those_of_any_machine() -> None:
    """What 1,000 of each are, by a digest: another one means that all figures of docs/workloads.md are others, too."""
    every = [(a.write, a.offset, a.size) for name in NAMES for a in generate(workloads.find(name), 1_000, 1).accesses]
    assert hashlib.sha256(repr(every).encode()).hexdigest()[:16] == "fc37f3808d56ee63"


@pytest.mark.parametrize("name", NAMES)
def test_they_stay_inside(name: str) -> None:
    for room in (4 << 20, FOOTPRINT):
        for a in generate(workloads.find(name), 4_000, 3, room).accesses:
            assert 0 <= a.offset and a.offset + a.size <= room and a.size > 0
            assert a.offset % 512 == 0 and a.size % 512 == 0 and a.at_ns == 0


@pytest.mark.parametrize("name", OF_BLOCKS)
def test_mix_and_sizes(name: str) -> None:
    what, made = blocks(name), generate(workloads.find(name), COUNT, 1).accesses
    assert near(sum(not a.write for a in made) / COUNT, what.reads, COUNT)
    for write, split in ((False, what.read_sizes), (True, what.write_sizes)):
        sizes = Counter(a.size for a in made if a.write is write)
        total = sum(weight for _, weight in split)
        assert set(sizes) == {size for size, _ in split}
        assert all(near(sizes[size] / sizes.total(), weight / total, sizes.total()) for size, weight in split)


@pytest.mark.parametrize("name", OF_BLOCKS)
def test_sequential_share(name: str) -> None:
    """Of each direction. A place drawn by itself may be the next one by chance: of few popular ones in a hundredth."""
    what, made = blocks(name), generate(workloads.find(name), COUNT, 2).accesses
    for write in (False, True):
        mine = [a for a in made if a.write is write]
        follows = sum(b.offset == a.offset + a.size for a, b in zip(mine, mine[1:]))
        share = follows / (len(mine) - 1)
        slack = 5 * math.sqrt(0.25 / len(mine)) if what.sequential else 0.0
        assert what.sequential - slack <= share <= what.sequential + slack + 0.01


def jumps(made: Iterable[Access]) -> Counter[int]:
    """Where accesses begin that follow none."""
    ends, found = {False: -1, True: -1}, Counter[int]()
    for a in made:
        if a.offset != ends[a.write]:
            found[a.offset] += 1
        ends[a.write] = a.offset + a.size
    return found


@pytest.mark.parametrize("theta", [0.5, 0.8, 1.2])
def test_skew_of_blocks(theta: float) -> None:
    """The most popular places, and the rank-frequency line, are those of the distribution's formula."""
    places = 1 << 10
    what = Blocks(0.5, ((4096, 1),), ((4096, 1),), 0.0, theta, 4096)
    begun = jumps(generate(Workload("t", what), 8 * COUNT, 5, places * 4096).accesses)
    ranked, total = [n for _, n in begun.most_common()], begun.total()
    for first in (1, 10, 100):
        assert near(sum(ranked[:first]) / total, zipf_share(theta, first, places), total // 4)
    assert math.log(ranked[1] / ranked[31], 16) == pytest.approx(theta, abs=0.08)


def test_no_skew_is_uniform() -> None:
    what = Blocks(0.5, ((4096, 1),), ((4096, 1),))
    begun = jumps(generate(Workload("t", what), COUNT, 5, 64 * 4096).accesses)
    assert len(begun) == 64 and all(near(n / begun.total(), 1 / 64, begun.total()) for n in begun.values())


def test_popular_places_are_scattered() -> None:
    what = Blocks(1, ((4096, 1),), ((4096, 1),), 0, 1.0, 4096)
    begun = jumps(generate(Workload("t", what), COUNT, 5, 4 << 20).accesses)
    first = [at for at, _ in begun.most_common(8)]
    assert max(first) - min(first) > 1 << 20


# ---------------------------------------------------------------- YCSB, as its own files have it

PROPORTIONS = {  # read, update, insert, scan, read-modify-write of workloada to workloadf
    "ycsb-a": (50, 50, 0, 0, 0),
    "ycsb-b": (95, 5, 0, 0, 0),
    "ycsb-c": (100, 0, 0, 0, 0),
    "ycsb-d": (95, 0, 5, 0, 0),
    "ycsb-e": (0, 0, 5, 95, 0),
    "ycsb-f": (50, 0, 0, 0, 50),
}


@pytest.mark.parametrize("name", PROPORTIONS)
def test_proportions_of_ycsb(name: str) -> None:
    """Counted from the accesses: each write of F is behind a read of its page."""
    read, update, insert, scan, modify = PROPORTIONS[name]
    made = generate(workloads.find(name), COUNT, 1).accesses
    pairs = sum(b.write and not a.write and a.offset == b.offset for a, b in zip(made, made[1:]))
    writes = sum(a.write for a in made)
    operations = COUNT - (pairs if modify else 0)
    assert near(writes / operations, (update + insert + modify) / 100, operations)
    assert near((COUNT - writes - (pairs if modify else 0)) / operations, (read + scan) / 100, operations)
    if modify:
        assert pairs == writes
    assert scan or {a.size for a in made} == {4096}


def records(**fields: object) -> Workload:
    return Workload("t", Records(**fields))  # type: ignore[arg-type]


def test_records_are_chosen_by_zipf() -> None:
    """A page for each record, so that pages show which records they are: the 0.99 of YCSB's ZipfianGenerator."""
    pages = 1000
    made = generate(records(reads=1.0, record=4096), COUNT, 4, pages * 4096).accesses
    ranked = [n for _, n in Counter(a.offset for a in made).most_common()]
    there = int(pages * FILLED)
    assert len(ranked) <= there
    for first in (1, 10, 100):
        assert near(sum(ranked[:first]) / COUNT, zipf_share(0.99, first, there), COUNT // 4)


def test_latest_reads_what_was_inserted_last() -> None:
    made = generate(records(reads=0.95, inserts=0.05, choice="latest", record=4096), COUNT, 4, 64 << 20).accesses
    inserted: list[int] = []
    ages: Counter[int] = Counter()
    for a in made:
        if a.write:
            inserted.append(a.offset)
        elif len(inserted) >= 200:
            found = next((age for age in range(100) if inserted[-1 - age] == a.offset), None)
            ages[-1 if found is None else found] += 1
    there = int((64 << 20) // 4096 * FILLED) + len(inserted) // 2
    assert near(ages[0] / ages.total(), zipf_share(0.99, 1, there), ages.total() // 4)
    assert near(1 - ages[-1] / ages.total(), zipf_share(0.99, 100, there), ages.total() // 4)


def test_inserted_records_are_new_and_scattered() -> None:
    made = generate(records(inserts=1.0, record=4096), 100, 4, 4096 * 4096).accesses
    places = [a.offset for a in made]
    assert len(set(places)) == 100 and max(places) - min(places) > 8 << 20


def test_scans_are_of_one_to_a_hundred_records() -> None:
    """4 records of 1,000 bytes in a page: at most 100 are in 26 pages; the mean of a uniform length is 50.5 records."""
    made = generate(workloads.find("ycsb-e"), COUNT, 1).accesses
    scans = [a.size // 4096 for a in made if not a.write]
    assert min(scans) == 1 and max(scans) == 26
    mean = sum(scans) / len(scans)  # of n records from any of 4 places in a page: (n + 3) / 4 pages
    assert mean == pytest.approx((50.5 + 3) / 4, rel=0.02)


def test_ycsb_is_what_its_files_say() -> None:
    for name, (read, update, insert, scan, modify) in PROPORTIONS.items():
        what = workloads.find(name).what
        assert isinstance(what, Records)
        assert [100 * s for s in what.shares().values()] == [read, update, insert, scan, modify]
        assert (what.zipf, what.record) == (0.99, 1000)  # ZIPFIAN_CONSTANT; 10 fields of 100 bytes


# ---------------------------------------------------------------- descriptions


def test_what_is_published_is_a_field_with_a_source() -> None:
    for name in NAMES:
        found = workloads.find(name)
        for field, source in found.published.items():
            assert hasattr(found.what, field) and source in workloads.sources(), (name, field)
    assert blocks("tpce").reads == pytest.approx(9.7 / 10.7, abs=5e-4)  # 9.7 reads for a write


def test_sizes_fit_what_openexpress_says() -> None:
    """80 commands in flight, 4 to 4.5 GB/s at 100 to 200 us: Little's law."""
    low, high = 4.0e9 * 100e-6 / 80, 4.5e9 * 200e-6 / 80
    for name in ("devdiv", "server"):
        made = generate(workloads.find(name), COUNT, 1).accesses
        assert low < sum(a.size for a in made) / COUNT < high


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("a: 1", "no 'workloads'"),
        ("workloads: {w: {}}", "either 'blocks' or 'records'"),
        ("workloads: {w: {blocks: 3}}", "must have fields"),
        ("workloads: {w: {blocks: {reads: 50}}}", "'read_sizes' is missing"),
        ("workloads: {w: {blocks: {reads: 150, read_sizes: 4k/100, write_sizes: 4k/100}}}", "w.reads: 150"),
        ("workloads: {w: {blocks: {reads: x, read_sizes: 4k/100, write_sizes: 4k/100}}}", "w.reads: 'x'"),
        ("workloads: {w: {blocks: {reads: 5, read_sizes: 4k/90, write_sizes: 4k/100}}}", "add up to 90"),
        ("workloads: {w: {blocks: {reads: 5, read_sizes: 100, write_sizes: 4k/100}}}", "multiple of 512"),
        ("workloads: {w: {blocks: {reads: 5, read_sizes: 4k/100, write_sizes: 4k/100, align: 1000}}}", "align: 1000"),
        ("workloads: {w: {blocks: {speed: 5}}}", "no field 'speed'"),
        ("workloads: {w: {records: {reads: 50}}}", "add up to 50 %"),
        ("workloads: {w: {records: {reads: 100, record: 9000}}}", "hold a record"),
        ("workloads: {w: {records: {reads: 100, choice: best}}}", "'best'"),
        ("workloads: {w: {records: {reads: 100}, beside: 7}}", "beside must look like"),
        ("workloads: {w: {records: {reads: 100}, besides: 7}}", "'besides'"),
    ],
)
def test_bad_descriptions_are_one_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as e:
        workloads.find(str(file))
    assert says in str(e.value) and "\n" not in str(e.value)


def test_one_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("workloads: {mine: {blocks: {reads: 25, read_sizes: 512/50:1k/50, write_sizes: 64k/100, zipf: 1}}}")
    found = workloads.find(str(file))
    assert found.name == "mine" and found.what == Blocks(0.25, ((512, 50), (1024, 50)), ((65536, 100),), 0, 1, 4096)
    for missing in ("nothing", str(tmp_path / "no.yaml")):
        with pytest.raises(UserError, match="there is no workload|cannot read"):
            workloads.find(missing)


def test_accesses_that_are_longer_than_all_that_is_usual(tmp_path: Path) -> None:
    """One is replayed then, not none."""
    file = tmp_path / "w.yaml"
    file.write_text("workloads: {w: {records: {scans: 100, record: 1048576, page: 1048576, most_scanned: 10000}}}")
    assert workload_table.count_for(workloads.find(str(file))) == 1


def test_too_small_a_region() -> None:
    for name in ("devdiv", "ycsb-a"):
        with pytest.raises(UserError, match="--size"):
            generate(workloads.find(name), 1, 1, 2048)


# ---------------------------------------------------------------- statistics of a trace


def test_statistics_of_a_trace_by_hand() -> None:
    reads = Access(0, False, 0, 4096), Access(2, False, 4096, 8192), Access(9, False, 512, 512)
    some = [reads[0], Access(1, True, 0, 512), *reads[1:], Access(5, True, 512, 4096)]
    found = statistics(some)
    assert (found.read.accesses, found.write.accesses, found.read.bytes, found.write.bytes) == (3, 2, 12800, 4608)
    assert (found.read.sequential, found.write.sequential, found.sequential) == (1, 1, 2 / 3)
    assert found.pages == {0: 4, 1: 2, 2: 1} and found.aligned == 2 and found.last_ns == 9
    assert found.hot == 4 / 7


def test_sizes_as_fio_has_them() -> None:
    assert split_text(Counter({4096: 2, 512: 1, 65536: 1})) == "512/25:4k/50:64k/25"
    assert split_text(Counter({512: 1, 4096: 1, 8192: 1})) in ("512/34:4k/33:8k/33", "512/33:4k/34:8k/33")
    assert split_text(Counter()) == ""


def test_fios_own_format_brings_it_back() -> None:
    made = generate(workloads.find("24hr"), 200, 1)
    back = parse_trace(iolog(made), "t")
    assert back.format == "fio iolog v2" and back.accesses == made.accesses
    assert "synthetic-24hr" in iolog(made).splitlines()[1]


# ---------------------------------------------------------------- the command


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.run(["bench", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_workload_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    few = ("--backend", "functional", "--number-ios", "200", "--json", "-")
    status, out, _ = run(capsys, "--workload", "ycsb-e", "--media-size", "300m", *few)
    job = json.loads(out)["jobs"][0]
    assert status == 0 and job["jobname"] == "synthetic-ycsb-e" and job["job options"]["numjobs"] == "10"
    made = generate(workloads.find("ycsb-e"), 200, 1).accesses
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 200
    assert job["read"]["io_bytes"] + job["write"]["io_bytes"] == sum(a.size for a in made)


def test_describe_and_save(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "out.log"
    few = ("--number-ios", "300", "--describe", "--json", "-")
    status, out, _ = run(capsys, "--workload", "fiu", "--randseed", "5", "--save-trace", str(file), *few)
    assert status == 0 and json.loads(out)["name"] == "synthetic-fiu" and json.loads(out)["accesses"] == 300
    again = run(capsys, "--trace", str(file), "--describe", "--json", "-")[1]
    assert {**json.loads(again), "name": "", "format": ""} == {**json.loads(out), "name": "", "format": ""}
    status, out, _ = run(capsys, "--trace", str(file), "--describe")
    assert status == 0 and "4k/100" in out and "mean size" in out


def test_list_names_all_and_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--workload", "list")
    assert status == 0 and all(name in out for name in NAMES) and "90.65 % reads*" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workload", "nothing"], "no workload 'nothing'"),
        (["--workload", "fiu", "--rw", "read", "--bs", "4k"], "--rw, --bs are not for it"),
        (["--workload", "fiu", "--trace", "x"], "one of a job file"),
        (["--trace", "x", "--size", "4k"], "--size is not for it"),
        (["--workload", "all", "--describe"], "need --trace FILE or --workload NAME"),
        (["--workload", "all", "--stages"], "one workload"),
        (["--describe"], "need --trace FILE"),
        (["--trace-disk", "0"], "--trace-disk is for --trace"),
        (["--workload", "fiu", "--trace-speed", "2"], "--trace-speed"),
        (["--workload", "list", "--json", "-"], "--json"),
        (["--workload", "fiu", "--save-trace", "x.log", "--json", "x.json"], "--json"),
        (["--speed", "--json", "x.json"], "--json"),
        (["--workload", "fiu", "--top", "db_host"], "--workload"),
        (["--workload", "fiu", "--functions", "2"], "--functions"),
        (["--workload", "fiu", "--save-trace", "/nonexistent/x"], "cannot write"),
        (["--suite", "limit-short", "--workload", "fiu"], "--workload is not for it"),
    ],
)
def test_wrong_options_are_one_line(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *words)
    assert status == 2 and out == "" and says in err and err.count("\n") == 1


def test_a_synthetic_trace_says_that_it_is_one() -> None:
    made = generate(workloads.find("tpce"), 3, 9)
    assert isinstance(made, Trace) and made.format == "synthetic (seed 9)" and made.name == "synthetic-tpce"
