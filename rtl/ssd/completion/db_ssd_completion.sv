// SPDX-License-Identifier: Apache-2.0
// From finished commands to completion queue entries, interrupts, counters and error log. Wiring of
//
//   db_ssd_completion_collect  completions of all sources, with what their slots hold; counters, errors
//   db_ssd_cq                  completion queues: entries, parking, head doorbells
//   db_ssd_coalesce            interrupts: at once, or several as one
//   db_pcie_msix, db_ssd_intx  interrupts as messages, and as a level
//   db_ssd_post_arb            short writes to the host into one, in the right order
//
// Latency: completion to entry 3 cycles, entry to MSI-X message 3 where nothing is coalesced.
module db_ssd_completion
  import db_pcie_block_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_stat_pkg::*;
#(
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_QP   = 32,   ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS = 128,  ///< I/O commands inside: power of two, 2..256
  parameter int NUM_VEC  = 33,   ///< MSI-X vectors of the PF, 1..256
  parameter int VF_VEC   = 8,    ///< of each VF: a power of two, 1..32
  parameter bit NEAR     = 1'b0  ///< has near-storage commands
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic                   por_rst,          ///< power-on: counters outlive all other resets
  input  logic                   ctrl_rst,
  input  logic [NUM_FN-1:0]      msix_rst,
  input  control_t               control,
  input  link_cfg_t              link_cfg,
  input  logic [63:0]            time_us,
  input  coalesce_cfg_t          coalesce_cfg,
  input  logic                   int_vec_cfg_valid,
  input  int_vec_cfg_t           int_vec_cfg,
  input  logic [31:0]            intms,
  /// Contexts of slots, from decode.
  input  logic                   s_ctx_valid,
  input  logic [SLOT_W-1:0]      s_ctx_slot,
  input  slot_ctx_t              s_ctx,
  /// Completions by slot: [0] decode, [1] read engine, [2] write engine.
  input  logic [2:0]             s_slot_valid,
  output logic [2:0]             s_slot_ready,
  input  slot_completion_t [2:0] s_slot,
  /// Pulse: one of them is taken; was its command aborted? In the same cycle.
  output logic                   done_valid,
  output logic [SLOT_W-1:0]      done_slot,
  input  logic                   done_aborted,
  output logic                   done_again,
  /// A near-storage command that stores has not yet done so.
  output logic                   m_again_valid,
  input  logic                   m_again_ready,
  output near_again_t            m_again,
  input  logic [1:0]             media_err,      ///< pulse: [0] read engine, [1] write engine
  /// What a near-storage command came to, before its completion.
  input  logic                   s_near_valid,
  input  near_result_t           s_near,
  /// The firmware's: completions of admin commands, writes to the host.
  input  logic                   s_admin_valid,
  output logic                   s_admin_ready,
  input  completion_t            s_admin,
  input  logic                   s_fw_post_valid,
  output logic                   s_fw_post_ready,
  input  post_t                  s_fw_post,
  /// Head doorbells, what was wrong with them, and contexts of completion queues.
  input  logic                   s_doorbell_valid,
  output logic                   s_doorbell_ready,
  input  doorbell_t              s_doorbell,
  output logic                   m_doorbell_err_valid,
  output doorbell_err_t          m_doorbell_err,
  input  logic                   s_queue_ctx_valid,
  output logic                   s_queue_ctx_ready,
  input  queue_ctx_t             s_queue_ctx,
  output logic [QID_W-1:0]       sq_lookup_sqid,
  input  sq_lookup_t             sq_lookup,
  input  logic                   sq_deleted,      ///< pulse: a submission queue is no more
  /// Accesses to the MSI-X table.
  input  logic                   s_reg_valid,
  output logic                   s_reg_ready,
  input  reg_access_t            s_reg,
  output logic                   s_reg_rvalid,
  output logic [31:0]            s_reg_rdata,
  /// To the host.
  output logic                   m_post_valid,
  input  logic                   m_post_ready,
  output post_t                  m_post,
  output logic                   intx,
  output logic                   m_retired_valid, ///< pulse: a command is over
  output retired_t               m_retired,
  output logic [15:0]            cmds_unread,     ///< I/O commands that are done, but their entries not handed over
  output logic                   m_error_valid,
  input  logic                   m_error_ready,
  output error_log_t             m_error,
  output smart_counters_t        smart,
  output completion_busy_t       busy,
  output logic [63:0]            wake_us,
  output stat_slot_t             stat_data,
  output stat_slot_t             stat_cqe,
  output stat_irq_t              stat_irq
);
  // ---- entries
  logic      collects, finished_valid, finished_ready, cqe_valid, cqe_ready, any_entries, cq_idle;
  finished_t finished;
  cqe_post_t cqe;
  logic      cq_irq_valid, cq_irq_ready, irq_valid, irq_ready, coalesce_idle;
  irq_t      cq_irq, irq;
  db_ssd_completion_collect #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .NEAR(NEAR)) i_collect (
    .clk, .rst(ctrl_rst), .rst_counters(por_rst), .s_ctx_valid, .s_ctx_slot, .s_ctx, .s_slot_valid, .s_slot_ready,
    .s_slot,
    .s_near_valid, .s_near, .done_valid, .done_slot, .done_aborted, .done_again, .m_again_valid, .m_again_ready,
    .m_again, .s_admin_valid, .s_admin_ready, .s_admin,
    .busy(collects), .m_finished_valid(finished_valid), .m_finished_ready(finished_ready),
    .m_finished(finished), .m_error_valid, .m_error_ready, .m_error, .media_err, .smart);
  db_ssd_cq #(
    .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .ADMIN_CMDS(NUM_FN == 1 ? 16 : NUM_FN * ADMIN_PER_FN)
  ) i_cq (
    .clk, .rst(ctrl_rst), .run(control.run), .s_finished_valid(finished_valid), .s_finished_ready(finished_ready),
    .s_finished(finished), .s_doorbell_valid, .s_doorbell_ready, .s_doorbell, .s_queue_ctx_valid, .s_queue_ctx_ready,
    .s_queue_ctx, .sq_lookup_sqid, .sq_lookup, .sq_deleted, .m_post_valid(cqe_valid), .m_post_ready(cqe_ready),
    .m_post(cqe),
    .m_irq_valid(cq_irq_valid), .m_irq_ready(cq_irq_ready), .m_irq(cq_irq), .m_retired_valid, .m_retired, .any_entries,
    .m_doorbell_err_valid, .m_doorbell_err, .idle(cq_idle));

  logic [8:0] unread_q;
  assign cmds_unread = 16'(unread_q);
  always_ff @(posedge clk) begin
    unread_q <= unread_q + 9'(finished_valid && finished_ready && finished.io) - 9'(m_retired_valid && m_retired.io);
    if (ctrl_rst) unread_q <= '0;
  end

  // ---- interrupts; a function that is off has none. MSI-X messages that are made while the controller stops are dropped
  logic  msix_valid, msix_ready;
  post_t msix;
  localparam int VECTORS = NUM_FN == 1 ? NUM_VEC : (NUM_VEC + VF_VEC - 1) / VF_VEC * VF_VEC + (NUM_FN - 1) * VF_VEC;
  logic [NUM_FN-1:0] msix_enable;
  assign msix_enable = link_cfg.msix_enable[NUM_FN-1:0] & ~control.off[NUM_FN-1:0];
  db_ssd_coalesce #(.NUM_VEC(VECTORS)) i_coalesce (
    .clk, .rst(ctrl_rst), .time_us, .coalesce_cfg, .int_vec_cfg_valid, .int_vec_cfg, .s_irq_valid(cq_irq_valid),
    .s_irq_ready(cq_irq_ready), .s_irq(cq_irq), .m_irq_valid(irq_valid), .m_irq_ready(irq_ready), .m_irq(irq),
    .idle(coalesce_idle), .wake_us);
  db_pcie_msix #(.NUM_FN(NUM_FN), .NUM_VEC(NUM_VEC), .VF_VEC(VF_VEC)) i_msix (
    .clk, .rst(NUM_FN == 1 ? msix_rst[0] : rst), .fn_rst(NUM_FN == 1 ? '0 : msix_rst), .s_reg_valid, .s_reg_ready,
    .s_reg, .s_reg_rvalid, .s_reg_rdata, .s_irq_valid(irq_valid),
    .s_irq_ready(irq_ready), .s_irq_vector(irq.vector), .cfg_msix_enable(msix_enable),
    .cfg_msix_mask(link_cfg.msix_mask[NUM_FN-1:0]), .m_post_valid(msix_valid), .m_post_ready(msix_ready),
    .m_post(msix));
  db_ssd_intx i_intx (.clk, .rst, .any_entries, .link_cfg, .masked(intms[0]), .intx);

  db_ssd_post_arb i_post_arb (
    .clk, .rst(ctrl_rst), .s_cqe_valid(cqe_valid), .s_cqe_ready(cqe_ready), .s_cqe(cqe), .drop_irqs(control.stop),
    .s_msix_valid(msix_valid), .s_msix_ready(msix_ready), .s_msix(msix), .s_fw_valid(s_fw_post_valid),
    .s_fw_ready(s_fw_post_ready), .s_fw(s_fw_post), .m_post_valid, .m_post_ready, .m_post);

  // ---- what others want to know
  assign busy      = '{slot_completion: s_slot_valid != '0, admin_completion: s_admin_valid,
                       finished: collects,
                       cq: !cq_idle, error_log: m_error_valid, coalesce: !coalesce_idle, msix: msix_valid};
  assign stat_data = '{valid: finished_valid && finished_ready && finished.io, slot: finished.slot};
  assign stat_cqe  = '{valid: m_retired_valid && m_retired.io, slot: m_retired.slot};
  assign stat_irq  = '{valid: irq_valid && irq_ready, vector: irq.vector};

endmodule
