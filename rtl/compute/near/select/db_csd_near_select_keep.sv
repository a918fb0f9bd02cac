// SPDX-License-Identifier: Apache-2.0
// Part of db_csd_near_select: which bytes of a row stay, and how far each of them moves down; with bitmaps, of bits.
//
// A byte stays if it is chosen and its record passes: the one whose end is the next, in the row or behind it. So many
// bytes below it go, so far it moves.
// Latency: 5 cycles. Throughput: a row a cycle. What comes is not held up.
module db_csd_near_select_keep #(
  parameter int BYTES = 32  ///< of a row: 16, 32, 64
) (
  input  logic                                clk,
  input  logic                                bitmap,    ///< a bit for each record: whether it passes
  input  logic [BYTES*8-1:0]                  s_data,
  input  logic [BYTES-1:0]                    s_ends,    ///< of records
  input  logic [BYTES-1:0]                    s_whole,   ///< ... that count
  input  logic [BYTES-1:0]                    s_pass,    ///< ... that pass
  input  logic [BYTES-1:0]                    s_chosen,  ///< bytes, if their record passes
  input  logic                                s_tail,    ///< so does the one that ends behind the row
  output logic [BYTES*8-1:0]                  m_data,
  output logic [BYTES-1:0]                    m_keep,
  output logic [BYTES-1:0][$clog2(BYTES)-1:0] m_down,    ///< bytes, of what stays
  output logic [$clog2(BYTES):0]              m_count    ///< bytes that stay
);
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int HALF    = ROW_LOG / 2;
  localparam int EIGHTS  = BYTES / 8;

  // ---- 1, 2: is there an end from here on in so many bytes; and does its record pass? Doubled reach in each step
  logic [BYTES:0]          any1, pass1, any1_q, pass1_q, any2, pass2;
  logic [BYTES-1:0]        whole1_q, bits1_q, chosen1_q, keep2_q;
  logic [3:0][BYTES*8-1:0] data_q;
  always_comb begin
    any1  = {1'b1, s_ends};
    pass1 = {s_tail, s_pass};
    for (int k = 0; k < HALF; k++) begin
      pass1 = pass1 | (~any1 & (pass1 >> (1 << k)));
      any1  = any1 | (any1 >> (1 << k));
    end
    any2  = any1_q;
    pass2 = pass1_q;
    for (int k = HALF; k <= ROW_LOG; k++) begin
      pass2 = pass2 | (~any2 & (pass2 >> (1 << k)));
      any2  = any2 | (any2 >> (1 << k));
    end
  end

  // ---- 3 to 5: how many stay below: of its eight bytes, then of all
  logic [BYTES-1:0]            keep3_q, keep4_q;
  logic [BYTES-1:0][2:0]        below3_q, below4_q;
  logic [EIGHTS-1:0][3:0]       of3_q;
  logic [EIGHTS-1:0][ROW_LOG:0] upto3, upto4_q;  // of these eight bytes and all below
  always_comb begin
    for (int g = 0; g < EIGHTS; g++) upto3[g] = (ROW_LOG + 1)'(of3_q[g]);
    for (int step = 1; step < EIGHTS; step *= 2) begin
      for (int g = EIGHTS - 1; g >= step; g--) upto3[g] = upto3[g] + upto3[g-step];
    end
  end

  always_ff @(posedge clk) begin
    any1_q    <= any1;
    pass1_q   <= pass1;
    whole1_q  <= s_whole;
    bits1_q   <= s_pass;
    chosen1_q <= s_chosen;
    data_q[0] <= s_data;

    keep2_q   <= bitmap ? whole1_q : pass2[BYTES-1:0] & chosen1_q;
    data_q[1] <= data_q[0];
    if (bitmap) for (int i = 0; i < BYTES; i++) data_q[1][8*i +: 8] <= {7'd0, bits1_q[i]};

    keep3_q   <= keep2_q;
    data_q[2] <= data_q[1];
    for (int g = 0; g < EIGHTS; g++) begin
      for (int i = 0; i < 8; i++) below3_q[8*g+i] <= 3'($countones(keep2_q[8*g +: 8] & ((8'd1 << i) - 8'd1)));
      of3_q[g] <= 4'($countones(keep2_q[8*g +: 8]));
    end

    keep4_q   <= keep3_q;
    data_q[3] <= data_q[2];
    below4_q  <= below3_q;
    upto4_q   <= upto3;

    m_keep  <= keep4_q;
    m_data  <= data_q[3];
    m_count <= upto4_q[EIGHTS-1];
    for (int i = 0; i < BYTES; i++)
      m_down[i] <= ROW_LOG'(i) - ROW_LOG'(below4_q[i]) - (i < 8 ? '0 : upto4_q[i < 8 ? 0 : i/8-1][ROW_LOG-1:0]);
  end
endmodule
