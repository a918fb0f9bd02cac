# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/pcie.sby, and shows that each harness refutes a broken block and says nothing empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import holds, proves, reaches, refutes

# task, module, text, what replaces it
BROKEN = [
    # a tag is given at once
    ("tags", "db_pcie_read_alloc", "tag_free && !resting;", "tag_free;"),
    # a tag rests for one epoch less
    ("tags", "db_pcie_read_rest", "past < EPOCH_W'(REST_EPOCHS)", "past < EPOCH_W'(REST_EPOCHS - 1)"),
    # writes inside the hard block are not waited for
    ("quiet", "db_pcie_quiet", "(rq_idle && landed)", "(rq_idle)"),
    # of what is on its way as a fence begins the write of the cycle before it, or the last one, is not waited for
    ("fence", "db_pcie_landed_fence", "if (write_q && due != '1)", "if (1'b0)"),
    ("fence", "db_pcie_landed_fence", "if (left_q == '0) state_q", "if (left_q <= 1) state_q"),
    # a request that waits for room is sent though its owner is void
    ("void", "db_pcie_read_split", "|| (OWNED && s_owner_void)", "|| (OWNED && s_owner_void && s_read_ready)"),
    # the tag that is given in the cycle of the fence is not waited for
    ("void", "db_pcie_read_fence", "until_q <= take_tag;", "until_q <= retire_tag;"),
    # a TLP that becomes void while it waits for its rows begins all the same
    ("write_void", "db_pcie_write_beats", "act_void || act_mute", "act_mute"),
    # of three TLPs that have begun two are waited for
    ("write_void", "db_pcie_write_beats", "fence_q <= 2'd3;", "fence_q <= 2'd2;"),
    # beats are counted, not TLPs
    ("write_void", "db_pcie_write_beats", "m_rq.tlast && !fenced)", "!fenced)"),
    # a request, a TLP that waits when its function falls silent goes all the same
    ("silent", "db_pcie_read_split", ".fn(s_read_ready ? s_read.fn : m_chunk.fn)", ".fn(s_read.fn)"),
    ("write_silent", "db_pcie_write_beats", "act_void || act_mute", "act_void"),
    # a request, a TLP carries the function of the one behind it
    ("silent", "db_pcie_read_alloc", "'{fn: s_chunk.fn, addr", "'{fn: m_read.fn, addr"),
    ("write_silent", "db_pcie_write_beats", "rq_desc_mem(1'b1, act_q.cut.fn", "rq_desc_mem(1'b1, s_tlp.cut.fn"),
    # the window of the first drive counts for all; the second one is everybody's; a closed one is open; a write is not
    # looked at
    ("own", "db_pcie_peer_cq", "desc.addr_dw[DRIVE_LOG2-2+:INDEX_W] : '0;", "'0 : '0;"),
    ("own", "db_pcie_peer_cq", "desc.requester_id == peer_id[index]", "|{desc.requester_id == peer_id[0], index}"),
    ("own", "db_pcie_peer_cq", "&& peer_open[index];", "|| 1'b0;"),
    ("own", "db_pcie_root_rx", "first ? is_write && in_window", "first ? is_write"),
    ("own_side", "db_pcie_root_rx", "first ? is_write && in_window", "first ? is_write"),
    # a function that there is not asks for the last one's region; a region is as large as two; windows are not reset
    ("cmb_own", "db_pcie_cmb_cq", "place >= PLACE_W'(NUM_FN)", "1'b0"),
    ("cmb_own", "db_pcie_cmb_cq", "desc.addr_dw[REGION_LOG2-3:0]})", "(REGION_LOG2-1)'(desc.addr_dw)})"),
    ("cmb_own", "db_pcie_cmb_window", "if (clear[i]) begin", "if (clear[0]) begin"),
    # a TLP has the data of the packet before it; the rows behind its own count as its own
    ("write_owner", "db_pcie_write_place", "s_cut.last ? '1 : next_m1", "next_m1"),
    ("write_owner", "db_pcie_write_beats", "lack_0_q || (lack_1_q && row_counts)", "1'b1"),
    # stop that goes and comes again
    ("quiet", "db_pcie_quiet", "quiet       <= stop && hold_reads", "quiet       <= hold_reads"),
]


@pytest.mark.parametrize("block", [
    "tags", "quiet", "fence", "void", "write_void", "silent", "write_silent", "own", "own_side", "cmb_own",
])  # fmt: skip
def test_proof(block: str, tmp_path: Path) -> None:
    proves("pcie", block, tmp_path)


@pytest.mark.nightly
def test_data_of_a_function_is_sent_as_its_own(tmp_path: Path) -> None:
    """Bounded. Refuted are the broken blocks of write_owner in BROKEN."""
    holds("pcie", "write_owner", tmp_path)


@pytest.mark.parametrize("block", ["tags", "quiet", "fence", "void", "write_void", "own", "cmb_own", "write_owner"])
def test_can_happen(block: str, tmp_path: Path) -> None:
    reaches("pcie", f"{block}_cover", tmp_path)


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("pcie", block, ("common", "pcie"), module, old, new, tmp_path)
