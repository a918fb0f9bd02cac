// SPDX-License-Identifier: Apache-2.0
// Which requests are for card memory: their page lies in the function's window, 2**REGION_LOG2 bytes from the base that
// its host has said.
//
// What: a page number less the base, and is the rest small enough? A request never leaves its page of 4 KiB, and windows
// are made of pages, so a request is in the window or not, as a whole. A base whose window would pass 2^64 is refused: the
// function has no window (base_invalid). With TOP a function has another one, at the end of all addresses, where no host has
// memory: for commands whose data are in its region (docs/csd/programs.md). A window that is set holds for look-ups of later cycles.
// Latency: 3 cycles. Throughput: a look-up a cycle.
module db_pcie_cmb_window
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN      = 1,   ///< functions, 1..17
  parameter int REGION_LOG2 = 16,  ///< log2 of the bytes of a function's region, 12..30
  parameter bit TOP         = 1'b0, ///< the last so many bytes below 2^64 are its region, too, whatever its host says
  localparam int PAGES_W    = REGION_LOG2 == 12 ? 1 : REGION_LOG2 - 12
) (
  input  logic               clk,
  input  logic               rst,
  /// pulse: a function's window, by place
  input  logic               set_valid,
  input  logic [PLACE_W-1:0] set_place,
  input  cmb_window_t        set,
  input  logic [NUM_FN-1:0]  clear,       ///< pulse: the function has none
  output logic [NUM_FN-1:0]  base_invalid,

  input  logic               s_valid,
  input  logic [PLACE_W-1:0] s_place,  ///< a place that no function has: it is in no window
  input  logic [63:12]       s_page,
  output logic               m_valid,
  output logic               m_hit,
  output logic [PLACE_W-1:0] m_place,
  output logic [PAGES_W-1:0] m_page    ///< in the region, if m_hit
);
  localparam int INDEX_W = NUM_FN > 1 ? $clog2(NUM_FN) : 1;
  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad_fn
    $error("%m: NUM_FN must be 1..17 (is %0d)", NUM_FN);
  end
  if (REGION_LOG2 < 12 || REGION_LOG2 > 30) begin : g_bad_region
    $error("%m: REGION_LOG2 must be 12..30 (is %0d)", REGION_LOG2);
  end

  // ---- windows
  logic [63:12]       bases_q [2**INDEX_W];
  logic [NUM_FN-1:0]  enabled_q;
  logic [64:12]       set_last;   // the page behind the last one, less 1
  logic               set_passes;
  assign set_last   = {1'b0, set.base} + 53'(2 ** (REGION_LOG2 - 12) - 1);
  assign set_passes = set_last[64];
  always_ff @(posedge clk) begin
    if (set_valid && set_place < PLACE_W'(NUM_FN)) bases_q[set_place[INDEX_W-1:0]] <= set.base;
    for (int i = 0; i < NUM_FN; i++) begin
      if (set_valid && set_place == PLACE_W'(i)) begin
        enabled_q[i]    <= set.enable && !set_passes;
        base_invalid[i] <= set.enable && set_passes;
      end
      if (clear[i]) begin
        enabled_q[i]    <= 1'b0;
        base_invalid[i] <= 1'b0;
      end
    end
    if (rst) begin
      enabled_q    <= '0;
      base_invalid <= '0;
    end
  end

  // ---- the window; the page's distance from it; is that inside?
  logic [2:0]              valid_q;
  logic                    open1_q, open2_q, known1_q, known2_q, top_q;
  logic [1:0][PLACE_W-1:0] place_q;
  logic [63:12]            base_q, page_q, far_q;
  logic [PAGES_W-1:0]      page2_q;
  assign m_valid = valid_q[2];
  always_ff @(posedge clk) begin
    valid_q <= {valid_q[1:0], s_valid};
    base_q  <= bases_q[s_place[INDEX_W-1:0]];
    open1_q  <= 1'b0;
    known1_q <= TOP && s_place < PLACE_W'(NUM_FN);
    for (int i = 0; i < NUM_FN; i++) if (s_place == PLACE_W'(i)) open1_q <= enabled_q[i];
    place_q <= {place_q[0], s_place};
    page_q  <= s_page;
    open2_q  <= open1_q;
    known2_q <= known1_q;
    top_q    <= page_q[63:REGION_LOG2] == '1;
    far_q    <= page_q - base_q;
    if (TOP) page2_q <= page_q[12+:PAGES_W];
    m_hit    <= (open2_q && far_q[63:REGION_LOG2] == '0) || (TOP && known2_q && top_q);
    m_place  <= place_q[1];
    m_page   <= (TOP && top_q ? page2_q : far_q[12+:PAGES_W]) & PAGES_W'(2 ** (REGION_LOG2 - 12) - 1);
    if (rst) valid_q <= '0;
  end
endmodule
