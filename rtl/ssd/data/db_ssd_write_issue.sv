// SPDX-License-Identifier: Apache-2.0
// First step of the write engine: makes items of commands, and issues what can go ahead of the host's data: addresses
// of write bursts, and the reads of a Compare.
//
// A Write becomes an item a burst, and one for its flush if it has FUA; anything else is one item. A media command, and
// the flush of a Write with FUA, holds back all that follows until it has ended, so nothing behind it is issued early.
// stop: makes no more items. An address on offer stays.
// Latency: command to AW 2 cycles. Throughput: a burst, and a command, every other cycle.
`include "db_axi_types.svh"
module db_ssd_write_issue
  import db_nvme_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W      = 256,   ///< bits: 128, 256, 512
  parameter int ADDR_W      = 40,    ///< bits of a media address
  parameter int BURST_BYTES = 1024,  ///< of a write burst
  localparam type axi_addr_t = `DB_AXI_ADDR_T(ADDR_W)
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        stop,
  output logic        idle,
  output logic        data_done,      ///< each burst whose address has been issued has its data
  input  logic        s_cmd_valid,
  output logic        s_cmd_ready,
  input  exec_cmd_t  s_cmd,
  output logic        m_aw_valid,
  input  logic        m_aw_ready,
  output axi_addr_t   m_aw,
  output logic        m_compare_valid, ///< s_cmd is a Compare: read what it compares with from the media
  input  logic        m_compare_ready,
  output logic        m_item_valid,
  input  logic        m_item_ready,
  output write_item_t m_item,
  output exec_cmd_t  media_cmd,       ///< the media command that is an item now
  input  logic        media_end,       ///< pulse: it is over
  input  logic        burst_end        ///< pulse: the last row of a burst has gone
);
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);

  logic                         busy, cut_ready, cut_last;  // a Write is being cut
  logic [ADDR_W-1:0]            cut_addr;
  logic [$clog2(BURST_BYTES):0] cut_bytes;
  logic                         fua_q;                      // ... with FUA
  logic                         flush_q;                    // its flush is the next item
  logic                         held_q;                     // a media command waits for its end
  exec_cmd_t                   cmd_q;                      // the media command
  logic [SLOT_W-1:0]            slot_q;
  logic                         cut, simple, fua_flush, take_write;
  logic [2:0]                   writes_q;                   // bursts whose address is out and whose data is not

  assign cut        = busy && !stop && !m_aw_valid && m_item_ready;
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
  assign data_done       = writes_q == '0;
  always_comb begin
    m_item.write   = cut;
    m_item.compare = m_compare_valid;
    m_item.media   = fua_flush || (simple && !s_cmd.desc.compare);
    m_item.last    = cut ? cut_last : 1'b1;
    m_item.fua     = cut && fua_q;
    m_item.rows    = 8'((cut_bytes >> ROW_LOG2) - 1'b1);
    m_item.slot    = simple ? s_cmd.slot : slot_q;
  end

  // The next burst is known while m_aw_valid holds the one before it.
  db_axi_cutter #(.ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES)) i_cutter (
    .clk, .rst, .s_valid(take_write), .s_ready(cut_ready), .s_addr(s_cmd.media_addr[ADDR_W-1:0]), .s_bytes(s_cmd.bytes),
    .m_valid(busy), .m_next(cut), .m_addr(cut_addr), .m_bytes(cut_bytes), .m_last(cut_last));

  always_ff @(posedge clk) begin
    if (m_aw_ready) m_aw_valid <= 1'b0;
    if (cut) begin
      m_aw_valid <= 1'b1;
      m_aw       <= '{addr: cut_addr, len: m_item.rows};
    end
    if (take_write) begin
      slot_q <= s_cmd.slot;
      fua_q  <= s_cmd.fua;
    end
    if (cut && cut_last && fua_q) flush_q <= 1'b1;
    if (fua_flush) begin
      flush_q    <= 1'b0;
      held_q     <= 1'b1;
      cmd_q.desc <= op_desc(OPC_FLUSH);
    end else if (simple && !s_cmd.desc.compare) begin
      held_q <= 1'b1;
      cmd_q  <= s_cmd;
    end else if (media_end) held_q <= 1'b0;
    writes_q <= writes_q + 3'(cut) - 3'(burst_end);
    if (rst) begin
      held_q     <= 1'b0;
      flush_q    <= 1'b0;
      m_aw_valid <= 1'b0;
      writes_q   <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && cut) assert (m_item.rows != '0);
`endif
endmodule
