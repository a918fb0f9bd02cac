// SPDX-License-Identifier: Apache-2.0
// Collects completions: by slot from decode and both engines, in full from the firmware, which has some by slot too.
//
// Looks a slot's command up, counts what SMART / health reports (Base 2.0, 5.16.1.3) and tells the firmware about
// commands that failed, for the error log. An error that finds the firmware's queue full is not logged. The completion
// of a command that was aborted goes on marked: no entry is made for it. A near-storage command that stores comes twice: when
// its first part has ended well, it goes by m_again instead, to come as a Write (db_ssd_near_store); a Memory Copy comes once
// for its list and once for each range (db_ssd_copy).
// Latency: 1 cycle: the slot that wins is read at once. Throughput: a completion every 2 cycles.
module db_ssd_completion_collect
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_FN   = 1,                   ///< functions, 1..17: with several the firmware ends some by slot
  parameter int NUM_CMDS = 128,                 ///< command slots, 2..256
  parameter bit NEAR     = 1'b0                 ///< has near-storage commands
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic                   rst_counters,  ///< power-on: counters outlive all other resets
  /// Slot contexts, from decode.
  input  logic                   s_ctx_valid,
  input  logic [SLOT_W-1:0]      s_ctx_slot,
  input  slot_ctx_t              s_ctx,
  /// Completions by slot: [0] decode, [1] read engine, [2] write engine.
  input  logic [2:0]             s_slot_valid,
  output logic [2:0]             s_slot_ready,
  input  slot_completion_t [2:0] s_slot,
  /// What a near-storage command came to.
  input  logic                   s_near_valid,
  input  near_result_t           s_near,
  /// Pulse: one of them has been taken; was its command aborted (db_ssd_abort)? In the same cycle.
  output logic                   done_valid,
  output logic [SLOT_W-1:0]      done_slot,
  input  logic                   done_aborted,
  output logic                   done_again,    ///< ... it is not over, and keeps its slot
  output logic                   m_again_valid, ///< its next part is to come; its context comes anew
  input  logic                   m_again_ready,
  output near_again_t            m_again,
  /// Completions of the firmware's commands.
  input  logic                   s_admin_valid,
  output logic                   s_admin_ready,
  input  completion_t            s_admin,
  output logic                   busy,          ///< one is here
  output logic                   m_finished_valid,
  input  logic                   m_finished_ready,
  output finished_t              m_finished,
  output logic                   m_error_valid,
  input  logic                   m_error_ready,
  output error_log_t             m_error,
  /// pulse: a command met a media error; [0] read engine, [1] write engine
  input  logic [1:0]             media_err,
  output smart_counters_t        smart          ///< commands that succeeded, and media errors
);
  localparam int AW = $clog2(NUM_CMDS);

  logic        out_q;              // a completion is here, with its slot's command
  logic [3:0]  req, gnt;
  logic [1:0]  gnt_idx;
  logic        by_slot;            // the firmware's is of a slot
  logic        any, admin_q, drop, drop_q;
  slot_completion_t slot_q, slot_sel;
  completion_t full_q;

  typedef struct packed {  // of a slot's context, what is read here
    logic             copies, stores, computes;
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [31:0]      nsid;
    logic [63:0]      slba;
    logic [31:9]      sectors;
    logic             counts_read, counts_write;
  } kept_t;
  kept_t                    kept, ctx;
  localparam int KEPT_W = $bits(kept_t) - 3 * int'(!NEAR);
  logic [KEPT_W-1:0]        ctx_rdata;
  assign kept = '{copies: s_ctx.desc.copies, stores: s_ctx.desc.stores, computes: s_ctx.desc.computes, fn: s_ctx.fn,
                  sqid: s_ctx.sqid, cid: s_ctx.cid, nsid: s_ctx.nsid, slba: s_ctx.slba, sectors: s_ctx.bytes[31:9],
                  counts_read: s_ctx.desc.counts_read, counts_write: s_ctx.desc.counts_write};
  db_ram_sdp #(.WIDTH(KEPT_W), .DEPTH(NUM_CMDS), .APART(1'b1)) i_ctx (
    .clk, .we(s_ctx_valid), .waddr(s_ctx_slot[AW-1:0]), .wdata(kept[KEPT_W-1:0]), .re(!out_q),
    .raddr(slot_sel.slot[AW-1:0]), .rdata(ctx_rdata));
  assign ctx = kept_t'(ctx_rdata);
  assert property (@(posedge clk) disable iff (rst)
                   !(s_ctx_valid && !out_q && any && (!gnt[3] || by_slot) && s_ctx_slot == slot_sel.slot));
  logic        slot_failed_q, failed;
  status_t     ended;                // with what the operators say, and dword 0
  logic [31:0] dw0;
  if (NEAR) begin : g_near
    db_ssd_near_results #(.NUM_CMDS(NUM_CMDS)) i_near (
      .clk, .s_valid(s_near_valid), .s_result(s_near), .look(!out_q), .look_slot(slot_sel.slot),
      .computes(ctx.computes), .s_status(slot_q.status), .s_failed(slot_failed_q), .m_status(ended),
      .m_failed(failed), .m_dw0(dw0));
  end else begin : g_no_near
    logic unused_ok;
    assign {ended, failed, dw0} = {slot_q.status, slot_failed_q, 32'd0};
    assign unused_ok     = &{1'b0, s_near_valid, s_near, ctx.computes, kept.computes, kept.stores, kept.copies};
  end

  assign by_slot = NUM_FN > 1 && s_admin.io;
  assign req = {s_admin_valid, s_slot_valid};
  // Round robin from the one behind the last winner: a function of six bits for each grant.
  logic [1:0] last_q;
  always_comb begin
    gnt = req;
    for (int i = 0; i < 4; i++) begin
      for (int j = 0; j < 4; j++) begin
        if (req[j] && 2'(2'(j) - last_q - 2'd1) < 2'(2'(i) - last_q - 2'd1)) gnt[i] = 1'b0;
      end
    end
  end
  assign any     = req != '0;
  assign gnt_idx = {gnt[3] || gnt[2], gnt[3] || gnt[1]};
  always_ff @(posedge clk) begin
    if (!out_q && any) last_q <= gnt_idx;
    if (rst) last_q <= '0;
  end
  assign {s_admin_ready, s_slot_ready} = out_q ? 4'd0 : gnt;
  always_comb begin
    unique case (gnt_idx)
      2'd1:    slot_sel = s_slot[1];
      2'd2:    slot_sel = s_slot[2];
      2'd3:    slot_sel = by_slot ? '{slot: s_admin.sqid, status: s_admin.status} : s_slot[0];
      default: slot_sel = s_slot[0];
    endcase
  end

  logic first_q;
  // Its end is final in its first cycle here: then done_valid.
  assign done_slot  = slot_q.slot;
  assign drop       = first_q ? done_valid && done_aborted : drop_q;
  always_ff @(posedge clk) drop_q <= drop;

  logic again;
  assign again         = NEAR && !admin_q && (ctx.stores || ctx.copies) && !failed && !drop;
  assign done_again    = again;
  assign m_again_valid = out_q && again;
  assign m_again       = '{copies: ctx.copies, slot: slot_q.slot, fn: ctx.fn, sqid: ctx.sqid, cid: ctx.cid,
                            nsid: ctx.nsid};

  assign busy             = out_q;
  assign m_finished_valid = out_q && !again;
  assign m_finished.io    = !admin_q;
  assign m_finished.drop  = drop;
  assign m_finished.slot  = slot_q.slot;
  assign m_finished.completion = admin_q ? full_q :
                                 '{io: 1'b0, fn: ctx.fn, sqid: ctx.sqid, cid: ctx.cid, status: ended,
                                   dw0: dw0};
  always_ff @(posedge clk) begin
    first_q    <= !out_q;
    done_valid <= !out_q && any && (!gnt[3] || by_slot) && !rst;
    if (!out_q) begin
      admin_q <= gnt[3] && !by_slot;
      slot_q  <= slot_sel;
      slot_failed_q <= slot_sel.status != '0;
      full_q  <= s_admin;
      out_q   <= any;
    end else if (again ? m_again_ready : m_finished_ready) out_q <= 1'b0;
    if (m_error_ready) m_error_valid <= 1'b0;
    if (done_valid && !drop && failed && !m_error_valid) begin
      m_error_valid <= 1'b1;
      m_error       <= '{sqid: ctx.sqid, cid: ctx.cid, status: ended, nsid: ctx.nsid, lba: ctx.slba};
    end
    if (rst) begin
      out_q         <= 1'b0;
      m_error_valid <= 1'b0;
    end
  end

  logic count_q;                     // a cycle later: its context still stands
  always_ff @(posedge clk) begin
    count_q <= done_valid && !drop && !failed;
    if (count_q && ctx.counts_read) begin
      smart.read_cmds    <= smart.read_cmds + SMART_W'(1);
      smart.read_sectors <= smart.read_sectors + SMART_W'(ctx.sectors);
    end
    if (count_q && ctx.counts_write) begin
      smart.write_cmds    <= smart.write_cmds + SMART_W'(1);
      smart.write_sectors <= smart.write_sectors + SMART_W'(ctx.sectors);
    end
    smart.media_errors <= smart.media_errors + SMART_W'(media_err[0]) + SMART_W'(media_err[1]);
    if (rst_counters) smart <= '0;
  end

endmodule
