// SPDX-License-Identifier: Apache-2.0
// Register slice: cuts the valid, data and ready paths of a stream.
//
// Latency: 1 cycle. Throughput: one word a cycle. All outputs are registers.
module db_skid #(
  parameter int unsigned WIDTH = 8  ///< bits in a word, at least 1
) (
  input  logic             clk,
  input  logic             rst,

  input  logic             s_valid,
  output logic             s_ready,
  input  logic [WIDTH-1:0] s_data,

  output logic             m_valid,
  input  logic             m_ready,
  output logic [WIDTH-1:0] m_data
);
  if (WIDTH < 1) begin : g_bad
    $error("%m: WIDTH must be at least 1");
  end

  logic             s_ready_q, m_valid_q;
  logic [WIDTH-1:0] m_data_q, spare_q;  // spare_q holds a word exactly while s_ready_q is low
  logic             out_free;

  assign s_ready  = s_ready_q;
  assign m_valid  = m_valid_q;
  assign m_data   = m_data_q;
  assign out_free = !m_valid_q || m_ready;

  always_ff @(posedge clk) begin
    if (s_ready_q) spare_q <= s_data;
    if (out_free) begin
      m_valid_q <= !s_ready_q || s_valid;
      m_data_q  <= s_ready_q ? s_data : spare_q;
      s_ready_q <= 1'b1;
    end else if (s_valid) begin
      s_ready_q <= 1'b0;
    end
    if (rst) begin
      s_ready_q <= 1'b1;
      m_valid_q <= 1'b0;
    end
  end
endmodule
