# SPDX-License-Identifier: Apache-2.0
"""What the tests of db_csd share: a drive, the ciphertext that the `cryptography` package makes, single commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.soak.machine import MEMORY_PARAMS
from doorbell.soak.machine import PARAMS as SOAKED
from traffic import MakeDrive

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: E402

NUM_NS = 6
PARAMS = {"NUM_NS": NUM_NS, **SOAKED["db_csd"], **MEMORY_PARAMS}
"""With card memory, and namespaces of memory and programs, of which a host without `all_sets` sees nothing."""
MEMORY_LOG2 = PARAMS["CMB_LOG2"]
PLAIN = {name: value for name, value in PARAMS.items() if name not in ("CMB_LOG2", "SLM")}
"""What several functions have, so that both are tested; see csd_functions.py."""
NARROW: dict[str, Any] = {"data_w": 128, "link": "gen3x4"}
"""What db_csd is tested with where no width matters: half the AES to build and to simulate. A soak has the same."""


def csd(make_drive: MakeDrive, queues: int = 2, all_sets: bool = False, **options: Any) -> Driver:
    drive = make_drive(top="db_csd", **{"params": PARAMS, **NARROW, **options})
    drive.start(queues=queues, entries=64, all_sets=all_sets)
    return drive


def ctr(key: bytes, iv: bytes, offset: int, data: bytes, nsid: int = 1) -> bytes:
    counter = (int.from_bytes(iv, "big") + offset // 16 + (nsid - 1 << 120)) % (1 << 128)
    return Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(16, "big"))).encryptor().update(data)


def xts(key1: bytes, key2: bytes, lba: int, data: bytes, block: int = 512) -> bytes:
    out = b""
    for i in range(0, len(data), block):
        tweak = (lba + i // block).to_bytes(16, "little")
        out += Cipher(algorithms.AES(key1 + key2), modes.XTS(tweak)).encryptor().update(data[i : i + block])
    return out


def io(
    drive: Driver, opcode: int, slba: int, blocks: int, data: bytes | None = None, *, nsid: int = 1, qid: int = 1
) -> tuple[Command, bytes]:
    """One command, waited for, and what is in its buffer then."""
    buffer = drive.buffer(blocks * drive.block_size)
    buffer.write(data if data is not None else b"\xa5" * buffer.size)
    command = drive.submit(qid, opcode, slba, blocks - 1, buffer, nsid=nsid)
    drive.wait([command])
    out = buffer.read()
    buffer.free()
    return command, out


def cut_off(
    drive: Driver, commands: dict[int, list[Command]], cycles: int, gone: Callable[[], None] = lambda: None
) -> None:
    """So many cycles after the doorbells of queues 1 and 2 the last command of queue 1 is aborted, and queue 2 deleted
    and made anew; those of queue 1 end. gone: called when the host has been told that queue 2 is no more."""
    drive.ring()
    drive.advance(cycles)
    drive.abort(1, commands[1][-1].cid)
    drive.delete_sq(2)
    gone()
    drive.create_sq(2, 64, 2)
    drive.wait(commands[1])


def put(drive: Driver, slba: int, data: bytes, *, nsid: int = 1) -> None:
    io(drive, NvmOpc.WRITE, slba, len(data) // drive.block_size, data, nsid=nsid)[0].check()


def get(drive: Driver, slba: int, blocks: int, *, nsid: int = 1) -> bytes:
    command, data = io(drive, NvmOpc.READ, slba, blocks, nsid=nsid)
    command.check()
    return data


def rates_of(page: str) -> dict[str, list[tuple[str, str]]]:
    """Rows of a page of docs/csd that have rates, by name: GB/s and per cent on the link, a pair for each size."""
    text = (Path(__file__).parents[2] / "docs" / "csd" / page).read_text()
    rows = re.finditer(r"^\| ([^|]+) \|.* GB/s, .*$", text, re.M)
    return {row[1]: re.findall(r"([\d.]+) GB/s, ([\d.]+)%", row[0]) for row in rows}
