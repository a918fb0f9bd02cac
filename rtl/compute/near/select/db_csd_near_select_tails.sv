// SPDX-License-Identifier: Apache-2.0
// Part of db_csd_near_select: what becomes of the bytes behind a row's last record end, which a later row decides.
//
// Rows wait for it. A row with an end decides for all that wait; it waits then itself, for the part behind its own last end.
// At a packet's end no record ends any more: what is behind the last one goes.
// Latency: 1 cycle from the row that decides, 2 for a packet's last row. Throughput: a row a cycle.
module db_csd_near_select_tails #(
  parameter int BYTES = 32,  ///< of a row: 16, 32, 64
  parameter int DEPTH = 64   ///< rows that have no answer yet, or one that is not taken, at most; a power of two
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             s_valid,  ///< a row
  input  logic             s_last,   ///< of the packet
  input  logic [BYTES-1:0] s_ends,   ///< of records
  input  logic [BYTES-1:0] s_pass,   ///< those of records that pass
  output logic             m_valid,  ///< what becomes of a row's tail: an answer for each row, in order
  input  logic             m_ready,
  output logic             m_pass
);
  localparam int COUNT_W = $clog2(DEPTH) + 1;
  typedef struct packed {
    logic               pass;
    logic [COUNT_W-1:0] rows;
  } run_t;

  // ---- runs of rows with one answer; that of a last row itself a cycle later, when no other can come
  logic [COUNT_W-1:0] waiting_q;              // rows
  logic               any, end_q, run_valid, run_ready, taken;
  run_t               run, out;
  assign any       = s_valid && (s_ends != '0 || s_last) && waiting_q != '0;
  assign run_valid = any || end_q;
  assign run       = end_q ? '{pass: 1'b0, rows: COUNT_W'(1)}
                           : '{pass: (s_pass & (~s_ends + 1'b1)) != '0, rows: waiting_q};
  always_ff @(posedge clk) begin
    end_q <= s_valid && s_last && !rst;
    if (s_valid) waiting_q <= s_last ? '0 : s_ends != '0 ? COUNT_W'(1) : waiting_q + 1'b1;
    if (rst) waiting_q <= '0;
  end
  db_fifo #(.WIDTH($bits(run_t)), .DEPTH(DEPTH)) i_runs (
    .clk, .rst, .s_valid(run_valid), .s_ready(run_ready), .s_data(run), .m_valid, .m_ready(taken),
    .m_data(out), .level());

  // ---- an answer for each of them
  logic [COUNT_W-1:0] gone_q, gone;
  assign gone   = gone_q + 1'b1;
  assign taken  = m_ready && gone == out.rows;
  assign m_pass = out.pass;
  always_ff @(posedge clk) begin
    if (m_valid && m_ready) gone_q <= taken ? '0 : gone;
    if (rst) gone_q <= '0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert (!(any && end_q) && (!run_valid || run_ready));
`endif
endmodule
