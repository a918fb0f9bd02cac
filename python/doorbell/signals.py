# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: it leaves nothing behind, no process and no file."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP end this process the way Ctrl-C does: through every `finally`."""

    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
