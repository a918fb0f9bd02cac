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
  import db_pcie_pkg::*, db_host_pkg::*;
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
  // ---- registers
  input  logic                         s_axil_awvalid,
  output logic                         s_axil_awready,
  input  logic [15:0]                  s_axil_awaddr,
  input  logic [2:0]                   s_axil_awprot,
  input  logic                         s_axil_wvalid,
  output logic                         s_axil_wready,
  input  logic [31:0]                  s_axil_wdata,
  input  logic [3:0]                   s_axil_wstrb,
  output logic                         s_axil_bvalid,
  input  logic                         s_axil_bready,
  output logic [1:0]                   s_axil_bresp,
  input  logic                         s_axil_arvalid,
  output logic                         s_axil_arready,
  input  logic [15:0]                  s_axil_araddr,
  input  logic [2:0]                   s_axil_arprot,
  output logic                         s_axil_rvalid,
  input  logic                         s_axil_rready,
  output logic [31:0]                  s_axil_rdata,
  output logic [1:0]                   s_axil_rresp,
  // ---- block commands (db_host_pkg: block_cmd_t, block_status_t)
  input  logic [127:0]                 s_axis_cmd_tdata,
  input  logic                         s_axis_cmd_tvalid,
  output logic                         s_axis_cmd_tready,
  input  logic [DATA_W-1:0]            s_axis_wdata_tdata,
  input  logic                         s_axis_wdata_tvalid,
  output logic                         s_axis_wdata_tready,
  output logic [DATA_W-1:0]            m_axis_rdata_tdata,
  output logic                         m_axis_rdata_tvalid,
  input  logic                         m_axis_rdata_tready,
  /// of a command
  output logic                         m_axis_rdata_tlast,
  /// the drive could not read it: zeros
  output logic [0:0]                   m_axis_rdata_tuser,
  output logic [63:0]                  m_axis_status_tdata,
  output logic                         m_axis_status_tvalid,
  input  logic                         m_axis_status_tready,
  // ---- admin commands beside the registers': 16 dwords in, completion entry out
  input  logic                         s_adm_valid,
  output logic                         s_adm_ready,
  input  logic [31:0]                  s_adm_data,
  output logic                         m_adm_valid,
  input  logic                         m_adm_ready,
  output logic [127:0]                 m_adm_cqe,
  output logic                         m_adm_timeout,
  // ---- raw accesses to the drive's registers
  input  logic                         s_reg_valid,
  output logic                         s_reg_ready,
  input  logic                         s_reg_write,
  input  logic [23:0]                  s_reg_addr,
  input  logic [31:0]                  s_reg_wdata,
  output logic                         m_reg_valid,
  output logic [31:0]                  m_reg_rdata,
  output logic [1:0]                   m_reg_status,
  // ---- what the drive writes to REGION_FORWARD
  output logic                         m_fwd_valid,
  input  logic                         m_fwd_ready,
  output logic [22:0]                  m_fwd_addr,
  output logic [DATA_W-1:0]            m_fwd_data,
  output logic [DATA_W/8-1:0]          m_fwd_be,
  // ---- state
  /// commands are done
  output logic                         up,
  /// commands fail; nothing will change by itself
  output logic                         dead,
  /// one cycle or more: shut the drive down, in order; then one of the two below rises
  input  logic                         shutdown,
  /// the drive has said so: what it holds is safe, its power may go
  output logic                         shut_down,
  /// it has not, within SHUTDOWN_MS, or there is none
  output logic                         shutdown_failed,
  /// of the namespace
  output logic [63:0]                  blocks,
  /// log2 of their bytes
  output logic [3:0]                   lba_shift,
  /// nothing changes until an input does, or a tick comes
  output logic                         idle,
  /// pulse: a part of a command got its slot
  output logic                         stat_doorbell,
  /// pulse: a completion entry was taken
  output logic                         stat_cqe
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
    .SHUTDOWN_MS(SHUTDOWN_MS), .REPEAT(REPEAT), .CMD_TIMEOUT(CMD_TIMEOUT)
  ) i_engine (
    .clk, .rst, .link_up, .cfg_mps_cap, .set_mps, .set_mrrs, .window_base, .bar_base, .tick, .m_poke_valid(poke_valid),
    .m_poke_ready(poke_ready), .m_poke(poke), .m_acc_valid(acc_valid), .m_acc_ready(acc_ready), .m_acc(acc),
    .s_answer_valid(answer_valid), .s_answer(answer), .s_wr_valid(wr_valid), .s_wr_addr(wr_addr), .s_wr_data(wr_data),
    .s_wr_be(wr_be), .m_stall(fwd_stall), .s_row_valid(row_valid), .s_row_addr(row_addr), .m_row_data(row_data),
    .s_bad(rx_bad), .s_damaged(rx_damaged), .requesting(m_axis_rq_tvalid),
    .link_active(s_axis_cq_tvalid || m_axis_cc_tvalid || s_axis_rc_tvalid || wr_valid || !tx_idle || pcie_cq_np_req[0]),
    .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_awprot, .s_axil_wvalid, .s_axil_wready, .s_axil_wdata,
    .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr,
    .s_axil_arprot, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp, .s_axis_cmd_tdata,
    .s_axis_cmd_tvalid, .s_axis_cmd_tready, .s_axis_wdata_tdata, .s_axis_wdata_tvalid, .s_axis_wdata_tready,
    .m_axis_rdata_tdata, .m_axis_rdata_tvalid, .m_axis_rdata_tready, .m_axis_rdata_tlast, .m_axis_rdata_tuser,
    .m_axis_status_tdata, .m_axis_status_tvalid, .m_axis_status_tready, .s_adm_valid, .s_adm_ready, .s_adm_data,
    .m_adm_valid, .m_adm_ready, .m_adm_cqe, .m_adm_timeout, .s_reg_valid, .s_reg_ready, .s_reg_write, .s_reg_addr,
    .s_reg_wdata, .m_reg_valid, .m_reg_rdata, .m_reg_status, .m_fwd_valid, .m_fwd_ready, .m_fwd_addr, .m_fwd_data,
    .m_fwd_be, .up, .dead, .shutdown, .shut_down, .shutdown_failed, .blocks, .lba_shift, .idle, .stat_doorbell,
    .stat_cqe
  );
endmodule
