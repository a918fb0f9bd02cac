// SPDX-License-Identifier: Apache-2.0
// Computational storage controller without its flat ports: db_ssd_core with operators in its data path, one chain a
// direction. db_csd is this with a medium of its own, db_vcsd with SSDs behind it.
//
// Which operator, with which key, is a table by namespace that the firmware writes (fw/state/operators.c); a command
// takes its entry along when it is decoded. Commands of different namespaces, operators and keys follow each other
// without a gap. A namespace whose key is not there is locked: Read, Write and Compare end with Access Denied before
// anything moves. Controller reset erases all keys and keeps the table, so nothing is ever written plain in between.
// With NEAR the data of near-storage commands, decrypted, go to operators that make results of them (db_csd_near).
// Latency: that of db_ssd + db_csd_path's, with NEAR 2 cycles more to the host. Throughput: db_ssd's; SHA-256 its own
// (db_csd_sha256).
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_csd_core
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_stat_pkg::*,
         db_pcie_fn_pkg::*;
#(
  parameter int DATA_W       = 256,        ///< bits: 128, 256, 512
  parameter int NUM_FN       = 1,          ///< functions, 1..17: the PF and its VFs
  parameter int NUM_QP       = 32,         ///< I/O queue pairs of all functions, 1..255 - NUM_FN
  parameter int NUM_CMDS     = 128,        ///< I/O commands inside: power of two, 2..256
  parameter int QUEUE_MIN    = 1,  ///< command slots that a submission queue has for itself, 1..64
  /// command slots that a submission queue has at most, QUEUE_MIN..NUM_CMDS
  parameter int QUEUE_MAX    = NUM_CMDS > 64 ? 64 : NUM_CMDS,
  parameter int NUM_NS       = 1,          ///< namespaces, 1..64
  parameter int NUM_VEC      = NUM_FN == 1 ? NUM_QP + 1 : 33,  ///< MSI-X vectors of the PF, 1..256
  parameter int VF_VEC       = 8,          ///< of each VF: a power of two, 1..32
  parameter int MEDIA_ADDR_W = 40,         ///< bits of a media address, 20..64
  parameter bit UNCORRECTABLE = 1'b0,      ///< has Write Uncorrectable: the media knows op 2 of its command port
  parameter bit SGL          = 1'b0,       ///< takes SGLs
  parameter int CMB_LOG2     = 0,          ///< Controller Memory Buffer a function: log2 of bytes, 12..30; 0: none
  /// keys, 2..64; slot 0 is that of the features C0h to CDh, a VF has KEY_SLOTS / NUM_FN
  parameter int KEY_SLOTS    = NUM_FN > 16 ? 32 : 16,
  parameter bit CRC32C       = 1'b1,       ///< has the reducer CRC-32C
  parameter int SHA_CORES    = 4,          ///< SHA-256 cores a direction, 0..16
  /// the processor's memory, bytes: multiple of 4096, 32768..1048576
  parameter int RAM_BYTES    = NUM_FN == 1 ? 69632 : NUM_CMDS > 128 ? 102400 : 98304,
  parameter     FW_HEX       = "fw.hex",   ///< its firmware, $readmemh image
  parameter bit PEERS        = 1'b0,       ///< RQ is shared with db_pcie_peers
  parameter int BURST_BYTES  = 1024,       ///< of a burst of the media: power of two, 512..4096
  parameter int READ_BUF_BYTES = 16384,    ///< data of Reads that the media owes at a time: power of two, 8192..1048576
  parameter bit AHEAD        = 1'b0,       ///< the media is far away: it is told of reads ahead (db_ssd_ahead)
  parameter bit NEAR         = 1'b0,       ///< has near-storage commands
  parameter bit SLM          = 1'b0,       ///< ... and namespaces of memory and programs (docs/csd/programs.md)
  parameter int NEAR_CELLS   = 8,          ///< ... pieces of strings of a Grep, 1..32
  /// ... the operator of each slot, a hexadecimal digit each from the right: 1 Grep, 2 Aggregate, 3 Filter, 6 Csv, f one
  /// that is exchanged, which takes CMB_LOG2; 1 to 7 slots
  parameter logic [27:0] NEAR_SLOTS = 28'h6321,
  parameter logic [15:0] NEAR_SHELL = 16'd0,  ///< ... of this design, that bitstreams are for
  parameter int NEAR_HASHES  = 8,          ///< ... cores of SHA-256 of a Hash, 1..16
  parameter int HASH_BYTES   = 16384,      ///< ... buffer of each: a power of two, at least 16 rows
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
  /// the firmware's bus, for what is behind this: with PEERS it has addresses 100h to 1ffh
  output ext_bus_t    m_ext,
  input  logic [31:0] s_ext_rdata,
  /// bitstreams of operators, to the configuration port (ICAP)
  output logic        m_icap_valid,
  input  logic        m_icap_ready,
  output logic [31:0] m_icap_data
);
  if (SLM && !(NEAR && SGL && CMB_LOG2 > 0)) begin : g_bad_slm
    $error("%m: SLM takes NEAR, SGL and CMB_LOG2");
  end

  // ---- the controller; rows on their way: [0] media to host, [1] host to media
  logic      [1:0]                 in_valid, in_ready, out_valid, out_ready;
  logic      [1:0][DATA_W-1:0]     in_data, out_data;
  row_info_t [1:0]                 in_info, out_info;
  logic      [1:0][DATA_W/128-1:0] out_zero;
  logic                            tap_rst, tap_idle, tap_works, compute_idle, near_busy;
  tap_cmd_t                        tap_cmd;
  logic                            tap_begin, tap_end_valid;
  logic      [SLOT_W-1:0]          tap_begin_slot;
  slot_completion_t                tap_end;
  logic      [NUM_NS-1:0]          ns_locked;
  logic      [31:0]                ext_rdata, compute_rdata, near_rdata;
  logic                            packet_valid, near_valid;
  near_packet_t                    packet;
  near_result_t                    result;
  logic      [1:0]                 row_valid, row_ready;  // behind db_csd_compute
  logic      [1:0][DATA_W-1:0]     row_data;
  row_info_t [1:0]                 row_info;
  cmb_read_req_t [1:0]             cmb_read_req;  // of card memory: the controller's, bitstreams
  axi_read_rsp_t [1:0]             cmb_read_rsp;
  db_ssd_core #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .QUEUE_MIN(QUEUE_MIN),
    .QUEUE_MAX(QUEUE_MAX),
    .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC),
    .MEDIA_ADDR_W(MEDIA_ADDR_W), .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .CMB_LOG2(CMB_LOG2), .RAM_BYTES(RAM_BYTES),
    .FW_HEX(FW_HEX), .PEERS(PEERS), .BURST_BYTES(BURST_BYTES), .READ_BUF_BYTES(READ_BUF_BYTES),
    .AHEAD(AHEAD), .NEAR(NEAR), .SLM(SLM)
  ) i_core (
    .*, .m_cmb_read_req(cmb_read_req[0]), .m_cmb_read_rsp(cmb_read_rsp[0]), .m_tap_cmd(tap_cmd),
    .m_tap_begin(tap_begin), .m_tap_begin_slot(tap_begin_slot),
    .m_tap_end_valid(tap_end_valid), .m_tap_end(tap_end), .m_packet_valid(packet_valid), .m_packet(packet),
    .s_near_valid(near_valid), .s_near(result),
    .s_ext_rdata(ext_rdata),
    .m_tap_read_valid(in_valid[0]), .m_tap_read_ready(in_ready[0]), .m_tap_read_data(in_data[0]),
    .m_tap_read_info(in_info[0]), .s_tap_read_valid(out_valid[0]), .s_tap_read_ready(out_ready[0]),
    .s_tap_read_data(out_data[0]), .s_tap_read_info(out_info[0]),
    .m_tap_write_valid(in_valid[1]), .m_tap_write_ready(in_ready[1]), .m_tap_write_data(in_data[1]),
    .m_tap_write_info(in_info[1]), .s_tap_write_valid(out_valid[1]), .s_tap_write_ready(out_ready[1]),
    .s_tap_write_data(out_data[1]), .s_tap_write_info(out_info[1]), .s_tap_write_zero(out_zero[1]));

  // ---- all that computes
  db_csd_compute #(
    .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C),
    .SHA_CORES(SHA_CORES), .NUM_FN(NUM_FN), .NEAR(NEAR)
  ) i_compute (
    .clk, .rst, .ctrl_rst(tap_rst), .idle(compute_idle), .ns_locked, .s_ext(m_ext), .m_ext_rdata(compute_rdata),
    .s_tap_cmd(tap_cmd), .s_tap_begin(tap_begin), .s_tap_begin_slot(tap_begin_slot), .s_tap_end_valid(tap_end_valid),
    .s_tap_end(tap_end), .s_row_valid(in_valid), .s_row_ready(in_ready), .s_row_data(in_data), .s_row_info(in_info),
    .m_row_valid(row_valid), .m_row_ready(row_ready), .m_row_data(row_data), .m_row_info(row_info),
    .m_row_zero(out_zero));

  // ---- results of the media's data in place of them
  assign tap_idle  = compute_idle && !near_busy;
  // Who is not asked may say anything.
  assign ext_rdata = m_ext.addr[10] ? near_rdata : PEERS && m_ext.addr[9:8] != '0 ? s_ext_rdata : compute_rdata;
  assign {out_valid[1], row_ready[1], out_data[1], out_info[1]} =
         {row_valid[1], out_ready[1], row_data[1], row_info[1]};
  if (NEAR) begin : g_near
    db_csd_near #(.DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .CELLS(NEAR_CELLS),
      .SLOTS(NEAR_SLOTS), .SHELL(NEAR_SHELL), .CMB_LOG2(CMB_LOG2), .HASHES(NEAR_HASHES),
      .HASH_BYTES(HASH_BYTES)) i_near (
      .clk, .rst(tap_rst), .power_rst(rst), .busy(near_busy), .exchanging(tap_works), .s_ext(m_ext),
      .m_ext_rdata(near_rdata),
      .s_packet_valid(packet_valid), .s_packet(packet),
      .s_row_valid(row_valid[0]), .s_row_ready(row_ready[0]), .s_row_data(row_data[0]), .s_row_info(row_info[0]),
      .m_row_valid(out_valid[0]), .m_row_ready(out_ready[0]), .m_row_data(out_data[0]), .m_row_info(out_info[0]),
      .m_result_valid(near_valid), .m_result(result),
      .m_axi_read_req(cmb_read_req[1]), .m_axi_read_rsp(cmb_read_rsp[1]), .m_icap_valid, .m_icap_ready, .m_icap_data);
  end else begin : g_no_near
    assign {out_valid[0], row_ready[0], out_data[0], out_info[0]} =
           {row_valid[0], out_ready[0], row_data[0], row_info[0]};
    assign {near_rdata, near_valid, result, near_busy, tap_works, cmb_read_req[1], m_icap_valid, m_icap_data} = '0;
  end

  if (NEAR && CMB_LOG2 > 0) begin : g_join
    db_axi_read_join #(.N(2), .ADDR_W(cmb_addr_w(CMB_LOG2, NUM_FN)), .DATA_W(DATA_W)) i_join (
      .clk, .rst, .s_axi_read_req(cmb_read_req), .s_axi_read_rsp(cmb_read_rsp), .m_axi_read_req(m_cmb_read_req),
      .m_axi_read_rsp(m_cmb_read_rsp));
  end else begin : g_alone
    assign m_cmb_read_req  = cmb_read_req[0];
    assign cmb_read_rsp[0] = m_cmb_read_rsp;
    assign cmb_read_rsp[1] = '0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, out_zero[0], packet_valid, packet, cmb_read_req, cmb_read_rsp, m_icap_ready};
endmodule
