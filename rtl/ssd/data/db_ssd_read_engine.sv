// SPDX-License-Identifier: Apache-2.0
// Read pipe: Read and Verify, from decoded command to completion. (OpenExpress: HTRW, the read half.)
//
// A command goes two ways at once: its PRPs are walked into segments of host memory, and its data is requested from
// the media. Both run ahead over following commands; db_pcie_write brings segments and data together and sends them.
// Verify has data but no segments: db_ssd_verify swallows its rows. A near-storage command has segments for its result, and
// its data may come from memory (db_ssd_read_memory). The list of a Memory Copy ends here as a Verify does (db_ssd_copy_list).
// With room for every command that has a slot s_cmd_ready never falls: whatever the media or the link do, no command of
// another engine waits in decode behind one of this.
// Latency: command to AR 2 cycles, to its first segment 5. Throughput: a row a cycle.
`include "db_axi_types.svh"
module db_ssd_read_engine
  import db_mem_pkg::*, db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int DATA_W    = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W    = 40,     ///< bits of a media address
  parameter int NUM_CMDS  = 128,    ///< command slots: power of two, 2..256
  parameter int ROOM      = NUM_CMDS,  ///< commands it has room for: power of two, 2..NUM_CMDS
  parameter int BURST_BYTES = 1024,  ///< of a burst of the media: power of two, 512..4096
  parameter int BUF_BYTES = 16384,  ///< for data of the media: power of two; above 32 KiB rows take 2 cycles more
  parameter bit SGL       = 1'b0,   ///< takes SGLs
  parameter bit BUDGET    = 1'b0,   ///< their lists have a limit (db_nvme_sgl_walk)
  parameter bit NEAR      = 1'b0,   ///< has near-storage commands
  parameter bit SLM       = 1'b0,   ///< ... and commands of memory and programs
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              stop,           ///< until rst: ask nothing new of the media
  output logic              quiet,          ///< nothing is missing from the media
  output logic              idle,
  input  logic              s_cmd_valid,
  output logic              s_cmd_ready,
  input  cmd_t              s_cmd,
  /// PRP list reads, to a db_pcie_read, and what it answers
  output logic              m_req_valid,
  input  logic              m_req_ready,
  output segment_t          m_req,
  output logic [SLOT_W-1:0] m_req_slot,
  input  logic              s_list_valid,
  output logic              s_list_ready,
  input  logic [DATA_W-1:0] s_list_data,
  input  row_info_t         s_list_info,
  /// ... of data that lie in memory, likewise
  output logic              m_list_valid,
  input  logic              m_list_ready,
  output segment_t          m_list,
  output logic [SLOT_W-1:0] m_list_slot,
  input  logic              s_near_list_valid,
  output logic              s_near_list_ready,
  input  logic [DATA_W-1:0] s_near_list_data,
  input  row_info_t         s_near_list_info,
  /// these data, from a db_pcie_read
  output logic              m_fetch_valid,
  input  logic              m_fetch_ready,
  output segment_t          m_fetch,
  output logic [SLOT_W-1:0] m_fetch_slot,
  input  logic              s_fetch_valid,
  output logic              s_fetch_ready,
  input  logic [DATA_W-1:0] s_fetch_data,
  input  row_info_t         s_fetch_info,
  output axi_read_req_t     m_axi_read_req,
  input  axi_read_rsp_t     m_axi_read_rsp,
  /// segments and data of Reads, to a db_pcie_write
  output logic              m_seg_valid,
  input  logic              m_seg_ready,
  output segment_t          m_seg,
  output segment_user_t     m_seg_user,     ///< its status counts with the last segment
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output row_info_t         m_row_info,     ///< err: this row alone could not be read
  /// that db_pcie_write has sent a Read's data
  input  logic              s_done_valid,
  output logic              s_done_ready,
  input  segment_user_t     s_done_user,    ///< of its last segment
  input  logic              s_done_err,     ///< a row of it had an error
  output logic              m_completion_valid,
  input  logic              m_completion_ready,
  output slot_completion_t  m_completion,
  output logic              m_packet_valid, ///< pulse: rows of a Read or near-storage command will come, in this order
  output near_packet_t      m_packet,
  output copy_range_t       m_copy_range,   ///< SLM: of the list of a Memory Copy
  output logic              media_err       ///< pulse: a command met a media error
);
  // ---- to the walker (Read) and to the media (both)
  typedef struct packed {           // what the reader of the media must know
    logic [ADDR_W-1:0] addr;
    logic [31:0]       bytes;
    logic              verify;
    logic              pages;       // blocks of 4 KiB: a burst each
    logic              fua;
    logic [SLOT_W-1:0] slot;
  } read_cmd_t;
  localparam int LEVEL_W = $clog2(ROOM) + 1;
  logic               walk_valid, walk_ready, read_valid, read_ready, push, walk_room, read_room, memory_room;
  logic [LEVEL_W-1:0] walk_level, read_level;
  logic [SLOT_W-1:0]  walk_slot;
  prp_t               walk;
  read_cmd_t          read;
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** $clog2(NUM_CMDS)) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end
  if (SLM && !(NEAR && SGL)) begin : g_bad_slm
    $error("%m: SLM takes NEAR and SGL");
  end
  assign s_cmd_ready = walk_room && read_room && memory_room;
  assign push        = s_cmd_valid && s_cmd_ready;
  near_args_t  args;
  logic [31:0] host_bytes;
  assign args           = near_args_t'(s_cmd.ns_blocks[$bits(near_args_t)-1:0]);
  assign host_bytes     = NEAR && s_cmd.desc.computes ? 32'(args.result) : s_cmd.bytes;
  assign m_packet_valid = push && s_cmd.desc.to_host;
  assign m_packet       = '{computes: s_cmd.desc.computes, slot: s_cmd.slot, place: fn_place(s_cmd.fn), args: args};
  // Where its data go, and where those come from that lie in memory. One of both is its data pointer; the other is a
  // stretch of memory, or an SGL there of one descriptor.
  prp_t to, from, pointer, stretch;
  logic swap, walk_memory;
  assign swap    = SLM && s_cmd.desc.from_pointer;
  assign pointer = '{fn: s_cmd.fn, sgl: s_cmd.sgl, prp1: s_cmd.prp1, prp2: s_cmd.prp2,
                     bytes: swap ? s_cmd.bytes : host_bytes};
  assign stretch = '{fn: s_cmd.fn, sgl: 1'b1, prp1: s_cmd.media_addr, bytes: s_cmd.bytes,
                     prp2: SLM && s_cmd.desc.from_sgl ? {SGL_SEGMENT, 28'd0, 32'd16} : {32'd0, s_cmd.bytes}};
  assign to      = swap ? stretch : pointer;
  assign from    = swap ? pointer : stretch;
  db_fifo #(.WIDTH($bits(prp_t) + SLOT_W + 1), .DEPTH(ROOM)) i_walk (
    .clk, .rst, .s_valid(push && s_cmd.desc.to_host), .s_ready(walk_room),
    .s_data({to, s_cmd.slot, NEAR && s_cmd.desc.memory && !s_cmd.desc.fills}), .m_valid(walk_valid),
    .m_ready(walk_ready), .m_data({walk, walk_slot, walk_memory}), .level(walk_level));
  db_fifo #(.WIDTH($bits(read_cmd_t)), .DEPTH(ROOM)) i_read (
    .clk, .rst, .s_valid(push && !(NEAR && s_cmd.desc.memory)), .s_ready(read_room),
    .s_data({s_cmd.media_addr[ADDR_W-1:0], s_cmd.bytes, !s_cmd.desc.to_host, s_cmd.lba4k, s_cmd.fua, s_cmd.slot}),
    .m_valid(read_valid), .m_ready(read_ready), .m_data(read), .level(read_level));

  logic req_memory;
  db_nvme_prp #(.DATA_W(DATA_W), .USER_W(SLOT_W + 1), .SGL(SGL), .TO_HOST(1'b1), .BUDGET(BUDGET)) i_prp (
    .clk, .rst, .s_cmd_valid(walk_valid), .s_cmd_ready(walk_ready),
    .s_cmd(walk), .s_cmd_user({walk_memory, walk_slot}),
    .m_req_valid, .m_req_ready, .m_req, .m_req_user({req_memory, m_req_slot}), .s_list_valid, .s_list_ready,
    .s_list_data, .s_list_info,
    .m_seg_valid, .m_seg_ready, .m_seg, .m_seg_user({m_seg_user.memory, m_seg_user.slot}),
    .m_seg_status(m_seg_user.status));

  logic              media_valid, media_ready, media_verify, row_valid, row_ready, row_verify, memory_idle;
  logic              row_list, row_stay, ends_ready;
  logic [DATA_W-1:0] media_data;
  row_info_t         media_info;
  logic [DATA_W-1:0] row_data;
  row_info_t         row_info;
  logic [SLOT_W-1:0] media_slot, row_slot;
  db_axi_read #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .ROWS(BUF_BYTES * 8 / DATA_W), .BURST_BYTES(BURST_BYTES),
                .USER_W(SLOT_W + 1), .FAST(BUF_BYTES <= 32768)) i_media (
    .clk, .rst, .stop, .quiet, .s_cmd_valid(read_valid), .s_cmd_ready(read_ready),
    .s_cmd_addr(read.addr), .s_cmd_bytes(read.bytes), .s_cmd_pages(read.pages), .s_cmd_fua(read.fua),
    .s_cmd_user({read.verify, read.slot}), .m_axi_read_req, .m_axi_read_rsp,
    .m_row_valid(media_valid), .m_row_ready(media_ready), .m_row_data(media_data), .m_row_info(media_info),
    .m_row_user({media_verify, media_slot}));
  logic              from_valid;
  logic [SLOT_W-1:0] from_slot;
  status_t           from_status;
  if (NEAR) begin : g_memory
    logic              row_memory, memory_list;
    logic [SLOT_W-1:0] memory_slot;
    db_ssd_read_memory #(.DATA_W(DATA_W), .ROOM(ROOM), .SLM(SLM), .BUDGET(BUDGET)) i_memory (
      .clk, .rst, .idle(memory_idle), .s_push(push), .s_room(memory_room), .s_memory(s_cmd.desc.memory), .s_from(from),
      .s_slot(s_cmd.slot), .s_fill(s_cmd.desc.fills), .s_list(s_cmd.desc.copies && s_cmd.desc.from_pointer),
      .m_req_valid(m_list_valid), .m_req_ready(m_list_ready), .m_req(m_list), .m_req_slot(m_list_slot),
      .s_list_valid(s_near_list_valid), .s_list_ready(s_near_list_ready), .s_list_data(s_near_list_data),
      .s_list_info(s_near_list_info), .m_walked_valid(from_valid), .m_walked_slot(from_slot), .m_walked(from_status),
      .m_seg_valid(m_fetch_valid), .m_seg_ready(m_fetch_ready), .m_seg(m_fetch), .m_seg_slot(m_fetch_slot),
      .s_memory_valid(s_fetch_valid), .s_memory_ready(s_fetch_ready), .s_memory_data(s_fetch_data),
      .s_memory_info(s_fetch_info), .s_media_valid(media_valid), .s_media_ready(media_ready),
      .s_media_data(media_data), .s_media_info(media_info), .m_row_valid(row_valid), .m_row_ready(row_ready),
      .m_row_data(row_data), .m_row_info(row_info), .m_row_memory(row_memory), .m_row_list(memory_list),
      .m_row_slot(memory_slot));
    assign row_list   = row_memory && memory_list;
    assign row_verify = row_memory ? memory_list : media_verify;
    assign row_slot   = row_list ? memory_slot : media_slot;
  end else begin : g_no_memory
    logic unused_ok;
    assign {row_valid, row_data, row_info, row_verify} = {media_valid, media_data, media_info, media_verify};
    assign {row_list, row_slot} = {1'b0, media_slot};
    assign {m_fetch_valid, m_fetch, m_fetch_slot, s_fetch_ready} = '0;
    assign {m_list_valid, m_list, m_list_slot, s_near_list_ready, from_valid, from_slot, from_status} = '0;
    assign {media_ready, memory_idle, memory_room} = {row_ready, 2'b11};
    assign unused_ok = &{1'b0, m_fetch_ready, s_fetch_valid, s_fetch_data, s_fetch_info, m_list_ready,
                         s_near_list_valid, s_near_list_data, s_near_list_info, from};
  end

  // ---- rows of Read go out, rows of Verify and of lists end
  assign row_ready = ends_ready && !row_stay;
  if (SLM) begin : g_list
    db_ssd_copy_list #(.DATA_W(DATA_W)) i_list (
      .clk, .rst, .s_row_valid(row_valid && row_list), .s_row_taken(ends_ready), .s_row_data(row_data),
      .s_row_last(row_info.last), .s_row_slot(row_slot), .stay(row_stay), .m_range(m_copy_range));
  end else begin : g_no_list
    assign {row_stay, m_copy_range} = '0;
  end
  logic             verify_valid, verify_ready, verify_list;
  slot_completion_t verify;
  db_ssd_verify #(.DATA_W(DATA_W)) i_verify (
    .clk, .rst, .s_row_valid(row_valid && !row_stay), .s_row_ready(ends_ready), .s_row_data(row_data),
    .s_row_info(row_info), .s_row_verify(row_verify), .s_row_slot(row_slot), .s_row_list(row_list), .m_row_valid,
    .m_row_ready, .m_row_data, .m_row_info,
    .m_completion_valid(verify_valid), .m_completion_ready(verify_ready), .m_completion(verify), .m_list(verify_list));

  db_ssd_read_finish #(.NUM_CMDS(NUM_CMDS), .SLM(SLM)) i_finish (
    .clk, .rst, .s_from_valid(from_valid), .s_from_slot(from_slot), .s_from_status(from_status), .s_done_valid,
    .s_done_ready, .s_done_user, .s_done_err,
    .s_verify_valid(verify_valid), .s_verify_ready(verify_ready), .s_verify(verify), .s_verify_list(verify_list),
    .m_completion_valid, .m_completion_ready, .m_completion, .media_err);

  assign idle = quiet && walk_level == '0 && read_level == '0 && !row_valid && !m_seg_valid &&
                !m_completion_valid && !verify_valid &&
                !m_req_valid && memory_idle;
  logic unused_req;
  assign unused_req = &{1'b0, req_memory};

endmodule
