// SPDX-License-Identifier: Apache-2.0
// Cuts the stream of fetched submission queue memory into submission queue entries of 64 bytes.
//
// Why: the arbiter fetches several entries with one PCIe read; decode wants them one at a time, each with its queue
// and the queue's head after it (what SQHD of completions will say).
// Latency: none, an entry comes out with its last row, which is not taken before the entry is: m_sqe_* are those of the
// row (registers or a memory's output there) and the rows kept here. Throughput: a row a cycle. m_sqe_err: the read of
// this entry, or of one before it in the packet, failed; its data is not to be trusted, its queue and head are.
module db_ssd_fetch
  import db_ssd_pkg::*;
#(
    parameter int unsigned DATA_W = 256  // bits of a row: 128, 256 or 512
) (
    input  logic                         clk,
    input  logic                         rst,

    // packets of k * 64 bytes, k >= 1, from db_pcie_read
    input  logic                         s_axis_tvalid,
    output logic                         s_axis_tready,
    input  logic [DATA_W-1:0]            s_axis_tdata,
    input  logic                         s_axis_tlast,
    input  logic [$clog2(DATA_W/32):0]   s_axis_tdw,    // not used: rows are always full
    input  logic [FN_W+QID_W+32-1:0]     s_axis_tuser,  // {fn, sqid, index of first entry[15:0], queue size - 1[15:0]}
    input  logic                         s_axis_terr,

    output logic                         m_sqe_valid,
    input  logic                         m_sqe_ready,
    output logic [FN_W-1:0]              m_sqe_fn,
    output logic [QID_W-1:0]             m_sqe_sqid,
    output logic [15:0]                  m_sqe_head,    // head of the queue once this entry has been taken
    output logic                         m_sqe_err,
    output logic [511:0]                 m_sqe_data
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  localparam int unsigned ROWS = 512 / DATA_W;  // of an entry

  logic        first_q;                          // the next row is its packet's first
  logic [15:0] idx_q, idx, size, head;
  logic        err_q, err, end_of_entry, take;

  assign size = s_axis_tuser[15:0];
  assign idx  = first_q ? s_axis_tuser[31:16] : idx_q;
  assign head = idx == size ? 16'd0 : idx + 16'd1;
  assign err  = s_axis_terr || (err_q && !first_q);

  assign s_axis_tready = !end_of_entry || m_sqe_ready;
  assign take          = s_axis_tvalid && s_axis_tready;

  assign m_sqe_valid   = s_axis_tvalid && end_of_entry;
  assign m_sqe_fn      = s_axis_tuser[32+QID_W+:FN_W];
  assign m_sqe_sqid    = s_axis_tuser[32+:QID_W];
  assign m_sqe_head    = head;
  assign m_sqe_err     = err;

  if (ROWS == 1) begin : g_one
    assign end_of_entry = 1'b1;
    assign m_sqe_data   = s_axis_tdata;
  end else begin : g_rows
    logic [$clog2(ROWS)-1:0] row_q;
    logic [512-DATA_W-1:0]   rows_q;  // earlier rows of the entry, the oldest at the bottom once all are here
    assign end_of_entry = row_q == $clog2(ROWS)'(ROWS - 1);
    assign m_sqe_data   = {s_axis_tdata, rows_q};
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
      first_q <= s_axis_tlast;
      err_q   <= err;
      idx_q   <= end_of_entry ? head : idx;
    end
    if (rst) first_q <= 1'b1;
  end

  assert property (@(posedge clk) disable iff (rst) !(take && s_axis_tlast) || end_of_entry);
endmodule
