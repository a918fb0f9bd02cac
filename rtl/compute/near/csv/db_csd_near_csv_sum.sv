// SPDX-License-Identifier: Apache-2.0
// Part of Csv: a sum of a packet, over the places of each row.
//
// Latency: a cycle for each doubling of places. Throughput: a row a cycle.
module db_csd_near_csv_sum #(
  parameter int PLACES = 16,  ///< a power of two
  parameter int WIDTH  = 5,   ///< bits of what is added, two's complement
  parameter int SUM_W  = 25   ///< of the sum
) (
  input  logic                         clk,
  input  logic [PLACES-1:0][WIDTH-1:0] s_values,  ///< 0 where none is, and without a row
  input  logic                         s_first,   ///< of the packet, a cycle for each doubling behind its values
  output logic [SUM_W-1:0]             m_sum      ///< so many cycles behind a row's values: up to this row
);
  localparam int LEVELS = $clog2(PLACES);
  localparam int ROW_W  = WIDTH + LEVELS;

  // ---- of a row: node 1 is the root, nodes from PLACES on are what comes
  logic signed [ROW_W-1:0] node [2*PLACES];
  assign node[0] = '0;
  for (genvar i = 0; i < PLACES; i++) begin : g_leaf
    assign node[PLACES+i] = ROW_W'($signed(s_values[i]));
  end
  for (genvar i = 1; i < PLACES; i++) begin : g_node
    localparam int W = WIDTH + LEVELS - $clog2(i + 1) + 1;  // a bit more for each doubling
    logic signed [W-1:0] node_q;
    always_ff @(posedge clk) node_q <= W'(node[2*i] + node[2*i+1]);
    assign node[i] = ROW_W'(node_q);
  end

  // ---- of the packet
  logic [SUM_W-1:0] sum_q;
  assign m_sum = SUM_W'(node[1]) + (s_first ? '0 : sum_q);
  always_ff @(posedge clk) sum_q <= m_sum;
endmodule
