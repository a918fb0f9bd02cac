// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_read_alloc, db_pcie_read_retire, db_pcie_read_rest and db_pcie_read_clock together, wired as in
// db_pcie_read: a tag whose completions may still come names no read until it has rested for two whole epochs, and a tag
// is never given while its read is outstanding. One tag, any one, is followed (mark). Ring, chunks, ends of reads, resets
// of the controller and time are free; a read ends once.
module db_pcie_read_tags_formal
  import db_mem_pkg::*, db_pcie_block_pkg::*;
#(
  parameter int NUM_TAGS = 4,
  localparam int TAG_W = $clog2(NUM_TAGS)
) (
  input logic             clk,
  input logic             link_rst,
  input logic             ctrl_rst,
  input logic             stop,
  input logic             s_chunk_valid,
  input segment_t         s_chunk,
  input logic             m_read_ready,
  input logic             tick,        // an epoch passes
  input logic             s_done_valid,
  input read_done_t       s_done,
  input logic [5:0]       gone_row,
  input logic [2:0]       gone_packets,
  input logic [TAG_W-1:0] any_tag
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (link_rst);
  logic rst;
  assign rst = link_rst || ctrl_rst;

  logic [TAG_W-1:0] mark_q;
  always_ff @(posedge clk) if (!started_q) mark_q <= any_tag; else mark_q <= mark_q;

  // ---- time
  logic [EPOCH_W-1:0] epoch_q;
  logic               tick_q;  // as db_pcie_read_clock sees it, a cycle later
  always_ff @(posedge clk) begin
    epoch_q <= epoch_q + EPOCH_W'(tick);
    tick_q  <= tick;
  end

  // ---- the blocks
  rest_now_t        now;
  logic             s_chunk_ready, m_read_valid, take, skip, resting, lost_valid, idle;
  logic             retire_valid, retire_last, retire_err;
  read_tlp_t        m_read;
  logic [TAG_W:0]   take_tag, retire_tag;
  logic [TAG_W-1:0] lost_tag;
  logic [7:0]       take_end, retire_end;

  db_pcie_read_clock #(.EPOCH_LOG2(0)) i_clock (
    .clk, .rst(link_rst), .time_us({60'd0, epoch_q}), .lost(s_done_valid && s_done.lost), .now
  );
  db_pcie_read_alloc #(
    .DATA_W(128), .TAG_BASE(0), .NUM_TAGS(NUM_TAGS), .RING_DW(128), .CHUNK_BYTES(128), .MAX_PKTS(4)
  ) i_alloc (
    .clk, .rst, .stop, .s_chunk_valid, .s_chunk_ready, .s_chunk, .m_read_valid, .m_read_ready, .m_read, .take,
    .take_tag, .resting, .skip, .take_end, .retire_tag, .gone_row, .gone_packets
  );
  db_pcie_read_rest #(.NUM_TAGS(NUM_TAGS)) i_rest (
    .clk, .now, .s_lost_valid(lost_valid), .s_lost(lost_tag), .tag(take_tag[TAG_W-1:0]), .take, .resting
  );
  db_pcie_read_retire #(.TAG_BASE(0), .NUM_TAGS(NUM_TAGS), .RING_W(7)) i_retire (
    .clk, .rst, .take, .take_tag, .take_end, .take_last(s_chunk.last), .take_drop(s_chunk.drop), .skip,
    .sent(m_read_valid && m_read_ready), .waiting(m_read_valid), .idle, .s_done_valid, .s_done,
    .m_lost_valid(lost_valid), .m_lost(lost_tag), .retire_tag, .m_retire_valid(retire_valid),
    .m_retire_last(retire_last), .m_retire_err(retire_err), .m_retire_end(retire_end)
  );

  // ---- the tag followed: its read is outstanding; its completions may come late, epochs since
  logic       given, ended, out_q, late_q;
  logic [1:0] age_q;  // 3 and more: rested
  assign given = take && !s_chunk.drop && take_tag[TAG_W-1:0] == mark_q;
  assign ended = s_done_valid && s_done.tag == 8'(mark_q);
  always_comb begin
    if (ended) assume (out_q);               // db_pcie_rc: nothing else ends a tag
    if (out_q) assume (!ctrl_rst);           // db_pcie_quiet: a controller is reset when no read is outstanding
    if (s_done_valid) assume (s_done.tag < 8'(NUM_TAGS));
  end
  always_ff @(posedge clk) begin
    if (given) out_q <= 1'b1;
    if (ended) out_q <= 1'b0;
    if (ended && s_done.lost) begin
      late_q <= 1'b1;
      age_q  <= 2'(tick_q);
    end else if (tick_q && age_q != 2'd3) begin
      age_q <= age_q + 2'd1;
    end
    if (rst) out_q <= 1'b0;
    if (link_rst) begin
      late_q <= 1'b0;
      age_q  <= 2'd3;
    end
  end

  // ---- what must hold
  logic [TAG_W:0] place, held;
  assign place  = {1'b0, mark_q - retire_tag[TAG_W-1:0]};  // how many tags are older
  assign held  = take_tag - retire_tag;
  always_comb if (started_q && !link_rst) begin
    // what a user relies on
    if (given) begin
      assert (!out_q);
      assert (!late_q || age_q == 2'd3);
    end
    // how it comes about
    assert (now.epoch == epoch_q - EPOCH_W'(tick_q));
    assert (held <= (TAG_W + 1)'(NUM_TAGS));
    assert (i_retire.pcie_tag_q == 8'(retire_tag[TAG_W-1:0]));
    if (out_q) assert (place < held && !i_retire.done_q[mark_q]);
    if (i_alloc.room_q || skip) assert (held != (TAG_W + 1)'(NUM_TAGS));
    if (late_q && age_q != 2'd3) begin
      // it is written a cycle later, and the epoch may have changed in it
      assert (i_rest.mem_q[mark_q] == {1'b1, EPOCH_W'(now.epoch - EPOCH_W'(age_q))} ||
              (age_q != 2'd0 && i_rest.mem_q[mark_q] == {1'b1, EPOCH_W'(now.epoch - EPOCH_W'(age_q) + 1'b1)}) ||
              (i_rest.lost_q && i_rest.lost_tag_q == mark_q && age_q <= 2'd1));
      assert (now.any && EPOCH_W'(now.epoch - i_clock.last_q) <= EPOCH_W'(age_q));
      assert (!out_q);
      if (take_tag[TAG_W-1:0] == mark_q) assert (!i_alloc.room_q);
    end
  end

  // ---- what can happen
  logic skipped_q;
  always_ff @(posedge clk) begin
    if (skip && take_tag[TAG_W-1:0] == mark_q) skipped_q <= 1'b1;
    if (link_rst) skipped_q <= 1'b0;
  end
  always_comb if (started_q && !link_rst) cover (skipped_q && late_q && given);
endmodule
