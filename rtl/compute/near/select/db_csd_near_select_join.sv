// SPDX-License-Identifier: Apache-2.0
// Part of db_csd_near_select: puts pieces of 0 to LANES lanes one behind the other into rows of LANES lanes.
//
// A piece is turned to where the one before it ended; what goes beyond the row waits for the next.
// Latency: 3 cycles from the piece that fills a row. Throughput: a piece a cycle; behind a packet's last one a cycle without.
// What comes is not held up.
module db_csd_near_select_join #(
  parameter int LANES  = 32,  ///< of a row: a power of two, at least 4
  parameter int LANE_W = 8,   ///< bits
  localparam int LOG   = $clog2(LANES)
) (
  input  logic                         clk,
  input  logic                         rst,
  input  logic                         s_valid,
  input  logic                         s_last,    ///< of the packet
  input  logic [LANES-1:0][LANE_W-1:0] s_data,    ///< the first s_count lanes
  input  logic [LOG:0]                 s_count,
  output logic                         m_valid,
  output logic                         m_last,    ///< of the packet: each has one
  output logic [LANES-1:0][LANE_W-1:0] m_data,
  output logic [LOG:0]                 m_count    ///< all lanes; with m_last the first 0..LANES
);
  localparam int HALF = LOG / 2;

  // ---- where it goes; turned by the low bits of that, then by the others
  logic                         valid1_q, last1_q, valid2_q, last2_q, rest_q;
  logic [LOG-1:0]               at_q, at1_q, at2_q, rest_count_q;
  logic [LOG:0]                 end1_q, end2_q, sum;       // behind it; beyond LANES: in the next row
  logic [LANES-1:0][LANE_W-1:0] data1_q, data2_q, row_q, full;
  assign sum = {1'b0, at_q} + s_count;
  always_comb begin
    for (int i = 0; i < LANES; i++) full[i] = i < 32'(at2_q) ? row_q[i] : data2_q[i];
  end

  always_ff @(posedge clk) begin
    valid1_q <= s_valid && !rst;
    last1_q  <= s_last;
    at1_q    <= at_q;
    end1_q   <= sum;
    if (s_valid) at_q <= s_last ? '0 : sum[LOG-1:0];
    for (int i = 0; i < LANES; i++) data1_q[i] <= s_data[LOG'(i - 32'(at_q[HALF-1:0]))];

    valid2_q <= valid1_q && !rst;
    last2_q  <= last1_q;
    at2_q    <= at1_q;
    end2_q   <= end1_q;
    for (int i = 0; i < LANES; i++) data2_q[i] <= data1_q[LOG'(i - 32'({at1_q[LOG-1:HALF], HALF'(0)}))];

    // ---- a row; the rest of a packet's last piece a cycle later
    m_valid <= (valid2_q && (end2_q[LOG] || last2_q)) || rest_q;
    m_last  <= rest_q || (last2_q && end2_q <= (LOG + 1)'(LANES));
    m_data  <= rest_q ? row_q : full;
    m_count <= rest_q ? {1'b0, rest_count_q} : end2_q[LOG] ? (LOG + 1)'(LANES) : end2_q;
    rest_count_q <= end2_q[LOG-1:0];
    rest_q  <= valid2_q && last2_q && end2_q > (LOG + 1)'(LANES);
    if (valid2_q) row_q <= end2_q[LOG] ? data2_q : full;
    if (rst) begin
      at_q    <= '0;
      m_valid <= 1'b0;
      rest_q  <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && rest_q) assert (!valid2_q);
`endif
endmodule
