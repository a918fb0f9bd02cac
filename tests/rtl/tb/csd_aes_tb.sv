// SPDX-License-Identifier: Apache-2.0
// db_csd_aes with its key store.
module csd_aes_tb
  import db_csd_pkg::*;
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
  input  logic [4:0]               s_word_addr,
  input  logic [31:0]              s_word_data,
  input  logic                     s_cmd_valid,
  output logic                     s_cmd_ready,
  input  logic                     s_cmd_load,
  input  logic [CSD_SLOT_W-1:0]    s_cmd_slot,
  input  logic                     s_cmd_long,
  input  logic                     s_cmd_ctr,
  input  logic                     s_cmd_xts,
  output logic                     busy,
  output logic [KEY_SLOTS-1:0]     slot_ctr,
  output logic [KEY_SLOTS-1:0]     slot_xts,
  output logic [KEY_SLOTS-1:0]     slot_short,
  output logic [$bits(key_bus_t)-1:0] key_bus,
  input  logic                     s_axis_tvalid,
  output logic                     s_axis_tready,
  input  logic [DATA_W-1:0]        s_axis_tdata,
  input  logic                     s_axis_tlast,
  input  logic [$bits(beat_t)-1:0] s_axis_tuser,
  output logic                     m_axis_tvalid,
  input  logic                     m_axis_tready,
  output logic [DATA_W-1:0]        m_axis_tdata,
  output logic                     m_axis_tlast,
  output logic [$bits(beat_t)-1:0] m_axis_tuser
);
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst, .s_word_valid, .s_word_addr, .s_word_data, .s_cmd_valid, .s_cmd_ready, .s_cmd_load, .s_cmd_slot,
    .s_cmd_long, .s_cmd_ctr, .s_cmd_xts, .busy, .key_bus, .slot_ctr, .slot_xts, .slot_short
  );
  db_csd_aes #(.DATA_W(DATA_W), .DIR(DIR), .CTR(CTR), .XTS(XTS), .KEY_SLOTS(KEY_SLOTS), .SPLIT(SPLIT)) dut (
    .clk, .rst, .key_bus, .slot_ctr, .slot_xts, .slot_short,
    .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_tuser,
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tlast, .m_axis_tuser
  );
endmodule
