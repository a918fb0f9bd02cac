# SPDX-License-Identifier: Apache-2.0
"""`./doorbell key`: a key as `db_csd` takes it, and the nvme-cli lines that load it and encrypt a namespace.

It talks to no drive: the lines are for any Linux that has one, a guest of `./doorbell vm` too.
"""

from __future__ import annotations

import shlex
from enum import Enum
from pathlib import Path

from doorbell.compute import drive as compute
from doorbell.errors import UserError
from doorbell.nvme.vendor import Op, VendorOpc


class Mode(str, Enum):  # noqa: UP042 - typer wants the names
    xts = "xts"
    ctr = "ctr"


def pack(mode: Mode, key: bytes, iv: str | None) -> tuple[int, bytes]:
    """CDW10 without the slot, and the data, from what the user gave."""
    halves = 2 if mode == Mode.xts else 1
    if len(key) not in (16 * halves, 32 * halves):
        raise UserError(f"the key has {len(key)} bytes: {mode.value} needs {16 * halves} or {32 * halves}, not as text")
    if mode == Mode.xts:
        if iv is not None:
            raise UserError("--iv is for --mode ctr: in XTS the number of the block is the tweak")
        k1, k2 = key[: len(key) // 2], key[len(key) // 2 :]
        if k1 == k2:
            raise UserError("both halves of the key are the same: the drive refuses that for XTS")
        return compute.key_data(k1, k2)
    try:
        raw = bytes.fromhex(iv or "")
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise UserError("--mode ctr needs --iv with 32 hexadecimal digits")
    return compute.key_data(key, None, raw)


def lines(mode: Mode, flags: int, slot: int, nsid: int, size: int, file: Path, device: str) -> list[str]:
    """The two commands."""
    op = Op.AES_XTS if mode == Mode.xts else Op.AES_CTR
    nvme = f"nvme admin-passthru {shlex.quote(device)}"
    data = f"--data-len={size} --input-file={shlex.quote(str(file))}"
    return [
        f"{nvme} --opcode={VendorOpc.KEY_LOAD:#x} --cdw10={flags | slot:#x} {data} --write",
        f"{nvme} --opcode={VendorOpc.BIND:#x} --namespace-id={nsid} --cdw10={op | slot << 8:#x}",
    ]
