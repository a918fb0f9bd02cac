# SPDX-License-Identifier: Apache-2.0
"""Tests that begin with the same drive, whose set-up takes long, begin with copies of the process that it is in."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

PASSED = "passed"
NONE = any(os.environ.get(f"DOORBELL_{word}") for word in ("COVERAGE", "WAVE"))
"""Each test is looked at by itself, so each sets up its own drive, and all run."""


def scope(name: str) -> Any:
    """Of a fixture that sets a drive up: `name`, or that of a test."""
    return "function" if NONE else name


def in_a_copy(test: Callable[[], object]) -> None:
    """Call `test` in a copy of this process, so that nothing here is changed by it. Raises what it raised, as text."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        said = PASSED
        try:
            test()
        except BaseException:  # the copy may not go on with what is not its own
            said = traceback.format_exc()
        finally:
            with os.fdopen(write, "w") as pipe:
                pipe.write(said)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if said != PASSED:
        raise AssertionError(said or f"the copy of the process ended with status {status}")
