// SPDX-License-Identifier: Apache-2.0
// NVMe SSD controller: every step of an I/O command in hardware, admin commands in firmware on a small processor.
//
//   PCIe: the four streams of the UltraScale+ integrated block (PG213), dword aligned, client tags; RQ and RC
//   straddled at 512 bits.
//   Media: AXI4 (id 0: Read and Verify, id 1: Compare), and a command port for what AXI has no word for: flush, and
//   zero a stretch (Write Zeroes, deallocate, Format). A memory that keeps nothing back may answer flush at once.
//
// All of it is in db_ssd_core; here its two taps for operators are wired straight (db_csd has operators there).
// How a command travels: docs/theory.md. What blocks say to each other: docs/internal.md.
// Latency and throughput: docs/performance.md.
module db_ssd
  import db_nvme_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*;
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
  output logic [6*32-1:0]              stat_stall         // see db_ssd_stats
);

  localparam int TDW_W = $clog2(DATA_W / 32) + 1;
  logic              rdop_tvalid, rdop_tready, rdop_tlast, rdop_terr, wrop_tvalid, wrop_tready, wrop_tlast, wrop_terr;
  logic [DATA_W-1:0] rdop_tdata, wrop_tdata;
  logic [TDW_W-1:0]  wrop_tdw;
  db_ssd_core #(
    .DATA_W(DATA_W), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC),
    .MEDIA_ADDR_W(MEDIA_ADDR_W), .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX)
  ) i_core (
    .*, .op_rst(), .op_rd_valid(), .op_wr_valid(), .op_ctx(), .op_lba4k(), .op_idle(1'b1), .ns_locked('0),
    .m_axis_rdop_tvalid(rdop_tvalid), .m_axis_rdop_tready(rdop_tready), .m_axis_rdop_tdata(rdop_tdata),
    .m_axis_rdop_tlast(rdop_tlast), .m_axis_rdop_terr(rdop_terr),
    .s_axis_rdop_tvalid(rdop_tvalid), .s_axis_rdop_tready(rdop_tready), .s_axis_rdop_tdata(rdop_tdata),
    .s_axis_rdop_tlast(rdop_tlast), .s_axis_rdop_terr(rdop_terr),
    .m_axis_wrop_tvalid(wrop_tvalid), .m_axis_wrop_tready(wrop_tready), .m_axis_wrop_tdata(wrop_tdata),
    .m_axis_wrop_tlast(wrop_tlast), .m_axis_wrop_tdw(wrop_tdw), .m_axis_wrop_terr(wrop_terr),
    .s_axis_wrop_tvalid(wrop_tvalid), .s_axis_wrop_tready(wrop_tready), .s_axis_wrop_tdata(wrop_tdata),
    .s_axis_wrop_tlast(wrop_tlast), .s_axis_wrop_tdw(wrop_tdw), .s_axis_wrop_terr(wrop_terr), .s_axis_wrop_tzero('0),
    .ext_req(), .ext_wr(), .ext_addr(), .ext_wdata(), .ext_rdata(32'd0));
endmodule
