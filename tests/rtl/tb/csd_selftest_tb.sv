// SPDX-License-Identifier: Apache-2.0
// db_csd_selftest with the key store, and db_csd_aes behind its probe in both directions.
module csd_selftest_tb
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W = 256,
  parameter int KEY_SLOTS = 4
) (
  input  logic                       clk,
  input  logic                       rst,            ///< power-on
  input  logic                       ctrl_rst,
  input  logic [7:0]                 fault,          ///< which one is in the modules that the test has broken; 0: none
  output logic                       busy,
  output logic                       failed,
  output logic                       testing,
  output key_bus_t                   key_bus,
  output key_slot_t [KEY_SLOTS-1:0]  key_slots,
  input  logic                       s_word_valid,
  input  key_word_t                  s_word,
  input  logic                       s_cmd_valid,
  output logic                       s_cmd_ready,
  input  key_cmd_t                   s_cmd,
  /// [0] media to host, [1] host to media
  output logic     [1:0]             aes_in_valid,   ///< a row goes into the AES, or comes out
  output logic     [1:0][DATA_W-1:0] aes_in_data,
  output logic     [1:0]             aes_out_valid,
  output logic     [1:0][DATA_W-1:0] aes_out_data,
  input  logic     [1:0]             s_axis_tvalid,
  output logic     [1:0]             s_axis_tready,
  input  logic     [1:0][DATA_W-1:0] s_axis_tdata,
  input  row_ctx_t [1:0]             s_axis_tuser,
  output logic     [1:0]             m_axis_tvalid,
  input  logic     [1:0]             m_axis_tready,
  output logic     [1:0][DATA_W-1:0] m_axis_tdata,
  output row_ctx_t [1:0]             m_axis_tuser
);
  logic       word_valid, cmd_valid, cmd_ready, keys_busy, go;
  key_word_t  word;
  key_cmd_t   cmd;
  logic [1:0] good;
  db_csd_selftest dut (
    .clk, .rst, .ctrl_rst, .busy, .failed, .s_word_valid, .s_word, .s_cmd_valid, .s_cmd_ready, .s_cmd,
    .m_word_valid(word_valid), .m_word(word), .m_cmd_valid(cmd_valid), .m_cmd_ready(cmd_ready), .m_cmd(cmd),
    .keys_busy, .testing, .go, .good);
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst(ctrl_rst), .s_word_valid(word_valid), .s_word(word), .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready),
    .s_cmd(cmd), .busy(keys_busy), .key_bus, .key_slots);
  for (genvar d = 0; d < 2; d++) begin : g_path
    logic              in_valid, in_ready, in_last, out_valid, out_ready, out_last, unused_last;
    logic [DATA_W-1:0] in_data, out_data;
    row_ctx_t          in_user, out_user;
    db_csd_probe #(.DATA_W(DATA_W), .DIR(d == 1)) i_probe (
      .clk, .rst(ctrl_rst), .testing, .go, .good(good[d]),
      .s_axis_tvalid(s_axis_tvalid[d]), .s_axis_tready(s_axis_tready[d]), .s_axis_tdata(s_axis_tdata[d]),
      .s_axis_tlast(1'b1), .s_axis_tuser(s_axis_tuser[d]), .m_aes_tvalid(in_valid), .m_aes_tready(in_ready),
      .m_aes_tdata(in_data), .m_aes_tlast(in_last), .m_aes_tuser(in_user), .s_aes_tvalid(out_valid),
      .s_aes_tready(out_ready), .s_aes_tdata(out_data), .s_aes_tlast(out_last), .s_aes_tuser(out_user),
      .m_axis_tvalid(m_axis_tvalid[d]), .m_axis_tready(m_axis_tready[d]), .m_axis_tdata(m_axis_tdata[d]),
      .m_axis_tlast(unused_last), .m_axis_tuser(m_axis_tuser[d]));
    db_csd_aes #(.DATA_W(DATA_W), .DIR(d == 1), .KEY_SLOTS(KEY_SLOTS)) i_aes (
      .clk, .rst(ctrl_rst), .key_bus, .key_slots, .s_axis_tvalid(in_valid), .s_axis_tready(in_ready),
      .s_axis_tdata(in_data), .s_axis_tlast(in_last), .s_axis_tuser(in_user), .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready), .m_axis_tdata(out_data), .m_axis_tlast(out_last), .m_axis_tuser(out_user));
    assign aes_in_valid[d]  = in_valid && in_ready;
    assign aes_in_data[d]   = in_data;
    assign aes_out_valid[d] = out_valid && out_ready;
    assign aes_out_data[d]  = out_data;
  end
endmodule
