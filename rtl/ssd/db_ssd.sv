// SPDX-License-Identifier: Apache-2.0
// NVMe SSD controller: every step of an I/O command in hardware, admin commands in firmware on a small processor.
//
//   PCIe: the four streams of the UltraScale+ integrated block (PG213), dword aligned, client tags; RQ and RC
//   straddled at 512 bits.
//   Media: AXI4 (id 0: Read and Verify, id 1: Compare), and a command port for what AXI has no word for: flush,
//   zero a stretch (Write Zeroes, deallocate, Format), and as an option make one unreadable (Write Uncorrectable). A
//   memory that keeps nothing back may answer flush at once.
//
// All of it is in db_ssd_core; here are its ports, flat, and its two taps for operators are wired straight (db_csd has
// operators there). How a command travels: docs/ssd/theory.md. Latency and throughput: docs/ssd/performance.md.
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_ssd
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*, db_ssd_stat_pkg::*, db_pcie_fn_pkg::*;
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
  /// data of Reads that the media owes at a time, bytes: power of two, 8192..1048576
  parameter int READ_BUF_BYTES = 16384,
  /// the processor's memory, bytes: multiple of 4096, 32768..1048576
  parameter int RAM_BYTES    = NUM_FN == 1 ? 65536 : NUM_CMDS > 128 ? 94208 : 90112,
  parameter     FW_HEX       = "fw.hex"    ///< its firmware, $readmemh image
) (
`include "db_ssd_ports.svh"
  ,
`include "db_ssd_stat_ports.svh"
);
`include "db_ssd_connect.svh"

  // ---- the taps, wired straight
  logic              tap_read_valid, tap_read_ready, tap_write_valid, tap_write_ready;
  logic [DATA_W-1:0] tap_read_data, tap_write_data;
  row_info_t         tap_read_info, tap_write_info;
  db_ssd_core #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .QUEUE_MIN(QUEUE_MIN),
    .QUEUE_MAX(QUEUE_MAX),
    .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC),
    .MEDIA_ADDR_W(MEDIA_ADDR_W), .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .CMB_LOG2(CMB_LOG2),
    .READ_BUF_BYTES(READ_BUF_BYTES), .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX)
  ) i_core (
    .*, .tap_rst(), .m_tap_cmd(), .m_tap_begin(), .m_tap_begin_slot(), .m_tap_end_valid(), .m_tap_end(),
    .m_packet_valid(), .m_packet(), .s_near_valid(1'b0), .s_near('0), .tap_idle(1'b1), .tap_works(1'b0), .ns_locked('0),
    .m_tap_read_valid(tap_read_valid), .m_tap_read_ready(tap_read_ready), .m_tap_read_data(tap_read_data),
    .m_tap_read_info(tap_read_info), .s_tap_read_valid(tap_read_valid), .s_tap_read_ready(tap_read_ready),
    .s_tap_read_data(tap_read_data), .s_tap_read_info(tap_read_info),
    .m_tap_write_valid(tap_write_valid), .m_tap_write_ready(tap_write_ready), .m_tap_write_data(tap_write_data),
    .m_tap_write_info(tap_write_info), .s_tap_write_valid(tap_write_valid), .s_tap_write_ready(tap_write_ready),
    .s_tap_write_data(tap_write_data), .s_tap_write_info(tap_write_info), .s_tap_write_zero('0),
    .s_peer_valid(1'b0), .s_peer_ready(), .s_peer('0), .m_ahead_valid(), .m_ahead_ready(1'b0),
    .m_ahead(), .m_ahead_rst(), .s_come_valid(1'b0), .s_come_slot('0), .s_ask_slot('0), .m_aborted(),
    .s_ended_valid(1'b0),
    .s_ended_slot('0), .s_ended_err(1'b0), .m_ext(), .s_ext_rdata(32'd0));

endmodule
