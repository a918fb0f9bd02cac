// SPDX-License-Identifier: Apache-2.0
// db_aes_pipe with a key store; and db_aes_iter beside it.
module csd_pipe_tb
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int LANES = 2,
  parameter bit ENC = 1'b1,
  parameter bit DEC = 1'b0,
  parameter int KEY_SLOTS = 16,
  parameter bit SPLIT = 1'b0
) (
  input  logic                         clk,
  input  logic                         rst,
  input  logic                         s_word_valid,
  input  key_word_t                    s_word,
  input  logic                         s_cmd_valid,
  output logic                         s_cmd_ready,
  input  key_cmd_t                     s_cmd,
  output logic                         busy,
  output key_bus_t                     key_bus,
  output key_slot_t [KEY_SLOTS-1:0]    key_slots,
  input  logic                         s_valid,
  input  logic                         s_dec,
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [128*LANES-1:0]         s_data,
  output logic                         m_valid,
  output logic [128*LANES-1:0]         m_data,
  input  logic                         s_iter_valid,
  output logic                         s_iter_ready,
  input  logic [$clog2(KEY_SLOTS)-1:0] s_iter_slot,
  input  logic [127:0]                 s_iter_data,
  output logic                         m_iter_valid,
  input  logic                         m_iter_ready,
  output logic [127:0]                 m_iter_data
);
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst, .s_word_valid, .s_word, .s_cmd_valid, .s_cmd_ready, .s_cmd, .busy, .key_bus, .key_slots
  );
  db_aes_pipe #(.LANES(LANES), .ENC(ENC), .DEC(DEC), .KEY_SLOTS(KEY_SLOTS), .SPLIT(SPLIT)) dut (
    .clk, .rst, .key_bus, .s_valid, .s_dec, .s_short(key_slots[s_slot].short_key), .s_slot, .s_data, .m_valid, .m_data
  );
  db_aes_iter #(.KEY_SLOTS(KEY_SLOTS)) i_iter (
    .clk, .rst, .key_bus,
    .s_valid(s_iter_valid), .s_ready(s_iter_ready), .s_short(key_slots[s_iter_slot].short_key), .s_slot(s_iter_slot),
    .s_data(s_iter_data), .s_user(1'b0),
    .m_valid(m_iter_valid), .m_ready(m_iter_ready), .m_data(m_iter_data), .m_user()
  );
endmodule
