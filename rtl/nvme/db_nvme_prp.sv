// SPDX-License-Identifier: Apache-2.0
// PRP walker: turns {PRP1, PRP2, bytes} of a command into the segments of host memory that hold its data.
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
// between rows of a list and between commands that are long or waited for; a command every 2 cycles. Commands of zero
// bytes are not allowed.
module db_nvme_prp
  import db_nvme_pkg::*;
#(
    parameter int unsigned DATA_W = 256,  // bits of a row of list data: 128, 256 or 512
    parameter int unsigned USER_W = 8,    // bits of user data that travel with a command, at least 1
    parameter int unsigned DEPTH  = 8     // commands between the two halves (how far lists are read ahead): 2..64, 2^n
) (
    input  logic                        clk,
    input  logic                        rst,

    // commands
    input  logic                        s_cmd_valid,
    output logic                        s_cmd_ready,
    input  logic [7:0]                  s_cmd_fn,
    input  logic [63:0]                 s_cmd_prp1,
    input  logic [63:0]                 s_cmd_prp2,
    input  logic [31:0]                 s_cmd_bytes,   // at least 4, a multiple of 4
    input  logic [USER_W-1:0]           s_cmd_user,

    // list reads, to a db_pcie_read: one packet of one request a list page
    output logic                        m_req_valid,
    input  logic                        m_req_ready,
    output logic [7:0]                  m_req_fn,
    output logic [63:0]                 m_req_addr,
    output logic [12:0]                 m_req_len,     // bytes, 8..4096
    output logic                        m_req_first,   // always 1
    output logic                        m_req_last,    // always 1
    output logic                        m_req_drop,    // always 0
    output logic                        m_req_user,    // always 0

    // list data, from that db_pcie_read
    input  logic                        s_list_tvalid,
    output logic                        s_list_tready,
    input  logic [DATA_W-1:0]           s_list_tdata,
    input  logic                        s_list_tlast,
    input  logic [$clog2(DATA_W/32):0]  s_list_tdw,    // valid dwords
    input  logic                        s_list_tuser,  // not used
    input  logic                        s_list_terr,

    // segments
    output logic                        m_seg_valid,
    input  logic                        m_seg_ready,
    output logic [7:0]                  m_seg_fn,
    output logic [63:0]                 m_seg_addr,
    output logic [12:0]                 m_seg_len,     // bytes, 4..4096, inside one page
    output logic                        m_seg_first,   // of the command
    output logic                        m_seg_last,
    output logic                        m_seg_drop,    // no host memory behind it: swallow or make up the data
    output logic [USER_W-1:0]           m_seg_user,
    output status_t                     m_seg_status   // valid with last
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

  localparam int unsigned PAGES_W = 21;
  localparam int unsigned CMD_W   = USER_W + 8 + 2 * 64 + PAGES_W + 2 * 13 + 3;

  logic             f_valid, f_ready, w_valid, w_ready;
  logic [CMD_W-1:0] f_cmd, w_cmd;
  logic             chain_valid, chain_ok;
  logic [51:0]      chain_page;

  assign m_req_first = 1'b1;
  assign m_req_last  = 1'b1;
  assign m_req_drop  = 1'b0;
  assign m_req_user  = 1'b0;

  db_nvme_prp_fetch #(.USER_W(USER_W), .PAGES_W(PAGES_W), .CMD_W(CMD_W)) i_fetch (
      .clk, .rst,
      .s_cmd_valid, .s_cmd_ready, .s_cmd_fn, .s_cmd_prp1, .s_cmd_prp2, .s_cmd_bytes, .s_cmd_user,
      .m_req_valid, .m_req_ready, .m_req_fn, .m_req_addr, .m_req_len,
      .m_cmd_valid(f_valid), .m_cmd_ready(f_ready), .m_cmd(f_cmd),
      .chain_valid, .chain_ok, .chain_page
  );

  db_fifo #(.WIDTH(CMD_W), .DEPTH(DEPTH)) i_cmds (
      .clk, .rst,
      .s_valid(f_valid), .s_ready(f_ready), .s_data(f_cmd),
      .m_valid(w_valid), .m_ready(w_ready), .m_data(w_cmd), .level()
  );

  db_nvme_prp_walk #(.DATA_W(DATA_W), .USER_W(USER_W), .PAGES_W(PAGES_W), .CMD_W(CMD_W)) i_walk (
      .clk, .rst,
      .s_cmd_valid(w_valid), .s_cmd_ready(w_ready), .s_cmd(w_cmd),
      .s_list_tvalid, .s_list_tready, .s_list_tdata, .s_list_tlast, .s_list_tdw, .s_list_terr,
      .chain_valid, .chain_ok, .chain_page,
      .m_seg_valid, .m_seg_ready, .m_seg_fn, .m_seg_addr, .m_seg_len, .m_seg_first, .m_seg_last, .m_seg_drop,
      .m_seg_user, .m_seg_status
  );
endmodule
