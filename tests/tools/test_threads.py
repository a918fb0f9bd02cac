# SPDX-License-Identifier: Apache-2.0
"""The threads of tools/ under ThreadSanitizer. They are all in near_scan.c, which each command uses: what its tests do
with several of them is done again, by commands that end with status 66 when two threads are at the same data at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import test_dbfilter
import test_dbsum
import test_dbsum_csv
import test_tools
import tools_build
from doorbell.build.guest_tools import TOOLS
from fake_drive import FakeDrive

OPTIONS = "exitcode=66:halt_on_error=1"
SCENES: dict[str, Callable[[Path], None]] = {
    "files in pieces": lambda folder: test_tools.test_random_files_in_pieces_are_as_grep_says(folder, 3),
    "results that are too large": test_tools.test_result_too_large_comes_again_with_a_larger_buffer,
    "the first line is enough": test_tools.test_quiet_and_names_stop_at_the_first_line,
    "what cannot be read": test_tools.test_unreadable_part_is_looked_at_on_the_cpu_and_others_by_the_drive,
    "refused commands": test_tools.test_refused_command_ends_the_drives_part,
    "nonsense": test_tools.test_nonsense_of_a_drive_is_an_error_and_no_result,
    "on the CPU": test_tools.test_strings_across_many_small_parts_on_the_cpu,
    "nobody reads": test_tools.test_program_is_forgotten_when_nobody_reads_the_output,
    "records": lambda folder: test_dbfilter.test_records_are_those_that_python_chooses(folder, 1),
    "sums": lambda folder: test_dbsum.test_sums_are_as_python_says(folder, 2),
    "sums of fields": test_dbsum_csv.test_the_drive_adds,
}


@pytest.mark.parametrize("scene", SCENES)
def test_threads_meet_under_their_lock(tmp_path: Path, scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tools_build.tools_for_races()
    monkeypatch.setattr(tools_build, "tools", lambda fake: folder)
    monkeypatch.setenv("TSAN_OPTIONS", OPTIONS)
    SCENES[scene](tmp_path)


def test_a_race_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a worker that says before it takes the lock that its result is there."""
    text = (TOOLS / "near_scan.c").read_text()
    lock, full = "        pthread_mutex_lock(&k->lock);\n", "        s->full = true;\n"
    assert text.count(lock + full) == 1
    racing = tmp_path / "near_scan.c"
    racing.write_text(text.replace(lock + full, full + lock))
    files = [racing if f.name == racing.name else f for f in tools_build.on_a_fake_drive("dbgrep")]
    tools_build.compile_for_races(tmp_path, {"dbgrep": files})
    monkeypatch.setattr(tools_build, "tools", lambda fake: tmp_path)
    monkeypatch.setenv("TSAN_OPTIONS", OPTIONS)
    drive = FakeDrive(tmp_path)
    drive.write("f", b"a\n" * (1 << 17))
    # Whether two threads meet there is the scheduler's matter.
    runs = (drive.run("dbgrep", "-c", "a", "f", "-j8", MOST=4096) for _ in range(50))
    assert any(done.status == 66 and b"ThreadSanitizer: data race" in done.err for done in runs)


def test_no_other_file_has_threads() -> None:
    assert [f.name for f in TOOLS.glob("*.c") if "pthread_create" in f.read_text()] == ["near_scan.c"]
