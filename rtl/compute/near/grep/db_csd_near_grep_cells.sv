// SPDX-License-Identifier: Apache-2.0
// Where strings are in a row. A string is cut into pieces of 16 bytes and a rest, each in a cell; those of a string
// are in cells one behind another, at most 4.
//
// Each cell is compared with the 16 bytes from each byte of the row on. Its string is there if the piece before it
// is 16 bytes before, and so on: what rows before have had is kept for 48 bytes.
// Cell c: words 2 + 5c to 5 + 5c are its bytes, word 6 + 5c its length in bits 4:0 (0: not used), whether it is its
// string's first (bit 8), its last (bit 9).
// Latency: 2 cycles. Throughput: a row a cycle; it never waits.
module db_csd_near_grep_cells
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter int CELLS  = 8     ///< 1..32
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        s_param_valid,
  input  near_param_t                 s_param,
  input  logic                        s_valid,
  input  logic                        s_first,    ///< of the packet
  input  logic                        s_last,
  input  logic [DATA_W/8+14:0][7:0]   s_window,   ///< the row, and 15 bytes behind it
  input  logic [DATA_W/8+14:0]        s_there,    ///< which of them are the packet's
  input  logic [DATA_W/8-1:0]         s_ends,     ///< bytes of the row that end a line
  output logic                        m_valid,
  output logic                        m_first,
  output logic                        m_last,
  output logic [DATA_W/8-1:0]         m_hits,     ///< here the last piece of a string begins
  output logic [DATA_W/8-1:0]         m_there,
  output logic [DATA_W/8-1:0]         m_ends
);
  localparam int B      = DATA_W / 8;
  localparam int PIECE  = 16;
  localparam int BEHIND = 3 * PIECE;   // bytes before a row, in which pieces of its strings may begin
  localparam int C_W    = CELLS > 1 ? $clog2(CELLS) : 1;

  if (CELLS < 1 || CELLS > 32) begin : g_bad_cells
    $error("%m: CELLS must be 1..32 (is %0d)", CELLS);
  end

  // ---- cells. The words come in order, so their places are counted.
  logic [CELLS-1:0][PIECE-1:0][7:0] text_q;
  logic [CELLS-1:0][PIECE-1:0]      used_q;      // bytes that are compared
  logic [CELLS-1:0]                 begins_q, ends_q;
  logic [2:0]                       part_q;      // 0..3 bytes, 4 length
  logic [C_W-1:0]                   cell_q;
  logic                             loads;
  assign loads = s_param_valid && s_param.addr >= NEAR_WORDS_LOG2'(2);
  always_ff @(posedge clk) begin
    if (s_param_valid) begin
      part_q <= !loads || part_q == 3'd4 ? '0 : part_q + 3'd1;
      if (!loads) cell_q <= '0;
      else if (part_q == 3'd4) cell_q <= cell_q + 1'b1;
    end
    for (int c = 0; c < CELLS; c++) begin
      if (loads && cell_q == C_W'(c)) begin
        for (int w = 0; w < 4; w++) if (part_q == 3'(w)) text_q[c][4*w +: 4] <= s_param.data;
        if (part_q == 3'd4) begin
          for (int j = 0; j < PIECE; j++) used_q[c][j] <= 5'(j) < s_param.data[4:0];
          begins_q[c] <= s_param.data[8];
          ends_q[c]   <= s_param.data[9];
        end
      end
    end
  end

  // ---- 1: each cell at each byte
  logic                     valid_q, first_q, last_q;
  logic [B-1:0]             there_q, line_ends_q;
  logic [CELLS-1:0][B-1:0]  found_q;
  always_ff @(posedge clk) begin
    valid_q     <= s_valid && !rst;
    first_q     <= s_first;
    last_q      <= s_last;
    there_q     <= s_there[B-1:0];
    line_ends_q <= s_ends;
  end
  for (genvar c = 0; c < CELLS; c++) begin : g_cell
    logic [PIECE-1:0][7:0] compared;                 // bits that are
    for (genvar j = 0; j < PIECE; j++) begin : g_byte
      assign compared[j] = {8{used_q[c][j]}};
    end
    for (genvar x = 0; x < B; x++) begin : g_at
      always_ff @(posedge clk)
        found_q[c][x] <= used_q[c][0] && (used_q[c] & ~s_there[x+:PIECE]) == '0
                      && ((s_window[x+:PIECE] ^ text_q[c]) & compared) == '0;
    end
  end

  // ---- 2: with the pieces before it
  logic [CELLS-1:0][BEHIND-1:0]     behind_q;       // of the bytes before the row
  logic [CELLS-1:0][B+BEHIND-1:0]   all;
  logic [B-1:0]                     hits;
  always_comb begin
    for (int c = 0; c < CELLS; c++) all[c] = {found_q[c], first_q ? '0 : behind_q[c]};
    hits = '0;
    for (int c = 0; c < CELLS; c++) begin
      logic [B-1:0] fit, chain;                      // the pieces before it are where they have to be
      fit   = '1;
      chain = {B{begins_q[c]}};
      for (int n = 1; n <= 3 && n <= c; n++) begin
        fit   &= all[c-n][BEHIND-n*PIECE+:B];
        chain |= fit & {B{begins_q[c-n]}};
      end
      hits |= {B{ends_q[c]}} & all[c][BEHIND+:B] & chain;
    end
  end
  always_ff @(posedge clk) begin
    m_valid <= valid_q && !rst;
    m_first <= first_q;
    m_last  <= last_q;
    m_hits  <= hits;
    m_there <= there_q;
    m_ends  <= line_ends_q;
    if (valid_q) for (int c = 0; c < CELLS; c++) behind_q[c] <= all[c][B+BEHIND-1:B];
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_param};
endmodule
