// SPDX-License-Identifier: Apache-2.0
// Part of Csv: what a packet's rows have come to, as numbers; digit by digit, the highest first: ten times what there is,
// and the next.
//
// Step 0 to 17 read the digits, 1 to 18 add them, 19 puts a minus where there is one, 20 to 23 are the words. The next
// packet's last row may go on in step 8: what it comes to arrives behind step 17.
// Throughput: a packet in 24 cycles.
module db_csd_near_csv_total
  import db_csd_near_pkg::*, db_csd_near_csv_pkg::*;
#(
  parameter int SUM_W = 25  ///< bits of a sum of digits
) (
  input  logic                         clk,
  input  logic                         rst,
  input  logic                         s_last_goes,  ///< a last row goes on: the room is taken
  output logic                         m_room,
  input  logic                         s_done,       ///< what follows is that of a packet
  input  logic [DIGITS-1:0][SUM_W-1:0] s_sums,       ///< of the digits of each weight; with minus: inverted
  input  logic [20:0]                  s_minus,      ///< numbers with minus
  input  logic [20:0]                  s_values,     ///< numbers
  input  logic [20:0]                  s_filled,     ///< fields that are not empty
  input  key_t                         s_least,
  input  key_t                         s_greatest,
  input  logic [20:0]                  s_behind,
  output logic                         m_word_valid,
  input  logic                         m_word_ready,
  output near_word_t                   m_word
);
  localparam int TOTAL_W = 82;
  localparam logic [4:0] STEP_ROOM  = 5'd8;
  localparam logic [4:0] STEP_MINUS = 5'd19;
  localparam logic [4:0] STEP_WORDS = 5'd20;
  localparam logic [4:0] STEP_LAST  = 5'd23;
  localparam logic [4:0] STEP_NONE  = 5'd31;

  // ---- steps
  logic       room_q, done_q, words, steps, begins, reads, word_valid_q;
  logic [4:0] step_q;
  assign words  = step_q >= STEP_WORDS && step_q != STEP_NONE;
  assign steps  = step_q != STEP_NONE && (!words || !word_valid_q || m_word_ready);
  assign begins = done_q && (step_q == STEP_NONE || (step_q == STEP_LAST && steps));
  assign reads  = step_q < 5'(DIGITS);
  assign m_room = room_q;
  always_ff @(posedge clk) begin
    if (begins) step_q <= '0;
    else if (steps) step_q <= step_q == STEP_LAST ? STEP_NONE : step_q + 5'd1;
    done_q <= s_done || (done_q && !begins);
    room_q <= (room_q || step_q == STEP_ROOM) && !s_last_goes;
    if (rst) begin
      step_q <= STEP_NONE;
      done_q <= 1'b0;
      room_q <= 1'b1;
    end
  end

  // ---- digits; they move up
  logic [DIGITS-1:0][SUM_W-1:0] sums_q;
  logic [DIGITS-1:0][3:0]       least_q, greatest_q;
  logic                         least_minus_q, greatest_minus_q;
  logic [20:0]                  minus_q, values_q, others_q, behind_q;
  function automatic logic [DIGITS-1:0][3:0] digits_of(input key_t k);
    digits_of = !k.there ? '0 : k.key[4*DIGITS-1:0] ^ {4*DIGITS{!k.key[4*DIGITS]}};
  endfunction
  always_ff @(posedge clk) begin
    if (s_done) begin
      sums_q           <= s_sums;
      least_q          <= digits_of(s_least);
      greatest_q       <= digits_of(s_greatest);
      least_minus_q    <= s_least.there && !s_least.key[4*DIGITS];
      greatest_minus_q <= s_greatest.there && !s_greatest.key[4*DIGITS];
      minus_q          <= s_minus;
      values_q         <= s_values;
      others_q         <= s_filled - s_values;
      behind_q         <= s_behind;
    end else if (reads) begin
      sums_q     <= {sums_q[DIGITS-2:0], SUM_W'(0)};
      least_q    <= {least_q[DIGITS-2:0], 4'd0};
      greatest_q <= {greatest_q[DIGITS-2:0], 4'd0};
    end
  end

  // ---- numbers
  logic signed [SUM_W-1:0] next_q;
  logic [3:0]              next_least_q, next_greatest_q;
  logic [TOTAL_W-1:0]      sum_q;
  logic [63:0]             low_q, high_q;
  logic [20:0]             values_now_q, others_now_q, behind_now_q;
  logic                    low_minus_q, high_minus_q;
  always_ff @(posedge clk) begin
    next_q          <= sums_q[DIGITS-1] + SUM_W'(minus_q);
    next_least_q    <= least_q[DIGITS-1];
    next_greatest_q <= greatest_q[DIGITS-1];
    if (step_q == '0) begin
      sum_q        <= '0;
      low_q        <= '0;
      high_q       <= '0;
      values_now_q <= values_q;
      others_now_q <= others_q;
      behind_now_q <= behind_q;
      low_minus_q  <= least_minus_q;
      high_minus_q <= greatest_minus_q;
    end else if (step_q < STEP_MINUS) begin
      sum_q  <= (sum_q << 3) + (sum_q << 1) + TOTAL_W'(next_q);
      low_q  <= (low_q << 3) + (low_q << 1) + 64'(next_least_q);
      high_q <= (high_q << 3) + (high_q << 1) + 64'(next_greatest_q);
    end else if (step_q == STEP_MINUS) begin
      if (low_minus_q) low_q <= -low_q;
      if (high_minus_q) high_q <= -high_q;
    end
  end

  // ---- words
  near_word_t word_q;
  always_ff @(posedge clk) begin
    if (!word_valid_q || m_word_ready) begin
      word_valid_q <= words;
      word_q.last  <= step_q == STEP_LAST;
      unique case (step_q[1:0])
        2'd0:    word_q.data <= {64'(others_now_q), 64'(values_now_q)};
        2'd1:    word_q.data <= 128'($signed(sum_q));
        2'd2:    word_q.data <= {high_q, low_q};
        default: word_q.data <= 128'(behind_now_q);
      endcase
    end
    if (rst) word_valid_q <= 1'b0;
  end
  assign m_word_valid = word_valid_q;
  assign m_word       = word_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_done) assert ((!done_q || begins) && !reads);
`endif
endmodule
