// SPDX-License-Identifier: Apache-2.0
// Command slots, used and given back in order, so that a submission entry is a function of its place in the queue
// (docs/host/theory.md). Wiring:
//
//   parts -> db_host_slot_alloc (slot, ring space, context) -> db_host_doorbells (queue tails and heads)
//   completions -> db_host_slot_match (which slot, how, when) -> db_host_retire (in order: status, data, ring space)
//   db_host_slot_state: oldest and newest slot, resets; db_host_timeouts: is the oldest late
//   db_host_slot_retry: the oldest is tried a second time
//
// Latency: a part whose data is there to m_doorbell_valid 3 cycles; a completion to its status 5 (oldest slot).
// Throughput: a part every 3 cycles; a completion a cycle; a slot retired every 2 cycles.
module db_host_slots
  import db_nvme_pkg::*, db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS      = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP        = 1,
  /// a command that the drive answers with "not now" is sent once more; needs NUM_QP 1
  parameter bit RETRY         = 1'b0,
  /// bytes of the rings: 4096..8 Mi, a power of 2
  parameter int WR_RING_BYTES = 65536,
  parameter int RD_RING_BYTES = 524288
) (
  input  logic             clk,
  input  logic             rst,
  /// the drive has its I/O queues, empty at the rising edge
  input  logic             io_up,
  /// it will not come back by itself: all ends with a path error
  input  logic             io_dead,
  /// submit again what a reset took, else end it as aborted by the host
  input  logic             repeat_on_reset,
  /// entries of each I/O queue: a power of 2, 4..2 x NUM_CMDS / NUM_QP
  input  logic [15:0]      sq_size,
  /// cycles until a command is late; 0: never
  input  logic [31:0]      cmd_timeout,

  input  logic             s_part_valid,
  output logic             s_part_ready,
  input  part_t            s_part,
  /// rings, in units of 512 bytes that only grow (modulo 2^32)
  input  logic [31:0]      wr_fill,
  output logic [31:0]      wr_freed,
  input  logic [31:0]      rd_freed,
  /// what submission entries are made from, the cycle after s_ctx_re
  input  logic             s_ctx_re,
  input  logic [CID_W-1:0] s_ctx_slot,
  output entry_ctx_t       m_ctx,
  output slot_map_t        map,

  /// one cycle: the drive's completion queues are new
  output logic             cqe_start,
  input  logic             s_cqe_valid,
  input  cqe_t             s_cqe,
  /// next place of each completion queue
  input  logic [3:0][15:0] cq_head,
  /// falls without ready when io_up does
  output logic             m_doorbell_valid,
  input  logic             m_doorbell_ready,
  output doorbell_t        m_doorbell,
  /// the oldest command, when it is too old; held until it is not
  output logic             m_late_valid,
  output late_cmd_t        m_late,

  /// block_status_t, in the order of the commands
  output logic [63:0]      m_axis_status_tdata,
  output logic             m_axis_status_tvalid,
  input  logic             m_axis_status_tready,
  /// data of a part of a Read may go out
  output logic             m_out_valid,
  input  logic             m_out_ready,
  output out_cmd_t         m_out,
  /// no slot in use
  output logic             empty,
  /// one cycle: a part got its slot
  output logic             stat_doorbell,
  /// one cycle: the oldest command has ended as the drive says
  output logic             stat_retire,
  /// one cycle: it is sent once more
  output logic             stat_retry,
  /// one cycle: a completion of a command in flight; one of a command that is not
  output logic             stat_cqe,
  output logic             stat_bad
);
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS);

  if (NUM_CMDS < 8 || NUM_CMDS > 256 || (NUM_CMDS & (NUM_CMDS - 1)) != 0 || !(NUM_QP inside {1, 2, 4})) begin : g_bad
    $error("%m: NUM_CMDS 8..256, a power of 2 (is %0d), NUM_QP 1, 2 or 4 (is %0d)", NUM_CMDS, NUM_QP);
  end
  if (RETRY && NUM_QP != 1) begin : g_bad_retry
    $error("%m: RETRY needs NUM_QP 1 (is %0d): nothing tells what was read of other queues", NUM_QP);
  end

  slot_state_e          state;
  logic                 drained, below_limit, take, room, bad_now, retire, is_done, odd, sweeping, keep, hold,
                        again, second;
  logic [SLOT_LOG2:0]   count, next_place, place;
  logic [CID_W-1:0]     map_base, map_mask;
  logic [SLOT_LOG2-1:0] issue_slot, retire_slot, sweep_slot;
  logic [GEN_W-1:0]     issue_gen, retire_gen, next_gen;
  logic [1:0]           retire_qp;
  logic [13:0]          buf512;
  slot_done_t           done;
  logic [31:0]          age;

  db_host_slot_state #(.NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP)) i_state (
    .clk, .rst, .io_up, .io_dead, .repeat_on_reset, .sq_size, .take, .room, .retire, .second, .state, .drained, .count,
    .empty, .below_limit, .issue_slot, .issue_gen, .retire_slot, .odd, .retire_gen, .next_gen, .retire_qp, .sweep_slot,
    .map_base, .map_mask, .cqe_start
  );
  assign map = '{second: second, place: 9'(place), oldest: CID_W'(retire_slot), base: map_base, mask: map_mask};
  db_host_slot_retry #(.RETRY(RETRY), .PLACE_W(SLOT_LOG2 + 1)) i_retry (
    .clk, .rst, .state, .is_done, .not_now(done.not_now), .late(m_late_valid), .retire, .room, .next_place, .keep,
    .hold, .again, .second, .place
  );
  db_host_slot_alloc #(
    .NUM_CMDS(NUM_CMDS), .WR_RING_BYTES(WR_RING_BYTES), .RD_RING_BYTES(RD_RING_BYTES)
  ) i_alloc (
    .clk, .rst, .s_part_valid, .s_part_ready, .s_part, .wr_fill, .rd_freed, .io_dead, .state, .drained, .empty,
    .below_limit, .hold, .issue_slot, .issue_gen, .status_busy(m_axis_status_tvalid), .take, .buf512, .room, .bad_now,
    .s_ctx_re, .s_ctx_slot, .m_ctx
  );
  db_host_slot_match #(.RETRY(RETRY), .NUM_CMDS(NUM_CMDS)) i_match (
    .clk, .rst, .state, .take, .issue_slot, .again, .second, .sweep_slot, .slot_mask(map_mask), .count, .retire_slot,
    .odd, .retire_gen, .next_gen, .s_cqe_valid, .s_cqe, .done, .age, .sweeping, .stat_cqe, .stat_bad
  );
  db_host_retire #(
    .NUM_CMDS(NUM_CMDS), .RING_BYTES((WR_RING_BYTES > RD_RING_BYTES) ? WR_RING_BYTES : RD_RING_BYTES)
  ) i_retire (
    .clk, .rst, .take, .issue_slot, .s_part, .buf512, .bad_now, .io_dead, .state, .drained, .sweeping, .empty,
    .retire_slot, .odd, .second, .keep, .done, .retire, .is_done, .wr_freed, .m_axis_status_tdata,
    .m_axis_status_tvalid, .m_axis_status_tready, .m_out_valid, .m_out_ready, .m_out, .stat_retire
  );
  db_host_doorbells #(.NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP)) i_doorbells (
    .clk, .rst, .sq_size, .state, .take, .again, .count, .cq_head, .m_doorbell_valid, .m_doorbell_ready, .m_doorbell,
    .next_place
  );
  db_host_timeouts #(.NUM_CMDS(NUM_CMDS)) i_timeouts (
    .clk, .rst, .cmd_timeout, .state, .take, .again, .second, .retire, .is_done, .empty, .retire_slot, .retire_gen,
    .retire_qp, .s_cqe_valid, .age, .m_late_valid, .m_late
  );
  assign stat_doorbell = take;
  assign stat_retry    = again;
endmodule
