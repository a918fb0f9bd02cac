# SPDX-License-Identifier: Apache-2.0
"""`./doorbell python`: Python with this package on its path, and the environment's tools."""

from __future__ import annotations

import os
import sys

import typer

from doorbell import paths


def main(ctx: typer.Context) -> None:
    """Run Python with the package `doorbell` on its path: a script, -c CODE, -m MODULE, or a prompt.

    All arguments are Python's own.
    """
    paths.put_tools_on_path()
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(paths.ROOT / "python"), env.get("PYTHONPATH")]))
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *ctx.args], env)
