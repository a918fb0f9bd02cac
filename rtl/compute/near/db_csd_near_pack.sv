// SPDX-License-Identifier: Apache-2.0
// From the rows of results to rows for the host: so many as each command's buffer has, with zeros behind its result.
//
// A packet's last row waits until its result and its data have ended, so that how the command ends is known before.
// What does not fit is counted and dropped.
// Latency: 2 cycles from a row to the row; of the last row also 1 from s_end. Throughput: a row a cycle; a cycle less a
// packet. All outputs are registers.
module db_csd_near_pack
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter int DEPTH  = 4     ///< commands that have begun at most: a power of two, 2..16
) (
  input  logic              clk,
  input  logic              rst,
  /// A command begins, at most DEPTH before the first has ended; none, absent: it has no program, or no slot for it, so no
  /// rows will come.
  input  logic              s_begin,
  input  near_packet_t      s_packet,
  input  logic              s_none,
  input  logic              s_absent,
  /// Pulse: all of its data has come; some could not be read.
  input  logic              s_end,
  input  logic              s_err,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output row_info_t         m_row_info,
  /// Pulse, a cycle before a packet's last row: what it came to.
  output logic              m_result_valid,
  output near_result_t      m_result
);
  localparam int BYTES   = DATA_W / 8;
  localparam int ROW_LOG = $clog2(BYTES);
  localparam int ROWS_W  = NEAR_BYTES_W - ROW_LOG;

  // ---- commands that have begun, and how their data ended
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    logic [ROWS_W-1:0] rows;
    logic              none;
    logic              absent;
  } begun_t;
  begun_t begun;
  logic   begun_valid, end_valid, err, done;   // done: the packet's last row goes
  db_fifo #(.WIDTH($bits(begun_t)), .DEPTH(DEPTH)) i_begun (
    .clk, .rst, .s_valid(s_begin), .s_ready(),
    .s_data({s_packet.slot, s_packet.args.result[NEAR_BYTES_W-1:ROW_LOG], s_none, s_absent}), .m_valid(begun_valid),
    .m_ready(done), .m_data(begun), .level());
  db_fifo #(.WIDTH(1), .DEPTH(DEPTH)) i_end (
    .clk, .rst, .s_valid(s_end), .s_ready(), .s_data(s_err), .m_valid(end_valid), .m_ready(done), .m_data(err),
    .level());

  // ---- rows
  logic                    active_q, none_q, absent_q, full_q, over_q;
  logic                    ended_q;                                    // the result's last row has come
  logic [ROWS_W-1:0]       left_q;                                     // rows that have not gone
  logic [NEAR_BYTES_W-1:0] bytes_q;
  logic [DATA_W-1:0]       row, row_q;
  logic                    final_q, take, go, out_free;                // final: the packet's last row is next
  assign s_row_ready = active_q && !ended_q && (!full_q || final_q || go);
  assign take        = s_row_valid && s_row_ready;
  assign out_free    = !m_row_valid || m_row_ready;
  assign go          = active_q && out_free && (final_q ? ended_q && end_valid : full_q || ended_q);
  assign done        = go && final_q;
  always_comb begin
    for (int i = 0; i < BYTES; i++) row[8*i +: 8] = 7'(i) < s_row.bytes ? s_row_data[8*i +: 8] : '0;
  end

  always_ff @(posedge clk) begin
    m_result_valid <= done;
    m_result       <= '{slot: begun.slot, none: none_q, absent: absent_q, too_large: over_q, bytes: bytes_q};
    if (m_row_ready) m_row_valid <= 1'b0;
    if (go) begin
      m_row_valid <= 1'b1;
      m_row_data  <= row_q;
      m_row_info  <= '{last: final_q, dw: 5'(DATA_W / 32), err: final_q && err};
      row_q       <= '0;
      full_q      <= 1'b0;
      left_q      <= left_q - 1'b1;
      final_q     <= left_q == ROWS_W'(2);
    end
    if (take) begin
      bytes_q <= bytes_q + NEAR_BYTES_W'(s_row.bytes);
      ended_q <= s_row.last;
      if (full_q && !go) begin
        over_q <= over_q || s_row.bytes != '0;
      end else begin
        row_q  <= row;
        full_q <= 1'b1;
      end
    end
    if (!active_q || done) begin
      active_q <= begun_valid && !done;
      none_q   <= begun.none;
      absent_q <= begun.absent;
      ended_q  <= begun.none || begun.absent;
      left_q   <= begun.rows;
      final_q  <= begun.rows == ROWS_W'(1);
      bytes_q  <= '0;
      over_q   <= 1'b0;
      row_q    <= '0;
      full_q   <= 1'b0;
    end
    if (rst) begin
      active_q       <= 1'b0;
      m_row_valid    <= 1'b0;
      m_result_valid <= 1'b0;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_packet, s_row.first, s_row.phase};
endmodule
