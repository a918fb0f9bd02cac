# SPDX-License-Identifier: Apache-2.0
"""The command line. A command's module is imported only when it is the one that runs."""

from __future__ import annotations

import errno
import functools
import importlib
import math
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

from doorbell import __version__, paths
from doorbell.errors import UserError


@dataclass(frozen=True)
class Subcommand:
    """module: has the function (`main`) that runs it. pass_on: unknown options are the command's own business.
    lists: options that take all words up to the next option. clone: it works on files that only a clone has.
    """

    module: str
    summary: str
    example: str
    pass_on: bool = False
    function: str = "main"
    lists: tuple[str, ...] = ()
    clone: bool = False


COMMANDS = {
    "demo": Subcommand(
        "doorbell.cli.demo",
        "Bring up the SSD in simulation, write and verify data, show how fast.",
        "./doorbell demo --link gen4x8 --data-w 512",
    ),
    "test": Subcommand(
        "doorbell.cli.testing", "Lint, then run all tests.", "./doorbell test -k fifo", pass_on=True, clone=True
    ),
    "bench": Subcommand(
        "doorbell.bench.command",
        "Run fio jobs against a top, in simulated time.",
        "./doorbell bench --rw randread --bs 4k --iodepth 64",
    ),
    "serve": Subcommand(
        "doorbell.vm.command",
        "Offer a top as a vfio-user PCIe device to QEMU and other clients.",
        "./doorbell serve --socket /tmp/nvme.sock --image drive.img",
        function="serve",
        lists=("--images",),
    ),
    "vm": Subcommand(
        "doorbell.vm.command",
        "Boot Linux with a top as its NVMe drive.",
        "./doorbell vm --image drive.img --run script.sh",
        lists=("--images",),
    ),
    "record": Subcommand(
        "doorbell.record.command",
        "Record a file to striped drives through the simulated db_recorder.",
        "./doorbell record data.bin --drives 2 --ssd qemu --images a.img b.img",
        lists=("--images",),
    ),
    "replay": Subcommand(
        "doorbell.record.command",
        "Bring back what was recorded.",
        "./doorbell replay copy.bin --images a.img",
        function="replay",
        lists=("--images",),
    ),
    "key": Subcommand(
        "doorbell.compute.command",
        "A key as db_csd takes it, and the nvme-cli lines to encrypt a namespace.",
        "./doorbell key --key-file key --slot 1 --namespace 1",
    ),
    "sweep": Subcommand(
        "doorbell.sweep.command",
        "Measure a grid of parameters and workloads, on all cores or a Dask cluster.",
        "./doorbell sweep sweeps/blocks.yaml",
    ),
    "watch": Subcommand(
        "doorbell.watch.command",
        "Show on a web page what every bench, serve, vm and sweep of this machine does now.",
        "./doorbell watch",
    ),
    "soak": Subcommand(
        "doorbell.soak.command",
        "Random commands, faults, resets and power cuts against a model; a failure becomes a short script.",
        "./doorbell soak --top db_ssd --minutes 10",
    ),
    "fuzz": Subcommand(
        "doorbell.fuzz.command",
        "Random inputs, guided by coverage, against the RTL, the firmware, the vfio-user server, readers of files.",
        "./doorbell fuzz vfio --minutes 60",
        clone=True,
    ),
    "mutate": Subcommand(
        "doorbell.mutate.command",
        "Change the RTL here and there, and see whether the tests notice.",
        "./doorbell mutate rtl/common --count 40",
        clone=True,
    ),
    "report": Subcommand(
        "doorbell.report.command", "Measure what matters; make one web page with plots of it.", "./doorbell report"
    ),
    "compare": Subcommand(
        "doorbell.bench.compare_command",
        "Compare what the simulators do with a recording, to the cycle.",
        "./doorbell compare --quick",
    ),
    "synth": Subcommand(
        "doorbell.synth.command",
        "Area by module and depth of logic, for an FPGA.",
        "./doorbell synth --top db_ssd --target xcup --data-w 256",
    ),
    "python": Subcommand(
        "doorbell.cli.python",
        "Python with this package on its path: a script, -c CODE, or a prompt.",
        "./doorbell python examples/measure_reads.py",
        pass_on=True,
    ),
    "lint": Subcommand(
        "doorbell.cli.lint", "Check RTL and Python: Verilator, slang, Verible and Ruff.", "./doorbell lint", clone=True
    ),
    "docs": Subcommand(
        "doorbell.docs.command",
        "Build the documentation as a site without a network.",
        "./doorbell docs --out site",
        clone=True,
    ),
    "release": Subcommand(
        "doorbell.release.command",
        "Make an archive that needs no Python (RTL, file lists, FuseSoC cores, firmware, docs, SBOM), and a wheel.",
        "./doorbell release --out /tmp/release",
        clone=True,
    ),
    "clean": Subcommand(
        "doorbell.cli.clean",
        "Empty the cache: what was built, the guest's root, the Python environment.",
        "./doorbell clean",
    ),
    "build": Subcommand(
        "doorbell.build.command",
        "Build the registers, firmware and simulator; print where they are.",
        "./doorbell build --top db_ssd --data-w 512",
    ),
}

EPILOG = "Example: ./doorbell demo      Help on one command: ./doorbell demo --help"


def load(name: str) -> Callable[..., Any]:
    """The function that runs command `name`."""
    if COMMANDS[name].clone and paths.INSTALLED:
        raise UserError(f"'{name}' needs a clone of the repository: an installed Doorbell is none")
    module = COMMANDS[name].module
    try:
        return getattr(importlib.import_module(module), COMMANDS[name].function)
    except ModuleNotFoundError as e:
        if e.name == module:
            raise UserError(f"the command '{name}' is not part of this version ({module} is missing)") from e
        raise


def with_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, where its options are numbers: nan is on neither side of any bound, nor of any time."""

    @functools.wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        for name, value in options.items():
            if isinstance(value, float) and math.isnan(value):
                raise UserError(f"{name.replace('_', '-')} {value}: must be a number")
        return function(*args, **options)

    return checked


def as_called(text: str) -> str:
    """Of an installed Doorbell, `doorbell` is on the PATH and not in the folder where the user is."""
    return text.replace("./doorbell", "doorbell") if paths.INSTALLED else text


def stub() -> None:
    """Stands in for a command that is only listed."""


def make_app(wanted: str | None, function: Callable[..., Any] = stub) -> typer.Typer:
    """The typer application; of its commands only the wanted one does something: `function`."""
    app = typer.Typer(
        name="doorbell",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Doorbell: NVMe hardware in SystemVerilog, and a simulator that lets Linux use it.",
        epilog=as_called(EPILOG),
    )

    @app.callback(invoke_without_command=True)
    def top(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
        if version:
            print(f"doorbell {__version__}")
            raise typer.Exit()

    for name, command in COMMANDS.items():
        settings: dict[str, Any] = {}
        if command.pass_on:
            # What stands behind its first word is the other program's, --help too.
            settings = {"ignore_unknown_options": True, "allow_extra_args": True}
            settings["allow_interspersed_args"] = name != "python"
        register = app.command(
            name,
            short_help=command.summary,
            epilog=as_called(f"Example: {command.example}"),
            context_settings=settings,
            hidden=command.clone and paths.INSTALLED,
        )
        register(with_numbers(function) if name == wanted else stub)
    return app


def wanted_command(argv: list[str]) -> str | None:
    """The command's name: the first word that is not an option."""
    return next((a for a in argv if not a.startswith("-")), None)


def spread(argv: list[str], lists: tuple[str, ...]) -> list[str]:
    """`--images a b` as `--images a --images b`, for options that are lists."""
    out: list[str] = []
    option = ""  # whose further words may come
    for word in argv:
        if option and not word.startswith("-") and out[-1] != option:
            out.append(option)
        elif word.startswith("-"):
            option = word if word in lists else ""
        out.append(word)
    return out


def run(argv: list[str]) -> int:
    """Run one command line; return the exit status. Every failure is one line on stderr."""
    try:
        wanted = wanted_command(argv)
        if wanted in COMMANDS:
            argv = spread(argv, COMMANDS[wanted].lists)
        app = make_app(wanted, load(wanted) if wanted in COMMANDS else stub)
        result = app(args=argv, prog_name="doorbell", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except UserError as e:
        return fail(str(e), e.status)
    except typer.Exit as e:
        return e.exit_code
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else fail(str(e.code), 1) if e.code else 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        nothing_more()
        return 141
    except typer.TyperException as e:
        message = e.format_message()
        if not message or type(e).__name__ == "NoArgsIsHelpError":
            return 2  # the help has been shown
        command = wanted_command(argv)
        known = f" {command}" if command in COMMANDS else ""
        return fail(f"{message.rstrip('.')}: see ./doorbell{known} --help", 2)
    except Exception as e:
        if os.environ.get("DOORBELL_DEBUG"):
            raise
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            return fail(f"no space left on the device of {e.filename or 'what it writes'}: free some and try again", 1)
        return fail(f"internal error: {type(e).__name__}: {e} ({save_trace()})", 1)


def nothing_more() -> None:
    """Nobody takes what is said on stdout, or it is full: what is left of it goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, status: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        nothing_more()
    print("doorbell: " + " ".join(as_called(message).split()), file=sys.stderr)
    return status


def save_trace() -> str:
    """Keep the stack trace of the present exception in a file; say where."""
    try:
        file = paths.cache() / "last-error.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(traceback.format_exc())
        return f"details: {file}"
    except OSError:
        return "DOORBELL_DEBUG=1 shows more"
