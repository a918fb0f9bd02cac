// SPDX-License-Identifier: Apache-2.0
// The data FIFO of db_pcie_write, and counts of the rows that came in, by which a TLP knows that its payload is inside.
//
// A row that comes in at t is at the head of the FIFO at t + 3 at the latest, if the rows before it have been taken by
// then. A TLP takes a row in each of its first beats, so one of 4 rows or more may start in the very cycle in which its
// last row comes in (row_in, rows_in); for a shorter one rows count 3 cycles later (row_late, rows_late).
// Latency: 1..3 cycles. Throughput: a row a cycle.
module db_pcie_write_rows
  import db_mem_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a row
  parameter int DEPTH  = 128,  ///< rows
  parameter int ROW_W  = 9     ///< bits of row counters
) (
  input  logic              clk,
  input  logic              rst,

  /// dw is not looked at
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,

  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output logic              m_row_last,
  /// this row or one before it in the packet could not be read
  output logic              m_row_err,

  /// pulses: a row comes in; one did 3 cycles ago
  output logic              row_in,
  output logic              row_late,
  /// rows before those, modulo 2**ROW_W
  output logic [ROW_W-1:0]  rows_in,
  output logic [ROW_W-1:0]  rows_late
);
  logic       err_q, err;  // err_q: an earlier row of the packet that comes in had err
  logic [2:0] row_in_q;    // 1 to 3 cycles ago

  assign err      = err_q || s_row_info.err;
  assign row_in   = s_row_valid && s_row_ready;
  assign row_late = row_in_q[2];

  db_fifo #(.WIDTH(DATA_W + 2), .DEPTH(DEPTH)) i_data (
    .clk, .rst, .s_valid(s_row_valid), .s_ready(s_row_ready), .s_data({err, s_row_info.last, s_row_data}),
    .m_valid(m_row_valid), .m_ready(m_row_ready), .m_data({m_row_err, m_row_last, m_row_data}), .level()
  );

  always_ff @(posedge clk) begin
    row_in_q  <= {row_in_q[1:0], row_in};
    rows_in   <= rows_in + ROW_W'(row_in);
    rows_late <= rows_late + ROW_W'(row_late);
    if (row_in) err_q <= err && !s_row_info.last;
    if (rst) begin
      row_in_q  <= '0;
      rows_in   <= '0;
      rows_late <= '0;
      err_q     <= 1'b0;
    end
  end
endmodule
