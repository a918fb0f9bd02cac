// SPDX-License-Identifier: Apache-2.0
// Reports of packets that have been written. A report goes out in the cycle after it came, or waits if it is not taken.
//
// Latency: 1 cycle. Throughput: a report a cycle. room is low while DEPTH - 4 or more wait: 5 can still come.
module db_pcie_write_done #(
  parameter int USER_W = 8,  ///< bits of a report
  parameter int DEPTH  = 8   ///< reports that can wait, a power of two, at least 8
) (
  input  logic              clk,
  input  logic              rst,
  output logic              room,

  /// always taken
  input  logic              s_done_valid,
  input  logic [USER_W-1:0] s_done_user,
  input  logic              s_done_err,

  output logic              m_done_valid,
  input  logic              m_done_ready,
  output logic [USER_W-1:0] m_done_user,
  output logic              m_done_err
);
  // late: the report of the cycle before.
  logic                   late_valid_q, late_err_q, kept_valid, kept_err;
  logic [USER_W-1:0]      late_user_q, kept_user;
  logic [$clog2(DEPTH):0] level;

  assign m_done_valid = kept_valid || late_valid_q;
  assign m_done_user  = kept_valid ? kept_user : late_user_q;
  assign m_done_err   = kept_valid ? kept_err : late_err_q;

  always_ff @(posedge clk) begin
    room         <= level <= ($clog2(DEPTH) + 1)'(DEPTH - 5);
    late_valid_q <= !rst && s_done_valid;
    late_user_q  <= s_done_user;
    late_err_q   <= s_done_err;
  end

  db_fifo #(.WIDTH(USER_W + 1), .DEPTH(DEPTH)) i_kept (
    .clk, .rst, .s_valid(late_valid_q && (kept_valid || !m_done_ready)),
    .s_ready(),  // there is room: see above
    .s_data({late_err_q, late_user_q}), .m_valid(kept_valid), .m_ready(m_done_ready), .m_data({kept_err, kept_user}),
    .level
  );
endmodule
