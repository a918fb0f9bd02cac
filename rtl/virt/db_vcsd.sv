// SPDX-License-Identifier: Apache-2.0
// Virtual computational storage: the controller of db_csd, whose medium is ordinary NVMe SSDs. It drives them itself, peer
// to peer through the endpoint it is reached by: their queues lie in BAR 2. Wiring:
//
//   host, guests -> CQ -> db_pcie_peers -> db_csd_core -> db_virt_media -> db_host_engine x NUM_SSD
//   SSDs  <-> CQ, CC -----^    '-> RQ                                          |
//             RQ (doorbells) <-------------------------------------------------'
//
// No processor, no software and no root port is between a command of the host and the SSD; data crosses the link twice. What
// SSDs send and fetch fills CQ and CC, so at 512 bits these may straddle.
// The ports are db_csd's, m_axi_* and m_media_cmd_* for the settings area alone, and those of the SSDs.
// How it works: docs/vcsd/theory.md. Latency and throughput: of db_csd_core and db_host_engine, one behind the other.
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_vcsd
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*, db_ssd_stat_pkg::*,
         db_pcie_fn_pkg::*, db_virt_pkg::*;
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
  parameter int RAM_BYTES    = (NUM_FN == 1 ? 77824 : NUM_CMDS > 128 ? 114688 : 110592) +
                               (!SLM ? 0 : NUM_FN == 1 ? 4096 : 8192),
  parameter     FW_HEX       = "fw.hex",   ///< its firmware, $readmemh image
  parameter int NUM_SSD      = 2,          ///< SSDs: 1, 2, 4, 8
  /// where nothing else was set the SSDs take 128 KiB in turn; else one follows the other
  parameter bit STRIPE       = 1'b0,
  parameter int EXTENTS      = 1024,       ///< granules of the medium at most: a power of two, 64..32768
  /// log2 of a granule's bytes, the unit in which a virtual drive is placed: 18..40, at least 17 + log2 of NUM_SSD, less
  /// than MEDIA_ADDR_W
  parameter int GRANULE_LOG2 = 20,
  parameter int SSD_CMDS     = 128,        ///< commands under way in each SSD: power of two, 8..256
  parameter int WR_RING_BYTES = 262144,    ///< each SSD's buffer of data to be written: 64 KiB..8 MiB, a power of 2
  parameter int RD_RING_BYTES = 524288,    ///< each SSD's buffer of data that is read: the same
  parameter int SSD_TIMEOUT  = 1_250_000_000,  ///< cycles until a command of an SSD is late; 0: never
  parameter bit SSD_RETRY    = 1'b1,       ///< a command that an SSD answers with "not now" is sent once more
  parameter int MS_CYCLES    = 250_000,    ///< cycles of a millisecond; fewer only to shorten a simulation
  /// CQ and CC of the hard block are straddled: with 512 bits alone
  parameter bit CQ_CC_STRADDLE = 1'b0
) (
`include "db_ssd_ports.svh"
  ,
`include "db_ssd_stat_ports.svh"
  ,
  /// bitstreams of operators, a word at a time, to the device's configuration port (ICAP): with NEAR_SLOTS that are exchanged
  output logic                     m_icap_valid,
  input  logic                     m_icap_ready,
  output logic [31:0]              m_icap_data,
  /// bus address of BAR 2: 64 MiB for each SSD, a multiple of its size
  input  logic [63:0]              window_base,
  /// of each SSD, constant: 4 KiB pages that it gives; media_pages is NUM_SSD times as many and 32. What is less than a
  /// granule at its end, or beyond EXTENTS granules of all, is not used
  input  logic [51:0]              ssd_pages,
  /// the host has given it its BAR 0, memory space and bus master; where BAR 0 is
  input  logic [NUM_SSD-1:0]       ssd_present,
  input  logic [NUM_SSD-1:0][63:0] ssd_bar,
  /// its requester id (bus, device, function): constant while it is present
  input  logic [NUM_SSD-1:0][15:0] ssd_id,
  /// constant: it is not brought up; its owner hands over a queue pair, or has the card bring it up
  input  logic [NUM_SSD-1:0]       ssd_left_alone,
  /// its queues work; it has failed for good
  output logic [NUM_SSD-1:0]       ssd_up,
  output logic [NUM_SSD-1:0]       ssd_dead,
  /// counts: requests to BAR 2 that were not of the SSD whose window it is, and went nowhere
  output logic [31:0]              ssd_foreign,
  /// ... and commands that an SSD has answered with "not now", and got once more (SSD_RETRY)
  output logic [31:0]              ssd_retried
);
`include "db_ssd_connect.svh"
  if (CQ_CC_STRADDLE && DATA_W != 512) begin : g_bad_straddle
    $error("%m: CQ_CC_STRADDLE must be 0 with a DATA_W of %0d: it is for 512", DATA_W);
  end
  if (NUM_FN > 1 && NUM_NS > 48) begin : g_bad_ns
    $error("%m: NUM_NS must be 48 or less with several functions (is %0d)", NUM_NS);
  end

  // ---- the controller
  logic           core_cq_valid, core_cq_ready, core_cc_valid, core_cc_ready, peer_valid, peer_ready, core_idle;
  cq_t            core_cq;
  cc_t            core_cc;
  rq_t            peer;
  axi_read_req_t  read_req;
  axi_read_rsp_t  read_rsp;
  axi_write_req_t write_req;
  axi_write_rsp_t write_rsp;
  logic           core_arid, core_rid, cmd_valid, cmd_ready, rsp_valid, rsp_err, ahead_valid, ahead_ready, ahead_rst,
                  come_valid, ended_valid, ended_err;
  ahead_t         ahead;
  logic [SLOT_W-1:0] come_slot, ended_slot, ask_slot;
  logic           aborted;
  media_cmd_t     media_cmd;
  ext_bus_t       ext;
  logic [31:0]    ext_rdata, extents_rdata, owners_rdata;
  db_csd_core #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .QUEUE_MIN(QUEUE_MIN),
    .QUEUE_MAX(QUEUE_MAX), .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC), .MEDIA_ADDR_W(MEDIA_ADDR_W),
    .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .CMB_LOG2(CMB_LOG2),
    .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C), .SHA_CORES(SHA_CORES), .NEAR(NEAR), .SLM(SLM), .NEAR_CELLS(NEAR_CELLS),
    .NEAR_SLOTS(NEAR_SLOTS), .NEAR_SHELL(NEAR_SHELL), .NEAR_HASHES(NEAR_HASHES), .HASH_BYTES(HASH_BYTES),
    .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX), .PEERS(1'b1), .BURST_BYTES(4096), .AHEAD(1'b1)
  ) i_core (
    .*, .s_cq_valid(core_cq_valid), .s_cq_ready(core_cq_ready), .s_cq(core_cq), .m_cc_valid(core_cc_valid),
    .m_cc_ready(core_cc_ready), .m_cc(core_cc), .cq_np_req(), .s_peer_valid(peer_valid), .s_peer_ready(peer_ready),
    .s_peer(peer), .m_axi_read_req(read_req), .m_axi_read_rsp(read_rsp), .m_axi_arid(core_arid), .m_axi_rid(core_rid),
    .m_axi_write_req(write_req), .m_axi_write_rsp(write_rsp), .m_media_cmd_valid(cmd_valid),
    .m_media_cmd_ready(cmd_ready), .m_media_cmd(media_cmd), .s_media_rsp_valid(rsp_valid), .s_media_rsp_err(rsp_err),
    .m_ahead_valid(ahead_valid), .m_ahead_ready(ahead_ready), .m_ahead(ahead), .m_ahead_rst(ahead_rst),
    .s_come_valid(come_valid), .s_come_slot(come_slot), .s_ask_slot(ask_slot), .m_aborted(aborted),
    .s_ended_valid(ended_valid), .s_ended_slot(ended_slot),
    .s_ended_err(ended_err), .m_ext(ext), .s_ext_rdata(ext_rdata), .idle(core_idle));

  // ---- the SSDs' side of PCIe
  logic [NUM_SSD-1:0]                     tick, poke_valid, poke_ready, acc_valid, acc_ready, answer_valid, wr_valid,
                                          row_valid, damaged;
  poke_t       [NUM_SSD-1:0]              poke;
  acc_t        [NUM_SSD-1:0]              acc;
  acc_answer_t [NUM_SSD-1:0]              answer;
  logic        [db_host_pkg::WIN_W-1:0]   wr_addr, row_addr;
  logic        [DATA_W-1:0]               wr_data;
  logic        [DATA_W/8-1:0]             wr_be;
  logic        [NUM_SSD-1:0][DATA_W-1:0]  row_data;
  logic                                   bad, foreign, peers_idle;
  logic        [NUM_SSD-1:0]              window_open, retried;
  db_pcie_peers #(
    .DATA_W(DATA_W), .NUM_PEERS(NUM_SSD), .DRIVE_LOG2(db_host_pkg::WIN_W), .READABLE(db_host_pkg::READABLE_REGIONS),
    .ROW_LATENCY(db_host_pkg::ROW_LATENCY), .STRADDLE(CQ_CC_STRADDLE)
  ) i_peers (
    .clk, .rst, .cfg_mps({1'b0, cfg_max_payload}), .window_base, .peer_id(ssd_id), .peer_open(window_open),
    .idle(peers_idle), .cq_np_req, .s_cq_valid,
    .s_cq_ready,
    .s_cq, .m_cc_valid, .m_cc_ready, .m_cc, .s_rc_valid(s_rc_valid && s_rc_ready), .s_rc, .m_cq_valid(core_cq_valid),
    .m_cq_ready(core_cq_ready), .m_cq(core_cq), .s_cc_valid(core_cc_valid), .s_cc_ready(core_cc_ready), .s_cc(core_cc),
    .m_rq_valid(peer_valid), .m_rq_ready(peer_ready), .m_rq(peer), .tick, .bar_base(ssd_bar),
    .s_poke_valid(poke_valid), .s_poke_ready(poke_ready), .s_poke(poke), .s_acc_valid(acc_valid),
    .s_acc_ready(acc_ready), .s_acc(acc), .m_answer_valid(answer_valid), .m_answer(answer), .m_wr_valid(wr_valid),
    .m_wr_addr(wr_addr), .m_wr_data(wr_data), .m_wr_be(wr_be), .m_row_valid(row_valid), .m_row_addr(row_addr),
    .s_row_data(row_data), .m_bad(bad), .m_foreign(foreign), .m_damaged(damaged));
  db_virt_counters #(.NUM_SSD(NUM_SSD)) i_counters (
    .clk, .rst, .foreign, .retried, .num_foreign(ssd_foreign), .num_retried(ssd_retried));

  // ---- who has each SSD
  db_host_pkg::owner_e [NUM_SSD-1:0] owner;
  db_host_pkg::handed_t              hand;
  logic [NUM_SSD-1:0]                hand_valid, take_back, bring_up, quiet;
  db_virt_owners #(.NUM_SSD(NUM_SSD), .SSD_CMDS(SSD_CMDS)) i_owners (
    .clk, .rst, .s_ext(ext), .m_ext_rdata(owners_rdata), .owner, .present(ssd_present), .up(ssd_up),
    .m_hand_valid(hand_valid), .m_hand(hand), .m_take_back(take_back), .m_bring_up(bring_up));
  assign ext_rdata = ext.addr[9] ? owners_rdata : extents_rdata;

  // ---- the media
  ssd_state_t                 [NUM_SSD-1:0] ssd;
  db_host_pkg::block_cmd_t    [NUM_SSD-1:0] ssd_cmd;
  db_host_pkg::block_status_t [NUM_SSD-1:0] status;
  logic [NUM_SSD-1:0]                       ssd_cmd_valid, ssd_cmd_ready, to_valid, to_ready, from_valid, from_ready,
                                            from_err, status_valid, engine_idle;
  logic [DATA_W-1:0]                        to_data;
  logic [NUM_SSD-1:0][DATA_W-1:0]           from_data;
  logic                                     media_idle;
  db_virt_media #(
    .DATA_W(DATA_W), .ADDR_W(MEDIA_ADDR_W), .NUM_SSD(NUM_SSD), .STRIPE(STRIPE), .EXTENTS(EXTENTS),
    .GRANULE_LOG2(GRANULE_LOG2), .NUM_CMDS(NUM_CMDS), .RD_RING_BYTES(RD_RING_BYTES),
    .WR_RING_BYTES(WR_RING_BYTES)
  ) i_media (
    .clk, .rst, .ssd_pages, .s_ext(ext), .m_ext_rdata(extents_rdata),
    .ssd, .idle(media_idle), .quiet, .s_axi_read_req(read_req), .s_axi_read_rsp(read_rsp),
    .s_axi_arid(core_arid), .s_axi_rid(core_rid), .s_axi_write_req(write_req), .s_axi_write_rsp(write_rsp),
    .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready), .s_cmd(media_cmd), .m_rsp_valid(rsp_valid), .m_rsp_err(rsp_err),
    .s_ahead_valid(ahead_valid), .s_ahead_ready(ahead_ready), .s_ahead(ahead), .s_ahead_rst(ahead_rst),
    .m_come_valid(come_valid), .m_come_slot(come_slot), .m_ask_slot(ask_slot),
    .s_aborted(aborted), .m_ended_valid(ended_valid), .m_ended_slot(ended_slot),
    .m_ended_err(ended_err),
    .m_card_read_req(m_axi_read_req), .m_card_read_rsp(m_axi_read_rsp), .m_card_write_req(m_axi_write_req),
    .m_card_write_rsp(m_axi_write_rsp), .m_card_cmd_valid(m_media_cmd_valid), .m_card_cmd_ready(m_media_cmd_ready),
    .m_card_cmd(m_media_cmd), .s_card_rsp_valid(s_media_rsp_valid), .s_card_rsp_err(s_media_rsp_err),
    .m_cmd_valid(ssd_cmd_valid), .m_cmd_ready(ssd_cmd_ready), .m_cmd(ssd_cmd), .m_row_valid(to_valid),
    .m_row_ready(to_ready), .m_row_data(to_data), .s_row_valid(from_valid), .s_row_ready(from_ready),
    .s_row_data(from_data), .s_row_err(from_err), .s_status_valid(status_valid), .s_status(status));
  assign m_axi_arid = 1'b0;

  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    logic [3:0] lba_shift;
    logic       there, dead;
    assign there       = !(owner[i] inside {db_host_pkg::OWNER_LEAVING, db_host_pkg::OWNER_NOBODY});
    assign ssd_dead[i] = dead && there;
    always_ff @(posedge clk)
      ssd[i] <= '{present: ssd_present[i] && there, up: ssd_up[i], dead: dead, lba_shift: lba_shift};
    db_host_engine #(
      .DATA_W(DATA_W), .NUM_CMDS(SSD_CMDS), .WR_RING_BYTES(WR_RING_BYTES), .RD_RING_BYTES(RD_RING_BYTES),
      .MS_CYCLES(MS_CYCLES), .REGS(1'b0), .CMD_TIMEOUT(SSD_TIMEOUT), .OUT_PARTS(512),
      .HAND_OVER(1'b1), .RETRY(SSD_RETRY), .BAR_LOG2(14)
    ) i_engine (
      .clk, .rst, .link_up(ssd_present[i]), .cfg_mps_cap(3'd5), .set_mps(), .set_mrrs(),
      .window_base(window_base + (64'(i) << db_host_pkg::WIN_W)), .bar_base(ssd_bar[i]), .tick(tick[i]),
      .m_poke_valid(poke_valid[i]), .m_poke_ready(poke_ready[i]), .m_poke(poke[i]), .m_acc_valid(acc_valid[i]),
      .m_acc_ready(acc_ready[i]), .m_acc(acc[i]), .s_answer_valid(answer_valid[i]), .s_answer(answer[i]),
      .s_wr_valid(wr_valid[i]), .s_wr_addr(wr_addr), .s_wr_data(wr_data), .s_wr_be(wr_be), .m_stall(),
      .s_row_valid(row_valid[i]), .s_row_addr(row_addr), .m_row_data(row_data[i]), .s_bad(bad), .s_damaged(damaged[i]),
      .requesting(poke_valid[i] || acc_valid[i]), .link_active(!peers_idle || wr_valid[i]),
      .left_alone(ssd_left_alone[i]), .s_hand_valid(hand_valid[i]), .s_hand(hand), .take_back(take_back[i]),
      .bring_up(bring_up[i]), .s_user_quiet(quiet[i]), .stat_retry(retried[i]), .owner(owner[i]),
      .window_open(window_open[i]),
      .s_axil_awvalid(1'b0), .s_axil_awready(), .s_axil_awaddr('0), .s_axil_awprot('0), .s_axil_wvalid(1'b0),
      .s_axil_wready(), .s_axil_wdata('0), .s_axil_wstrb('0), .s_axil_bvalid(), .s_axil_bready(1'b1), .s_axil_bresp(),
      .s_axil_arvalid(1'b0), .s_axil_arready(), .s_axil_araddr('0), .s_axil_arprot('0), .s_axil_rvalid(),
      .s_axil_rready(1'b1), .s_axil_rdata(), .s_axil_rresp(),
      .s_axis_cmd_tdata(ssd_cmd[i]), .s_axis_cmd_tvalid(ssd_cmd_valid[i]), .s_axis_cmd_tready(ssd_cmd_ready[i]),
      .s_axis_wdata_tdata(to_data), .s_axis_wdata_tvalid(to_valid[i]), .s_axis_wdata_tready(to_ready[i]),
      .m_axis_rdata_tdata(from_data[i]), .m_axis_rdata_tvalid(from_valid[i]), .m_axis_rdata_tready(from_ready[i]),
      .m_axis_rdata_tlast(), .m_axis_rdata_tuser(from_err[i]), .m_axis_status_tdata(status[i]),
      .m_axis_status_tvalid(status_valid[i]), .m_axis_status_tready(1'b1), .s_adm_valid(1'b0), .s_adm_ready(),
      .s_adm_data('0), .m_adm_valid(), .m_adm_ready(1'b1), .m_adm_cqe(), .m_adm_timeout(), .s_reg_valid(1'b0),
      .s_reg_ready(), .s_reg_write(1'b0), .s_reg_addr('0), .s_reg_wdata('0), .m_reg_valid(), .m_reg_rdata(),
      .m_reg_status(), .m_fwd_valid(), .m_fwd_ready(1'b1), .m_fwd_addr(), .m_fwd_data(), .m_fwd_be(), .up(ssd_up[i]),
      .dead, .shutdown(1'b0), .shut_down(), .shutdown_failed(), .blocks(), .lba_shift,
      .idle(engine_idle[i]), .stat_doorbell(), .stat_cqe());
  end
  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_rid};
  assign idle = core_idle && peers_idle && media_idle && engine_idle == '1;
endmodule
