// SPDX-License-Identifier: Apache-2.0
// From hits and line ends to the words of a result: lines that have a hit are counted, and for each stretch of 64
// bytes in which one ends a word says where; two words are the summary. Beside that, which bytes of a row end a line, and
// which end one that counts.
//
// A packet's last byte ends a line in any case; one without a byte has no line. Behind a packet's last row two cycles are without a row.
// Latency: 3 cycles from a row to its marks, 6 to its stretch's word, 8 from the last row to the last word. Throughput: a row
// a cycle; it never waits.
module db_csd_near_grep_lines
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256   ///< bits: 128, 256, 512
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                where,      ///< words of stretches are wanted
  input  logic                without,    ///< lines without a hit are counted
  input  logic                s_valid,
  input  logic                s_first,    ///< of the packet
  input  logic                s_last,
  input  logic [DATA_W/8-1:0] s_hits,
  input  logic [DATA_W/8-1:0] s_there,    ///< the packet's bytes: all, but in the last row
  input  logic [DATA_W/8-1:0] s_ends,     ///< line ends
  input  logic                s_no_first, ///< marks: the packet's first line does not count
  input  logic                s_no_rest,  ///< ... nor does what is behind its last line end
  output logic                m_valid,
  output near_word_t          m_word,
  output logic                m_marks_valid,
  output logic                m_marks_last,
  output logic [DATA_W/8-1:0] m_ends,     ///< line ends; a packet's last byte is one
  output logic [DATA_W/8-1:0] m_counts,   ///< ... of lines that count
  output logic [DATA_W/8-1:0] m_there     ///< bytes of the packet
);
  localparam int B       = DATA_W / 8;
  localparam int STRETCH = 64;
  localparam int ROWS    = STRETCH / B;      // of a stretch
  localparam int ROW_W   = ROWS > 1 ? $clog2(ROWS) : 1;
  localparam int BYTES_W = 21;               // of a packet: at most 1 MiB
  localparam int GROUPS  = B / 8;
  localparam int GROUP_W = $clog2(GROUPS);

  // ---- 1: hits since the last line end in the row; has there been one
  typedef struct packed {
    logic         first, last, no_first, no_rest;
    logic         unended;                   // last: it does not end with a line end
    logic [B-1:0] last_byte;                 // last: which it is
    logic [B-1:0] ends;
  } row_t;
  logic         valid1_q, valid2_q, valid3_q, valid4_q;
  row_t         row1_q, row2_q;
  logic [B-1:0] last_byte, ends, since, after, since_q, after_q;
  assign last_byte = s_there & ~(s_there >> 1);
  assign ends      = s_ends | (s_last ? last_byte : '0);
  always_comb begin                          // doubled reach in each step
    since = s_hits;
    after = ends << 1;
    for (int reach = 1; reach < B; reach *= 2) begin
      since = since | (~after & (since << reach));
      after = after | (after << reach);
    end
  end

  // ---- 2: ... since the last line end anywhere: the line that ends here has one
  logic         carry_q, carry;              // hits of the line at the end of the row before; none, behind a packet
  logic [B-1:0] counted2_q;
  assign carry = !row1_q.ends[B-1] && (since_q[B-1] || (!after_q[B-1] && carry_q));

  // ---- 3: marks
  logic         seen_q, seen;                // a line end, before the row
  logic [B-1:0] not_first, not_rest;
  assign seen      = !row2_q.first && seen_q;
  assign not_first = row2_q.no_first && !seen ? ~(row2_q.ends & (~row2_q.ends + 1'b1)) : '1;
  assign not_rest  = row2_q.no_rest && row2_q.unended ? ~row2_q.last_byte : '1;

  // ---- ... and sums of 8 bytes, the first line end of each
  logic [GROUPS-1:0][3:0] lines3_q, counted3_q;
  logic [GROUPS-1:0]      any3_q, first_counts3_q;
  logic [GROUPS-1:0][2:0] first3_q;
  logic                   first_row3_q, last3_q, unended3_q, last_counts3_q;
  logic [B-1:0]           counted3_bits_q;
  function automatic logic [3:0] ones(input logic [7:0] bits);
    ones = '0;
    for (int i = 0; i < 8; i++) ones += 4'(bits[i]);
  endfunction

  // ---- 4: of the row
  logic [6:0]         lines4_q, counted4_q;
  logic               any4_q, first_counts4_q, first_row4_q, last4_q, unended4_q, last_counts4_q;
  logic [GROUP_W+2:0] first4_q;
  logic [B-1:0]       counted4_bits_q;
  logic [6:0]         lines3, counted3;
  logic [GROUP_W+2:0] first3;
  logic               first_counts3;
  always_comb begin
    lines3        = '0;
    counted3      = '0;
    first3        = '0;
    first_counts3 = 1'b0;
    for (int g = GROUPS - 1; g >= 0; g--) begin
      lines3   += 7'(lines3_q[g]);
      counted3 += 7'(counted3_q[g]);
      if (any3_q[g]) begin
        first3        = {GROUP_W'(g), first3_q[g]};
        first_counts3 = first_counts3_q[g];
      end
    end
  end

  // ---- 5: of the packet, of the stretch
  logic [BYTES_W-1:0]      lines_q, counted_q, first_end_q, base_q;  // base: offset of the row
  logic                    found_q, first_counts_q, last_counts_q, unended_q, end5_q, entry5_q, last5_q, sum_q;
  logic [STRETCH-1:0]      stretch, stretch_q;
  logic [ROW_W-1:0]        row_q, row;
  logic [BYTES_W-1:0]      base, offset_q;
  assign base = first_row4_q ? '0 : base_q;
  assign row  = first_row4_q ? '0 : row_q;
  always_comb begin
    stretch = row == '0 ? '0 : stretch_q;
    for (int r = 0; r < ROWS; r++) if (row == ROW_W'(r)) stretch[B*r +: B] = counted4_bits_q;
  end

  always_ff @(posedge clk) begin
    valid1_q <= s_valid && !rst;
    row1_q   <= '{first: s_first, last: s_last, no_first: s_no_first, no_rest: s_no_rest,
                  unended: (last_byte & ~s_ends) != '0, last_byte: last_byte, ends: ends};
    since_q  <= since;
    after_q  <= after;

    valid2_q   <= valid1_q && !rst;
    row2_q     <= row1_q;
    counted2_q <= row1_q.ends & ({B{without}} ^ (since_q | (~after_q & {B{carry_q}})));
    if (valid1_q) carry_q <= carry;

    m_marks_valid <= valid2_q && !rst;
    m_marks_last  <= row2_q.last;
    m_ends        <= row2_q.ends;
    m_counts      <= counted2_q & not_first & not_rest;
    m_there       <= row2_q.last_byte | (row2_q.last_byte - 1'b1);
    if (valid2_q) seen_q <= seen || row2_q.ends != '0;

    valid3_q        <= valid2_q && !rst;
    first_row3_q    <= row2_q.first;
    last3_q         <= row2_q.last;
    unended3_q      <= row2_q.unended;
    last_counts3_q  <= (counted2_q & row2_q.last_byte) != '0;
    counted3_bits_q <= counted2_q;
    for (int g = 0; g < GROUPS; g++) begin
      lines3_q[g]   <= ones(row2_q.ends[8*g +: 8]);
      counted3_q[g] <= ones(counted2_q[8*g +: 8]);
      any3_q[g]     <= row2_q.ends[8*g +: 8] != '0;
      for (int i = 7; i >= 0; i--) begin
        if (row2_q.ends[8*g+i]) begin
          first3_q[g]        <= 3'(i);
          first_counts3_q[g] <= counted2_q[8*g+i];
        end
      end
    end

    valid4_q        <= valid3_q && !rst;
    lines4_q        <= lines3;
    counted4_q      <= counted3;
    any4_q          <= any3_q != '0;
    first4_q        <= first3;
    first_counts4_q <= first_counts3;
    first_row4_q    <= first_row3_q;
    last4_q         <= last3_q;
    unended4_q      <= unended3_q;
    last_counts4_q  <= last_counts3_q;
    counted4_bits_q <= counted3_bits_q;

    end5_q   <= valid4_q && (last4_q || row == ROW_W'(ROWS - 1)) && !rst;
    entry5_q <= valid4_q && last4_q && !rst;
    if (valid4_q) begin
      lines_q   <= (first_row4_q ? '0 : lines_q) + BYTES_W'(lines4_q);
      counted_q <= (first_row4_q ? '0 : counted_q) + BYTES_W'(counted4_q);
      found_q   <= (found_q && !first_row4_q) || any4_q;
      if (first_row4_q || !found_q) begin
        first_end_q    <= base + BYTES_W'(first4_q) + BYTES_W'(any4_q);
        first_counts_q <= first_counts4_q;
      end
      last_counts_q <= last_counts4_q;
      unended_q     <= unended4_q;
      stretch_q     <= stretch;
      offset_q      <= {base[BYTES_W-1:6], 6'd0};
      base_q        <= base + BYTES_W'(B);
      row_q         <= ROWS > 1 ? row + 1'b1 : '0;
    end

    // ---- 6: words
    last5_q <= entry5_q && !rst;
    sum_q   <= last5_q && !rst;
    m_valid <= (end5_q && where && stretch_q != '0) || last5_q || sum_q;
    m_word  <= '{last: 1'b0, data: {stretch_q, 64'(offset_q)}};
    if (last5_q) m_word.data <= {64'(lines_q), 64'(counted_q)};
    if (sum_q)
      m_word <= '{last: 1'b1, data: {61'd0, first_counts_q, last_counts_q, unended_q, 64'(first_end_q)}};
    if (rst) begin
      carry_q <= 1'b0;
      m_valid <= 1'b0;
    end
  end
endmodule
