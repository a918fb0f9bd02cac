// SPDX-License-Identifier: Apache-2.0
// Adds up the values of a packet byte by byte: a sum for each of the eight bytes of the slots; and their number.
//
// Why: the slots of all sizes share these sums, and no carry is longer than 25 bits. The module _total weighs
// them.
// Latency: 1 cycle and one for each doubling of eight bytes to a row. Throughput: a row a cycle.
module db_csd_near_aggregate_sum #(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic                   s_first,
  input  logic                   s_last,
  input  logic [DATA_W-1:0]      s_values,  ///< 0 where none is
  input  logic [DATA_W/64*4-1:0] s_counts,  ///< values in each eight bytes
  output logic                   m_done,    ///< the sums are there, and stay until the next packet's
  output logic [7:0][24:0]       m_sums,
  output logic [20:0]            m_count
);
  localparam int EIGHTS = DATA_W / 64;
  localparam int LEVELS = $clog2(EIGHTS);
  localparam int ROW_W  = 8 + LEVELS;  // of a sum of a row
  localparam int LANES  = 9;           // the eight bytes and the number

  logic [LEVELS:0] first, last;
  assign first[0] = s_first;
  assign last[0]  = s_last;
  always_ff @(posedge clk) begin
    first[LEVELS:1] <= first[LEVELS-1:0];
    last[LEVELS:1]  <= last[LEVELS-1:0];
    m_done          <= last[LEVELS];
    if (rst) begin
      first[LEVELS:1] <= '0;
      last[LEVELS:1]  <= '0;
      m_done          <= 1'b0;
    end
  end

  for (genvar n = 0; n < LANES; n++) begin : g_lane
    localparam int SUM_W = n < 8 ? 25 : 21;
    // ---- of a row: node 1 is the root, nodes from EIGHTS on are what comes
    logic [ROW_W-1:0] node[2*EIGHTS];
    assign node[0] = '0;
    for (genvar g = 0; g < EIGHTS; g++) begin : g_leaf
      if (n < 8) begin : g_byte
        assign node[EIGHTS+g] = ROW_W'(s_values[64*g + 8*n +: 8]);
      end else begin : g_count
        assign node[EIGHTS+g] = ROW_W'(s_counts[4*g +: 4]);
      end
    end
    for (genvar i = 1; i < EIGHTS; i++) begin : g_node
      logic [ROW_W-1:0] node_q;
      always_ff @(posedge clk) node_q <= node[2*i] + node[2*i+1];
      assign node[i] = node_q;
    end

    // ---- of the packet
    logic [SUM_W-1:0] sum, sum_q, done_q;
    assign sum = SUM_W'(node[1]) + (first[LEVELS] ? '0 : sum_q);
    always_ff @(posedge clk) begin
      sum_q <= sum;
      if (last[LEVELS]) done_q <= sum;
    end
    if (n < 8) begin : g_sum
      assign m_sums[n] = done_q;
    end else begin : g_number
      assign m_count = done_q;
    end
  end
endmodule
