# SPDX-License-Identifier: Apache-2.0
"""`doorbell synth`: area by module and logic depth, from yosys; clock after place and route on ECP5.

The top is read once (ours by read_slang, the admin processor by read_verilog). What lies in rtl/common becomes part
of the module that uses it; every other module is mapped alone, the modules inside it as black boxes, and the result
kept in the cache by its content, so that a change costs only the modules that it touches. Areas are sums; depth is
found on all mapped modules put together again.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import typer

from doorbell import build, paths
from doorbell.errors import UserError
from doorbell.synth.measuring import Result, measure
from doorbell.synth.records import (
    HEADS,
    growth,
    path_line,
    read_records,
    record_key,
    rows,
    write_document,
    write_records,
)
from doorbell.synth.timing import clock


def show(result: Result, number: int) -> None:
    """The table and the longest paths."""
    from rich.console import Console
    from rich.table import Table

    plain = result.plain(keep=number)
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


def main(
    top: str = typer.Option("db_ssd", help="The top to synthesise."),
    target: str = typer.Option("xcup", help="xcup (UltraScale+), xc7 or ecp5."),
    data_w: int = typer.Option(256, help="Width of its data path in bits: 128, 256 or 512."),
    param: list[str] = typer.Option([], "--param", metavar="NAME=VALUE", help="Another parameter of the top."),  # noqa: B008
    only: list[str] = typer.Option([], "--only", metavar="MODULE", help="Only the area of this module."),  # noqa: B008
    number: int = typer.Option(10, "--paths", help="How many of the longest paths to show."),
    clock_of: list[str] = typer.Option(  # noqa: B008
        [], "--clock", metavar="MODULE", help="Place and route this module alone on ECP5 (minutes); print MHz."
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
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w {data_w}: must be 128, 256 or 512")
    if record and paths.INSTALLED:
        raise UserError("--record writes into a clone of the repository: an installed Doorbell is none")
    if record and only:
        raise UserError("--record needs the whole top: leave out --only")
    params = parse_params(param, data_w)
    build.check_params(top, params)
    key = record_key(top, target, params)
    clocks = {}
    if clock_of:
        if target != "ecp5":
            raise UserError("--clock needs --target ecp5: there is no place and route for the others here")
        for module in clock_of:
            clocks[f"{top} {module} DATA_W={data_w}"] = clock(top, params, module)
            if json_file is None:
                print(f"{module}: {clocks[f'{top} {module} DATA_W={data_w}']} MHz on ECP5, alone")
    result = measure(top, target, params, only, show=sys.stderr.isatty())
    if json_file is not None:
        text = json.dumps({"name": key, **result.plain(keep=number), "clocks": clocks}, indent=2)
        if str(json_file) == "-":
            print(text)
        else:
            try:
                json_file.write_text(text + "\n")
            except OSError as e:
                raise UserError(f"cannot write {json_file}: {e.strerror}") from e
    if json_file is None or str(json_file) != "-":
        show(result, number)
    records = read_records()
    if check:
        if key not in records:
            raise UserError(f"syn/area.json has no record of {key}: --record makes one")
        if grown := growth(result, records[key], depth=not only):
            print("\n".join(grown), file=sys.stderr)
            raise UserError(f"{key} has grown; if that is meant, run it again with --record", status=1)
    if record:
        records[key] = result.plain()
        if clocks:
            records["clocks"] = dict(sorted({**records.get("clocks", {}), **clocks}.items()))
        write_records(records)
        write_document(records)
