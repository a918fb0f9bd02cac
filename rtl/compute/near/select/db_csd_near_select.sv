// SPDX-License-Identifier: Apache-2.0
// What an operator gives that leaves bytes out: those that stay, one behind another; or a bit for each record.
//
//   s_row ----> FIFO of rows --------------------------------+
//   s_marks --> FIFO of marks, beside it db_csd_near_select_tails -> keep -> squeeze -> join -> FIFO -> m_row
//
// A byte stays if it is chosen and its record passes. Rows wait until it is known what becomes of their last record, so a
// record has at most DEPTH rows, or its packet has.
// Latency: 13 to 16 cycles from a packet's last marks to its last row. Throughput: a row a cycle, a cycle less a packet.
module db_csd_near_select
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W  = 256,  ///< bits: 128, 256, 512
  parameter int DEPTH   = 64,   ///< rows that wait: a power of two, at least 16
  parameter bit BITMAPS = 1'b1  ///< can give bits
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                bitmap,        ///< a bit for each record that counts: whether it passes
  input  logic                s_row_valid,
  output logic                s_row_ready,
  input  logic [DATA_W-1:0]   s_row_data,
  input  logic                s_row_last,    ///< of the packet
  output logic [$clog2(DEPTH):0] waiting,    ///< rows
  /// What is known of a row, in the order of rows, later than it or with it; always taken.
  input  logic                s_marks_valid,
  input  logic                s_marks_last,
  input  logic [DATA_W/8-1:0] s_ends,        ///< of records
  input  logic [DATA_W/8-1:0] s_whole,       ///< ... that count, of a bitmap
  input  logic [DATA_W/8-1:0] s_pass,        ///< ... that pass
  input  logic [DATA_W/8-1:0] s_chosen,      ///< bytes that stay, if their record passes
  output logic                m_row_valid,
  input  logic                m_row_ready,
  output logic [DATA_W-1:0]   m_row_data,    ///< what is behind its bytes means nothing
  output near_row_t           m_row          ///< phase 0; bytes may be 0 in the last one
);
  localparam int BYTES   = DATA_W / 8;
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int OUT     = 32;                                   // rows that have passed
  localparam int INSIDE  = 18;                                   // ... that are between, at most
  localparam int KEEP    = 5;                                    // cycles of db_csd_near_select_keep
  localparam int SQUEEZE = (ROW_LOG + 1) / 2;                    // ... of db_csd_near_select_squeeze

  if ((DATA_W != 128 && DATA_W != 256 && DATA_W != 512) || DEPTH < 16 || DEPTH != 1 << $clog2(DEPTH)) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), DEPTH a power of two, at least 16 (is %0d)", DATA_W, DEPTH);
  end

  // ---- rows, their marks, what becomes of their tails
  typedef struct packed {
    logic [BYTES-1:0] ends, whole, pass, chosen;
  } marks_t;
  marks_t            marks;
  logic              marks_room, row_valid, marks_valid, tail_valid, tail_pass, row_last, pop, out_room_q, gap_q;
  logic [DATA_W-1:0] row_data;
  assign pop = row_valid && marks_valid && tail_valid && out_room_q && !gap_q;
  db_fifo #(.WIDTH(DATA_W + 1), .DEPTH(DEPTH)) i_rows (
    .clk, .rst, .s_valid(s_row_valid), .s_ready(s_row_ready), .s_data({s_row_last, s_row_data}), .m_valid(row_valid),
    .m_ready(pop), .m_data({row_last, row_data}), .level(waiting));
  localparam int MARKS_W = BITMAPS ? $bits(marks_t) : 3 * BYTES;
  logic [MARKS_W-1:0] marks_in, marks_out;
  if (BITMAPS) begin : g_all_marks
    assign marks_in = {s_ends, s_whole, s_pass, s_chosen};
    assign marks    = marks_out;
  end else begin : g_marks
    logic unused_ok;
    assign marks_in  = {s_ends, s_pass, s_chosen};
    assign marks     = '{ends: marks_out[2*BYTES +: BYTES], whole: '0, pass: marks_out[BYTES +: BYTES],
                         chosen: marks_out[0 +: BYTES]};
    assign unused_ok = &{1'b0, s_whole};
  end
  db_fifo #(.WIDTH(MARKS_W), .DEPTH(DEPTH)) i_marks (
    .clk, .rst, .s_valid(s_marks_valid), .s_ready(marks_room), .s_data(marks_in), .m_valid(marks_valid),
    .m_ready(pop), .m_data(marks_out), .level());
  db_csd_near_select_tails #(.BYTES(BYTES), .DEPTH(DEPTH)) i_tails (
    .clk, .rst, .s_valid(s_marks_valid), .s_last(s_marks_last), .s_ends, .s_pass, .m_valid(tail_valid), .m_ready(pop),
    .m_pass(tail_pass));
  always_ff @(posedge clk) gap_q <= pop && row_last;

  // ---- what stays
  logic                            as_bits;
  logic [DATA_W-1:0]               kept_data, squeezed;
  logic [BYTES-1:0]                kept;
  logic [BYTES-1:0][ROW_LOG-1:0]   down;
  logic [ROW_LOG:0]                kept_count;
  logic [KEEP+SQUEEZE-1:0]         pop_q, pop_last_q;
  logic [SQUEEZE-1:0][ROW_LOG:0]   counts_q;
  assign as_bits = BITMAPS && bitmap;
  db_csd_near_select_keep #(.BYTES(BYTES)) i_keep (
    .clk, .bitmap(as_bits), .s_data(row_data), .s_ends(marks.ends), .s_whole(marks.whole), .s_pass(marks.pass),
    .s_chosen(marks.chosen), .s_tail(tail_pass), .m_data(kept_data), .m_keep(kept), .m_down(down),
    .m_count(kept_count));
  db_csd_near_select_squeeze #(.BYTES(BYTES)) i_squeeze (
    .clk, .s_data(kept_data), .s_keep(kept), .s_down(down), .m_data(squeezed));
  always_ff @(posedge clk) begin
    pop_q      <= rst ? '0 : {pop_q[KEEP+SQUEEZE-2:0], pop};
    pop_last_q <= {pop_last_q[KEEP+SQUEEZE-2:0], row_last};
    counts_q   <= {counts_q[SQUEEZE-2:0], kept_count};
  end

  // ---- one behind another: bytes, or bits
  typedef struct packed {
    logic              last;
    logic [6:0]        bytes;
    logic [DATA_W-1:0] data;
  } out_t;
  logic              bytes_valid, bytes_last, bits_valid, squeezed_valid, squeezed_last;
  logic [DATA_W-1:0] bytes;
  logic [ROW_LOG:0]  bytes_count;
  out_t              out_bits, out_in, out;
  assign squeezed_valid = pop_q[KEEP+SQUEEZE-1];
  assign squeezed_last  = pop_last_q[KEEP+SQUEEZE-1];
  db_csd_near_select_join #(.LANES(BYTES), .LANE_W(8)) i_bytes (
    .clk, .rst, .s_valid(squeezed_valid && !as_bits), .s_last(squeezed_last), .s_data(squeezed),
    .s_count(counts_q[SQUEEZE-1]), .m_valid(bytes_valid), .m_last(bytes_last), .m_data(bytes), .m_count(bytes_count));
  assign out_in = as_bits ? out_bits : '{last: bytes_last, bytes: 7'(bytes_count), data: bytes};

  localparam int OUT_W = $clog2(OUT) + 1;
  logic             out_valid, out_ready, out_room, first_q;
  logic [OUT_W-1:0] out_level;
  near_row_t        out_row;
  db_fifo #(.WIDTH($bits(out_t)), .DEPTH(OUT)) i_out (
    .clk, .rst, .s_valid(bytes_valid || bits_valid), .s_ready(out_room), .s_data(out_in), .m_valid(out_valid),
    .m_ready(out_ready), .m_data(out), .level(out_level));
  assign out_row = '{first: first_q, last: out.last, bytes: out.bytes, phase: '0, owner: '0};
  always_ff @(posedge clk) begin
    out_room_q <= out_level < OUT_W'(OUT - INSIDE);
    if (out_valid && out_ready) first_q <= out.last;
    if (rst) begin
      out_room_q <= 1'b0;
      first_q    <= 1'b1;
    end
  end

  if (BITMAPS) begin : g_bits
    logic              bits_last, gather_ready, gathered_valid;
    logic [BYTES-1:0]  bits_in, bits, masked;          // masked: those that count
    logic [ROW_LOG:0]  bits_count;
    logic [DATA_W-1:0] gathered_data;
    near_row_t         gathered;
    always_comb begin
      for (int i = 0; i < BYTES; i++) begin
        bits_in[i] = squeezed[8*i];
        masked[i]  = bits[i] && (ROW_LOG + 1)'(i) < bits_count;
      end
    end
    assign out_bits = '{last: bits_last, bytes: (7'(bits_count) + 7'd7) >> 3, data: DATA_W'(masked)};
    db_csd_near_select_join #(.LANES(BYTES), .LANE_W(1)) i_bits (
      .clk, .rst, .s_valid(squeezed_valid && bitmap), .s_last(squeezed_last), .s_data(bits_in),
      .s_count(counts_q[SQUEEZE-1]), .m_valid(bits_valid), .m_last(bits_last), .m_data(bits), .m_count(bits_count));
    db_csd_near_gather #(.DATA_W(DATA_W), .WORD_W(BYTES)) i_gather (
      .clk, .rst, .s_valid(out_valid && bitmap), .s_ready(gather_ready), .s_data(out.data[BYTES-1:0]),
      .s_bytes(out.bytes), .s_last(out.last), .m_valid(gathered_valid), .m_ready(m_row_ready), .m_data(gathered_data),
      .m_row(gathered));
    assign out_ready   = bitmap ? gather_ready : m_row_ready;
    assign m_row_valid = bitmap ? gathered_valid : out_valid;
    assign m_row_data  = bitmap ? gathered_data : out.data;
    assign m_row       = bitmap ? gathered : out_row;
  end else begin : g_no_bits
    logic unused_ok;
    assign {bits_valid, out_bits} = '0;
    assign out_ready   = m_row_ready;
    assign m_row_valid = out_valid;
    assign m_row_data  = out.data;
    assign m_row       = out_row;
    assign unused_ok   = &{1'b0, bitmap};
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, marks_room, out_room};
`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (!s_marks_valid || marks_room);
      assert (!(bytes_valid || bits_valid) || out_room);
    end
  end
`endif
endmodule
