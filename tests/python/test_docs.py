# SPDX-License-Identifier: Apache-2.0
"""Pages name only what exists: tests, files, options of ./doorbell; and their lines are not too long."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorbell.cli import main as cli
from doorbell.cli.main import COMMANDS
from doorbell.docs.staging import folder_pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *folder_pages()])
MADE = ("docs/registers.md", "docs/area.md")  # by a tool, partly or all
FOLDERS = "boards|docs|examples|facts|formal|fw|python|regs|rtl|sim|sweeps|syn|tests|tools"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@functools.cache
def all_tests() -> set[str]:
    """Every test there is: functions of pytest and of cocotb, and files that hold them."""
    found: set[str] = set()
    for file in [*(ROOT / "tests").rglob("*.py"), *(ROOT / "rtl").rglob("test_*.py")]:
        found |= {file.stem, *re.findall(r"^(?:async )?def (\w+)", file.read_text(), re.MULTILINE)}
    return found


def wrong_paths(text: str) -> list[str]:
    return [p for p in PATH.findall(text) if not any(c in p for c in "*{<") and not (ROOT / p.rstrip(".")).exists()
            and "NAME" not in p and "FOLDER" not in p]  # fmt: skip


def commands(text: str) -> Iterator[list[str]]:
    """The words of every call of ./doorbell in code."""
    for code in [
        *re.findall(r"`(\./doorbell [^`]+)`", text.replace("\n", " ")),
        *re.findall(r"^(?: {4}|\t)?(\./doorbell [^`\n]*)$", text, re.MULTILINE),
    ]:
        line = re.sub(r"\s#.*", "", code)
        for one in re.findall(r"\./doorbell [^;|&]*", line):
            try:
                yield shlex.split(one)[1:]
            except ValueError:
                yield one.split()[1:]


def options_of(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Options in the command's help."""
    monkeypatch.setenv("COLUMNS", "400")
    cli.run([command, "--help"])
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", capsys.readouterr().out))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_exist(page: Path) -> None:
    assert wrong_paths(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_tests_exist(page: Path) -> None:
    there = all_tests()
    named = re.findall(r"`(?:[\w/]+/)?(test_\w+)(?:\.py)?`", page.read_text())
    assert [t for t in named if t not in there and t != "test_NAME"] == []


def test_options_exist(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    known = {c: options_of(c, capsys, monkeypatch) for c in COMMANDS}
    wrong = []
    for page in PAGES:
        for words in commands(page.read_text()):
            if not words or not words[0][0].islower() or not words[0].isalpha():
                continue  # ./doorbell COMMAND, --help
            if words[0] not in known:
                wrong.append(f"{name(page)}: there is no command {words[0]}")
                continue
            given = {re.sub(r"[\]\[),.:=].*", "", w.lstrip("[")) for w in words[1:] if w.lstrip("[").startswith("-")}
            bad = {g for g in given if g.startswith("--")} - known[words[0]]
            if words[0] not in ("python", "test"):
                wrong += [f"{name(page)}: {words[0]} {option}" for option in sorted(bad) if len(option) > 2]
    assert wrong == []


@pytest.mark.parametrize("page", [p for p in PAGES if name(p) not in MADE], ids=name)
def test_lines_are_not_too_long(page: Path) -> None:
    code = False
    long = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.startswith("```")
        if len(line) > 140 and not code and not line.lstrip().startswith("|") and "](" not in line:
            long.append(number)
    assert long == []


def test_every_module_is_in_the_page_of_its_folder() -> None:
    """README, page of the folder, module: three steps. A page may leave out a prefix that its text explains."""
    missing = []
    for module in (f for f in (ROOT / "rtl").rglob("db_*.sv") if "ops" not in f.parts):
        page = next(d / "README.md" for d in module.parents if (d / "README.md").exists())
        short = module.stem.removeprefix("db_pcie")
        if not re.search(rf"`({module.stem}|{short})(\.sv)?`", page.read_text()):
            missing.append(module.stem)
    assert missing == []


def test_this_test_finds_what_is_wrong() -> None:
    assert wrong_paths("`rtl/ssd/db_ssd_cplmux.sv` and `rtl/ssd/db_ssd.sv`") == ["rtl/ssd/db_ssd_cplmux.sv"]
    assert list(commands("x `./doorbell bench --rw\nread`")) == [["bench", "--rw", "read"]]
