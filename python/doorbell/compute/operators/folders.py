# SPDX-License-Identifier: Apache-2.0
"""Operators that bring themselves along: a folder each below rtl/compute/ops ("Adding an operator", docs/operators.md).

What is found there is put into the data path of db_csd: module `db_csd_ops` (all of them, one behind the other),
package `db_csd_ops_pkg` (which there are), for each NAME.rdl a package `db_csd_op_NAME_pkg` (parameters as a struct).
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from doorbell import paths
from doorbell.errors import UserError

OPS = paths.RTL / "compute" / "ops"
CODES = range(6, 16)
PARAM_BYTES = 16
MAX_LATENCY = 256
VERSION = 4  # raise it when `generate` makes something else of the same folders
STREAM = ("tvalid", "tready", "tdata", "tlast", "tuser")
RESULT = ("valid", "ready", "tag", "digest")


@dataclass(frozen=True)
class Field:
    """A field of an operator's parameters: bits `low` to `low + width - 1` of the 16 bytes, little-endian."""

    name: str
    low: int
    width: int
    reset: int
    desc: str


@dataclass(frozen=True)
class Folder:
    """An operator. code: what a namespace is bound to. reduces: it has results. latency: cycles. file: its RTL."""

    name: str
    code: int
    reduces: bool
    latency: int
    file: Path

    @property
    def rdl(self) -> Path:
        return self.file.with_name(f"{self.name}.rdl")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Of its SystemRDL, from bit 0 up; none if it has no such file."""
        return read_fields(self.rdl) if self.rdl.exists() else ()

    @cached_property
    def model(self) -> ModuleType:
        """Its model.py."""
        file = self.file.with_name("model.py")
        if not file.exists():
            raise UserError(f"{shown(file.parent)}: there is no model.py (docs/operators.md)")
        spec = importlib.util.spec_from_file_location(f"doorbell_operator_{self.name}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def pack(self, **values: int) -> bytes:
        """The 16 bytes that Bind takes; a field that is not named has its reset value."""
        known = {f.name: f for f in self.fields}
        word = sum(f.reset << f.low for f in self.fields if f.name not in values)
        for name, value in values.items():
            if name not in known:
                raise UserError(f"operator {self.name} has no parameter '{name}': use {', '.join(known) or 'none'}")
            if not 0 <= value < 1 << known[name].width:
                raise UserError(f"{self.name}:{name} is 0 to {(1 << known[name].width) - 1}, not {value}")
            word |= value << known[name].low
        return word.to_bytes(PARAM_BYTES, "little")

    def unpack(self, param: bytes) -> dict[str, int]:
        word = int.from_bytes(param, "little")
        return {f.name: word >> f.low & (1 << f.width) - 1 for f in self.fields}


def shown(file: Path) -> Path:
    """Its path as messages name it."""
    return file.relative_to(paths.ROOT) if file.is_relative_to(paths.ROOT) else file


def find() -> list[Folder]:
    """By code."""
    found: dict[int, Folder] = {}
    for folder in sorted(f for f in OPS.iterdir() if f.is_dir()):
        if not any(f.is_file() for f in folder.iterdir()):
            continue  # what Python left of one that is gone
        operator = read(folder)
        if operator.code in found:
            free = [code for code in CODES if code not in found]
            raise UserError(f"operators {found[operator.code].name} and {operator.name} have the same CODE, "
                            f"{operator.code}: choose one of {', '.join(map(str, free))}")  # fmt: skip
        found[operator.code] = operator
    return [found[code] for code in sorted(found)]


def read(folder: Path) -> Folder:
    """What a folder's RTL declares."""
    name, file = folder.name, folder / f"db_csd_op_{folder.name}.sv"
    where = shown(file)
    if not file.exists():
        raise UserError(f"{where.parent}: there is no {file.name}; folder, file and module have the operator's name")
    text = re.sub(r"//.*|(?s:/\*.*?\*/)", "", file.read_text())
    if not re.search(rf"\bmodule\s+{file.stem}\b", text):
        raise UserError(f"{where}: its module must be named {file.stem}")
    code = re.search(r"\bCODE\s*=\s*([\w']+)", text)
    number = re.fullmatch(r"4'd(\d+)", code[1]) if code else None
    if number is None or int(number[1]) not in CODES:
        raise UserError(f"{where}: CODE is {code[1] if code else 'missing'}; write 4'd6 to 4'd15")
    if not re.search(r"\bFORMAT_PRESERVING\s*=\s*1'b1", text):
        raise UserError(f"{where}: declare `parameter bit FORMAT_PRESERVING = 1'b1`: the path of db_csd takes only "
                        "operators that give one beat for each")  # fmt: skip
    latency = re.search(r"\bLATENCY\s*=\s*(\d+)", text)
    if latency is None or not 1 <= int(latency[1]) <= MAX_LATENCY:
        raise UserError(f"{where}: declare `parameter int LATENCY = N`, its cycles from beat in to beat out, "
                        f"1 to {MAX_LATENCY}")  # fmt: skip
    for other in folder.glob("*.rdl"):
        if other.stem != name:
            raise UserError(f"{where.parent}: there is {other.name} but no {name}.rdl: name it so")
    return Folder(name, int(number[1]), "m_res_valid" in text, int(latency[1]), file)


def by_name(name: str) -> Folder:
    every = {f.name: f for f in find()}
    if name not in every:
        raise UserError(f"there is no operator '{name}' below rtl/compute/ops: there is {', '.join(every) or 'none'}")
    return every[name]


def read_fields(rdl: Path) -> tuple[Field, ...]:
    """The parameters that a SystemRDL file describes: an addrmap of at most 16 bytes."""
    from peakrdl_regblock.identifier_filter import SV_KEYWORDS
    from systemrdl import RDLCompileError, RDLCompiler

    name, where = f"db_csd_op_{rdl.stem}", shown(rdl)
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(rdl))
        if name not in compiler.root.comp_defs:
            raise UserError(f"{where}: it needs an addrmap {name}")
        top = compiler.elaborate(top_def_name=name).top
    except RDLCompileError as e:  # what is wrong, and where, is on stderr already
        raise UserError(f"{where} cannot be read: mend what stands above") from e
    if top.size > PARAM_BYTES:
        raise UserError(f"{where}: {top.size} bytes of parameters; a command has room for {PARAM_BYTES}")
    fields: dict[str, Field] = {}
    for register in top.registers(unroll=True):
        for f in register.fields():
            if f.inst_name in fields:
                raise UserError(f"{where}: two fields are named {f.inst_name}; they are the operator's parameters, "
                                "whatever their register: rename one")  # fmt: skip
            if f.inst_name in SV_KEYWORDS:
                raise UserError(f"{where}: '{f.inst_name}' is a keyword of SystemVerilog: rename the field")
            fields[f.inst_name] = Field(
                f.inst_name, 8 * register.absolute_address + f.low, f.width, int(f.get_property("reset") or 0),
                str(f.get_property("desc") or ""))  # fmt: skip
    return tuple(sorted(fields.values(), key=lambda f: f.low))


# ---------------------------------------------------------------- what is generated


def generate(out: Path) -> None:
    """Write db_csd_ops.sv, db_csd_ops_pkg.sv and the packages of parameters into `out`."""
    every = find()
    for folder in every:
        if folder.rdl.exists():
            (out / f"db_csd_op_{folder.name}_pkg.sv").write_text(parameter_package(folder))
    (out / "db_csd_ops_pkg.sv").write_text(chain_package(every))
    (out / "db_csd_ops.sv").write_text(chain(every))


def parameter_package(folder: Folder) -> str:
    lines, at = [], 0
    for f in folder.fields:
        if f.low > at:
            lines.append(f"    logic [{f.low - at - 1}:0] unused_{at};")
        lines.append(f"    logic [{f.width - 1}:0] {f.name};" + (f"  // {f.desc}" if f.desc else ""))
        at = f.low + f.width
    if at < 8 * PARAM_BYTES:
        lines.append(f"    logic [{8 * PARAM_BYTES - at - 1}:0] unused_{at};")
    return "\n".join([
        f"// Made by doorbell from {folder.rdl.name}: what is in `cmd.param` of a beat for this operator.",
        f"package db_csd_op_{folder.name}_pkg;", "  typedef struct packed {", *reversed(lines), "  } param_t;",
        "endpackage", "",
    ])  # fmt: skip


def chain_package(every: list[Folder]) -> str:
    def mask(folders: list[Folder]) -> str:
        return f"16'h{sum(1 << f.code for f in folders):04x}"

    reducers = [f for f in every if f.reduces]
    return "\n".join([
        "// Made by doorbell from the folders of rtl/compute/ops.", "package db_csd_ops_pkg;",
        f"  localparam logic [15:0] OPS = {mask(every)};  // bit n: there is operator n",
        f"  localparam logic [15:0] REDUCES = {mask(reducers)};  // it has results",
        f"  localparam int REDUCERS = {len(reducers)};",
        f"  localparam int LATENCY = {sum(f.latency for f in every)};  // cycles, of all of them", "endpackage", "",
    ])  # fmt: skip


def chain(every: list[Folder]) -> str:
    reducers = [f for f in every if f.reduces]
    n_res = max(1, len(reducers))
    body: list[str] = []

    def ports(side: str, i: int) -> str:
        outer = {0: "s", len(every): "m"}.get(i)
        return ", ".join(f".{side}_axis_{n}({f'{outer}_axis_{n}' if outer else f'{n}_{i}'})" for n in STREAM)

    for i in range(1, len(every)):
        body += [f"  logic tvalid_{i}, tready_{i}, tlast_{i};", f"  logic [DATA_W-1:0] tdata_{i};",
                 f"  logic [$bits(beat_t)-1:0] tuser_{i};"]  # fmt: skip
    for i, folder in enumerate(every):
        results = ""
        if folder.reduces:
            r = reducers.index(folder)
            slices = {"valid": f"[{r}]", "ready": f"[{r}]", "tag": f"[CSD_TAG_W*{r} +: CSD_TAG_W]",
                      "digest": f"[256*{r} +: 256]"}  # fmt: skip
            results = ",\n    " + ", ".join(f".m_res_{n}(m_res_{n}{slices[n]})" for n in RESULT)
        body += [f"  db_csd_op_{folder.name} #(.DATA_W(DATA_W), .DIR(DIR)) i_{folder.name} (", "    .clk, .rst,",
                 f"    {ports('s', i)},", f"    {ports('m', i + 1)}{results});"]  # fmt: skip
    if not every:
        body += [f"  assign m_axis_{n} = s_axis_{n};" for n in STREAM if n != "tready"]
        body += ["  assign s_axis_tready = m_axis_tready;"]
    if not reducers:
        body += ["  assign m_res_valid = '0;", "  assign m_res_tag = '0;", "  assign m_res_digest = '0;"]
    return "\n".join([
        "// Made by doorbell from the folders of rtl/compute/ops: their operators one behind the other.",
        "module db_csd_ops", "  import db_csd_pkg::*;", "#(", "  parameter int DATA_W = 256,",
        "  parameter bit DIR = 1'b1", ") (", "  input  logic clk,", "  input  logic rst,",
        "  input  logic s_axis_tvalid,", "  output logic s_axis_tready,", "  input  logic [DATA_W-1:0] s_axis_tdata,",
        "  input  logic s_axis_tlast,", "  input  logic [$bits(beat_t)-1:0] s_axis_tuser,",
        "  output logic m_axis_tvalid,", "  input  logic m_axis_tready,", "  output logic [DATA_W-1:0] m_axis_tdata,",
        "  output logic m_axis_tlast,", "  output logic [$bits(beat_t)-1:0] m_axis_tuser,",
        f"  output logic [{n_res - 1}:0] m_res_valid,", f"  input  logic [{n_res - 1}:0] m_res_ready,",
        f"  output logic [{n_res}*CSD_TAG_W-1:0] m_res_tag,", f"  output logic [{n_res}*256-1:0] m_res_digest", ");",
        *body, "  logic unused_ok;", "  assign unused_ok = &{1'b0, clk, rst, m_res_ready};", "endmodule", "",
    ])  # fmt: skip


def reference() -> str:
    """The section of docs/registers.md on the parameters of the operators."""
    lines = ["## Parameters of operators", "",
             "From `rtl/compute/ops/*/*.rdl`: what a host sends in CDW12 to CDW15 of Bind (operators.md), all of them",
             "each time. Defaults are those that our tools send for a parameter that is not named."]  # fmt: skip
    for folder in find():
        lines += ["", f"### {folder.name}, code {folder.code}", "", "|Bits|Identifier|Default|Description|",
                  "|---|---|---|---|"]  # fmt: skip
        lines += [f"|{f.low + f.width - 1}:{f.low}|{f.name}|{f.reset:#x}|{f.desc}|" for f in folder.fields]
    return "\n".join(lines)
