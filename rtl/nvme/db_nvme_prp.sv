// SPDX-License-Identifier: Apache-2.0
// PRP walker: turns {PRP1, PRP2, bytes} of a command into the segments of host memory that hold its data. With SGL it
// takes SGLs, too, in the same stream of commands (db_nvme_sgl_walk): what follows speaks of PRPs.
//
// Why: PRP lists live in host memory, a round trip away. db_nvme_prp_fetch requests the list of every command as
// it arrives, DEPTH commands ahead of db_nvme_prp_walk, which turns entries into segments in command order.
//
// Segments: the first is PRP1's, up to the end of its page; then one a page. Their lengths always sum to the
// command's bytes. Page size is 4096. Lists may chain (the last entry of a list page points to the next list): the
// requests of later commands then wait for the pointer.
// Errors, in m_seg_status with the last segment: PRP Offset Invalid (DNR) when PRP1 is not dword aligned, a further
// data pointer or a chain pointer has a page offset, or a list pointer is not qword aligned; Data Transfer Error
// when the list read failed. The segment at fault and all later ones of the command come with drop set (address 0).
// Pointers that are not needed are not looked at.
//
// Latency: command to first segment 4 cycles (no list needed for it). Throughput: one segment a cycle, without gaps
// between rows of a list and between commands that are long or waited for; a command every 2 cycles.
module db_nvme_prp
  import db_mem_pkg::*, db_nvme_pkg::*;
#(
  parameter int unsigned DATA_W = 256,  ///< bits of a row of list data: 128, 256 or 512
  parameter int unsigned USER_W = 8,    ///< bits of user data that travel with a command, at least 1
  parameter int unsigned DEPTH  = 8,    ///< commands between the two halves: how far lists are read ahead; 2..64, 2^n
  parameter bit          SGL    = 1'b0, ///< takes SGLs: a command with sgl set; else that bit is not looked at
  /// SGL: data goes to the host, so bit buckets swallow it; else they are nothing
  parameter bit          TO_HOST = 1'b1,
  /// SGL: lists have a limit that grows with the data, for a walker that many share
  parameter bit          BUDGET = 1'b0
) (
  input  logic               clk,
  input  logic               rst,

  input  logic               s_cmd_valid,
  output logic               s_cmd_ready,
  input  prp_t               s_cmd,
  input  logic [USER_W-1:0]  s_cmd_user,

  /// list reads, to a db_pcie_read: one packet of one request a list page, 8..4096 bytes
  output logic               m_req_valid,
  input  logic               m_req_ready,
  output segment_t           m_req,
  output logic [USER_W-1:0]  m_req_user,   ///< of its command

  /// list data, from that db_pcie_read
  input  logic               s_list_valid,
  output logic               s_list_ready,
  input  logic [DATA_W-1:0]  s_list_data,
  input  row_info_t          s_list_info,

  /// segments of the command's data; drop: no host memory is behind it, swallow or make up the data
  output logic               m_seg_valid,
  input  logic               m_seg_ready,
  output segment_t           m_seg,
  output logic [USER_W-1:0]  m_seg_user,
  output status_t            m_seg_status  ///< counts with the last segment
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  if (USER_W < 1) begin : g_bad_user_w
    $error("%m: USER_W must be at least 1 (is %0d)", USER_W);
  end
  if (DEPTH < 2 || DEPTH > 64 || DEPTH != 2 ** $clog2(DEPTH)) begin : g_bad_depth
    $error("%m: DEPTH must be a power of two in 2..64 (is %0d)", DEPTH);
  end

  logic              fetched_valid, fetched_ready, walk_valid, walk_ready, chain_valid, chain_ok, chain_more;
  logic [USER_W-1:0] fetched_user, walk_user;
  prp_extent_t       fetched, walk;
  logic [63:0]       chain_addr;
  logic [9:0]        chain_n;

  db_nvme_prp_fetch #(.USER_W(USER_W), .SGL(SGL)) i_fetch (
    .clk, .rst,
    .s_cmd_valid, .s_cmd_ready, .s_cmd, .s_cmd_user,
    .m_req_valid, .m_req_ready, .m_req, .m_req_user,
    .m_cmd_valid(fetched_valid), .m_cmd_ready(fetched_ready), .m_cmd(fetched), .m_cmd_user(fetched_user),
    .chain_valid, .chain_ok, .chain_addr, .chain_n, .chain_more
  );

  db_fifo #(.WIDTH(USER_W + $bits(prp_extent_t)), .DEPTH(DEPTH)) i_cmds (
    .clk, .rst,
    .s_valid(fetched_valid), .s_ready(fetched_ready), .s_data({fetched_user, fetched}),
    .m_valid(walk_valid), .m_ready(walk_ready), .m_data({walk_user, walk}), .level()
  );

  db_nvme_prp_walk #(.DATA_W(DATA_W), .USER_W(USER_W), .SGL(SGL), .TO_HOST(TO_HOST), .BUDGET(BUDGET)) i_walk (
    .clk, .rst,
    .s_cmd_valid(walk_valid), .s_cmd_ready(walk_ready), .s_cmd(walk), .s_cmd_user(walk_user),
    .s_list_valid, .s_list_ready, .s_list_data, .s_list_info,
    .chain_valid, .chain_ok, .chain_addr, .chain_n, .chain_more,
    .m_seg_valid, .m_seg_ready, .m_seg, .m_seg_user, .m_seg_status
  );
endmodule
