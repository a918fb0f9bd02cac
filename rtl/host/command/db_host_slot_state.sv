// SPDX-License-Identifier: Apache-2.0
// Which slots are in use: the oldest and the newest, by sequence number, and what happens to them when the drive's
// queues come and go.
//
// Sequence numbers count slots; the bit above the slot tells one round from the next. When the drive has its queues, a
// sweep first marks every slot as not done; then slots that a reset took are submitted again from place 0 on, or, where
// that is not wanted or not possible, drained: they end with a status that the host makes. Each round through the slots
// is a generation, and so is each start with none in use: a completion entry that comes again when its slot has been
// given to another command is none of that command's.
// Latency: all outputs are registers or a few gates behind them; the sweep takes NUM_CMDS cycles.
module db_host_slot_state
  import db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP   = 1,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic                 clk,
  input  logic                 rst,
  /// the drive has its I/O queues, empty at the rising edge
  input  logic                 io_up,
  /// it will not come back by itself: all ends with a path error
  input  logic                 io_dead,
  /// submit again what a reset took, else end it as aborted by the host
  input  logic                 repeat_on_reset,
  /// entries of each I/O queue: a power of 2, 4..2 x NUM_CMDS / NUM_QP
  input  logic [15:0]          sq_size,
  /// a part gets the newest slot; one may do so in the next cycle
  input  logic                 take,
  input  logic                 room,
  /// the oldest slot ends; it has had two places of its queue
  input  logic                 retire,
  input  logic                 second,

  output slot_state_e          state,
  /// SLOTS_DRAIN: what was in flight is gone; what comes now has no completion
  output logic                 drained,
  /// slots in use; there are none; one more may be given
  output logic [SLOT_LOG2:0]   count,
  output logic                 empty,
  output logic                 below_limit,
  /// the newest slot and its generation
  output logic [SLOT_LOG2-1:0] issue_slot,
  output logic [GEN_W-1:0]     issue_gen,
  /// the oldest slot, the round that it is of, its generation and the one after
  output logic [SLOT_LOG2-1:0] retire_slot,
  output logic                 odd,
  output logic [GEN_W-1:0]     retire_gen,
  output logic [GEN_W-1:0]     next_gen,
  /// queue pair of the oldest slot, 0 the first
  output logic [1:0]           retire_qp,
  /// SLOTS_SWEEP: the slot to be marked
  output logic [SLOT_LOG2-1:0] sweep_slot,
  /// slot of place 0 of the first queue pair; slots in use - 1
  output logic [CID_W-1:0]     map_base,
  output logic [CID_W-1:0]     map_mask,
  /// one cycle: the drive's completion queues are new
  output logic                 cqe_start
);
  typedef logic [SLOT_LOG2:0] seq_t;

  slot_state_e state_q;
  seq_t        issue_q, retire_q, base_q, sweep_q;
  logic [SLOT_LOG2-1:0] mask_q;   // slots in use - 1
  seq_t        limit_q;
  seq_t        wrap_q;            // slots in use: the bit above the slot
  seq_t        slots, slots_q;    // what the drive's queues allow
  logic        swept_q;           // the first sweep after rst is done
  logic        drained_q;
  logic        ending, fresh;     // fresh: the slots begin anew

  assign count       = (issue_q - retire_q) & (wrap_q | seq_t'(mask_q));
  // count is 0, with no carry to wait for
  assign empty       = ((issue_q ^ retire_q) & (wrap_q | seq_t'(mask_q))) == '0;
  assign below_limit = count < limit_q;
  assign odd         = |(retire_q & wrap_q);
  assign issue_slot  = SLOT_LOG2'(issue_q) & mask_q;
  assign retire_slot = SLOT_LOG2'(retire_q) & mask_q;
  assign retire_qp   = 2'(32'(retire_q - base_q) & 32'(NUM_QP - 1));
  assign sweep_slot  = SLOT_LOG2'(sweep_q);
  assign map_base    = CID_W'(SLOT_LOG2'(base_q) & mask_q);
  assign map_mask    = CID_W'(mask_q);
  assign state       = state_q;
  assign drained     = drained_q;
  assign ending      = state_q == SLOTS_DRAIN;

  // ---- generations
  assign fresh = state_q == SLOTS_WAIT && empty && io_up;
  always_ff @(posedge clk) begin
    if (fresh || (take && issue_slot == mask_q)) issue_gen <= issue_gen + 1'b1;
    if (fresh) begin
      retire_gen <= issue_gen + 1'b1;
      next_gen   <= issue_gen + GEN_W'(2);
    end else if (retire && retire_slot == mask_q) begin
      retire_gen <= next_gen;
      next_gen   <= next_gen + 1'b1;
    end
    if (rst) begin
      issue_gen  <= '0;
      retire_gen <= '0;
      next_gen   <= GEN_W'(1);
    end
  end

  // ---- states
  assign slots = (32'(sq_size) * NUM_QP >= NUM_CMDS) ? seq_t'(NUM_CMDS) : seq_t'(32'(sq_size) * NUM_QP);

  always_ff @(posedge clk) begin
    slots_q   <= slots;
    cqe_start <= 1'b0;
    if (take) issue_q <= issue_q + seq_t'(1);
    if (retire) retire_q <= retire_q + seq_t'(1);
    if (retire && second) base_q <= base_q - seq_t'(1);
    drained_q <= ending && (drained_q || empty);
    unique case (state_q)
      SLOTS_WAIT: begin
        sweep_q <= '0;
        if (!empty && (io_dead || !repeat_on_reset || (io_up && wrap_q != slots_q))) begin
          state_q <= SLOTS_DRAIN;
        end else if (io_up) begin
          state_q   <= SLOTS_SWEEP;
          cqe_start <= 1'b1;
          if (empty) begin
            mask_q   <= SLOT_LOG2'(slots_q - 1'b1);
            wrap_q   <= slots_q;
            issue_q  <= '0;
            retire_q <= '0;
            base_q   <= '0;
          end else begin
            base_q <= retire_q;
          end
        end else if (io_dead) begin
          state_q <= SLOTS_DRAIN;
        end
        // as many as fit into the queues, one place of each always free
        limit_q <= io_dead ? wrap_q >> 1 :
                   (32'(sq_size) * NUM_QP > NUM_CMDS) ? seq_t'(NUM_CMDS) : seq_t'(32'(sq_size) * NUM_QP - NUM_QP);
      end
      SLOTS_SWEEP: begin
        sweep_q <= sweep_q + seq_t'(1);
        if (sweep_q == seq_t'(NUM_CMDS - 1)) begin
          state_q <= (swept_q && io_up) ? SLOTS_RUN : SLOTS_WAIT;
          swept_q <= 1'b1;
        end
      end
      SLOTS_RUN: if (!io_up) state_q <= SLOTS_WAIT;
      default: if (empty && !take && !room && !io_dead) state_q <= SLOTS_WAIT;
    endcase
    if (rst) begin
      state_q   <= SLOTS_SWEEP;  // the RAM has no reset
      sweep_q   <= '0;
      issue_q   <= '0;
      retire_q  <= '0;
      base_q    <= '0;
      mask_q    <= SLOT_LOG2'(NUM_CMDS - 1);
      wrap_q    <= seq_t'(NUM_CMDS);
      limit_q   <= seq_t'(NUM_CMDS / 2);
      swept_q   <= 1'b0;
      drained_q <= 1'b0;
      cqe_start <= 1'b0;
    end
  end
endmodule
