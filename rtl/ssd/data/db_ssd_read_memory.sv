// SPDX-License-Identifier: Apache-2.0
// Data of near-storage commands that lie in memory, not on the media (docs/csd/near-storage.md): asks a db_pcie_read for
// them, and puts them in their place among the media's rows.
//
// Why so: behind this a command's rows are rows, wherever they come from. Of the media's commands it counts how many have
// come before one of memory, and how many have gone; so with no such command inside the media's rows pass as if there were
// nothing, and each of them costs 3 cycles at most.
// What does not come is zeros: such a row of the link's side has what was there before, and that may be anybody's. Of a
// Memory Fill nothing is asked for, and all is zeros.
// Latency: of the media's rows none; command to its first segment 3 cycles, with SLM 5. Throughput: a row a cycle; a segment
// in 2 cycles, with SLM in one.
module db_ssd_read_memory
  import db_mem_pkg::*, db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits of a row: 128, 256, 512
  parameter int ROOM   = 128,   ///< commands of memory that are inside at most: power of two, 2..256
  parameter bit SLM    = 1'b0,  ///< any data pointer may say where they are; else an SGL's one descriptor of a block
  parameter bit BUDGET = 1'b0   ///< ... its lists have a limit (db_nvme_sgl_walk)
) (
  input  logic              clk,
  input  logic              rst,
  output logic              idle,           ///< no command of memory is inside
  /// A command has come, in order; while there is no room, none of memory may.
  input  logic              s_push,
  output logic              s_room,
  input  logic              s_memory,       ///< its data are in memory, at s_from
  input  prp_t              s_from,         ///< of multiples of 4: at most 2^20 bytes, and the address
  input  logic [SLOT_W-1:0] s_slot,
  input  logic              s_fill,         ///< SLM: ... they are zeros, as many bytes
  input  logic              s_list,         ///< SLM: ... they are the list of a Memory Copy
  /// SLM: PRP lists, to a db_pcie_read, and what it answers
  output logic              m_req_valid,
  input  logic              m_req_ready,
  output segment_t          m_req,
  output logic [SLOT_W-1:0] m_req_slot,
  input  logic              s_list_valid,
  output logic              s_list_ready,
  input  logic [DATA_W-1:0] s_list_data,
  input  row_info_t         s_list_info,
  /// SLM: pulse: how the walk of a command's data pointer has ended
  output logic              m_walked_valid,
  output logic [SLOT_W-1:0] m_walked_slot,
  output status_t           m_walked,
  /// To a db_pcie_read, and what it answers: a packet a command.
  output logic              m_seg_valid,
  input  logic              m_seg_ready,
  output segment_t          m_seg,
  output logic [SLOT_W-1:0] m_seg_slot,
  input  logic              s_memory_valid,
  output logic              s_memory_ready,
  input  logic [DATA_W-1:0] s_memory_data,
  input  row_info_t         s_memory_info,
  input  logic              s_media_valid,
  output logic              s_media_ready,
  input  logic [DATA_W-1:0] s_media_data,
  input  row_info_t         s_media_info,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output row_info_t         m_row_info,
  output logic              m_row_memory,
  output logic              m_row_list,     ///< with m_row_memory: of a list, of this slot
  output logic [SLOT_W-1:0] m_row_slot
);
  localparam int COUNT_W = $clog2(ROOM) + 3;
  localparam int BYTES_W = 21;
  typedef logic [COUNT_W-1:0] count_t;      // of the media's commands, modulo more than can be inside
  if (ROOM < 2 || ROOM > 256 || ROOM != 2 ** $clog2(ROOM)) begin : g_bad
    $error("%m: ROOM must be a power of two, 2..256 (is %0d)", ROOM);
  end

  // ---- commands to segments, one a page
  logic jobs_room, order_room;
  assign s_room = jobs_room && order_room;
  if (SLM) begin : g_walk
    logic              job_valid, job_ready;
    prp_t              job;
    logic [SLOT_W-1:0] job_slot;
    db_fifo #(.WIDTH($bits(prp_t) + SLOT_W), .DEPTH(ROOM)) i_jobs (
      .clk, .rst, .s_valid(s_push && s_memory && !s_fill), .s_ready(jobs_room), .s_data({s_from, s_slot}),
      .m_valid(job_valid), .m_ready(job_ready), .m_data({job, job_slot}), .level());
    db_nvme_prp #(.DATA_W(DATA_W), .USER_W(SLOT_W), .SGL(1'b1), .TO_HOST(1'b0), .BUDGET(BUDGET)) i_prp (
      .clk, .rst, .s_cmd_valid(job_valid), .s_cmd_ready(job_ready), .s_cmd(job), .s_cmd_user(job_slot),
      .m_req_valid, .m_req_ready, .m_req, .m_req_user(m_req_slot), .s_list_valid, .s_list_ready, .s_list_data,
      .s_list_info, .m_seg_valid, .m_seg_ready, .m_seg, .m_seg_user(m_seg_slot), .m_seg_status(m_walked));
    assign m_walked_valid = m_seg_valid && m_seg_ready && m_seg.last;
    assign m_walked_slot  = m_seg_slot;
  end else begin : g_pages
    typedef struct packed {
      logic [FN_W-1:0]    fn;
      logic [63:0]        addr;
      logic [BYTES_W-1:0] bytes;
      logic [SLOT_W-1:0]  slot;
    } job_t;
    job_t job, job_q;
    logic job_valid, job_ready, busy_q, first_q, go;
    logic known_q, last_q;           // how long the next segment is, whether it is the last
    logic [12:0] to_page, len_q;
    db_fifo #(.WIDTH($bits(job_t)), .DEPTH(ROOM)) i_jobs (
      .clk, .rst, .s_valid(s_push && s_memory), .s_ready(jobs_room),
      .s_data({s_from.fn, s_from.prp1, s_from.bytes[BYTES_W-1:0], s_slot}),
      .m_valid(job_valid), .m_ready(job_ready), .m_data(job), .level());
    assign job_ready = !busy_q;
    assign to_page   = 13'd4096 - {1'b0, job_q.addr[11:0]};
    assign go        = known_q && (!m_seg_valid || m_seg_ready);
    always_ff @(posedge clk) begin
      if (m_seg_ready) m_seg_valid <= 1'b0;
      if (job_valid && job_ready) begin
        job_q   <= job;
        busy_q  <= 1'b1;
        first_q <= 1'b1;
      end
      len_q   <= job_q.bytes <= BYTES_W'(to_page) ? job_q.bytes[12:0] : to_page;
      last_q  <= job_q.bytes <= BYTES_W'(to_page);
      known_q <= busy_q && !go;
      if (go) begin
        m_seg_valid <= 1'b1;
        m_seg       <= '{fn: job_q.fn, addr: job_q.addr, len: len_q, first: first_q, last: last_q, drop: 1'b0};
        m_seg_slot  <= job_q.slot;
        job_q.addr  <= {job_q.addr[63:12] + 52'd1, 12'd0};
        job_q.bytes <= job_q.bytes - BYTES_W'(len_q);
        first_q     <= 1'b0;
        busy_q      <= !last_q;
      end
      if (rst) begin
        known_q     <= 1'b0;
        busy_q      <= 1'b0;
        m_seg_valid <= 1'b0;
      end
    end
    assign {m_req_valid, m_req, m_req_slot, s_list_ready, m_walked_valid, m_walked_slot, m_walked} = '0;
    logic unused_list;
    assign unused_list = &{1'b0, m_req_ready, s_list_valid, s_list_data, s_list_info, s_from};
  end

  // ---- whose rows are next: a command of memory's, when the media's before it have gone
  count_t         come_q, gone_q, gone, at;
  logic           at_valid, media_end, memory_end, block_q, memory_q;
  logic [$clog2(ROOM):0] level;
  typedef struct packed {           // with SLM
    logic               fill, list;
    logic [SLOT_W-1:0]  slot;
    logic [BYTES_W-3:0] dwords;
  } kind_t;
  kind_t come_kind, kind;
  localparam int ORDER_W = COUNT_W + (SLM ? $bits(kind_t) : 0);
  logic [ORDER_W-1:0] order;
  assign come_kind = '{fill: s_fill, list: s_list, slot: s_slot, dwords: s_from.bytes[BYTES_W-1:2]};
  db_fifo #(.WIDTH(ORDER_W), .DEPTH(ROOM)) i_order (
    .clk, .rst, .s_valid(s_push && s_memory), .s_ready(order_room), .s_data(ORDER_W'({come_kind, come_q})),
    .m_valid(at_valid), .m_ready(memory_end), .m_data(order), .level);
  assign {kind, at} = ($bits(kind_t) + COUNT_W)'(order);
  // ---- rows of the command of memory whose turn it is
  localparam int ROW_DW = DATA_W / 32;
  logic              row_valid, fill_begun_q, fill_last;
  row_info_t         row_info;
  logic [DATA_W-1:0] row_data;
  logic [BYTES_W-3:0] fill_left_q, fill_left;
  assign fill_left = fill_begun_q ? fill_left_q : kind.dwords;
  assign fill_last = fill_left <= (BYTES_W - 2)'(ROW_DW);
  assign row_valid = (SLM && kind.fill) || s_memory_valid;
  assign row_info  = SLM && kind.fill ? '{last: fill_last, dw: fill_last ? fill_left[4:0] : 5'(ROW_DW), err: 1'b0}
                                      : s_memory_info;
  assign row_data  = (SLM && kind.fill) || s_memory_info.err ? '0 : s_memory_data;
  always_ff @(posedge clk) begin
    if (memory_q && m_row_ready && kind.fill) begin
      fill_left_q  <= fill_left - (BYTES_W - 2)'(ROW_DW);
      fill_begun_q <= !fill_last;
    end
    if (rst) fill_begun_q <= 1'b0;
  end
  assign media_end  = s_media_valid && s_media_ready && s_media_info.last;
  assign memory_end = memory_q && row_valid && m_row_ready && row_info.last;
  assign gone       = gone_q + count_t'(media_end);
  assign idle       = level == '0;
  always_ff @(posedge clk) begin
    come_q   <= come_q + count_t'(s_push && !s_memory);
    gone_q   <= gone;
    // Rows of a command come later than its push is seen here.
    block_q  <= level != '0 && (!at_valid || at == gone);
    memory_q <= at_valid && at == gone && !memory_end;
    if (rst) begin
      come_q   <= '0;
      gone_q   <= '0;
      block_q  <= 1'b0;
      memory_q <= 1'b0;
    end
  end
  assign s_media_ready  = !block_q && m_row_ready;
  assign s_memory_ready = memory_q && m_row_ready && !(SLM && kind.fill);
  assign m_row_valid    = memory_q ? row_valid : s_media_valid && !block_q;
  assign m_row_data     = memory_q ? row_data : s_media_data;
  assign m_row_info     = memory_q ? row_info : s_media_info;
  assign m_row_memory   = memory_q;
  assign {m_row_list, m_row_slot} = {SLM && kind.list, kind.slot};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_push && s_memory) assert (s_room);
`endif
endmodule
