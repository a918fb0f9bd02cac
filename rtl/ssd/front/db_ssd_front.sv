// SPDX-License-Identifier: Apache-2.0
// From the host's accesses and queues to commands. Wiring of
//
//   db_ssd_bar         who an access to BAR 0 is for
//   db_ssd_fn_regs     controller registers of each function
//   db_ssd_ctx_route   queue contexts from the firmware to submission and completion queues
//   db_ssd_fetch_gate  may entries be fetched
//   db_ssd_sq          submission queues: doorbells, arbitration, requests for entries
//   db_ssd_fetch       what was read, cut into entries
//   db_ssd_decode      entries to checked commands; admin entries go to the firmware
//   db_ssd_programs    part of db_ssd_decode: programs and memory ranges
//   db_ssd_near_store  near-storage commands that store: their Writes come to decode as entries
//   db_ssd_copy        Memory Copy: so do its ranges
//   db_tag_pool        command slots
//   db_ssd_abort       ends commands of a queue
//   db_ssd_abort_watch ... and one that its queue still holds, of each that is sought
//   db_ssd_fetch_fence entries that had been asked for have passed decode
//
// Latency: doorbell's TLP to request see db_pcie_bar, 1 (db_ssd_bar) and 4 cycles (db_ssd_sq); entry to command 2.
module db_ssd_front
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*,
         db_ssd_stat_pkg::*;
#(
  parameter int DATA_W   = 256,  ///< bits of a row: 128, 256, 512
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_QP   = 32,   ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS = 128,  ///< I/O commands inside: power of two, 2..256
  parameter int QUEUE_MIN = 1,  ///< command slots that a submission queue has for itself, 1..64
  /// command slots that a submission queue has at most, QUEUE_MIN..NUM_CMDS
  parameter int QUEUE_MAX = NUM_CMDS > 64 ? 64 : NUM_CMDS,
  parameter int NUM_NS   = 1,    ///< namespaces, 1..64
  parameter bit UNCORRECTABLE = 1'b0,  ///< has Write Uncorrectable
  parameter bit SGL      = 1'b0, ///< takes SGLs
  parameter bit NEAR     = 1'b0, ///< has near-storage commands
  parameter bit SLM      = 1'b0, ///< ... and namespaces of memory and programs
  parameter int ASKERS   = 6,    ///< ports of s_slot
  parameter int CMB_LOG2 = 0     ///< log2 of the bytes of a function's Controller Memory Buffer; 0: there is none
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    ctrl_rst,
  input  logic [NUM_FN-1:0]       flr_rst,
  input  control_t                control,
  input  logic [NUM_FN-1:0]       bus_master,
  /// Accesses to BAR 0, from db_pcie_bar.
  input  logic                    s_reg_valid,
  output logic                    s_reg_ready,
  input  reg_access_t             s_reg,
  output logic                    s_reg_rvalid,
  output logic [31:0]             s_reg_rdata,
  /// Those to the MSI-X table and its pending bits.
  output logic                    m_msix_reg_valid,
  input  logic                    m_msix_reg_ready,
  output reg_access_t             m_msix_reg,
  input  logic                    m_msix_reg_rvalid,
  input  logic [31:0]             m_msix_reg_rdata,
  /// Head doorbells of completion queues, and what was wrong with them.
  output logic                    m_cq_doorbell_valid,
  input  logic                    m_cq_doorbell_ready,
  output doorbell_t               m_cq_doorbell,
  input  logic                    s_cq_doorbell_err_valid,
  input  doorbell_err_t           s_cq_doorbell_err,
  output logic                    m_doorbell_err_valid,
  output doorbell_err_t           m_doorbell_err,
  /// Registers, for the firmware.
  output host_regs_t              host_regs,      ///< of the PF
  input  logic                    vf_look_valid,  ///< a look at a word of a VF's, until vf_look_answer
  input  vf_look_t                vf_look,
  output logic                    vf_look_answer, ///< pulse
  output logic [31:0]             vf_look_data,
  output logic [NUM_FN-1:0]       cc_en,
  output logic [NUM_FN-1:0]       cc_written,
  output logic [31:0]             intms,
  input  csts_t [NUM_FN-1:0]      csts,
  /// Windows of the Controller Memory Buffer (db_pcie_cmb_window).
  output logic                    cmb_set_valid,
  output logic [PLACE_W-1:0]      cmb_set_place,
  output cmb_window_t             cmb_set,
  output logic [NUM_FN-1:0]       cmb_clear,
  input  logic [NUM_FN-1:0]       cmb_base_invalid,
  /// Pulse: which queues a function has.
  input  logic                    s_fn_queues_valid,
  input  fn_queues_t              s_fn_queues,
  /// Queue contexts from the firmware; those of completion queues go on with m_cq_ctx_valid.
  input  logic                    s_queue_ctx_valid,
  output logic                    s_queue_ctx_ready,
  input  queue_ctx_t              s_queue_ctx,
  output logic                    m_cq_ctx_valid,
  input  logic                    m_cq_ctx_ready,
  input  arb_cfg_t                arb_cfg,
  input  fn_set_t                 s_fn_set,       ///< several functions: what one may have, a limit of it
  input  logic                    us_turns,       ///< changes each microsecond
  input  logic [MAX_FN-1:0]       cache_off,      ///< of which functions every write is as one with FUA
  input  logic [QID_W-1:0]        sq_select,
  output logic                    sq_inflight,
  output logic [15:0]             cmds_inflight,
  /// Requests for entries, and what was read.
  output logic                    m_fetch_valid,
  input  logic                    m_fetch_ready,
  output segment_t                m_fetch,
  output fetch_user_t             m_fetch_user,
  input  logic                    s_axis_tvalid,
  output logic                    s_axis_tready,
  input  logic [DATA_W-1:0]       s_axis_tdata,
  input  row_info_t               s_axis_info,
  input  fetch_user_t             s_axis_user,
  /// For the completion engine: a queue's lookup, a command's end.
  input  logic [QID_W-1:0]        sq_lookup_sqid,
  output sq_lookup_t              sq_lookup,
  output logic                    sq_deleted,
  input  logic                    s_done_valid,
  input  logic [SLOT_W-1:0]       s_done_slot,
  output logic                    done_aborted,
  input  logic                    s_done_again,
  /// A near-storage command that stores has its result, or a Memory Copy its list, or a range.
  input  logic                    s_again_valid,
  output logic                    s_again_ready,
  input  near_again_t             s_again,
  input  copy_range_t             s_copy_range,   ///< SLM: of such a list
  /// Has the command of a slot been aborted? In the same cycle.
  input  logic [ASKERS-1:0][SLOT_W-1:0] s_slot,
  output logic [ASKERS-1:0]       slot_aborted,
  /// The firmware aborts commands, or looks for some.
  input  logic                    s_abort_start,
  input  abort_cmd_t              s_abort,
  output logic                    abort_busy,
  output abort_found_t            abort_found,
  output logic [ABORT_WATCHES-1:0] abort_watching, ///< a command to abort may still come from its queue
  output logic [ABORT_WATCHES-1:0] abort_caught,   ///< when not watching any more: it has
  /// Pulse; fenced, from the cycle after it on: what had been sent for engines has come to its end.
  output logic                    fence,
  input  logic                    fenced,
  input  logic                    s_retired_valid,
  input  retired_t                s_retired,
  /// Pulse: an entry of decode's table of namespaces.
  input  logic                    s_ns_valid,
  input  ns_entry_t               s_ns,
  input  programs_set_t           s_programs,     ///< pulses: programs and memory ranges
  input  logic [NUM_NS-1:0]       ns_locked,
  /// Commands, to the firmware and the engines.
  output logic                    m_admin_valid,
  input  logic                    m_admin_ready,
  output admin_sqe_t              m_admin,
  input  logic                    s_admin_taken,  ///< pulse: the firmware has taken a command out of its ring
  output logic                    m_read_valid,
  input  logic                    m_read_ready,
  output logic                    m_write_valid,
  input  logic                    m_write_ready,
  output cmd_t                    m_cmd,
  output tap_cmd_t                m_tap_cmd,
  /// Contexts of slots, and commands that end in decode.
  output logic                    m_ctx_valid,
  output logic [SLOT_W-1:0]       m_ctx_slot,
  output slot_ctx_t               m_ctx,
  output logic                    m_completion_valid,
  input  logic                    m_completion_ready,
  output slot_completion_t        m_completion,
  output front_busy_t             busy,
  output stat_doorbell_t          stat_doorbell,
  output stat_fetch_t             stat_fetch,
  output stat_decode_t            stat_decode
);
  localparam int POOL_W = $clog2(NUM_CMDS);

  // ---- BAR 0
  logic [1:0]          reg_valid, reg_ready, reg_rvalid, doorbell_valid, doorbell_ready, doorbell_err_valid;
  reg_access_t         reg_access;
  logic [1:0][31:0]    reg_rdata;
  doorbell_t           doorbell;
  doorbell_err_t [1:0] doorbell_err;
  csts_t [NUM_FN-1:0]  host_csts;
  logic                run, fetch_err;
  logic [FN_W-1:0]     fetch_err_fn;
  db_ssd_bar #(.NUM_FN(NUM_FN), .NUM_QP(NUM_QP)) i_bar (
    .clk, .rst, .s_fn_queues_valid, .s_fn_queues,
    .s_reg_valid, .s_reg_ready, .s_reg, .s_reg_rvalid, .s_reg_rdata, .m_reg_valid(reg_valid),
    .m_reg_ready(reg_ready), .m_reg(reg_access), .m_reg_rvalid(reg_rvalid), .m_reg_rdata(reg_rdata),
    .m_doorbell_valid(doorbell_valid), .m_doorbell_ready(doorbell_ready), .m_doorbell(doorbell),
    .s_doorbell_err_valid(doorbell_err_valid), .s_doorbell_err(doorbell_err), .m_doorbell_err_valid, .m_doorbell_err);
  db_ssd_fn_regs #(.NUM_FN(NUM_FN), .CMB_LOG2(CMB_LOG2)) i_regs (
    .clk, .rst, .flr_rst, .s_reg_valid(reg_valid[0]), .s_reg_ready(reg_ready[0]), .s_reg(reg_access),
    .s_reg_rvalid(reg_rvalid[0]), .s_reg_rdata(reg_rdata[0]), .host_regs, .look_valid(vf_look_valid), .look(vf_look),
    .look_answer(vf_look_answer), .look_data(vf_look_data), .cc_en, .cc_written, .intms, .csts(host_csts),
    .cmb_set_valid, .cmb_set_place, .cmb_set, .cmb_clear, .cmb_base_invalid);
  assign m_msix_reg_valid      = reg_valid[1];
  assign m_msix_reg            = reg_access;
  assign reg_ready[1]          = m_msix_reg_ready;
  assign reg_rvalid[1]         = m_msix_reg_rvalid;
  assign reg_rdata[1]          = m_msix_reg_rdata;
  assign m_cq_doorbell_valid   = doorbell_valid[1];
  assign m_cq_doorbell         = doorbell;
  assign doorbell_ready[1]     = m_cq_doorbell_ready;
  assign doorbell_err_valid[1] = s_cq_doorbell_err_valid;
  assign doorbell_err[1]       = s_cq_doorbell_err;

  // ---- submission queues
  logic             sq_ctx_valid, sq_ctx_ready, head_valid;
  logic [QID_W-1:0] head_sqid;
  logic [15:0]      head;
  logic             sq_idle, sq_busy_q;  // the second a cycle later
  logic             sq_retired, sq_ctx_done, sq_watch, admin_lost;
  logic             ctx_again, ctx_stored, copy_moves, fn_moved_valid;
  logic [MOVED_W-1:0] copy_moves_bytes;
  assign fn_moved_valid = copy_moves || ((m_tap_cmd.read || m_tap_cmd.write) && (!ctx_again || ctx_stored));
  logic [15:0]      sq_tail;
  queue_ctx_t       sq_ctx;
  assign sq_retired = s_retired_valid && (s_retired.io || is_admin_queue(s_retired.sqid, NUM_FN));
  db_ssd_ctx_route i_ctx_route (
    .s_queue_ctx_valid, .s_queue_ctx_ready, .s_queue_ctx, .m_sq_ctx_valid(sq_ctx_valid), .m_sq_ctx_ready(sq_ctx_ready),
    .m_cq_ctx_valid, .m_cq_ctx_ready);
  db_ssd_fetch_gate #(.NUM_FN(NUM_FN)) i_fetch_gate (
    .clk, .rst(ctrl_rst), .control, .bus_master, .s_fetch_err(fetch_err), .s_fetch_err_fn(fetch_err_fn),
    .s_csts(csts), .m_csts(host_csts), .run);
  db_ssd_sq #(
    .NUM_FN(NUM_FN), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .ADMIN_MAX(NUM_FN == 1 ? 16 : ADMIN_PER_FN),
    .QUEUE_MIN(QUEUE_MIN), .QUEUE_MAX(QUEUE_MAX)
  ) i_sq (
    .clk, .rst(ctrl_rst), .run, .s_doorbell_valid(doorbell_valid[0]), .s_doorbell_ready(doorbell_ready[0]),
    .s_doorbell(doorbell), .s_queue_ctx_valid(sq_ctx_valid), .s_queue_ctx_ready(sq_ctx_ready), .s_queue_ctx, .arb_cfg,
    .s_fn_set, .us_turns, .s_fn_moved_valid(fn_moved_valid),
    .s_fn_moved('{fn: m_tap_cmd.ctx.fn, bytes: copy_moves ? copy_moves_bytes : m_tap_cmd.ctx.bytes[MOVED_W-1:0]}),
    .m_fetch_valid, .m_fetch_ready, .m_fetch, .m_fetch_user, .s_head_valid(head_valid), .s_head_sqid(head_sqid),
    .s_head(head), .sq_lookup_sqid, .sq_lookup, .s_admin_taken, .s_admin_lost(admin_lost), .s_retired_valid(sq_retired),
    .s_retired_sqid(s_retired.sqid),
    .deleted(sq_deleted), .m_ctx_valid(sq_ctx_done),
    .m_ctx(sq_ctx), .m_watch(sq_watch), .m_tail(sq_tail), .sq_select, .sq_inflight, .cmds_inflight,
    .m_doorbell_err_valid(doorbell_err_valid[0]),
    .m_doorbell_err(doorbell_err[0]), .idle(sq_idle));

  // ---- entries to commands
  logic              sqe_valid, sqe_ready, sqe_abort, slot_valid, slot_ready, decode_busy, decode_free, ctx_void;
  logic              fetch_fence, fetch_fenced;
  fetched_sqe_t      sqe;
  logic [POOL_W-1:0] slot;
  near_store_t       where;
  // what decode takes: entries that were fetched; before them Writes of results, and before these ranges of a Memory Copy
  logic              decode_ready, part_aborted, copy_valid, copy_ready, copy_busy;
  logic              store_valid, store_ready, store_busy, copy_next, store_next;
  logic              part_valid_q;  // copy_valid or store_valid, as a register: decode looks at it before all else
  fetched_sqe_t      entry, copy_sqe, store_sqe;
  part_t             part, copy_part, store_part;
  logic [SLOT_W-1:0] copy_slot, store_slot;
  assign entry     = copy_valid ? copy_sqe : store_valid ? store_sqe : sqe;
  always_comb begin
    part       = copy_valid ? copy_part : store_part;
    part.valid = part_valid_q;
  end
  always_ff @(posedge clk) part_valid_q <= copy_next || store_next;
  assert property (@(posedge clk) disable iff (ctrl_rst) part_valid_q == (copy_valid || store_valid));
  assign sqe_ready = decode_ready && !part_valid_q;
  db_ssd_fetch #(.DATA_W(DATA_W)) i_fetch (
    .clk, .rst(ctrl_rst), .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_info, .s_axis_user,
    .m_sqe_valid(sqe_valid), .m_sqe_ready(sqe_ready), .m_sqe(sqe));
  db_tag_pool #(.N(NUM_CMDS)) i_slots (
    .clk, .rst(ctrl_rst), .alloc_valid(slot_valid), .alloc_ready(slot_ready), .alloc_tag(slot),
    .free_valid(s_retired_valid && s_retired.io), .free_tag(s_retired.slot[POOL_W-1:0]), .used());
  db_ssd_decode #(.NUM_FN(NUM_FN), .NUM_NS(NUM_NS), .UNCORRECTABLE(UNCORRECTABLE), .SGL(SGL), .NEAR(NEAR),
                  .SLM(SLM)) i_decode (
    .clk, .rst(ctrl_rst), .cache_off, .s_sqe_valid(sqe_valid || part_valid_q),
    .s_sqe_ready(decode_ready), .s_sqe(entry), .s_abort(part_valid_q ? part_aborted : sqe_abort),
    .s_part(part), .s_slot_valid(slot_valid), .s_slot_ready(slot_ready), .s_slot(SLOT_W'(slot)),
    .m_ctx_valid, .m_ctx_slot, .m_ctx, .m_ctx_void(ctx_void), .m_ctx_again(ctx_again), .m_ctx_stored(ctx_stored),
    .m_head_valid(head_valid), .m_head_sqid(head_sqid), .m_head(head), .m_fetch_err(fetch_err),
    .m_fetch_err_fn(fetch_err_fn), .m_admin_lost(admin_lost), .m_admin_valid, .m_admin_ready, .m_admin,
    .m_read_valid, .m_read_ready, .m_write_valid, .m_write_ready, .m_cmd, .m_store(where), .m_tap_cmd,
    .m_completion_valid, .m_completion_ready, .m_completion, .busy(decode_busy), .free(decode_free), .s_ns_valid,
    .s_ns, .s_programs, .ns_rst(rst), .ns_locked);

  if (NEAR) begin : g_near
    db_ssd_near_store #(.NUM_CMDS(NUM_CMDS)) i_store (
      .clk, .rst(ctrl_rst), .busy(store_busy), .s_cmd_valid(m_read_valid && m_cmd.desc.stores), .s_cmd(m_cmd),
      .s_store(where), .s_again_valid(s_again_valid && !s_again.copies), .s_again_ready(store_ready), .s_again,
      .m_sqe_next(store_next), .m_sqe_valid(store_valid), .m_sqe_ready(decode_ready && !copy_valid), .m_sqe(store_sqe),
      .m_part(store_part), .m_slot(store_slot));
  end else begin : g_no_near
    logic unused_ok;
    assign {store_ready, store_busy, store_next, store_valid, store_sqe, store_part, store_slot} = '0;
    assign unused_ok = &{1'b0, s_again_valid, s_again, where, ctx_again, ctx_stored, part_aborted};
  end
  if (SLM) begin : g_copy
    db_ssd_copy #(.NUM_CMDS(NUM_CMDS), .SIZE_LOG2(CMB_LOG2)) i_copy (
      .clk, .rst(ctrl_rst), .busy(copy_busy),
      .s_cmd_valid(m_read_valid && m_cmd.desc.copies && m_cmd.desc.from_pointer), .s_cmd(m_cmd),
      .s_range(s_copy_range), .m_moves(copy_moves), .m_moves_bytes(copy_moves_bytes),
      .s_again_valid(s_again_valid && s_again.copies), .s_again_ready(copy_ready), .s_again,
      .m_sqe_next(copy_next), .m_sqe_valid(copy_valid), .m_sqe_ready(decode_ready), .m_sqe(copy_sqe),
      .m_part(copy_part), .m_slot(copy_slot),
      .s_passed(m_ctx_valid && ctx_again && !ctx_stored), .s_passed_bytes(m_ctx.bytes));
  end else begin : g_no_copy
    logic unused_copy;
    assign {copy_moves, copy_moves_bytes, copy_busy, copy_ready, copy_next, copy_valid, copy_sqe, copy_part,
            copy_slot} = '0;
    assign unused_copy = &{1'b0, s_copy_range};
  end
  assign s_again_ready = s_again.copies ? copy_ready : store_ready;

  // ---- commands that end before their time
  localparam int ALL_ASKERS = ASKERS + int'(NEAR);
  logic [ALL_ASKERS-1:0][SLOT_W-1:0] asked;
  logic [ALL_ASKERS-1:0]             asked_aborted;
  assign asked        = (ALL_ASKERS * SLOT_W)'({copy_valid ? copy_slot : store_slot, s_slot});
  assign slot_aborted = asked_aborted[ASKERS-1:0];
  assign part_aborted = NEAR && asked_aborted[ALL_ASKERS-1];
  db_ssd_abort #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .ASKERS(ALL_ASKERS)) i_abort (
    .clk, .rst(ctrl_rst), .s_ctx_valid(m_ctx_valid), .s_ctx_slot(m_ctx_slot), .s_ctx(m_ctx),
    .s_ctx_void(ctx_void), .s_ctx_again(ctx_again), .s_done_valid, .s_done_again,
    .s_done_slot, .done_aborted, .s_slot(asked), .aborted(asked_aborted), .s_start(s_abort_start), .s_cmd(s_abort),
    .busy(abort_busy), .found(abort_found), .fetch_fence, .fetch_fenced, .decode_free, .fence, .fenced);
  logic [ABORT_WATCHES-1:0] watch_abort;
  logic                     sq_asked;
  assign sqe_abort = watch_abort != '0;
  assign sq_asked  = sq_ctx_done && sq_ctx.watch;
  for (genvar i = 0; i < ABORT_WATCHES; i++) begin : g_abort_watch
    db_ssd_abort_watch i_watch (
      .clk, .rst(ctrl_rst), .s_begin(sq_asked && !sq_ctx.valid && sq_ctx.prio == 2'(i)), .s_watch(sq_watch),
      .s_end(sq_asked && sq_ctx.valid && sq_ctx.prio == 2'(i)), .s_queue_valid(sq_ctx_done && !sq_ctx.watch),
      .s_sqid(sq_ctx.qid), .s_cid(sq_ctx.size), .s_tail(sq_tail),
      .s_sqe_take(sqe_valid && sqe_ready), .s_sqe(sqe), .s_head_valid(head_valid), .s_head_sqid(head_sqid),
      .s_head(head), .m_abort(watch_abort[i]), .watching(abort_watching[i]), .caught(abort_caught[i]));
  end
  db_ssd_fetch_fence i_fetch_fence (
    .clk, .rst(ctrl_rst), .offered(m_fetch_valid), .asked(m_fetch_valid && m_fetch_ready),
    .ended(s_axis_tvalid && s_axis_tready && s_axis_info.last), .fence(fetch_fence), .fenced(fetch_fenced));

  // ---- what others want to know
  always_ff @(posedge clk) sq_busy_q <= !sq_idle;
  assign busy          = '{sq: sq_busy_q, sqe: sqe_valid, decode: decode_busy || store_busy || copy_busy,
                           admin_sqe: m_admin_valid, aborting: abort_busy};
  assign stat_doorbell = '{valid: doorbell_valid[0] && doorbell_ready[0], qid: doorbell.number,
                           tail: doorbell.value};
  assign stat_fetch    = '{valid: m_fetch_valid && m_fetch_ready, qid: m_fetch_user.sqid, index: m_fetch_user.index,
                           count: m_fetch.len[12:6]};
  assign stat_decode   = '{valid: m_ctx_valid && !ctx_again, slot: m_ctx_slot, sqid: m_ctx.sqid, cid: m_ctx.cid};

endmodule
