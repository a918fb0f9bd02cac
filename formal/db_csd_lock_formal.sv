// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_aes: a row for AES whose slot has no key for its mode leaves as zeros and with key_err, whatever the
// rounds make of it, whatever goes on around it.
//
// Such a row goes with key_err into one FIFO of db_csd_wrap and into the core. Followed there, it comes out after 18
// cycles as zeros, and goes into the other FIFO with the same number. That FIFOs keep the order, so that both halves
// meet again, is what db_fifo_formal proves; that they never overflow, db_csd_wrap asserts in every simulation. What
// AES computes plays no part: its rounds and the tweaks are stand-ins (db_csd_lock_stubs.sv) that answer with bits of
// the key bus, which is free, after the right time.
module db_csd_lock_formal
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter bit DIR   = 1'b1,
  parameter bit COVER = 1'b0
) (
  input logic            clk,
  input logic            rst,
  input logic            mark,       // follow this one
  input key_bus_t        key_bus,
  input key_slot_t [1:0] key_slots,
  input logic            s_valid,
  input logic [127:0]    s_data,
  input logic            s_last,
  input row_ctx_t        s_user,
  input logic            m_ready
);
  localparam int CORE = 18;  // cycles in db_csd_aes_core
  localparam int PIPE = 15;  // of them the last, in the rounds

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic         s_ready, m_valid, m_last;
  logic [127:0] m_data;
  row_ctx_t     m_user;
  db_csd_aes #(.DATA_W(128), .DIR(DIR), .KEY_SLOTS(2)) dut (
    .clk, .rst, .key_bus, .key_slots, .s_axis_tvalid(s_valid), .s_axis_tready(s_ready), .s_axis_tdata(s_data),
    .s_axis_tlast(s_last), .s_axis_tuser(s_user), .m_axis_tvalid(m_valid), .m_axis_tready(m_ready),
    .m_axis_tdata(m_data), .m_axis_tlast(m_last), .m_axis_tuser(m_user)
  );
  // an instance serves one direction
  always_comb if (dut.q_valid) assume (dut.issue.cmd.dir == DIR);

  // ---- what is locked, said once more
  row_ctx_t  row, ctx_in;
  key_slot_t slot;
  logic      locked;
  assign row    = dut.issue;
  assign slot   = row.cmd.key_slot < 6'd2 ? key_slots[row.cmd.key_slot[0]] : '0;
  assign locked = (row.cmd.op == OP_AES_CTR && !slot.ctr) || (row.cmd.op == OP_AES_XTS && !slot.xts);
  assign ctx_in = row_ctx_t'(dut.i_wrap.i_ctx.s_data[$bits(row_ctx_t)-1:0]);

  // ---- rows are counted: into each cycle of the core, and into the FIFO behind it
  logic       take;
  logic [5:0] came_q[CORE+1];
  logic [5:0] pushed_q;
  assign take  = dut.i_wrap.take;
  always_ff @(posedge clk) begin
    came_q[0] <= came_q[0] + 6'(take);
    pushed_q  <= pushed_q + 6'(dut.res_valid);
    for (int i = 0; i < CORE; i++) came_q[i+1] <= came_q[i];
    if (rst) begin
      pushed_q <= '0;
      for (int i = 0; i <= CORE; i++) came_q[i] <= '0;
    end
  end

  // ---- the followed row: its number, its cycle in the core or 0
  logic [4:0] age_q;
  logic [5:0] number_q;
  always_ff @(posedge clk) begin
    if (age_q != '0) age_q <= age_q == 5'(CORE) ? '0 : age_q + 5'd1;
    if (age_q == '0 && take && mark && locked) begin
      age_q    <= 5'd1;
      number_q <= came_q[0];
    end
    if (rst) age_q <= '0;
  end

  // ---- what a user relies on
  always_comb if (started_q && !rst) begin
    if (take && locked) assert (dut.i_wrap.ctx_push && ctx_in.key_err);
    if (age_q == 5'(CORE)) assert (dut.res_valid && dut.res_data == '0 && pushed_q == number_q);
  end

  // ---- how it comes about: who is where
  logic [CORE-1:0] row_at;    // a row in each cycle of the core
  assign row_at    = {dut.i_core.inside_q, dut.i_core.g_ctr.valid2_q, dut.i_core.g_ctr.valid1_q, dut.i_core.valid0_q};
  always_comb if (started_q && !rst) begin
    for (int i = 0; i < CORE; i++) assert (came_q[i] == came_q[i+1] + 6'(row_at[i]));
    assert (pushed_q == came_q[CORE]);
    assert (age_q <= 5'(CORE));
    if (age_q != '0) assert (row_at[age_q-5'd1] && 6'(number_q + 6'd1) == came_q[age_q-5'd1]);
  end

  // ... and the error that goes beside the rounds: registers, then a RAM around which the pointers run
  localparam int ERR = 131;   // its bit there: above data, zero, slot, is_short
  logic [3:0]   side_place;
  logic [133:0] side_here;    // in the RAM
  assign side_place = dut.i_core.i_aside.waddr_q - 4'(age_q - 5'd3);
  assign side_here  = dut.i_core.i_aside.mem_q[side_place];
  always_comb if (started_q && !rst) begin
    assert (4'(dut.i_core.i_aside.waddr_q - dut.i_core.i_aside.raddr_q) == 4'(PIPE - 1));
    unique case (age_q)
      5'd0:    ;
      5'd1:    assert (dut.i_core.ctl0_q.err);
      5'd2:    assert (dut.i_core.g_ctr.pair1_q[256+3]);
      5'd3:    assert (dut.i_core.g_ctr.pair2_q[256+3]);
      5'(CORE): assert (dut.i_core.i_aside.m_data_q[ERR]);
      default: assert (side_here[ERR]);
    endcase
  end

  // it can happen: such a row of XTS is at the end of the core, the rounds made something of it, others are behind it
  if (COVER) begin : g_cover
    row_ctx_t user;
    always_comb begin
      user         = '0;
      user.cmd.op  = OP_AES_XTS;
      user.cmd.dir = DIR;
      assume (rst == !started_q && s_valid && m_ready && s_user == user && key_slots == '0);
      assume (mark == (came_q[0] == 6'd3));
      cover (!rst && age_q == 5'(CORE) && dut.i_core.result != '0 && pushed_q == 6'd3 && row_at[CORE-2]);
    end
  end
endmodule
