// SPDX-License-Identifier: Apache-2.0
// One more try for the oldest slot, when the drive has answered "not now" (db_host_pkg::says_not_now): a second entry at the
// end of the queue, for the same slot. It is the oldest one's turn alone, so there is never more than one such entry;
// and no slot is given until it has ended, so no place behind it is used, and one number says which place is not that
// of its own slot. Slots given later are one place further on (db_host_slot_state).
//
// Not tried again: what was late (it has had its time, and its Abort), what a reset of the drive takes is repeated or
// ended as ever, and keeps that it has been tried.
// Latency: from done to the new entry's doorbell 2 cycles, 1 more if a part gets a slot meanwhile.
module db_host_slot_retry
  import db_host_pkg::*;
#(
  /// 0: never
  parameter bit RETRY   = 1'b1,
  /// bits of a place in the queue, 4..9
  parameter int PLACE_W = 8
) (
  input  logic               clk,
  input  logic               rst,
  input  slot_state_e        state,
  /// the oldest slot has ended; what stands there of it, from before or now, is "not now"
  input  logic               is_done,
  input  logic               not_now,
  /// it is late; it ends
  input  logic               late,
  input  logic               retire,
  /// a part may get a slot in this cycle
  input  logic               room,
  /// where the next entry goes
  input  logic [PLACE_W-1:0] next_place,

  /// the oldest slot must not end
  output logic               keep,
  /// no slot may be given from the next cycle on
  output logic               hold,
  /// one cycle: the oldest slot gets another entry, at next_place
  output logic               again,
  /// that is under way, at this place
  output logic               second,
  output logic [PLACE_W-1:0] place
);
  if (PLACE_W < 4 || PLACE_W > 9) begin : g_bad
    $error("%m: PLACE_W must be 4 to 9 (is %0d)", PLACE_W);
  end

  if (RETRY) begin : g_retry
    logic wanted_q;  // it shall be tried again, as soon as no part gets a slot
    logic spent_q;   // the oldest slot has been tried again, or was late
    assign keep  = wanted_q || (not_now && !spent_q && state == SLOTS_RUN);  // does not wait for is_done
    assign again = wanted_q && !room && state == SLOTS_RUN;
    assign hold  = wanted_q || second;

    always_ff @(posedge clk) begin
      wanted_q <= (wanted_q || is_done) && keep && !again && state == SLOTS_RUN;
      if (again) begin
        second <= 1'b1;
        place  <= next_place;
      end
      if (again || late) spent_q <= 1'b1;
      if (retire) spent_q <= 1'b0;
      if (retire || state == SLOTS_SWEEP) second <= 1'b0;
      if (rst) begin
        wanted_q <= 1'b0;
        spent_q  <= 1'b0;
        second   <= 1'b0;
      end
    end
  end else begin : g_never
    assign {keep, hold, again, second} = '0;
    assign place = '0;
    logic unused;
    assign unused = &{1'b0, clk, rst, state, is_done, not_now, late, retire, room, next_place};
  end
endmodule
