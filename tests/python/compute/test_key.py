# SPDX-License-Identifier: Apache-2.0
"""`./doorbell key`: what it prints and writes is the command that `compute` sends; and the warning about CTR."""

from __future__ import annotations

import re
import shlex
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doorbell.cli import main as cli
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op

KEY = bytes(range(64))
IV = bytes(range(0xF0, 0x100))


class Wire:
    """Instead of a drive: keeps the admin commands."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def buffer(self, size: int) -> Any:
        self.data = bytes(size)
        return SimpleNamespace(write=lambda data: self.put(data), free=lambda: None)

    def put(self, data: bytes) -> None:
        self.data = data

    def admin_try(self, opcode: int, *, buffer: Any = None, **fields: int) -> Any:
        self.sent.append({"opcode": opcode, **fields} | ({"data": self.data} if buffer else {}))
        return SimpleNamespace(check=lambda: None)

    admin = admin_try


def printed(line: str) -> dict[str, Any]:
    """What nvme-cli would send for a line."""
    words = shlex.split(line)
    assert words[:2] == ["nvme", "admin-passthru"]
    options = dict(re.fullmatch(r"--([a-z0-9-]+)(?:=(.*))?", w).groups() for w in words[3:])  # type: ignore[union-attr]
    out: dict[str, Any] = {"device": words[2]}
    out |= {k.replace("namespace-id", "nsid"): int(v, 0) for k, v in options.items() if v and k != "input-file"}
    if "input-file" in options:
        assert "write" in options
        out["data"] = Path(options["input-file"]).read_bytes()
        assert len(out["data"]) == out.pop("data-len")
    return out


@pytest.mark.parametrize(("mode", "size"), [("xts", 64), ("xts", 32), ("ctr", 32), ("ctr", 16)])
def test_same_as_compute(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "_warned", False)
    file = tmp_path / "a key"
    file.write_bytes(KEY[:size])
    iv = ["--iv", IV.hex()] if mode == "ctr" else []
    arguments = ["--slot", "7", "--namespace", "3", "--device", "/dev/nvme1"]
    assert cli.run(["key", "--key-file", str(file), "--mode", mode, *iv, *arguments]) == 0
    out, err = capfd.readouterr()
    assert err == (f"doorbell: warning: {compute.CTR_WARNING}\n" if mode == "ctr" else "")
    wire = Wire()
    if mode == "xts":
        compute.load_key(wire, 7, KEY[: size // 2], KEY[size // 2 : size])  # type: ignore[arg-type]
        compute.bind(wire, 3, Op.AES_XTS, 7)  # type: ignore[arg-type]
    else:
        compute.load_key(wire, 7, KEY[:size], None, IV)  # type: ignore[arg-type]
        compute.bind(wire, 3, Op.AES_CTR, 7)  # type: ignore[arg-type]
    assert capfd.readouterr().err == ""  # said once
    load, bind = (printed(line) for line in out.splitlines())
    assert load.pop("device") == bind.pop("device") == "/dev/nvme1"
    assert load == wire.sent[0] and len(load["data"]) == 80
    assert bind == {k: v for k, v in wire.sent[1].items() if v}
    assert stat.S_IMODE((tmp_path / "a key.nvme").stat().st_mode) == 0o600 and file.read_bytes() == KEY[:size]


def test_natural_order(tmp_path: Path) -> None:
    """docs/csd/integration.md: K1 and K2 in 32 bytes each, then the IV."""
    assert compute.key_data(KEY[:16], KEY[16:32]) == (1 << 10, KEY[:16] + bytes(16) + KEY[16:32] + bytes(32))
    assert compute.key_data(KEY[:32], None, IV) == (1 << 9 | 1 << 8, KEY[:32] + bytes(32) + IV)


@pytest.mark.parametrize(
    ("size", "arguments", "text"),
    [
        (63, [], "63 bytes"), (64, ["--mode", "ctr", "--iv", "00" * 16], "64 bytes"), (32, ["--mode", "ctr"], "--iv"),
        (32, ["--mode", "ctr", "--iv", "zz" * 16], "--iv"), (64, ["--iv", "00" * 16], "--mode ctr"),
        (64, ["--slot", "16"], "slot"), (64, ["--output", "/nowhere/at/all"], "cannot write"), (0, [], "cannot read"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str], size: int, arguments: list[str], text: str) -> None:
    file = tmp_path / "key"
    if size:
        file.write_bytes(KEY[:size])
    assert cli.run(["key", "--key-file", str(file), *arguments]) != 0
    out, err = capfd.readouterr()
    assert not out and text in err and err.count("\n") == 1 and not (tmp_path / "key.nvme").exists()


def test_equal_halves_and_its_own_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "key"
    file.write_bytes(KEY[:32] * 2)
    assert cli.run(["key", "--key-file", str(file)]) != 0 and "same" in capfd.readouterr().err
    file.write_bytes(KEY)
    assert cli.run(["key", "--key-file", str(file), "--output", str(file)]) != 0 and file.read_bytes() == KEY
