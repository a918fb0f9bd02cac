// SPDX-License-Identifier: Apache-2.0
// Ring of data that is read: the drive writes it at any row, it leaves as a stream, part after part in the order
// given.
//
// A part (s_out) is a place and a length in units of 512 bytes; one of length 0 has no rows. s_out_ready is a pulse
// in the cycle after a part was looked at, so s_out must be held until it (as valid and ready ask anyhow). A part
// with error leaves as zeros, its rows marked in tuser. `freed` counts units whose last row was read from the
// ring; it wraps at 2^32. A ring of up to 4 MiB stands twice in its region, so that a data block may go on past its
// end. Writes beyond that are dropped.
// Latency: s_out_valid to first row 3 cycles. Throughput: a row in and a row out every cycle, none lost between parts.
module db_host_read_ring
  import db_host_pkg::*;
#(
  /// bits of a row: 128, 256 or 512
  parameter int DATA_W = 128,
  /// of the ring: a power of two, 4 KiB .. 8 MiB
  parameter int BYTES  = 524288,
  /// 64 KiB and more: 1 UltraRAM, 0 block RAM
  parameter bit URAM   = 1'b1
) (
  input  logic                clk,
  input  logic                rst,

  /// row writes of db_pcie_root
  input  logic                s_wr_valid,
  input  logic [WIN_W-1:0]    s_wr_addr,
  input  logic [DATA_W-1:0]   s_wr_data,
  input  logic [DATA_W/8-1:0] s_wr_be,

  input  logic                s_out_valid,
  output logic                s_out_ready,
  /// last: tlast on the part's last row
  input  out_cmd_t            s_out,

  output logic [DATA_W-1:0]   m_axis_rdata_tdata,
  output logic                m_axis_rdata_tvalid,
  input  logic                m_axis_rdata_tready,
  output logic                m_axis_rdata_tlast,
  output logic [0:0]          m_axis_rdata_tuser,

  /// units of 512 bytes ever read out; wraps
  output logic [31:0]         freed
);
  localparam int BYTE_W = $clog2(BYTES);
  localparam int LSB    = $clog2(DATA_W / 8);
  localparam int ROW_W  = BYTE_W - LSB;
  localparam int SUB_W  = 9 - LSB;  // log2 of the rows in a unit

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  if (BYTES != (1 << BYTE_W) || BYTES < 4096 || BYTES > 8388608) begin : g_bad_size
    $error("%m: BYTES must be a power of two from 4096 to 8388608 (is %0d)", BYTES);
  end

  // ---- rows to be read
  logic             act_q, last_q, err_q, out_ready_q;
  logic [ROW_W-1:0] row_q;
  logic [13:0]      left_q;        // units, this one included
  logic             one_q;         // left_q is 1
  logic             unit_end, part_end, load, rd_free, out_free, issue;
  logic [31:0]      freed_q;

  assign unit_end = row_q[SUB_W-1:0] == '1;
  assign part_end = unit_end && one_q;
  assign issue    = act_q && rd_free;
  assign load     = s_out_valid && !out_ready_q && (!act_q || (rd_free && part_end));

  always_ff @(posedge clk) begin
    out_ready_q <= load;
    if (issue) row_q <= row_q + 1'b1;
    if (issue && unit_end) begin
      left_q  <= left_q - 1'b1;
      one_q   <= left_q == 14'd2;
      freed_q <= freed_q + 1'b1;
      if (one_q) act_q <= 1'b0;
    end
    if (load) begin
      act_q  <= s_out.len512 != '0;
      row_q  <= {s_out.buf512[BYTE_W-10:0], SUB_W'(0)};
      left_q <= s_out.len512;
      one_q  <= s_out.len512 == 14'd1;
      last_q <= s_out.last;
      err_q  <= s_out.error;
    end
    if (rst) begin
      act_q       <= 1'b0;
      out_ready_q <= 1'b0;
      freed_q     <= '0;
    end
  end

  assign s_out_ready = out_ready_q;
  assign freed       = freed_q;

  // ---- the ring and its two read registers
  logic rd_valid_q, rd_last_q, rd_err_q, out_valid_q, out_last_q, out_err_q;

  assign out_free = !out_valid_q || m_axis_rdata_tready;
  assign rd_free  = !rd_valid_q || out_free;

  always_ff @(posedge clk) begin
    if (rd_free) begin
      rd_valid_q <= act_q;
      rd_last_q  <= last_q && part_end;
      rd_err_q   <= err_q;
    end
    if (out_free) begin
      out_valid_q <= rd_valid_q;
      out_last_q  <= rd_last_q;
      out_err_q   <= rd_err_q;
    end
    if (rst) begin
      rd_valid_q  <= 1'b0;
      out_valid_q <= 1'b0;
    end
  end

  logic in_ring;
  if (BYTE_W + 1 < REGION_W) begin : g_bound
    assign in_ring = s_wr_addr[WIN_W-1:BYTE_W+1] == {REGION_RD_DATA, (REGION_W - BYTE_W - 1)'(0)};
  end else begin : g_full
    assign in_ring = s_wr_addr[WIN_W-1:REGION_W] == REGION_RD_DATA;
  end

  db_host_ram #(
    .DATA_W(DATA_W),
    .ROWS  (1 << ROW_W),
    .URAM  (URAM)
  ) i_ram (
    .clk,
    .we   (s_wr_valid && in_ring),
    .waddr(s_wr_addr[BYTE_W-1:LSB]),
    .wbe  (s_wr_be),
    .wdata(s_wr_data),
    .re   (rd_free),
    .raddr(row_q),
    .oe   (out_free),
    .clear(rd_err_q),
    .rdata(m_axis_rdata_tdata)
  );

  assign m_axis_rdata_tvalid = out_valid_q;
  assign m_axis_rdata_tlast  = out_last_q;
  assign m_axis_rdata_tuser  = out_err_q;
endmodule
