// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the rounds of AES and the tweaks of XTS in db_csd_lock_formal: the same ports and the same time, and
// for a result bits of the key bus, which may be anything in every cycle.
module db_aes_pipe
  import db_aes_pkg::*;
#(
  parameter int LANES = 2,
  parameter bit ENC = 1'b1,
  parameter bit DEC = 1'b0,
  parameter int KEY_SLOTS = 16,
  parameter bit SPLIT = 1'b0
) (
  input  logic                         clk,
  input  logic                         rst,
  input  key_bus_t                     key_bus,
  input  logic                         s_valid,
  input  logic                         s_dec,
  input  logic                         s_short,
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [128*LANES-1:0]         s_data,
  output logic                         m_valid,
  output logic [128*LANES-1:0]         m_data
);
  logic [AES_ROUNDS:0] valid_q;
  always_ff @(posedge clk) valid_q <= rst ? '0 : {valid_q[AES_ROUNDS-1:0], s_valid};
  assign m_valid = valid_q[AES_ROUNDS];
  assign m_data  = {LANES{key_bus.data}};
endmodule

module db_csd_tweak  // verilog_lint: waive module-filename
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int CORES = 1,
  parameter int KEY_SLOTS = 16,
  parameter int DEPTH = 4
) (
  input  logic                         clk,
  input  logic                         rst,
  input  key_bus_t                     key_bus,
  input  key_slot_t [KEY_SLOTS-1:0]    key_slots,
  input  logic                         s_valid,
  output logic                         s_ready,
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [63:0]                  s_lba,
  output logic                         m_valid,
  input  logic                         m_ready,
  output logic [127:0]                 m_tweak,
  output logic                         m_ok
);
  assign s_ready = key_bus.slot[0];
  assign m_valid = key_bus.slot[1];
  assign m_ok    = key_bus.slot[2];
  assign m_tweak = key_bus.data;
endmodule
