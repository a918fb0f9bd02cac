# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm --guests N`: what becomes of several guests' output and exit statuses; guests are tests/system's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorbell.errors import UserError
from doorbell.vm import guests
from doorbell.vm.guest import FAILED, Guest


class Stand:
    """In the place of a guest and of the device server: it says a line if its script is not empty, and has ended."""

    def __init__(self, guest: Guest, args: list[str], sink: Callable[[bytes], None] | None = None, **_: Any) -> None:
        self._sink = sink
        self._script = b""

    def start_server(self, path: Path) -> None: ...
    def kill(self) -> None: ...

    def stop_server(self) -> int:
        return 0

    def server_ended(self) -> bool:
        return False

    def launch(self, root: object, work: Path, script: bytes, accel: str, log: Path) -> tuple[()]:
        self._script = script
        return ()

    def follow(self) -> int:
        assert self._sink
        if self._script == b"late":
            raise UserError("the guest did not finish in 3 s", FAILED)
        if self._script:
            self._sink(self._script)
        return len(self._script)


def session(monkeypatch: pytest.MonkeyPatch, folder: Path, *scripts: bytes) -> int:
    monkeypatch.setattr(guests, "Vm", Stand)
    made = guests.Guests(Guest(), ["script"], len(scripts), [])
    root: Any = None
    return made._session(root, folder, list(scripts), "tcg")


def test_the_worst_exit_status_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert session(monkeypatch, tmp_path, b"", b"abc\n", b"x") == 4
    (tmp_path / "again").mkdir()
    assert session(monkeypatch, tmp_path / "again", b"", b"late") == FAILED
    said = capfdbinary.readouterr()
    assert (
        sorted(said.out.splitlines()) == [b"2: abc", b"3: x"]
        and b"guest 2: the guest did not finish in 3 s" in said.err
    )


@pytest.mark.parametrize("text", [b"abc\n", b"abc"], ids=["line", "no line end"])
def test_output_that_is_lost_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: bytes
) -> None:
    """A full disk is the matter of the guest that says something; the other one ends with 0."""
    full = open("/dev/full", "w")  # noqa: SIM115 - what is in its buffer cannot be written when it is closed either
    monkeypatch.setattr(sys, "stdout", full)
    status = session(monkeypatch, tmp_path, text, b"")
    monkeypatch.undo()
    with pytest.raises(OSError):
        full.close()
    assert status == FAILED
    assert "doorbell: guest 1: its output cannot be written: No space left on device" in capfd.readouterr().err
