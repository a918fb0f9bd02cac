// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_read_split, db_pcie_read_alloc and db_pcie_read_fence together, wired as in db_pcie_read: when a fence
// that began after an owner had become void is done, no request of that owner waits to be sent, and none is ever sent
// again. One owner, any one, is followed (mark). Requests, their owners, ring, room and the ends of tags are free; a tag
// ends only after its request has been sent.
module db_pcie_read_void_formal
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_TAGS = 4,
  parameter int NUM_FN   = 1,            // several: ... nor is one of a function that is silent
  parameter bit COVER    = 1'b0,
  localparam int TAG_W = $clog2(NUM_TAGS)
) (
  input logic             clk,
  input logic             rst,
  input logic             stop,
  input logic             s_read_valid,
  input segment_t         s_read,
  input logic [7:0]       s_read_owner,
  input logic             m_read_ready,
  input logic             resting,
  input logic             retire,      // the oldest tag ends
  input logic [5:0]       gone_row,
  input logic [2:0]       gone_packets,
  input logic             kill,        // the owner becomes void, and stays so
  input logic             other_void,  // ... others
  input logic             fence,
  input logic [NUM_FN-1:0] silent,     // one function has no use for it
  input logic [7:0]       any_owner
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  logic [7:0] mark_q;
  always_ff @(posedge clk) mark_q <= started_q ? mark_q : any_owner;

  // ---- the blocks
  logic           s_read_ready, chunk_valid, chunk_ready, chunk_user, m_read_valid, take, skip, fenced;
  segment_t       chunk;
  logic [7:0]     owner;
  read_tlp_t      m_read;
  logic [TAG_W:0] take_tag, retire_tag_q;
  logic [7:0]     take_end;
  logic           void_q;              // mark is void: whoever asks knows it in this cycle
  db_pcie_read_split #(.NUM_FN(NUM_FN), .USER_W(1), .CHUNK_BYTES(128)) i_split (
    .clk, .rst, .cfg_mrrs(3'd0), .silent, .s_read_valid, .s_read_ready, .s_read, .s_read_user(1'b0), .s_read_owner,
    .m_owner(owner), .s_owner_void(owner == mark_q ? void_q : other_void), .m_chunk_valid(chunk_valid),
    .m_chunk_ready(chunk_ready), .m_chunk(chunk), .m_chunk_user(chunk_user)
  );
  db_pcie_read_alloc #(
    .DATA_W(128), .TAG_BASE(0), .NUM_TAGS(NUM_TAGS), .RING_DW(128), .CHUNK_BYTES(128), .MAX_PKTS(4)
  ) i_alloc (
    .clk, .rst, .stop, .s_chunk_valid(chunk_valid), .s_chunk_ready(chunk_ready), .s_chunk(chunk), .m_read_valid,
    .m_read_ready, .m_read, .take, .take_tag, .resting, .skip, .take_end, .retire_tag(retire_tag_q), .gone_row,
    .gone_packets
  );
  db_pcie_read_fence #(.NUM_TAGS(NUM_TAGS)) i_fence (
    .clk, .rst, .take_tag, .retire_tag(retire_tag_q), .fence, .fenced
  );

  // ---- the world around: tags end in order, each after its request has been sent
  logic [TAG_W:0] given, before_wait, before_until;
  logic [TAG_W:0] wait_tag_q;          // of the request that waits to be sent
  logic [7:0]     wait_owner_q;
  assign given        = take_tag - retire_tag_q;
  assign before_wait  = wait_tag_q - retire_tag_q;
  assign before_until = i_fence.until_q - retire_tag_q;
  always_comb begin
    if (retire) assume (given != '0 && !(i_alloc.valid_q && before_wait == '0));
    if (s_read_valid) assume (s_read.len[12:2] != '0 && s_read.len <= 13'd4096);
  end
  always_ff @(posedge clk) begin
    retire_tag_q <= rst ? '0 : retire_tag_q + (TAG_W + 1)'(retire);
    if (take && !chunk.drop) begin
      wait_tag_q   <= take_tag;
      wait_owner_q <= i_split.owner_q;
    end
  end

  // ---- void, then the fence
`include "db_pcie_void_then_fence.svh"

  // ---- what a user relies on
  logic over, mine;
  assign over = fence_q && fenced;
  assign mine = m_read_valid && wait_owner_q == mark_q;
  always_comb if (started_q && !rst) assert (!(over && mine));
  // a request carries the function that asked; no tag is given for one that has been silent for two cycles
  if (NUM_FN > 1) begin : g_silent
    logic [FN_W-1:0] asked_fn_q, wait_fn_q;   // of the chunks, of the request that waits to be sent
    always_ff @(posedge clk) begin
      if (s_read_valid && s_read_ready) asked_fn_q <= s_read.fn;
      if (take && !chunk.drop)          wait_fn_q  <= asked_fn_q;
    end
    always_comb if (started_q && !rst) begin
      if (chunk_valid)     assert (chunk.fn == asked_fn_q);
      if (i_alloc.valid_q) assert (m_read.fn == wait_fn_q);
    end
`include "db_pcie_silent_for_two.svh"
    always_comb if (started_q && !rst) begin
      for (int f = 0; f < NUM_FN; f++) assert (i_split.i_mute.g_many.silent_q[fn_number(PLACE_W'(f))] == silent_1_q[f]);
      if (chunk_valid && quiet[fn_place(chunk.fn)]) assert (chunk.drop);
      if (take && quiet[fn_place(chunk.fn)]) assert (chunk.drop);
    end
  end

  // ---- how it hangs together
  always_comb if (started_q && !rst) begin
    assert (given <= (TAG_W + 1)'(NUM_TAGS));
    if (i_alloc.room_q || skip) assert (given < (TAG_W + 1)'(NUM_TAGS));
    assert (!(i_alloc.room_q && skip));
    if (i_alloc.valid_q) assert (before_wait < given);
    if (known_q[0] && chunk_valid && i_split.owner_q == mark_q) assert (chunk.drop);
    if (i_fence.wait_q) assert (fence_q && before_until <= given);
    if (fence_q && i_alloc.valid_q && wait_owner_q == mark_q) assert (i_fence.wait_q && before_wait < before_until);
  end

  if (COVER) begin : g_cover
    logic sent_q;                      // the owner has sent something
    always_ff @(posedge clk) sent_q <= !rst && (sent_q || (mine && m_read_ready));
    always_comb cover (started_q && over && sent_q && m_read_valid && given > (TAG_W + 1)'(1));
  end
endmodule
