// SPDX-License-Identifier: Apache-2.0
// Part of Csv: which bytes of a row are the field of their line, and which end it.
//
// Separators since the last line end are counted at each byte: in the row, by a tree, and before it, by what is left to
// the field. What is behind a row's first line end does not depend on what was before the row.
// A carriage return separates, too: so the last field of a line that ends with both ends before it.
// Latency: 4 cycles with 128 bits, else 5. Throughput: a row a cycle; it never waits.
module db_csd_near_csv_fields
  import db_csd_near_csv_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                 clk,
  input  logic                 rst,
  input  logic [7:0]           separator,
  input  logic [7:0]           line_end,
  input  logic [7:0]           field,      ///< number of it, from 0 on
  input  step_t                s_step,
  input  logic [DATA_W-1:0]    s_data,
  input  logic [6:0]           s_bytes,    ///< that are there
  input  logic [15:0]          s_phase,    ///< with first: bytes before the first line; all ones: up to a line end
  output step_t                m_step,
  output mark_t [DATA_W/8-1:0] m_marks,
  output logic [20:0]          m_behind    ///< from fin to the next: offset behind the last line end, or 0
);
  localparam int B      = DATA_W / 8;
  localparam int LOG    = $clog2(B);
  localparam int STAGES = (LOG + 1) / 2;   // of the tree, two steps each

  // ---- 1: what each byte is; none that is not to be looked at
  typedef struct packed {
    logic       text, separates, ends;
    logic       digit, point, sign;
    logic [3:0] nibble;
  } byte_t;
  byte_t [B-1:0] bytes;
  logic [15:0]   skip, skip_q;
  logic          cut;
  assign cut = s_phase == '1;
  assign skip   = !s_step.first ? skip_q : cut ? '0 : s_phase;
  always_comb begin
    for (int i = 0; i < B; i++) begin
      logic [7:0] c;
      logic       there, cr;
      c     = s_data[8*i +: 8];
      there = 7'(i) < s_bytes && 16'(i) >= skip;
      cr    = c == 8'h0d;
      bytes[i].ends      = there && c == line_end;
      bytes[i].separates = there && c != line_end && (c == separator || cr);
      bytes[i].text      = there && c != line_end && c != separator && !cr;
      bytes[i].digit     = c[7:4] == 4'h3 && c[3:0] <= 4'd9;
      bytes[i].point     = c == 8'h2e;
      bytes[i].sign      = c == 8'h2b || c == 8'h2d;
      bytes[i].nibble    = c[3:0];
    end
  end

  // ---- 2 to STAGES + 1: separators up to each byte, since the last line end if there is one up to it
  typedef struct packed {
    logic         line;                    // there is
    logic [LOG:0] count;
  } count_t;
  step_t  [STAGES:0]         step_q;
  logic   [STAGES:0]         cut_q;
  byte_t  [STAGES:0][B-1:0]  bytes_q;
  count_t [STAGES:0][B-1:0]  count, counts_q;
  function automatic count_t [B-1:0] join_halves(input count_t [B-1:0] of, input int k);
    join_halves = of;
    for (int i = 0; i < B; i++) begin
      if (i[k] && !of[i].line) begin
        join_halves[i].line  = of[(i >> k << k) - 1].line;
        join_halves[i].count = of[i].count + of[(i >> k << k) - 1].count;
      end
    end
  endfunction
  always_comb begin
    count[0] = '0;
    for (int i = 0; i < B; i++) count[0][i] = '{line: bytes[i].ends, count: (LOG + 1)'(bytes[i].separates)};
    for (int s = 1; s <= STAGES; s++) begin
      count[s] = join_halves(counts_q[s-1], 2 * s - 2);
      if (2 * s - 1 < LOG) count[s] = join_halves(count[s], 2 * s - 1);
    end
  end
  always_ff @(posedge clk) begin
    if (s_step.valid) skip_q <= skip >= 16'(B) ? skip - 16'(B) : '0;
    step_q   <= {step_q[STAGES-1:0], s_step};
    cut_q <= {cut_q[STAGES-1:0], cut};
    bytes_q  <= {bytes_q[STAGES-1:0], bytes};
    counts_q <= count;
    if (rst) step_q <= '0;
  end

  // ---- then: is it the field? left: separators before it; less than 0, if it has been or does not come
  count_t [B-1:0] upto;
  byte_t  [B-1:0] row;
  step_t          now;
  logic [8:0]     left, left_q, after, rest;
  logic [B-1:0]   is_field;
  assign upto  = counts_q[STAGES];
  assign row   = bytes_q[STAGES];
  assign now   = step_q[STAGES];
  assign left  = !now.first ? left_q : cut_q[STAGES] ? '1 : {1'b0, field};
  assign rest  = upto[B-1].line ? {1'b0, field} : left;
  assign after = rest - 9'(upto[B-1].count);
  always_comb begin
    is_field[0] = left == '0;
    for (int i = 1; i < B; i++)
      is_field[i] = upto[i-1].line ? 8'(upto[i-1].count) == field : 9'(upto[i-1].count) == left;
  end
  always_ff @(posedge clk) begin
    m_step <= now;
    if (now.valid) left_q <= rest[8] || after[8] ? '1 : after;
    for (int i = 0; i < B; i++) begin
      m_marks[i].in     <= is_field[i] && row[i].text;
      m_marks[i].ends   <= is_field[i] && (row[i].separates || row[i].ends);
      m_marks[i].digit  <= is_field[i] && row[i].text && row[i].digit;
      m_marks[i].point  <= is_field[i] && row[i].text && row[i].point;
      m_marks[i].sign   <= is_field[i] && row[i].text && row[i].sign;
      m_marks[i].nibble <= row[i].nibble;
    end
    if (rst) m_step <= '0;
  end

  // ---- beside it: where the last line ends
  logic           line_q;
  logic [LOG-1:0] at, at_q;
  logic [20-LOG:0] rows, rows_q;
  logic [20:0]    behind_q;
  assign rows = step_q[1].first ? '0 : rows_q;
  always_comb begin
    at = '0;
    for (int i = 0; i < B; i++) if (bytes_q[0][i].ends) at = LOG'(i);
  end
  always_ff @(posedge clk) begin
    at_q   <= at;
    line_q <= '0;
    for (int i = 0; i < B; i++) if (bytes_q[0][i].ends) line_q <= 1'b1;
    if (step_q[1].valid) begin
      rows_q <= rows + 1'b1;
      if (line_q) behind_q <= {rows, at_q} + 21'd1;
      else if (step_q[1].first) behind_q <= '0;
      if (step_q[1].fin) m_behind <= behind_q;
    end
  end
endmodule
