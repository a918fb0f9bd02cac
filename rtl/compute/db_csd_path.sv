// SPDX-License-Identifier: Apache-2.0
// One direction of the compute data path: packets of commands in order, their contexts beside, through the operators.
//
// What goes with a row and is nobody's business inside (its size, a transfer error, whether it was zeros) goes around the
// operators in a queue, which is right since every operator here gives one row for each.
// A row without a key has terr set from there to the end of its packet, as one whose transfer failed: whoever takes the
// rows ends the command with an error and lets none of them through.
// Latency: that of the operators + 1: with AES 24 cycles and those of the operators in folders, XTS 17 more for a command that finds it empty. A row a cycle.
module db_csd_path
  import db_csd_pkg::*;
#(
  parameter int DATA_W    = 256,   // bits: 128, 256, 512
  parameter bit DIR       = 1'b1,  // 1: to the media, 0: to the host
  parameter int NUM_CMDS  = 128,   // contexts that may wait: a power of two
  parameter int KEY_SLOTS = 16,    // 2 to 64
  parameter bit CRC32C    = 1'b1,  // has the reducer
  parameter int SHA_CORES = 4      // 0: no SHA-256; 1 to 16
) (
  input  logic                         clk,
  input  logic                         rst,
  output logic                         idle,
  input  logic [$bits(key_bus_t)-1:0]  key_bus,
  input  logic [KEY_SLOTS-1:0]         slot_ctr,
  input  logic [KEY_SLOTS-1:0]         slot_xts,
  input  logic [KEY_SLOTS-1:0]         slot_short,
  // contexts, one a packet, before its first row; never more than NUM_CMDS
  input  logic                         s_ctx_valid,
  input  op_ctx_t                      s_ctx,
  input  logic                         s_axis_tvalid,
  output logic                         s_axis_tready,
  input  logic [DATA_W-1:0]            s_axis_tdata,
  input  logic                         s_axis_tlast,
  input  logic [$clog2(DATA_W/32):0]   s_axis_tdw,
  input  logic                         s_axis_terr,
  output logic                         m_axis_tvalid,
  input  logic                         m_axis_tready,
  output logic [DATA_W-1:0]            m_axis_tdata,
  output logic                         m_axis_tlast,
  output logic [$clog2(DATA_W/32):0]   m_axis_tdw,
  output logic                         m_axis_terr,
  output logic [DATA_W/128-1:0]        m_axis_tzero,  // 16 bytes were zeros, and zeros on the media mean just that
  // results: 0 CRC-32C, 1 SHA-256, then those of db_csd_ops
  output logic [1+db_csd_ops_pkg::REDUCERS:0] m_res_valid,
  input  logic [1+db_csd_ops_pkg::REDUCERS:0] m_res_ready,
  output logic [(2+db_csd_ops_pkg::REDUCERS)*CSD_TAG_W-1:0]   m_res_tag,
  output logic [(2+db_csd_ops_pkg::REDUCERS)*256-1:0]         m_res_digest
);
  localparam int N_RES = 2 + db_csd_ops_pkg::REDUCERS;
  localparam int TDW_W = $clog2(DATA_W / 32) + 1;
  localparam int G     = DATA_W / 128;
  localparam int ROWS  = 1 << $clog2(60 + db_csd_ops_pkg::LATENCY);  // inside at most: more than the latency

  // ---- contexts
  op_ctx_t                    ctx;
  logic                       ctx_valid, ctx_room;
  logic [$clog2(NUM_CMDS):0]  ctx_level;
  db_fifo #(.WIDTH($bits(op_ctx_t)), .DEPTH(NUM_CMDS)) i_ctx (
    .clk, .rst, .level(ctx_level), .s_valid(s_ctx_valid), .s_ready(ctx_room), .s_data(s_ctx),
    .m_valid(ctx_valid), .m_ready(s_axis_tvalid && s_axis_tready && s_axis_tlast), .m_data(ctx));

  // ---- around the operators
  logic         side_room, side_valid, front_ready, is_aes, side_err, err_q;
  logic [G-1:0] zero;
  logic [$clog2(ROWS):0] level;
  assign is_aes        = ctx.op == OP_AES_CTR || ctx.op == OP_AES_XTS;
  assign s_axis_tready = ctx_valid && side_room && front_ready;
  for (genvar i = 0; i < G; i++) begin : g_zero
    assign zero[i] = is_aes && s_axis_tdata[128*i +: 128] == '0;
  end
  db_fifo #(.WIDTH(G + TDW_W + 1), .DEPTH(ROWS)) i_side (
    .clk, .rst, .level, .s_valid(s_axis_tvalid && ctx_valid && front_ready), .s_ready(side_room),
    .s_data({zero, s_axis_tdw, s_axis_terr}),
    .m_valid(side_valid), .m_ready(m_axis_tvalid && m_axis_tready), .m_data({m_axis_tzero, m_axis_tdw, side_err}));

  // ---- the operators
  localparam int N = 6;            // streams between them
  logic                     valid[N], ready[N], last[N];
  logic [DATA_W-1:0]        data[N];
  logic [$bits(beat_t)-1:0] user[N];
  localparam int OPS_RES = N_RES > 2 ? N_RES - 2 : 1;
  logic [OPS_RES-1:0]           ops_res_valid, ops_res_ready;
  logic [OPS_RES*CSD_TAG_W-1:0] ops_res_tag;
  logic [OPS_RES*256-1:0]       ops_res_digest;
  db_csd_front #(.DATA_W(DATA_W)) i_front (
    .clk, .rst, .s_axis_tvalid(s_axis_tvalid && ctx_valid && side_room), .s_axis_tready(front_ready), .s_axis_tdata,
    .s_axis_tlast, .s_axis_tuser(ctx), .m_axis_tvalid(valid[0]), .m_axis_tready(ready[0]), .m_axis_tdata(data[0]),
    .m_axis_tlast(last[0]), .m_axis_tuser(user[0]));
  db_csd_add #(.DATA_W(DATA_W)) i_add (
    .clk, .rst, .s_axis_tvalid(valid[0]), .s_axis_tready(ready[0]), .s_axis_tdata(data[0]),
    .s_axis_tlast(last[0]), .s_axis_tuser(user[0]), .m_axis_tvalid(valid[5]), .m_axis_tready(ready[5]),
    .m_axis_tdata(data[5]), .m_axis_tlast(last[5]), .m_axis_tuser(user[5]));
  beat_t ops_beat, aes_beat;
  assign ops_beat = user[1];
  always_comb begin
    aes_beat           = ops_beat;
    aes_beat.cmd.param = '0;       // nobody from here on has any: what would hold them is left out
  end
  db_csd_ops #(.DATA_W(DATA_W), .DIR(DIR)) i_ops (
    .clk, .rst, .s_axis_tvalid(valid[5]), .s_axis_tready(ready[5]), .s_axis_tdata(data[5]),
    .s_axis_tlast(last[5]), .s_axis_tuser(user[5]), .m_axis_tvalid(valid[1]), .m_axis_tready(ready[1]),
    .m_axis_tdata(data[1]), .m_axis_tlast(last[1]), .m_axis_tuser(user[1]), .m_res_valid(ops_res_valid),
    .m_res_ready(ops_res_ready), .m_res_tag(ops_res_tag), .m_res_digest(ops_res_digest));
  if (N_RES > 2) begin : g_ops_res
    assign m_res_valid[N_RES-1:2]                     = ops_res_valid;
    assign ops_res_ready                              = m_res_ready[N_RES-1:2];
    assign m_res_tag[N_RES*CSD_TAG_W-1:2*CSD_TAG_W]   = ops_res_tag;
    assign m_res_digest[N_RES*256-1:2*256]            = ops_res_digest;
  end else begin : g_no_ops_res
    assign ops_res_ready = '1;
  end
  db_csd_aes #(.DATA_W(DATA_W), .DIR(DIR), .KEY_SLOTS(KEY_SLOTS)) i_aes (
    .clk, .rst, .key_bus, .slot_ctr, .slot_xts, .slot_short, .s_axis_tvalid(valid[1]), .s_axis_tready(ready[1]),
    .s_axis_tdata(data[1]), .s_axis_tlast(last[1]), .s_axis_tuser(aes_beat), .m_axis_tvalid(valid[2]),
    .m_axis_tready(ready[2]), .m_axis_tdata(data[2]), .m_axis_tlast(last[2]), .m_axis_tuser(user[2]));
  if (CRC32C) begin : g_crc
    db_csd_crc32c #(.DATA_W(DATA_W)) i_crc (
      .clk, .rst, .s_axis_tvalid(valid[2]), .s_axis_tready(ready[2]), .s_axis_tdata(data[2]), .s_axis_tlast(last[2]),
      .s_axis_tuser(user[2]), .m_axis_tvalid(valid[3]), .m_axis_tready(ready[3]), .m_axis_tdata(data[3]),
      .m_axis_tlast(last[3]), .m_axis_tuser(user[3]), .m_res_valid(m_res_valid[0]), .m_res_ready(m_res_ready[0]),
      .m_res_tag(m_res_tag[0 +: CSD_TAG_W]), .m_res_digest(m_res_digest[0 +: 256]), .m_res_last());
  end else begin : g_no_crc
    db_csd_pass #(.DATA_W(DATA_W)) i_pass (
      .clk, .rst, .s_axis_tvalid(valid[2]), .s_axis_tready(ready[2]), .s_axis_tdata(data[2]), .s_axis_tlast(last[2]),
      .s_axis_tuser(user[2]), .m_axis_tvalid(valid[3]), .m_axis_tready(ready[3]), .m_axis_tdata(data[3]),
      .m_axis_tlast(last[3]), .m_axis_tuser(user[3]));
    assign m_res_valid[0] = 1'b0;
    assign m_res_tag[0 +: CSD_TAG_W]  = '0;
    assign m_res_digest[0 +: 256]     = '0;
  end
  if (SHA_CORES > 0) begin : g_sha
    db_csd_sha256 #(.DATA_W(DATA_W), .CORES(SHA_CORES)) i_sha (
      .clk, .rst, .s_axis_tvalid(valid[3]), .s_axis_tready(ready[3]), .s_axis_tdata(data[3]), .s_axis_tlast(last[3]),
      .s_axis_tuser(user[3]), .m_axis_tvalid(valid[4]), .m_axis_tready(ready[4]), .m_axis_tdata(data[4]),
      .m_axis_tlast(last[4]), .m_axis_tuser(user[4]), .m_res_valid(m_res_valid[1]), .m_res_ready(m_res_ready[1]),
      .m_res_tag(m_res_tag[CSD_TAG_W +: CSD_TAG_W]), .m_res_digest(m_res_digest[256 +: 256]), .m_res_last());
  end else begin : g_no_sha
    db_csd_pass #(.DATA_W(DATA_W)) i_pass (
      .clk, .rst, .s_axis_tvalid(valid[3]), .s_axis_tready(ready[3]), .s_axis_tdata(data[3]), .s_axis_tlast(last[3]),
      .s_axis_tuser(user[3]), .m_axis_tvalid(valid[4]), .m_axis_tready(ready[4]), .m_axis_tdata(data[4]),
      .m_axis_tlast(last[4]), .m_axis_tuser(user[4]));
    assign m_res_valid[1] = 1'b0;
    assign m_res_tag[CSD_TAG_W +: CSD_TAG_W] = '0;
    assign m_res_digest[256 +: 256]          = '0;
  end

  // ---- out
  beat_t beat;
  assign beat          = user[4];
  assign m_axis_tvalid = valid[4] && side_valid;
  assign ready[4]      = m_axis_tready && side_valid;
  assign m_axis_tdata  = data[4];
  assign m_axis_tlast  = last[4];
  assign m_axis_terr   = side_err || beat.key_err || err_q;
  assign idle          = level == '0 && !s_axis_tvalid;
  always_ff @(posedge clk) begin
    if (m_axis_tvalid && m_axis_tready) err_q <= m_axis_terr && !m_axis_tlast;
    if (rst) err_q <= 1'b0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, ctx_level, ctx_room, beat, m_res_ready, ops_res_valid, ops_res_tag, ops_res_digest};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_ctx_valid) assert (ctx_room);
`endif
endmodule
