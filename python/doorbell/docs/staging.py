# SPDX-License-Identifier: Apache-2.0
"""Puts the pages where the site wants them: README.md first, docs/, the folders' pages, the modules' pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from doorbell import paths
from doorbell.docs import ports
from doorbell.errors import UserError

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def folder_pages() -> list[Path]:
    """README.md of every folder but the top, as git has them (or, in an archive, the disk)."""
    listed = ""
    if shutil.which("git"):
        ask = ["git", "ls-files", "-z", "*README.md"]
        listed = subprocess.run(ask, cwd=paths.ROOT, capture_output=True, text=True, check=False).stdout
    found = [paths.ROOT / name for name in listed.split("\0") if name] or list(paths.ROOT.glob("*/**/README.md"))
    return sorted(f for f in found if f.parent != paths.ROOT)


def places() -> dict[Path, str]:
    """Every file that becomes a page or a picture, and its place in the site."""
    result = {paths.ROOT / "README.md": "index.md", paths.ROOT / "CHANGELOG.md": "changelog.md"}
    docs = paths.ROOT / "docs"
    for file in docs.rglob("*"):
        if file.is_file() and file.suffix in (".md", ".svg", ".png"):
            result[file] = str(file.relative_to(docs))
    for file in folder_pages():
        result[file] = f"folders/{str(file.parent.relative_to(paths.ROOT)).replace('/', '-')}.md"
    return result


def moved(text: str, source: Path, target: str, where: dict[Path, str]) -> str:
    """The text with its links as they must be in the site; one to a file that is no page becomes plain text."""

    def link(match: re.Match[str]) -> str:
        picture, label, to = match.groups()
        if re.match(r"[a-z]+:|#", to):
            return match[0]
        path, _, anchor = to.partition("#")
        file = (source.parent / path).resolve()
        if not file.exists():
            raise UserError(f"{os.path.relpath(source, paths.ROOT)} links to {path}, which is not there", 1)
        file = file / "README.md" if file.is_dir() else file
        if file not in where:
            return label if label.startswith("`") else f"{label} (`{os.path.relpath(file, paths.ROOT)}`)"
        new = os.path.relpath(where[file], os.path.dirname(target) or ".")
        return f"{picture}[{label}]({new}{'#' + anchor if anchor else ''})"

    return LINK.sub(link, text)


def stage(out: Path) -> None:
    """Fill `out` with all pages."""
    where = places()
    for source, target in where.items():
        file = out / target
        file.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            file.write_text(moved(source.read_text(), source, target, where))
        else:
            shutil.copy(source, file)
    for folder, text in ports.pages().items():
        file = out / "modules" / f"{folder.replace('/', '-')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    script = paths.package_dir("diagram_renderer") / "renderers" / "static" / "js" / "mermaid.min.js"
    (out / "js").mkdir(exist_ok=True)
    shutil.copy(script, out / "js" / "mermaid.min.js")
    shutil.copy(Path(__file__).parent / "iframe_worker.js", out / "js" / "iframe_worker.js")
