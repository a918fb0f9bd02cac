// SPDX-License-Identifier: Apache-2.0
// Computational storage drive: the NVMe SSD controller db_ssd with operators in its data path, one chain a direction.
//
// Which operator, with which key, is a table by namespace that the firmware writes (db_csd_bindings); a command takes its
// entry along when it is decoded. Commands of different namespaces, operators and keys follow each other without a gap.
// A namespace whose key is not there is locked: Read, Write and Compare end with Access Denied before anything moves.
// Controller reset erases all keys and keeps the table, so nothing is ever written plain in between.
// Latency: that of db_ssd + db_csd_path's. Throughput: db_ssd's; SHA-256 its own (db_csd_sha256).
module db_csd
  import db_mem_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W       = 256,        // bits: 128, 256, 512
  parameter int NUM_QP       = 32,         // I/O queue pairs, 1..254
  parameter int NUM_CMDS     = 128,        // I/O commands inside: power of two, 2..256
  parameter int NUM_NS       = 1,          // namespaces, 1..64
  parameter int NUM_VEC      = NUM_QP + 1, // MSI-X vectors, 1..256
  parameter int MEDIA_ADDR_W = 40,         // bits of a media address, 20..64
  parameter int KEY_SLOTS    = 16,         // keys, 2..64; slot 0 is that of the features C0h to CDh
  parameter bit CRC32C       = 1'b1,       // has the reducer CRC-32C
  parameter int SHA_CORES    = 4,          // SHA-256 cores a direction, 0..16
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

  // ---- the controller; rows on their way: [0] media to host, [1] host to media
  logic      [1:0]                   in_valid, in_ready, out_valid, out_ready;
  logic      [1:0][DATA_W-1:0]       in_data, out_data;
  row_info_t [1:0]                   in_info, out_info;
  logic      [1:0][DATA_W/128-1:0]   out_zero;
  logic      [TDW_W-1:0]             in_dw;
  logic                              op_rst, op_rd_valid, op_wr_valid, op_lba4k, op_idle, ext_req, ext_wr;
  slot_ctx_t                         op_ctx;
  logic      [NUM_NS-1:0]            ns_locked;
  logic      [11:0]                  ext_addr;
  logic      [31:0]                  ext_wdata, ext_rdata;
  assign in_info[0].dw = '0;         // the same for all rows: nobody asks
  assign in_info[1].dw = 5'(in_dw);
  db_ssd_core #(
    .DATA_W(DATA_W), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC),
    .MEDIA_ADDR_W(MEDIA_ADDR_W), .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX)
  ) i_core (
    .*,
    .m_axis_rdop_tvalid(in_valid[0]), .m_axis_rdop_tready(in_ready[0]), .m_axis_rdop_tdata(in_data[0]),
    .m_axis_rdop_tlast(in_info[0].last), .m_axis_rdop_terr(in_info[0].err),
    .s_axis_rdop_tvalid(out_valid[0]), .s_axis_rdop_tready(out_ready[0]), .s_axis_rdop_tdata(out_data[0]),
    .s_axis_rdop_tlast(out_info[0].last), .s_axis_rdop_terr(out_info[0].err),
    .m_axis_wrop_tvalid(in_valid[1]), .m_axis_wrop_tready(in_ready[1]), .m_axis_wrop_tdata(in_data[1]),
    .m_axis_wrop_tlast(in_info[1].last), .m_axis_wrop_tdw(in_dw), .m_axis_wrop_terr(in_info[1].err),
    .s_axis_wrop_tvalid(out_valid[1]), .s_axis_wrop_tready(out_ready[1]), .s_axis_wrop_tdata(out_data[1]),
    .s_axis_wrop_tlast(out_info[1].last), .s_axis_wrop_tdw(out_info[1].dw[TDW_W-1:0]), .s_axis_wrop_terr(out_info[1].err),
    .s_axis_wrop_tzero(out_zero[1]));

  // ---- all that computes
  db_csd_compute #(
    .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C), .SHA_CORES(SHA_CORES)
  ) i_compute (
    .clk, .rst, .ctrl_rst(op_rst), .idle(op_idle), .ns_locked, .ext_req, .ext_wr, .ext_addr, .ext_wdata, .ext_rdata,
    .s_cmd_read(op_rd_valid), .s_cmd_write(op_wr_valid), .s_cmd_lba4k(op_lba4k), .s_cmd(op_ctx),
    .s_row_valid(in_valid), .s_row_ready(in_ready), .s_row_data(in_data), .s_row_info(in_info),
    .m_row_valid(out_valid), .m_row_ready(out_ready), .m_row_data(out_data), .m_row_info(out_info),
    .m_row_zero(out_zero));

  logic unused_ok;
  assign unused_ok = &{1'b0, out_info, out_zero[0]};
endmodule
