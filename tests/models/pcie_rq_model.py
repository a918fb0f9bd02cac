# SPDX-License-Identifier: Apache-2.0
"""The hard block's side of a straddled RQ (512 bits), from PG213's rules; independent of the RTL's package."""

from __future__ import annotations

from dataclasses import dataclass, field

from pcie_stream import PcieStream, StreamBeat

MASK32 = 0xFFFFFFFF


@dataclass
class RqPacket:
    dwords: list[int]
    first_be: int
    last_be: int
    first_cycle: int
    last_cycle: int = -1
    number: int = 0  # sequence number


@dataclass
class RqUnpacker:
    """Beats in, packets out; every beat must follow the rules."""

    open: RqPacket | None = None
    beats: int = 0
    lanes: int = 0  # that carried something

    def beat(self, cycle: int, data: int, keep: int, last: int, user: int) -> list[RqPacket]:
        """The packets that end in this beat."""
        assert keep == 0xFFFF and last == 0, f"tkeep {keep:#x} tlast {last}"
        sop, eop = user >> 20 & 3, user >> 26 & 3
        sop_ptr = [(user >> 22 & 3) * 4, (user >> 24 & 3) * 4]
        eop_ptr = [user >> 28 & 15, user >> 32 & 15]
        first_be, last_be = [user & 15, user >> 4 & 15], [user >> 8 & 15, user >> 12 & 15]
        number = [user >> 61 & 63, user >> 67 & 63]
        assert user >> 73 == 0 and user >> 36 & ~(-1 << 25) == 0, "discontinue, TPH, parity"
        assert user >> 16 & 15 == 0, "address offset"
        assert sop in (0, 1, 3) and eop in (0, 1, 3), f"is_sop {sop:02b}, is_eop {eop:02b}"
        assert self.open or sop, "a beat of nothing"
        for k in range(2):
            assert sop >> k & 1 or (sop_ptr[k], first_be[k], last_be[k], number[k]) == (0, 0, 0, 0)
            assert eop >> k & 1 or eop_ptr[k] == 0
        if sop == 1:
            assert sop_ptr[0] == (8 if self.open else 0), "is_sop0_ptr"
        if sop == 3:
            assert not self.open and sop_ptr == [0, 8], "is_sop_ptr of two"
        if 8 in sop_ptr:
            assert eop & 1 and eop_ptr[0] <= 7, "a start at lane 8 without an end before it"
        starts = {sop_ptr[k]: k for k in range(2) if sop >> k & 1}
        ends = [eop_ptr[k] for k in range(2) if eop >> k & 1]
        assert ends == sorted(set(ends))
        done: list[RqPacket] = []
        self.beats += 1
        for lane in range(16):
            if lane in starts:
                assert self.open is None, "a packet starts inside another"
                k = starts[lane]
                self.open = RqPacket([], first_be[k], last_be[k], cycle, number=number[k])
            if self.open is not None:
                self.lanes += 1
                self.open.dwords.append(data >> 32 * lane & MASK32)
            if lane in ends:
                assert self.open is not None, "an end of nothing"
                self.open.last_cycle = cycle
                done.append(self.open)
                self.open = None
        return done


@dataclass
class RqWatch:
    """Takes a straddled RQ, checks that a stalled beat does not change and that a packet does not pause."""

    unpacker: RqUnpacker = field(default_factory=RqUnpacker)
    held: StreamBeat | None = None

    def look(self, rq: PcieStream, cycle: int) -> list[RqPacket]:
        if rq.valid.value == 0:
            assert self.held is None, "RQ valid withdrawn"
            assert self.unpacker.open is None, "a pause inside a packet"
            return []
        b = rq.beat()
        assert self.held in (None, b), "RQ changed in a stall"
        if rq.ready.value == 0:
            self.held = b
            return []
        self.held = None
        return self.unpacker.beat(cycle, *b)


@dataclass
class RqPort:
    """Takes RQ of any width apart into packets of dwords; requests of one dword alone."""

    rq: PcieStream
    unpacker: RqUnpacker = field(default_factory=RqUnpacker)
    part: list[int] = field(default_factory=list)
    be: int = 0
    held: StreamBeat | None = None

    def look(self, ready: bool, cycle: int) -> list[tuple[list[int], int]]:
        """Packets that ended: dwords and first byte enables."""
        if not int(self.rq.valid.value):
            assert self.held is None, "RQ withdrawn"
            return []
        beat = self.rq.beat()
        assert self.held in (None, beat), "RQ changed in a stall"
        self.held = None if ready else beat
        if not ready:
            return []
        if self.rq.width == 512:
            done = self.unpacker.beat(cycle, *beat)
            assert all(p.last_be == 0 for p in done)
            return [(p.dwords, p.first_be) for p in done]
        lanes = beat.keep.bit_length()
        assert beat.keep == (1 << lanes) - 1 and lanes
        if not self.part:
            assert beat.user & ~0xF == 0, "last byte enables of one dword are 0"
            self.be = beat.user
        self.part += [beat.data >> 32 * i & MASK32 for i in range(lanes)]
        if not beat.last:
            return []
        part, self.part = self.part, []
        return [(part, self.be)]
