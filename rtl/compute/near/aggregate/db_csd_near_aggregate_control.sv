// SPDX-License-Identifier: Apache-2.0
// Takes the end of each packet through its steps, gives the three words, and says when another packet may end.
//
// Steps 0 to 7 read what the rows have come to, 8 to 11 work on it, 12 to 14 are the words. The next packet's last
// row may go on in step 2: it arrives behind step 7.
// Throughput: a packet in 15 cycles.
module db_csd_near_aggregate_control
  import db_csd_near_pkg::*;
#(
  parameter int SUM_W = 82  ///< bits of the sum
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             s_last_goes,   ///< a last row goes on: the room is taken
  output logic             m_room,
  input  logic             s_done,        ///< what a packet's rows have come to is there
  output logic [3:0]       step,
  input  logic [20:0]      s_count,       ///< from step 12 on, like those that follow
  input  logic [SUM_W-1:0] s_sum,
  input  logic [63:0]      s_least,
  input  logic [63:0]      s_greatest,
  output logic             m_word_valid,
  input  logic             m_word_ready,
  output near_word_t       m_word
);
  localparam logic [3:0] STEP_ROOM  = 4'd2;
  localparam logic [3:0] STEP_WORDS = 4'd12;
  localparam logic [3:0] STEP_LAST  = 4'd14;
  localparam logic [3:0] STEP_NONE  = 4'd15;

  logic       room_q, done_q, words, steps, begins, word_valid_q;
  logic [3:0] step_q;
  near_word_t word_q;
  assign words  = step_q >= STEP_WORDS && step_q != STEP_NONE;
  assign steps  = step_q != STEP_NONE && (!words || !word_valid_q || m_word_ready);
  assign begins = done_q && (step_q == STEP_NONE || (step_q == STEP_LAST && steps));

  always_ff @(posedge clk) begin
    if (begins) step_q <= '0;
    else if (steps) step_q <= step_q + 4'd1;
    done_q <= s_done || (done_q && !begins);
    room_q <= (room_q || step_q == STEP_ROOM) && !s_last_goes;
    if (!word_valid_q || m_word_ready) begin
      word_valid_q <= words;
      word_q.last  <= step_q == STEP_LAST;
      unique case (step_q[1:0])
        2'd0:    word_q.data <= 128'(s_count);
        2'd1:    word_q.data <= 128'($signed(s_sum));
        default: word_q.data <= {s_greatest, s_least};
      endcase
      if (step_q == STEP_LAST && s_count == '0) word_q.data <= '0;
    end
    if (rst) begin
      step_q       <= STEP_NONE;
      done_q       <= 1'b0;
      room_q       <= 1'b1;
      word_valid_q <= 1'b0;
    end
  end
  assign m_room       = room_q;
  assign step         = step_q;
  assign m_word_valid = word_valid_q;
  assign m_word       = word_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_done) assert ((!done_q || begins) && (step_q == STEP_NONE || step_q > 4'd7));
`endif
endmodule
