// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_aes: a row for AES whose slot has no key for its mode leaves as zeros and with key_err, whatever the
// rounds make of it, whatever goes on around it.
//
// One such row is followed from the check of its key to the output. What AES computes plays no part: its rounds and the
// tweaks are stand-ins (db_csd_lock_stubs.sv) that answer with bits of the key bus, which is free, after the right time.
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
  localparam int DEPTH = 32; // of db_csd_wrap

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
  row_ctx_t  row;
  key_slot_t slot;
  logic      locked;
  assign row    = dut.issue;
  assign slot   = row.cmd.key_slot < 6'd2 ? key_slots[row.cmd.key_slot[0]] : '0;
  assign locked = (row.cmd.op == OP_AES_CTR && !slot.ctr) || (row.cmd.op == OP_AES_XTS && !slot.xts);

  // ---- the followed row: its cycle in the core, then 0 in the FIFO behind it; rows ahead of it in both
  logic       open_q, take, leave;
  logic [4:0] age_q;
  logic [5:0] ahead_q, level, out_level;
  assign take      = dut.i_wrap.take;
  assign leave     = dut.i_wrap.leave;
  assign level     = dut.i_wrap.i_ctx.level_q;
  assign out_level = dut.i_wrap.i_out.level_q;
  always_ff @(posedge clk) begin
    if (open_q && leave) begin
      ahead_q <= ahead_q - 6'd1;
      if (ahead_q == '0) open_q <= 1'b0;
    end
    if (age_q != '0) age_q <= age_q == 5'(CORE) ? '0 : age_q + 5'd1;
    if (!open_q && take && mark && locked) begin
      open_q  <= 1'b1;
      age_q   <= 5'd1;
      ahead_q <= level - 6'(leave);
    end
    if (rst) begin
      open_q <= 1'b0;
      age_q  <= '0;
    end
  end

  // ---- what a user relies on
  always_comb if (started_q && !rst && m_valid && open_q && ahead_q == '0) begin
    assert (m_user.key_err);
    assert (m_data == '0);
  end

  // ---- how it comes about: the FIFOs of db_csd_wrap
  logic [4:0]      ctx_place, out_place;
  row_ctx_t        ctx_here;
  logic [127:0]    data_here;
  logic [CORE-1:0] row_at;    // a row in each cycle of the core
  logic [4:0]      in_core;    // rows in the core
  logic [4:0]      ahead_in_core;     // and those ahead of the followed one
  assign ctx_place = dut.i_wrap.i_ctx.rptr_q + 5'(ahead_q - 6'd1);
  assign out_place = dut.i_wrap.i_out.rptr_q + 5'(ahead_q - 6'd1);
  assign ctx_here  = row_ctx_t'(ahead_q == '0 ? dut.i_wrap.i_ctx.m_data_q[$bits(row_ctx_t)-1:0]
                                : dut.i_wrap.i_ctx.g_lutram.mem_q[ctx_place][$bits(row_ctx_t)-1:0]);
  assign data_here  = ahead_q == '0 ? dut.i_wrap.i_out.m_data_q[127:0] : dut.i_wrap.i_out.g_lutram.mem_q[out_place][127:0];
  assign row_at    = {dut.i_core.i_pipe.valid_q, dut.i_core.g_ctr.valid2_q, dut.i_core.g_ctr.valid1_q,
                      dut.i_core.valid0_q};
  always_comb begin
    in_core = '0;
    ahead_in_core  = '0;
    for (int i = 0; i < CORE; i++) begin
      in_core += 5'(row_at[i]);
      if (5'(i) >= age_q) ahead_in_core += 5'(row_at[i]);
    end
  end
  always_comb if (started_q && !rst) begin
    assert (level == out_level + 6'(in_core) && level <= 6'(DEPTH) && out_level <= level);
    assert (dut.i_wrap.g_row.left_q == 6'(DEPTH) - level);
    assert (dut.i_wrap.g_row.room_q == (level != 6'(DEPTH)));
    assert (dut.i_wrap.i_ctx.m_valid_q == (level != '0) && dut.i_wrap.i_out.m_valid_q == (out_level != '0));
    assert (5'(dut.i_wrap.i_ctx.wptr_q - dut.i_wrap.i_ctx.rptr_q) == 5'(level - 6'(level != '0)));
    assert (5'(dut.i_wrap.i_out.wptr_q - dut.i_wrap.i_out.rptr_q) == 5'(out_level - 6'(out_level != '0)));
    assert (age_q <= 5'(CORE) && (open_q || age_q == '0));
    if (open_q) begin
      assert (ahead_q < level);
      assert (ctx_here.key_err);
      if (age_q == '0) assert (ahead_q < out_level && data_here == '0);
      else assert (row_at[age_q-5'd1] && ahead_q == out_level + 6'(ahead_in_core));
    end
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

  // it can happen: such a row leaves though the rounds made something of it, with another row behind it
  if (COVER) begin : g_cover
    logic [127:0] made_q;
    always_ff @(posedge clk) if (age_q == 5'(CORE)) made_q <= dut.i_core.result;
    always_comb cover (!rst && open_q && ahead_q == '0 && m_valid && m_ready && level > 6'd1 && made_q != '0 && m_user.cmd.op == OP_AES_XTS);
  end
endmodule
