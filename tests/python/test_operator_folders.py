# SPDX-License-Identifier: Apache-2.0
"""Folders of operators: what is read of them, what is made of them, and what is said when something is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.build import operator_chain
from doorbell.build import operator_folders as folders
from doorbell.errors import UserError

RDL = """addrmap db_csd_op_xor {
    reg { regwidth = 32; field { desc = "Low"; } low[11:4] = 3; field { } top[31:31] = 1; } A @ 0x0;
    reg { regwidth = 64; field { } wide[63:0] = 0; } B @ 0x8;
};
"""


@pytest.fixture
def ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of rtl/compute/ops that a test may spoil."""
    here = tmp_path / "ops"
    shutil.copytree(folders.OPS, here, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "OPS", here)
    return here


def test_those_there_are() -> None:
    found = folders.find()
    assert {f.name: (f.code, f.reduces) for f in found}.items() >= {"xor": (6, False), "count": (7, True)}.items()
    assert all(f.latency >= 1 and f.model for f in found)


def test_fields(ops: Path, tmp_path: Path) -> None:
    (ops / "xor" / "xor.rdl").write_text(RDL)
    xor = folders.by_name("xor")
    assert [(f.name, f.low, f.width, f.reset) for f in xor.fields] == [
        ("low", 4, 8, 3), ("top", 31, 1, 1), ("wide", 64, 64, 0)]  # fmt: skip
    assert xor.pack(wide=0x0102030405060708) == bytes.fromhex("30000080 00000000 08070605 04030201")
    assert xor.unpack(xor.pack(low=0xA5, top=0)) == {"low": 0xA5, "top": 0, "wide": 0}
    package = operator_chain.parameter_package(xor).splitlines()
    members = [line.split(";")[0].strip() for line in package if "logic" in line]
    assert members == ["logic [63:0] wide", "logic [31:0] unused_32", "logic [0:0] top", "logic [18:0] unused_12",
                       "logic [7:0] low", "logic [3:0] unused_0"]  # fmt: skip


def test_none(ops: Path) -> None:
    """Without any the chain is a wire, and nothing has results."""
    shutil.rmtree(ops / "xor")
    shutil.rmtree(ops / "count")
    (ops / "old" / "__pycache__").mkdir(parents=True)  # what Python leaves when a folder goes
    (ops / "README.md").touch()
    assert folders.find() == []
    assert "assign m_axis_tdata = s_axis_tdata;" in operator_chain.chain([])
    assert "REDUCERS = 0;" in operator_chain.chain_package([]) and "OPS = 16'h0000;" in operator_chain.chain_package([])


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(("old", "new", "says"), [
    ("4'd6", "4'd7", "operators count and xor have the same CODE, 7: choose one of 6, 8, 9"),
    ("4'd6", "4'h6", "CODE is 4'h6; write 4'd6 to 4'd15"),
    ("4'd6", "4'd5", "CODE is 4'd5"),
    ("module db_csd_op_xor", "module db_csd_op_or", "its module must be named db_csd_op_xor"),
    ("FORMAT_PRESERVING = 1'b1", "FORMAT_PRESERVING = 1'b0", "one beat for each"),
    ("parameter int         LATENCY = 1", "// LATENCY = 1", "declare `parameter int LATENCY"),
    ("LATENCY = 1", "LATENCY = 0", "declare `parameter int LATENCY"),
])  # fmt: skip
def test_wrong_rtl(ops: Path, old: str, new: str, says: str) -> None:
    edit(ops / "xor" / "db_csd_op_xor.sv", old, new)
    with pytest.raises(UserError) as error:
        folders.find()
    assert says in str(error.value)


@pytest.mark.parametrize(("old", "new", "says"), [
    ("addrmap db_csd_op_xor", "addrmap db_csd_op_or", "it needs an addrmap db_csd_op_xor"),
    ("0x0;", "0x10;", "32 bytes of parameters; a command has room for 16"),
    ("mask[127:0]", "mask[130:0]", "mend what stands above"),
    ("mask[127:0]", "case[127:0]", "'case' is a keyword"),
    ("} MASK @ 0x0;", "} MASK @ 0x0", "mend what stands above"),
    ("regwidth = 128;", "regwidth = 32; field { } mask[31:0] = 0; } OTHER @ 0x8; reg { regwidth = 64;", ""),
])  # fmt: skip
def test_wrong_parameters(ops: Path, old: str, new: str, says: str) -> None:
    file = ops / "xor" / "xor.rdl"
    edit(file, old, new)
    if not says:
        file.write_text(file.read_text().replace("mask[127:0]", "mask[63:0]"))
        says = "two fields are named mask"
    with pytest.raises(UserError) as error:
        folders.by_name("xor").pack()
    assert says in str(error.value)


def test_wrong_files(ops: Path) -> None:
    (ops / "xor" / "xor.rdl").rename(ops / "xor" / "params.rdl")
    with pytest.raises(UserError, match=r"there is params.rdl but no xor.rdl"):
        folders.find()
    (ops / "xor" / "params.rdl").unlink()
    (ops / "xor" / "model.py").unlink()
    with pytest.raises(UserError, match="there is no model.py"):
        _ = folders.by_name("xor").model
    with pytest.raises(UserError, match="there is no operator 'wc' below rtl/compute/ops: there is xor, count"):
        folders.by_name("wc")
    (ops / "xor" / "db_csd_op_xor.sv").rename(ops / "xor" / "xor.sv")
    with pytest.raises(UserError, match="there is no db_csd_op_xor.sv"):
        folders.find()


def test_messages_name_files_from_the_root() -> None:
    assert folders.shown(paths.ROOT / "rtl" / "x.sv") == Path("rtl/x.sv")
