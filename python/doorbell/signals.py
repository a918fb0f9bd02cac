# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: it leaves nothing behind, no process and no file."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP end this process the way Ctrl-C does: through every `finally`. One that is ignored, as nohup
    has it, still is.
    """

    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    heard = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is not signal.SIG_IGN]
    before = {s: signal.signal(s, stop) for s in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
