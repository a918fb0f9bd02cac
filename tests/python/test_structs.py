# SPDX-License-Identifier: Apache-2.0
"""tests/models/structs.py: the layout of structs as slang sees them, packing and unpacking, and what it refuses."""

from __future__ import annotations

import pytest
from structs import constant, enum, layout, macro


def test_layout_is_that_of_the_specification() -> None:
    """Base 2.0, figure "Common Command Format": dwords, little-endian, so the opcode is in the lowest byte."""
    sqe = layout("db_nvme_pkg", "sqe_t")
    assert sqe.width == 512
    assert [(sqe[f].offset // 32, sqe[f].offset % 32) for f in ("opc", "cid", "nsid", "prp1", "cdw10", "cdw15")] == [
        (0, 0), (0, 16), (1, 0), (6, 0), (10, 0), (15, 0)]  # fmt: skip
    cqe = layout("db_nvme_pkg", "cqe_t")
    assert (cqe.width, cqe["phase"].offset, cqe["sqhd"].offset) == (128, 112, 64)


def test_pack_and_unpack() -> None:
    completion = layout("db_ssd_pkg", "completion_t")
    values = {"fn": 3, "sqid": 7, "cid": 0x1234, "status": {"dnr": 1, "sct": 2, "sc": 0x81}, "dw0": 9}
    got = completion.unpack(completion.pack(values))
    assert got == {"io": 0, **values, "status": {"dnr": 1, "more": 0, "crd": 0, "sct": 2, "sc": 0x81}}
    assert completion.pack(completion.unpack((1 << completion.width) - 1)) == (1 << completion.width) - 1
    command = layout("db_ssd_pkg", "media_cmd_t")
    assert command.unpack(command.pack(op="MEDIA_ZERO"))["op"] == enum("db_ssd_pkg", "media_op_e")["MEDIA_ZERO"]


def test_what_is_refused() -> None:
    completion = layout("db_ssd_pkg", "completion_t")
    with pytest.raises(KeyError, match="no field 'cids'"):
        completion.pack(cids=1)
    with pytest.raises(ValueError, match="cid: 0x10000 does not fit into 16 bits"):
        completion.pack(cid=1 << 16)
    with pytest.raises(ValueError, match="there is no 'MEDIA_NONE'"):
        layout("db_ssd_pkg", "media_cmd_t").pack(op="MEDIA_NONE")
    with pytest.raises(KeyError, match="db_ssd_pkg has no command_t"):
        layout("db_ssd_pkg", "command_t")


def test_constants() -> None:
    assert constant("db_nvme_pkg", "OPC_DSM") == 0x09
    assert constant("db_pcie_block_pkg", "POST_DWORDS") == 4


def test_structs_of_a_macro() -> None:
    """AXI's widths are those of a module; data is at bit 0, so that a simulator need not shift it."""
    request = macro("axi/db_axi_types.svh", "`DB_AXI_WRITE_REQ_T(40, 256)")
    assert request.width == 3 + 49 + 1 + 32 + 256 and request["w"].members["data"].offset == request["w"].offset == 0
    assert list(request["aw"].members) == ["fua", "addr", "len"] and request["aw"].members["addr"].width == 40
