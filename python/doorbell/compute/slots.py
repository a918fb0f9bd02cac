# SPDX-License-Identifier: Apache-2.0
"""Slots of near-storage operators (docs/csd/slots.md): what is in them, who may use them, and bitstreams for them.

    slots.exchange(pf, slot=0, at=0)    # a bitstream that lies at byte 0 of the PF's card memory
    slots.get(pf).operators             # (1, 0, 3)

All are commands of the PF; `..._try` leaves the status to the caller.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from doorbell.compute.near import crc32c
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import SlotAction, VendorOpc

MAGIC = 0x504F4244
VERSION = 1
HEADER_BYTES = 64


def bitstream(operator: int, slot: int, words: bytes, *, shell: int = 0) -> bytes:
    """A file for an exchange: words for the configuration port, a multiple of 64 bytes, behind the header of 64 bytes.

    shell: parameter NEAR_SHELL of the design that it was made for.
    """
    if not words or len(words) % HEADER_BYTES:
        raise UserError(
            f"a bitstream has a multiple of {HEADER_BYTES} bytes, not {len(words)}: fill it up with NOP words"
        )
    what = VERSION | operator << 8 | slot << 12 | shell << 16
    head = struct.pack("<3I", MAGIC, what, len(words))
    rest = bytes(HEADER_BYTES - 16) + words
    return head + struct.pack("<I", crc32c(head + bytes(4) + rest)) + rest


@dataclass(frozen=True)
class Slots:
    """What is in each slot: an operator, or 0."""

    operators: tuple[int, ...]

    @staticmethod
    def of(word: int) -> Slots:
        """Dword 0 of command D4h."""
        return Slots(tuple(word >> 4 * s & 15 for s in range(word >> 28)))


def _command(drive: Driver, action: SlotAction, cdw10: int = 0, cdw11: int = 0) -> Command:
    return drive.admin_try(VendorOpc.SLOTS, cdw10=action | cdw10, cdw11=cdw11)


def get(drive: Driver) -> Slots:
    return Slots.of(_command(drive, SlotAction.GET).check().dw0)


def exchange_try(drive: Driver, slot: int, at: int) -> Command:
    """The bitstream at byte `at` of the PF's card memory goes to a slot. Dword 0: SlotError."""
    return _command(drive, SlotAction.EXCHANGE, slot << 8, at)


def exchange(drive: Driver, slot: int, at: int) -> None:
    exchange_try(drive, slot, at).check()


def share(drive: Driver, slots: int, cntlid: int = 0) -> None:
    """A function may use the slots of these bits."""
    _command(drive, SlotAction.SHARE, slots << 8, cntlid).check()


def library(drive: Driver, at: int, stride: int, hold_cycles: int = 0) -> None:
    """From byte `at` of the PF's card memory on are bitstreams that are loaded when they are missed; `place`: where.

    stride: bytes of a place, a power of two, 128 to 2^24; 0: there is no library any more. hold_cycles: what is loaded
    so stays for so many cycles, a multiple of 4096, at least.
    """
    if hold_cycles % 4096 or stride & (stride - 1):
        raise UserError(
            "a library's places are a power of two of bytes, and it holds operators for a multiple of 4096 cycles"
        )
    form = (stride.bit_length() - 1) << 8 if stride else 0
    _command(drive, SlotAction.LIBRARY, form | hold_cycles // 4096 << 16, at).check()


def place(operator: int, slot: int, stride: int) -> int:
    """Where in a library the bitstream of an operator for a slot is."""
    return (8 * (operator - 1) + slot) * stride
