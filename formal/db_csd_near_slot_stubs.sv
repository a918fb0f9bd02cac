// SPDX-License-Identifier: Apache-2.0
// Stand-ins for operators in db_csd_near_slot_formal: what they give is any, each cycle, from the ports that a slot hands
// on as they are.

module db_csd_near_grep  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,
  parameter int CELLS  = 8
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output near_row_t         m_row
);
  assign s_row_ready  = s_param.data[0];
  assign m_word_valid = s_param.data[4];
  assign m_word       = '{last: s_param.data[8], data: {128{s_param.data[12]}}};
  assign m_row_valid  = s_param.data[16];
  assign m_row        = '{last: s_param.data[20], bytes: {7{s_param.data[24]}}, default: '0};
  assign m_row_data   = s_row_data;
endmodule

module db_csd_near_aggregate  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word
);
  assign s_row_ready  = s_param.data[1];
  assign m_word_valid = s_param.data[5];
  assign m_word       = '{last: s_param.data[9], data: {128{s_param.data[13]}}};
endmodule

module db_csd_near_csv  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word
);
  assign s_row_ready  = s_param.data[2];
  assign m_word_valid = s_param.data[6];
  assign m_word       = '{last: s_param.data[10], data: {128{s_param.data[14]}}};
endmodule

module db_csd_near_filter  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output near_row_t         m_row
);
  assign s_row_ready  = s_param.data[3];
  assign m_row_valid  = s_param.data[19];
  assign m_row        = '{last: s_param.data[23], bytes: {7{s_param.data[27]}}, default: '0};
  assign m_row_data   = s_row_data;
endmodule
