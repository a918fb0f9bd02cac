// SPDX-License-Identifier: Apache-2.0
// An address of the virtual media to an SSD and its blocks, or to the card's own memory.
//
// The media is ssd_pages of each SSD and then the settings area, which is the card's. Without STRIPE the SSDs stand one behind
// the other; with it chunks of 2**STRIPE_LOG2 bytes go round, so that one namespace has the speed of all. A burst never
// crosses 4 KiB, so it is in one place.
// `hold`: the SSD is being brought up; ask again. It ends, as bring-up does.
// Latency: 2 cycles from s_valid to m_valid. Throughput: an address every 3 cycles.
module db_virt_map
  import db_virt_pkg::*;
#(
  parameter int ADDR_W      = 40,   ///< bits of a media address
  parameter int NUM_SSD     = 2,    ///< 1, 2, 4, 8
  parameter bit STRIPE      = 1'b0  ///< chunks of all SSDs in turn
) (
  input  logic                       clk,
  input  logic                       rst,
  /// constant: of 4 KiB, a multiple of 32
  input  logic [51:0]                ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0]   ssd,
  input  logic                       s_valid,
  output logic                       s_ready,
  input  logic [ADDR_W-1:0]          s_addr,
  input  logic [12:0]                s_bytes,
  output logic                       m_valid,
  input  logic                       m_ready,
  output place_t                     m_place,
  output logic                       hold
);
  localparam int INDEX_LOG2 = $clog2(NUM_SSD);
  localparam int INDEX_W    = NUM_SSD > 1 ? INDEX_LOG2 : 1;
  if (!(NUM_SSD inside {1, 2, 4, 8})) begin : g_bad
    $error("%m: NUM_SSD must be 1, 2, 4 or 8 (is %0d)", NUM_SSD);
  end

  // Pages in front of each SSD; the last: of all.
  logic [NUM_SSD:0][51:0] before_q;
  always_ff @(posedge clk) for (int i = 0; i <= NUM_SSD; i++) before_q[i] <= 52'(ssd_pages * 52'(i));

  // ---- 1: which
  logic              one_q, card_q;
  logic [ADDR_W-1:0] addr_q;
  logic [12:0]       bytes_q;
  logic [SSD_W-1:0]  which_q, which;
  logic [51:0]       page;
  assign page = 52'(s_addr[ADDR_W-1:12]);
  always_comb begin
    which = '0;
    if (STRIPE) which = NUM_SSD > 1 ? SSD_W'(s_addr[STRIPE_LOG2+:INDEX_LOG2+1]) & SSD_W'(NUM_SSD - 1) : '0;
    else for (int i = 1; i < NUM_SSD; i++) if (page >= before_q[i]) which = SSD_W'(i);
  end

  // ---- 2: where in it
  logic [63:0] there;
  ssd_state_t  state;
  logic        fits;
  assign fits = whole(state.lba_shift, there[11:9], bytes_q[11:9]);
  assign state = ssd[INDEX_W'(which_q)];
  always_comb begin
    there = 64'(addr_q) - {before_q[which_q], 12'd0};
    if (STRIPE) there = 64'({addr_q >> (STRIPE_LOG2 + INDEX_LOG2), addr_q[STRIPE_LOG2-1:0]});
  end

  assign s_ready = !one_q && !m_valid;
  always_ff @(posedge clk) begin
    one_q <= s_valid && s_ready;
    if (s_valid && s_ready) begin
      addr_q  <= s_addr;
      bytes_q <= s_bytes;
      which_q <= which;
      card_q  <= page >= before_q[NUM_SSD];
    end
    if (m_valid && m_ready) m_valid <= 1'b0;
    // Until the SSD is up its block size is not known.
    if (one_q || (m_valid && hold)) begin
      m_valid        <= 1'b1;
      m_place.kind   <= card_q ? PLACE_CARD : (!state.present || !fits) ? PLACE_NONE : PLACE_SSD;
      m_place.ssd    <= which_q;
      hold           <= !card_q && state.present && !state.up && !state.dead;
      m_place.lba    <= there >> state.lba_shift;
      m_place.blocks <= 32'(bytes_q >> state.lba_shift);
    end
    if (rst) begin
      one_q   <= 1'b0;
      m_valid <= 1'b0;
    end
  end
endmodule
