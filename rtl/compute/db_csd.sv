// SPDX-License-Identifier: Apache-2.0
// Computational storage drive: the NVMe SSD controller db_ssd with operators in its data path, one chain a direction.
//
// All of it is in db_csd_core; here are its ports, flat, those of db_ssd. Latency and throughput: of db_csd_core.
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_csd
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
  /// keys, 2..64; slot 0 is that of the features C0h to CDh, a VF has KEY_SLOTS / NUM_FN
  parameter int KEY_SLOTS    = NUM_FN > 16 ? 32 : 16,
  parameter bit CRC32C       = 1'b1,       ///< has the reducer CRC-32C
  parameter int SHA_CORES    = 4,          ///< SHA-256 cores a direction, 0..16
  parameter bit NEAR         = 1'b0,       ///< has near-storage commands (docs/csd/near-storage.md)
  parameter bit SLM          = 1'b0,       ///< ... and namespaces of memory and programs (docs/csd/programs.md)
  parameter int NEAR_CELLS   = 8,          ///< ... pieces of strings of a Grep, 1..32
  /// ... the operator of each slot, a hexadecimal digit each from the right: 1 Grep, 2 Aggregate, 3 Filter, 6 Csv, f one
  /// that is exchanged, which takes CMB_LOG2; 1 to 7 slots
  parameter logic [27:0] NEAR_SLOTS = 28'h6321,
  parameter logic [15:0] NEAR_SHELL = 16'd0,  ///< ... of this design, that bitstreams are for
  parameter int NEAR_HASHES  = 8,          ///< ... cores of SHA-256 of a Hash, 1..16
  parameter int HASH_BYTES   = 16384,      ///< ... buffer of each: a power of two, at least 16 rows
  /// the processor's memory, bytes: multiple of 4096, 32768..1048576
  parameter int RAM_BYTES    = (NUM_FN == 1 ? 69632 : NUM_CMDS > 128 ? 102400 : 98304) +
                               (!SLM ? 0 : NUM_FN == 1 ? 4096 : 8192),
  parameter     FW_HEX       = "fw.hex"    ///< its firmware, $readmemh image
) (
`include "db_ssd_ports.svh"
  ,
`include "db_ssd_stat_ports.svh"
  ,
  /// bitstreams of operators, a word at a time, to the device's configuration port (ICAP): with NEAR_SLOTS that are exchanged
  output logic                     m_icap_valid,
  input  logic                     m_icap_ready,
  output logic [31:0]              m_icap_data
);
`include "db_ssd_connect.svh"

  db_csd_core #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .QUEUE_MIN(QUEUE_MIN),
    .QUEUE_MAX(QUEUE_MAX), .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC), .MEDIA_ADDR_W(MEDIA_ADDR_W),
    .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .CMB_LOG2(CMB_LOG2),
    .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C), .SHA_CORES(SHA_CORES), .NEAR(NEAR), .SLM(SLM), .NEAR_CELLS(NEAR_CELLS),
    .NEAR_SLOTS(NEAR_SLOTS), .NEAR_SHELL(NEAR_SHELL), .NEAR_HASHES(NEAR_HASHES), .HASH_BYTES(HASH_BYTES),
    .READ_BUF_BYTES(READ_BUF_BYTES), .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX)
  ) i_core (.*, .s_peer_valid(1'b0), .s_peer_ready(), .s_peer('0), .m_ahead_valid(), .m_ahead_ready(1'b0),
    .m_ahead(), .m_ahead_rst(), .s_come_valid(1'b0), .s_come_slot('0), .s_ask_slot('0), .m_aborted(),
    .s_ended_valid(1'b0),
    .s_ended_slot('0), .s_ended_err(1'b0), .m_ext(), .s_ext_rdata(32'd0));
endmodule
