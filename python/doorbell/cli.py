# SPDX-License-Identifier: Apache-2.0
"""The command line. A command's module is imported only when it is the one that runs."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from doorbell import __version__, paths
from doorbell.errors import UserError

# name: (module, function, pass unknown options on, one line for the list)
COMMANDS: dict[str, tuple[str, str, bool, str]] = {
    "demo": ("doorbell.demo", "main", False, "Bring up the SSD in simulation, write and verify data, show how fast."),
    "test": ("doorbell.testing", "main", True, "Lint, then run all tests."),
    "bench": ("doorbell.bench", "main", False, "Run fio jobs against a top, in simulated time."),
    "serve": ("doorbell.serve", "main", False, "Offer a top as a vfio-user PCIe device to QEMU and other clients."),
    "vm": ("doorbell.vm", "main", False, "Boot Linux with a top as its NVMe drive."),
    "lint": ("doorbell.lint", "main", False, "Check RTL and Python with Verilator, Verible and Ruff."),
    "build": ("doorbell.build", "main", False, "Build the registers, firmware and simulator; print where they are."),
}

EPILOG = "Example: ./doorbell demo      Help on one command: ./doorbell demo --help"


def load(name: str) -> Callable[..., Any]:
    """The function that runs command `name`."""
    module, function, _, _ = COMMANDS[name]
    try:
        return getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as e:
        if e.name == module:
            raise UserError(f"the command '{name}' is not part of this version ({module} is missing)") from e
        raise


def parses_itself(command: Callable[..., Any]) -> bool:
    """True for a command that takes its whole argument list (`main(argv)`) and returns its exit status."""
    return next(iter(inspect.signature(command).parameters), "") == "argv"


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
        epilog=EPILOG,
    )

    @app.callback(invoke_without_command=True)
    def top(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
        if version:
            print(f"doorbell {__version__}")
            raise typer.Exit()

    for name, (_, _, pass_on, summary) in COMMANDS.items():
        settings = {"ignore_unknown_options": True, "allow_extra_args": True} if pass_on else {}
        app.command(name, short_help=summary, context_settings=settings)(function if name == wanted else stub)
    return app


def wanted_command(argv: list[str]) -> str | None:
    """The command's name: the first word that is not an option."""
    return next((a for a in argv if not a.startswith("-")), None)


def call(argv: list[str]) -> Any:
    """Find the command and run it."""
    wanted = wanted_command(argv)
    function = load(wanted) if wanted in COMMANDS else stub
    if wanted and argv[0] == wanted and parses_itself(function):
        return function(argv[1:])
    return make_app(wanted, function)(args=argv, prog_name="doorbell", standalone_mode=False)


def run(argv: list[str]) -> int:
    """Run one command line; return the exit status. Every failure is one line on stderr."""
    try:
        result = call(argv)
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; nothing more to say to it
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
        return fail(f"internal error: {type(e).__name__}: {e} ({save_trace()})", 1)


def fail(message: str, status: int) -> int:
    sys.stdout.flush()
    print("doorbell: " + " ".join(message.split()), file=sys.stderr)
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
