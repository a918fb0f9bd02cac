// SPDX-License-Identifier: Apache-2.0
// Part of Csv: the least and the greatest number of a packet, by a tree over the places of each row.
//
// Latency: a cycle for each doubling of places. Throughput: a row a cycle.
module db_csd_near_csv_extremes
  import db_csd_near_csv_pkg::*;
#(
  parameter int PLACES = 16  ///< a power of two
) (
  input  logic              clk,
  input  number_t [PLACES-1:0] s_numbers,  ///< none where none is, and without a row
  input  logic              s_first,       ///< of the packet, a cycle for each doubling behind its numbers
  output key_t              m_least,       ///< so many cycles behind a row's numbers: up to this row
  output key_t              m_greatest
);
  function automatic key_t better(input key_t a, input key_t b, input logic greater);
    better = b.there && (!a.there || (a.key < b.key) == greater) ? b : a;
    better.there = a.there || b.there;
  endfunction

  // ---- of a row: node 1 is the root, nodes from PLACES on are what comes
  key_t least [2*PLACES], greatest [2*PLACES];
  assign least[0]    = '0;
  assign greatest[0] = '0;
  for (genvar i = 0; i < PLACES; i++) begin : g_leaf
    key_t key;
    assign key = '{there: s_numbers[i].there,
                   key: {!s_numbers[i].minus, s_numbers[i].digits ^ {4*DIGITS{s_numbers[i].minus}}}};
    assign least[PLACES+i]    = key;
    assign greatest[PLACES+i] = key;
  end
  for (genvar i = 1; i < PLACES; i++) begin : g_node
    key_t least_q, greatest_q;
    always_ff @(posedge clk) begin
      least_q    <= better(least[2*i], least[2*i+1], 1'b0);
      greatest_q <= better(greatest[2*i], greatest[2*i+1], 1'b1);
    end
    assign least[i]    = least_q;
    assign greatest[i] = greatest_q;
  end

  // ---- of the packet
  key_t least_q, greatest_q;
  assign m_least    = s_first ? least[1] : better(least_q, least[1], 1'b0);
  assign m_greatest = s_first ? greatest[1] : better(greatest_q, greatest[1], 1'b1);
  always_ff @(posedge clk) begin
    least_q    <= m_least;
    greatest_q <= m_greatest;
  end
endmodule
