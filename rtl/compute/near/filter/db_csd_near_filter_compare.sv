// SPDX-License-Identifier: Apache-2.0
// One predicate of Filter: each value of its column against a number, and the answer where its record ends.
//
//   column, ends, slots -> bytes of the slots against the number's -> of each slot -> at the value's end
//     -> so many bytes later: at its record's end
//
// Why bytes: a number of each size is written into all eight bytes of a slot, so one comparison of bytes serves all
// sizes, and how neighbours are joined depends on the size alone.
// Latency: as db_csd_near_column_ends, and 6 cycles. Throughput: a row a cycle.
module db_csd_near_filter_compare
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits: 128, 256, 512
  parameter int DEPTH  = 32     ///< rows that a record has at most: a power of two
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                s_record_set,   ///< pulse: s_param has the bytes of a record in bits 15:0
  input  logic [3:0]          s_set,          ///< pulses: words of this predicate (db_csd_near_filter)
  input  logic [31:0]         s_param,
  input  logic                s_row_valid,    ///< as of db_csd_near_column_ends; there is always room
  input  logic [DATA_W-1:0]   s_row_data,
  input  near_row_t           s_row,
  output logic [DATA_W/8-1:0] m_pass          ///< byte n: true of the record that ends there; nothing, where none ends
);
  localparam int BYTES   = DATA_W / 8;
  localparam int EIGHTS  = BYTES / 8;
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int ROWS_W  = $clog2(DEPTH);

  // ---- the program's words
  logic [2:0]                wanted_q;        // [0] less, [1] equal, [2] greater
  logic [63:0]               number_q;
  logic [ROWS_W+ROW_LOG-1:0] later_q;         // bytes from the value's end to its record's
  logic [2:0]                set;
  logic [15:0]               set_data;
  assign set      = {s_set[1], s_record_set, s_set[0]};
  assign set_data = s_param[15:0];
  always_ff @(posedge clk) begin
    if (s_set[0]) wanted_q        <= s_param[5:3];
    if (s_set[1]) later_q         <= s_param[16 +: ROWS_W + ROW_LOG];
    if (s_set[2]) number_q[31:0]  <= s_param;
    if (s_set[3]) number_q[63:32] <= s_param;
  end

  // ---- values in slots of their size
  logic [1:0]          size_log2;
  logic                is_signed, valid, first, last, ready, goes, slots_first, slots_last;
  logic [15:0]         record, tail, ahead;
  logic [6:0]          back;
  logic [BYTES-1:0]    period, ends, filled;
  logic [DATA_W-1:0]   data, values;
  logic [EIGHTS*4-1:0] counts;
  db_csd_near_column #(.BYTES(BYTES)) i_column (
    .clk, .s_set(set), .s_data(set_data), .size_log2, .is_signed, .record, .tail, .period, .back, .ahead);
  db_csd_near_column_ends #(.DATA_W(DATA_W)) i_ends (
    .clk, .rst, .size_log2, .record, .tail, .period, .back, .ahead, .s_row_valid, .s_row_ready(ready), .s_row_data,
    .s_row, .s_room(1'b1), .m_last_goes(goes), .m_valid(valid), .m_first(first), .m_last(last), .m_data(data),
    .m_ends(ends));
  db_csd_near_column_slots #(.DATA_W(DATA_W)) i_slots (
    .clk, .rst, .size_log2, .is_signed, .s_valid(valid), .s_first(first), .s_last(last), .s_data(data), .s_ends(ends),
    .m_first(slots_first), .m_last(slots_last), .m_filled(filled), .m_values(values), .m_counts(counts));

  // ---- less, equal: of bytes, then of slots; true, at the end of each value
  logic [2:0]                    valid_q;
  logic [3:0][BYTES-1:0]         ends_q;
  logic [EIGHTS-1:0][7:0]        less_q, equal_q;
  logic [BYTES-1:0]              answer, true_q;
  always_comb begin
    for (int g = 0; g < EIGHTS; g++) begin
      logic [7:0] less, equal;  // of the slot whose last byte it is
      less  = less_q[g];
      equal = equal_q[g];
      for (int k = 1; k < 4; k++) if (2'(k) <= size_log2) begin
        for (int i = 7; i >= 0; i--) if ((i + 1) % (1 << k) == 0) begin
          less[i]  = less[i] || (equal[i] && less[i - (1 << (k - 1))]);
          equal[i] = equal[i] && equal[i - (1 << (k - 1))];
        end
      end
      for (int i = 0; i < 8; i++) begin
        int to;                  // last byte of its slot
        to = 0;
        for (int k = 0; k < 4; k++) if (size_log2 == 2'(k)) to = i | ((1 << k) - 1);
        answer[8*g+i] = equal[to] ? wanted_q[1] : less[to] ? wanted_q[0] : wanted_q[2];
      end
    end
  end
  always_ff @(posedge clk) begin
    valid_q <= rst ? '0 : {valid_q[1:0], valid};
    ends_q  <= {ends_q[2:0], ends};
    for (int i = 0; i < BYTES; i++) begin
      less_q[i/8][i%8]  <= values[8*i +: 8] < number_q[8*(i%8) +: 8];
      equal_q[i/8][i%8] <= values[8*i +: 8] == number_q[8*(i%8) +: 8];
    end
    true_q <= answer & ends_q[2];
  end

  // ---- later
  logic              late_valid_q;
  logic [BYTES-1:0]  row, row_q, before_q, mem_q [DEPTH];
  logic [ROWS_W-1:0] at_q, rows;
  logic [ROW_LOG-1:0] bytes;
  assign {rows, bytes} = later_q;
  assign row = rows == '0 ? true_q : mem_q[at_q - rows];
  always_ff @(posedge clk) begin
    late_valid_q <= valid_q[2];
    if (late_valid_q) begin
      mem_q[at_q] <= true_q;
      at_q        <= at_q + 1'b1;
      row_q       <= row;
      before_q    <= row_q;
    end
    m_pass <= BYTES'({row_q, before_q} >> (BYTES - 32'(bytes)));
    if (rst) begin
      late_valid_q <= 1'b0;
      at_q         <= '0;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, filled, counts, ready, goes, slots_first, slots_last};
endmodule
