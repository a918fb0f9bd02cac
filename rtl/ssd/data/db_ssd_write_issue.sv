// SPDX-License-Identifier: Apache-2.0
// First step of the write engine: makes items of commands, and issues what can go ahead of the host's data: the reads of
// a Compare. Addresses of write bursts go ahead to db_ssd_write_send.
//
// A Write becomes an item a burst, and one for its flush if it has FUA; anything else is one item. A media command, and
// the flush of a Write with FUA, holds back all that follows until it has ended, so nothing behind it is issued early.
// stop: makes no more items.
// Latency: command to item 1 cycle. Throughput: a burst, and a command, every other cycle.
module db_ssd_write_issue
  import db_nvme_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int ADDR_W      = 40,   ///< bits of a media address
  parameter int BURST_BYTES = 1024  ///< of a write burst, but of a namespace with blocks of 4 KiB: a block
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        stop,
  output logic        idle,
  input  logic        s_cmd_valid,
  output logic        s_cmd_ready,
  input  exec_cmd_t   s_cmd,
  output logic        m_addr_valid,    ///< a burst: address and size in 512 bytes, less 1
  input  logic        m_addr_ready,
  output logic [ADDR_W-1:9] m_addr,
  output logic [2:0]  m_addr_blocks,
  output logic        m_compare_valid, ///< s_cmd is a Compare: read what it compares with from the media
  input  logic        m_compare_ready,
  output logic        m_item_valid,
  input  logic        m_item_ready,
  output write_item_t m_item,
  output exec_cmd_t   media_cmd,       ///< the media command that is an item now
  input  logic        media_end        ///< pulse: it is over
);
  logic                         busy, cut_ready, cut_last;  // a Write is being cut
  logic [ADDR_W-1:9]            cut_addr;
  logic [3:0]                   cut_blocks;
  logic                         fua_q;                      // ... with FUA
  logic                         flush_q;                    // its flush is the next item
  logic                         held_q;                     // a media command waits for its end
  logic                         known_q;                    // no burst was cut in the cycle before
  exec_cmd_t                   cmd_q;                      // the media command
  logic [SLOT_W-1:0]            slot_q;
  logic                         cut, simple, fua_flush, take_write;

  assign cut        = busy && known_q && !stop && m_addr_ready && m_item_ready;
  // A Write goes to the cutter as soon as that is free; the others are one item and wait for room.
  assign simple     = s_cmd_valid && !s_cmd.desc.write && !busy && !flush_q && !held_q && !stop && m_item_ready &&
                      (!s_cmd.desc.compare || m_compare_ready);
  assign fua_flush  = flush_q && !stop && m_item_ready;
  assign take_write = s_cmd_valid && s_cmd.desc.write && !held_q && !flush_q && cut_ready;

  assign s_cmd_ready     = s_cmd.desc.write ? !held_q && !flush_q && cut_ready : simple;
  assign m_compare_valid = simple && s_cmd.desc.compare;
  assign m_item_valid    = cut || simple || fua_flush;
  assign media_cmd       = cmd_q;
  assign idle            = !busy && !flush_q && !held_q;
  assign m_addr_valid    = cut;
  assign m_addr          = cut_addr;
  assign m_addr_blocks   = m_item.blocks;
  always_comb begin
    m_item.write   = cut;
    m_item.compare = m_compare_valid;
    m_item.media   = fua_flush || (simple && !s_cmd.desc.compare);
    m_item.last    = cut ? cut_last : 1'b1;
    m_item.fua     = cut && fua_q;
    m_item.blocks  = 3'(cut_blocks - 1'b1);
    m_item.slot    = simple ? s_cmd.slot : slot_q;
  end

  db_axi_cutter #(.ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES)) i_cutter (
    .clk, .rst, .s_valid(take_write), .s_ready(cut_ready), .s_addr(s_cmd.media_addr[ADDR_W-1:0]), .s_bytes(s_cmd.bytes),
    .s_pages(s_cmd.lba4k), .m_valid(busy), .m_next(cut), .m_addr(cut_addr), .m_blocks(cut_blocks), .m_last(cut_last));

  always_ff @(posedge clk) begin
    known_q <= !cut;
    if (take_write) begin
      slot_q <= s_cmd.slot;
      fua_q  <= s_cmd.fua;
    end
    if (cut && cut_last && fua_q) flush_q <= 1'b1;
    if (fua_flush) begin
      flush_q    <= 1'b0;
      held_q     <= 1'b1;
      cmd_q.desc <= op_desc(OPC_FLUSH);
      cmd_q.piece <= '0;
    end else if (simple && !s_cmd.desc.compare) begin
      held_q <= 1'b1;
      cmd_q  <= s_cmd;
    end else if (media_end) held_q <= 1'b0;
    if (rst) begin
      held_q  <= 1'b0;
      flush_q <= 1'b0;
    end
  end

endmodule
