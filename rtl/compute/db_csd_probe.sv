// SPDX-License-Identifier: Apache-2.0
// Around db_csd_aes in one direction: rows pass as they are; during the self-test those of published vectors go through
// it instead, and what comes out is compared and goes no further.
//
// The rows are twice the first of IEEE 1619 vector 10 with the key of slot 0 (XTS, so that each of two tweak cores gets
// one), then the first of SP 800-38A F.5.5 with that of slot 1 (CTR). To the media they go in plain, to the host XTS
// goes in as ciphertext: what the pipeline does in each mode and direction, in all its lanes, is done once.
// Latency: none.
module db_csd_probe
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter bit DIR    = 1'b1  ///< 1: to the media, 0: to the host
) (
  input  logic              clk,
  input  logic              rst,
  /// db_csd_selftest
  input  logic              testing,  ///< only rows of the vectors go in, and none goes on
  input  logic              go,       ///< pulse: send them
  output logic              good,     ///< all of them came back, and right
  input  logic              s_axis_tvalid,
  output logic              s_axis_tready,
  input  logic [DATA_W-1:0] s_axis_tdata,
  input  logic              s_axis_tlast,
  input  row_ctx_t          s_axis_tuser,
  /// to db_csd_aes
  output logic              m_aes_tvalid,
  input  logic              m_aes_tready,
  output logic [DATA_W-1:0] m_aes_tdata,
  output logic              m_aes_tlast,
  output row_ctx_t          m_aes_tuser,
  /// from db_csd_aes
  input  logic              s_aes_tvalid,
  output logic              s_aes_tready,
  input  logic [DATA_W-1:0] s_aes_tdata,
  input  logic              s_aes_tlast,
  input  row_ctx_t          s_aes_tuser,
  output logic              m_axis_tvalid,
  input  logic              m_axis_tready,
  output logic [DATA_W-1:0] m_axis_tdata,
  output logic              m_axis_tlast,
  output row_ctx_t          m_axis_tuser
);
  localparam logic [1:0] ROW_CTR = 2'd2, ROWS = 2'd3;  // two of XTS before it
  // The first 64 bytes, byte 0 last.
  localparam logic [511:0] XTS_PLAIN = {
    256'h3f3e3d3c_3b3a3938_37363534_33323130_2f2e2d2c_2b2a2928_27262524_23222120,
    256'h1f1e1d1c_1b1a1918_17161514_13121110_0f0e0d0c_0b0a0908_07060504_03020100};
  localparam logic [511:0] XTS_CIPHER = {
    256'hfd88b14b_cbfebe45_33fcad35_ac860a68_443f68ac_f917b366_8d4afef8_76e2315d,
    256'h3be6a314_d412aea4_5723485e_3f8000ea_9bcf70e3_996c83e4_8603772f_103a3b1c};
  localparam logic [511:0] CTR_PLAIN = {
    256'h10376ce6_7b412bad_179b4fdf_45249ff6_ef520a1a_19c1fbe5_11e45ca3_461cc830,
    256'h518eaf45_ac6fb79e_9cac031e_578a2dae_2a179373_117e3de9_969f402e_e2bec16b};
  localparam logic [511:0] CTR_CIPHER = {
    256'ha6417945_08ddc213_a6ad7ab6_8dc5c9df_8d98842d_ba1770e8_4ce93da2_da30092b,
    256'hc5f5caca_90e984ca_9ab5624d_cae343f4_28d2f3bb_04f5a7b7_a5895777_13c31e60};

  logic [1:0]        sent_q, came_q;  // rows of the vectors
  logic              wrong_q, wrong;
  logic [DATA_W-1:0] from, to;
  row_ctx_t          ctx;
  assign from = sent_q == ROW_CTR ? CTR_PLAIN[DATA_W-1:0] : DIR ? XTS_PLAIN[DATA_W-1:0] : XTS_CIPHER[DATA_W-1:0];
  assign to   = came_q == ROW_CTR ? CTR_CIPHER[DATA_W-1:0] : DIR ? XTS_CIPHER[DATA_W-1:0] : XTS_PLAIN[DATA_W-1:0];
  always_comb begin
    ctx              = '0;
    ctx.cmd.nsid     = 32'd1;
    ctx.cmd.lba      = sent_q == ROW_CTR ? 64'd0 : 64'hff;  // the vector's data unit
    ctx.cmd.lbads    = 5'd9;
    ctx.cmd.dir      = DIR;
    ctx.cmd.op       = sent_q == ROW_CTR ? OP_AES_CTR : OP_AES_XTS;
    ctx.cmd.key_slot = 6'(sent_q == ROW_CTR);
    ctx.cmd_first    = 1'b1;
    ctx.lba_first    = 1'b1;
  end

  assign m_aes_tvalid  = testing ? sent_q != ROWS : s_axis_tvalid;
  assign s_axis_tready = m_aes_tready && !testing;
  assign m_aes_tdata   = testing ? from : s_axis_tdata;
  assign m_aes_tlast   = testing || s_axis_tlast;
  assign m_aes_tuser   = testing ? ctx : s_axis_tuser;
  assign m_axis_tvalid = s_aes_tvalid && !testing;
  assign s_aes_tready  = m_axis_tready || testing;
  assign m_axis_tdata  = s_aes_tdata;
  assign m_axis_tlast  = s_aes_tlast;
  assign m_axis_tuser  = s_aes_tuser;

  assign wrong = came_q == ROWS || s_aes_tdata != to || s_aes_tuser.key_err;
  assign good  = came_q == ROWS && !wrong_q;
  always_ff @(posedge clk) begin
    if (testing && m_aes_tvalid && m_aes_tready) sent_q <= sent_q + 2'd1;
    if (testing && s_aes_tvalid) begin
      came_q  <= came_q == ROWS ? ROWS : came_q + 2'd1;
      wrong_q <= wrong_q || wrong;
    end
    if (go) sent_q <= '0;
    if (rst) begin
      sent_q  <= ROWS;
      came_q  <= '0;
      wrong_q <= 1'b0;
    end
  end
endmodule
