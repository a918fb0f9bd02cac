// SPDX-License-Identifier: Apache-2.0
// db_ssd as a board needs it: between the user side of an UltraScale+ PCIe block, whose ports have the names of PG213 here,
// and a memory on AXI4 in the same clock. Resets, time, INTA, flush and zero are inside: docs/ssd/integration.md lists them.
// The memory is not reset with the controller. Wiring only.
//
// Statistics stay on nets that an ILA can be set on (docs/boards.md says which to look at first).
// Latency and throughput: those of db_ssd; a write is at the memory a burst later (db_board_gate).
`include "db_board_axi.svh"
module db_board_ssd
  import db_pcie_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W   = 256,        ///< of the PCIe streams and the memory: 128, 256, 512
  parameter int NUM_QP   = 32,         ///< of db_ssd; it has NUM_QP + 1 vectors, which the PCIe block must have too
  parameter int NUM_CMDS = 128,        ///< of db_ssd
  parameter int NUM_NS   = 4,          ///< of db_ssd
  parameter int ADDR_W   = 31,         ///< log2 of the memory's bytes, 24..64
  parameter int CLK_MHZ  = 250,        ///< of user_clk
  parameter     FW_HEX   = "fw.hex",   ///< of db_ssd
  localparam type write_req_t = `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type write_rsp_t = `DB_BOARD_WRITE_RSP_T,
  localparam type read_req_t  = `DB_BOARD_READ_REQ_T(ADDR_W),
  localparam type read_rsp_t  = `DB_BOARD_READ_RSP_T(DATA_W)
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
  output write_req_t                   m_write_req,
  input  write_rsp_t                   m_write_rsp,
  output read_req_t                    m_read_req,
  input  read_rsp_t                    m_read_rsp,
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
  typedef `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W) axi_write_req_t;
  typedef `DB_AXI_WRITE_RSP_T axi_write_rsp_t;
  axi_write_req_t    own_req;
  axi_write_rsp_t    own_rsp;
  write_req_t        all_req;
  write_rsp_t        all_rsp;
  read_req_t         read_req;
  read_rsp_t         read_rsp;
  logic              cmd_valid, cmd_ready, rsp_valid, rsp_err;
  logic [ADDR_W-1:0] cmd_addr;
  logic [1:0]        cmd_op;
  logic [63:0]       cmd_bytes;
  assign own_req.aw.fua      = 1'b0;
  assign read_req.axi.ar.fua = 1'b0;
  db_ssd #(
    .DATA_W(DATA_W), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .MEDIA_ADDR_W(ADDR_W), .FW_HEX(FW_HEX)
  ) i_ssd (
    .clk(user_clk), .cfg_intx_disable(cfg_function_status[3]), .cfg_intx(intx), .cfg_fn_enable(1'b1),
    .cfg_bus_master(cfg_function_status[2]), .cfg_msix_enable(cfg_interrupt_msix_enable[0]),
    .cfg_msix_mask(cfg_interrupt_msix_mask[0]), .cfg_flr(cfg_flr_in_process[0]), .cfg_flr_done(flr_done),
    .m_axi_awid(), .m_axi_awaddr(own_req.aw.addr), .m_axi_awlen(own_req.aw.len), .m_axi_awsize(), .m_axi_awburst(),
    .m_axi_awvalid(own_req.aw_valid), .m_axi_awready(own_rsp.aw_ready), .m_axi_wdata(own_req.w.data),
    .m_axi_wstrb(own_req.w.strb), .m_axi_wlast(own_req.w.last), .m_axi_wvalid(own_req.w_valid),
    .m_axi_wready(own_rsp.w_ready), .m_axi_bid(1'b0), .m_axi_bresp(own_rsp.b), .m_axi_bvalid(own_rsp.b_valid),
    .m_axi_bready(own_req.b_ready), .m_axi_arid(read_req.ar_id), .m_axi_araddr(read_req.axi.ar.addr),
    .m_axi_arlen(read_req.axi.ar.len), .m_axi_arsize(), .m_axi_arburst(), .m_axi_aruser(),
    .m_axi_arvalid(read_req.axi.ar_valid), .m_axi_arready(read_rsp.axi.ar_ready), .m_axi_rid(read_rsp.r_id),
    .m_axi_rdata(read_rsp.axi.r.data), .m_axi_rresp(read_rsp.axi.r.resp), .m_axi_rlast(read_rsp.axi.r.last),
    .m_axi_rvalid(read_rsp.axi.r_valid), .m_axi_rready(read_req.axi.r_ready), .m_media_cmd_valid(cmd_valid),
    .m_media_cmd_ready(cmd_ready), .m_media_cmd_op(cmd_op), .m_media_cmd_addr(cmd_addr),
    .m_media_cmd_bytes(cmd_bytes), .s_media_rsp_valid(rsp_valid), .s_media_rsp_err(rsp_err), .m_cmb_awaddr(),
    .m_cmb_awlen(), .m_cmb_awsize(), .m_cmb_awburst(), .m_cmb_awvalid(), .m_cmb_awready(1'b0), .m_cmb_wdata(),
    .m_cmb_wstrb(), .m_cmb_wlast(), .m_cmb_wvalid(), .m_cmb_wready(1'b0), .m_cmb_bresp(2'd0), .m_cmb_bvalid(1'b0),
    .m_cmb_bready(), .m_cmb_araddr(), .m_cmb_arlen(), .m_cmb_arsize(), .m_cmb_arburst(), .m_cmb_arvalid(),
    .m_cmb_arready(1'b0), .m_cmb_rdata('0), .m_cmb_rresp(2'd0), .m_cmb_rlast(1'b0), .m_cmb_rvalid(1'b0),
    .m_cmb_rready(), .media_pages(52'd1 << (ADDR_W - 12)),
    .m_media_health_word(), .s_media_health('0), .s_media_warning(1'b0), .wake_us(), .*
  );

  // ---- to the memory
  db_board_zero #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_zero (
    .clk(user_clk), .rst, .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready), .s_cmd_op(cmd_op), .s_cmd_addr(cmd_addr),
    .s_cmd_bytes(cmd_bytes), .m_rsp_valid(rsp_valid), .m_rsp_err(rsp_err), .s_axi_write_req(own_req),
    .s_axi_write_rsp(own_rsp), .m_write_req(all_req), .m_write_rsp(all_rsp));
  db_board_gate #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_gate (
    .clk(user_clk), .s_write_req(all_req), .s_write_rsp(all_rsp), .s_read_req(read_req), .s_read_rsp(read_rsp), .*);
endmodule
