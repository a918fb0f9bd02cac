# SPDX-License-Identifier: Apache-2.0
"""`./doorbell key`: a key as `db_csd` takes it, and the nvme-cli lines that load it and encrypt a namespace.

It talks to no drive: the lines are for any Linux that has one, a guest of `./doorbell vm` too.
"""

from __future__ import annotations

import os
import shlex
from enum import Enum
from pathlib import Path

import typer

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


def main(
    key_file: Path = typer.Option(  # noqa: B008
        ..., "--key-file", metavar="FILE", help="The key, binary. xts: K1 and K2, 32 or 64 bytes; ctr: 16 or 32."),
    mode: Mode = typer.Option(Mode.xts, help="xts, or ctr: only for data written once."),
    slot: int = typer.Option(1, min=1, max=15, help="Key slot of the drive."),
    namespace: int = typer.Option(1, min=1, max=0xFFFFFFFF, help="Namespace to encrypt; 4294967295: all."),
    iv: str = typer.Option(None, metavar="HEX", help="ctr: the counter block of byte 0, 32 hexadecimal digits."),
    output: Path = typer.Option(  # noqa: B008
        None, metavar="FILE", help="Where to put the data of Key Load [default: the key file's name with .nvme]."),
    device: str = typer.Option("/dev/nvme0", help="The drive in the printed lines."),
) -> None:
    """Write a key as db_csd takes it; print the two nvme-cli lines that load it and encrypt a namespace with it."""
    try:
        flags, data = pack(mode, key_file.read_bytes(), iv)
    except OSError as e:
        raise UserError(f"cannot read {key_file}: {e.strerror}") from e
    out = output or key_file.with_name(key_file.name + ".nvme")
    if out.exists() and out.samefile(key_file):
        raise UserError(f"{out} is the key itself: name another --output")
    try:
        out.unlink(missing_ok=True)  # one that others can read stays so when it is written again
        with open(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except OSError as e:
        raise UserError(f"cannot write {out}: {e.strerror}") from e
    if mode == Mode.ctr:
        compute.warn_ctr()
    print(*lines(mode, flags, slot, namespace, len(data), out, device), sep="\n")
