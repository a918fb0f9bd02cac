// SPDX-License-Identifier: Apache-2.0
// Completions and the slots that they end: says of the oldest slot whether it is done, how, and after how many cycles.
//
// A completion counts if its slot lies between the oldest and the newest and its identifier has the generation that
// the slot has now. Any other one (a repeated entry, one of a command that nobody gave) is counted as bad and changes
// nothing: no slot, no status, no data. Its place in the completion queue is given back all the same.
// Latency: 3 cycles from s_cqe to its slot's done, 1 more for a read of the oldest slot. Throughput: one every cycle.
module db_host_slot_match
  import db_nvme_pkg::*, db_host_pkg::*;
#(
  /// slots can be tried a second time: a completion says whether it is worth it
  parameter bit RETRY    = 1'b0,
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS = 128,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic                 clk,
  input  logic                 rst,
  input  slot_state_e          state,
  /// a part gets issue_slot: its time starts
  input  logic                 take,
  input  logic [SLOT_LOG2-1:0] issue_slot,
  /// the oldest slot is tried again: its time starts anew; that is under way
  input  logic                 again,
  input  logic                 second,
  /// SLOTS_SWEEP: this slot is marked as not done
  input  logic [SLOT_LOG2-1:0] sweep_slot,
  /// slots that may be in use - 1
  input  logic [CID_W-1:0]     slot_mask,
  /// slots in use, the oldest, its round, generation, and the generation after
  input  logic [SLOT_LOG2:0]   count,
  input  logic [SLOT_LOG2-1:0] retire_slot,
  input  logic                 odd,
  input  logic [GEN_W-1:0]     retire_gen,
  input  logic [GEN_W-1:0]     next_gen,
  input  logic                 s_cqe_valid,
  input  cqe_t                 s_cqe,

  /// of the slot that was retire_slot a cycle ago; it is done if `odd` is that of its round
  output slot_done_t           done,
  /// cycles since the doorbell of the slot that was retire_slot a cycle ago; of a completion's if there was one then
  output logic [31:0]          age,
  /// the sweep has not come through yet
  output logic                 sweeping,
  /// one cycle: a completion of a command in flight; one of a command that is not
  output logic                 stat_cqe,
  output logic                 stat_bad
);
  logic [31:0]          now_q, born;
  logic [SLOT_LOG2-1:0] cqe_slot, slot1_q, slot2_q, ahead;
  logic                 cqe1_q, cqe2_q, in_flight;
  logic                 sweep1_q, sweep2_q;  // the sweep goes through the same registers: the slot's round, inverted
  logic                 below;               // of the round after the oldest slot's
  logic [GEN_W-1:0]     gen;
  cqe_t                 cqe_q;
  slot_done_t           done_new;
  logic [SLOT_LOG2-1:0] mask;
  assign mask     = SLOT_LOG2'(slot_mask);
  assign cqe_slot = SLOT_LOG2'(s_cqe.cid) & mask;

  logic [SLOT_LOG2-1:0] starts;
  assign starts = (state == SLOTS_SWEEP) ? sweep_slot : again ? retire_slot : issue_slot;

  // Doorbell time of each slot; read for completions, otherwise for the oldest.
  db_ram_sdp #(
    .WIDTH(32),
    .DEPTH(NUM_CMDS)
  ) i_born (
    .clk,
    .we(take || again || state == SLOTS_SWEEP), .waddr(starts), .wdata(now_q),
    .re(1'b1), .raddr(s_cqe_valid ? cqe_slot : retire_slot), .rdata(born)
  );
  assign age = now_q - born;

  // In flight is what lies between the oldest and the newest slot, of the right generation and try.
  assign gen       = cqe_q.cid[CID_W+:GEN_W];
  assign below     = slot1_q < retire_slot;
  assign ahead     = (slot1_q - retire_slot) & mask;
  assign in_flight = cqe_q.cid[CID_W-1:0] == CID_W'(slot1_q) &&
                     cqe_q.cid[15:CID_W+GEN_W] == {3'd0, second && slot1_q == retire_slot} &&
                     (below ? gen == next_gen : gen == retire_gen) && (SLOT_LOG2 + 1)'(ahead) < count;

  always_ff @(posedge clk) begin
    now_q            <= now_q + 32'd1;
    sweep1_q         <= state == SLOTS_SWEEP && !rst;
    sweep2_q         <= sweep1_q && !rst;
    cqe1_q           <= s_cqe_valid && state == SLOTS_RUN;
    cqe_q            <= s_cqe;
    slot1_q          <= (state == SLOTS_SWEEP) ? sweep_slot : cqe_slot;
    slot2_q          <= slot1_q;
    cqe2_q           <= cqe1_q && in_flight;
    done_new.not_now <= RETRY && says_not_now(cqe_q.status);
    done_new.second  <= RETRY && cqe_q.cid[CID_W+GEN_W];
    done_new.odd     <= odd ^ below ^ sweep1_q;  // the round of a slot, from its number alone
    done_new.status  <= cqe_q.status;
    done_new.latency <= age;
    stat_cqe         <= cqe1_q && in_flight;
    stat_bad         <= cqe1_q && !in_flight;
    if (rst || state != SLOTS_RUN) begin
      cqe1_q <= 1'b0;
      cqe2_q <= 1'b0;
    end
    if (rst) begin
      now_q    <= '0;
      stat_cqe <= 1'b0;
      stat_bad <= 1'b0;
    end
  end
  assign sweeping = sweep1_q || sweep2_q;

  // How each slot has ended, in block RAM: yosys would make it of LUTs.
  localparam int DONE_W = $bits(slot_done_t) - (RETRY ? 0 : 2);
  (* ram_style = "block" *) logic [DONE_W-1:0] done_mem_q[NUM_CMDS];
  logic [DONE_W-1:0] done_q;
  always_ff @(posedge clk) begin
    if (cqe2_q || sweep2_q) done_mem_q[slot2_q] <= DONE_W'(done_new);
    done_q <= done_mem_q[retire_slot];
  end
  assign done = slot_done_t'($bits(slot_done_t)'(done_q));
endmodule
