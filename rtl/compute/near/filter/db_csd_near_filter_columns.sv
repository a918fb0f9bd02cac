// SPDX-License-Identifier: Apache-2.0
// Part of Filter: which bytes of each row are of the columns that a program chooses; without any, all are.
//
// The first and the last byte of each column are found as values of one byte are; what lies between them is of it. The
// columns ascend and have no byte in common, so those of all columns are looked at together.
// Latency: as db_csd_near_column_ends, and 2 cycles. Throughput: a row a cycle.
module db_csd_near_filter_columns
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    s_record_set,  ///< pulse: s_param has the bytes of a record in 15:0; no column yet
  input  logic [NEAR_COLUMNS-1:0] s_set,         ///< pulses, later: a column; its first byte in 15:0, its last in 31:16
  input  logic [31:0]             s_param,
  input  logic                    s_row_valid,   ///< as of db_csd_near_column_ends; there is always room
  input  near_row_t               s_row,
  output logic [DATA_W/8-1:0]     m_chosen
);
  localparam int BYTES   = DATA_W / 8;
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int HALF    = ROW_LOG / 2;
  localparam int MARKS   = 2 * NEAR_COLUMNS;  // the first bytes, then the last ones

  // ---- the program: columns that it has
  logic                    type_set_q;
  logic [NEAR_COLUMNS-1:0] there_q;
  always_ff @(posedge clk) begin
    type_set_q <= s_record_set;
    there_q    <= s_record_set ? '0 : there_q | s_set;
  end

  // ---- where they begin and end
  logic [MARKS-1:0]            valid, first;
  logic [MARKS-1:0][BYTES-1:0] ends;
  for (genvar m = 0; m < MARKS; m++) begin : g_mark
    localparam int C = m % NEAR_COLUMNS;
    logic [15:0]       place, record, tail, ahead;
    logic [1:0]        size_log2;
    logic              is_signed, ready, goes, last;
    logic [6:0]        back;
    logic [BYTES-1:0]  period;
    logic [DATA_W-1:0] data;
    assign place = m < NEAR_COLUMNS ? s_param[15:0] : s_param[31:16];
    db_csd_near_column #(.BYTES(BYTES)) i_column (
      .clk, .s_set({s_set[C], s_record_set, type_set_q}),
      .s_data(type_set_q ? '0 : s_record_set ? s_param[15:0] : place), .size_log2, .is_signed, .record, .tail, .period,
      .back, .ahead);
    db_csd_near_column_ends #(.DATA_W(DATA_W)) i_ends (
      .clk, .rst, .size_log2, .record, .tail, .period, .back, .ahead, .s_row_valid, .s_row_ready(ready),
      .s_row_data('0), .s_row, .s_room(1'b1), .m_last_goes(goes), .m_valid(valid[m]), .m_first(first[m]),
      .m_last(last), .m_data(data), .m_ends(ends[m]));
    logic unused_ok;
    assign unused_ok = &{1'b0, is_signed, ready, goes, last, data};
  end
  logic [BYTES-1:0] begins, lasts;
  always_comb begin
    begins = '0;
    lasts  = '0;
    for (int c = 0; c < NEAR_COLUMNS; c++) if (there_q[c]) begin
      begins |= ends[c];
      lasts  |= ends[NEAR_COLUMNS+c];
    end
  end

  // ---- 1, 2: behind each byte, does a column go on? What the last mark says, up to the row before. Doubled reach in each
  // step
  logic             valid_q, first_q, goes_on_q, goes_on;
  logic [BYTES-1:0] begins_q, any1, on1, any1_q, on1_q, any2, on2;
  always_comb begin
    any1 = begins | lasts;
    on1  = begins & ~lasts;
    for (int k = 0; k < HALF; k++) begin
      on1  = on1 | (~any1 & (on1 << (1 << k)));
      any1 = any1 | (any1 << (1 << k));
    end
    any2 = any1_q;
    on2  = on1_q;
    for (int k = HALF; k < ROW_LOG; k++) begin
      on2  = on2 | (~any2 & (on2 << (1 << k)));
      any2 = any2 | (any2 << (1 << k));
    end
  end
  assign goes_on = goes_on_q && !first_q;
  always_ff @(posedge clk) begin
    valid_q  <= valid[0] && !rst;
    first_q  <= first[0];
    begins_q <= begins;
    any1_q   <= any1;
    on1_q    <= on1;
    if (valid_q) goes_on_q <= any2[BYTES-1] ? on2[BYTES-1] : goes_on;
    m_chosen <= there_q == '0 ? '1 : begins_q | {on2[BYTES-2:0] | (~any2[BYTES-2:0] & {(BYTES-1){goes_on}}), goes_on};
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, valid, first};
endmodule
