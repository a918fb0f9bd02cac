// SPDX-License-Identifier: Apache-2.0
// Near-storage operator: the records of the data that pass, or columns of them, one behind another; or a bit for each,
// whether it passes (docs/csd/near-storage.md).
//
//   s_row -+-> ends of records, columns --------> marks of each row -> FIFO -+
//          +-> compare, a predicate each -> pass -'  '-> tails --------------+-> keep -> squeeze -> join -> FIFO -> m_row
//          '-> FIFO of rows -------------------------------------------------+
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
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int SPAN    = NEAR_RECORD_MOST / BYTES;       // rows of a record
  localparam int DEPTH   = SPAN < 32 ? 64 : 2 * SPAN;            // rows that wait
  localparam int OUT     = 32;                                   // rows that have passed
  localparam int INSIDE  = 18;                                   // ... that are between, at most
  localparam int LATER   = 6;                                    // cycles of a comparison
  localparam int SQUEEZE = (ROW_LOG + 1) / 2;
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

  typedef struct packed {
    logic [BYTES-1:0] ends, whole, pass, chosen;
  } marks_t;
  logic [LATER:0]            valid_q, last_q;
  logic [LATER-1:0][BYTES-1:0] ends_q, wholes_q;
  marks_t                    marks_in_q, marks;
  assign wholes_q[0] = whole_q;
  always_ff @(posedge clk) begin
    valid_q             <= rst ? '0 : {valid_q[LATER-1:0], record_valid};
    last_q              <= {last_q[LATER-1:0], record_last};
    ends_q              <= {ends_q[LATER-2:0], ends};
    wholes_q[LATER-1:1] <= wholes_q[LATER-2:0];
    chosen_q            <= {chosen_q[LATER-4:0], chosen};
    marks_in_q          <= '{ends: ends_q[LATER-1], whole: wholes_q[LATER-1], pass: wholes_q[LATER-1] & pass,
                             chosen: chosen_q[LATER-3]};
  end

  // ---- rows, their marks, what becomes of their tails
  logic              rows_room, marks_room, row_valid, marks_valid, tail_valid, tail_pass, row_first, row_last, pop,
                     out_room_q, gap_q;
  logic [DATA_W-1:0] row_data;
  assign pop = row_valid && marks_valid && tail_valid && out_room_q && !gap_q;
  db_fifo #(.WIDTH(DATA_W + 2), .DEPTH(DEPTH)) i_rows (
    .clk, .rst, .s_valid(record_valid), .s_ready(rows_room), .s_data({record_first, record_last, data}),
    .m_valid(row_valid), .m_ready(pop), .m_data({row_first, row_last, row_data}), .level(waiting));
  db_fifo #(.WIDTH($bits(marks_t)), .DEPTH(DEPTH)) i_marks (
    .clk, .rst, .s_valid(valid_q[LATER]), .s_ready(marks_room), .s_data(marks_in_q), .m_valid(marks_valid),
    .m_ready(pop), .m_data(marks), .level());
  db_csd_near_filter_tails #(.BYTES(BYTES), .DEPTH(DEPTH)) i_tails (
    .clk, .rst, .s_valid(valid_q[LATER]), .s_last(last_q[LATER]), .s_ends(marks_in_q.ends), .s_pass(marks_in_q.pass),
    .m_valid(tail_valid), .m_ready(pop), .m_pass(tail_pass));
  always_ff @(posedge clk) begin
    room_q <= waiting < WAIT_W'(DEPTH - 8);
    gap_q  <= pop && row_last;
    if (rst) room_q <= 1'b0;
  end

  // ---- what stays
  logic [DATA_W-1:0]             kept_data, squeezed;
  logic [BYTES-1:0]              kept;
  logic [BYTES-1:0][ROW_LOG-1:0] down;
  logic [ROW_LOG:0]              kept_count;
  localparam int KEEP = 5;
  logic [KEEP+SQUEEZE-1:0]          pop_q, pop_last_q;
  logic [SQUEEZE-1:0][ROW_LOG:0] counts_q;
  db_csd_near_filter_keep #(.BYTES(BYTES)) i_keep (
    .clk, .bitmap(bitmap_q), .s_data(row_data), .s_ends(marks.ends), .s_whole(marks.whole), .s_pass(marks.pass),
    .s_chosen(marks.chosen), .s_tail(tail_pass), .m_data(kept_data), .m_keep(kept), .m_down(down),
    .m_count(kept_count));
  db_csd_near_filter_squeeze #(.BYTES(BYTES)) i_squeeze (
    .clk, .s_data(kept_data), .s_keep(kept), .s_down(down), .m_data(squeezed));
  always_ff @(posedge clk) begin
    pop_q      <= rst ? '0 : {pop_q[KEEP+SQUEEZE-2:0], pop};
    pop_last_q <= {pop_last_q[KEEP+SQUEEZE-2:0], row_last};
    counts_q   <= {counts_q[SQUEEZE-2:0], kept_count};
  end

  // ---- one behind another: bytes, or bits
  logic             bytes_valid, bytes_last, bits_valid, bits_last;
  logic [BYTES-1:0] bits_in, bits;
  logic [DATA_W-1:0] bytes;
  logic [ROW_LOG:0] bytes_count, bits_count;
  always_comb for (int i = 0; i < BYTES; i++) bits_in[i] = squeezed[8*i];
  db_csd_near_filter_join #(.LANES(BYTES), .LANE_W(8)) i_bytes (
    .clk, .rst, .s_valid(pop_q[KEEP+SQUEEZE-1] && !bitmap_q), .s_last(pop_last_q[KEEP+SQUEEZE-1]), .s_data(squeezed),
    .s_count(counts_q[SQUEEZE-1]), .m_valid(bytes_valid), .m_last(bytes_last), .m_data(bytes), .m_count(bytes_count));
  db_csd_near_filter_join #(.LANES(BYTES), .LANE_W(1)) i_bits (
    .clk, .rst, .s_valid(pop_q[KEEP+SQUEEZE-1] && bitmap_q), .s_last(pop_last_q[KEEP+SQUEEZE-1]), .s_data(bits_in),
    .s_count(counts_q[SQUEEZE-1]), .m_valid(bits_valid), .m_last(bits_last), .m_data(bits), .m_count(bits_count));

  typedef struct packed {
    logic              last;
    logic [6:0]        bytes;
    logic [DATA_W-1:0] data;
  } out_t;
  localparam int OUT_W = $clog2(OUT) + 1;
  out_t             out_in, out;
  logic             out_valid, out_ready, out_room, gather_ready, gathered_valid, first_q;
  logic [OUT_W-1:0] out_level;
  logic [DATA_W-1:0] gathered_data;
  logic [BYTES-1:0] masked;          // bits that count
  near_row_t        gathered;
  always_comb begin
    for (int i = 0; i < BYTES; i++) masked[i] = bits[i] && (ROW_LOG + 1)'(i) < bits_count;
    out_in = '{last: bytes_last, bytes: 7'(bytes_count), data: bytes};
    if (bitmap_q) out_in = '{last: bits_last, bytes: (7'(bits_count) + 7'd7) >> 3, data: DATA_W'(masked)};
  end
  db_fifo #(.WIDTH($bits(out_t)), .DEPTH(OUT)) i_out (
    .clk, .rst, .s_valid(bytes_valid || bits_valid), .s_ready(out_room), .s_data(out_in), .m_valid(out_valid),
    .m_ready(out_ready), .m_data(out), .level(out_level));
  db_csd_near_gather #(.DATA_W(DATA_W), .WORD_W(BYTES)) i_gather (
    .clk, .rst, .s_valid(out_valid && bitmap_q), .s_ready(gather_ready), .s_data(out.data[BYTES-1:0]),
    .s_bytes(out.bytes), .s_last(out.last), .m_valid(gathered_valid), .m_ready(m_row_ready), .m_data(gathered_data),
    .m_row(gathered));
  always_ff @(posedge clk) begin
    out_room_q <= out_level < OUT_W'(OUT - INSIDE);
    if (out_valid && out_ready) first_q <= out.last;
    if (rst) begin
      out_room_q <= 1'b0;
      first_q    <= 1'b1;
    end
  end
  assign out_ready   = bitmap_q ? gather_ready : m_row_ready;
  assign m_row_valid = bitmap_q ? gathered_valid : out_valid;
  assign m_row_data  = bitmap_q ? gathered_data : out.data;
  assign m_row       = bitmap_q ? gathered : '{first: first_q, last: out.last, bytes: out.bytes, phase: '0, owner: '0};

  logic unused_ok;
  assign unused_ok = &{1'b0, goes, is_signed, row_first, rows_room, marks_room, out_room};
`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!record_valid || rows_room);
      assert (!valid_q[LATER] || marks_room);
      assert (!(bytes_valid || bits_valid) || out_room);
    end
  end
`endif
endmodule
