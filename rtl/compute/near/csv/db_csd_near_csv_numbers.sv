// SPDX-License-Identifier: Apache-2.0
// Part of Csv: the numbers of the fields, digit by digit.
//
// A number's weights hang on its *anchor*: its point, or what ends the field if it has none. Each byte is looked at as
// one: a digit or more before it, a sign or nothing before these; behind a point digits or none, and what ends the field.
// So a number has one anchor, and what is none has no anchor that holds. Anchors are looked at 7 bytes late, when all is
// there that may follow. A digit is before each, so of two neighbours at most one holds, and two share a place.
// Latency: 2 cycles. Throughput: a row a cycle; it never waits.
module db_csd_near_csv_numbers
  import db_csd_near_pkg::*, db_csd_near_csv_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                    clk,
  input  logic                    rst,
  input  step_t                   s_step,
  input  mark_t [DATA_W/8-1:0]    s_marks,
  output step_t                   m_step,
  output number_t [DATA_W/16-1:0] m_numbers,
  output logic [DATA_W/16-1:0]    m_filled     ///< a field that is not empty ended, of whatever number
);
  localparam int B      = DATA_W / 8;
  localparam int LATE   = NEAR_CSV_DECIMALS + 1;
  localparam int BEFORE = LATE + NEAR_CSV_WHOLE + 2;  // bytes of rows before that are looked at

  // ---- the row and what was before it, [BEFORE + i] is byte i: by what the bytes are
  typedef struct packed {
    logic [BEFORE+B-1:0]      in, ends, digit, point, sign, minus;
    logic [BEFORE+B-1:0][3:0] nibble;
  } window_t;
  mark_t [BEFORE-1:0]   before_q;
  mark_t [BEFORE+B-1:0] all;
  window_t              near, near_q;
  assign all = {s_marks, s_step.first ? {$bits(before_q){1'b0}} : before_q};
  for (genvar i = 0; i < BEFORE + B; i++) begin : g_byte
    assign {near.in[i], near.ends[i], near.digit[i], near.point[i], near.sign[i], near.nibble[i]} = all[i];
    assign near.minus[i] = all[i].sign && all[i].nibble[2];
  end

  // ---- 1: anchors that hold; bit p is byte A + p as one
  localparam int A = BEFORE - LATE;
  logic [B-1:0] holds, minus, filled, holds_q, minus_q, filled_q;
  always_comb begin
    logic [B-1:0] digits, begins, ends;
    begins = '0;
    ends   = '0;
    minus  = '0;
    digits = '1;
    for (int n = 1; n <= NEAR_CSV_WHOLE + 1; n++) begin     // digits before it, and what is before these
      begins |= digits & (~near.in[A-n+:B] | (near.sign[A-n+:B] & ~near.in[A-n-1+:B]));
      minus  |= digits & near.minus[A-n+:B];
      digits &= near.digit[A-n+:B];
    end
    digits = '1;
    for (int n = 1; n <= NEAR_CSV_DECIMALS + 1; n++) begin  // ... behind it
      ends   |= digits & near.ends[A+n+:B];
      digits &= near.digit[A+n+:B];
    end
    holds  = {B{s_step.valid}} & begins & near.digit[A-1+:B] & (near.ends[A+:B] | (near.point[A+:B] & ends));
    filled = {B{s_step.valid}} & near.ends[BEFORE+:B] & near.in[BEFORE-1+:B];
  end

  // ---- 2: digits
  step_t             step_q;
  number_t [B/2-1:0] numbers;
  always_comb begin
    logic [B-1:0] its;                                      // all digits up to here are of this anchor
    for (int k = 0; k < B / 2; k++) begin
      numbers[k].there = holds_q[2*k] || holds_q[2*k+1];
      numbers[k].minus = (holds_q[2*k] && minus_q[2*k]) || (holds_q[2*k+1] && minus_q[2*k+1]);
    end
    its = holds_q;
    for (int n = 0; n < NEAR_CSV_WHOLE; n++) begin
      its &= near_q.digit[A-1-n+:B];
      for (int k = 0; k < B / 2; k++)
        numbers[k].digits[NEAR_CSV_DECIMALS+n] = ({4{its[2*k]}} & near_q.nibble[A+2*k-1-n])
                                               | ({4{its[2*k+1]}} & near_q.nibble[A+2*k-n]);
    end
    its = holds_q & near_q.point[A+:B];
    for (int n = 0; n < NEAR_CSV_DECIMALS; n++) begin
      its &= near_q.digit[A+1+n+:B];
      for (int k = 0; k < B / 2; k++)
        numbers[k].digits[NEAR_CSV_DECIMALS-1-n] = ({4{its[2*k]}} & near_q.nibble[A+2*k+1+n])
                                                 | ({4{its[2*k+1]}} & near_q.nibble[A+2*k+2+n]);
    end
  end

  always_ff @(posedge clk) begin
    if (s_step.valid) before_q <= all[BEFORE+B-1 -: BEFORE];
    step_q    <= s_step;
    near_q    <= near;
    holds_q   <= holds;
    minus_q   <= minus;
    filled_q  <= filled;
    m_step    <= step_q;
    m_numbers <= numbers;
    for (int k = 0; k < B / 2; k++) m_filled[k] <= filled_q[2*k] || filled_q[2*k+1];
    if (rst) begin
      step_q   <= '0;
      m_step   <= '0;
      holds_q  <= '0;
      filled_q <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert (((holds_q & (holds_q >> 1)) | (filled_q & (filled_q >> 1))) == '0);
`endif
endmodule
