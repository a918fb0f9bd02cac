# SPDX-License-Identifier: Apache-2.0
"""An SSD's owner lends db_vcsd a queue pair of it (docs/vcsd/hand-over.md).

    owner = SsdOwner(driver_of_the_ssd)
    owner.start()
    owner.lend(pf, ssd=0, window=bar2)  # creates a queue pair in the card's window of SSD 0 and hands it over
    owner.get_back(pf, ssd=0)           # the card is done with it; the queue pair is deleted

`pf` is the driver of the card's PF. `hand_over` and the others are the bare commands; `..._try` leave the status to the
caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from doorbell.nvme.commands import Command, NvmeError
from doorbell.nvme.constants import CC_EN, CREATE_Q_PC, AdminOpc, Feature, Reg
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import doorbell_offset
from doorbell.nvme.vendor import SsdAction, VendorOpc
from doorbell.nvme.vendor import SsdOwner as Owner

WINDOW_BYTES = 64 << 20
"""BAR 2 has so many for each SSD."""
IO_SQ, IO_CQ = 0x10_0000, 0x20_0000
"""Where the queues of the pair are in the SSD's window."""


@dataclass(frozen=True)
class QueuePair:
    """What is handed over. Doorbells are offsets in BAR 0 of the SSD; max_transfer is in bytes (0: no limit)."""

    qid: int
    entries: int
    sq_doorbell: int
    cq_doorbell: int
    nsid: int
    block_size: int
    blocks: int
    max_transfer: int = 0

    def dwords(self, ssd: int) -> dict[str, int]:
        transfer = self.max_transfer.bit_length() - 1 if self.max_transfer else 31
        return {
            "cdw10": SsdAction.HAND_OVER | ssd << 8 | self.block_size.bit_length() - 1 << 12 | transfer << 16,
            "cdw11": self.entries - 1 << 16 | self.qid,
            "cdw12": self.sq_doorbell,
            "cdw13": self.cq_doorbell,
            "cdw14": self.blocks & 0xFFFFFFFF,
            "cdw15": self.blocks >> 32,
        }


@dataclass(frozen=True)
class State:
    """Of an SSD, as the card knows it. most_entries: of a queue that is handed over."""

    owner: Owner
    present: bool
    up: bool
    most_entries: int


def state(pf: Driver, ssd: int) -> State:
    word = pf.admin(VendorOpc.SSD, cdw10=SsdAction.GET | ssd << 8).dw0
    return State(Owner(word & 7), bool(word >> 4 & 1), bool(word >> 5 & 1), 1 << (word >> 8 & 15))


def hand_over_try(pf: Driver, ssd: int, pair: QueuePair) -> Command:
    return pf.admin_try(VendorOpc.SSD, nsid=pair.nsid, **pair.dwords(ssd))


def hand_over(pf: Driver, ssd: int, pair: QueuePair) -> None:
    """Of an SSD that nobody has; the card uses the queue pair at once."""
    hand_over_try(pf, ssd, pair).check()


def take_back_try(pf: Driver, ssd: int) -> Command:
    return pf.admin_try(VendorOpc.SSD, cdw10=SsdAction.TAKE_BACK | ssd << 8)


def take_back(pf: Driver, ssd: int) -> None:
    """When it returns the card touches the SSD no more. One that the card had brought up itself is shut down."""
    take_back_try(pf, ssd).check()


def bring_up_try(pf: Driver, ssd: int) -> Command:
    return pf.admin_try(VendorOpc.SSD, cdw10=SsdAction.BRING_UP | ssd << 8)


def bring_up(pf: Driver, ssd: int) -> None:
    """The card brings it up itself, and has it until it is taken back."""
    bring_up_try(pf, ssd).check()


class SsdOwner:
    """Who owns an SSD: its registers, its admin queue, and all of its queues but the one that is lent.

    `drive`: a driver whose back end is the SSD, with memory of its own.
    """

    def __init__(self, drive: Driver) -> None:
        self.drive = drive
        self._lent: int | None = None

    def start(self) -> None:
        """From whatever it was to an admin queue and what Identify says."""
        drive = self.drive
        if drive.read32(Reg.CC) & CC_EN:
            drive.disable()
        drive.enable()
        drive.identify_all()
        drive.set_features(Feature.NUM_QUEUES, 0)
        self._lent = None

    def queue_pair(self, qid: int, entries: int) -> QueuePair:
        """What the card is to know of a queue pair of this SSD."""
        drive, cap, ns = self.drive, self.drive.cap, self.drive.namespace
        assert cap and ns
        return QueuePair(
            qid, entries, doorbell_offset(qid, False, cap.dstrd), doorbell_offset(qid, True, cap.dstrd), drive.nsid,
            drive.block_size, ns.nsze, drive.max_transfer,
        )  # fmt: skip

    def create(self, window: int, qid: int, entries: int) -> None:
        """A queue pair whose queues lie in the card; the completion queue has no interrupt."""
        size = entries - 1 << 16 | qid
        self.drive.admin(AdminOpc.CREATE_CQ, prp1=window + IO_CQ, cdw10=size, cdw11=CREATE_Q_PC)
        self.drive.admin(AdminOpc.CREATE_SQ, prp1=window + IO_SQ, cdw10=size, cdw11=qid << 16 | CREATE_Q_PC)

    def delete(self, qid: int) -> None:
        self.drive.admin(AdminOpc.DELETE_SQ, cdw10=qid)
        self.drive.admin(AdminOpc.DELETE_CQ, cdw10=qid)

    def lend(self, pf: Driver, ssd: int, window: int, *, qid: int = 1, entries: int | None = None) -> QueuePair:
        """Create a queue pair and hand it over. window: bus address of BAR 2 of the card. entries: None: as many as
        both allow. NvmeError: the card does not take it, and it is deleted again."""
        cap = self.drive.cap
        assert cap
        most = min(state(pf, ssd).most_entries, cap.mqes + 1)
        pair = self.queue_pair(qid, entries or 1 << most.bit_length() - 1)
        self.create(window + ssd * WINDOW_BYTES, qid, pair.entries)
        before, self._lent = self._lent, qid
        try:
            hand_over(pf, ssd, pair)
        except NvmeError:
            self._lent = before
            self.delete(qid)
            raise
        return pair

    def get_back(self, pf: Driver, ssd: int) -> None:
        """Take it back and delete it."""
        take_back(pf, ssd)
        if self._lent is not None:
            self.delete(self._lent)
        self._lent = None
