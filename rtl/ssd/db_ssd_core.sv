// SPDX-License-Identifier: Apache-2.0
// NVMe SSD controller without what its data may pass through: every step of an I/O command in hardware, admin commands
// in firmware on a small processor. db_ssd is this with nothing in between, db_csd with the operators of rtl/compute.
// Wiring of
//
//   db_pcie_endpoint    the PCIe block's streams on one side, accesses, reads and writes of host memory on the other
//   db_ssd_front        the host's accesses and queues; entries to commands
//   db_ssd_data         a command's data: read engine, write engine
//   db_ssd_store        words of the firmware's own on the media
//   db_ssd_media        the media's read channel and commands, shared
//   db_ssd_completion   completions to entries and interrupts
//   db_ssd_admin        the processor with its firmware: admin commands, the controller's life
//   db_ssd_reset, db_ssd_idle, db_ssd_stats
//
// Two taps, a packet a command: rows of the media on their way to the host (tap_read), rows of the host to the media or
// to Compare (tap_write). What comes back must have the same rows in the same order, but for a near-storage command,
// whose result comes back. m_tap_cmd and m_packet say before its first row what a packet belongs to, m_tap_end how its
// command ended.
// How a command travels: docs/ssd/theory.md. Wired straight, a tap has neither latency nor logic.
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_ssd_core
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*,
         db_ssd_data_pkg::*, db_ssd_link_pkg::*, db_ssd_stat_pkg::*;
#(
  parameter int DATA_W       = 256,        ///< bits: 128, 256, 512
  parameter int NUM_FN       = 1,          ///< functions, 1..17: the PF and its VFs
  parameter int NUM_QP       = 32,         ///< I/O queue pairs of all functions, 1..255 - NUM_FN
  parameter int NUM_CMDS     = 128,        ///< I/O commands inside: power of two, 2..256
  parameter int QUEUE_MIN    = 1,          ///< command slots that a submission queue has for itself, 1..64
  parameter int QUEUE_MAX    = NUM_CMDS > 64 ? 64 : NUM_CMDS,  ///< ... and at most, QUEUE_MIN..NUM_CMDS
  parameter int NUM_NS       = 1,          ///< namespaces, 1..64
  parameter int NUM_VEC      = NUM_FN == 1 ? NUM_QP + 1 : 33,  ///< MSI-X vectors of the PF, 1..256
  parameter int VF_VEC       = 8,          ///< of each VF: a power of two, 1..32
  parameter int MEDIA_ADDR_W = 40,         ///< bits of a media address, 20..64
  parameter bit UNCORRECTABLE = 1'b0,      ///< has Write Uncorrectable: the media knows op 2 of its command port
  parameter bit SGL          = 1'b0,       ///< takes SGLs
  /// the processor's memory, bytes: multiple of 4096, 32768..1048576
  parameter int RAM_BYTES    = NUM_FN == 1 ? 65536 : NUM_CMDS > 128 ? 94208 : 90112,
  parameter     FW_HEX       = "fw.hex",   ///< its firmware, $readmemh image
  parameter int CMB_LOG2     = 0,          ///< Controller Memory Buffer of a function: log2 of its bytes; 0: none
  parameter bit PEERS        = 1'b0,       ///< RQ is shared with db_pcie_peers
  parameter int BURST_BYTES  = 1024,       ///< of a burst of the media: power of two, 512..4096
  parameter int READ_BUF_BYTES = 16384,    ///< data of Reads that the media owes at a time: power of two, 8192..1048576
  parameter bit AHEAD        = 1'b0,       ///< the media is far away: it is told of reads ahead (db_ssd_ahead)
  parameter bit NEAR         = 1'b0,       ///< has near-storage commands: operators make results of tap_read's packets
  parameter bit SLM          = 1'b0,       ///< ... and namespaces of memory and programs: takes NEAR, SGL and CMB_LOG2
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W),
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(MEDIA_ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(MEDIA_ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type cmb_read_req_t  = `DB_AXI_READ_REQ_T(cmb_addr_w(CMB_LOG2, NUM_FN)),
  localparam type cmb_write_req_t = `DB_AXI_WRITE_REQ_T(cmb_addr_w(CMB_LOG2, NUM_FN), DATA_W)
) (
`include "db_ssd_core_ports.svh"
  ,
  /// Operators.
  output logic                  tap_rst,           ///< controller reset
  output tap_cmd_t              m_tap_cmd,
  output logic                  m_tap_begin,       ///< pulse: a command begins, with or without a packet (m_tap_cmd)
  output logic [SLOT_W-1:0]     m_tap_begin_slot,
  output logic                  m_packet_valid,    ///< pulse: the next packet of tap_read
  output near_packet_t          m_packet,
  input  logic                  s_near_valid,      ///< pulse, before the last row of a near-storage command's result
  input  near_result_t          s_near,
  output logic                  m_tap_end_valid,   ///< pulse: a command has ended
  output slot_completion_t      m_tap_end,
  input  logic                  tap_idle,          ///< nothing is in the operators
  input  logic                  tap_works,         ///< something moves there all the same, which no reset waits for
  input  logic [NUM_NS-1:0]     ns_locked,         ///< commands that move user data are refused
  output logic                  m_tap_read_valid,
  input  logic                  m_tap_read_ready,
  output logic [DATA_W-1:0]     m_tap_read_data,
  output row_info_t             m_tap_read_info,
  input  logic                  s_tap_read_valid,
  output logic                  s_tap_read_ready,
  input  logic [DATA_W-1:0]     s_tap_read_data,
  input  row_info_t             s_tap_read_info,
  output logic                  m_tap_write_valid,
  input  logic                  m_tap_write_ready,
  output logic [DATA_W-1:0]     m_tap_write_data,
  output row_info_t             m_tap_write_info,
  input  logic                  s_tap_write_valid,
  output logic                  s_tap_write_ready,
  input  logic [DATA_W-1:0]     s_tap_write_data,
  input  row_info_t             s_tap_write_info,
  input  logic [DATA_W/128-1:0] s_tap_write_zero,  ///< 16 bytes that compare equal to zeros on the media, too
  output ext_bus_t              m_ext,
  input  logic [31:0]           s_ext_rdata        ///< in the same cycle; zeros if there is nothing
);
  if (MEDIA_ADDR_W < 20 || MEDIA_ADDR_W > 64) begin : g_bad_addr
    $error("%m: MEDIA_ADDR_W must be 20..64");
  end

  // ---- read clients of db_pcie_endpoint
  localparam int RD_LAST = SLM ? RD_LIST : NEAR ? RD_NEAR : RD_FW;
  logic        [RD_MOST-1:0]             read_valid, read_ready, row_valid, row_ready;
  segment_t    [RD_MOST-1:0]             read;
  fetch_user_t [RD_MOST-1:0]             read_user, row_user;
  logic        [RD_MOST-1:0][DATA_W-1:0] row_data;
  row_info_t   [RD_MOST-1:0]             row_info;
  logic [RD_MOST-1:0][SLOT_W-1:0] read_slot, read_at;     // of a request; of that at work
  logic [RD_MOST-1:0]             read_void;
  assign {read_slot[RD_SQE], read_slot[RD_FW], read_void[RD_SQE], read_void[RD_FW]} = '0;
  assign {read_user[RD_DATA], read_user[RD_PRPR], read_user[RD_PRPW], read_user[RD_FW], read_user[RD_NEAR],
          read_user[RD_LIST]} = '0;

  // ---- who asks whether a slot's command has been aborted
  localparam int ASKERS = SLM ? ASK_MOST : NEAR ? ASK_LIST : ASK_NEAR;
  logic [ASK_MOST-1:0][SLOT_W-1:0] ask_slot;
  logic [ASK_MOST-1:0]             ask_aborted;
  segment_user_t [1:0]           write_at;               // of the next TLPs to the host
  for (genvar i = RD_LAST + 1; i < RD_MOST; i++) begin : g_no_client
    assign {read_ready[i], row_valid[i], row_data[i], row_info[i], row_user[i], read_at[i]} = '0;
  end
  for (genvar i = ASKERS; i < ASK_MOST; i++) begin : g_no_asker
    assign ask_aborted[i] = 1'b0;
  end
  assign {ask_slot[ASK_DATA], ask_slot[ASK_PRPR], ask_slot[ASK_PRPW], ask_slot[ASK_NEAR], ask_slot[ASK_LIST]} =
    {read_at[RD_DATA], read_at[RD_PRPR], read_at[RD_PRPW], read_at[RD_NEAR], read_at[RD_LIST]};
  assign ask_slot[ASK_WRITE+:2] = {write_at[1].slot, write_at[0].slot};
  assign {read_void[RD_DATA], read_void[RD_PRPR], read_void[RD_PRPW], read_void[RD_NEAR], read_void[RD_LIST]} =
    {ask_aborted[ASK_DATA], ask_aborted[ASK_PRPR], ask_aborted[ASK_PRPW], ask_aborted[ASK_NEAR], ask_aborted[ASK_LIST]};
  // ---- resets
  control_t          control;
  host_regs_t        host_regs;
  csts_t [NUM_FN-1:0] csts;
  logic              ctrl_rst;
  logic [NUM_FN-1:0] flr_rst, msix_rst, silent;
  db_ssd_reset #(.NUM_FN(NUM_FN)) i_reset (.clk, .rst, .control, .fn_enable(link_cfg.enable[NUM_FN-1:0]),
    .subsystem_reset(host_regs.subsystem_reset), .rdy(csts[0].rdy), .ctrl_rst, .flr_rst, .msix_rst);
  assign tap_rst = ctrl_rst;
  db_ssd_silent #(.NUM_FN(NUM_FN)) i_silent (.clk, .control, .link_cfg, .silent);

  // ---- the host's side
  logic [PLACE_W-1:0] cmb_set_place;
  cmb_window_t        cmb_set;
  logic [NUM_FN-1:0]  cmb_clear, cmb_base_invalid;
  logic               cmb_set_valid, bar_cq_valid, bar_cq_ready, bar_cc_valid, bar_cc_ready, own_valid, own_ready,
                      cmb_valid, cmb_ready, link_write, bar_np_req, cmb_idle;
  cq_t                bar_cq, own;
  cc_t                bar_cc, cmb_cpl;
  db_pcie_cmb #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .CMB_LOG2(CMB_LOG2)) i_cmb (
    .clk, .rst, .cfg_mps({1'b0, link_cfg.max_payload}), .set_valid(cmb_set_valid), .set_place(cmb_set_place),
    .clear(cmb_clear), .idle(cmb_idle), .cq_np_req, .s_cq_valid, .s_cq_ready, .s_cq, .m_cc_valid, .m_cc_ready, .m_cc,
    .s_rq_seq, .s_np_req(bar_np_req), .m_cq_valid(bar_cq_valid), .m_cq_ready(bar_cq_ready), .m_cq(bar_cq),
    .s_cc_valid(bar_cc_valid), .s_cc_ready(bar_cc_ready), .s_cc(bar_cc), .s_own_valid(own_valid),
    .s_own_ready(own_ready), .s_own(own), .m_own_valid(cmb_valid), .m_own_ready(cmb_ready), .m_own(cmb_cpl),
    .link_write, .link_stall(m_rq_valid && !m_rq_ready), .m_axi_read_req(m_cmb_read_req),
    .m_axi_read_rsp(m_cmb_read_rsp), .m_axi_write_req(m_cmb_write_req), .m_axi_write_rsp(m_cmb_write_rsp));

  logic          reg_valid, reg_ready, reg_rvalid, seg_valid, seg_ready, data_done_valid, data_done_ready,
                 data_done_err;
  reg_access_t   reg_access;
  logic [31:0]   reg_rdata;
  segment_t      seg;
  segment_user_t seg_user, data_done_user;
  logic          post_valid, post_ready, dma_quiet, dma_idle, late_completion, fence, fenced;
  post_t         post;
  db_pcie_endpoint #(
    .NUM_FN(NUM_FN), .DATA_W(DATA_W), .NUM_CLIENTS(RD_LAST + 1), .READ_USER_W($bits(fetch_user_t)),
    .WRITE_USER_W($bits(segment_user_t)), .PEERS(PEERS), .CMB_LOG2(CMB_LOG2), .CMB_TOP(SLM),
    .OWNED(RD_OWNED[RD_LAST:0]), .CLIENTS(RD_CLIENTS[RD_LAST:0])
  ) i_pcie (
    .clk, .rst, .ctrl_rst, .time_us, .late_completion, .cfg_mps({1'b0, link_cfg.max_payload}),
    .cfg_mrrs(link_cfg.max_read_req), .stop(control.stop), .silent, .hold(NUM_FN == 1 && !link_cfg.bus_master[0]),
    .quiet(dma_quiet), .idle(dma_idle), .cq_np_req(bar_np_req), .s_cq_valid(bar_cq_valid), .s_cq_ready(bar_cq_ready),
    .s_cq(bar_cq), .m_cc_valid(bar_cc_valid), .m_cc_ready(bar_cc_ready), .m_cc(bar_cc), .m_rq_valid, .m_rq_ready, .m_rq,
    .s_rq_seq, .s_rc_valid, .s_rc_ready, .s_rc, .m_reg_valid(reg_valid), .m_reg_ready(reg_ready), .m_reg(reg_access),
    .m_reg_rvalid(reg_rvalid), .m_reg_rdata(reg_rdata), .s_read_valid(read_valid[RD_LAST:0]),
    .s_read_ready(read_ready[RD_LAST:0]), .s_read(read[RD_LAST:0]), .s_read_user(read_user[RD_LAST:0]),
    .m_row_valid(row_valid[RD_LAST:0]), .m_row_ready(row_ready[RD_LAST:0]), .m_row_data(row_data[RD_LAST:0]),
    .m_row_info(row_info[RD_LAST:0]), .m_row_user(row_user[RD_LAST:0]), .s_seg_valid(seg_valid),
    .s_seg_ready(seg_ready), .s_seg(seg), .s_seg_user(seg_user), .s_row_valid(s_tap_read_valid),
    .s_row_ready(s_tap_read_ready), .s_row_data(s_tap_read_data), .s_row_info(s_tap_read_info),
    .m_done_valid(data_done_valid), .m_done_ready(data_done_ready), .m_done_user(data_done_user),
    .m_done_err(data_done_err), .s_post_valid(post_valid), .s_post_ready(post_ready), .s_post(post),
    .s_read_owner(read_slot[RD_LAST:0]), .m_read_owner(read_at[RD_LAST:0]), .s_read_void(read_void[RD_LAST:0]),
    .m_write_user(write_at), .s_write_void(ask_aborted[ASK_WRITE+:2]), .fence, .fenced,
    .peer_stop(!link_cfg.bus_master[0]), .s_peer_valid, .s_peer_ready, .s_peer, .cmb_set_valid, .cmb_set_place,
    .cmb_set, .cmb_clear, .cmb_base_invalid, .cmb_link_write(link_write), .m_cmb_valid(own_valid),
    .m_cmb_ready(own_ready), .m_cmb(own), .s_cmb_valid(cmb_valid), .s_cmb_ready(cmb_ready), .s_cmb(cmb_cpl));

  // ---- from queues to commands
  logic                    msix_reg_valid, msix_reg_ready, msix_reg_rvalid, vf_look_valid, vf_look_answer;
  reg_access_t             msix_reg;
  logic [31:0]             msix_reg_rdata, intms, vf_look_data;
  logic                    doorbell_valid, doorbell_ready, cq_doorbell_err_valid, doorbell_err_valid;
  doorbell_t               doorbell;
  doorbell_err_t           cq_doorbell_err, doorbell_err;
  vf_look_t                vf_look;
  logic [NUM_FN-1:0]       cc_en, cc_written;
  fn_queues_t              fn_queues;
  logic                    queue_ctx_valid, queue_ctx_ready, cq_ctx_valid, cq_ctx_ready, sq_inflight, sq_deleted,
                           retired_valid, ctx_valid, admin_sqe_valid, admin_sqe_ready, read_cmd_valid, read_cmd_ready,
                           write_cmd_valid, write_cmd_ready, ns_valid;
  queue_ctx_t              queue_ctx;
  arb_cfg_t                arb_cfg;
  logic [MAX_FN-1:0]       cache_off;
  fn_set_t                 fn_set;
  programs_set_t           programs;
  logic [QID_W-1:0]        sq_select, sq_lookup_sqid;
  logic [15:0]             cmds_inflight, cmds_unread;
  sq_lookup_t              sq_lookup;
  retired_t                retired;
  ns_entry_t               ns_entry;
  admin_sqe_t              admin_sqe;
  cmd_t                    cmd;
  tap_cmd_t                tap_cmd;
  slot_ctx_t               ctx;
  logic [2:0]              slot_completion_valid, slot_completion_ready;
  slot_completion_t [2:0]  slot_completion;
  front_busy_t             front_busy;
  logic                    done_valid, done_aborted, done_again, again_valid, again_ready, abort_start, abort_busy,
                           fn_queues_valid, admin_taken;
  logic [ABORT_WATCHES-1:0] abort_watching, abort_caught;
  logic [SLOT_W-1:0]       done_slot, ctx_slot;
  abort_cmd_t              abort_cmd;
  abort_found_t            abort_found;
  near_again_t             again;
  copy_range_t             copy_range;
  db_ssd_front #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .QUEUE_MIN(QUEUE_MIN),
    .QUEUE_MAX(QUEUE_MAX), .NUM_NS(NUM_NS), .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .NEAR(NEAR), .SLM(SLM),
    .ASKERS(ASKERS), .CMB_LOG2(CMB_LOG2)
  ) i_front (
    .clk, .rst, .ctrl_rst, .flr_rst, .control, .bus_master(link_cfg.bus_master[NUM_FN-1:0]), .s_reg_valid(reg_valid),
    .s_reg_ready(reg_ready), .s_reg(reg_access), .s_reg_rvalid(reg_rvalid), .s_reg_rdata(reg_rdata),
    .m_msix_reg_valid(msix_reg_valid), .m_msix_reg_ready(msix_reg_ready), .m_msix_reg(msix_reg),
    .m_msix_reg_rvalid(msix_reg_rvalid), .m_msix_reg_rdata(msix_reg_rdata), .m_cq_doorbell_valid(doorbell_valid),
    .m_cq_doorbell_ready(doorbell_ready), .m_cq_doorbell(doorbell), .s_cq_doorbell_err_valid(cq_doorbell_err_valid),
    .s_cq_doorbell_err(cq_doorbell_err), .m_doorbell_err_valid(doorbell_err_valid), .m_doorbell_err(doorbell_err),
    .host_regs, .vf_look_valid, .vf_look, .vf_look_answer, .vf_look_data, .cc_en, .cc_written, .intms, .csts,
    .cmb_set_valid, .cmb_set_place, .cmb_set, .cmb_clear, .cmb_base_invalid, .s_fn_queues_valid(fn_queues_valid),
    .s_fn_queues(fn_queues), .s_queue_ctx_valid(queue_ctx_valid), .s_queue_ctx_ready(queue_ctx_ready),
    .s_queue_ctx(queue_ctx), .m_cq_ctx_valid(cq_ctx_valid), .m_cq_ctx_ready(cq_ctx_ready), .arb_cfg, .s_fn_set(fn_set),
    .us_turns(time_us[0]), .cache_off, .sq_select, .sq_inflight, .cmds_inflight, .m_fetch_valid(read_valid[RD_SQE]),
    .m_fetch_ready(read_ready[RD_SQE]), .m_fetch(read[RD_SQE]), .m_fetch_user(read_user[RD_SQE]),
    .s_axis_tvalid(row_valid[RD_SQE]), .s_axis_tready(row_ready[RD_SQE]), .s_axis_tdata(row_data[RD_SQE]),
    .s_axis_info(row_info[RD_SQE]), .s_axis_user(row_user[RD_SQE]), .sq_lookup_sqid, .sq_lookup, .sq_deleted,
    .s_retired_valid(retired_valid), .s_retired(retired), .s_done_valid(done_valid), .s_done_slot(done_slot),
    .done_aborted, .s_done_again(done_again), .s_again_valid(again_valid), .s_again_ready(again_ready), .s_again(again),
    .s_copy_range(copy_range), .s_slot(ask_slot[ASKERS-1:0]), .slot_aborted(ask_aborted[ASKERS-1:0]),
    .s_abort_start(abort_start), .s_abort(abort_cmd), .abort_busy, .abort_found, .abort_watching, .abort_caught,
    .fence, .fenced, .s_ns_valid(ns_valid), .s_ns(ns_entry), .s_programs(programs), .ns_locked,
    .m_admin_valid(admin_sqe_valid), .m_admin_ready(admin_sqe_ready), .m_admin(admin_sqe), .s_admin_taken(admin_taken),
    .m_read_valid(read_cmd_valid), .m_read_ready(read_cmd_ready), .m_write_valid(write_cmd_valid),
    .m_write_ready(write_cmd_ready), .m_cmd(cmd), .m_tap_cmd(tap_cmd), .m_ctx_valid(ctx_valid), .m_ctx_slot(ctx_slot),
    .m_ctx(ctx), .m_completion_valid(slot_completion_valid[0]), .m_completion_ready(slot_completion_ready[0]),
    .m_completion(slot_completion[0]), .busy(front_busy), .stat_doorbell(stat.doorbell), .stat_fetch(stat.fetch),
    .stat_decode(stat.decode));

  // ---- data
  axi_read_req_t [2:0] reader_req;   // [0] read engine, [1] Compare, [2] firmware
  axi_read_rsp_t [2:0] reader_rsp;
  axi_write_req_t      engine_write_req, media_write_req;
  axi_write_rsp_t      engine_write_rsp, media_write_rsp;
  logic                store_valid, store_ready, store_done, store_err, store_busy, fw_may, fw_media_valid;
  store_cmd_t          store;
  logic [31:0]         store_data;
  // commands: [0] write engine, [1] firmware
  logic [1:0]          media_cmd_valid, media_cmd_ready, media_cmd_done, media_err;
  media_cmd_t [1:0]    media_cmd;
  logic                media_busy, media_quiet;
  data_state_t         data_state;
  db_ssd_data #(.DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W), .NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .SGL(SGL), .NEAR(NEAR),
                .SLM(SLM), .BURST_BYTES(BURST_BYTES), .READ_BUF_BYTES(READ_BUF_BYTES), .AHEAD(AHEAD)) i_data (
    .clk, .rst(ctrl_rst), .stop(control.stop), .write_pause(store_busy || (fw_media_valid && !AHEAD)),
    .state(data_state), .media_err, .s_read_cmd_valid(read_cmd_valid), .s_read_cmd_ready(read_cmd_ready),
    .s_write_cmd_valid(write_cmd_valid), .s_write_cmd_ready(write_cmd_ready), .s_cmd(cmd), .s_tap_cmd(tap_cmd),
    .s_ctx_valid(ctx_valid), .s_ctx_slot(ctx_slot), .m_tap_cmd, .m_tap_begin, .m_tap_begin_slot, .s_fn_set(fn_set),
    .m_read_prp_valid(read_valid[RD_PRPR]), .m_read_prp_ready(read_ready[RD_PRPR]), .m_read_prp(read[RD_PRPR]),
    .m_read_prp_slot(read_slot[RD_PRPR]), .s_read_list_valid(row_valid[RD_PRPR]),
    .s_read_list_ready(row_ready[RD_PRPR]), .s_read_list_data(row_data[RD_PRPR]), .s_read_list_info(row_info[RD_PRPR]),
    .m_write_prp_valid(read_valid[RD_PRPW]), .m_write_prp_ready(read_ready[RD_PRPW]), .m_write_prp(read[RD_PRPW]),
    .m_write_prp_slot(read_slot[RD_PRPW]), .s_write_list_valid(row_valid[RD_PRPW]),
    .s_write_list_ready(row_ready[RD_PRPW]), .s_write_list_data(row_data[RD_PRPW]),
    .s_write_list_info(row_info[RD_PRPW]), .m_write_seg_valid(read_valid[RD_DATA]),
    .m_write_seg_ready(read_ready[RD_DATA]), .m_write_seg(read[RD_DATA]), .m_write_seg_slot(read_slot[RD_DATA]),
    .m_list_valid(read_valid[RD_LIST]), .m_list_ready(read_ready[RD_LIST]), .m_list(read[RD_LIST]),
    .m_list_slot(read_slot[RD_LIST]), .s_near_list_valid(row_valid[RD_LIST]), .s_near_list_ready(row_ready[RD_LIST]),
    .s_near_list_data(row_data[RD_LIST]), .s_near_list_info(row_info[RD_LIST]), .m_fetch_valid(read_valid[RD_NEAR]),
    .m_fetch_ready(read_ready[RD_NEAR]), .m_fetch(read[RD_NEAR]), .m_fetch_slot(read_slot[RD_NEAR]),
    .s_fetch_valid(row_valid[RD_NEAR]), .s_fetch_ready(row_ready[RD_NEAR]), .s_fetch_data(row_data[RD_NEAR]),
    .s_fetch_info(row_info[RD_NEAR]), .item_slot(ask_slot[ASK_ITEM]), .item_aborted(ask_aborted[ASK_ITEM]),
    .s_tap_write_valid, .s_tap_write_ready, .s_tap_write_data, .s_tap_write_info, .s_tap_write_zero,
    .m_read_seg_valid(seg_valid), .m_read_seg_ready(seg_ready), .m_read_seg(seg), .m_read_seg_user(seg_user),
    .m_tap_read_valid, .m_tap_read_ready, .m_tap_read_data, .m_tap_read_info, .s_read_done_valid(data_done_valid),
    .s_read_done_ready(data_done_ready), .s_read_done_user(data_done_user), .s_read_done_err(data_done_err),
    .m_axi_read_req(reader_req[1:0]), .m_axi_read_rsp(reader_rsp[1:0]), .m_axi_write_req(engine_write_req),
    .m_axi_write_rsp(engine_write_rsp), .m_media_valid(media_cmd_valid[0]), .m_media_ready(media_cmd_ready[0]),
    .m_media(media_cmd[0]), .s_media_done(media_cmd_done[0]), .s_media_err(s_media_rsp_err),
    .m_read_completion_valid(slot_completion_valid[1]), .m_read_completion_ready(slot_completion_ready[1]),
    .m_read_completion(slot_completion[1]), .m_write_completion_valid(slot_completion_valid[2]),
    .m_write_completion_ready(slot_completion_ready[2]), .m_write_completion(slot_completion[2]), .m_ahead_valid,
    .m_ahead_ready, .m_ahead, .s_come_valid, .s_come_slot, .s_ended_valid, .s_ended_slot, .s_ended_err, .m_packet_valid,
    .m_packet, .m_copy_range(copy_range), .us_turns(time_us[0]));
  assign m_ahead_rst = ctrl_rst;
  assign {ask_slot[ASK_AHEAD], m_aborted} = {s_ask_slot, ask_aborted[ASK_AHEAD]};
  assign {m_tap_write_valid, m_tap_write_data, m_tap_write_info} =
    {row_valid[RD_DATA], row_data[RD_DATA], row_info[RD_DATA]};
  assign row_ready[RD_DATA] = m_tap_write_ready;

  // The engine pauses for a word or a media command of the firmware. Stopped and quiet, it begins nothing more, whatever
  // is inside. Of a media that is told ahead it asks nothing by command, so the firmware's need not wait.
  assign fw_may = data_state.write_paused || (control.stop && data_state.write_quiet);
  assign media_cmd_valid[1] = fw_media_valid && (fw_may || AHEAD);
  db_ssd_store #(.DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W)) i_store (
    .clk, .rst, .engine_idle(fw_may), .s_valid(store_valid), .s_ready(store_ready), .s_cmd(store), .s_done(store_done),
    .s_err(store_err), .s_data(store_data), .s_axi_write_req(engine_write_req), .s_axi_write_rsp(engine_write_rsp),
    .m_axi_read_req(reader_req[2]), .m_axi_read_rsp(reader_rsp[2]), .m_axi_write_req(media_write_req),
    .m_axi_write_rsp(media_write_rsp), .busy(store_busy));

  db_ssd_media #(.DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W), .LOCK(!AHEAD), .READ_BUF_BYTES(READ_BUF_BYTES)) i_media (
    .clk, .rst, .ctrl_rst, .s_axi_read_req(reader_req), .s_axi_read_rsp(reader_rsp), .m_axi_read_req, .m_axi_read_rsp,
    .m_axi_arid, .m_axi_rid, .s_axi_write_req(media_write_req), .s_axi_write_rsp(media_write_rsp), .m_axi_write_req,
    .m_axi_write_rsp, .s_cmd_valid(media_cmd_valid), .s_cmd_ready(media_cmd_ready), .s_cmd(media_cmd),
    .s_cmd_done(media_cmd_done), .m_cmd_valid(m_media_cmd_valid), .m_cmd_ready(m_media_cmd_ready), .m_cmd(m_media_cmd),
    .m_cmd_done(s_media_rsp_valid), .busy(media_busy), .quiet(media_quiet));

  // ---- completions
  logic             admin_completion_valid, admin_completion_ready, fw_post_valid, fw_post_ready, error_valid,
                    error_ready, int_vec_cfg_valid;
  completion_t      admin_completion;
  post_t            fw_post;
  error_log_t       error;
  smart_counters_t  smart;
  coalesce_cfg_t    coalesce_cfg;
  int_vec_cfg_t     int_vec_cfg;
  completion_busy_t completion_busy;
  logic [63:0]      coalesce_wake_us, fw_wake_us;
  db_ssd_completion #(
    .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC), .NEAR(NEAR)
  ) i_completion (
    .clk, .por_rst, .rst, .ctrl_rst, .msix_rst, .control, .link_cfg, .time_us, .coalesce_cfg, .int_vec_cfg_valid,
    .int_vec_cfg, .intms, .s_ctx_valid(ctx_valid), .s_ctx_slot(ctx_slot), .s_ctx(ctx),
    .s_slot_valid(slot_completion_valid), .s_slot_ready(slot_completion_ready), .s_slot(slot_completion), .done_valid,
    .done_slot, .done_aborted, .done_again, .m_again_valid(again_valid), .m_again_ready(again_ready), .m_again(again),
    .media_err, .s_admin_valid(admin_completion_valid), .s_admin_ready(admin_completion_ready),
    .s_admin(admin_completion), .s_fw_post_valid(fw_post_valid), .s_fw_post_ready(fw_post_ready), .s_fw_post(fw_post),
    .s_doorbell_valid(doorbell_valid), .s_doorbell_ready(doorbell_ready), .s_doorbell(doorbell),
    .m_doorbell_err_valid(cq_doorbell_err_valid), .m_doorbell_err(cq_doorbell_err), .s_queue_ctx_valid(cq_ctx_valid),
    .s_queue_ctx_ready(cq_ctx_ready), .s_queue_ctx(queue_ctx), .sq_lookup_sqid, .sq_lookup, .sq_deleted,
    .s_reg_valid(msix_reg_valid), .s_reg_ready(msix_reg_ready), .s_reg(msix_reg), .s_reg_rvalid(msix_reg_rvalid),
    .s_reg_rdata(msix_reg_rdata), .m_post_valid(post_valid), .m_post_ready(post_ready), .m_post(post), .intx,
    .m_retired_valid(retired_valid), .m_retired(retired), .cmds_unread, .m_error_valid(error_valid),
    .m_error_ready(error_ready), .m_error(error), .smart, .s_near_valid, .s_near, .busy(completion_busy),
    .wake_us(coalesce_wake_us), .stat_data(stat.data), .stat_cqe(stat.cqe), .stat_irq(stat.irq));

  // Commands that end in decode have not begun for operators. One of the two at a time.
  assign m_tap_end_valid = (slot_completion_valid[2:1] & slot_completion_ready[2:1]) != '0;
  assign m_tap_end       = slot_completion_ready[2] ? slot_completion[2] : slot_completion[1];

  // ---- firmware
  logic        cpu_idle, quiet;
  db_ssd_admin #(
    .DATA_W(DATA_W), .FW_HEX(FW_HEX), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_VEC(NUM_VEC),
    .VF_VEC(VF_VEC), .NUM_NS(NUM_NS), .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .MEMORY_LOG2(SLM ? CMB_LOG2 : 0),
    .RAM_BYTES(RAM_BYTES)) i_admin (
    .clk, .rst, .por_rst, .host_regs, .vf_look_valid, .vf_look, .vf_look_answer, .vf_look_data, .cc_en, .cc_written,
    .flr(link_cfg.flr[NUM_FN-1:0]), .fn_enable(link_cfg.enable[NUM_FN-1:0]), .flr_done, .csts, .fn_queues_valid,
    .fn_queues, .s_sqe_valid(admin_sqe_valid), .s_sqe_ready(admin_sqe_ready), .s_sqe(admin_sqe), .admin_taken,
    .m_completion_valid(admin_completion_valid), .m_completion_ready(admin_completion_ready),
    .m_completion(admin_completion), .m_post_valid(fw_post_valid), .m_post_ready(fw_post_ready), .m_post(fw_post),
    .m_read_valid(read_valid[RD_FW]), .m_read_ready(read_ready[RD_FW]), .m_read(read[RD_FW]),
    .s_row_valid(row_valid[RD_FW]), .s_row_ready(row_ready[RD_FW]), .s_row_data(row_data[RD_FW]),
    .s_row_info(row_info[RD_FW]), .m_queue_ctx_valid(queue_ctx_valid), .m_queue_ctx_ready(queue_ctx_ready),
    .m_queue_ctx(queue_ctx), .sq_select, .sq_inflight, .m_abort_start(abort_start), .m_abort(abort_cmd), .abort_busy,
    .abort_found, .abort_watching, .abort_caught, .arb_cfg, .fn_set, .programs, .cache_off, .coalesce_cfg,
    .int_vec_cfg_valid, .int_vec_cfg, .ns_valid, .ns_entry, .media_pages, .m_media_health_word, .s_media_health,
    .s_media_warning, .control, .quiet, .host_quiet(dma_quiet), .cmds_inflight, .cmds_unread,
    .m_media_valid(fw_media_valid), .m_media_ready(media_cmd_ready[1]), .m_media(media_cmd[1]),
    .s_media_done(media_cmd_done[1]), .s_media_err(s_media_rsp_err), .m_store_valid(store_valid),
    .m_store_ready(store_ready), .m_store(store), .s_store_done(store_done), .s_store_err(store_err),
    .s_store_data(store_data), .s_err_valid(error_valid), .s_err_ready(error_ready), .s_err(error),
    .s_doorbell_err_valid(doorbell_err_valid), .s_doorbell_err(doorbell_err), .counters(smart), .time_us, .cpu_idle,
    .wake_us(fw_wake_us), .ext(m_ext), .ext_rdata(s_ext_rdata));

  // ---- rest, statistics
  busy_t  busy;
  quiet_t blocks_quiet;
  stall_t stall;
  assign busy = '{link_request: s_cq_valid, link_answer: m_cc_valid, link_completion: s_rc_valid, reg_access: reg_valid,
    dma: !dma_idle || !cmb_idle, front: front_busy, read_engine: !data_state.read_idle,
    write_engine: !data_state.write_idle, completion: completion_busy, media_cmd: media_busy || store_busy,
    cpu: !cpu_idle, fw_post: fw_post_valid, queue_ctx: queue_ctx_valid, operators: !tap_idle || tap_works,
    reset: ctrl_rst || msix_rst != '0 || control.ctrl_rst};
  assign blocks_quiet = '{dma: dma_quiet, read_engine: data_state.read_quiet, write_engine: data_state.write_quiet,
                          media: media_quiet};
  assign stall = '{late_completion: late_completion, rows_for_writer: m_tap_read_valid && !m_tap_read_ready,
    write_for_media: m_axi_write_req.w_valid && !m_axi_write_rsp.w_ready, segments_for_writer: seg_valid && !seg_ready,
    write_for_host: !data_state.write_idle && !row_valid[RD_DATA], all_for_link: m_rq_valid && !m_rq_ready,
    read_for_media: !data_state.read_idle && !m_tap_read_valid};
  db_ssd_idle i_idle (.clk, .rst, .busy, .blocks_quiet, .coalesce_wake_us, .fw_wake_us, .quiet, .idle, .wake_us);
  db_ssd_stats i_stats (.clk, .rst, .stall, .count(stat_stall));
endmodule
