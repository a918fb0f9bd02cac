# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGHUP end a command through every `finally`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell.cli import main as cli
from doorbell.errors import UserError
from doorbell.fuzz import command as fuzz
from doorbell.qemu import root
from doorbell.record import command as record
from doorbell.signals import signals_raise
from doorbell.soak import command as soak


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """Whatever these tests were started by: below nohup SIGHUP is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def nohup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended, signals_raise():
        signal.raise_signal(number)
    assert ended.value.code == 128 + number and signal.getsignal(number) == before


def test_what_nohup_ignores_stays_ignored(nohup: None) -> None:
    with signals_raise():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


LEAVING = [
    ("fuzz files", fuzz, "run"), ("soak --top db_ssd", soak, "play"), ("vm --run {script}", root, "ensure"),
    ("vm --guests 2 --run {script}", root, "ensure"), ("record {script}", record, "Session"),
]  # fmt: skip
"""A function that is called while there is a folder in /tmp or in RAM, a process that would go on, or an open drive."""


@pytest.mark.parametrize(("line", "module", "name"), LEAVING, ids=[line.split()[0] for line, _, _ in LEAVING])
def test_commands_that_would_leave_something_hear_it(
    line: str, module: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals = (signal.SIGTERM, signal.SIGHUP)
    before, script, heard = [signal.getsignal(s) for s in signals], tmp_path / "script", list[bool]()
    script.touch()

    def stand_in(*_: object, **__: object) -> None:
        heard.append(all(signal.getsignal(s) != b for s, b in zip(signals, before)))
        raise UserError("far enough")

    monkeypatch.setattr(module, name, stand_in)
    assert cli.run(line.format(script=script).split()) == 2
    assert heard == [True] and [signal.getsignal(s) for s in signals] == before
