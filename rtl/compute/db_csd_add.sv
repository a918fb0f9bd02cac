// SPDX-License-Identifier: Apache-2.0
// Operator: adds a number to every 32-bit word (little-endian) on its way to the media, subtracts it on the way back.
// The number is in bits 31:0 of the command's parameters.
//
// Latency: 1 cycle. Throughput: one row a cycle. All outputs are registers. Rows of other operators pass unchanged.
module db_csd_add
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256,             ///< bits: 128, 256, 512
  parameter bit FORMAT_PRESERVING = 1'b1  ///< declares: one row out for each row in
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
  if (!FORMAT_PRESERVING) begin : g_bad
    $error("%m: FORMAT_PRESERVING must be 1");
  end

  row_ctx_t          row;
  logic [31:0]       addend, term;
  logic [DATA_W-1:0] sum;

  assign row = s_axis_tuser;
  assign addend = row.cmd.param[31:0];
  assign term = row.cmd.op != OP_ADD ? 32'd0 : row.cmd.dir ? addend : 32'd0 - addend;
  for (genvar w = 0; w < DATA_W / 32; w++) begin : g_word
    assign sum[32*w+:32] = s_axis_tdata[32*w+:32] + term;
  end

  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid), .s_ready(s_axis_tready), .s_data({s_axis_tuser, s_axis_tlast, sum}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );
endmodule
