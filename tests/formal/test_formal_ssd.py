# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of formal/ssd.sby, and shows that each harness refutes a broken block and says nothing empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from proofs import proves, reaches, refutes, slow

# task, module, text, what replaces it
BROKEN = [
    # a head doorbell while the queue is found full is forgotten
    ("cq", "db_ssd_cq_park", "seen_q <= hit_work || (seen_q && state != ST_CQ)", "seen_q <= 1'b0"),
    ("cq", "db_ssd_cq_engine", "wrap ? {!tail.phase, 16'd0}", "wrap ? {tail.phase, 16'd0}"),
    # a completion that was at work when its submission queue was deleted stays parked
    slow("cq", "db_ssd_cq_park", "deleted_q <= sq_deleted || late_q[6]", "deleted_q <= sq_deleted"),
    # completions of a submission queue that was deleted are posted
    slow("cq", "db_ssd_cq_engine", "look_valid && sq_lookup.valid", "look_valid"),
    # a queue whose class has no credit left falls out of its list
    slow("sq", "db_ssd_sq_fetch", "more      = exists_q && !(all_q", "more      = n_q != 7'd0 && exists_q && !(all_q"),
    # a queue stands in a list twice
    slow("sq", "db_ssd_sq_engine", "&& at_io && !stand.full && !stand.in_shared", "&& at_io && !stand.full"),
    # a queue that has left its list cannot come back
    slow("sq", "db_ssd_sq_engine", "if (from_shared_q || from_admin_q) stand.in_shared = 1'b0;", ""),
    # a queue that had its largest share is forgotten
    slow("sq", "db_ssd_sq_engine", "if (state_q == ST_RETIRE)   enlist = share.listed;", ""),
    # a queue takes more than its largest share
    slow("sq", "db_ssd_sq_credit", "&& max_left < 9'(most)", "&& max_left < 9'd0"),
    # a shared slot is not given back
    slow("sq", "db_ssd_sq_credit", "shared_d = shared_q + 9'd1", "shared_d = shared_q"),
    # a shared slot is kept until others come
    ("sq", "db_ssd_sq_credit", "(shared_q != 9'd0 && gap_q == '1)", "1'b0"),
    # ... and those that came are kept
    slow("sq", "db_ssd_sq_credit", "shared_q >= 9'(GATHER)", "shared_q > 9'(GATHER)"),
    # a command that is over is never counted
    slow("sq", "db_ssd_sq_credit", "share.cmds - 9'd1", "share.cmds"),
    # a queue with all of its guaranteed share counts as below it
    slow("sq", "db_ssd_sq_credit", "share.cmds <= 9'(QUEUE_MIN)", "share.cmds <= 9'(QUEUE_MIN + 1)"),
    # a function's doorbell rings one queue too many
    ("bar", "db_ssd_bar", "qid <= 9'(share.count)", "qid <= 9'(share.count) + 9'd1"),
    # a function that is not there is taken for the PF
    ("bar", "db_ssd_bar", "exists = there && qid", "exists = qid"),
    # all admin queues are the PF's
    ("bar", "db_ssd_bar", "qid == '0 ? QID_W'(place)", "qid == '0 ? '0"),
    # what is not of a VF here is written to one
    ("vf_regs", "db_ssd_vf_regs", "mine_q && !csts_q;", "!csts_q;"),
    # a VF's reset clears what an access of another names
    ("vf_regs", "db_ssd_vf_regs", "AW'({forget_vf_q, forget_word_q})", "AW'({vf_q, forget_word_q})"),
    # the firmware looks at what an access names
    ("vf_regs", "db_ssd_vf_regs", "4'(look.place - 1'b1)", "vf"),
    # a read of one that is no VF here is answered with what is of one
    ("vf_regs", "db_ssd_vf_regs", "if (mine_q) s_reg_rdata <=", "s_reg_rdata <="),
    # the second of two that wait is forgotten
    ("order_turn", "db_ssd_order_turn", "if (!entry_first) next_mem_q", "if (entry_first) next_mem_q"),
    # a piece takes its command along
    ("order_turn", "db_ssd_order_turn", "(state_q == NEXT && !last_q && !s_more)", "(state_q == NEXT && !last_q)"),
    # a function whose last has gone still has one
    (
        "order_turn",
        "db_ssd_order_turn",
        "if (state_q == NEXT && last_q && !s_more",
        "if (state_q == NEXT && last_q && s_more",
    ),
    # who owes and gets a command while the earliest is looked for is not looked at: a turn may find none
    ("order_turn", "db_ssd_order_turn", "none = todo == '0 && !entry_joins", "none = todo == '0"),
    # the count of one function's pieces is another's
    ("order_pieces", "db_ssd_order_pieces", "gone_mem_q[s_place]", "gone_mem_q[place_q]"),
    # a list of one piece too many
    ("order_pieces", "db_ssd_order_pieces", "PIECE_W'(0)} < s_cmd.bytes[12:0];", "PIECE_W'(0)} <= s_cmd.bytes[12:0];"),
    # beyond the first page
    ("order_pieces", "db_ssd_order_pieces", "m_cmd.prp1[63:12] = s_cmd.prp2[63:12];", ""),
    # more of a data block than there is
    ("order_pieces", "db_ssd_order_pieces", "rest[COUNT_W] ? '0 : ", ""),
]


@pytest.mark.parametrize(
    "block", ["cq", "sq", slow("sq_over"), "bar", "vf_regs", "order_turn", "order_pieces", slow("sq_2")]
)
def test_proof(block: str, tmp_path: Path) -> None:
    proves("ssd", block, tmp_path)


@pytest.mark.parametrize("block", [slow("cq"), slow("sq"), "bar", "vf_regs", slow("order_turn")])
def test_can_happen(block: str, tmp_path: Path) -> None:
    reaches("ssd", f"{block}_cover", tmp_path)


@pytest.mark.parametrize(("block", "module", "old", "new"), BROKEN)
def test_refutes_broken_block(block: str, module: str, old: str, new: str, tmp_path: Path) -> None:
    refutes("ssd", block, ("common", "nvme", "pcie", "ssd"), module, old, new, tmp_path)
