# SPDX-License-Identifier: Apache-2.0
"""The archive of a release: the same bytes each time, whole, and enough for tools that know nothing of Doorbell."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest
import yaml
from doorbell import __version__, paths
from doorbell.release import archive, core, files, sbom

FOLDER = f"doorbell-{__version__}"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("release")
    with tarfile.open(archive.write(place)[0]) as tar:
        tar.extractall(place, filter="data")
    return place / FOLDER


def verilator(folder: Path, *args: str) -> str:
    env = os.environ | {"VERILATOR_ROOT": str(paths.verilator_root())}
    program = str(paths.verilator_root() / "bin" / "verilator_bin")
    done = subprocess.run([program, *args], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_same_bytes(tmp_path: Path) -> None:
    first, second = (archive.write(tmp_path / name)[0].read_bytes() for name in ("a", "b"))
    assert first == second
    said = (tmp_path / "a" / f"{FOLDER}.tar.gz.sha256").read_text().split()[0]
    assert said == hashlib.sha256(first).hexdigest()


def test_it_is_whole(unpacked: Path) -> None:
    sums = dict(reversed(line.split("  ")) for line in (unpacked / "SHA256SUMS").read_text().splitlines())
    there = {f.relative_to(unpacked).as_posix() for f in unpacked.rglob("*") if f.is_file()} - {"SHA256SUMS"}
    assert sums.keys() == there
    assert all(hashlib.sha256((unpacked / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())


@pytest.mark.parametrize("top", files.TOPS)
def test_lists_name_files_that_are_there(unpacked: Path, top: str) -> None:
    lines = (unpacked / "filelists" / f"{top}.f").read_text().splitlines()
    assert all((unpacked / line.removeprefix("+incdir+")).exists() for line in lines)
    described = yaml.safe_load((unpacked / f"{top}.core").read_text().partition("\n")[2])
    named = [next(iter(f)) if isinstance(f, dict) else f for s in described["filesets"].values() for f in s["files"]]
    assert all((unpacked / name).exists() for name in named)
    assert {line for line in lines if not line.startswith("+")} <= set(named)


@pytest.mark.parametrize("top", [t if t in ("db_ssd", "db_host") else pytest.param(t, marks=pytest.mark.nightly)
                                 for t in files.TOPS])  # fmt: skip
def test_a_list_is_all_that_verilator_needs(unpacked: Path, top: str) -> None:
    verilator(
        unpacked, "--lint-only", "--timescale", "1ns/1ps", "-Wno-fatal", "--top-module", top, "-f", f"filelists/{top}.f"
    )


def test_sbom_names_what_is_pinned_and_what_is_inside() -> None:
    document = json.loads(sbom.sbom("1"))
    by_name = {c["name"]: c for c in document["components"]}
    pins = [
        line.split(" ")[0].split("==")
        for line in (paths.ROOT / "requirements.in").read_text().splitlines()
        if "==" in line
    ]
    assert len(pins) > 20 and all(by_name[name]["version"] == version for name, version in pins)
    assert [n for n, c in by_name.items() if c["scope"] == "required"] == ["pythondata-cpu-picorv32"]


@pytest.mark.nightly
def test_first_simulation(unpacked: Path) -> None:
    """A register is read over CQ and CC, by Verilator alone."""
    flags = [word for option in core.MAKE for word in option.split(" ")]
    verilator(unpacked, "--binary", "--timing", *flags, "--timescale", "1ns/1ps", "-Wno-fatal", "--top-module",
              "db_ssd_smoke", "-f", "filelists/db_ssd.f", "sim/db_ssd_smoke.sv", "-j", "2")  # fmt: skip
    (unpacked / "fw.hex").write_bytes((unpacked / "firmware" / "fw.hex").read_bytes())
    said = subprocess.run(["obj_dir/Vdb_ssd_smoke"], cwd=unpacked, capture_output=True, text=True, check=True).stdout
    assert "db_ssd: NVMe version 2.0, tag 5a" in said


@pytest.mark.nightly
@pytest.mark.parametrize("top", ["db_ssd", "db_recorder"])
def test_fusesoc(unpacked: Path, tmp_path: Path, top: str) -> None:
    """From an empty environment, with FuseSoC of PyPI."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "fusesoc"], check=True)
    env = os.environ | {"PATH": f"{paths.verilator_root() / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [
        str(python),
        "-m",
        "fusesoc.main",
        "--cores-root",
        str(unpacked),
        "run",
        "--target=lint",
        f"doorbell:nvme:{top}",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
