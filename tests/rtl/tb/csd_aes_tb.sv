// SPDX-License-Identifier: Apache-2.0
// db_csd_aes with its key store.
module csd_aes_tb
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W = 256,
  parameter bit DIR = 1'b1,
  parameter bit CTR = 1'b1,
  parameter bit XTS = 1'b1,
  parameter int KEY_SLOTS = 16,
  parameter bit SPLIT = 1'b0
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic                     s_word_valid,
  input  key_word_t                s_word,
  input  logic                     s_cmd_valid,
  output logic                     s_cmd_ready,
  input  key_cmd_t                 s_cmd,
  output logic                     busy,
  output key_slot_t [KEY_SLOTS-1:0] key_slots,
  output key_bus_t                 key_bus,
  input  logic                     s_axis_tvalid,
  output logic                     s_axis_tready,
  input  logic [DATA_W-1:0]        s_axis_tdata,
  input  logic                     s_axis_tlast,
  input  row_ctx_t                 s_axis_tuser,
  output logic                     m_axis_tvalid,
  input  logic                     m_axis_tready,
  output logic [DATA_W-1:0]        m_axis_tdata,
  output logic                     m_axis_tlast,
  output row_ctx_t                 m_axis_tuser
);
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst, .s_word_valid, .s_word, .s_cmd_valid, .s_cmd_ready, .s_cmd, .busy, .key_bus, .key_slots
  );
  db_csd_aes #(.DATA_W(DATA_W), .DIR(DIR), .CTR(CTR), .XTS(XTS), .KEY_SLOTS(KEY_SLOTS), .SPLIT(SPLIT)) dut (
    .clk, .rst, .key_bus, .key_slots,
    .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_tuser,
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tlast, .m_axis_tuser
  );
endmodule
