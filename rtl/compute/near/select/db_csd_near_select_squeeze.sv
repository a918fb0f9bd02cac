// SPDX-License-Identifier: Apache-2.0
// Part of db_csd_near_select: moves the bytes of a row that stay down to its beginning, in their order.
//
// Each byte goes down by 1, 2, 4, ... as the bits of its way say. As no byte has farther to go than one above it, none
// meets another.
// Latency: LATENCY cycles. Throughput: a row a cycle. What comes is not held up.
module db_csd_near_select_squeeze #(
  parameter int BYTES = 32,  ///< of a row: 16, 32, 64
  localparam int ROW_LOG = $clog2(BYTES)
) (
  input  logic                           clk,
  input  logic [BYTES*8-1:0]             s_data,
  input  logic [BYTES-1:0]               s_keep,
  input  logic [BYTES-1:0][ROW_LOG-1:0]  s_down,  ///< bytes, of those with s_keep
  output logic [BYTES*8-1:0]             m_data   ///< what is above them means nothing
);
  localparam int LATENCY = (ROW_LOG + 1) / 2;     // two steps a cycle

  typedef struct packed {
    logic [BYTES-1:0]              keep;
    logic [BYTES-1:0][ROW_LOG-1:0] down;
    logic [BYTES-1:0][7:0]         data;
  } row_t;
  function automatic row_t step(input row_t row, input int k);
    step      = row;
    step.keep = '0;
    for (int i = 0; i < BYTES; i++) begin
      if (row.keep[i] && !row.down[i][k]) step.keep[i] = 1'b1;
      if (i + (1 << k) < BYTES && row.keep[i + (1 << k)] && row.down[i + (1 << k)][k]) begin
        step.keep[i] = 1'b1;
        step.down[i] = row.down[i + (1 << k)];
        step.data[i] = row.data[i + (1 << k)];
      end
    end
  endfunction

  row_t row_q [LATENCY];
  row_t row   [LATENCY];
  always_comb begin
    for (int n = 0; n < LATENCY; n++) begin
      row[n] = n == 0 ? '{keep: s_keep, down: s_down, data: s_data} : row_q[n == 0 ? 0 : n-1];
      row[n] = step(row[n], 2 * n);
      if (2 * n + 1 < ROW_LOG) row[n] = step(row[n], 2 * n + 1);
    end
  end
  always_ff @(posedge clk) row_q <= row;
  assign m_data = row_q[LATENCY-1].data;
endmodule
