# SPDX-License-Identifier: Apache-2.0
"""The RTL that is made of the operators in rtl/compute/ops, and their section of the register reference.

Module `db_csd_ops` (all of them, one behind the other), package `db_csd_ops_pkg` (which there are), for each NAME.rdl a
package `db_csd_op_NAME_pkg` (parameters as a struct).
"""

from __future__ import annotations

from pathlib import Path

from doorbell.build.operator_folders import PARAM_BYTES, Folder, find

VERSION = 5  # raise it when `generate` makes something else of the same folders
STREAM = ("tvalid", "tready", "tdata", "tlast", "tuser")


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
                 f"  row_ctx_t tuser_{i};"]  # fmt: skip
    for i, folder in enumerate(every):
        results = ""
        if folder.reduces:
            r = reducers.index(folder)
            results = ",\n    " + ", ".join(f".{n}({n}[{r}])" for n in ("m_res_valid", "m_res_ready", "m_res"))
        body += [f"  db_csd_op_{folder.name} #(.DATA_W(DATA_W), .DIR(DIR)) i_{folder.name} (", "    .clk, .rst,",
                 f"    {ports('s', i)},", f"    {ports('m', i + 1)}{results});"]  # fmt: skip
    if not every:
        body += [f"  assign m_axis_{n} = s_axis_{n};" for n in STREAM if n != "tready"]
        body += ["  assign s_axis_tready = m_axis_tready;"]
    if not reducers:
        body += ["  assign m_res_valid = '0;", "  assign m_res = '0;"]
    return "\n".join([
        "// Made by doorbell from the folders of rtl/compute/ops: their operators one behind the other.",
        "module db_csd_ops", "  import db_csd_pkg::*;", "#(", "  parameter int DATA_W = 256,",
        "  parameter bit DIR = 1'b1", ") (", "  input  logic clk,", "  input  logic rst,",
        "  input  logic s_axis_tvalid,", "  output logic s_axis_tready,", "  input  logic [DATA_W-1:0] s_axis_tdata,",
        "  input  logic s_axis_tlast,", "  input  row_ctx_t s_axis_tuser,",
        "  output logic m_axis_tvalid,", "  input  logic m_axis_tready,", "  output logic [DATA_W-1:0] m_axis_tdata,",
        "  output logic m_axis_tlast,", "  output row_ctx_t m_axis_tuser,",
        f"  output logic [{n_res - 1}:0] m_res_valid,", f"  input  logic [{n_res - 1}:0] m_res_ready,",
        f"  output result_t [{n_res - 1}:0] m_res", ");",
        *body, "  logic unused_ok;", "  assign unused_ok = &{1'b0, clk, rst, m_res_ready};", "endmodule", "",
    ])  # fmt: skip


def reference() -> str:
    """The section of docs/registers.md on the parameters of the operators."""
    lines = ["## Parameters of operators", "",
             "From `rtl/compute/ops/*/*.rdl`: what a host sends in CDW12 to CDW15 of Bind (csd/integration.md), all of",
             "them each time. Defaults are those that our tools send for a parameter that is not named."]  # fmt: skip
    for folder in find():
        lines += ["", f"### {folder.name}, code {folder.code}", "", "|Bits|Identifier|Default|Description|",
                  "|---|---|---|---|"]  # fmt: skip
        lines += [f"|{f.low + f.width - 1}:{f.low}|{f.name}|{f.reset:#x}|{f.desc}|" for f in folder.fields]
    return "\n".join(lines)
