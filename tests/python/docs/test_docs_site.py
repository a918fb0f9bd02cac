# SPDX-License-Identifier: Apache-2.0
"""`./doorbell docs`: the site loads nothing from elsewhere, has ports and search, and a broken link is found."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from doorbell.cli import main as cli
from doorbell.docs import ports, staging


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs") / "site"
    assert cli.run(["docs", "--out", str(out)]) == 0
    return out


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture has an address in the network; links may."""
    loaded = re.compile(r'<(?:script|img|iframe)[^>]*\ssrc="?(https?:)?//|<link[^>]*\shref="?https?://[^>]*stylesheet'
                        r'|<link[^>]*stylesheet[^>]*https?://|url\(["\']?https?://')  # fmt: skip
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > 50
    assert [str(p.relative_to(site)) for p in pages if loaded.search(p.read_text())] == []


def test_scripts_are_there(site: Path) -> None:
    for page in (site / "index.html", site / "ssd" / "theory.html"):
        for source in re.findall(r'<script[^>]*\ssrc="([^"]+)"', page.read_text()):
            assert (page.parent / source).exists(), f"{page.name}: {source}"
    assert (site / "js" / "mermaid.min.js").stat().st_size > 1_000_000


def test_ports_of_a_top(site: Path) -> None:
    text = (site / "modules" / "ssd.html").read_text()
    for name in ("NUM_QP", "NUM_CMDS", "MEDIA_ADDR_W", "s_axis_cq_tdata", "m_axi_awaddr", "stat_doorbell_valid",
                 "stat_stall"):  # fmt: skip
        assert f"<code>{name}</code>" in text, name
    assert "I/O queue pairs of all functions, 1..255 - NUM_FN" in text


def test_search_finds(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert any("db_ssd_sq" in e["text"] for e in entries)
    assert (site / "search" / "search_index.js").exists()  # what is read from file://


def test_every_module_has_its_ports() -> None:
    pages = ports.pages()
    assert "## db_ssd_sq\n" in pages["ssd/front"] and "## db_host_cmd\n" in pages["host/command"]


def test_pages_of_folders_are_found_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an archive, on a machine that has none."""
    found = staging.folder_pages()
    monkeypatch.setenv("PATH", "/nowhere")
    assert set(found) <= set(staging.folder_pages()) and len(found) > 10


def small(out: Path, text: str = "and its text") -> None:
    """A site of one page, in the place of ours."""
    (out / "index.md").write_text(f"# A page\n\n{text}\n")
    for folder in ("folders", "modules"):
        (out / folder).mkdir()


def broken(out: Path) -> None:
    small(out, "[nowhere](gone.md)")


def test_a_broken_link_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(staging, "stage", broken)
    assert cli.run(["docs", "--out", str(tmp_path / "site")]) == 1
    said = capsys.readouterr().err
    assert "gone.md" in said and said.splitlines()[-1].startswith("doorbell: the pages cannot be built")


def test_what_is_there_is_replaced_by_a_whole_site_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be built leaves the one before; one that is interrupted can be built again."""
    out, copy = tmp_path / "site", shutil.copy
    (out / "old").mkdir(parents=True)
    (out / "index.html").write_text("old")
    monkeypatch.setattr(staging, "stage", broken)
    assert cli.run(["docs", "--out", str(out)]) == 1
    assert (out / "index.html").read_text() == "old" and (out / "old").is_dir()

    def interrupt(source: Path, target: Path) -> None:
        if target.name != "index.html":
            raise KeyboardInterrupt
        copy(source, target)

    monkeypatch.setattr(staging, "stage", small)
    monkeypatch.setattr(shutil, "copy", interrupt)
    assert cli.run(["docs", "--out", str(out)]) == 130
    monkeypatch.setattr(shutil, "copy", copy)
    assert cli.run(["docs", "--out", str(out)]) == 0
    assert "and its text" in (out / "index.html").read_text() and (out / "assets").is_dir()
    assert not (out / "old").exists()


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("x")
    assert cli.run(["docs", "--out", str(tmp_path)]) != 0
    assert capsys.readouterr().err.count("\n") == 1 and (tmp_path / "mine").exists()


def test_a_file_is_no_folder_for_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert cli.run(["docs", "--out", str(tmp_path / "file")]) == 2
    assert "this is a file" in capsys.readouterr().err and (tmp_path / "file").read_text() == "mine"
