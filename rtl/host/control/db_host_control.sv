// SPDX-License-Identifier: Apache-2.0
// Control side of the host: all that brings the drive up and keeps it up, no data. Wiring:
//
//   db_host_pci, db_host_nvme, db_host_supervisor, raw accesses -> db_host_request_arb -> db_pcie_root
//   db_host_nvme, db_host_supervisor, db_host_admin_passthru -> db_host_admin_arb -> db_host_admin
//   db_host_admin -> admin buffer, doorbells (db_host_request_arb)
//   db_host_axil: registers; without them db_host_fixed
//   db_host_tick: milliseconds
module db_host_control
  import db_pcie_block_pkg::*;
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_host_control_pkg::*;
#(
  /// bits of a row: 128, 256 or 512; for PARAM
  parameter int DATA_W     = 128,
  /// command slots, a power of two, 8..256
  parameter int NUM_CMDS   = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP     = 1,
  /// log2 of the largest data command in bytes (ring), 12..20
  parameter int PART_LOG2  = 20,
  /// clock
  parameter int CLK_MHZ    = 250,
  /// cycles of a millisecond; fewer only to shorten a simulation
  parameter int MS_CYCLES  = CLK_MHZ * 1000,
  /// milliseconds of half a second; the same
  parameter int HALF_MS    = 500,
  /// bring the drive up when there is a link; else CONTROL.start first
  parameter bit AUTO_START = 1'b1,
  /// bring-ups in a row before the drive is given up, 1..15
  parameter int ATTEMPTS   = 3,
  /// log2 of the bytes of BAR 0 in which the doorbells must lie; 0: it has them all
  parameter int BAR_LOG2   = 0,
  /// maximum read request size, encoded
  parameter int MRRS       = 2,
  /// AXI4-Lite registers; without them what follows is fixed (see db_host_fixed)
  parameter bit REGS       = 1'b1,
  parameter logic [31:0] NSID        = 32'd1,
  parameter logic [15:0] ADMIN_MS    = 16'd10000,
  parameter logic [15:0] ABORT_MS    = 16'd1000,
  parameter logic [15:0] POLL_MS     = 16'd1,
  parameter logic [15:0] SHUTDOWN_MS = 16'd10000,
  parameter bit          REPEAT      = 1'b1,
  /// PRPs for drives that take SGLs, too
  parameter bit          PRP_ONLY    = 1'b0,
  parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000
) (
  input  logic                         clk,
  input  logic                         rst,

  input  logic                         link_up,
  /// largest maximum payload size of our port, encoded
  input  logic [2:0]                   cfg_mps_cap,
  /// what our port's Device Control is to hold
  output logic [2:0]                   set_mps,
  output logic [2:0]                   set_mrrs,
  /// a multiple of 64 MiB
  input  logic [63:0]                  window_base,
  /// a multiple of BAR 0's size
  input  logic [63:0]                  bar_base,

  /// each millisecond
  output logic                         tick,
  /// db_pcie_root: doorbells; accesses, answered for one cycle
  output logic                         m_poke_valid,
  input  logic                         m_poke_ready,
  output poke_t                        m_poke,
  output logic                         m_acc_valid,
  input  logic                         m_acc_ready,
  output acc_t                         m_acc,
  input  logic                         s_answer_valid,
  input  acc_answer_t                  s_answer,

  /// registers
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

  /// the user's admin commands: 16 dwords each, then an answer
  input  logic                         s_adm_valid,
  output logic                         s_adm_ready,
  input  logic [31:0]                  s_adm_data,
  output logic                         m_adm_valid,
  input  logic                         m_adm_ready,
  output admin_answer_t                m_adm,
  /// raw accesses to BAR 0; the answer is there for one cycle
  input  logic                         s_reg_valid,
  output logic                         s_reg_ready,
  input  raw_access_t                  s_reg,
  output logic                         m_reg_valid,
  output acc_answer_t                  m_reg,

  /// admin buffer and queue; rdata 2 cycles after ready
  output admin_buf_t                   m_admin_buf,
  input  logic                         s_admin_buf_ready,
  input  logic [31:0]                  s_admin_buf_rdata,
  /// the drive has written an entry to the admin completion queue
  input  logic                         s_entry_valid,
  input  admin_entry_t                 s_entry,

  /// doorbells of the I/O queues
  input  logic                         s_doorbell_valid,
  output logic                         s_doorbell_ready,
  input  doorbell_t                    s_doorbell,
  /// falls between two late commands
  input  logic                         s_late_valid,
  input  late_cmd_t                    s_late,
  /// commands are done; commands fail, and nothing will change by itself
  output logic                         io_up,
  output logic                         io_dead,
  /// new commands are taken: io_up, until the drive is to be shut down
  output logic                         io_open,
  /// one cycle or more: shut the drive down, in order; it is shut down; it could not be
  input  logic                         shutdown,
  output logic                         shut_down,
  output logic                         shutdown_failed,
  output settings_t                    settings,
  output drive_facts_t                 facts,

  output control_busy_t                busy,
  /// nothing is under way anywhere in the host
  input  logic                         s_idle,
  /// one cycle: the oldest I/O command was completed
  input  logic                         s_io_done,
  /// one cycle: a write of the drive to the window was damaged
  input  logic                         s_damaged,
  /// one cycle: an I/O completion entry
  input  logic                         stat_cqe,
  /// one cycle: requests and writes of the drive that were refused or dropped
  input  logic [3:0]                   stat_bad
);
  logic start, reset, stop, regs_shutdown, user_under_way;
  db_host_tick #(.MS_CYCLES(MS_CYCLES)) i_tick (.clk, .rst, .tick);

  // ---- requests to the drive
  logic      own_answer_valid, nvme_acc_valid, nvme_acc_ready, pci_acc_valid, pci_acc_ready, supervisor_acc_valid;
  logic      supervisor_acc_ready, admin_doorbell_valid, admin_doorbell_ready;
  acc_t      nvme_acc, pci_acc, supervisor_acc;
  doorbell_t admin_doorbell;

  db_host_request_arb i_request_arb (
    .clk, .rst,
    .s_nvme_valid(nvme_acc_valid), .s_nvme_ready(nvme_acc_ready), .s_nvme(nvme_acc),
    .s_pci_valid(pci_acc_valid), .s_pci_ready(pci_acc_ready), .s_pci(pci_acc),
    .s_supervisor_valid(supervisor_acc_valid), .s_supervisor_ready(supervisor_acc_ready),
    .s_supervisor(supervisor_acc), .s_raw_valid(s_reg_valid), .s_raw_ready(s_reg_ready), .s_raw(s_reg),
    .m_acc_valid, .m_acc_ready, .m_acc, .s_answer_valid, .m_answer_valid(own_answer_valid),
    .m_raw_valid(m_reg_valid),
    .s_io_doorbell_valid(s_doorbell_valid), .s_io_doorbell_ready(s_doorbell_ready), .s_io_doorbell(s_doorbell),
    .s_admin_doorbell_valid(admin_doorbell_valid), .s_admin_doorbell_ready(admin_doorbell_ready),
    .s_admin_doorbell(admin_doorbell), .doorbell_stride(facts.doorbell_stride), .m_poke_valid, .m_poke_ready, .m_poke,
    .busy(busy.request)
  );
  assign m_reg = s_answer;

  // ---- admin commands
  logic          clear, nvme_cmd_valid, abort_cmd_valid, abort_cmd_ready, user_cmd_valid, user_cmd_ready, cmd_valid;
  logic          cmd_ready, rsp_valid, user_rsp_valid, nvme_buf_ready, regs_buf_ready;
  logic [31:0]   nvme_cmd_data, abort_cmd_data, user_cmd_data, cmd_data;
  logic [3:0]    cmd_index;
  admin_answer_t rsp;
  admin_buf_t    engine_buf, nvme_buf, regs_buf;

  db_host_admin_arb i_admin_arb (
    .clk, .s_nvme_valid(nvme_cmd_valid), .s_nvme_data(nvme_cmd_data),
    .s_abort_valid(abort_cmd_valid), .s_abort_ready(abort_cmd_ready), .s_abort_data(abort_cmd_data),
    .s_user_valid(user_cmd_valid), .s_user_ready(user_cmd_ready), .s_user_data(user_cmd_data),
    .m_cmd_valid(cmd_valid), .m_cmd_ready(cmd_ready), .m_cmd_data(cmd_data), .s_cmd_index(cmd_index),
    .s_rsp_valid(rsp_valid), .m_user_rsp_valid(user_rsp_valid),
    .s_engine_buf(engine_buf), .s_nvme_buf(nvme_buf), .s_nvme_buf_ready(nvme_buf_ready), .s_regs_buf(regs_buf),
    .s_regs_buf_ready(regs_buf_ready), .m_buf(m_admin_buf), .m_buf_ready(s_admin_buf_ready)
  );
  db_host_admin i_admin (
    .clk, .rst, .tick, .clear, .timeout_ms(settings.admin_ms), .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready),
    .s_cmd_data(cmd_data), .m_cmd_index(cmd_index), .m_rsp_valid(rsp_valid), .m_rsp(rsp), .m_admin_buf(engine_buf),
    .s_admin_buf_ready, .m_doorbell_valid(admin_doorbell_valid), .m_doorbell_ready(admin_doorbell_ready),
    .m_doorbell(admin_doorbell), .s_entry_valid, .s_entry, .busy(busy.admin)
  );

  // ---- bring-up and recovery
  logic     pci_start, pci_done, nvme_start, nvme_done, stat_abort, stat_reset;
  fail_e    pci_fail, nvme_fail;
  step_e    pci_step, nvme_step, step;
  failure_t failure;

  db_host_pci #(.MRRS(MRRS)) i_pci (
    .clk, .rst, .tick, .start(pci_start), .stop, .done(pci_done), .fail(pci_fail), .step(pci_step), .bar_base,
    .cfg_mps_cap, .set_mps, .set_mrrs, .m_acc_valid(pci_acc_valid), .m_acc_ready(pci_acc_ready), .m_acc(pci_acc),
    .s_answer_valid(own_answer_valid), .s_answer
  );
  db_host_nvme #(
    .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .PART_LOG2(PART_LOG2), .HALF_MS(HALF_MS), .BAR_LOG2(BAR_LOG2)
  ) i_nvme (
    .clk, .rst, .tick, .start(nvme_start), .stop, .done(nvme_done), .fail(nvme_fail), .fail_status(failure.status),
    .step(nvme_step), .window_base, .nsid(settings.nsid), .facts, .m_acc_valid(nvme_acc_valid),
    .m_acc_ready(nvme_acc_ready), .m_acc(nvme_acc), .s_answer_valid(own_answer_valid), .s_answer,
    .m_clear(clear), .m_cmd_valid(nvme_cmd_valid), .m_cmd_ready(cmd_ready), .m_cmd_data(nvme_cmd_data),
    .s_cmd_index(cmd_index), .s_rsp_valid(rsp_valid), .s_rsp(rsp), .m_admin_buf(nvme_buf),
    .s_admin_buf_ready(nvme_buf_ready), .s_admin_buf_rdata
  );
  db_host_supervisor #(.ATTEMPTS(ATTEMPTS), .AUTO_START(AUTO_START)) i_supervisor (
    .clk, .rst, .tick, .start, .reset, .shutdown(shutdown || regs_shutdown), .link_up, .settings, .s_late_valid,
    .s_late,
    .io_done(s_io_done), .drained(s_idle && !user_under_way), .s_rsp_valid(rsp_valid), .s_rsp(rsp),
    .damaged(s_damaged), .io_up, .io_dead, .io_open, .shut_down, .shutdown_failed, .fail_reason(failure.reason),
    .fail_step(failure.step), .step, .busy(busy.supervisor), .stat_abort, .stat_reset, .stop, .pci_start, .pci_done,
    .pci_fail, .pci_step, .nvme_start, .nvme_done, .nvme_fail, .nvme_step, .m_acc_valid(supervisor_acc_valid),
    .m_acc_ready(supervisor_acc_ready), .m_acc(supervisor_acc), .s_answer_valid(own_answer_valid), .s_answer,
    .m_cmd_valid(abort_cmd_valid), .m_cmd_ready(abort_cmd_ready), .m_cmd_data(abort_cmd_data), .s_cmd_index(cmd_index)
  );

  // ---- the user's side
  logic        regs_go, regs_busy, regs_done;
  logic [3:0]  regs_index;
  logic [31:0] regs_data;

  db_host_admin_passthru i_passthru (
    .clk, .rst, .io_up, .io_open, .stop, .s_adm_valid, .s_adm_ready, .s_adm_data, .m_adm_valid, .m_adm_ready, .m_adm,
    .s_reg_go(regs_go), .m_reg_index(regs_index), .s_reg_data(regs_data), .m_reg_busy(regs_busy),
    .m_reg_done(regs_done), .m_cmd_valid(user_cmd_valid), .m_cmd_ready(user_cmd_ready), .m_cmd_data(user_cmd_data),
    .s_rsp_valid(user_rsp_valid), .s_rsp(rsp), .busy(busy.user), .under_way(user_under_way)
  );

  if (REGS) begin : g_regs
    db_host_axil #(.DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP)) i_axil (
      .clk, .rst,
      .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_awprot, .s_axil_wvalid, .s_axil_wready,
      .s_axil_wdata, .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready,
      .s_axil_araddr, .s_axil_arprot, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp,
      .start, .reset, .shutdown(regs_shutdown), .settings, .io_up, .io_dead, .shut_down, .shutdown_failed, .link_up,
      .idle(s_idle), .step, .failure, .facts, .mps(set_mps),
      .stat_cqe, .stat_abort, .stat_reset, .stat_bad, .adm_go(regs_go), .adm_index(regs_index), .adm_data(regs_data),
      .adm_busy(regs_busy), .adm_done(regs_done), .adm_answer(m_adm), .m_admin_buf(regs_buf),
      .s_admin_buf_ready(regs_buf_ready), .s_admin_buf_rdata
    );
  end else begin : g_fixed
    db_host_fixed #(
      .NSID(NSID), .ADMIN_MS(ADMIN_MS), .ABORT_MS(ABORT_MS), .POLL_MS(POLL_MS), .SHUTDOWN_MS(SHUTDOWN_MS),
      .REPEAT(REPEAT), .PRP_ONLY(PRP_ONLY), .CMD_TIMEOUT(CMD_TIMEOUT)
    ) i_fixed (
      .clk, .rst,
      .s_axil_awvalid, .s_axil_awready, .s_axil_wvalid, .s_axil_wready, .s_axil_bvalid, .s_axil_bready,
      .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp,
      .settings
    );
    assign start     = 1'b0;
    assign reset     = 1'b0;
    assign regs_shutdown = 1'b0;
    assign regs_go   = 1'b0;
    assign regs_data = '0;
    assign regs_buf  = '0;
    logic unused;
    assign unused = &{1'b0, s_axil_awaddr, s_axil_awprot, s_axil_wdata, s_axil_wstrb, s_axil_araddr, s_axil_arprot,
                      stat_cqe, stat_abort, stat_reset, stat_bad, regs_busy, regs_done, regs_index,
                      regs_buf_ready, step, failure};
  end
endmodule
