# SPDX-License-Identifier: Apache-2.0
"""Regions of the function: BAR 0, BAR 4 (card memory, where it has some), configuration space,
and the page of doorbells that the client may map."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass

from doorbell.device import pci_config
from doorbell.device.pci_config import PciConfig
from doorbell.device.sim_interface import BARS
from doorbell.device.vfio_user.memory import PAGE, Mapping
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.wire import (
    BAR0_REGION,
    BAR4_REGION,
    CONFIG_REGION,
    MAX_DATA,
    NUM_REGIONS,
    REGION_CAPS,
    REGION_MMAP,
    REGION_READABLE,
    REGION_WRITABLE,
    Message,
    Refused,
    close_fds,
)
from doorbell.nvme.vendor import BAR_DOORBELLS


@dataclass(frozen=True)
class Region:
    """size: bytes. mapped: where in it a page is that the client may map."""

    size: int
    mapped: int | None = None


REGIONS = {BAR0_REGION: Region(pci_config.BAR0_SIZE, BAR_DOORBELLS), CONFIG_REGION: Region(pci_config.SIZE)}
"""Those that every function has; all others are empty, but for BAR 4."""


def carried(offset: int, count: int) -> bool:
    """An access of a BAR as a CPU makes one: within 8 bytes that are aligned. No bus carries others to a device."""
    return offset % 8 + count <= 8


class Regions:
    """Accesses of the client. `pending`: a read of a register that the device has not answered (message, handle, bytes
    to skip)."""

    def __init__(
        self, device: ServedDevice, config: PciConfig, changed: Callable[[], None], reset: Callable[[], None]
    ) -> None:
        """changed: called when configuration space has been written. reset: does a function-level reset."""
        self._device, self._config, self._changed, self._on_reset = device, config, changed, reset
        self._regions = {**REGIONS, BAR4_REGION: Region(config.bar4)}
        self.pending: tuple[Message, int, int] | None = None
        self._table = self._blank_table()
        self.page_fd = os.memfd_create("doorbells", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.page_fd, 2 * PAGE)  # BAR 0's offsets: the page is the second one
        # The client gets it, and must not be able to take it away.
        fcntl.fcntl(self.page_fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._page = Mapping(0, PAGE, True, self.page_fd, BAR_DOORBELLS)
        assert self._page.pointer
        device.doorbell_page(self._page.pointer)
        device.doorbell_reset()

    def reset(self) -> None:
        """The function was reset."""
        self._table = self._blank_table()

    def close(self) -> None:
        os.close(self.page_fd)
        self._page.close()

    def info(self, message: Message) -> tuple[bytes, list[int]]:
        argsz, _, index = struct.unpack_from("<III", message.body)
        if argsz < 32 or index >= NUM_REGIONS:
            raise Refused(errno.EINVAL)
        region = self._regions.get(index, Region(0))
        size = region.size
        flags = REGION_READABLE | REGION_WRITABLE if size else 0
        if region.mapped is None:
            return struct.pack("<IIIIQQ", 32, flags, index, 0, size, 0), []
        # One area may be mapped: the doorbells. A client that left no room for the list asks again with argsz as told;
        # QEMU wants a valid cap_offset even then.
        sparse = struct.pack("<HHIIIQQ", 1, 1, 0, 1, 0, region.mapped, PAGE)
        need = 32 + len(sparse)
        flags |= REGION_MMAP | REGION_CAPS
        if argsz < need:
            sparse = b""
        return struct.pack("<IIIIQQ", need, flags, index, 32, size, 0) + sparse, [self.page_fd] if sparse else []

    def _access(self, message: Message) -> tuple[int, int, int]:
        offset, region, count = struct.unpack_from("<QII", message.body)
        size = self._regions[region].size if region in self._regions else 0
        if not 0 < count <= MAX_DATA or offset + count > size:
            raise Refused(errno.EINVAL)
        return offset, region, count

    def read(self, message: Message) -> tuple[bytes, list[int]] | None:
        offset, region, count = self._access(message)
        head = message.body[:16]
        if region == CONFIG_REGION:
            return head + self._config.read(offset, count), []
        if region == BAR4_REGION:
            if not carried(offset, count):
                return head + b"\xff" * count, []
            offset += BARS["4"]
        elif offset >= pci_config.MSIX_TABLE or not carried(offset, count):
            return head + self._plain_read(offset, count), []
        start, end = offset & ~3, (offset + count + 3) & ~3
        self.pending = (message, self._device.read_start(start, end - start), offset - start)
        return None

    def _plain_read(self, offset: int, count: int) -> bytes:
        """MSI-X structures, which are the client's affair; and accesses that no bus would carry: all ones."""
        image = b"\xff" * pci_config.MSIX_TABLE + bytes(self._table) + bytes(pci_config.BAR0_SIZE)
        return image[offset : offset + count]

    def answer(self) -> tuple[Message, bytes] | None:
        """The register read that was held up, with its answer once the device has given it."""
        if not self.pending:
            return None
        message, handle, skip = self.pending
        data = self._device.read_poll(handle)
        if data is None:
            return None
        self.pending = None
        (count,) = struct.unpack_from("<I", message.body, 12)
        return message, message.body[:16] + data[skip : skip + count]

    def abandon(self) -> None:
        """Nobody waits for the read that is held up."""
        if self.pending:
            message, handle, _ = self.pending
            close_fds(message.fds)
            self._device.read_forget(handle)
            self.pending = None

    def write(self, message: Message) -> bytes:
        offset, region, count = self._access(message)
        if len(message.body) != 16 + count:
            raise Refused(errno.EINVAL)
        self._put(region, offset, message.body[16:])
        return message.body[:16]

    def write_multi(self, message: Message) -> bytes:
        (count,) = struct.unpack_from("<Q", message.body)
        if len(message.body) != 8 + 24 * count:
            raise Refused(errno.EINVAL)
        for at in range(8, len(message.body), 24):
            offset, region, size = struct.unpack_from("<QII", message.body, at)
            limit = self._regions[region].size if region in self._regions else 0
            if not 0 < size <= 8 or offset + size > limit:
                raise Refused(errno.EINVAL)
            self._put(region, offset, message.body[at + 16 : at + 16 + size])
        return struct.pack("<Q", count)

    def _put(self, region: int, offset: int, data: bytes) -> None:
        if region == CONFIG_REGION:
            if self._config.write(offset, data):
                self._on_reset()
            self._changed()
            return
        if region == BAR4_REGION:
            if carried(offset, len(data)):
                self._device.write(BARS["4"] + offset, data)
            return
        table_end = pci_config.MSIX_TABLE + len(self._table)
        if offset >= pci_config.MSIX_TABLE:
            if offset + len(data) <= table_end:
                at = offset - pci_config.MSIX_TABLE
                self._table[at : at + len(data)] = data
        elif carried(offset, len(data)):
            self._device.write(offset, data)

    def _blank_table(self) -> bytearray:
        return bytearray(struct.pack("<QII", 0, 0, 1) * self._config.vectors)
