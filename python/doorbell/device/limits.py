# SPDX-License-Identifier: Apache-2.0
"""The PCIe link's own limit for a workload: bytes that must cross the wire each way, and what rate that allows.

Everything a command causes is counted: its data, the reads of its submission entry and PRP list, its completion, its
interrupt, its doorbells, and the ACK and flow-control DLLPs that these TLPs cause. The accounting is the simulator's
(sim/README.md), so a result can be set against the limit exactly. `docs/measuring.md` derives it with an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

TLP_FRAME = 8  # STP (with sequence number) 4, LCRC 4; Gen1 and Gen2: STP, sequence number, LCRC, END
DLLP = 8
HEADER_3DW, HEADER_4DW = 12, 16
GTPS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0}
PAGE = 4096
ABOVE_4G = 1 << 32


@dataclass(frozen=True)
class Link:
    """A PCIe link. ack_every, fc_every: one ACK, one UpdateFC DLLP for so many TLPs (0: none)."""

    gen: int = 3
    lanes: int = 8
    mps: int = 256
    mrrs: int = 512
    ack_every: int = 4
    fc_every: int = 4

    @classmethod
    def parse(cls, name: str, **more: int) -> Link:
        """From a name such as gen3x8."""
        match = re.fullmatch(r"gen([1-5])x(1|2|4|8|16)", name.lower())
        if not match:
            raise ValueError(f"'{name}' is not a link: use gen<1..5>x<1|2|4|8|16>, for example gen3x8")
        return cls(gen=int(match[1]), lanes=int(match[2]), **more)

    @property
    def bytes_per_ns(self) -> float:
        """Bytes of TLPs and DLLPs in one direction, after line coding."""
        coding = 0.8 if self.gen < 3 else 128 / 130
        return GTPS[self.gen] * self.lanes * coding / 8

    def __str__(self) -> str:
        return f"Gen{self.gen} x{self.lanes}"


@dataclass
class Wire:
    """TLPs and bytes in the two directions: up is device to host."""

    up: float = 0.0
    down: float = 0.0
    up_tlps: float = 0.0
    down_tlps: float = 0.0
    up_requests: float = 0.0  # those that take credits, which an UpdateFC gives back
    down_requests: float = 0.0

    def __add__(self, other: Wire) -> Wire:
        return Wire(*(getattr(self, f) + getattr(other, f) for f in self.__dataclass_fields__))

    def __mul__(self, factor: float) -> Wire:
        return Wire(*(getattr(self, f) * factor for f in self.__dataclass_fields__))


def split(address: int, size: int, limit: int) -> int:
    """TLPs for `size` bytes at `address` when cut at multiples of `limit`."""
    return -(-(address % limit + size) // limit)


def _up(tlps: float, payload: float, header: int) -> Wire:
    return Wire(up=tlps * (TLP_FRAME + header) + payload, up_tlps=tlps, up_requests=tlps)


def write_up(link: Link, size: int, address: int = ABOVE_4G) -> Wire:
    """The device writes `size` bytes to host memory."""
    return _up(split(address, size, link.mps), size, HEADER_4DW if address >= ABOVE_4G else HEADER_3DW)


def read_up(link: Link, size: int, address: int = ABOVE_4G, chunk: int = 0) -> Wire:
    """The device reads `size` bytes of host memory, at most `chunk` (default MRRS) a request."""
    limit = min(chunk or link.mrrs, link.mrrs)
    requests = split(address, size, limit)
    wire = _up(requests, 0, HEADER_4DW if address >= ABOVE_4G else HEADER_3DW)
    completions = split(address, size, min(link.mps, limit))  # each request is answered in pieces of MPS
    return wire + Wire(down=completions * (TLP_FRAME + HEADER_3DW) + size, down_tlps=completions)


def register_write(bar: int, size: int = 4) -> Wire:
    """The host writes a register of the device."""
    header = HEADER_4DW if bar >= ABOVE_4G else HEADER_3DW
    return Wire(down=TLP_FRAME + header + size, down_tlps=1, down_requests=1)


def with_dllps(link: Link, wire: Wire) -> Wire:
    """Adds the DLLPs that the TLPs cause, each in the direction opposite to its TLP."""
    acks_up = wire.down_tlps / link.ack_every if link.ack_every else 0
    acks_down = wire.up_tlps / link.ack_every if link.ack_every else 0
    fc_up = wire.down_requests / link.fc_every if link.fc_every else 0
    fc_down = wire.up_requests / link.fc_every if link.fc_every else 0
    return replace(wire, up=wire.up + DLLP * (acks_up + fc_up), down=wire.down + DLLP * (acks_down + fc_down))


@dataclass(frozen=True)
class Workload:
    """What one command of a workload is. Counts are per command, and may be fractions.

    sqes_per_fetch: submission entries a read request brings (adjacent entries can share one). irqs: interrupts.
    doorbells: register writes by the host. offset: of the data buffer in its page. chunk: largest data read request,
    where smaller than MRRS. list_bytes: of PRP list read (None: as many entries as there are).
    """

    block: int
    read: float = 1.0  # share of reads
    sqes_per_fetch: float = 1.0
    irqs: float = 1.0
    sq_doorbells: float = 1.0
    cq_doorbells: float = 1.0
    offset: int = 0
    chunk: int = 0
    bar: int = 0xC000_0000  # address of BAR 0 and of the interrupts: below 4 GiB headers are a dword shorter
    msi: int = 0xFEE0_0000
    list_bytes: int | None = None


def prp_list_bytes(size: int, offset: int = 0) -> int:
    """Bytes of PRP list that a transfer needs (one list, not chained)."""
    pages = -(-(offset + size) // PAGE)
    return 8 * (pages - 1) if pages > 2 else 0


def data(link: Link, work: Workload, read: bool) -> Wire:
    """Data of one command, page by page."""
    wire = Wire()
    at, left = work.offset, work.block
    while left:
        here = min(left, PAGE - at)
        wire += write_up(link, here, ABOVE_4G + at) if read else read_up(link, here, ABOVE_4G + at, work.chunk)
        at, left = 0, left - here
    return wire


def command(link: Link, work: Workload) -> Wire:
    """All that crosses the wire for one (average) command, DLLPs included."""
    wire = data(link, work, True) * work.read + data(link, work, False) * (1 - work.read)
    per_fetch = work.sqes_per_fetch
    fetch = read_up(link, round(64 * per_fetch)) if per_fetch == int(per_fetch) else None
    if fetch is None:  # an average: requests shared, entries each in full
        fetch = read_up(link, 64)
        fetch = replace(fetch, up=fetch.up / per_fetch, up_tlps=1 / per_fetch, up_requests=1 / per_fetch)
        wire += fetch
    else:
        wire += fetch * (1 / per_fetch)
    listed = prp_list_bytes(work.block, work.offset) if work.list_bytes is None else work.list_bytes
    if listed:
        wire += read_up(link, listed)
    wire += write_up(link, 16)  # completion entry
    wire += write_up(link, 4, work.msi) * work.irqs
    wire += register_write(work.bar) * (work.sq_doorbells + work.cq_doorbells)
    return with_dllps(link, wire)


@dataclass(frozen=True)
class Limit:
    """The most that a link can do of a workload."""

    up_bytes: float  # a command
    down_bytes: float
    iops: float
    bytes_per_s: float
    bound: str  # the direction that limits


def limit(link: Link, work: Workload) -> Limit:
    """Commands and payload bytes a second that the link allows: the slower of its two directions."""
    return mix(link, [(1.0, work)])


def mix(link: Link, works: Iterable[tuple[float, Workload]]) -> Limit:
    """The limit for commands of several kinds, with how many there are of each."""
    wire, size, total = Wire(), 0.0, 0.0
    for count, work in works:
        wire += command(link, work) * count
        size += work.block * count
        total += count
    return _bound(link, wire * (1 / total), size / total)


def _bound(link: Link, wire: Wire, size: float) -> Limit:
    """The limit for commands of `size` payload bytes that cost `wire` each."""
    up, down = wire.up, wire.down
    iops = link.bytes_per_ns * 1e9 / max(up, down)
    return Limit(up, down, iops, iops * size, "up" if up >= down else "down")


# ---------------------------------------------------------------- db_host: the same wire, seen from the other end


@dataclass(frozen=True)
class HostWorkload:
    """What one block command costs a host on a root port; up is still drive to host.

    block: bytes of a block command. part: bytes of the longest NVMe command that it is split into (MDTS, ring).
    sqes_per_fetch, sq_doorbells, cq_doorbells: of NVMe commands. offset: in its page of where data starts in the ring.
    list_bytes: of PRP list that the drive reads for a command (None: as many entries as there are).
    """

    block: int
    read: float = 1.0
    part: int = 128 << 10
    sqes_per_fetch: float = 1.0
    sq_doorbells: float = 1.0
    cq_doorbells: float = 1.0
    offset: int = 0
    chunk: int = 0
    bar: int = 0xC000_0000
    list_bytes: int | None = None
    register_reads: float = 0.0  # a block command: db_host looks at CSTS now and then


def register_read(bar: int) -> Wire:
    """The host reads a register of the device."""
    header = HEADER_4DW if bar >= ABOVE_4G else HEADER_3DW
    return Wire(TLP_FRAME + HEADER_3DW + 4, TLP_FRAME + header, up_tlps=1, down_tlps=1, down_requests=1)


def host_command(link: Link, work: HostWorkload) -> Wire:
    """All that crosses the wire for one block command: data, entries, PRP lists, completions, doorbells; and DLLPs.

    A drive behind db_host sends no interrupts. Entries that are fetched together come in as few completions as MPS
    allows.
    """
    few, share = divmod(work.sqes_per_fetch, 1)
    together = read_up(link, 64 * int(few)) * (1 - share) + read_up(link, 64 * (int(few) + 1)) * share
    saved = with_dllps(link, together * (1 / work.sqes_per_fetch) + read_up(link, 64) * -1)
    wire = with_dllps(link, register_read(work.bar)) * work.register_reads
    at, left = work.offset, work.block
    while left > 0:
        here = min(left, work.part)
        part = Workload(
            here, work.read, irqs=0, sq_doorbells=work.sq_doorbells, cq_doorbells=work.cq_doorbells, offset=at,
            chunk=work.chunk, bar=work.bar, list_bytes=work.list_bytes,
        )  # fmt: skip
        wire += command(link, part) + saved
        at, left = (at + here) % PAGE, left - here
    return wire


def host_limit(link: Link, work: HostWorkload) -> Limit:
    """Block commands and payload bytes a second that the link allows a host."""
    return host_mix(link, [(1.0, work)])


def host_mix(link: Link, works: Iterable[tuple[float, HostWorkload]]) -> Limit:
    """The same for block commands of several kinds, with how many there are of each."""
    wire, size, total = Wire(), 0.0, 0.0
    for count, work in works:
        wire += host_command(link, work) * count
        size += work.block * count
        total += count
    return _bound(link, wire * (1 / total), size / total)


def payload_share(found: Limit) -> float:
    """Payload as a share of all bytes that cross in the direction that limits."""
    return found.bytes_per_s / found.iops / max(found.up_bytes, found.down_bytes)
