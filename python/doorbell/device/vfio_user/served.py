# SPDX-License-Identifier: Apache-2.0
"""What the server needs of a device."""

from __future__ import annotations

from typing import Protocol

from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciState


class ServedDevice(Protocol):
    """The device, as the server drives it. Addresses of registers are offsets in BAR 0."""

    vectors: int

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        """Host memory from `base` is at `pointer` of this process; None: reachable by `dma_next` only."""

    def unmap(self, base: int, size: int) -> None: ...
    def write(self, offset: int, data: bytes) -> None: ...
    def read_start(self, offset: int, size: int) -> int: ...
    def read_poll(self, handle: int) -> bytes | None:
        """The answer once it is there; it comes after some `run`, whatever the device does."""

    def read_forget(self, handle: int) -> None:
        """Nobody will ask for this answer any more."""

    def run(self, cycles: int) -> None:
        """Run; doorbells in the shared page are seen first."""

    idle: bool  # after `run`: nothing will happen until the host does something

    @property
    def intx(self) -> bool: ...
    def dma_fetch(self) -> int:
        """Take out of the device all that its function has asked of the client's memory: while something waits there,
        no function goes on. Bytes that wait for `dma_next`, and for `dma_hold` to end."""

    def dma_hold(self, on: bool) -> None:
        """The client has yet to answer what it was sent: what the function writes or signals behind that waits."""

    def dma_next(self) -> DmaRequest | None: ...
    def dma_complete(self, request: int, data: bytes | None) -> None:
        """Answer a read (None: it failed)."""

    def irq_eventfd(self, vector: int, fd: int) -> None:
        """Signal `fd` (not owned; it may block, so ask it) for this MSI-X vector; -1: drop the interrupt."""

    def doorbell_page(self, pointer: int) -> None:
        """A page whose every dword is a doorbell: writes of others to it count as writes to BAR 0 + 0x1000."""

    def doorbell_reset(self) -> None:
        """Forget what is in the page."""

    def configure(self, state: PciState, msix_enable: bool) -> None: ...
    def reset(self) -> None:
        """Function-level reset, done when it returns. DMA that was not fetched by then is given up. A UserError if the
        device does not do it: then it cannot be served any longer."""

    def close(self) -> None:
        """The end; the server does not call it."""
