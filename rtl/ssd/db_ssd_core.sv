// SPDX-License-Identifier: Apache-2.0
// NVMe SSD controller without what its data may pass through: every step of an I/O command in hardware, admin commands in
// firmware on a small processor. db_ssd is this with nothing in between, db_csd with the operators of rtl/compute.
//
//   PCIe: the four streams of the UltraScale+ integrated block (PG213), dword aligned, client tags; RQ and RC
//   straddled at 512 bits.
//   Media: AXI4 (id 0: Read and Verify, id 1: Compare), and a command port for what AXI has no word for: flush, and
//   zero a stretch (Write Zeroes, deallocate, Format). A memory that keeps nothing back may answer flush at once.
//   Two taps, one packet a command in the order of the commands: rows of the media on their way to the host (rdop), rows
//   of the host on their way to the media or to Compare (wrop). What comes back must have the same rows in the same
//   order. op_ctx says what the packets belong to: op_rd_valid and op_wr_valid are pulses, before the first row.
//
// How a command travels: docs/theory.md. What blocks say to each other: docs/internal.md.
// Latency and throughput: docs/performance.md. Wired straight, a tap has neither latency nor logic.
`include "db_pcie_types.svh"
module db_ssd_core
  import db_nvme_pkg::*, db_mem_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W       = 256,        // bits: 128, 256, 512
  parameter int NUM_QP       = 32,         // I/O queue pairs, 1..254
  parameter int NUM_CMDS     = 128,        // I/O commands inside: power of two, 2..256
  parameter int NUM_NS       = 1,          // namespaces, 1..64
  parameter int NUM_VEC      = NUM_QP + 1, // MSI-X vectors, 1..256
  parameter int MEDIA_ADDR_W = 40,         // bits of a media address, 20..64
  parameter int RAM_BYTES    = 65536,      // the processor's memory, bytes: power of two, 32768..1048576
  parameter     FW_HEX       = "fw.hex"    // its firmware, $readmemh image
) (
  input  logic                         clk,
  input  logic                         rst,
  // PCIe
  input  logic [DATA_W-1:0]            s_axis_cq_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
  input  logic                         s_axis_cq_tlast,
  input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
  input  logic                         s_axis_cq_tvalid,
  output logic                         s_axis_cq_tready,
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
  input  logic [DATA_W-1:0]            s_axis_rc_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_rc_tkeep,
  input  logic                         s_axis_rc_tlast,
  input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
  input  logic                         s_axis_rc_tvalid,
  output logic                         s_axis_rc_tready,
  input  logic [1:0]                   cfg_max_payload,   // 0: 128 bytes ... 3: 1024
  input  logic [2:0]                   cfg_max_read_req,  // 0: 128 bytes ... 5: 4096
  input  logic                         cfg_bus_master,
  input  logic                         cfg_msix_enable,
  input  logic                         cfg_msix_mask,
  input  logic                         cfg_intx_disable,
  input  logic                         cfg_flr,           // function-level reset in process
  output logic                         cfg_flr_done,      // pulse
  output logic                         cfg_intx,          // level: INTA asserted
  // media
  output logic                         m_axi_awid,
  output logic [MEDIA_ADDR_W-1:0]      m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic [2:0]                   m_axi_awsize,
  output logic [1:0]                   m_axi_awburst,
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
  output logic [MEDIA_ADDR_W-1:0]      m_axi_araddr,
  output logic [7:0]                   m_axi_arlen,
  output logic [2:0]                   m_axi_arsize,
  output logic [1:0]                   m_axi_arburst,
  output logic                         m_axi_arvalid,
  input  logic                         m_axi_arready,
  input  logic                         m_axi_rid,
  input  logic [DATA_W-1:0]            m_axi_rdata,
  input  logic [1:0]                   m_axi_rresp,
  input  logic                         m_axi_rlast,
  input  logic                         m_axi_rvalid,
  output logic                         m_axi_rready,
  output logic                         m_media_cmd_valid,
  input  logic                         m_media_cmd_ready,
  output logic                         m_media_cmd_op,    // media_op_e: 0 flush, 1 zero
  output logic [MEDIA_ADDR_W-1:0]      m_media_cmd_addr,
  output logic [63:0]                  m_media_cmd_bytes,
  input  logic                         s_media_rsp_valid, // pulse, one for each command
  input  logic                         s_media_rsp_err,
  input  logic [51:0]                  media_pages,       // capacity in 4 KiB
  input  logic [63:0]                  time_us,           // free running
  // nothing will change inside until an input does, or time_us reaches wake_us
  output logic                         idle,
  output logic [63:0]                  wake_us,
  // statistics: a pulse a stage of a command, and cycles that engines waited
  output logic                         stat_doorbell_valid,
  output logic [QID_W-1:0]             stat_doorbell_qid,
  output logic [15:0]                  stat_doorbell_tail,
  output logic                         stat_fetch_valid,  // entries are requested
  output logic [QID_W-1:0]             stat_fetch_qid,
  output logic [15:0]                  stat_fetch_index,
  output logic [6:0]                   stat_fetch_count,
  output logic                         stat_decode_valid, // an I/O entry became a command
  output logic [SLOT_W-1:0]            stat_decode_slot,
  output logic [QID_W-1:0]             stat_decode_sqid,
  output logic [15:0]                  stat_decode_cid,
  output logic                         stat_data_valid,   // its data has been moved
  output logic [SLOT_W-1:0]            stat_data_slot,
  output logic                         stat_cqe_valid,    // its completion queue entry left
  output logic [SLOT_W-1:0]            stat_cqe_slot,
  output logic                         stat_irq_valid,
  output logic [15:0]                  stat_irq_vector,
  output logic [6*32-1:0]              stat_stall,        // see db_ssd_stats
  // operators
  output logic                         op_rst,            // with the data path: controller reset
  output logic                         op_rd_valid,       // pulse: a Read will send a packet through rdop
  output logic                         op_wr_valid,       // pulse: a Write, Compare, Dataset Management through wrop
  output slot_ctx_t                    op_ctx,            // with both
  output logic                         op_lba4k,          // with both: block size
  input  logic                         op_idle,           // nothing is in the operators
  input  logic [NUM_NS-1:0]            ns_locked,         // Read, Write, Compare of the namespace are refused
  output logic                         m_axis_rdop_tvalid,
  input  logic                         m_axis_rdop_tready,
  output logic [DATA_W-1:0]            m_axis_rdop_tdata,
  output logic                         m_axis_rdop_tlast,
  output logic                         m_axis_rdop_terr,
  input  logic                         s_axis_rdop_tvalid,
  output logic                         s_axis_rdop_tready,
  input  logic [DATA_W-1:0]            s_axis_rdop_tdata,
  input  logic                         s_axis_rdop_tlast,
  input  logic                         s_axis_rdop_terr,
  output logic                         m_axis_wrop_tvalid,
  input  logic                         m_axis_wrop_tready,
  output logic [DATA_W-1:0]            m_axis_wrop_tdata,
  output logic                         m_axis_wrop_tlast,
  output logic [$clog2(DATA_W/32):0]   m_axis_wrop_tdw,   // dwords of the row
  output logic                         m_axis_wrop_terr,
  input  logic                         s_axis_wrop_tvalid,
  output logic                         s_axis_wrop_tready,
  input  logic [DATA_W-1:0]            s_axis_wrop_tdata,
  input  logic                         s_axis_wrop_tlast,
  input  logic [$clog2(DATA_W/32):0]   s_axis_wrop_tdw,
  input  logic                         s_axis_wrop_terr,
  input  logic [DATA_W/128-1:0]        s_axis_wrop_tzero, // 16 bytes that compare equal to zeros on the media, too
  // the firmware's extension bus, 0x9000_0000: read data in the same cycle; zeros if there is nothing
  output logic                         ext_req,
  output logic                         ext_wr,
  output logic [11:0]                  ext_addr,          // bytes
  output logic [31:0]                  ext_wdata,
  input  logic [31:0]                  ext_rdata
);
  localparam int N       = DATA_W / 32;
  localparam int LANE_W  = $clog2(N);
  localparam int CPL_W   = $bits(slot_completion_t);
  localparam int ROW_LG  = $clog2(DATA_W / 8);
  localparam int SEG_U_W = $bits(status_t) + SLOT_W;
  localparam int REQ_U_W = FN_W + QID_W + 32;

  if (NUM_CMDS < 2 || NUM_CMDS != 2 ** $clog2(NUM_CMDS) || NUM_CMDS > 256) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end
  if (NUM_VEC < 1 || NUM_VEC > 256) begin : g_bad_vec
    $error("%m: NUM_VEC must be 1..256");
  end
  if (MEDIA_ADDR_W < 20 || MEDIA_ADDR_W > 64) begin : g_bad_addr
    $error("%m: MEDIA_ADDR_W must be 20..64");
  end

  // Read clients of db_pcie_dma.
  localparam int RD_DATA = 0;  // data of Write, Compare, Dataset Management
  localparam int RD_SQE  = 1;
  localparam int RD_PRPR = 2;  // PRP lists of the read pipe
  localparam int RD_PRPW = 3;  // ... of the write pipe
  localparam int RD_FW   = 4;
  localparam int RD_NUM  = 5;

  // ---- resets: everything; the data path (controller reset); what only a function-level reset clears
  logic ctl_run, ctl_stop, ctl_dp_rst, ctl_fn_rst, dp_rst, fn_rst;
  always_ff @(posedge clk) begin
    dp_rst <= rst || ctl_dp_rst;
    fn_rst <= rst || ctl_fn_rst;
  end

  // ---- BAR 0: registers, doorbells, MSI-X
  logic             bar_valid, bar_ready, bar_wr, bar_rvalid;
  logic [FN_W-1:0]  bar_fn;
  logic [15:0]      bar_addr;
  logic [3:0]       bar_be;
  logic [31:0]      bar_wdata, bar_rdata;

  logic [1:0]       reg_valid, reg_ready, reg_rvalid, db_valid, db_ready;
  logic             reg_wr;
  logic [FN_W-1:0]  reg_fn, db_fn;
  logic [12:0]      reg_addr;
  logic [3:0]       reg_be;
  logic [31:0]      reg_wdata;
  logic [63:0]      reg_rdata;
  logic [8:0]       db_qid;
  logic [15:0]      db_value;
  db_ssd_bar i_bar (
    .clk, .rst, .s_reg_valid(bar_valid), .s_reg_ready(bar_ready), .s_reg_wr(bar_wr), .s_reg_fn(bar_fn),
    .s_reg_addr(bar_addr), .s_reg_be(bar_be), .s_reg_wdata(bar_wdata), .s_reg_rvalid(bar_rvalid),
    .s_reg_rdata(bar_rdata), .m_reg_valid(reg_valid), .m_reg_ready(reg_ready), .m_reg_wr(reg_wr), .m_reg_fn(reg_fn),
    .m_reg_addr(reg_addr), .m_reg_be(reg_be), .m_reg_wdata(reg_wdata), .m_reg_rvalid(reg_rvalid),
    .m_reg_rdata(reg_rdata), .m_db_valid(db_valid), .m_db_ready(db_ready), .m_db_fn(db_fn), .m_db_qid(db_qid),
    .m_db_value(db_value));

  logic [31:0] cc, aqa, intms;
  logic [63:0] asq, acq;
  logic        ev_cc, ev_nssr, csts_rdy, csts_cfs, csts_nssro;
  logic [1:0]  csts_shst;
  logic        fetch_err, fetch_err_q;
  db_ssd_regs i_regs (
    .clk, .rst, .fn_rst, .reg_valid(reg_valid[0]), .reg_ready(reg_ready[0]), .reg_wr, .reg_fn,
    .reg_addr(reg_addr[11:0]), .reg_be, .reg_wdata, .reg_rvalid(reg_rvalid[0]), .reg_rdata(reg_rdata[31:0]),
    .cc, .aqa, .asq, .acq, .intms, .ev_cc, .ev_nssr, .csts_rdy, .csts_cfs(csts_cfs || fetch_err_q), .csts_shst,
    .csts_nssro);

  // ---- interrupts
  logic            cpl_irq_valid, cpl_irq_ready, cpl_irq_admin, irq_valid, irq_ready, any_entries;
  logic [FN_W-1:0] cpl_irq_fn, irq_fn;
  logic [15:0]     cpl_irq_vector, irq_vector;
  logic [7:0]      ic_thr, ic_time;
  logic            icv_we, icv_cd, ic_idle;
  logic [15:0]     icv_vector;
  logic [63:0]     ic_wake_us;
  db_ssd_coalesce #(.NUM_VEC(NUM_VEC)) i_coalesce (
    .clk, .rst(dp_rst), .time_us, .ic_thr, .ic_time, .icv_we, .icv_vector, .icv_cd,
    .s_irq_valid(cpl_irq_valid), .s_irq_ready(cpl_irq_ready), .s_irq_fn(cpl_irq_fn), .s_irq_vector(cpl_irq_vector),
    .s_irq_admin(cpl_irq_admin), .m_irq_valid(irq_valid), .m_irq_ready(irq_ready), .m_irq_fn(irq_fn),
    .m_irq_vector(irq_vector), .idle(ic_idle), .wake_us(ic_wake_us));

  logic            msix_valid, msix_ready;  // what is sent while the controller stops is dropped
  logic [FN_W-1:0] msix_fn;
  logic [63:0]     msix_addr;
  logic [31:0]     msix_data;
  reg_access_t msix_reg;
  post_t       msix_post;
  assign msix_reg = '{wr: reg_wr, fn: reg_fn, addr: 16'(reg_addr), be: reg_be, wdata: reg_wdata};
  assign {msix_fn, msix_addr, msix_data} = {msix_post.fn, msix_post.addr, msix_post.data[31:0]};
  db_pcie_msix #(.NUM_VEC(NUM_VEC)) i_msix (
    .clk, .rst(fn_rst), .s_reg_valid(reg_valid[1]), .s_reg_ready(reg_ready[1]), .s_reg(msix_reg),
    .s_reg_rvalid(reg_rvalid[1]), .s_reg_rdata(reg_rdata[63:32]), .s_irq_valid(irq_valid), .s_irq_ready(irq_ready),
    .s_irq_fn(irq_fn), .s_irq_vector(irq_vector), .cfg_msix_enable, .cfg_msix_mask, .m_post_valid(msix_valid),
    .m_post_ready(msix_ready), .m_post(msix_post));

  always_ff @(posedge clk) begin
    cfg_intx <= any_entries && !cfg_msix_enable && !cfg_intx_disable && !intms[0];
    if (rst) cfg_intx <= 1'b0;
  end

  // ---- submission queues
  logic [2:0]       arb_burst;
  logic [7:0]       arb_lpw, arb_mpw, arb_hpw;
  logic             arb_wrr;
  logic             qc_valid, qc_ready, sq_qc_ready, cq_qc_ready;
  queue_ctx_t            qc;
  logic             sqr_valid, sqr_ready, head_valid, q_inflight, sq_idle;
  logic [63:0]      sqr_addr;
  logic [12:0]      sqr_len;
  logic [REQ_U_W-1:0] sqr_user;
  logic [QID_W-1:0] head_sqid, lk_sqid, lk_cqid, q_sel;
  logic [15:0]      head, lk_head, cmds_inflight;
  logic             done_valid, done_io;
  logic [SLOT_W-1:0] done_slot;
  logic [QID_W-1:0] done_sqid;
  logic [1:0]       dberr_valid, dberr_kind;
  logic [2*QID_W-1:0] dberr_qid;
  db_ssd_sq #(.NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS)) i_sq (
    .clk, .rst(dp_rst), .run(ctl_run && !ctl_stop && cfg_bus_master && !fetch_err_q),
    .s_db_valid(db_valid[0]), .s_db_ready(db_ready[0]), .s_db_fn(db_fn), .s_db_qid(db_qid), .s_db_value(db_value),
    .s_qc_valid(qc_valid && qc.kind == QUEUE_SQ), .s_qc_ready(sq_qc_ready), .s_qc(qc),
    .arb_burst, .arb_lpw, .arb_mpw, .arb_hpw, .arb_wrr,
    .m_req_valid(sqr_valid), .m_req_ready(sqr_ready), .m_req_addr(sqr_addr), .m_req_len(sqr_len),
    .m_req_user(sqr_user), .s_head_valid(head_valid), .s_head_sqid(head_sqid), .s_head(head),
    .lk_sqid, .lk_cqid, .lk_head, .s_done_valid(done_valid), .s_done_sqid(done_sqid), .q_sel, .q_inflight,
    .cmds_inflight, .m_dberr_valid(dberr_valid[0]), .m_dberr_kind(dberr_kind[0]), .m_dberr_qid(dberr_qid[0 +: QID_W]),
    .idle(sq_idle));
  assign qc_ready = (qc.kind == QUEUE_SQ) ? sq_qc_ready : cq_qc_ready;

  // ---- entries to commands
  logic [RD_NUM-1:0]          rd_valid, rd_ready, rd_first, rd_last, rd_drop, rd_idle;
  logic [RD_NUM*8-1:0]        rd_fn;
  logic [RD_NUM*64-1:0]       rd_addr;
  logic [RD_NUM*13-1:0]       rd_len;
  logic [RD_NUM*REQ_U_W-1:0]  rd_user;
  logic [RD_NUM-1:0]          st_tvalid, st_tready, st_tlast, st_terr;
  logic [RD_NUM*DATA_W-1:0]   st_tdata;
  logic [RD_NUM*(LANE_W+1)-1:0] st_tdw;
  logic [RD_NUM*REQ_U_W-1:0]  st_tuser;

  assign rd_valid[RD_SQE]               = sqr_valid;
  assign sqr_ready                      = rd_ready[RD_SQE];
  assign rd_fn[8*RD_SQE +: 8]           = sqr_user[REQ_U_W-1 -: FN_W];
  assign rd_addr[64*RD_SQE +: 64]       = sqr_addr;
  assign rd_len[13*RD_SQE +: 13]        = sqr_len;
  assign {rd_first[RD_SQE], rd_last[RD_SQE], rd_drop[RD_SQE]} = 3'b110;
  assign rd_user[REQ_U_W*RD_SQE +: REQ_U_W] = sqr_user;

  logic             sqe_valid, sqe_ready, sqe_err;
  logic [FN_W-1:0]  sqe_fn;
  logic [QID_W-1:0] sqe_sqid;
  logic [15:0]      sqe_head;
  logic [511:0]     sqe_data;
  db_ssd_fetch #(.DATA_W(DATA_W)) i_fetch (
    .clk, .rst(dp_rst), .s_axis_tvalid(st_tvalid[RD_SQE]), .s_axis_tready(st_tready[RD_SQE]),
    .s_axis_tdata(st_tdata[DATA_W*RD_SQE +: DATA_W]), .s_axis_tlast(st_tlast[RD_SQE]),
    .s_axis_tdw(st_tdw[(LANE_W+1)*RD_SQE +: LANE_W+1]), .s_axis_tuser(st_tuser[REQ_U_W*RD_SQE +: REQ_U_W]),
    .s_axis_terr(st_terr[RD_SQE]), .m_sqe_valid(sqe_valid), .m_sqe_ready(sqe_ready), .m_sqe_fn(sqe_fn),
    .m_sqe_sqid(sqe_sqid), .m_sqe_head(sqe_head), .m_sqe_err(sqe_err), .m_sqe_data(sqe_data));

  localparam int POOL_W = $clog2(NUM_CMDS);
  logic              slot_valid, slot_ready;
  logic [POOL_W-1:0] slot;
  db_tag_pool #(.N(NUM_CMDS)) i_slots (
    .clk, .rst(dp_rst), .alloc_valid(slot_valid), .alloc_ready(slot_ready), .alloc_tag(slot),
    .free_valid(done_valid && done_io), .free_tag(done_slot[POOL_W-1:0]), .used());

  logic              ctx_we, adm_valid, adm_ready, rc_valid, rc_ready, wc_valid, wc_ready;
  logic [SLOT_W-1:0] ctx_slot;
  slot_ctx_t         ctx_data;
  logic [FN_W-1:0]   adm_fn;
  logic [511:0]      adm_data;
  cmd_t              rc_cmd, wc_cmd;
  logic [2:0]        scpl_valid, scpl_ready;
  logic [3*CPL_W-1:0] scpl;
  slot_completion_t         scpl_dec, scpl_rd, scpl_wr;
  logic [NUM_NS-1:0]    ns_valid, ns_lba4k;
  logic [64*NUM_NS-1:0] ns_base, ns_blocks;
  assign scpl = {scpl_wr, scpl_rd, scpl_dec};
  db_ssd_decode #(.NUM_NS(NUM_NS)) i_decode (
    .clk, .rst(dp_rst), .s_sqe_valid(sqe_valid), .s_sqe_ready(sqe_ready), .s_sqe_fn(sqe_fn), .s_sqe_sqid(sqe_sqid),
    .s_sqe_head(sqe_head), .s_sqe_err(sqe_err), .s_sqe_data(sqe_data), .s_slot_valid(slot_valid),
    .s_slot_ready(slot_ready), .s_slot(SLOT_W'(slot)), .m_ctx_we(ctx_we), .m_ctx_slot(ctx_slot), .m_ctx_data(ctx_data),
    .m_head_valid(head_valid), .m_head_sqid(head_sqid), .m_head(head), .m_fetch_err(fetch_err), .m_fetch_err_sqid(),
    .m_admin_valid(adm_valid), .m_admin_ready(adm_ready), .m_admin_fn(adm_fn), .m_admin_data(adm_data),
    .m_rd_valid(rc_valid), .m_rd_ready(rc_ready), .m_rd_cmd(rc_cmd), .m_wr_valid(wc_valid), .m_wr_ready(wc_ready),
    .m_wr_cmd(wc_cmd), .m_cpl_valid(scpl_valid[0]), .m_cpl_ready(scpl_ready[0]), .m_cpl(scpl_dec),
    .ns_valid, .ns_base, .ns_blocks, .ns_lba4k, .ns_locked);
  // An entry that could not be read has no identifier to answer to: fatal until the next controller reset.
  always_ff @(posedge clk) fetch_err_q <= !dp_rst && (fetch_err_q || fetch_err);

  // ---- what the operators must know: decode shows context and command in the same cycle
  assign op_rst      = dp_rst;
  assign op_rd_valid = ctx_we && rc_valid && ctx_data.opcode == OPC_READ;
  assign op_wr_valid = ctx_we && wc_valid && ctx_data.opcode inside {OPC_WRITE, OPC_COMPARE, OPC_DSM};
  assign op_ctx      = ctx_data;
  assign op_lba4k    = op_rd_valid ? rc_cmd.lba4k : wc_cmd.lba4k;

  // ---- the pipes
  logic              rp_quiet, rp_idle, wp_quiet, wp_idle, rp_media_err, wp_media_err;
  logic              seg_valid, seg_ready, seg_first, seg_last, seg_drop, rs_tvalid, rs_tready, rs_tlast, rs_terr;
  logic [FN_W-1:0]   seg_fn;
  logic [63:0]       seg_addr;
  logic [12:0]       seg_len;
  logic [SEG_U_W-1:0] seg_user, sd_user;
  logic [DATA_W-1:0] rs_tdata;
  logic              sd_valid, sd_ready, sd_err;
  logic [1:0]        ar_valid, ar_ready, r_ready;
  logic [2*MEDIA_ADDR_W-1:0] ar_addr;
  logic [15:0]       ar_len;
  db_ssd_read_engine #(.DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W)) i_rdpipe (
    .clk, .rst(dp_rst), .stop(ctl_stop), .quiet(rp_quiet), .idle(rp_idle),
    .s_cmd_valid(rc_valid), .s_cmd_ready(rc_ready), .s_cmd(rc_cmd),
    .m_req_valid(rd_valid[RD_PRPR]), .m_req_ready(rd_ready[RD_PRPR]), .m_req_fn(rd_fn[8*RD_PRPR +: 8]),
    .m_req_addr(rd_addr[64*RD_PRPR +: 64]), .m_req_len(rd_len[13*RD_PRPR +: 13]), .m_req_first(rd_first[RD_PRPR]),
    .m_req_last(rd_last[RD_PRPR]),
    .s_list_tvalid(st_tvalid[RD_PRPR]), .s_list_tready(st_tready[RD_PRPR]),
    .s_list_tdata(st_tdata[DATA_W*RD_PRPR +: DATA_W]), .s_list_tlast(st_tlast[RD_PRPR]),
    .s_list_tdw(st_tdw[(LANE_W+1)*RD_PRPR +: LANE_W+1]), .s_list_terr(st_terr[RD_PRPR]),
    .m_ar_valid(ar_valid[0]), .m_ar_ready(ar_ready[0]), .m_ar_addr(ar_addr[0 +: MEDIA_ADDR_W]), .m_ar_len(ar_len[7:0]),
    .s_r_valid(m_axi_rvalid && !m_axi_rid), .s_r_ready(r_ready[0]), .s_r_data(m_axi_rdata), .s_r_resp(m_axi_rresp),
    .s_r_last(m_axi_rlast),
    .m_seg_valid(seg_valid), .m_seg_ready(seg_ready), .m_seg_fn(seg_fn), .m_seg_addr(seg_addr), .m_seg_len(seg_len),
    .m_seg_first(seg_first), .m_seg_last(seg_last), .m_seg_drop(seg_drop), .m_seg_user(seg_user),
    .m_axis_tvalid(rs_tvalid), .m_axis_tready(rs_tready), .m_axis_tdata(rs_tdata), .m_axis_tlast(rs_tlast),
    .m_axis_terr(rs_terr), .s_done_valid(sd_valid), .s_done_ready(sd_ready), .s_done_user(sd_user), .s_done_err(sd_err),
    .m_cpl_valid(scpl_valid[1]), .m_cpl_ready(scpl_ready[1]), .m_cpl(scpl_rd), .media_err(rp_media_err));
  assign m_axis_rdop_tvalid = rs_tvalid;
  assign m_axis_rdop_tdata  = rs_tdata;
  assign m_axis_rdop_tlast  = rs_tlast;
  assign m_axis_rdop_terr   = rs_terr;
  assign rs_tready          = m_axis_rdop_tready;
  assign rd_drop[RD_PRPR] = 1'b0;
  assign rd_drop[RD_PRPW] = 1'b0;
  assign rd_user[REQ_U_W*RD_PRPR +: REQ_U_W] = '0;
  assign rd_user[REQ_U_W*RD_PRPW +: REQ_U_W] = '0;
  assign rd_user[REQ_U_W*RD_DATA +: REQ_U_W] = '0;

  logic              wmc_valid, wmc_ready, mc_done_w;
  media_op_e         wmc_op;
  logic [MEDIA_ADDR_W-1:0] wmc_addr;
  logic [63:0]       wmc_bytes;
  db_ssd_write_engine #(.DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W)) i_wrpipe (
    .clk, .rst(dp_rst), .stop(ctl_stop), .no_more_rows(ctl_stop && rd_idle[RD_DATA] && op_idle), .quiet(wp_quiet),
    .idle(wp_idle),
    .s_cmd_valid(wc_valid), .s_cmd_ready(wc_ready), .s_cmd(wc_cmd),
    .m_req_valid(rd_valid[RD_PRPW]), .m_req_ready(rd_ready[RD_PRPW]), .m_req_fn(rd_fn[8*RD_PRPW +: 8]),
    .m_req_addr(rd_addr[64*RD_PRPW +: 64]), .m_req_len(rd_len[13*RD_PRPW +: 13]), .m_req_first(rd_first[RD_PRPW]),
    .m_req_last(rd_last[RD_PRPW]),
    .s_list_tvalid(st_tvalid[RD_PRPW]), .s_list_tready(st_tready[RD_PRPW]),
    .s_list_tdata(st_tdata[DATA_W*RD_PRPW +: DATA_W]), .s_list_tlast(st_tlast[RD_PRPW]),
    .s_list_tdw(st_tdw[(LANE_W+1)*RD_PRPW +: LANE_W+1]), .s_list_terr(st_terr[RD_PRPW]),
    .m_seg_valid(rd_valid[RD_DATA]), .m_seg_ready(rd_ready[RD_DATA]), .m_seg_fn(rd_fn[8*RD_DATA +: 8]),
    .m_seg_addr(rd_addr[64*RD_DATA +: 64]), .m_seg_len(rd_len[13*RD_DATA +: 13]), .m_seg_first(rd_first[RD_DATA]),
    .m_seg_last(rd_last[RD_DATA]), .m_seg_drop(rd_drop[RD_DATA]),
    .s_axis_tvalid(s_axis_wrop_tvalid), .s_axis_tready(s_axis_wrop_tready), .s_axis_tdata(s_axis_wrop_tdata),
    .s_axis_tlast(s_axis_wrop_tlast), .s_axis_tdw(s_axis_wrop_tdw), .s_axis_terr(s_axis_wrop_terr),
    .s_axis_tzero(s_axis_wrop_tzero),
    .m_aw_valid(m_axi_awvalid), .m_aw_ready(m_axi_awready), .m_aw_addr(m_axi_awaddr), .m_aw_len(m_axi_awlen),
    .m_w_valid(m_axi_wvalid), .m_w_ready(m_axi_wready), .m_w_data(m_axi_wdata), .m_w_strb(m_axi_wstrb),
    .m_w_last(m_axi_wlast), .s_b_valid(m_axi_bvalid), .s_b_ready(m_axi_bready), .s_b_resp(m_axi_bresp),
    .m_ar_valid(ar_valid[1]), .m_ar_ready(ar_ready[1]), .m_ar_addr(ar_addr[MEDIA_ADDR_W +: MEDIA_ADDR_W]),
    .m_ar_len(ar_len[15:8]), .s_r_valid(m_axi_rvalid && m_axi_rid), .s_r_ready(r_ready[1]), .s_r_data(m_axi_rdata),
    .s_r_resp(m_axi_rresp), .s_r_last(m_axi_rlast),
    .m_media_valid(wmc_valid), .m_media_ready(wmc_ready), .m_media_op(wmc_op), .m_media_addr(wmc_addr),
    .m_media_bytes(wmc_bytes), .s_media_done(mc_done_w), .s_media_err(s_media_rsp_err),
    .m_cpl_valid(scpl_valid[2]), .m_cpl_ready(scpl_ready[2]), .m_cpl(scpl_wr), .media_err(wp_media_err));

  assign m_axis_wrop_tvalid = st_tvalid[RD_DATA];
  assign m_axis_wrop_tdata  = st_tdata[DATA_W*RD_DATA +: DATA_W];
  assign m_axis_wrop_tlast  = st_tlast[RD_DATA];
  assign m_axis_wrop_tdw    = st_tdw[(LANE_W+1)*RD_DATA +: LANE_W+1];
  assign m_axis_wrop_terr   = st_terr[RD_DATA];
  assign st_tready[RD_DATA] = m_axis_wrop_tready;

  // ---- media: read addresses of both pipes, commands of write pipe and firmware
  logic       ar_any, ar_free, ar_idx;
  logic [1:0] ar_gnt;
  assign ar_free  = !m_axi_arvalid || m_axi_arready;
  assign ar_ready = ar_free ? ar_gnt : 2'b00;
  db_arb_rr #(.N(2)) i_ar_arb (.clk, .rst(dp_rst), .req(ar_valid), .ack(ar_any && ar_free), .gnt_valid(ar_any),
                               .gnt(ar_gnt), .gnt_idx(ar_idx));
  always_ff @(posedge clk) begin
    if (ar_free) begin
      m_axi_arvalid <= ar_any;
      m_axi_arid    <= ar_idx;
      m_axi_araddr  <= ar_idx ? ar_addr[MEDIA_ADDR_W +: MEDIA_ADDR_W] : ar_addr[0 +: MEDIA_ADDR_W];
      m_axi_arlen   <= ar_idx ? ar_len[15:8] : ar_len[7:0];
    end
    if (rst) m_axi_arvalid <= 1'b0;
  end
  assign m_axi_rready  = m_axi_rid ? r_ready[1] : r_ready[0];
  assign m_axi_awid    = 1'b0;
  assign m_axi_awsize  = 3'(ROW_LG);
  assign m_axi_arsize  = 3'(ROW_LG);
  assign m_axi_awburst = 2'b01;
  assign m_axi_arburst = 2'b01;

  logic        fmc_valid, fmc_ready, mc_done_f, mc_busy_q, mc_sent_q, mc_fw_q;
  media_op_e   fmc_op;
  logic [63:0] fmc_addr, fmc_bytes;
  // One at a time; the choice is made when nothing is under way and stays until the answer.
  always_ff @(posedge clk) begin
    if (!mc_busy_q) begin
      mc_busy_q <= wmc_valid || fmc_valid;
      mc_fw_q   <= !wmc_valid;
      mc_sent_q <= 1'b0;
    end else begin
      if (m_media_cmd_valid && m_media_cmd_ready) mc_sent_q <= 1'b1;
      if (s_media_rsp_valid) mc_busy_q <= 1'b0;
    end
    if (rst) mc_busy_q <= 1'b0;
  end
  assign m_media_cmd_valid = mc_busy_q && !mc_sent_q;
  assign m_media_cmd_op    = mc_fw_q ? fmc_op : wmc_op;
  assign m_media_cmd_addr  = mc_fw_q ? fmc_addr[MEDIA_ADDR_W-1:0] : wmc_addr;
  assign m_media_cmd_bytes = mc_fw_q ? fmc_bytes : wmc_bytes;
  assign wmc_ready = m_media_cmd_valid && m_media_cmd_ready && !mc_fw_q;
  assign fmc_ready = m_media_cmd_valid && m_media_cmd_ready && mc_fw_q;
  assign mc_done_w = s_media_rsp_valid && mc_busy_q && !mc_fw_q;
  assign mc_done_f = s_media_rsp_valid && mc_busy_q && mc_fw_q;

  // ---- completions
  logic              acpl_valid, acpl_ready, cpl_valid, cpl_ready, cpl_io, err_valid, err_ready, cpl_idle;
  completion_t              acpl, cpl;
  logic [SLOT_W-1:0] cpl_slot;
  logic [7:0]        err_sqid;
  logic [15:0]       err_cid;
  logic [14:0]       err_status;
  logic [31:0]       err_nsid;
  logic [63:0]       err_lba, cnt_rd_sectors, cnt_wr_sectors, cnt_rd_cmds, cnt_wr_cmds, cnt_media_err_q;
  db_ssd_completion_collect #(.NUM_CMDS(NUM_CMDS)) i_cplmux (
    .clk, .rst(dp_rst), .rst_counters(rst), .s_ctx_we(ctx_we), .s_ctx_slot(ctx_slot), .s_ctx(ctx_data),
    .s_slot_valid(scpl_valid), .s_slot_ready(scpl_ready), .s_slot(scpl), .s_admin_valid(acpl_valid),
    .s_admin_ready(acpl_ready), .s_admin(acpl), .m_cpl_valid(cpl_valid), .m_cpl_ready(cpl_ready), .m_cpl(cpl),
    .m_cpl_io(cpl_io), .m_cpl_slot(cpl_slot), .m_err_valid(err_valid), .m_err_ready(err_ready), .m_err_sqid(err_sqid),
    .m_err_cid(err_cid), .m_err_status(err_status), .m_err_nsid(err_nsid), .m_err_lba(err_lba), .cnt_rd_sectors,
    .cnt_wr_sectors, .cnt_rd_cmds, .cnt_wr_cmds);
  always_ff @(posedge clk) begin
    cnt_media_err_q <= cnt_media_err_q + 64'(rp_media_err) + 64'(wp_media_err);
    if (rst) cnt_media_err_q <= '0;
  end

  logic            cqe_valid, cqe_ready;
  logic [FN_W-1:0] cqe_fn;
  logic [63:0]     cqe_addr;
  cqe_t            cqe;
  db_ssd_cq #(.NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS)) i_cpl (
    .clk, .rst(dp_rst), .s_cpl_valid(cpl_valid), .s_cpl_ready(cpl_ready), .s_cpl(cpl), .s_cpl_io(cpl_io),
    .s_cpl_slot(cpl_slot), .s_db_valid(db_valid[1]), .s_db_ready(db_ready[1]), .s_db_fn(db_fn), .s_db_qid(db_qid),
    .s_db_value(db_value), .run(ctl_run), .s_qc_valid(qc_valid && qc.kind == QUEUE_CQ), .s_qc_ready(cq_qc_ready),
    .s_qc(qc),
    .lk_sqid, .lk_cqid, .lk_head, .m_post_valid(cqe_valid), .m_post_ready(cqe_ready), .m_post_fn(cqe_fn),
    .m_post_addr(cqe_addr), .m_post_cqe(cqe), .m_irq_valid(cpl_irq_valid), .m_irq_ready(cpl_irq_ready),
    .m_irq_fn(cpl_irq_fn), .m_irq_vector(cpl_irq_vector), .m_irq_admin(cpl_irq_admin), .m_done_valid(done_valid),
    .m_done_io(done_io), .m_done_slot(done_slot), .m_done_sqid(done_sqid), .any_entries,
    .m_dberr_valid(dberr_valid[1]), .m_dberr_kind(dberr_kind[1]), .m_dberr_qid(dberr_qid[QID_W +: QID_W]),
    .idle(cpl_idle));

  // ---- admin
  logic             fwp_valid, fwp_ready, cpu_idle, dp_quiet, dma_quiet;
  logic [FN_W-1:0]  fwp_fn;
  logic [63:0]      fwp_addr, fw_wake_us;
  logic [2:0]       fwp_len_dw;
  logic [127:0]     fwp_data;
  db_ssd_admin #(.DATA_W(DATA_W), .FW_HEX(FW_HEX), .NUM_QP(NUM_QP), .NUM_VEC(NUM_VEC), .NUM_NS(NUM_NS),
                 .RAM_BYTES(RAM_BYTES)) i_admin (
    .clk, .rst, .cc, .aqa, .asq, .acq, .ev_cc, .ev_nssr, .ev_flr(cfg_flr), .csts_rdy, .csts_cfs, .csts_shst,
    .csts_nssro,
    .flr_done(cfg_flr_done), .s_sqe_valid(adm_valid), .s_sqe_ready(adm_ready), .s_sqe_fn(adm_fn), .s_sqe_data(adm_data),
    .m_cpl_valid(acpl_valid), .m_cpl_ready(acpl_ready), .m_cpl(acpl),
    .m_post_valid(fwp_valid), .m_post_ready(fwp_ready), .m_post_fn(fwp_fn), .m_post_addr(fwp_addr),
    .m_post_len_dw(fwp_len_dw), .m_post_data(fwp_data),
    .m_rd_valid(rd_valid[RD_FW]), .m_rd_ready(rd_ready[RD_FW]), .m_rd_fn(rd_fn[8*RD_FW +: 8]),
    .m_rd_addr(rd_addr[64*RD_FW +: 64]), .s_rd_tvalid(st_tvalid[RD_FW]), .s_rd_tready(st_tready[RD_FW]),
    .s_rd_tdata(st_tdata[DATA_W*RD_FW +: DATA_W]), .s_rd_tlast(st_tlast[RD_FW]), .s_rd_terr(st_terr[RD_FW]),
    .m_qc_valid(qc_valid), .m_qc_ready(qc_ready), .m_qc(qc), .q_sel, .q_inflight, .arb_burst, .arb_lpw, .arb_mpw,
    .arb_hpw, .arb_wrr, .ic_thr, .ic_time, .icv_we, .icv_vector, .icv_cd, .ns_valid, .ns_base, .ns_blocks, .ns_lba4k,
    .media_pages, .ctl_run, .ctl_stop, .ctl_dp_rst, .ctl_fn_rst, .dp_quiet, .cmds_inflight,
    .m_mc_valid(fmc_valid), .m_mc_ready(fmc_ready), .m_mc_op(fmc_op), .m_mc_addr(fmc_addr), .m_mc_bytes(fmc_bytes),
    .s_mc_done(mc_done_f), .s_mc_err(s_media_rsp_err),
    .s_err_valid(err_valid), .s_err_ready(err_ready), .s_err_sqid(err_sqid), .s_err_cid(err_cid),
    .s_err_status(err_status), .s_err_nsid(err_nsid), .s_err_lba(err_lba),
    .s_dberr_valid(dberr_valid != 2'b00), .s_dberr_kind(dberr_valid[0] ? dberr_kind[0] : dberr_kind[1]),
    .s_dberr_qid(dberr_valid[0] ? dberr_qid[0 +: QID_W] : dberr_qid[QID_W +: QID_W]),
    .cnt_rd_sectors, .cnt_wr_sectors, .cnt_rd_cmds, .cnt_wr_cmds, .cnt_media_err(cnt_media_err_q), .time_us,
    .cpu_idle, .wake_us(fw_wake_us), .ext_req, .ext_wr, .ext_addr, .ext_wdata, .ext_rdata);
  assign rd_len[13*RD_FW +: 13] = 13'd64;
  assign {rd_first[RD_FW], rd_last[RD_FW], rd_drop[RD_FW]} = 3'b110;
  assign rd_user[REQ_U_W*RD_FW +: REQ_U_W] = '0;

  // ---- to the host
  logic            post_valid, post_ready, dma_idle;
  logic [FN_W-1:0] post_fn;
  logic [63:0]     post_addr;
  logic [2:0]      post_len_dw;
  logic [127:0]    post_data;
  db_ssd_post_arb i_postmux (
    .clk, .rst(dp_rst), .s_cqe_valid(cqe_valid), .s_cqe_ready(cqe_ready), .s_cqe_fn(cqe_fn), .s_cqe_addr(cqe_addr),
    .s_cqe(cqe), .drop_msix(ctl_stop), .s_msix_valid(msix_valid), .s_msix_ready(msix_ready), .s_msix_fn(msix_fn),
    .s_msix_addr(msix_addr), .s_msix_data(msix_data), .s_fw_valid(fwp_valid), .s_fw_ready(fwp_ready), .s_fw_fn(fwp_fn),
    .s_fw_addr(fwp_addr), .s_fw_len_dw(fwp_len_dw), .s_fw_data(fwp_data), .m_post_valid(post_valid),
    .m_post_ready(post_ready), .m_post_fn(post_fn), .m_post_addr(post_addr), .m_post_len_dw(post_len_dw),
    .m_post_data(post_data));

  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_RC_T(DATA_W) rc_t;
  cq_t cq;
  cc_t cc_beat;
  rq_t rq;
  rc_t rc;
  assign cq = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep, tdata: s_axis_cq_tdata};
  assign rc = '{tuser: s_axis_rc_tuser, tlast: s_axis_rc_tlast, tkeep: s_axis_rc_tkeep, tdata: s_axis_rc_tdata};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = cc_beat;
  assign {m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata} = rq;

  reg_access_t            bar_reg;
  segment_t  [RD_NUM-1:0] read;
  row_info_t [RD_NUM-1:0] row_info;
  segment_t               segment;
  post_t                  post;
  assign {bar_wr, bar_fn, bar_addr, bar_be, bar_wdata} = bar_reg;
  assign segment = '{fn: seg_fn, addr: seg_addr, len: seg_len, first: seg_first, last: seg_last, drop: seg_drop};
  assign post    = '{fn: post_fn, addr: post_addr, dwords: post_len_dw, data: post_data};
  for (genvar i = 0; i < RD_NUM; i++) begin : g_read
    assign read[i] = '{fn: rd_fn[8*i +: 8], addr: rd_addr[64*i +: 64], len: rd_len[13*i +: 13], first: rd_first[i],
                       last: rd_last[i], drop: rd_drop[i]};
    assign st_tlast[i]                          = row_info[i].last;
    assign st_terr[i]                           = row_info[i].err;
    assign st_tdw[(LANE_W+1)*i +: LANE_W+1]     = row_info[i].dw[LANE_W:0];
  end

  db_pcie_endpoint #(
    .DATA_W(DATA_W), .NUM_CLIENTS(RD_NUM), .READ_USER_W(REQ_U_W), .WRITE_USER_W(SEG_U_W), .CLIENTS({
      client_cfg_t'{tags_log2: 16'd1, ring_dw_log2: 16'd6,  chunk_bytes: 16'd128},     // RD_FW
      client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd9,  chunk_bytes: 16'd256},     // RD_PRPW
      client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd9,  chunk_bytes: 16'd256},     // RD_PRPR
      client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd10, chunk_bytes: 16'd512},     // RD_SQE
      client_cfg_t'{tags_log2: 16'd6, ring_dw_log2: 16'd13, chunk_bytes: 16'd512}})    // RD_DATA
  ) i_pcie (
    .clk, .rst, .ctrl_rst(dp_rst), .cfg_mps({1'b0, cfg_max_payload}), .cfg_mrrs(cfg_max_read_req), .stop(ctl_stop),
    .hold(!cfg_bus_master), .quiet(dma_quiet), .idle(dma_idle), .read_idle(rd_idle),
    .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .s_cq(cq),
    .m_cc_valid(m_axis_cc_tvalid), .m_cc_ready(m_axis_cc_tready), .m_cc(cc_beat),
    .m_rq_valid(m_axis_rq_tvalid), .m_rq_ready(m_axis_rq_tready), .m_rq(rq),
    .s_rc_valid(s_axis_rc_tvalid), .s_rc_ready(s_axis_rc_tready), .s_rc(rc),
    .m_reg_valid(bar_valid), .m_reg_ready(bar_ready), .m_reg(bar_reg), .m_reg_rvalid(bar_rvalid),
    .m_reg_rdata(bar_rdata),
    .s_read_valid(rd_valid), .s_read_ready(rd_ready), .s_read(read), .s_read_user(rd_user),
    .m_row_valid(st_tvalid), .m_row_ready(st_tready), .m_row_data(st_tdata), .m_row_info(row_info),
    .m_row_user(st_tuser),
    .s_seg_valid(seg_valid), .s_seg_ready(seg_ready), .s_seg(segment), .s_seg_user(seg_user),
    .s_row_valid(s_axis_rdop_tvalid), .s_row_ready(s_axis_rdop_tready), .s_row_data(s_axis_rdop_tdata),
    .s_row_info('{last: s_axis_rdop_tlast, dw: 5'(N), err: s_axis_rdop_terr}),
    .m_done_valid(sd_valid), .m_done_ready(sd_ready), .m_done_user(sd_user), .m_done_err(sd_err),
    .s_post_valid(post_valid), .s_post_ready(post_ready), .s_post(post));

  // ---- quiet: nothing is outstanding at host or media. idle: nothing moves either, for some cycles
  logic       busy, busy_q;  // busy_q: a cycle ago, as busy comes from everywhere
  logic [4:0] calm_q;
  localparam logic [4:0] CALM = 5'd30;
  always_ff @(posedge clk) begin
    dp_quiet <= dma_quiet && rp_quiet && wp_quiet && !m_axi_arvalid;
    busy_q   <= busy;
    calm_q   <= busy_q ? '0 : (calm_q == CALM ? calm_q : calm_q + 1'b1);
    if (rst) begin
      dp_quiet <= 1'b0;
      busy_q   <= 1'b1;
      calm_q   <= '0;
    end
  end
  assign busy = s_axis_cq_tvalid || bar_valid || m_axis_cc_tvalid || !sq_idle || !cpl_idle || !ic_idle || !rp_idle ||
                !wp_idle || !dma_idle || !cpu_idle || sqe_valid || rc_valid || wc_valid || adm_valid ||
                scpl_valid != '0 || acpl_valid || cpl_valid || err_valid || msix_valid ||
                fwp_valid || qc_valid || mc_busy_q || dp_rst || fn_rst || ctl_dp_rst || s_axis_rc_tvalid || !op_idle;
  assign idle    = calm_q == CALM && !busy_q && !s_axis_cq_tvalid && cpu_idle;
  assign wake_us = (ic_wake_us < fw_wake_us) ? ic_wake_us : fw_wake_us;

  // ---- statistics
  assign stat_doorbell_valid = db_valid[0] && db_ready[0];
  assign stat_doorbell_qid   = db_qid[QID_W-1:0];
  assign stat_doorbell_tail  = db_value;
  assign stat_fetch_valid    = sqr_valid && sqr_ready;
  assign stat_fetch_qid      = sqr_user[32 +: QID_W];
  assign stat_fetch_index    = sqr_user[31:16];
  assign stat_fetch_count    = sqr_len[12:6];
  assign stat_decode_valid   = ctx_we;
  assign stat_decode_slot    = ctx_slot;
  assign stat_decode_sqid    = ctx_data.sqid;
  assign stat_decode_cid     = ctx_data.cid;
  assign stat_data_valid     = cpl_valid && cpl_ready && cpl_io;
  assign stat_data_slot      = cpl_slot;
  assign stat_cqe_valid      = done_valid && done_io;
  assign stat_cqe_slot       = done_slot;
  assign stat_irq_valid      = irq_valid && irq_ready;
  assign stat_irq_vector     = irq_vector;
  db_ssd_stats #(.NUM(6)) i_stats (
    .clk, .rst,
    .wait_({m_axi_wvalid && !m_axi_wready,                    // 5 write pipe waits for the media's W
            !wp_idle && !st_tvalid[RD_DATA],                  // 4 write pipe waits for the host's data
            seg_valid && seg_ready == 1'b0,                   // 3 segments wait for the data writer
            rs_tvalid && !rs_tready,                          // 2 media data waits for the data writer
            !rp_idle && !rs_tvalid,                           // 1 read pipe waits for the media
            m_axis_rq_tvalid && !m_axis_rq_tready}),          // 0 everybody waits for the link
    .count(stat_stall));

endmodule
