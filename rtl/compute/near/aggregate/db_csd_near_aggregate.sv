// SPDX-License-Identifier: Apache-2.0
// Operator of near-storage commands: how many values a column of the data has, their sum, the least, the greatest.
//
//   column   where values end in each row; values moved into slots of their size
//   sum      sums of each byte of the slots         total    the sum made of them
//   extreme  the best value of each slot, and then of all
//   control  steps of a packet's end; the three words
//
// Why so: what is as wide as a row only keeps a sum and the best values of each slot; what they come to is worked
// out one after another at the packet's end, while the rows of the next packet come.
// Latency: 22 cycles from a packet's last row to the first word with 128 bits, one more for each doubling.
// Throughput: a row a cycle; a packet of fewer than 15 rows takes 15 cycles.
// Words that nobody takes stop the rows behind the last one of the third packet.
module db_csd_near_aggregate
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,

  input  logic              s_param_valid,  ///< a word of the program; only while no packet is inside
  input  near_param_t       s_param,        ///< 1: type, 2: bytes of a record, 3: place of the column in it

  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,     ///< byte k in bits 8k+7:8k
  input  near_row_t         s_row,          ///< phase: which byte of a record the packet's first byte is

  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word          ///< number, sum, least and greatest
);
  localparam int BYTES  = DATA_W / 8;
  localparam int EIGHTS = DATA_W / 64;
  localparam int SUM_W  = 82;

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  logic [1:0]       size_log2;
  logic             is_signed;
  logic [15:0]      record, tail, ahead;
  logic [6:0]       back;
  logic [BYTES-1:0] period;
  logic [2:0]       set;
  for (genvar n = 0; n < 3; n++) begin : g_set
    assign set[n] = s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(n + 1);
  end
  db_csd_near_column #(.BYTES(BYTES)) i_column (
    .clk, .s_set(set), .s_data(s_param.data[15:0]), .size_log2, .is_signed, .record, .tail, .period, .back, .ahead);

  logic              room, last_goes, row_valid, row_first, row_last;
  logic [DATA_W-1:0] row_data;
  logic [BYTES-1:0]  row_ends;
  db_csd_near_column_ends #(.DATA_W(DATA_W)) i_ends (
    .clk, .rst, .size_log2, .record, .tail, .period, .back, .ahead, .s_row_valid, .s_row_ready, .s_row_data, .s_row,
    .s_room(room), .m_last_goes(last_goes), .m_valid(row_valid), .m_first(row_first), .m_last(row_last),
    .m_data(row_data), .m_ends(row_ends));

  logic                first, last;
  logic [BYTES-1:0]    filled;
  logic [DATA_W-1:0]   values;
  logic [EIGHTS*4-1:0] counts;
  db_csd_near_column_slots #(.DATA_W(DATA_W)) i_slots (
    .clk, .rst, .size_log2, .is_signed, .s_valid(row_valid), .s_first(row_first), .s_last(row_last), .s_data(row_data),
    .s_ends(row_ends), .m_first(first), .m_last(last), .m_filled(filled), .m_values(values), .m_counts(counts));

  logic [3:0]       step;
  logic             done;
  logic [7:0][24:0] sums;
  logic [20:0]      rows_count, count;
  logic [SUM_W-1:0] sum;
  logic [63:0]      least, greatest;
  db_csd_near_aggregate_sum #(.DATA_W(DATA_W)) i_sum (
    .clk, .rst, .s_first(first), .s_last(last), .s_values(values), .s_counts(counts), .m_done(done), .m_sums(sums),
    .m_count(rows_count));
  db_csd_near_aggregate_total #(.SUM_W(SUM_W)) i_total (
    .clk, .size_log2, .is_signed, .step, .s_sums(sums), .s_count(rows_count), .m_count(count), .m_sum(sum));
  db_csd_near_aggregate_extreme #(.DATA_W(DATA_W), .MAX(1'b0)) i_least (
    .clk, .rst, .size_log2, .is_signed, .s_first(first), .s_last(last), .s_filled(filled), .s_values(values), .step,
    .m_value(least));
  db_csd_near_aggregate_extreme #(.DATA_W(DATA_W), .MAX(1'b1)) i_greatest (
    .clk, .rst, .size_log2, .is_signed, .s_first(first), .s_last(last), .s_filled(filled), .s_values(values), .step,
    .m_value(greatest));

  db_csd_near_aggregate_control #(.SUM_W(SUM_W)) i_control (
    .clk, .rst, .s_last_goes(last_goes), .m_room(room), .s_done(done), .step, .s_count(count), .s_sum(sum),
    .s_least(least), .s_greatest(greatest), .m_word_valid, .m_word_ready, .m_word);

  logic unused_ok;
  assign unused_ok = &{1'b0, s_param.data[31:16]};
endmodule
