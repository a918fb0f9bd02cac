// SPDX-License-Identifier: Apache-2.0
// Near-storage operator: how many numbers a field of the data's lines has, their sum, the least, the greatest
// (docs/csd/near-storage.md).
//
//   fields    which bytes of a row are the field, which end it; where the last line ends
//   numbers   digits of each number, in places of two bytes each
//   sum       sums over all places and rows: of the digits of each weight, of what is counted
//   extremes  the least and the greatest number
//   total     the digits' sums made a number, and the four words
//
// Why so: what is as wide as a row has no arithmetic of more than a digit, and takes a number in each two bytes. What the
// digits come to is worked out at the packet's end, while the rows of the next packet come.
// Latency: 34 cycles from a packet's last row to the first word with 128 bits, 36 with 256, 37 with 512.
// Throughput: a row a cycle, a cycle less a packet; a packet of fewer than 24 rows takes 24 cycles.
// Words that nobody takes stop the rows behind the last one of the third packet.
module db_csd_near_csv
  import db_csd_near_pkg::*, db_csd_near_csv_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  /// A word of the program, while no packet is inside: 1: separator in bits 7:0, line end in 15:8, field in 23:16.
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,        ///< phase: bytes before the first line, or all ones
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word
);
  localparam int B      = DATA_W / 8;
  localparam int PLACES = B / 2;
  localparam int LEVELS = $clog2(PLACES);
  localparam int SUM_W  = 25;             // of 2^19 digits and a sign
  localparam int COUNT_W = 21;
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  logic [7:0] separator_q, line_end_q, field_q;
  always_ff @(posedge clk)
    if (s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(1))
      {field_q, line_end_q, separator_q} <= s_param.data[23:0];

  // ---- a packet's last row waits until there is room for what it comes to; behind it goes one without a byte
  logic              wait_valid_q, fin_q, goes, last_goes, room;
  logic [DATA_W-1:0] wait_data_q;
  near_row_t         wait_q;
  step_t             step;
  assign goes        = wait_valid_q && !fin_q && (!wait_q.last || room);
  assign last_goes   = goes && wait_q.last;
  assign s_row_ready = !wait_valid_q || goes;
  assign step        = '{valid: goes || fin_q, first: goes && wait_q.first, fin: fin_q};
  always_ff @(posedge clk) begin
    fin_q <= last_goes;
    if (s_row_ready) begin
      wait_valid_q <= s_row_valid;
      wait_data_q  <= s_row_data;
      wait_q       <= s_row;
    end
    if (rst) begin
      wait_valid_q <= 1'b0;
      fin_q        <= 1'b0;
    end
  end

  // ---- fields, numbers
  step_t                marks_step, numbers_step;
  mark_t [B-1:0]        marks;
  number_t [PLACES-1:0] numbers;
  logic [PLACES-1:0]    filled;
  logic [20:0]          behind;
  db_csd_near_csv_fields #(.DATA_W(DATA_W)) i_fields (
    .clk, .rst, .separator(separator_q), .line_end(line_end_q), .field(field_q), .s_step(step), .s_data(wait_data_q),
    .s_bytes(fin_q ? '0 : wait_q.bytes), .s_phase(wait_q.phase), .m_step(marks_step), .m_marks(marks),
    .m_behind(behind));
  db_csd_near_csv_numbers #(.DATA_W(DATA_W)) i_numbers (
    .clk, .rst, .s_step(marks_step), .s_marks(marks), .m_step(numbers_step), .m_numbers(numbers), .m_filled(filled));

  // ---- sums. A digit of a number with minus is added as its ones' complement, and 1 for each at the end
  step_t [LEVELS:0]             step_q;  // [n]: n cycles behind the numbers
  logic                         first;
  logic [DIGITS-1:0][SUM_W-1:0] sums;
  logic [2:0][COUNT_W-1:0]      counts;
  logic [2:0][PLACES-1:0]       counted;
  assign step_q[0] = numbers_step;
  always_ff @(posedge clk) begin
    step_q[LEVELS:1] <= step_q[LEVELS-1:0];
    if (rst) step_q[LEVELS:1] <= '0;
  end
  assign first = step_q[LEVELS].first;
  for (genvar w = 0; w < DIGITS; w++) begin : g_weight
    logic [PLACES-1:0][4:0] values;
    for (genvar k = 0; k < PLACES; k++) begin : g_place
      assign values[k] = {numbers[k].minus, numbers[k].digits[w] ^ {4{numbers[k].minus}}};
    end
    db_csd_near_csv_sum #(.PLACES(PLACES), .WIDTH(5), .SUM_W(SUM_W)) i_sum (
      .clk, .s_values(values), .s_first(first), .m_sum(sums[w]));
  end
  for (genvar k = 0; k < PLACES; k++) begin : g_counted
    assign {counted[2][k], counted[1][k], counted[0][k]} = {filled[k], numbers[k].there, numbers[k].minus};
  end
  for (genvar n = 0; n < 3; n++) begin : g_count
    logic [PLACES-1:0][1:0] values;
    for (genvar k = 0; k < PLACES; k++) begin : g_place
      assign values[k] = {1'b0, counted[n][k]};
    end
    db_csd_near_csv_sum #(.PLACES(PLACES), .WIDTH(2), .SUM_W(COUNT_W)) i_count (
      .clk, .s_values(values), .s_first(first), .m_sum(counts[n]));
  end
  key_t least, greatest;
  db_csd_near_csv_extremes #(.PLACES(PLACES)) i_extremes (
    .clk, .s_numbers(numbers), .s_first(first), .m_least(least), .m_greatest(greatest));

  db_csd_near_csv_total #(.SUM_W(SUM_W)) i_total (
    .clk, .rst, .s_last_goes(last_goes), .m_room(room), .s_done(step_q[LEVELS].fin), .s_sums(sums), .s_minus(counts[0]),
    .s_values(counts[1]), .s_filled(counts[2]), .s_least(least), .s_greatest(greatest), .s_behind(behind),
    .m_word_valid, .m_word_ready, .m_word);

  logic unused_ok;
  assign unused_ok = &{1'b0, s_param.data[31:24], wait_q.owner};
endmodule
