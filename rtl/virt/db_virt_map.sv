// SPDX-License-Identifier: Apache-2.0
// An address of the virtual media to an SSD and its blocks, or to the card's own memory.
//
// The media is ssd_pages for each SSD and then the settings area, which is the card's. What is in front of that area is
// where the table says (db_virt_extents), granule by granule: on an SSD, or on several that take chunks of 2**STRIPE_LOG2
// bytes in turn, or nowhere. A burst never crosses 4 KiB, so it is in one place.
// Who asks sees to it that the SSD is up: until then its block size is not known.
// Latency: 2 cycles from s_valid to m_valid. Throughput: an address every 3 cycles.
module db_virt_map
  import db_virt_pkg::*;
#(
  parameter int ADDR_W       = 40,   ///< bits of a media address, more than GRANULE_LOG2
  parameter int NUM_SSD      = 2,    ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,   ///< log2 of a granule's bytes, more than STRIPE_LOG2
  localparam int LOOK_W      = ADDR_W - GRANULE_LOG2
) (
  input  logic                       clk,
  input  logic                       rst,
  /// constant: of 4 KiB
  input  logic [51:0]                ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0]   ssd,
  input  logic                       s_valid,
  output logic                       s_ready,
  input  logic [ADDR_W-1:0]          s_addr,
  input  logic [12:0]                s_bytes,
  /// db_virt_extents: the answer comes a cycle later, and stays
  output logic                       m_look_valid,
  output logic [LOOK_W-1:0]          m_look,
  input  extent_t                    s_extent,
  output logic                       m_valid,
  input  logic                       m_ready,
  output place_t                     m_place
);
  localparam int INDEX_W = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  localparam int CHUNK_W = GRANULE_LOG2 - STRIPE_LOG2;
  if (!(NUM_SSD inside {1, 2, 4, 8})) begin : g_bad
    $error("%m: NUM_SSD must be 1, 2, 4 or 8 (is %0d)", NUM_SSD);
  end
  if (ADDR_W <= GRANULE_LOG2 || GRANULE_LOG2 <= STRIPE_LOG2) begin : g_bad_granule
    $error("%m: GRANULE_LOG2 (%0d) must be more than %0d, less than ADDR_W (%0d)", GRANULE_LOG2, STRIPE_LOG2, ADDR_W);
  end

  logic [51:0] all_q;  // pages of all SSDs
  always_ff @(posedge clk) all_q <= ssd_pages << $clog2(NUM_SSD);

  // What counts of an SSD: blocks of 2**(9 + shift) bytes.
  typedef struct packed {
    logic       there;
    logic       too_large;  // a block is larger than a burst
    logic [1:0] shift;
  } known_t;
  known_t [NUM_SSD-1:0] known_q;
  always_ff @(posedge clk) begin
    for (int i = 0; i < NUM_SSD; i++) begin
      known_q[i] <= '{there: ssd[i].present, too_large: ssd[i].lba_shift > 4'd12, shift: 2'(ssd[i].lba_shift - 4'd9)};
    end
  end

  // ---- 1: the table is asked
  logic              one_q, card_q;
  logic [ADDR_W-1:0] addr_q;
  logic [12:0]       bytes_q;
  assign m_look_valid = s_valid && s_ready;
  assign m_look       = s_addr[ADDR_W-1:GRANULE_LOG2];

  // ---- 2: which SSD, and where in it
  logic [63:0]        there;
  logic [CHUNK_W-1:0] chunk;
  logic [SSD_W-1:0]   which;
  known_t             known;
  assign chunk = addr_q[GRANULE_LOG2-1:STRIPE_LOG2];
  assign which = s_extent.ssd | (SSD_W'(chunk) & ~(SSD_W'('1) << s_extent.log2));
  assign there = 64'({s_extent.place, CHUNK_W'({s_extent.part, chunk} >> s_extent.log2), addr_q[STRIPE_LOG2-1:0]});
  assign known = known_q[INDEX_W'(which)];

  assign s_ready = !one_q && !m_valid;
  always_ff @(posedge clk) begin
    one_q <= s_valid && s_ready;
    if (s_valid && s_ready) begin
      addr_q  <= s_addr;
      bytes_q <= s_bytes;
      card_q  <= 52'(s_addr[ADDR_W-1:12]) >= all_q;
    end
    if (m_valid && m_ready) m_valid <= 1'b0;
    if (one_q) begin
      m_valid        <= 1'b1;
      m_place.kind   <= card_q ? PLACE_CARD : s_extent.valid && known.there && !known.too_large &&
                        whole(4'd9 + 4'(known.shift), addr_q[11:9], bytes_q[11:9]) ? PLACE_SSD : PLACE_NONE;
      m_place.ssd    <= which;
      m_place.lba    <= 64'(there[63:9]) >> known.shift;
      m_place.blocks <= 32'(bytes_q[12:9] >> known.shift);
    end
    if (rst) begin
      one_q   <= 1'b0;
      m_valid <= 1'b0;
    end
  end
endmodule
