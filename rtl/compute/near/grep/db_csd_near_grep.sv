// SPDX-License-Identifier: Apache-2.0
// Near-storage operator: counts the lines that have at least one of some strings, and says where they end, or gives the
// lines themselves (docs/csd/near-storage.md). Wiring, and the window that the strings are looked for in.
//
//   s_row -+-> fold, line ends -> row, begin of the next -> db_csd_near_grep_cells -> db_csd_near_grep_lines
//          |                                                      words <- FIFO <--'    '-> marks
//          '-> rows, if their lines are wanted -------------> db_csd_near_select <--------'
//
// Parameters: word 1: flags (bit 0 letters alike, bit 1 entries, bit 2 lines without, bit 3 lines) and in bits 15:8 the
// byte that ends a line; five words a cell (db_csd_near_grep_cells). Rows move on whatever becomes of the words: a row
// is taken only if there is room for all words that may come. A packet of which lines are wanted has at most
// NEAR_LINES_MOST bytes: so its rows have room until it is known what becomes of its longest line.
// Latency: 14 cycles from a packet's last row to its last word, 22 to 24 to its last row (128 bits: 21 to 23).
// Throughput: a row a cycle, but 2 cycles less a packet, and up to 12 behind a line that takes all the room.
module db_csd_near_grep
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter int CELLS  = 8     ///< pieces of strings, 1..32
) (
  input  logic              clk,
  input  logic              rst,
  /// A word of the program, while no packet is inside.
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word,
  output logic              m_row_valid,  ///< lines, in place of words
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,   ///< what is behind its bytes means nothing
  output near_row_t         m_row         ///< phase 0; bytes may be 0 in the last one
);
  localparam int B     = DATA_W / 8;  // bytes of a row
  localparam int AHEAD = 15;          // bytes of the next row that a piece may need
  localparam int ROOM  = 64;          // words
  localparam int UNDER_WAY = 24;      // rows inside at most, and so words
  localparam int WAITING = NEAR_LINES_MOST / B;  // rows of which lines are wanted
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  // ---- flags
  logic       fold_q, where_q, without_q, lines_q;
  logic [7:0] line_end_q;
  always_ff @(posedge clk) begin
    if (s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(1)) begin
      {lines_q, without_q, where_q, fold_q} <= s_param.data[3:0];
      line_end_q                            <= s_param.data[15:8];
    end
  end

  // ---- a row as it came in: letters alike, which bytes count, which end a line
  logic [$clog2(ROOM):0] level;
  logic                  room_q, rows_room, take, in_valid_q, in_first_q, in_last_q;
  logic [1:0]            in_part_q;              // s_row.phase: it begins inside a line, it ends inside one
  logic [1:0]            rest_q;                 // cycles until the next packet
  logic [B-1:0][7:0]     bytes, in_q;
  logic [B-1:0]          in_there_q, in_ends_q;
  assign bytes       = s_row_data;
  assign s_row_ready = room_q && rows_room && rest_q == '0;
  assign take        = s_row_valid && s_row_ready;
  always_ff @(posedge clk) begin
    room_q     <= level < ($clog2(ROOM) + 1)'(ROOM - UNDER_WAY);
    rest_q     <= take && s_row.last ? 2'd2 : rest_q - 2'(rest_q != '0);
    in_valid_q <= take;
    in_first_q <= s_row.first;
    in_last_q  <= s_row.last;
    in_part_q  <= s_row.phase[1:0];
    for (int i = 0; i < B; i++) begin
      in_q[i]       <= fold_q && bytes[i] >= 8'h41 && bytes[i] <= 8'h5a ? bytes[i] | 8'h20 : bytes[i];
      in_there_q[i] <= 7'(i) < s_row.bytes;
      in_ends_q[i]  <= 7'(i) < s_row.bytes && bytes[i] == line_end_q;
    end
    if (rst) begin
      room_q     <= 1'b0;
      rest_q     <= '0;
      in_valid_q <= 1'b0;
    end
  end

  // ---- the row before it waits for it: a piece of a string may begin there and end here
  logic                    held_q, held_first_q, held_last_q, go, valid_q, first_q, last_q;
  logic [B-1:0][7:0]       row_q;
  logic [B-1:0]            there_q, row_ends_q, ends_q;
  logic [1:0]              held_part_q, part_q, part1_q, part2_q;
  logic [B+AHEAD-1:0][7:0] window_q;
  logic [B+AHEAD-1:0]      window_there_q;
  assign go = held_q && (held_last_q || in_valid_q);
  always_ff @(posedge clk) begin
    if (in_valid_q) begin
      row_q        <= in_q;
      there_q      <= in_there_q;
      row_ends_q   <= in_ends_q;
      held_first_q <= in_first_q;
      held_last_q  <= in_last_q;
      held_part_q  <= in_part_q;
    end
    held_q         <= in_valid_q || (held_q && !go);
    valid_q        <= go;
    first_q        <= held_first_q;
    last_q         <= held_last_q;
    part_q         <= held_part_q;
    part1_q        <= part_q;          // beside db_csd_near_grep_cells
    part2_q        <= part1_q;
    ends_q         <= row_ends_q;
    window_q       <= {in_q[AHEAD-1:0], row_q};
    window_there_q <= {held_last_q ? '0 : in_there_q[AHEAD-1:0], there_q};
    if (rst) begin
      held_q  <= 1'b0;
      valid_q <= 1'b0;
    end
  end

  // ---- strings, lines, words
  logic         hits_valid, hits_first, hits_last, word_valid, word_room, marks_valid, marks_last;
  logic [B-1:0] hits, hits_ends, hits_there, marks_ends, marks_count, marks_there;
  near_word_t   word;
  db_csd_near_grep_cells #(.DATA_W(DATA_W), .CELLS(CELLS)) i_cells (
    .clk, .rst, .s_param_valid, .s_param, .s_valid(valid_q), .s_first(first_q), .s_last(last_q), .s_window(window_q),
    .s_there(window_there_q), .s_ends(ends_q), .m_valid(hits_valid), .m_first(hits_first), .m_last(hits_last),
    .m_hits(hits), .m_there(hits_there), .m_ends(hits_ends));
  db_csd_near_grep_lines #(.DATA_W(DATA_W)) i_lines (
    .clk, .rst, .where(where_q), .without(without_q), .s_valid(hits_valid), .s_first(hits_first), .s_last(hits_last),
    .s_hits(hits), .s_there(hits_there), .s_ends(hits_ends), .s_no_first(part2_q[0]), .s_no_rest(part2_q[1]),
    .m_valid(word_valid), .m_word(word), .m_marks_valid(marks_valid), .m_marks_last(marks_last), .m_ends(marks_ends),
    .m_counts(marks_count), .m_there(marks_there));
  db_fifo #(.WIDTH($bits(near_word_t)), .DEPTH(ROOM)) i_words (
    .clk, .rst, .s_valid(word_valid && !lines_q), .s_ready(word_room), .s_data(word),
    .m_valid(m_word_valid), .m_ready(m_word_ready), .m_data(m_word), .level);

  // ---- lines
  db_csd_near_select #(.DATA_W(DATA_W), .DEPTH(WAITING), .BITMAPS(1'b0)) i_select (
    .clk, .rst, .bitmap(1'b0), .s_row_valid(take && lines_q), .s_row_ready(rows_room), .s_row_data,
    .s_row_last(s_row.last), .waiting(), .s_marks_valid(marks_valid && lines_q), .s_marks_last(marks_last),
    .s_ends(marks_ends), .s_whole('0), .s_pass(marks_count), .s_chosen(marks_there), .m_row_valid, .m_row_ready,
    .m_row_data, .m_row);

  logic unused_ok;
  assign unused_ok = &{1'b0, s_row};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && word_valid) assert (word_room);
`endif
endmodule
