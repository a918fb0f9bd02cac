// SPDX-License-Identifier: Apache-2.0
// Near-storage operator: the records of the data that pass, or columns of them, one behind another; or a bit for each,
// whether it passes (docs/csd/near-storage.md).
//
//   s_row -+-> ends of records, columns --------> marks of each row -+
//          +-> compare, a predicate each -> pass -'                  +-> db_csd_near_select -> m_row
//          '-> rows -------------------------------------------------+
//
// Parameters, word 1: bytes of a record in 15:0, bit 16 bitmap, bits 19:17 for predicates 1 to 3: an alternative
// begins there. Four words a predicate from word 2 on: type in bits 2:0, in 5:3 whether less, equal, greater is true;
// place in the record in bits 15:0, in 31:16 the bytes from the value's end to the record's; the number in two, repeated
// to 64 bits, with the highest bit of a signed one turned. Behind these a word for each column that is chosen: its first
// byte in bits 15:0, its last one in 31:16; none: all bytes are.
// Rows wait until it is known what becomes of their last record.
// Latency: 24 cycles from a packet's last row to its last one (128 bits: 23 to 25). Throughput: a row a cycle, a cycle
// less a packet.
module db_csd_near_filter
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256    ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  /// A word of the program, while no packet is inside.
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,        ///< phase: which byte of a record the packet's first byte is
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,   ///< what is behind its bytes means nothing
  output near_row_t         m_row         ///< phase 0; bytes may be 0 in the last one
);
  localparam int BYTES   = DATA_W / 8;
  localparam int SPAN    = NEAR_RECORD_MOST / BYTES;       // rows of a record
  localparam int DEPTH   = SPAN < 32 ? 64 : 2 * SPAN;            // rows that wait
  localparam int LATER   = 6;                                    // cycles of a comparison
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  // ---- the program
  logic                       bitmap_q, set_place_q, set_type_q;
  logic [NEAR_PREDICATES-1:1] begins_q;
  logic [15:0]                last_byte_q;
  logic                       set_record;
  assign set_record = s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(1);
  always_ff @(posedge clk) begin
    set_place_q <= set_record;
    set_type_q  <= set_place_q;
    if (set_record) begin
      bitmap_q    <= s_param.data[16];
      begins_q    <= s_param.data[17 +: NEAR_PREDICATES - 1];
      last_byte_q <= s_param.data[15:0] - 16'd1;
    end
  end

  // ---- where records end: that of their last byte, as a column
  localparam int WAIT_W = $clog2(DEPTH) + 1;
  logic                room_q, take, ends_ready, goes, record_first, record_last, record_valid;
  logic [1:0]          size_log2;
  logic                is_signed;
  logic [15:0]         record, tail, ahead;
  logic [6:0]          back;
  logic [BYTES-1:0]    period, ends;
  logic [DATA_W-1:0]   data;
  logic [WAIT_W-1:0]   waiting;
  assign s_row_ready = room_q && ends_ready;
  assign take        = s_row_valid && room_q;
  db_csd_near_column #(.BYTES(BYTES)) i_column (
    .clk, .s_set({set_place_q, set_record, set_type_q}),
    .s_data(set_type_q ? '0 : set_place_q ? last_byte_q : s_param.data[15:0]), .size_log2, .is_signed, .record, .tail,
    .period, .back, .ahead);
  db_csd_near_column_ends #(.DATA_W(DATA_W)) i_ends (
    .clk, .rst, .size_log2, .record, .tail, .period, .back, .ahead, .s_row_valid(take), .s_row_ready(ends_ready),
    .s_row_data, .s_row, .s_room(1'b1), .m_last_goes(goes), .m_valid(record_valid), .m_first(record_first),
    .m_last(record_last), .m_data(data), .m_ends(ends));

  // ---- a record of which the packet has only the end does not count
  logic [2:0]       cut_q;
  logic             open, open_q;
  logic [BYTES-1:0] whole_q;
  assign open = record_first ? cut_q[2] : open_q;
  always_ff @(posedge clk) begin
    cut_q   <= {cut_q[1:0], s_row.phase != '0 && s_row.phase < record};
    whole_q <= open ? ends & (ends - 1'b1) : ends;
    if (record_valid) open_q <= open && ends == '0;
  end

  // ---- those that pass
  logic [NEAR_PREDICATES-1:0][BYTES-1:0] is_true;
  logic [BYTES-1:0]                      pass;
  for (genvar p = 0; p < NEAR_PREDICATES; p++) begin : g_predicate
    logic [3:0] set;
    for (genvar w = 0; w < 4; w++) begin : g_word
      assign set[w] = s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(2 + 4 * p + w);
    end
    db_csd_near_filter_compare #(.DATA_W(DATA_W), .DEPTH(SPAN)) i_compare (
      .clk, .rst, .s_record_set(set_record), .s_set(set), .s_param(s_param.data), .s_row_valid(take), .s_row_data,
      .s_row, .m_pass(is_true[p]));
  end
  always_comb begin
    logic [BYTES-1:0] any, all;
    any = '0;
    all = is_true[0];
    for (int p = 1; p < NEAR_PREDICATES; p++) begin
      any = any | (begins_q[p] ? all : '0);
      all = is_true[p] & (begins_q[p] ? '1 : all);
    end
    pass = any | all;
  end

  // ---- bytes that are chosen, of whatever record
  logic [NEAR_COLUMNS-1:0]     set_column;
  logic [BYTES-1:0]            chosen;
  logic [LATER-3:0][BYTES-1:0] chosen_q;
  for (genvar c = 0; c < NEAR_COLUMNS; c++) begin : g_column
    assign set_column[c] = s_param_valid && s_param.addr == NEAR_WORDS_LOG2'(2 + 4 * NEAR_PREDICATES + c);
  end
  db_csd_near_filter_columns #(.DATA_W(DATA_W)) i_columns (
    .clk, .rst, .s_record_set(set_record), .s_set(set_column), .s_param(s_param.data), .s_row_valid(take), .s_row,
    .m_chosen(chosen));

  // ---- what is known of a row, some cycles later
  logic [LATER:0]              valid_q, last_q;
  logic [LATER-1:0][BYTES-1:0] ends_q, wholes_q;
  logic [BYTES-1:0]            ends_out_q, whole_out_q, pass_out_q, chosen_out_q;
  logic                        rows_room;
  assign wholes_q[0] = whole_q;
  always_ff @(posedge clk) begin
    valid_q             <= rst ? '0 : {valid_q[LATER-1:0], record_valid};
    last_q              <= {last_q[LATER-1:0], record_last};
    ends_q              <= {ends_q[LATER-2:0], ends};
    wholes_q[LATER-1:1] <= wholes_q[LATER-2:0];
    chosen_q            <= {chosen_q[LATER-4:0], chosen};
    ends_out_q          <= ends_q[LATER-1];
    whole_out_q         <= wholes_q[LATER-1];
    pass_out_q          <= wholes_q[LATER-1] & pass;
    chosen_out_q        <= chosen_q[LATER-3];
    room_q              <= waiting < WAIT_W'(DEPTH - 8);
    if (rst) room_q <= 1'b0;
  end

  db_csd_near_select #(.DATA_W(DATA_W), .DEPTH(DEPTH)) i_select (
    .clk, .rst, .bitmap(bitmap_q), .s_row_valid(record_valid), .s_row_ready(rows_room), .s_row_data(data),
    .s_row_last(record_last), .waiting, .s_marks_valid(valid_q[LATER]), .s_marks_last(last_q[LATER]),
    .s_ends(ends_out_q), .s_whole(whole_out_q), .s_pass(pass_out_q), .s_chosen(chosen_out_q), .m_row_valid,
    .m_row_ready, .m_row_data, .m_row);

  logic unused_ok;
  assign unused_ok = &{1'b0, goes, is_signed, rows_room};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && record_valid) assert (rows_room);
`endif
endmodule
