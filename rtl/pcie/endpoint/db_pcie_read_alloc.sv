// SPDX-License-Identifier: Apache-2.0
// Gives each chunk of a read client the next tag of its circular range and the next dwords of its ring, and makes it a
// read request.
//
// Chunks of a packet are packed without gaps, a packet starts a row. A chunk is taken when the ring has room for the
// longest one, a tag is free and the packet has a place. A chunk that is to be dropped takes its place and asks nothing.
// A tag that must rest is passed over: it takes its place in the range, and nothing in the ring.
// Pointers count dwords, rows and tags modulo twice their number, so that full and empty differ.
// Latency: 1 cycle, and 2 for each tag that is passed over. Throughput: a chunk every other cycle, which is more than the
// link takes.
module db_pcie_read_alloc
  import db_mem_pkg::*, db_pcie_block_pkg::*;
#(
  parameter int DATA_W      = 256,   ///< bits of a row: 128, 256 or 512
  parameter int TAG_BASE    = 0,     ///< first tag
  parameter int NUM_TAGS    = 32,    ///< a power of two
  parameter int RING_DW     = 4096,  ///< dwords of the ring, a power of two
  parameter int CHUNK_BYTES = 512,   ///< longest chunk
  parameter int MAX_PKTS    = 32,    ///< packets inside at once, a power of two
  localparam int RING_W = $clog2(RING_DW),
  localparam int ROW_W  = RING_W - $clog2(DATA_W / 32),
  localparam int TAG_W  = $clog2(NUM_TAGS),
  localparam int PKT_W  = $clog2(MAX_PKTS) + 1
) (
  input  logic            clk,
  input  logic            rst,
  /// from this cycle on no request is sent
  input  logic            stop,

  input  logic            s_chunk_valid,
  output logic            s_chunk_ready,
  input  segment_t        s_chunk,

  output logic            m_read_valid,
  input  logic            m_read_ready,
  output read_tlp_t       m_read,

  /// pulse: a chunk (s_chunk) got its place
  output logic            take,
  output logic [TAG_W:0]  take_tag,
  /// take_tag must rest: it is not given
  input  logic            resting,
  /// pulse: take_tag is passed over, never with take
  output logic            skip,
  /// the dword behind the chunk
  output logic [RING_W:0] take_end,

  /// the oldest tag that has not ended
  input  logic [TAG_W:0]  retire_tag,
  /// rows before this one have left
  input  logic [ROW_W:0]  gone_row,
  /// packets that have left, modulo 2 * MAX_PKTS
  input  logic [PKT_W-1:0] gone_packets
);
  localparam int LANE_W = RING_W - ROW_W;

  logic [RING_W:0]  next_q;     // next free dword
  logic [TAG_W:0]   tag_q;      // next tag
  logic [PKT_W-1:0] packets_q;  // given a place, modulo 2 * MAX_PKTS
  logic [RING_W:0]  used;
  logic [ROW_W:0]   end_row;
  logic [10:0]      dwords;
  logic             room_q, valid_q, full, tag_free;

  assign dwords   = s_chunk.len[12:2];
  assign take_end = next_q + (RING_W + 1)'(dwords);
  assign take_tag = tag_q;
  assign full     = packets_q == {~gone_packets[PKT_W-1], gone_packets[PKT_W-2:0]};
  assign used     = next_q - {gone_row, LANE_W'(0)};
  assign end_row  = take_end[RING_W:LANE_W] + (ROW_W + 1)'(take_end[LANE_W-1:0] != '0);
  assign tag_free = tag_q != {~retire_tag[TAG_W], retire_tag[TAG_W-1:0]};
  // A request every other cycle is enough. So ready from the arbiter stays out of what follows, and there is a cycle to
  // see whether tag and ring have room for another chunk, as long as any may be.
  assign take          = s_chunk_valid && room_q && (s_chunk.drop || !valid_q) &&
                         !(s_chunk.first && full);
  assign s_chunk_ready = take;
  assign m_read_valid  = valid_q && !stop;

  always_ff @(posedge clk) begin
    room_q <= !take && !skip && used <= (RING_W + 1)'(RING_DW - CHUNK_BYTES / 4) && tag_free && !resting;
    skip   <= !take && !skip && s_chunk_valid && tag_free && resting;
    if (take) next_q <= s_chunk.last ? {end_row, LANE_W'(0)} : take_end;
    if (take || skip) tag_q <= tag_q + 1'b1;
    if (m_read_ready && !stop) valid_q <= 1'b0;
    if (take && !s_chunk.drop) begin
      valid_q <= 1'b1;
      m_read  <= '{fn: s_chunk.fn, addr: s_chunk.addr, dwords: dwords, tag: 8'(TAG_BASE) + 8'(tag_q[TAG_W-1:0]),
                   ring_dw: MAX_RING_W'(next_q[RING_W-1:0])};
    end
    if (take && s_chunk.first) packets_q <= packets_q + 1'b1;
    if (rst) begin
      room_q    <= 1'b0;
      skip      <= 1'b0;
      next_q    <= '0;
      tag_q     <= '0;
      valid_q   <= 1'b0;
      packets_q <= '0;
    end
  end
endmodule
