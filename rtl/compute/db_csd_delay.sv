// SPDX-License-Identifier: Apache-2.0
// Delays a word by a fixed number of cycles, every cycle: a small RAM that is written and read all the time.
//
// Latency: CYCLES. Throughput: one word a cycle. Contents are undefined for the first CYCLES after power-up.
module db_csd_delay #(
  parameter int WIDTH = 8,   ///< bits, at least 1
  parameter int CYCLES = 15  ///< 2 to 64
) (
  input  logic             clk,
  input  logic             rst,
  input  logic [WIDTH-1:0] s_data,
  output logic [WIDTH-1:0] m_data
);
  if (CYCLES < 2 || CYCLES > 64 || WIDTH < 1) begin : g_bad
    $error("%m: CYCLES must be 2 to 64 (is %0d), WIDTH at least 1 (is %0d)", CYCLES, WIDTH);
  end
  localparam int AW = $clog2(CYCLES);
  logic [WIDTH-1:0] mem_q[1 << AW];
  logic [WIDTH-1:0] m_data_q;
  logic [AW-1:0]    waddr_q, raddr_q;
  always_ff @(posedge clk) begin
    mem_q[waddr_q] <= s_data;
    m_data_q       <= mem_q[raddr_q];
    waddr_q        <= waddr_q + 1'b1;
    raddr_q        <= raddr_q + 1'b1;
    if (rst) begin
      waddr_q <= '0;
      raddr_q <= AW'(1 - CYCLES);
    end
  end
  assign m_data = m_data_q;
endmodule
