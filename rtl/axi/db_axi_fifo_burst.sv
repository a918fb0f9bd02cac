// SPDX-License-Identifier: Apache-2.0
// One side of db_axi_fifo: cuts rows that wait into bursts that the address channel carries, as far as there is room.
//
// A burst ends at a multiple of BURST rows of the ring (never crosses 4 KiB), or with the last row waiting when
// `partial` is high. There is room for LIMIT rows, asked for BURST at a time. Used twice: for writes rows wait in the
// input FIFO and room is the ring's, for reads they wait in the ring and room is the output FIFO's.
// Counts are pipelined, so a burst can go every 4 cycles. Latency: rows waiting to address on offer, 4 cycles.
module db_axi_fifo_burst #(
  parameter int unsigned     ROW_W   = 16,   ///< bits of a row's number in the ring
  parameter int unsigned     WAIT_W  = 16,   ///< bits of the count of rows that wait
  parameter longint unsigned LIMIT   = 512,  ///< rows there is room for; at least BURST
  parameter int unsigned     BURST   = 128,  ///< rows: power of two, 2..256
  parameter bit              READ    = 1'b0  ///< a row that passes by: 0 waits no more, 1 takes room
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             enable,   ///< bursts may be cut
  input  logic             partial,  ///< also ones that end where nothing more waits
  input  logic [8:0]       s_rows,   ///< so many rows more wait
  input  logic             s_pass,   ///< a row goes by on another way, and the ring's place for it is left out
  input  logic             s_free,   ///< a row's room is free again
  output logic             m_whole,  ///< rows up to a multiple of BURST wait; low after a burst or a row that passed
  output logic             m_empty,  ///< no room is taken, and nothing changed that lately
  output logic             m_cut,    ///< a burst was cut in the cycle before, of m_rows rows
  output logic [8:0]       m_rows,   ///< 0 without m_cut
  output logic             m_valid,
  input  logic             m_ready,
  output logic [ROW_W-1:0] m_row,
  output logic [7:0]       m_len     ///< rows - 1
);
  localparam int unsigned EDGE_LOG2 = $clog2(BURST);
  localparam int unsigned HELD_W  = $clog2(LIMIT + 64'd1);

  if (BURST < 2 || BURST > 256 || BURST != (1 << EDGE_LOG2) || LIMIT < 64'(BURST)) begin : g_bad
    $error("%m: BURST must be a power of two, 2..256 (is %0d), LIMIT at least that (is %0d)", BURST, LIMIT);
  end

  logic [ROW_W-1:0]  row_q;
  logic [WAIT_W-1:0] wait_q;
  logic [HELD_W-1:0] held_q;
  logic [9:0]        wait_more_q, held_more_q;   // signed: by how much the counts change, a cycle late
  logic [EDGE_LOG2:0]  to_edge;
  logic [8:0]        len_q;
  logic [2:0]        hold_q;                     // not 0: row_q and the counts do not show all of the last 3 cycles
  logic              whole, whole_q, any_q, room_q, none_q, go;

  assign to_edge = (EDGE_LOG2 + 1)'(BURST) - {1'b0, row_q[EDGE_LOG2-1:0]};
  assign whole   = wait_q >= WAIT_W'(to_edge);
  assign go      = enable && any_q && room_q && hold_q == '0 && !m_valid;
  assign m_whole = whole_q && hold_q == '0;
  assign m_empty = none_q && hold_q == '0;

  always_ff @(posedge clk) begin
    whole_q     <= whole;
    any_q       <= whole || (partial && wait_q != '0);
    len_q       <= whole ? 9'(to_edge) : 9'(wait_q);
    room_q      <= held_q <= HELD_W'(LIMIT - 64'(BURST));
    none_q      <= held_q == '0;
    wait_more_q <= 10'(s_rows) - 10'(m_rows) - 10'(s_pass && !READ);
    held_more_q <= 10'(m_rows) + 10'(s_pass && READ) - 10'(s_free);
    wait_q      <= wait_q + WAIT_W'($signed(wait_more_q));
    held_q      <= held_q + HELD_W'($signed(held_more_q));
    row_q       <= row_q + ROW_W'(s_pass) + ROW_W'(m_rows);
    hold_q      <= (go || s_pass) ? 3'b111 : hold_q >> 1;
    m_cut       <= go;
    m_rows      <= go ? len_q : '0;
    if (go) begin
      m_row <= row_q;
      m_len <= 8'(len_q - 1'b1);
    end
    if (go) m_valid <= 1'b1;
    else if (m_ready) m_valid <= 1'b0;
    if (rst) begin
      wait_more_q <= '0;
      held_more_q <= '0;
      wait_q      <= '0;
      held_q      <= '0;
      row_q       <= '0;
      hold_q      <= 3'b111;
      m_cut       <= 1'b0;
      m_rows      <= '0;
      m_valid     <= 1'b0;
    end
  end
endmodule
