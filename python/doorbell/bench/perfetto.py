# SPDX-License-Identifier: Apache-2.0
"""Writes a trace that Perfetto's UI opens: tracks with slices, instants and counters, flows from slice to slice.

Times are nanoseconds. What overlaps on a track goes to lanes, tracks of the same name, which the UI draws as one. A
slice that is shorter than a nanosecond becomes an instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doorbell.errors import UserError

SEQUENCE = 1
Arguments = dict[str, int | float | str]
_END, _BEGIN, _POINT = range(3)


class Track:
    """A track, or with `children` a group of them."""

    def __init__(self, uuid: int, name: str, parent: int, rank: int, unit: str | None) -> None:
        self.uuid, self.name, self.parent, self.rank, self.unit = uuid, name, parent, rank, unit
        self.children = 0
        self.lanes: list[tuple[int, int]] = [(uuid, 0)]  # of each: its uuid, when its last slice ends


class _Packet(NamedTuple):
    """An event; in the order of a trace: at a time ends before begins, inner ends first, outer begins first."""

    ns: int
    kind: int
    depth: int
    serial: int
    track: int
    name: str
    flows: Sequence[int]
    last: bool  # its flows end here
    arguments: Arguments
    value: float | None


class Timeline:
    """What is to be seen; `write` makes the file of it."""

    def __init__(self) -> None:
        self.tracks: list[Track] = []
        self.packets: list[_Packet] = []
        self._next = 1

    def track(self, name: str, group: Track | None = None, unit: str | None = None) -> Track:
        """A new track below a group, behind those that are there. unit: of a counter."""
        rank = group.children if group else sum(not t.parent for t in self.tracks)
        if group:
            group.children += 1
        made = Track(self._uuid(), name, group.uuid if group else 0, rank, unit)
        self.tracks.append(made)
        return made

    def _uuid(self) -> int:
        self._next += 1
        return self._next - 1

    def slice(
        self,
        track: Track,
        name: str,
        begin: int,
        end: int,
        *,
        inner: Sequence[tuple[str, int, int]] = (),
        flows: Sequence[int] = (),
        last: bool = False,
        arguments: Arguments | None = None,
    ) -> None:
        """A slice, on the first lane that is free. inner: slices inside it that follow each other."""
        if end <= begin:
            self.instant(track, name, begin, flows=flows, last=last, arguments=arguments)
            return
        lane = next((i for i, (_, free) in enumerate(track.lanes) if free <= begin), len(track.lanes))
        if lane == len(track.lanes):
            track.lanes.append((self._uuid(), 0))
        uuid = track.lanes[lane][0]
        track.lanes[lane] = uuid, end
        self._put(begin, _BEGIN, 0, uuid, name, flows, last, arguments)
        for text, a, b in inner:
            if a < b:
                self._put(a, _BEGIN, 1, uuid, text)
                self._put(b, _END, -1, uuid)
        self._put(end, _END, 0, uuid)

    def instant(
        self,
        track: Track,
        name: str,
        at: int,
        *,
        flows: Sequence[int] = (),
        last: bool = False,
        arguments: Arguments | None = None,
    ) -> None:
        self._put(at, _POINT, 0, track.uuid, name, flows, last, arguments)

    def count(self, track: Track, at: int, value: float) -> None:
        """The value of a counter from now on."""
        self._put(at, _POINT, 0, track.uuid, value=value)

    def _put(
        self, ns: int, kind: int, depth: int, track: int, name: str = "", flows: Sequence[int] = (),
        last: bool = False, arguments: Arguments | None = None, value: float | None = None,
    ) -> None:  # fmt: skip
        serial = len(self.packets)
        self.packets.append(_Packet(ns, kind, depth, serial, track, name, flows, last, arguments or {}, value))

    def write(self, file: Path) -> int:
        """How many bytes it has."""
        from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

        try:
            with file.open("wb") as out:
                builder = StreamingTraceProtoBuilder(out)
                for track in self.tracks:
                    self._describe(builder, track)
                for packet in sorted(self.packets, key=lambda p: p[:4]):
                    builder.write_packet(_message(TracePacket, packet))
                return out.tell()
        except OSError as e:
            raise UserError(f"cannot write {file}: {e.strerror}") from e

    @staticmethod
    def _describe(builder: Any, track: Track) -> None:
        for uuid, _ in track.lanes:
            packet = builder.create_packet()
            packet.trusted_packet_sequence_id = SEQUENCE
            packet.timestamp = 0
            d = packet.track_descriptor
            d.uuid, d.name, d.sibling_order_rank = uuid, track.name, track.rank
            if track.parent:
                d.parent_uuid = track.parent
            if track.children:
                d.child_ordering = d.EXPLICIT
            if track.unit is not None:
                d.counter.unit_name = track.unit
            builder.write_packet(packet)


def _message(kind: Any, p: _Packet) -> Any:
    packet = kind()
    packet.timestamp = p.ns
    packet.trusted_packet_sequence_id = SEQUENCE
    event = packet.track_event
    event.track_uuid = p.track
    if p.value is not None:
        event.type, event.double_counter_value = event.TYPE_COUNTER, p.value
        return packet
    event.type = (event.TYPE_SLICE_END, event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT)[p.kind]
    if p.name:
        event.name = p.name
    (event.terminating_flow_ids if p.last else event.flow_ids).extend(p.flows)
    for name, value in p.arguments.items():
        note = event.debug_annotations.add()
        note.name = name
        if isinstance(value, str):
            note.string_value = value
        elif isinstance(value, float):
            note.double_value = value
        else:
            note.uint_value = value
    return packet
