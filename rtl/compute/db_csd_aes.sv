// SPDX-License-Identifier: Apache-2.0
// Operator: AES-128 and AES-256 in CTR (NIST SP 800-38A) and XTS mode (IEEE 1619, data unit = block), one direction.
//
// Operator, key slot and key size may change with every row. Rows of other operators pass unchanged, in order, with
// the latency of CTR. One AES pipeline of 14 rounds serves both modes: what goes in is the counter or data ^ tweak,
// what its result is added to is the data or the tweak. A read instance with XTS decrypts; with CTR as well it does
// both, and encrypts what a program wants encrypted (of_program). A row whose slot has no valid key (or whose mode is not
// built in) comes out as zeros with key_err set.
// ZERO_RULE: on read, 16 bytes of zeros are handed out as zeros (deallocated blocks, Write Zeroes).
// Latency: 17 cycles + 2 with CTR + 1 with XTS + 14 with SPLIT; the first row of a block in XTS 17 cycles more (13
// with a 128-bit key) if none waits before it. Later tweaks are made while rows wait, so this is paid once, not for
// each block.
// Throughput: one row a cycle.
module db_csd_aes
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W = 256,             ///< bits: 128, 256, 512
  parameter bit DIR = 1'b1,               ///< 1: to the media (encrypt), 0: from the media (decrypt)
  parameter bit CTR = 1'b1,               ///< has CTR
  parameter bit XTS = 1'b1,               ///< has XTS
  parameter int KEY_SLOTS = 16,           ///< 2 to 64
  parameter bit ZERO_RULE = 1'b1,         ///< zeros on the media are read as zeros
  parameter bit SPLIT = 1'b0,             ///< two cycles a round
  parameter bit FORMAT_PRESERVING = 1'b1  ///< declares: one row out for each row in
) (
  input  logic                         clk,
  input  logic                         rst,
  /// db_csd_keys
  input  key_bus_t                     key_bus,
  input  key_slot_t [KEY_SLOTS-1:0]    key_slots,
  input  logic                         s_axis_tvalid,
  output logic                         s_axis_tready,
  input  logic [DATA_W-1:0]            s_axis_tdata,
  input  logic                         s_axis_tlast,
  input  row_ctx_t                     s_axis_tuser,
  output logic                         m_axis_tvalid,
  input  logic                         m_axis_tready,
  output logic [DATA_W-1:0]            m_axis_tdata,
  output logic                         m_axis_tlast,
  output row_ctx_t                     m_axis_tuser
);
  localparam int SLOT_W = $clog2(KEY_SLOTS);
  localparam int AHEAD = 32;  // rows that may wait for their tweak: more than its latency

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  if (KEY_SLOTS < 2 || KEY_SLOTS > 64 || (!CTR && !XTS) || !FORMAT_PRESERVING) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d), CTR or XTS 1, FORMAT_PRESERVING 1", KEY_SLOTS);
  end

  // ---- rows wait for their tweak
  row_ctx_t             in, issue, checked;
  logic              q_valid, q_ready, q_last;
  logic [DATA_W-1:0] q_data;
  logic              tweak_valid, tweak_ok, wait_tweak;
  logic [127:0]      tweak;
  logic              wrap_ready;
  assign in = s_axis_tuser;

  if (XTS) begin : g_ahead
    logic req_ready, fifo_ready, wants;
    assign wants         = in.cmd.op == OP_AES_XTS && in.lba_first;
    assign s_axis_tready = req_ready && fifo_ready;
    db_fifo #(.WIDTH(DATA_W + 2 + $bits(row_ctx_t)), .DEPTH(AHEAD)) i_ahead (
      .clk, .rst, .level(),
      .s_valid(s_axis_tvalid && req_ready), .s_ready(fifo_ready), .s_data({wants, in, s_axis_tlast, s_axis_tdata}),
      .m_valid(q_valid), .m_ready(q_ready), .m_data({wait_tweak, issue, q_last, q_data})
    );
    // Four requests wait there, of 19 cycles each.
    logic tweak_clk;
    db_clock_gate #(.AFTER(128)) i_tweak_clk (
      .clk, .awake(rst || key_bus.valid || s_axis_tvalid || tweak_valid), .m_clk(tweak_clk));
    db_csd_tweak #(.CORES(DATA_W == 512 ? 2 : 1), .KEY_SLOTS(KEY_SLOTS)) i_tweak (
      .clk(tweak_clk), .rst, .key_bus, .key_slots,
      .s_valid(s_axis_tvalid && fifo_ready && wants), .s_ready(req_ready),
      .s_slot(in.cmd.key_slot[SLOT_W-1:0]), .s_lba(in.cmd.lba),
      .m_valid(tweak_valid), .m_ready(q_valid && wait_tweak && wrap_ready), .m_tweak(tweak), .m_ok(tweak_ok)
    );
    assign q_ready = wrap_ready && (!wait_tweak || tweak_valid);
  end else begin : g_direct
    assign q_valid       = s_axis_tvalid;
    assign q_data        = s_axis_tdata;
    assign q_last        = s_axis_tlast;
    assign issue         = in;
    assign s_axis_tready = q_ready;
    assign q_ready       = wrap_ready;
    assign wait_tweak    = 1'b0;
    assign tweak_valid   = 1'b0;
    assign tweak_ok      = 1'b0;
    assign tweak         = '0;
  end

  // ---- the check of the key, right before the pipeline: db_csd_keys waits that long before it overwrites a key
  logic ctr_ok, xts_ok, tweak_ok_q, slot_there;
  assign slot_there = 32'(issue.cmd.key_slot) < KEY_SLOTS;
  assign ctr_ok     = CTR && slot_there && key_slots[issue.cmd.key_slot[SLOT_W-1:0]].ctr;
  assign xts_ok     = XTS && slot_there && key_slots[issue.cmd.key_slot[SLOT_W-1:0]].xts
                    && (issue.lba_first ? tweak_ok : tweak_ok_q);
  always_comb begin
    checked         = issue;
    checked.key_err = issue.key_err || (issue.cmd.op == OP_AES_CTR && !ctr_ok)
                    || (issue.cmd.op == OP_AES_XTS && !xts_ok);
  end
  always_ff @(posedge clk) begin
    if (q_valid && q_ready && wait_tweak) tweak_ok_q <= tweak_ok;
    assert (rst || !q_valid || issue.cmd.dir == DIR || issue.cmd.of_program ||
            !(issue.cmd.op inside {OP_AES_CTR, OP_AES_XTS}));
  end

  // ---- the pipeline
  logic                     core_valid, res_valid, core_last;
  logic [DATA_W-1:0]        core_data, res_data;
  row_ctx_t                 core_user;
  db_csd_wrap #(.DATA_W(DATA_W), .USER_W($bits(row_ctx_t)), .DEPTH(SPLIT ? 64 : 32)) i_wrap (
    .clk, .rst,
    .s_axis_tvalid(q_valid && (!wait_tweak || tweak_valid)), .s_axis_tready(wrap_ready), .s_axis_tdata(q_data),
    .s_axis_tlast(q_last), .s_axis_tuser(checked),
    .m_core_valid(core_valid), .m_core_ready(1'b1), .m_core_data(core_data), .m_core_last(core_last),
    .m_core_user(core_user),
    .s_core_valid(res_valid), .s_core_ready(), .s_core_data(res_data), .s_core_last(1'b0),
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tlast, .m_axis_tuser
  );
  db_csd_aes_core #(
    .DATA_W(DATA_W), .DIR(DIR), .CTR(CTR), .XTS(XTS), .KEY_SLOTS(KEY_SLOTS), .ZERO_RULE(ZERO_RULE), .SPLIT(SPLIT)
  ) i_core (
    .clk, .rst, .key_bus, .key_slots, .tweak,
    .s_valid(core_valid), .s_data(core_data), .s_user(core_user), .m_valid(res_valid), .m_data(res_data)
  );
  logic unused;
  assign unused = core_last;
endmodule
