// SPDX-License-Identifier: Apache-2.0
// Operator: each 16 bytes XOR 16 bytes that the host chose (xor.rdl). The example of docs/guide/add-an-operator.md.
//
// Latency: 1 cycle. Throughput: one row a cycle. All outputs are registers. Rows of other operators pass unchanged.
module db_csd_op_xor
  import db_csd_pkg::*, db_csd_op_xor_pkg::*;
#(
  parameter int         DATA_W = 256,  ///< bits: 128, 256, 512
  parameter bit         DIR    = 1'b1, ///< 1: to the media, 0: from the media
  parameter logic [3:0] CODE   = 4'd6, ///< what a namespace is bound to
  parameter bit         FORMAT_PRESERVING = 1'b1, ///< declares: one row out for each row in
  parameter int         LATENCY = 1    ///< declares: cycles from row in to row out
) (
  input  logic                     clk,
  input  logic                     rst,
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
  if (!FORMAT_PRESERVING || LATENCY != 1) begin : g_bad
    $error("%m: FORMAT_PRESERVING and LATENCY must be 1 (is %0d)", LATENCY);
  end

  row_ctx_t          row;
  param_t            param;
  logic [DATA_W-1:0] mine;
  assign row   = s_axis_tuser;
  assign param = row.cmd.param;
  assign mine  = s_axis_tdata ^ {DATA_W / 128{param.mask}};

  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst, .s_valid(s_axis_tvalid), .s_ready(s_axis_tready),
    .s_data({s_axis_tuser, s_axis_tlast, row.cmd.op == CODE ? mine : s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );

  logic unused_ok;
  assign unused_ok = &{1'b0, DIR, row};
endmodule
