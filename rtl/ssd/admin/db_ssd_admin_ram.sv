// SPDX-License-Identifier: Apache-2.0
// Memory of the admin processor: program and data, one port, 32 bits with byte enables, filled from an image.
// Why: a form that every tool maps to block RAM. Latency: data the cycle after re. Throughput: one access a cycle.
module db_ssd_admin_ram #(
  parameter int BYTES    = 65536,  // power of two, 4096..1048576
  parameter     HEX_FILE = ""      // $readmemh image of 32-bit words; "" leaves the memory as it is
) (
  input  logic                       clk,
  input  logic                       en,     // access
  input  logic [3:0]                 we,     // bytes to write; 0 reads
  input  logic [$clog2(BYTES/4)-1:0] addr,   // words
  input  logic [31:0]                wdata,
  output logic [31:0]                rdata
);
  if (BYTES < 4096 || BYTES > 1048576 || (BYTES & (BYTES - 1)) != 0) begin : g_bad_bytes
    $error("%m: BYTES must be 2^12..2^20");
  end

  logic [31:0] mem [BYTES/4];

  initial if (HEX_FILE != "") $readmemh(HEX_FILE, mem);

  always_ff @(posedge clk) begin
    if (en) begin
      for (int i = 0; i < 4; i++) if (we[i]) mem[addr][8*i +: 8] <= wdata[8*i +: 8];
      if (we == 4'd0) rdata <= mem[addr];
    end
  end

endmodule
