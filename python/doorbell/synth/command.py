# SPDX-License-Identifier: Apache-2.0
"""`doorbell synth`: area by module and logic depth, from yosys; clock and slowest paths after place and route on ECP5.

The top is read once (ours by read_slang, the admin processor by read_verilog). What lies in rtl/common becomes part
of the module that uses it; every other module is mapped alone, the modules inside it as black boxes, and the result
kept in the cache by its content, so that a change costs only the modules that it touches. Areas are sums; depth is
found on all mapped modules put together again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer

from doorbell import build, paths
from doorbell.errors import UserError
from doorbell.synth.measuring import Result, measure
from doorbell.synth.records import (
    HEADS,
    growth,
    path_line,
    placed_lines,
    read_records,
    record_key,
    rows,
    write_document,
    write_records,
)
from doorbell.synth.timing import clock, place
from doorbell.ui import check_result, write_json


def show(result: Result, number: int) -> None:
    """The table and the longest paths."""
    from rich.console import Console
    from rich.table import Table

    plain = result.plain(keep=number or 10)
    table = Table(title=record_key(result.top, result.target, result.params))
    table.add_column("module, without those inside it")
    for head in ("instances", *HEADS):
        table.add_column(head, justify="right")
    lines = rows(plain)
    sums = 1 if plain["total"] == plain["without_cpu"] else 2
    for i, line in enumerate(lines):
        table.add_row(*line, end_section=i == len(lines) - sums - 1)
    console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
    console.print(table)
    for p in plain["paths"]:
        console.print(path_line(p), soft_wrap=True, markup=False)


def parse_params(given: list[str], data_w: int) -> dict[str, int]:
    result = {"DATA_W": data_w}
    for text in given:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or not value.isdecimal():
            raise UserError(f"--param {text}: must look like NUM_QP=32")
        result[name] = int(value)
    return result


def clocks(
    top: str, params: dict[str, int], modules: list[str], number: int, json_file: Path | None, record: bool
) -> None:  # fmt: skip
    """Clocks after place and route: of modules alone, of the top itself as a whole."""
    alone: dict[str, float] = {}
    whole: dict[str, Any] = {}
    for module in modules:
        if module == top:
            whole[record_key(top, "ecp5", params)] = found = place(top, params, number).plain()
            text = "\n".join(placed_lines(found))
        else:
            key = " ".join([top, module, *record_key("", "", params).split()])
            alone[key] = clock(top, params, module)
            text = f"{module}: {alone[key]} MHz on ECP5, alone"
        if str(json_file) != "-":
            print(text)
    if json_file is not None:
        write_json(json_file, {"clocks": alone, "placed": whole})
    if record:
        records = read_records()
        for name, more in (("clocks", alone), ("placed", whole)):
            records[name] = dict(sorted({**records.get(name, {}), **more}.items()))
        write_records(records)
        write_document(records)


def main(
    top: str = typer.Option("db_ssd", help="The top to synthesise."),
    target: str = typer.Option("xcup", help="xcup (UltraScale+), xc7 or ecp5."),
    data_w: int = typer.Option(256, help="Width of its data path in bits: 128, 256 or 512."),
    param: list[str] = typer.Option([], "--param", metavar="NAME=VALUE", help="Another parameter of the top."),  # noqa: B008
    only: list[str] = typer.Option([], "--only", metavar="MODULE", help="Only the area of this module."),  # noqa: B008
    number: int | None = typer.Option(
        None, "--paths", min=1, help="How many of the longest paths to show: 10, of a top placed and routed 3."
    ),
    clock_of: list[str] = typer.Option(  # noqa: B008
        [], "--clock", metavar="MODULE", help="Only place and route this module alone on ECP5; the top: as a whole."
    ),
    json_file: Path | None = typer.Option(
        None, "--json", metavar="FILE", help="Write the figures to FILE, - for stdout."
    ),
    check: bool = typer.Option(False, "--check", help="Fail if a module has grown beyond what syn/area.json records."),
    record: bool = typer.Option(False, "--record", help="Write the figures to syn/area.json and docs/area.md."),
) -> None:
    """LUT, FF, BRAM, DSP by module and the levels of logic between registers, from yosys.

    What is mapped once is kept, so a change costs only the modules that it touches. A few minutes the first time.
    """
    check_result(json_file)
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w {data_w}: must be 128, 256 or 512")
    if record and paths.INSTALLED:
        raise UserError("--record writes into a clone of the repository: an installed Doorbell is none")
    if record and only:
        raise UserError("--record needs the whole top: leave out --only")
    params = parse_params(param, data_w)
    build.check_params(top, params)
    key = record_key(top, target, params)
    if clock_of:
        if target != "ecp5":
            raise UserError("--clock needs --target ecp5: there is no place and route for the others here")
        if check:
            raise UserError("--check compares areas: leave out --clock")
        clocks(top, params, clock_of, number or 3, json_file, record)
        return
    result = measure(top, target, params, only, show=sys.stderr.isatty())
    if json_file is not None:
        write_json(json_file, {"name": key, **result.plain(keep=number or 10)})
    if json_file is None or str(json_file) != "-":
        show(result, number or 10)
    records = read_records()
    if check:
        if key not in records:
            raise UserError(f"syn/area.json has no record of {key}: --record makes one")
        if grown := growth(result, records[key], depth=not only):
            print("\n".join(grown), file=sys.stderr)
            raise UserError(f"{key} has grown; if that is meant, run it again with --record", status=1)
    if record:
        records[key] = result.plain()
        write_records(records)
        write_document(records)
