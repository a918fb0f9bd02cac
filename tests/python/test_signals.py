# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGHUP end a command through every `finally`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from doorbell.signals import signals_raise


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
