# SPDX-License-Identifier: Apache-2.0
"""Tests that begin with the same drive, whose set-up takes long, begin with copies of the process that it is in."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

PASSED = "passed"


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
