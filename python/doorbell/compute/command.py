# SPDX-License-Identifier: Apache-2.0
"""`./doorbell key`: a key as `db_csd` takes it, and the nvme-cli lines to encrypt a namespace."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from doorbell.compute import drive as compute
from doorbell.compute.key import Mode, lines, pack
from doorbell.errors import UserError


def main(
    key_file: Path = typer.Option(  # noqa: B008
        ..., "--key-file", metavar="FILE", help="The key, binary. xts: K1 and K2, 32 or 64 bytes; ctr: 16 or 32."
    ),
    mode: Mode = typer.Option(Mode.xts, help="xts, or ctr: only for data written once."),
    slot: int = typer.Option(1, min=1, max=15, help="Key slot of the drive."),
    namespace: int = typer.Option(1, min=1, max=0xFFFFFFFF, help="Namespace to encrypt; 4294967295: all."),
    iv: str = typer.Option(None, metavar="HEX", help="ctr: the counter block of byte 0, 32 hexadecimal digits."),
    output: Path = typer.Option(  # noqa: B008
        None, metavar="FILE", help="Where to put the data of Key Load [default: the key file's name with .nvme]."
    ),
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
