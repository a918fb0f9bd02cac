// SPDX-License-Identifier: Apache-2.0
// A column of records, as a program says, and what follows from it for rows of BYTES bytes.
//
// Why: what depends on the program alone is worked out once, so that the rows' own loop is short.
// Latency: 3 cycles from a word to all outputs, which is what a row behind the last word needs.
// Throughput: a word a cycle.
module db_csd_near_column #(
  parameter int BYTES = 32  ///< of a row: 16, 32, 64
) (
  input  logic             clk,
  input  logic [2:0]       s_set,      ///< pulses: s_data is [0] the type, [1] bytes of a record, [2] place in it
  input  logic [15:0]      s_data,
  output logic [1:0]       size_log2,  ///< bytes of a value
  output logic             is_signed,
  output logic [15:0]      record,     ///< bytes of a record
  output logic [15:0]      tail,       ///< which byte of a record is a value's last
  output logic [BYTES-1:0] period,     ///< bit n: a value ends n bytes behind one; bit 0 is 1
  output logic [6:0]       back,       ///< BYTES modulo record; BYTES for longer records
  output logic [15:0]      ahead       ///< record less that
);
  localparam int BYTES_LOG2 = $clog2(BYTES);

  if (BYTES != 16 && BYTES != 32 && BYTES != 64) begin : g_bad
    $error("%m: BYTES must be 16, 32 or 64 (is %0d)", BYTES);
  end

  // ---- by the bytes of a record, if these are fewer than a row's
  typedef logic [BYTES-1:0][BYTES-1:0] periods_t;
  typedef logic [BYTES-1:0][6:0]       backs_t;
  function automatic periods_t make_periods();
    periods_t made;
    made = '0;
    for (int r = 1; r < BYTES; r++) for (int i = 0; i < BYTES; i++) made[r][i] = i % r == 0;
    return made;
  endfunction
  function automatic backs_t make_backs();
    backs_t made;
    made = '0;
    for (int r = 1; r < BYTES; r++) made[r] = 7'(BYTES % r);
    return made;
  endfunction
  localparam periods_t PERIODS = make_periods();
  localparam backs_t   BACKS   = make_backs();

  logic [2:0]            type_q;
  logic [15:0]           record_q, place_q, tail_q, ahead_q;
  logic [BYTES-1:0]      period_q;
  logic [6:0]            back_q;
  logic                  is_long;
  logic [BYTES_LOG2-1:0] index;
  assign is_long = record_q[15:BYTES_LOG2] != '0;
  assign index   = record_q[BYTES_LOG2-1:0];
  always_ff @(posedge clk) begin
    if (s_set[0]) type_q   <= s_data[2:0];
    if (s_set[1]) record_q <= s_data;
    if (s_set[2]) place_q  <= s_data;
    tail_q   <= place_q + (16'd1 << type_q[1:0]) - 16'd1;
    period_q <= is_long ? BYTES'(1) : PERIODS[index];
    back_q   <= is_long ? 7'(BYTES) : BACKS[index];
    ahead_q  <= record_q - 16'(back_q);
  end
  assign size_log2 = type_q[1:0];
  assign is_signed = type_q[2];
  assign record    = record_q;
  assign tail      = tail_q;
  assign period    = period_q;
  assign back      = back_q;
  assign ahead     = ahead_q;
endmodule
