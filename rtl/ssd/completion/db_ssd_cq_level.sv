// SPDX-License-Identifier: Apache-2.0
// How many completion queues with interrupts enabled hold entries: for the level-triggered INTx.
//
// Whether a queue does is the difference of two bits: one is written when an entry is sent, one when the host has read
// all. So each of two memories has one writer, and both may change in one cycle. A tail that moves while a doorbell is
// on its way (hit_tail is two cycles old when it is used) keeps the queue's difference. Latency: 3 cycles.
module db_ssd_cq_level
  import db_ssd_pkg::*;
#(
  parameter int  NUM_Q = 33,              ///< completion queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic          clk,
  input  logic          rst,
  input  logic          init,             ///< for NUM_Q cycles after reset, in which nothing else happens
  input  logic          changed,          ///< new_queue is created or deleted: it is empty
  input  logic [AW-1:0] new_queue,
  input  logic          sent,             ///< an entry goes into `queue`
  input  logic          ien,              ///< ... its interrupts are enabled
  input  logic [AW-1:0] queue,
  input  logic          hit,              ///< the head of hit_queue becomes hit_value
  input  logic [AW-1:0] hit_queue,
  input  logic [15:0]   hit_value,
  input  logic [15:0]   hit_tail,         ///< its tail, two cycles ago
  output logic          any_entries       ///< a queue with interrupts enabled holds entries
);
  logic          filled_q [NUM_Q], emptied_q [NUM_Q];
  logic          moved1_q, moved2_q, emptied, clear_q, init_q, clearing, set, clear;
  logic [AW-1:0] moved1_queue_q, moved2_queue_q, clear_queue_q;
  logic [AW:0]   holding_q;               // queues that hold entries
  // An entry that is sent in this very cycle counts a cycle later.
  assign emptied  = hit && hit_value == hit_tail && !(moved1_q && moved1_queue_q == hit_queue) &&
                    !(moved2_q && moved2_queue_q == hit_queue);
  assign clearing = clear_q && !(moved1_q && moved1_queue_q == clear_queue_q);
  assign set      = moved1_q && filled_q[moved1_queue_q] == emptied_q[moved1_queue_q];
  assign clear    = clearing && !init_q && filled_q[clear_queue_q] != emptied_q[clear_queue_q];
  always_ff @(posedge clk) begin
    moved1_q       <= sent && ien;
    moved1_queue_q <= queue;
    moved2_q       <= moved1_q;
    moved2_queue_q <= moved1_queue_q;
    // No doorbell is on its way when a queue changes.
    clear_q       <= emptied || changed || init;
    init_q        <= init;
    clear_queue_q <= init ? clear_queue_q + AW'(clear_q) : changed ? new_queue : hit_queue;
    if (moved1_q) filled_q[moved1_queue_q] <= !emptied_q[moved1_queue_q];
    if (clearing) emptied_q[clear_queue_q] <= filled_q[clear_queue_q];
    if (set != clear) holding_q <= set ? holding_q + 1'b1 : holding_q - 1'b1;
    any_entries <= holding_q != '0;
    if (rst) begin
      holding_q     <= '0;
      any_entries   <= 1'b0;
      clear_q       <= 1'b0;
      clear_queue_q <= '0;
      moved1_q      <= 1'b0;
      moved2_q      <= 1'b0;
    end
  end

endmodule
