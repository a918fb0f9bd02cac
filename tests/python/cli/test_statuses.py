# SPDX-License-Identifier: Apache-2.0
"""Statuses that a host has seen: how they are noted, and that docs/coverage.md leaves none out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import statuses as cli
from doorbell.device.functional import FunctionalSsd
from doorbell.nvme import statuses
from doorbell.nvme.constants import AdminOpc, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import VendorStatus

INVALID, IN_LOG = Status.INVALID_OPCODE, "KAT_EXPIRED"
OF_ITS_DRIVE = {"POWER_LOSS", "CMD_INTERRUPTED", "TRANSIENT_TRANSPORT"}
"""What db_host knows of the drive behind it, and answers with a second try: never ours."""


def words_of(folder: str, suffixes: tuple[str, ...], aside: str) -> set[str]:
    """Words of the sources in a folder, comments left out, but for one file that names all there is."""
    files = [f for f in (paths.ROOT / folder).rglob("*") if f.suffix in suffixes and f.name != aside]
    assert len(files) > 50
    return {w for f in files for w in re.findall(r"\w+", re.sub(r"//[^\n]*|/\*.*?\*/", "", f.read_text(), flags=re.S))}


def named_by_sources() -> set[str]:
    """Statuses that the firmware or the RTL names, and so can give."""
    fw = words_of("fw", (".c", ".h"), "nvme.h")
    rtl = words_of("rtl", (".sv", ".svh"), "db_nvme_pkg.sv")
    short = re.findall(r"(ST_\w+) = [^,]*\b(?:STATUS|SC)_(\w+),", (paths.ROOT / "fw" / "base" / "nvme.h").read_text())
    assert len(short) > 40
    every = [*Status.__members__, *VendorStatus.__members__]
    return {s for s in every if f"STATUS_{s}" in fw or f"SC_{s}" in rtl} | {s for name, s in short if name in fw}


def test_every_status_is_seen_or_explained() -> None:
    seen, never = cli.promised(cli.PAGE.read_text())
    assert not seen.keys() & never.keys()
    assert seen.keys() | never.keys() == cli.names().keys()
    names = cli.names()
    assert {names[v] for v in seen} == named_by_sources() - {IN_LOG} - OF_ITS_DRIVE
    assert all(re.match(r"`test_\w+`", said) for said in seen.values()) and all(never.values())


def noted(folder: Path, opcode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that meets a drive without RTL."""
    record = statuses.Record(folder)
    monkeypatch.setattr(statuses, "opened", lambda: record)
    drive = Driver(FunctionalSsd(media_size=1 << 20))
    drive.start(queues=1, entries=16)
    for _ in range(3):
        assert drive.admin_try(opcode).status == INVALID
    assert drive.wait([drive.submit(1, NvmOpc.FLUSH, ring=True)])


def test_what_is_seen_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted(tmp_path, 0x7F, monkeypatch)
    lines = next(tmp_path.iterdir()).read_text().splitlines()
    assert len(lines) == len(set(lines))
    seen = statuses.read(tmp_path)
    own = [s for s in seen if s.opcode == 0x7F]
    assert [s[:4] for s in own] == [("functional", "admin", 0x7F, INVALID)]
    assert own[0].test.endswith("::test_what_is_seen_is_noted_once")
    assert ("functional", "io", NvmOpc.FLUSH, 0) in {s[:4] for s in seen}
    assert ("functional", "admin", AdminOpc.IDENTIFY, 0) in {s[:4] for s in seen}


def test_nothing_is_noted_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOORBELL_STATUSES", raising=False)
    assert statuses.opened.__wrapped__() is None


def told(folder: Path) -> tuple[bool, str]:
    lines: list[str] = []
    return cli.report(folder, lines.append), "\n".join(lines)


def test_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = statuses.Record(tmp_path)
    record.note("db_ssd", False, NvmOpc.READ, Status.READ_ERROR)
    record.note("db_csd", False, NvmOpc.READ, Status.READ_ERROR)
    record.note("functional", False, NvmOpc.READ, Status.POWER_LOSS)  # of no RTL
    good, text = told(tmp_path)
    assert good and re.search(r"READ_ERROR +281h +1  db_csd db_ssd; test_the_report", text)
    assert "statuses: 1 of the RTL were seen" in text and re.search(r"not in these tests: .*LBA_RANGE", text)
    record.note("db_ssd", True, AdminOpc.IDENTIFY, Status.POWER_LOSS)
    good, text = told(tmp_path)
    assert not good and "docs/coverage.md does not say so: POWER_LOSS" in text


def test_nothing_was_seen(tmp_path: Path) -> None:
    good, text = told(tmp_path)
    assert good and "statuses: 0 of the RTL were seen" in text
