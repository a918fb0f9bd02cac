// SPDX-License-Identifier: Apache-2.0
// Finds where values of the column end in each row, wholly inside the packet.
//
// Why ends: a value that straddles rows is then known when its end is there, and needs only bytes that have been.
// How far away the next end is goes from row to row, modulo the record; the ends of a row are the record's period
// moved so far.
// A phase that no byte of a record has counts as 0: else no value would end for as long as 65536 bytes.
// A packet's last row waits in the first stage until there is room for its result.
// Latency: 3 cycles. Throughput: a row a cycle. A cycle without a row looks like one without ends.
module db_csd_near_column_ends
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                clk,
  input  logic                rst,
  input  logic [1:0]          size_log2,    ///< as of db_csd_near_column, like those that follow
  input  logic [15:0]         record,
  input  logic [15:0]         tail,
  input  logic [DATA_W/8-1:0] period,
  input  logic [6:0]          back,
  input  logic [15:0]         ahead,

  input  logic                s_row_valid,
  output logic                s_row_ready,
  input  logic [DATA_W-1:0]   s_row_data,
  input  near_row_t           s_row,
  input  logic                s_room,       ///< a last row may go on
  output logic                m_last_goes,  ///< it does, the room is taken

  output logic                m_valid,      ///< a row, no wait
  output logic                m_first,      ///< of a packet; not without m_valid
  output logic                m_last,
  output logic [DATA_W-1:0]   m_data,
  output logic [DATA_W/8-1:0] m_ends        ///< byte n is the last one of a value
);
  localparam int BYTES      = DATA_W / 8;
  localparam int BYTES_LOG2 = $clog2(BYTES);

  // ---- the row that has come
  logic              wait_valid_q, goes;
  logic [DATA_W-1:0] wait_data_q;
  near_row_t         wait_q;
  assign goes        = wait_valid_q && (!wait_q.last || s_room);
  assign s_row_ready = !wait_valid_q || !wait_q.last || s_room;
  assign m_last_goes = wait_valid_q && wait_q.last && s_room;

  // ---- bytes to the next end; and those bytes of the row in which an end counts
  logic [16:0]      first_away;
  logic [15:0]      away_q, next_away;
  logic [BYTES-1:0] counted, counted_q;
  always_comb begin
    first_away = {1'b0, tail} - {1'b0, wait_q.phase};
    if (first_away[16]) first_away = first_away + {1'b0, record};
    next_away = away_q + (away_q < 16'(back) ? ahead : -16'(back));
    counted = goes ? ~({BYTES{1'b1}} << wait_q.bytes) : '0;
    for (int i = 0; i < 7; i++) if (wait_q.first && i < (32'd1 << size_log2) - 1) counted[i] = 1'b0;
  end

  // ---- the ends
  logic              valid_q, first_q, last_q;
  logic [DATA_W-1:0] data_q;
  logic [BYTES-1:0]  ends;
  assign ends = away_q[15:BYTES_LOG2] == '0 ? (period << away_q[BYTES_LOG2-1:0]) & counted_q : '0;

  always_ff @(posedge clk) begin
    if (s_row_ready) begin
      wait_valid_q <= s_row_valid;
      wait_data_q  <= s_row_data;
      wait_q       <= s_row;
      if (s_row.phase >= record) wait_q.phase <= '0;
    end
    if (goes) away_q <= wait_q.first ? first_away[15:0] : next_away;
    counted_q <= counted;
    valid_q  <= goes;
    first_q  <= goes && wait_q.first;
    last_q   <= goes && wait_q.last;
    data_q   <= wait_data_q;
    m_valid  <= valid_q;
    m_first  <= first_q;
    m_last   <= last_q;
    m_data   <= data_q;
    m_ends   <= ends;
    if (rst) begin
      wait_valid_q <= 1'b0;
      valid_q      <= 1'b0;
      first_q      <= 1'b0;
      last_q       <= 1'b0;
      counted_q     <= '0;
      m_valid      <= 1'b0;
      m_first      <= 1'b0;
      m_last       <= 1'b0;
    end
  end
endmodule
