// SPDX-License-Identifier: Apache-2.0
// db_ram_sdp whose words are parts of 18 bits, each with a write enable of its own: tables with one writer's address
// and one reader's share a block RAM, which is 36 or 72 bits wide, instead of having half a one each.
//
// Latency: as db_ram_sdp: rdata is valid in the cycle after re and holds its value until the next re. A read of the
// word that is written in the same cycle returns the old one. Contents are undefined at power-up and not reset.
module db_ram_parts #(
  parameter int  PARTS  = 2,   ///< parts of a word, at least 1; two are as wide as half a block RAM, four as a whole
  parameter int  DEPTH  = 512, ///< words, at least 2
  localparam int PART_W = 18
) (
  input  logic                          clk,
  input  logic [PARTS-1:0]              we,
  input  logic [$clog2(DEPTH)-1:0]      waddr,
  input  logic [PARTS-1:0][PART_W-1:0]  wdata,
  input  logic                          re,
  input  logic [$clog2(DEPTH)-1:0]      raddr,
  output logic [PARTS-1:0][PART_W-1:0]  rdata
);
  if (PARTS < 1 || DEPTH < 2) begin : g_bad
    $error("%m: PARTS must be at least 1 (is %0d), DEPTH at least 2 (is %0d)", PARTS, DEPTH);
  end

  (* ram_style = "block" *) logic [PARTS*PART_W-1:0] mem_q[DEPTH];
  logic [PARTS*PART_W-1:0] rdata_q;

  always_ff @(posedge clk) begin
    for (int i = 0; i < PARTS; i++) if (we[i]) mem_q[waddr][PART_W*i +: PART_W] <= wdata[i];
    if (re) rdata_q <= mem_q[raddr];
  end

  assign rdata = rdata_q;
endmodule
