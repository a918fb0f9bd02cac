// SPDX-License-Identifier: Apache-2.0
// Write pipe: Write, Compare, Dataset Management, Write Zeroes and Flush, from decoded command to completion.
// (OpenExpress: HTRW, the write half.)
//
// Commands with data from the host have their PRPs walked into read requests; db_pcie_read brings the data as one
// stream in command order, and db_ssd_write_exec takes commands and data together. The walk runs ahead of the data by as
// many commands as the queue between holds and as many bytes as db_pcie_read's ring.
// Latency: command to its first segment 4 cycles (no PRP list needed for it). Throughput: a row a cycle.
module db_ssd_write_engine
  import db_nvme_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W = 256,    // bits: 128, 256, 512
  parameter int ADDR_W = 40,     // bits of a media address
  parameter int AHEAD  = 32      // commands between walk and media: power of two, at least 8
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                stop,
  input  logic                no_more_rows,
  output logic                quiet,
  output logic                idle,
  input  logic                s_cmd_valid,
  output logic                s_cmd_ready,
  input  cmd_t                s_cmd,
  // PRP list reads: a db_pcie_read
  output logic                m_req_valid,
  input  logic                m_req_ready,
  output logic [FN_W-1:0]     m_req_fn,
  output logic [63:0]         m_req_addr,
  output logic [12:0]         m_req_len,
  output logic                m_req_first,
  output logic                m_req_last,
  input  logic                s_list_tvalid,
  output logic                s_list_tready,
  input  logic [DATA_W-1:0]   s_list_tdata,
  input  logic                s_list_tlast,
  input  logic [$clog2(DATA_W/32):0] s_list_tdw,
  input  logic                s_list_terr,
  // data reads: another db_pcie_read
  output logic                m_seg_valid,
  input  logic                m_seg_ready,
  output logic [FN_W-1:0]     m_seg_fn,
  output logic [63:0]         m_seg_addr,
  output logic [12:0]         m_seg_len,
  output logic                m_seg_first,
  output logic                m_seg_last,
  output logic                m_seg_drop,
  input  logic                s_axis_tvalid,
  output logic                s_axis_tready,
  input  logic [DATA_W-1:0]   s_axis_tdata,
  input  logic                s_axis_tlast,
  input  logic [$clog2(DATA_W/32):0] s_axis_tdw,
  input  logic                s_axis_terr,
  input  logic [DATA_W/128-1:0] s_axis_tzero,  // Compare: 16 bytes that zeros on the media are equal to, too
  // AXI4 writes, and reads of Compare
  output logic                m_aw_valid,
  input  logic                m_aw_ready,
  output logic [ADDR_W-1:0]   m_aw_addr,
  output logic [7:0]          m_aw_len,
  output logic                m_w_valid,
  input  logic                m_w_ready,
  output logic [DATA_W-1:0]   m_w_data,
  output logic [DATA_W/8-1:0] m_w_strb,
  output logic                m_w_last,
  input  logic                s_b_valid,
  output logic                s_b_ready,
  input  logic [1:0]          s_b_resp,
  output logic                m_ar_valid,
  input  logic                m_ar_ready,
  output logic [ADDR_W-1:0]   m_ar_addr,
  output logic [7:0]          m_ar_len,
  input  logic                s_r_valid,
  output logic                s_r_ready,
  input  logic [DATA_W-1:0]   s_r_data,
  input  logic [1:0]          s_r_resp,
  input  logic                s_r_last,
  // media commands
  output logic                m_media_valid,
  input  logic                m_media_ready,
  output media_op_e           m_media_op,
  output logic [ADDR_W-1:0]   m_media_addr,
  output logic [63:0]         m_media_bytes,
  input  logic                s_media_done,
  input  logic                s_media_err,
  // completions
  output logic                m_cpl_valid,
  input  logic                m_cpl_ready,
  output slot_completion_t           m_cpl,
  output logic                media_err
);
  if (AHEAD < 8 || AHEAD != 2 ** $clog2(AHEAD)) begin : g_bad_ahead
    $error("%m: AHEAD must be a power of two, at least 8");
  end

  // ---- to the walker (with data) and to the media side (all)
  logic to_prp_q, to_media_q, prp_ready, ahead_ready, prp_done, media_done, no_data;
  assign no_data     = s_cmd.op == CMD_ZERO || s_cmd.op == CMD_FLUSH;
  assign prp_done    = to_prp_q || no_data || prp_ready;
  assign media_done  = to_media_q || ahead_ready;
  assign s_cmd_ready = prp_done && media_done;
  always_ff @(posedge clk) begin
    to_prp_q   <= s_cmd_valid && !s_cmd_ready && prp_done;
    to_media_q <= s_cmd_valid && !s_cmd_ready && media_done;
    if (rst) begin
      to_prp_q   <= 1'b0;
      to_media_q <= 1'b0;
    end
  end

  // ---- walk; the result of a walk goes beside the data
  logic    seg_valid, seg_ready, status_room, status_valid, status_pop;
  status_t seg_status, prp_status;
  db_nvme_prp #(.DATA_W(DATA_W), .USER_W(SLOT_W)) i_prp (
    .clk, .rst,
    .s_cmd_valid(s_cmd_valid && !to_prp_q && !no_data), .s_cmd_ready(prp_ready), .s_cmd_fn(s_cmd.fn),
    .s_cmd_prp1(s_cmd.prp1), .s_cmd_prp2(s_cmd.prp2), .s_cmd_bytes(s_cmd.bytes), .s_cmd_user(s_cmd.slot),
    .m_req_valid, .m_req_ready, .m_req_fn, .m_req_addr, .m_req_len, .m_req_first, .m_req_last,
    .m_req_drop(), .m_req_user(),
    .s_list_tvalid, .s_list_tready, .s_list_tdata, .s_list_tlast, .s_list_tdw, .s_list_tuser(1'b0), .s_list_terr,
    .m_seg_valid(seg_valid), .m_seg_ready(seg_ready), .m_seg_fn, .m_seg_addr, .m_seg_len, .m_seg_first, .m_seg_last,
    .m_seg_drop, .m_seg_user(), .m_seg_status(seg_status));
  // At most AHEAD + 6 commands are under way (i_ahead, one before it, db_ssd_write_exec), so there is always room.
  assign m_seg_valid = seg_valid;
  assign seg_ready   = m_seg_ready;
  db_fifo #(.WIDTH($bits(status_t)), .DEPTH(2*AHEAD)) i_status (
    .clk, .rst, .s_valid(seg_valid && m_seg_ready && m_seg_last), .s_ready(status_room), .s_data(seg_status),
    .m_valid(status_valid), .m_ready(status_pop), .m_data(prp_status), .level());

  cmd_t cmd;
  logic cmd_valid, cmd_ready, mwr_idle;
  db_fifo #(.WIDTH($bits(cmd_t)), .DEPTH(AHEAD), .AROUND(1'b0)) i_ahead (
    .clk, .rst, .s_valid(s_cmd_valid && !to_media_q), .s_ready(ahead_ready), .s_data(s_cmd),
    .m_valid(cmd_valid), .m_ready(cmd_ready), .m_data(cmd), .level());

  db_ssd_write_exec #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_mwr (
    .clk, .rst, .stop, .no_more_rows, .quiet, .idle(mwr_idle),
    .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready), .s_cmd(cmd),
    .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_tdw, .s_axis_terr, .s_axis_tzero,
    .s_prp_valid(status_valid), .s_prp_ready(status_pop), .s_prp_status(prp_status),
    .m_aw_valid, .m_aw_ready, .m_aw_addr, .m_aw_len, .m_w_valid, .m_w_ready, .m_w_data, .m_w_strb, .m_w_last,
    .s_b_valid, .s_b_ready, .s_b_resp, .m_ar_valid, .m_ar_ready, .m_ar_addr, .m_ar_len, .s_r_valid, .s_r_ready,
    .s_r_data, .s_r_resp, .s_r_last, .m_media_valid, .m_media_ready, .m_media_op, .m_media_addr, .m_media_bytes,
    .s_media_done, .s_media_err, .m_cpl_valid, .m_cpl_ready, .m_cpl, .media_err);

  assign idle = mwr_idle && !s_cmd_valid && !cmd_valid && !seg_valid && !m_req_valid && !s_list_tvalid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && seg_valid && m_seg_ready && m_seg_last) assert (status_room);
`endif
endmodule
