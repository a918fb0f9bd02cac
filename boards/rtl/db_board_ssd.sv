// SPDX-License-Identifier: Apache-2.0
// db_ssd as a board needs it: between the user side of an UltraScale+ PCIe block, whose ports have the names of PG213 here,
// and a memory on AXI4 in the same clock. Resets, time, INTA, flush and zero are inside: docs/ssd/integration.md lists them.
// The memory is not reset with the controller. Wiring only.
//
// Statistics stay on nets that an ILA can be set on (docs/boards.md says which to look at first).
// Latency and throughput: those of db_ssd; a write is at the memory a burst later (db_board_gate).
module db_board_ssd
  import db_pcie_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W   = 256,        ///< of the PCIe streams and the memory: 128, 256, 512
  parameter int NUM_QP   = 32,         ///< of db_ssd; it has NUM_QP + 1 vectors, which the PCIe block must have too
  parameter int NUM_CMDS = 128,        ///< of db_ssd
  parameter int NUM_NS   = 4,          ///< of db_ssd
  parameter int ADDR_W   = 31,         ///< log2 of the memory's bytes, 24..64
  parameter int CLK_MHZ  = 250,        ///< of user_clk
  parameter     FW_HEX   = "fw.hex"    ///< of db_ssd
) (
  input  logic                         user_clk,
  input  logic                         user_reset,
  input  logic [DATA_W-1:0]            s_axis_cq_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
  input  logic                         s_axis_cq_tlast,
  input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
  input  logic                         s_axis_cq_tvalid,
  output logic                         s_axis_cq_tready,
  output logic [1:0]                   pcie_cq_np_req,
  output logic [DATA_W-1:0]            m_axis_cc_tdata,
  output logic [DATA_W/32-1:0]         m_axis_cc_tkeep,
  output logic                         m_axis_cc_tlast,
  output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
  output logic                         m_axis_cc_tvalid,
  input  logic                         m_axis_cc_tready,
  output logic [DATA_W-1:0]            m_axis_rq_tdata,
  output logic [DATA_W/32-1:0]         m_axis_rq_tkeep,
  output logic                         m_axis_rq_tlast,
  output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
  output logic                         m_axis_rq_tvalid,
  input  logic                         m_axis_rq_tready,
  input  logic [5:0]                   pcie_rq_seq_num0,
  input  logic                         pcie_rq_seq_num_vld0,
  input  logic [5:0]                   pcie_rq_seq_num1,
  input  logic                         pcie_rq_seq_num_vld1,
  input  logic [DATA_W-1:0]            s_axis_rc_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_rc_tkeep,
  input  logic                         s_axis_rc_tlast,
  input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
  input  logic                         s_axis_rc_tvalid,
  output logic                         s_axis_rc_tready,
  input  logic [1:0]                   cfg_max_payload,
  input  logic [2:0]                   cfg_max_read_req,
  input  logic [15:0]                  cfg_function_status,
  input  logic [3:0]                   cfg_interrupt_msix_enable,
  input  logic [3:0]                   cfg_interrupt_msix_mask,
  input  logic [3:0]                   cfg_flr_in_process,
  output logic [3:0]                   cfg_flr_done,
  output logic [3:0]                   cfg_interrupt_int,
  output logic [3:0]                   cfg_interrupt_pending,
  input  logic                         cfg_interrupt_sent,
  /// Memory: bursts of full rows, INCR; writes have ids 0 and 1, reads too.
  input  logic                         memory_ready,   ///< calibrated, of any clock
  output logic                         memory_rst,     ///< for what is in user_clk before the memory
  output logic                         m_axi_awid,
  output logic [ADDR_W-1:0]            m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic                         m_axi_awvalid,
  input  logic                         m_axi_awready,
  output logic [DATA_W-1:0]            m_axi_wdata,
  output logic [DATA_W/8-1:0]          m_axi_wstrb,
  output logic                         m_axi_wlast,
  output logic                         m_axi_wvalid,
  input  logic                         m_axi_wready,
  input  logic                         m_axi_bid,
  input  logic [1:0]                   m_axi_bresp,
  input  logic                         m_axi_bvalid,
  output logic                         m_axi_bready,
  output logic                         m_axi_arid,
  output logic [ADDR_W-1:0]            m_axi_araddr,
  output logic [7:0]                   m_axi_arlen,
  output logic                         m_axi_arvalid,
  input  logic                         m_axi_arready,
  input  logic                         m_axi_rid,
  input  logic [DATA_W-1:0]            m_axi_rdata,
  input  logic [1:0]                   m_axi_rresp,
  input  logic                         m_axi_rlast,
  input  logic                         m_axi_rvalid,
  output logic                         m_axi_rready,
  /// Lights: the controller is out of reset; it toggles with each completion that has left.
  output logic                         running,
  output logic                         active
);
  if (ADDR_W < 24 || ADDR_W > 64) begin : g_bad
    $error("%m: ADDR_W must be 24..64 (is %0d)", ADDR_W);
  end

  // ---- resets and time
  logic        rst, por_rst, quiet, intx, flr_done;
  logic [63:0] time_us;
  db_board_reset i_reset (
    .clk(user_clk), .link_rst(user_reset), .memory_ready, .quiet, .memory_rst, .rst, .por_rst);
  db_board_time #(.CLK_MHZ(CLK_MHZ)) i_time (.clk(user_clk), .time_us);
  db_board_intx i_intx (
    .clk(user_clk), .rst(user_reset), .level(intx), .cfg_interrupt_int, .cfg_interrupt_pending, .cfg_interrupt_sent);
  assign cfg_flr_done = {3'd0, flr_done};
  assign running      = !rst;

  // ---- what to look at
  (* mark_debug = "true" *) logic                stat_doorbell_valid, stat_fetch_valid, stat_decode_valid,
                                                 stat_data_valid, stat_cqe_valid, stat_irq_valid, idle;
  (* mark_debug = "true" *) logic [QID_W-1:0]    stat_doorbell_qid, stat_fetch_qid, stat_decode_sqid;
  (* mark_debug = "true" *) logic [15:0]         stat_doorbell_tail, stat_fetch_index, stat_decode_cid, stat_irq_vector;
  (* mark_debug = "true" *) logic [6:0]          stat_fetch_count;
  (* mark_debug = "true" *) logic [SLOT_W-1:0]   stat_decode_slot, stat_data_slot, stat_cqe_slot;
  (* mark_debug = "true" *) logic [7*32-1:0]     stat_stall;
  logic active_q;
  always_ff @(posedge user_clk) begin
    if (stat_cqe_valid) active_q <= !active_q;
    if (rst) active_q <= 1'b0;
  end
  assign active = active_q;

  // ---- the controller
  logic              aw_valid, aw_ready, w_last, w_valid, w_ready, b_valid, b_ready, ar_id, ar_valid, ar_ready, r_id,
                     r_last, r_valid, r_ready, cmd_valid, cmd_ready, rsp_valid, rsp_err;
  logic [ADDR_W-1:0] aw_addr, ar_addr, cmd_addr;
  logic [7:0]        aw_len, ar_len;
  logic [1:0]        b_resp, r_resp, cmd_op;
  logic [63:0]       cmd_bytes;
  logic [DATA_W-1:0] w_data, r_data;
  logic [DATA_W/8-1:0] w_strb;
  db_ssd #(
    .DATA_W(DATA_W), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .MEDIA_ADDR_W(ADDR_W), .FW_HEX(FW_HEX)
  ) i_ssd (
    .clk(user_clk), .cfg_intx_disable(cfg_function_status[3]), .cfg_intx(intx), .cfg_fn_enable(1'b1),
    .cfg_bus_master(cfg_function_status[2]), .cfg_msix_enable(cfg_interrupt_msix_enable[0]),
    .cfg_msix_mask(cfg_interrupt_msix_mask[0]), .cfg_flr(cfg_flr_in_process[0]), .cfg_flr_done(flr_done),
    .m_axi_awid(), .m_axi_awaddr(aw_addr), .m_axi_awlen(aw_len), .m_axi_awsize(), .m_axi_awburst(),
    .m_axi_awvalid(aw_valid), .m_axi_awready(aw_ready), .m_axi_wdata(w_data), .m_axi_wstrb(w_strb),
    .m_axi_wlast(w_last), .m_axi_wvalid(w_valid), .m_axi_wready(w_ready), .m_axi_bid(1'b0), .m_axi_bresp(b_resp),
    .m_axi_bvalid(b_valid), .m_axi_bready(b_ready), .m_axi_arid(ar_id), .m_axi_araddr(ar_addr), .m_axi_arlen(ar_len),
    .m_axi_arsize(), .m_axi_arburst(), .m_axi_aruser(), .m_axi_arvalid(ar_valid), .m_axi_arready(ar_ready),
    .m_axi_rid(r_id), .m_axi_rdata(r_data), .m_axi_rresp(r_resp), .m_axi_rlast(r_last), .m_axi_rvalid(r_valid),
    .m_axi_rready(r_ready), .m_media_cmd_valid(cmd_valid), .m_media_cmd_ready(cmd_ready), .m_media_cmd_op(cmd_op),
    .m_media_cmd_addr(cmd_addr), .m_media_cmd_bytes(cmd_bytes), .s_media_rsp_valid(rsp_valid),
    .s_media_rsp_err(rsp_err), .m_cmb_awaddr(), .m_cmb_awlen(), .m_cmb_awsize(), .m_cmb_awburst(), .m_cmb_awvalid(),
    .m_cmb_awready(1'b0), .m_cmb_wdata(), .m_cmb_wstrb(), .m_cmb_wlast(), .m_cmb_wvalid(), .m_cmb_wready(1'b0),
    .m_cmb_bresp(2'd0), .m_cmb_bvalid(1'b0), .m_cmb_bready(), .m_cmb_araddr(), .m_cmb_arlen(), .m_cmb_arsize(),
    .m_cmb_arburst(), .m_cmb_arvalid(), .m_cmb_arready(1'b0), .m_cmb_rdata('0), .m_cmb_rresp(2'd0),
    .m_cmb_rlast(1'b0), .m_cmb_rvalid(1'b0), .m_cmb_rready(), .media_pages(52'd1 << (ADDR_W - 12)), .wake_us(), .*
  );

  // ---- to the memory
  logic              all_awid, all_awvalid, all_awready, all_wlast, all_wvalid, all_wready, all_bid, all_bvalid,
                     all_bready;
  logic [ADDR_W-1:0] all_awaddr;
  logic [7:0]        all_awlen;
  logic [1:0]        all_bresp;
  logic [DATA_W-1:0] all_wdata;
  logic [DATA_W/8-1:0] all_wstrb;
  db_board_zero #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_zero (
    .clk(user_clk), .rst, .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready), .s_cmd_op(cmd_op), .s_cmd_addr(cmd_addr),
    .s_cmd_bytes(cmd_bytes), .m_rsp_valid(rsp_valid), .m_rsp_err(rsp_err), .s_axi_awaddr(aw_addr),
    .s_axi_awlen(aw_len), .s_axi_awvalid(aw_valid), .s_axi_awready(aw_ready), .s_axi_wdata(w_data),
    .s_axi_wstrb(w_strb), .s_axi_wlast(w_last), .s_axi_wvalid(w_valid), .s_axi_wready(w_ready), .s_axi_bresp(b_resp),
    .s_axi_bvalid(b_valid), .s_axi_bready(b_ready), .m_axi_awid(all_awid), .m_axi_awaddr(all_awaddr),
    .m_axi_awlen(all_awlen), .m_axi_awvalid(all_awvalid), .m_axi_awready(all_awready), .m_axi_wdata(all_wdata),
    .m_axi_wstrb(all_wstrb), .m_axi_wlast(all_wlast), .m_axi_wvalid(all_wvalid), .m_axi_wready(all_wready),
    .m_axi_bid(all_bid), .m_axi_bresp(all_bresp), .m_axi_bvalid(all_bvalid), .m_axi_bready(all_bready));
  db_board_gate #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_gate (
    .clk(user_clk), .s_axi_awid(all_awid), .s_axi_awaddr(all_awaddr), .s_axi_awlen(all_awlen),
    .s_axi_awvalid(all_awvalid), .s_axi_awready(all_awready), .s_axi_wdata(all_wdata), .s_axi_wstrb(all_wstrb),
    .s_axi_wlast(all_wlast), .s_axi_wvalid(all_wvalid), .s_axi_wready(all_wready), .s_axi_bid(all_bid),
    .s_axi_bresp(all_bresp), .s_axi_bvalid(all_bvalid), .s_axi_bready(all_bready), .s_axi_arid(ar_id),
    .s_axi_araddr(ar_addr), .s_axi_arlen(ar_len), .s_axi_arvalid(ar_valid), .s_axi_arready(ar_ready),
    .s_axi_rid(r_id), .s_axi_rdata(r_data), .s_axi_rresp(r_resp), .s_axi_rlast(r_last), .s_axi_rvalid(r_valid),
    .s_axi_rready(r_ready), .*);
endmodule
