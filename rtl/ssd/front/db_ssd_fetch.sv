// SPDX-License-Identifier: Apache-2.0
// Cuts the stream of fetched submission queue memory into submission queue entries of 64 bytes.
//
// Why: the arbiter fetches several entries with one PCIe read; decode wants them one at a time, each with its queue
// and the queue's head after it (what SQHD of completions will say).
// An entry is marked if its read failed, or that of one before it in the packet: its queue and head are right all the
// same.
// Latency: none, an entry comes out with its last row, which is not taken before the entry is. Throughput: a row a
// cycle.
module db_ssd_fetch
  import db_mem_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits of a row: 128, 256 or 512
) (
  input  logic              clk,
  input  logic              rst,
  /// Packets of k * 64 bytes, k >= 1: rows are always full.
  input  logic              s_axis_tvalid,
  output logic              s_axis_tready,
  input  logic [DATA_W-1:0] s_axis_tdata,
  input  row_info_t         s_axis_info,
  input  fetch_user_t       s_axis_user,  ///< that of the request
  /// Entries, for db_ssd_decode.
  output logic              m_sqe_valid,
  input  logic              m_sqe_ready,
  output fetched_sqe_t      m_sqe
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  localparam int ROWS = 512 / DATA_W;  // of an entry

  logic        first_q;                          // the next row is its packet's first
  logic [15:0] idx_q, idx, head;
  logic        err_q, err, end_of_entry, take;

  assign idx  = first_q ? s_axis_user.index : idx_q;
  assign head = idx == s_axis_user.size ? 16'd0 : idx + 16'd1;
  assign err  = s_axis_info.err || (err_q && !first_q);

  assign s_axis_tready = !end_of_entry || m_sqe_ready;
  assign take          = s_axis_tvalid && s_axis_tready;

  assign m_sqe_valid = s_axis_tvalid && end_of_entry;
  assign m_sqe.fn    = s_axis_user.fn;
  assign m_sqe.sqid  = s_axis_user.sqid;
  assign m_sqe.head  = head;
  assign m_sqe.err   = err;

  if (ROWS == 1) begin : g_one
    assign end_of_entry = 1'b1;
    assign m_sqe.sqe    = s_axis_tdata;
  end else begin : g_rows
    logic [$clog2(ROWS)-1:0] row_q;
    logic [512-DATA_W-1:0]   rows_q;  // earlier rows of the entry, the oldest at the bottom once all are here
    assign end_of_entry = row_q == $clog2(ROWS)'(ROWS - 1);
    assign m_sqe.sqe    = {s_axis_tdata, rows_q};
    always_ff @(posedge clk) begin
      if (take) begin
        row_q <= row_q + 1'b1;
        if (!end_of_entry) rows_q <= (512 - DATA_W)'({s_axis_tdata, rows_q} >> DATA_W);
      end
      if (rst) row_q <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (take) begin
      first_q <= s_axis_info.last;
      err_q   <= err;
      idx_q   <= end_of_entry ? head : idx;
    end
    if (rst) first_q <= 1'b1;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_axis_info.dw};

  assert property (@(posedge clk) disable iff (rst) !(take && s_axis_info.last) || end_of_entry);
endmodule
