# SPDX-License-Identifier: Apache-2.0
"""`doorbell docs`: the documentation as a site that needs no network: drawings and search are inside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer
import yaml

from doorbell import paths
from doorbell.build import say
from doorbell.docs import staging
from doorbell.errors import UserError
from doorbell.signals import signals_raise

FIRST = {"guide": "Guide", "ssd": "SSD", "csd": "Compute", "host": "Host", "recorder": "Recorder", "vcsd": "Virtual"}
ORDER = ("first-steps", "experiment", "why-is-it-slow", "waveform",
         "theory", "integration", "registers", "performance", "limits")  # fmt: skip


def title(file: Path) -> str:
    """A page's first heading, plain: the menu knows no Markdown."""
    lines = file.read_text().splitlines()
    return next((line[2:].strip().replace("`", "") for line in lines if line.startswith("# ")), file.stem)


def navigation(site: Path) -> list[Any]:
    """What the menu shows: home, guide, a set for each system, the rest, folders, modules."""

    def entries(folder: str) -> list[dict[str, str]]:
        files = sorted((site / folder).glob("*.md"),
                       key=lambda f: (ORDER.index(f.stem) if f.stem in ORDER else len(ORDER), f.stem))  # fmt: skip
        return [{title(f): str(f.relative_to(site))} for f in files]

    result: list[Any] = [{"Doorbell": "index.md"}]
    for folder, name in FIRST.items():
        if (site / folder).is_dir():
            result.append({name: entries(folder)})
    rest = [{title(f): f.name} for f in sorted(site.glob("*.md")) if f.name != "index.md"]
    result += [{"More": rest}, {"Folders": entries("folders")}, {"Modules": entries("modules")}]
    return result


def configuration(site: Path, out: Path) -> dict[str, Any]:
    fence = {"name": "mermaid", "class": "mermaid", "format": "!!python/name:pymdownx.superfences.fence_code_format"}
    return {
        "site_name": "Doorbell",
        "docs_dir": str(site),
        "site_dir": str(out),
        "use_directory_urls": False,
        "theme": {
            "name": "material", "font": False, "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo"},
            ],
            "features": ["navigation.sections", "navigation.top", "search.highlight", "search.suggest", "toc.follow"],
        },
        "plugins": ["search", "offline"],
        "extra_javascript": ["js/mermaid.min.js"],
        "markdown_extensions": [
            "tables", "attr_list", "admonition", {"toc": {"permalink": True}},
            {"pymdownx.superfences": {"custom_fences": [fence]}}, "pymdownx.highlight",
        ],
        "validation": {"links": {"not_found": "warn", "anchors": "warn"}, "nav": {"omitted_files": "warn"}},
        "nav": navigation(site),
    }  # fmt: skip


SHIM = "https://unpkg.com/iframe-worker/shim"
"""The theme's one script from the network; iframe_worker.js is ours for it."""


def without_network(out: Path) -> None:
    """Let every page take the search's script from the site itself."""
    for page in out.rglob("*.html"):
        text = page.read_text()
        if SHIM in text:
            ours = os.path.relpath(out / "js" / "iframe_worker.js", page.parent)
            page.write_text(text.replace(SHIM, ours))


def put(site: Path, out: Path) -> None:
    """Replace what is in `out` by the site. Whoever is killed meanwhile leaves a folder that is known as one."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(site / "index.html", out / "index.html")
    for entry in out.iterdir():
        if entry.name != "index.html":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for file in sorted(site.rglob("*")):
        target = out / file.relative_to(site)
        target.mkdir() if file.is_dir() else shutil.copy(file, target)


def build_site(out: Path) -> None:
    """Build the site into `out`. Raises UserError with mkdocs' words if a link leads nowhere or anything is wrong; what
    is there stays then.
    """
    with signals_raise(), tempfile.TemporaryDirectory() as work:
        site, made = Path(work) / "pages", Path(work) / "site"
        site.mkdir()
        staging.stage(site)
        text = yaml.safe_dump(configuration(site, made), sort_keys=False, allow_unicode=True)
        text = text.replace("'!!python/name:pymdownx.superfences.fence_code_format'",
                            "!!python/name:pymdownx.superfences.fence_code_format")  # fmt: skip
        config = Path(work) / "mkdocs.yml"
        config.write_text(text)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(config)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=work,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout.replace(str(site) + "/", ""), file=sys.stderr)
            raise UserError("the pages cannot be built: mkdocs' words are above", 1)
        without_network(made)
        try:
            put(made, out)
        except OSError as e:
            raise UserError(f"cannot put the site into {out}: {e.strerror}") from e


def main(
    out: Path = typer.Option(paths.OUT / "site", help="Folder for the site; what is in it is replaced."),
) -> None:
    """Build the documentation as a site: pages, drawings, search, the ports of every module.

    It needs no network, neither to build nor to read: open index.html in a browser.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out}: this is a file: name a folder")
    if out.exists() and any(out.iterdir()) and not (out / "index.html").exists():
        raise UserError(f"{out} is not empty and no site: name another folder")
    say("building the pages")
    build_site(out.absolute())
    print(out / "index.html")
