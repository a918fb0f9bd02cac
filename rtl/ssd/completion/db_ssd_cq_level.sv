// SPDX-License-Identifier: Apache-2.0
// Which completion queues hold entries, a bit a queue: for the level-triggered INTx.
//
// A tail that moves while a doorbell is on its way (hit_tail is two cycles old when it is used) keeps the bit set.
// Latency: 3 cycles.
module db_ssd_cq_level
  import db_ssd_pkg::*;
#(
  parameter int  NUM_Q = 33,              ///< completion queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic          clk,
  input  logic          rst,
  input  logic          changed,          ///< new_queue becomes s_queue_ctx
  input  logic [AW-1:0] new_queue,
  input  queue_ctx_t    s_queue_ctx,
  input  logic          sent,             ///< an entry goes into `queue`
  input  logic [AW-1:0] queue,
  input  logic          hit,              ///< the head of hit_queue becomes hit_value
  input  logic [AW-1:0] hit_queue,
  input  logic [15:0]   hit_value,
  input  logic [15:0]   hit_tail,         ///< its tail, two cycles ago
  output logic          any_entries       ///< a queue with interrupts enabled holds entries
);
  logic [NUM_Q-1:0] entries_q, ien_q;
  logic             moved1_q, moved2_q, emptied, clear_q;
  logic [AW-1:0]    moved1_queue_q, moved2_queue_q, clear_queue_q;
  // An entry that is sent in this very cycle sets the bit a cycle later.
  assign emptied = hit && hit_value == hit_tail && !(moved1_q && moved1_queue_q == hit_queue) &&
                   !(moved2_q && moved2_queue_q == hit_queue);
  always_ff @(posedge clk) begin
    moved1_q       <= sent;
    moved1_queue_q <= queue;
    moved2_q       <= moved1_q;
    moved2_queue_q <= moved1_queue_q;
    // No doorbell is on its way when a queue changes.
    clear_q       <= emptied || changed;
    clear_queue_q <= changed ? new_queue : hit_queue;
    if (clear_q)  entries_q[clear_queue_q]  <= 1'b0;
    if (moved1_q) entries_q[moved1_queue_q] <= 1'b1;
    if (changed)  ien_q[new_queue]          <= s_queue_ctx.ien && s_queue_ctx.valid;
    any_entries <= (entries_q & ien_q) != '0;
    if (rst) begin
      ien_q       <= '0;
      entries_q   <= '0;
      any_entries <= 1'b0;
      clear_q     <= 1'b0;
      moved1_q    <= 1'b0;
      moved2_q    <= 1'b0;
    end
  end

endmodule
