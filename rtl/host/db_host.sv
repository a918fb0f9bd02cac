// SPDX-License-Identifier: Apache-2.0
// NVMe host: drives one SSD on a PCIe root port with no processor. Wiring only; docs/host/theory.md says how it works.
//
//   s_axis_cmd, s_axis_wdata -> db_host_engine -> m_axis_rdata, m_axis_status
//                                     ^
//   RQ, RC: accesses, doorbells       v
//   CQ, CC: the drive's window   db_pcie_root
//
// Latency: last row of a block to its doorbell on RQ at most 16 cycles. Throughput: a row a cycle each way.
`include "db_pcie_types.svh"
module db_host
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_host_pkg::*;
#(
  /// bits: 128, 256, 512
  parameter int DATA_W        = 128,
  /// commands in flight: 8..256, a power of 2
  parameter int NUM_CMDS      = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP        = 1,
  /// buffer of data to be written: 4 KiB..8 MiB, a power of 2
  parameter int WR_RING_BYTES = 65536,
  /// buffer of data that is read: the same
  parameter int RD_RING_BYTES = 524288,
  /// rings of 64 KiB and more: 1 UltraRAM, 0 block RAM
  parameter bit RING_URAM     = 1'b1,
  /// clock
  parameter int CLK_MHZ       = 250,
  /// cycles of a millisecond; fewer only to shorten a simulation
  parameter int MS_CYCLES     = CLK_MHZ * 1000,
  /// bring the drive up when there is a link
  parameter bit AUTO_START    = 1'b1,
  /// AXI4-Lite registers; without them what follows is fixed, and s_axil reads as 0
  parameter bit REGS          = 1'b1,
  /// namespace
  parameter logic [31:0] NSID        = 32'd1,
  /// longest wait for an admin command
  parameter logic [15:0] ADMIN_MS    = 16'd10000,
  /// ... for a late command after its Abort
  parameter logic [15:0] ABORT_MS    = 16'd1000,
  /// time between looks at CSTS; 0: never
  parameter logic [15:0] POLL_MS     = 16'd1,
  /// longest wait for commands to end before a shutdown, and then for the drive
  parameter logic [15:0] SHUTDOWN_MS = 16'd10000,
  /// repeat what a reset took, else report it
  parameter bit          REPEAT      = 1'b1,
  /// PRPs for drives that take SGLs, too
  parameter bit          PRP_ONLY    = 1'b0,
  /// cycles until a command is late; 0: never
  parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000
) (
  input  logic                         clk,
  input  logic                         rst,
  // ---- PCIe root port (PG213)
  input  logic                         link_up,
  /// largest MPS of our port, 0 = 128 bytes
  input  logic [2:0]                   cfg_mps_cap,
  /// what our port's Device Control is to hold
  output logic [2:0]                   set_mps,
  output logic [2:0]                   set_mrrs,
  /// what the drive sees of us; a multiple of 64 MiB
  input  logic [63:0]                  window_base,
  /// where its BAR 0 goes
  input  logic [63:0]                  bar_base,
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
  input  logic [DATA_W-1:0]            s_axis_cq_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
  input  logic                         s_axis_cq_tlast,
  input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
  input  logic                         s_axis_cq_tvalid,
  output logic                         s_axis_cq_tready,
  /// credits for what the drive reads; db_pcie_root_credit
  output logic [1:0]                   pcie_cq_np_req,
  output logic [DATA_W-1:0]            m_axis_cc_tdata,
  output logic [DATA_W/32-1:0]         m_axis_cc_tkeep,
  output logic                         m_axis_cc_tlast,
  output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
  output logic                         m_axis_cc_tvalid,
  input  logic                         m_axis_cc_tready,
`include "db_host_ports.svh"
);
  // ---- PCIe
  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef `DB_PCIE_RC_T(DATA_W) rc_t;
  cq_t cq;
  cc_t cc;
  rq_t rq;
  rc_t rc;
  assign cq = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep, tdata: s_axis_cq_tdata};
  assign rc = '{tuser: s_axis_rc_tuser, tlast: s_axis_rc_tlast, tkeep: s_axis_rc_tkeep, tdata: s_axis_rc_tdata};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = cc;
  assign {m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata} = rq;

  logic                tick, poke_valid, poke_ready, acc_valid, acc_ready, answer_valid, rx_bad, rx_damaged;
  logic                wr_valid, fwd_stall, row_valid, tx_idle;
  poke_t               poke;
  acc_t                acc;
  acc_answer_t         answer;
  logic [WIN_W-1:0]    wr_addr, row_addr;
  logic [DATA_W-1:0]   wr_data, row_data;
  logic [DATA_W/8-1:0] wr_be;

  db_pcie_root #(
    .DATA_W(DATA_W), .WINDOW_LOG2(WIN_W), .READABLE(READABLE_REGIONS), .ROW_LATENCY(ROW_LATENCY)
  ) i_pcie (
    .clk, .rst, .tick, .link_up, .cfg_mps(set_mps), .window_base, .bar_base, .idle(tx_idle),
    .m_rq_valid(m_axis_rq_tvalid), .m_rq_ready(m_axis_rq_tready), .m_rq(rq), .s_rc_valid(s_axis_rc_tvalid),
    .s_rc_ready(s_axis_rc_tready), .s_rc(rc), .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .s_cq(cq),
    .pcie_cq_np_req, .m_cc_valid(m_axis_cc_tvalid), .m_cc_ready(m_axis_cc_tready), .m_cc(cc),
    .s_poke_valid(poke_valid), .s_poke_ready(poke_ready), .s_poke(poke), .s_acc_valid(acc_valid),
    .s_acc_ready(acc_ready), .s_acc(acc), .m_answer_valid(answer_valid), .m_answer(answer), .m_wr_valid(wr_valid),
    .m_wr_addr(wr_addr), .m_wr_data(wr_data), .m_wr_be(wr_be), .stall(fwd_stall), .m_row_valid(row_valid),
    .m_row_addr(row_addr), .s_row_data(row_data), .m_bad(rx_bad), .m_damaged(rx_damaged)
  );

  // ---- all but PCIe
  db_host_engine #(
    .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .WR_RING_BYTES(WR_RING_BYTES),
    .RD_RING_BYTES(RD_RING_BYTES), .RING_URAM(RING_URAM), .CLK_MHZ(CLK_MHZ), .MS_CYCLES(MS_CYCLES),
    .AUTO_START(AUTO_START), .REGS(REGS), .NSID(NSID), .ADMIN_MS(ADMIN_MS), .ABORT_MS(ABORT_MS), .POLL_MS(POLL_MS),
    .SHUTDOWN_MS(SHUTDOWN_MS), .REPEAT(REPEAT), .PRP_ONLY(PRP_ONLY), .CMD_TIMEOUT(CMD_TIMEOUT)
  ) i_engine (
    .*, .m_poke_valid(poke_valid), .m_poke_ready(poke_ready), .m_poke(poke), .m_acc_valid(acc_valid),
    .m_acc_ready(acc_ready), .m_acc(acc),
    .s_answer_valid(answer_valid), .s_answer(answer), .s_wr_valid(wr_valid), .s_wr_addr(wr_addr), .s_wr_data(wr_data),
    .s_wr_be(wr_be), .m_stall(fwd_stall), .s_row_valid(row_valid), .s_row_addr(row_addr), .m_row_data(row_data),
    .s_bad(rx_bad), .s_damaged(rx_damaged), .requesting(m_axis_rq_tvalid),
    .link_active(s_axis_cq_tvalid || m_axis_cc_tvalid || s_axis_rc_tvalid || wr_valid || !tx_idle || pcie_cq_np_req[0]),
    .left_alone(1'b0), .s_hand_valid(1'b0), .s_hand('0), .take_back(1'b0), .bring_up(1'b0), .s_user_quiet(1'b1),
    .stat_retry(), .owner(), .window_open()
  );
endmodule
