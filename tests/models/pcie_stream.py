# SPDX-License-Identifier: Apache-2.0
"""A PCIe stream between blocks as a bench drives and watches it: NAME_valid, NAME_ready and the struct NAME of
rtl/pcie/db_pcie_types.svh."""

from __future__ import annotations

from typing import Any, NamedTuple

from structs import Layout, macro

USER_W = {"RQ": (62, 137), "RC": (75, 161), "CQ": (88, 183), "CC": (33, 81)}
"""Bits of tuser at 128 and 256 bits, and at 512 (PG213)."""


def stream_struct(kind: str, width: int, user_w: int | None = None) -> Layout:
    """The struct of kind RQ, RC, CQ or CC."""
    return macro("pcie/db_pcie_types.svh", f"`DB_PCIE_STREAM_T({width}, {user_w or USER_W[kind][width == 512]})")


class StreamBeat(NamedTuple):
    data: int
    keep: int
    last: int
    user: int


class PcieStream:
    """kind: RQ, RC, CQ or CC; width: bits of a beat; user_w: of tuser, if it is not the hard block's."""

    def __init__(self, dut: Any, name: str, kind: str, width: int, user_w: int | None = None) -> None:
        self.valid, self.ready, self.port = (getattr(dut, name + end) for end in ("_valid", "_ready", ""))
        self.struct = stream_struct(kind, width, user_w)
        self.width = width

    def beat(self) -> StreamBeat:
        """What stands on it."""
        f = self.struct.unpack(int(self.port.value))
        return StreamBeat(f["tdata"], f["tkeep"], f["tlast"], f["tuser"])

    def put(self, data: int, keep: int, last: int, user: int) -> None:
        self.port.value = self.struct.pack(tdata=data, tkeep=keep, tlast=int(last), tuser=user)
