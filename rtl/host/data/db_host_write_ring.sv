// SPDX-License-Identifier: Apache-2.0
// Ring of data to be written: a stream fills it in order, the drive's read requests read it at any row.
//
// What is counted in units of 512 bytes wraps at 2^32: `fill` written, `freed` no longer needed; their difference
// is what the ring holds. A unit is counted once its last row can be read.
// Latency: row to `fill` 1 cycle, read 2 cycles. Throughput: a row in and a row out every cycle. s_axis_wdata_tready
// is a register; it falls in the cycle after the row that fills the ring and rises in the cycle after a unit is given
// back.
module db_host_write_ring #(
  /// bits of a row: 128, 256 or 512
  parameter int DATA_W = 128,
  /// of the ring: a power of two, 4 KiB .. 8 MiB
  parameter int BYTES  = 65536,
  /// 64 KiB and more: 1 UltraRAM, 0 block RAM
  parameter bit URAM   = 1'b1,
  localparam int ROW_W = $clog2(BYTES / (DATA_W / 8))
) (
  input  logic              clk,
  input  logic              rst,

  input  logic [DATA_W-1:0] s_axis_wdata_tdata,
  input  logic              s_axis_wdata_tvalid,
  output logic              s_axis_wdata_tready,

  /// units of 512 bytes ever written, ever given back; wrap
  output logic [31:0]       fill,
  input  logic [31:0]       freed,

  input  logic              s_row_re,
  input  logic [ROW_W-1:0]  s_row_addr,
  /// 2 cycles after
  output logic [DATA_W-1:0] m_row_data
);
  localparam int SUB_W  = $clog2(512 / (DATA_W / 8));  // log2 of the rows in a unit
  localparam int UNIT_W = ROW_W - SUB_W;               // log2 of the units in the ring

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  if (BYTES != (1 << $clog2(BYTES)) || BYTES < 4096 || BYTES > 8388608) begin : g_bad_size
    $error("%m: BYTES must be a power of two from 4096 to 8388608 (is %0d)", BYTES);
  end

  logic [31+SUB_W:0] rows_q, rows_d;  // rows ever written
  logic [UNIT_W:0]   held;            // units in the ring after this cycle
  logic              ready_q, take;

  assign take   = s_axis_wdata_tvalid && ready_q;
  assign rows_d = rows_q + (32 + SUB_W)'(take);
  assign held   = rows_d[SUB_W +: UNIT_W + 1] - freed[UNIT_W:0];

  always_ff @(posedge clk) begin
    rows_q  <= rows_d;
    ready_q <= !held[UNIT_W];
    if (rst) begin
      rows_q  <= '0;
      ready_q <= 1'b0;
    end
  end

  assign s_axis_wdata_tready = ready_q;
  assign fill                = rows_q[31+SUB_W:SUB_W];

  db_host_ram #(
    .DATA_W(DATA_W),
    .ROWS  (1 << ROW_W),
    .URAM  (URAM)
  ) i_ram (
    .clk,
    .we   (take),
    .waddr(rows_q[ROW_W-1:0]),
    .wbe  ('1),
    .wdata(s_axis_wdata_tdata),
    .re   (s_row_re),
    .raddr(s_row_addr),
    .oe   (1'b1),
    .clear(1'b0),
    .rdata(m_row_data)
  );
endmodule
