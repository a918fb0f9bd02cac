// SPDX-License-Identifier: Apache-2.0
// Operator: pass-through. The smallest operator that keeps the contract; copy it to start another.
//
// Latency: 1 cycle. Throughput: one row a cycle. All outputs are registers.
module db_csd_pass
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
  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid), .s_ready(s_axis_tready), .s_data({s_axis_tuser, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );
endmodule
