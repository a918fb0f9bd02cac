// SPDX-License-Identifier: Apache-2.0
// One direction of the compute data path: packets of commands in order, their contexts beside, through the operators.
//
// No operator looks at a row's size, its transfer error, or whether it was zeros: these go around the operators in a
// queue. That is right since every operator gives one row for each. If the key of a row is gone, the row has `err`
// set, and so have all after it in the packet, as if its transfer had failed: whoever takes the rows ends the command
// with an error and lets none of them through.
// Latency: 24 cycles and those of the operators in folders (rtl/compute/ops); in XTS 17 more for a command that finds
// the path empty. Throughput: a row a cycle.
module db_csd_path
  import db_mem_pkg::*, db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W    = 256,   ///< bits: 128, 256, 512
  parameter bit DIR       = 1'b1,  ///< 1: to the media, 0: to the host
  parameter int PACKETS   = 128,   ///< contexts that may wait: a power of two
  parameter int KEY_SLOTS = 16,    ///< 2 to 64
  parameter bit CRC32C    = 1'b1,  ///< has the reducer
  parameter int SHA_CORES = 4      ///< 0: no SHA-256; 1 to 16
) (
  input  logic                         clk,
  input  logic                         rst,
  output logic                         idle,
  input  key_bus_t                     key_bus,
  input  key_slot_t [KEY_SLOTS-1:0]    key_slots,
  /// db_csd_selftest
  input  logic                         testing,
  input  logic                         test_go,
  output logic                         test_good,
  /// Contexts, one a packet, before its first row; never more than PACKETS.
  input  logic                         s_ctx_valid,
  input  op_ctx_t                      s_ctx,
  input  logic                         s_row_valid,
  output logic                         s_row_ready,
  input  logic [DATA_W-1:0]            s_row_data,
  input  row_info_t                    s_row_info,
  output logic                         m_row_valid,
  input  logic                         m_row_ready,
  output logic [DATA_W-1:0]            m_row_data,
  output row_info_t                    m_row_info,
  output logic [DATA_W/128-1:0]        m_row_zero,  ///< 16 bytes were zeros, and zeros on the media mean just that
  /// Results: 0 CRC-32C, 1 SHA-256, then those of db_csd_ops.
  output logic    [1+db_csd_ops_pkg::REDUCERS:0] m_res_valid,
  input  logic    [1+db_csd_ops_pkg::REDUCERS:0] m_res_ready,
  output result_t [1+db_csd_ops_pkg::REDUCERS:0] m_res
);
  localparam int N_RES = 2 + db_csd_ops_pkg::REDUCERS;
  localparam int TDW_W = $clog2(DATA_W / 32) + 1;
  localparam int G     = DATA_W / 128;
  localparam int ROWS  = 1 << $clog2(60 + db_csd_ops_pkg::LATENCY);  // inside at most: more than the latency

  // ---- contexts
  op_ctx_t                    ctx;
  logic                       ctx_valid, ctx_room;
  logic [$clog2(PACKETS):0]   ctx_level;
  db_fifo #(.WIDTH($bits(op_ctx_t)), .DEPTH(PACKETS)) i_ctx (
    .clk, .rst, .level(ctx_level), .s_valid(s_ctx_valid), .s_ready(ctx_room), .s_data(s_ctx),
    .m_valid(ctx_valid), .m_ready(s_row_valid && s_row_ready && s_row_info.last), .m_data(ctx));

  // ---- around the operators
  logic                  side_room, side_valid, front_ready, is_aes, side_err, failed, err_q;
  logic [TDW_W-1:0]      dw_in, dw;
  logic [G-1:0]          zero;
  logic [$clog2(ROWS):0] level;
  assign is_aes      = ctx.op == OP_AES_CTR || ctx.op == OP_AES_XTS;
  assign dw_in       = DIR ? s_row_info.dw[TDW_W-1:0] : '0;  // to the host nobody asks for it
  assign s_row_ready = ctx_valid && side_room && front_ready;
  for (genvar i = 0; i < G; i++) begin : g_zero
    assign zero[i] = is_aes && s_row_data[128*i +: 128] == '0;
  end
  db_fifo #(.WIDTH(G + TDW_W + 1), .DEPTH(ROWS)) i_side (
    .clk, .rst, .level, .s_valid(s_row_valid && ctx_valid && front_ready), .s_ready(side_room),
    .s_data({zero, dw_in, s_row_info.err}),
    .m_valid(side_valid), .m_ready(m_row_valid && m_row_ready), .m_data({m_row_zero, dw, side_err}));

  // ---- the operators
  localparam int N = 8;            // streams between them; 6 and 7: into and out of AES (but for to_aes_user)
  logic                     valid[N], ready[N], last[N];
  logic [DATA_W-1:0]        data[N];
  row_ctx_t                 user[N];
  localparam int OPS_RES = N_RES > 2 ? N_RES - 2 : 1;
  logic    [OPS_RES-1:0]    ops_res_valid, ops_res_ready;
  result_t [OPS_RES-1:0]    ops_res;
  db_csd_front #(.DATA_W(DATA_W)) i_front (
    .clk, .rst, .s_axis_tvalid(s_row_valid && ctx_valid && side_room), .s_axis_tready(front_ready),
    .s_axis_tdata(s_row_data), .s_axis_tlast(s_row_info.last), .s_axis_tuser(ctx),
    .m_axis_tvalid(valid[0]), .m_axis_tready(ready[0]), .m_axis_tdata(data[0]), .m_axis_tlast(last[0]),
    .m_axis_tuser(user[0]));
  db_csd_add #(.DATA_W(DATA_W)) i_add (
    .clk, .rst, .s_axis_tvalid(valid[0]), .s_axis_tready(ready[0]), .s_axis_tdata(data[0]),
    .s_axis_tlast(last[0]), .s_axis_tuser(user[0]), .m_axis_tvalid(valid[5]), .m_axis_tready(ready[5]),
    .m_axis_tdata(data[5]), .m_axis_tlast(last[5]), .m_axis_tuser(user[5]));
  row_ctx_t aes_row, to_aes_user;  // not in `user`: a simulator would see a circle through it
  always_comb begin
    aes_row           = user[1];
    aes_row.cmd.param = '0;       // nobody from here on has any: what would hold them is left out
  end
  db_csd_ops #(.DATA_W(DATA_W), .DIR(DIR)) i_ops (
    .clk, .rst, .s_axis_tvalid(valid[5]), .s_axis_tready(ready[5]), .s_axis_tdata(data[5]),
    .s_axis_tlast(last[5]), .s_axis_tuser(user[5]), .m_axis_tvalid(valid[1]), .m_axis_tready(ready[1]),
    .m_axis_tdata(data[1]), .m_axis_tlast(last[1]), .m_axis_tuser(user[1]), .m_res_valid(ops_res_valid),
    .m_res_ready(ops_res_ready), .m_res(ops_res));
  if (N_RES > 2) begin : g_ops_res
    assign m_res_valid[N_RES-1:2] = ops_res_valid;
    assign ops_res_ready          = m_res_ready[N_RES-1:2];
    assign m_res[N_RES-1:2]       = ops_res;
  end else begin : g_no_ops_res
    assign ops_res_ready = '1;
  end
  db_csd_probe #(.DATA_W(DATA_W), .DIR(DIR)) i_probe (
    .clk, .rst, .testing, .go(test_go), .good(test_good), .s_axis_tvalid(valid[1]), .s_axis_tready(ready[1]),
    .s_axis_tdata(data[1]), .s_axis_tlast(last[1]), .s_axis_tuser(aes_row), .m_aes_tvalid(valid[6]),
    .m_aes_tready(ready[6]), .m_aes_tdata(data[6]), .m_aes_tlast(last[6]), .m_aes_tuser(to_aes_user),
    .s_aes_tvalid(valid[7]), .s_aes_tready(ready[7]), .s_aes_tdata(data[7]), .s_aes_tlast(last[7]),
    .s_aes_tuser(user[7]), .m_axis_tvalid(valid[2]), .m_axis_tready(ready[2]), .m_axis_tdata(data[2]),
    .m_axis_tlast(last[2]), .m_axis_tuser(user[2]));
  db_csd_aes #(.DATA_W(DATA_W), .DIR(DIR), .KEY_SLOTS(KEY_SLOTS)) i_aes (
    .clk, .rst, .key_bus, .key_slots, .s_axis_tvalid(valid[6]), .s_axis_tready(ready[6]),
    .s_axis_tdata(data[6]), .s_axis_tlast(last[6]), .s_axis_tuser(to_aes_user), .m_axis_tvalid(valid[7]),
    .m_axis_tready(ready[7]), .m_axis_tdata(data[7]), .m_axis_tlast(last[7]), .m_axis_tuser(user[7]));
  if (CRC32C) begin : g_crc
    db_csd_crc32c #(.DATA_W(DATA_W)) i_crc (
      .clk, .rst, .s_axis_tvalid(valid[2]), .s_axis_tready(ready[2]), .s_axis_tdata(data[2]), .s_axis_tlast(last[2]),
      .s_axis_tuser(user[2]), .m_axis_tvalid(valid[3]), .m_axis_tready(ready[3]), .m_axis_tdata(data[3]),
      .m_axis_tlast(last[3]), .m_axis_tuser(user[3]), .m_res_valid(m_res_valid[0]), .m_res_ready(m_res_ready[0]),
      .m_res(m_res[0]));
  end else begin : g_no_crc
    db_csd_pass #(.DATA_W(DATA_W)) i_pass (
      .clk, .rst, .s_axis_tvalid(valid[2]), .s_axis_tready(ready[2]), .s_axis_tdata(data[2]), .s_axis_tlast(last[2]),
      .s_axis_tuser(user[2]), .m_axis_tvalid(valid[3]), .m_axis_tready(ready[3]), .m_axis_tdata(data[3]),
      .m_axis_tlast(last[3]), .m_axis_tuser(user[3]));
    assign m_res_valid[0] = 1'b0;
    assign m_res[0]       = '0;
  end
  if (SHA_CORES > 0) begin : g_sha
    db_csd_sha256 #(.DATA_W(DATA_W), .CORES(SHA_CORES)) i_sha (
      .clk, .rst, .s_axis_tvalid(valid[3]), .s_axis_tready(ready[3]), .s_axis_tdata(data[3]), .s_axis_tlast(last[3]),
      .s_axis_tuser(user[3]), .m_axis_tvalid(valid[4]), .m_axis_tready(ready[4]), .m_axis_tdata(data[4]),
      .m_axis_tlast(last[4]), .m_axis_tuser(user[4]), .m_res_valid(m_res_valid[1]), .m_res_ready(m_res_ready[1]),
      .m_res(m_res[1]));
  end else begin : g_no_sha
    db_csd_pass #(.DATA_W(DATA_W)) i_pass (
      .clk, .rst, .s_axis_tvalid(valid[3]), .s_axis_tready(ready[3]), .s_axis_tdata(data[3]), .s_axis_tlast(last[3]),
      .s_axis_tuser(user[3]), .m_axis_tvalid(valid[4]), .m_axis_tready(ready[4]), .m_axis_tdata(data[4]),
      .m_axis_tlast(last[4]), .m_axis_tuser(user[4]));
    assign m_res_valid[1] = 1'b0;
    assign m_res[1]       = '0;
  end

  // ---- out
  assign m_row_valid = valid[4] && side_valid;
  assign ready[4]    = m_row_ready && side_valid;
  assign m_row_data  = data[4];
  assign m_row_info  = '{last: last[4], dw: 5'(dw), err: failed};
  assign failed      = side_err || user[4].key_err || err_q;
  assign idle        = level == '0 && !s_row_valid;
  always_ff @(posedge clk) begin
    if (m_row_valid && m_row_ready) err_q <= failed && !last[4];
    if (rst) err_q <= 1'b0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, ctx_level, ctx_room, s_row_info, m_res_ready, ops_res_valid, ops_res};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_ctx_valid) assert (ctx_room);
`endif
endmodule
