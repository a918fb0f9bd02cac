// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_write_beats: when a fence that began after an owner had become void is done, no beat of that owner is on
// RQ, and none ever comes again. One owner, any one, is followed (mark). TLPs, their owners, rows, room and RQ's ready
// are free.
`include "db_pcie_types.svh"
module db_pcie_write_void_formal
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN = 1,              // several: ... nor does a TLP begin of a function that is silent
  parameter bit COVER = 1'b0,
  localparam int DATA_W = 128, localparam int USER_W = 2, localparam int ROW_W = 4
) (
  input logic              clk,
  input logic              rst,
  input logic              s_tlp_valid,
  input write_tlp_t        s_tlp,
  input logic [ROW_W-1:0]  s_tlp_end_row,
  input logic [USER_W-1:0] s_tlp_user,
  input logic              fence,
  input logic [NUM_FN-1:0] silent,      // one function has no use for it
  input logic              row_in,
  input logic              row_late,
  input logic [ROW_W-1:0]  rows_in,
  input logic [ROW_W-1:0]  rows_late,
  input logic              s_row_valid,
  input logic [DATA_W-1:0] s_row_data,
  input logic              s_row_last,
  input logic              s_row_err,
  input logic              done_room,
  input logic              m_rq_ready,
  input logic              kill,        // the owner becomes void, and stays so
  input logic [1:0]        other_void,  // ... others
  input logic [USER_W-1:0] any_owner
);
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef struct packed {              // what waits for RQ, as db_pcie_write_beats puts it together
    logic              done;
    logic              err;
    logic [USER_W-1:0] user;
    rq_t               beat;
  } word_t;

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  logic [USER_W-1:0] mark_q;
  always_ff @(posedge clk) mark_q <= started_q ? mark_q : any_owner;

  // ---- the block
  logic              s_tlp_ready, s_row_ready, m_rq_valid, fenced, m_done_valid, m_done_err;
  logic [USER_W-1:0] act_user, m_done_user;
  rq_t               m_rq;
  logic              void_q;           // mark is void: whoever asks knows it in this cycle
  db_pcie_write_beats #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .USER_W(USER_W), .ROW_W(ROW_W)) dut (
    .s_tlp_void(s_tlp_user == mark_q ? void_q : other_void[1]),
    .act_void(act_user == mark_q ? void_q : other_void[0]), .*);
  always_comb if (!rst) begin
    assume (!dut.take || s_row_valid);
    assume (!(dut.step && dut.act_last_q && dut.act_q.cut.last) || dut.end_last);
  end

  // ---- void, then the fence
`include "db_pcie_void_then_fence.svh"

  // ---- what is before RQ, in its order: a word that is offered, one behind it, a TLP that has begun
  word_t      offered, behind;
  logic       offered_here, behind_here, begun, over;
  logic [1:0] ends;                    // TLPs that end up to the last beat of mark
  assign offered      = word_t'(dut.i_out.m_data_q);
  assign behind       = word_t'(dut.i_out.spare_q);
  assign offered_here = dut.i_out.m_valid_q;
  assign behind_here  = !dut.i_out.s_ready_q;
  assign begun        = dut.act_valid_q && !dut.act_first_q && !dut.drop_q;
  assign over         = fence_q && fenced;
  always_comb begin
    ends = '0;
    if (begun && dut.act_user_q == mark_q)
      ends = 2'd1 + 2'(offered_here && offered.beat.tlast) + 2'(behind_here && behind.beat.tlast);
    else if (behind_here && behind.user == mark_q)
      ends = 2'd1 + 2'(offered.beat.tlast);
    else if (offered_here && offered.user == mark_q)
      ends = 2'd1;
  end

  // ---- what a user relies on
  always_comb if (started_q && !rst && !COVER) assert (!(over && m_rq_valid && offered.user == mark_q));

  // a TLP carries the function that it came with; none begins of one that has been silent for two cycles
  if (NUM_FN > 1) begin : g_silent
    logic [FN_W-1:0] came_fn_q;
    rq_desc_t        desc;
    assign desc = rq_desc_t'(dut.beat.tdata[127:0]);
    always_ff @(posedge clk) if (s_tlp_valid && s_tlp_ready) came_fn_q <= s_tlp.cut.fn;
    always_comb if (started_q && !rst) begin
      if (dut.act_valid_q) assert (dut.act_q.cut.fn == came_fn_q);
      if (dut.step && dut.act_first_q) assert (desc.requester_fn == came_fn_q);
    end
`include "db_pcie_silent_for_two.svh"
    always_comb if (started_q && !rst) begin
      for (int f = 0; f < NUM_FN; f++) assert (dut.i_mute.g_many.silent_q[fn_number(PLACE_W'(f))] == silent_1_q[f]);
      if (dut.act_valid_q && dut.act_first_q && quiet[fn_place(dut.act_q.cut.fn)]) assert (dut.void_q);
      if (dut.step && dut.act_first_q && quiet[fn_place(dut.act_q.cut.fn)]) assert (dut.act_drop);
    end
  end

  // ---- how it hangs together
  always_comb if (started_q && !rst && !COVER) begin
    assert (!behind_here || offered_here);
    assert (!(behind_here && !offered.beat.tlast) || behind.user == offered.user);
    assert (!(behind_here && !behind.beat.tlast) || (begun && dut.act_user_q == behind.user));
    assert (!(offered_here && !behind_here && !offered.beat.tlast) || (begun && dut.act_user_q == offered.user));
    // it begins nothing any more
    if (known_q[0] && dut.act_valid_q && dut.act_first_q && dut.act_user_q == mark_q) assert (dut.void_q);
    if (fence_q) assert (ends <= dut.fence_q);
  end

  if (COVER) begin : g_cover
    logic sent_q;                      // the owner has sent something
    always_ff @(posedge clk) sent_q <= !rst && (sent_q || (m_rq_valid && m_rq_ready && offered.user == mark_q));
    always_comb cover (started_q && over && sent_q && m_rq_valid && behind_here);
  end
endmodule
