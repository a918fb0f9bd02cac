// SPDX-License-Identifier: Apache-2.0
// Keeps completions whose queue is full, in one FIFO with room for every command there can be.
//
// All that are parked try again after a head doorbell of a queue that has some, also one that came while the engine
// found the queue full, and when a queue is created or deleted, a submission queue too. A queue's bit falls when all
// are brought back, and rises again with the first that finds the queue full. Latency: one that is parked can be back 2
// cycles later.
module db_ssd_cq_park
  import db_ssd_pkg::*, db_ssd_cq_pkg::*;
#(
  parameter int  NUM_Q      = 33,        ///< completion queues, the admin queue's included
  parameter int  NUM_CMDS   = 128,       ///< command slots, 2..256
  parameter int  ADMIN_CMDS = 16,        ///< admin commands inside at most, 1..136
  localparam int AW         = $clog2(NUM_Q)
) (
  input  logic          clk,
  input  logic          rst,
  input  cq_state_e     state,
  input  logic [AW-1:0] look_queue,      ///< ST_CQ: the queue of the completion at work
  input  logic [AW-1:0] queue,           ///< ... in later states
  input  logic          changed,         ///< a queue is created or deleted
  input  logic [AW-1:0] new_queue,
  input  logic          sq_deleted,      ///< pulse: a submission queue is no more
  input  logic          hit,             ///< a queue's head moves
  input  logic [AW-1:0] hit_queue,
  input  logic          push,            ///< park `work`
  input  finished_t     work,
  input  logic          pop,
  output logic          valid,           ///< `parked` is there
  output logic          any,             ///< parked ones are to try again
  output finished_t     parked
);
  localparam int MARK_W = AW < 4 ? AW : 4, MARKS = 2 ** MARK_W;
  localparam int PARK = 2 ** $clog2(NUM_CMDS + ADMIN_CMDS);
  logic [$clog2(PARK):0]       level, back_d, back_q;  // parked ones to try again
  logic                        again;          // all that are parked try again
  // there are some: a register, since the head doorbell's ready hangs on it
  logic                        any_d, any_q;
  logic [$bits(finished_t)-1:0] parked_data;
  logic [MARKS-1:0]            parked_q;       // queues that have some; queues that share a bit try again together
  logic                        seen_q;         // the head of the queue at work was written since it was looked up
  logic                        hit_work;       // ... is written
  logic                        deleted_q;      // a submission queue is no more: all try again
  logic [6:0]                  late_q;
  db_fifo #(.WIDTH($bits(finished_t)), .DEPTH(PARK)) i_park (
    .clk, .rst, .s_valid(push), .s_ready(), .s_data(work), .m_valid(valid), .m_ready(pop), .m_data(parked_data),
    .level);
  assign parked   = finished_t'(parked_data);
  assign any      = any_q;
  assign hit_work = hit && hit_queue == (state == ST_CQ ? look_queue : queue);
  assign again = (hit && parked_q[hit_queue[MARK_W-1:0]]) || (push && (seen_q || hit_work)) || changed || deleted_q;
  always_comb begin
    back_d = back_q;
    any_d  = any_q;
    if (again) begin
      back_d = level + ($bits(level))'(push) - ($bits(level))'(pop);
      any_d  = push || level[$clog2(PARK):1] != '0 || (level[0] && !pop);
    end else if (pop) begin
      back_d = back_q - 1'b1;
      any_d  = back_q != ($bits(level))'(1);
    end
  end
  always_ff @(posedge clk) begin
    // The lookup knows of the deletion by now; one that is at work may not have: it is parked in 4 cycles at most.
    late_q    <= {late_q[5:0], sq_deleted};
    deleted_q <= sq_deleted || late_q[6];
    seen_q <= hit_work || (seen_q && state != ST_CQ);
    back_q <= back_d;
    any_q  <= any_d;
    if (hit)     parked_q[hit_queue[MARK_W-1:0]] <= 1'b0;
    if (push)    parked_q[queue[MARK_W-1:0]]     <= 1'b1;
    if (changed) parked_q[new_queue[MARK_W-1:0]] <= 1'b0;
    if (rst) begin
      back_q   <= '0;
      any_q    <= 1'b0;
      late_q    <= '0;
      deleted_q <= 1'b0;
      parked_q <= '0;
    end
  end

endmodule
