// SPDX-License-Identifier: Apache-2.0
// Memory of whole rows with byte enables: one write port, one read port, two read registers.
//
// Why: the rings and the admin buffer of db_host. The second register is the one that block and UltraRAM have inside.
// Large memories become UltraRAM, where URAM allows it; small ones block RAM.
// Latency: 2 cycles from re (with oe in the second). Throughput: a write and a read every cycle. A row must not be read
// in the cycle in which it is written: what the read gives is undefined then.
module db_host_ram #(
  /// bits of a row, a multiple of 8
  parameter int DATA_W = 128,
  /// at least 2
  parameter int ROWS   = 4096,
  /// 64 KiB and more: 1 UltraRAM (UltraScale+ only), 0 block RAM
  parameter bit URAM   = 1'b1
) (
  input  logic                    clk,
  input  logic                    we,
  input  logic [$clog2(ROWS)-1:0] waddr,
  input  logic [DATA_W/8-1:0]     wbe,
  input  logic [DATA_W-1:0]       wdata,
  /// first register takes the row
  input  logic                    re,
  input  logic [$clog2(ROWS)-1:0] raddr,
  /// second register takes the first
  input  logic                    oe,
  /// with oe: zeros instead
  input  logic                    clear,
  output logic [DATA_W-1:0]       rdata
);
  if (DATA_W % 8 != 0 || DATA_W < 8 || ROWS < 2) begin : g_bad
    $error("%m: DATA_W must be a multiple of 8 (is %0d), ROWS at least 2 (is %0d)", DATA_W, ROWS);
  end

  logic [DATA_W-1:0] row_q, out_q;

  if (URAM && ROWS * (DATA_W / 8) >= 65536) begin : g_ultra
    (* ram_style = "ultra", no_rw_check *) logic [DATA_W-1:0] mem_q[ROWS];
    always_ff @(posedge clk) begin
      if (we) for (int b = 0; b < DATA_W / 8; b++) if (wbe[b]) mem_q[waddr][8*b +: 8] <= wdata[8*b +: 8];
      if (re) row_q <= mem_q[raddr];
    end
  end else begin : g_block
    (* ram_style = "block", no_rw_check *) logic [DATA_W-1:0] mem_q[ROWS];
    always_ff @(posedge clk) begin
      if (we) for (int b = 0; b < DATA_W / 8; b++) if (wbe[b]) mem_q[waddr][8*b +: 8] <= wdata[8*b +: 8];
      if (re) row_q <= mem_q[raddr];
    end
  end

  always_ff @(posedge clk) if (oe) out_q <= clear ? '0 : row_q;

  assign rdata = out_q;
endmodule
