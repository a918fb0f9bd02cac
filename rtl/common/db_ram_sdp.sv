// SPDX-License-Identifier: Apache-2.0
// Simple dual-port RAM, one clock: one write port, one read port.
//
// Latency: rdata is valid in the cycle after re and holds its value until the next re. A read of the word that is
// written in the same cycle returns the old one; with APART there is none, and a device whose RAM would return anything
// (ECP5) needs no logic around it. Contents are undefined at power-up and not reset.
module db_ram_sdp #(
  parameter int unsigned WIDTH = 32,   ///< bits in a word, at least 1
  parameter int unsigned DEPTH = 512,  ///< words, at least 2
  parameter bit          BLOCK = 1'b0, ///< block RAM, whatever the tool would choose
  parameter bit          APART = 1'b0  ///< no word is read in the cycle in which it is written: the user asserts it
) (
  input  logic                     clk,
  input  logic                     we,
  input  logic [$clog2(DEPTH)-1:0] waddr,
  input  logic [WIDTH-1:0]         wdata,
  input  logic                     re,
  input  logic [$clog2(DEPTH)-1:0] raddr,
  output logic [WIDTH-1:0]         rdata
);
  if (WIDTH < 1 || DEPTH < 2) begin : g_bad
    $error("%m: WIDTH must be at least 1 (is %0d), DEPTH at least 2 (is %0d)", WIDTH, DEPTH);
  end

  (* ram_style = BLOCK ? "block" : "auto", no_rw_check = APART *) logic [WIDTH-1:0] mem_q[DEPTH];
  logic [WIDTH-1:0] rdata_q;

  always_ff @(posedge clk) begin
    if (we) mem_q[waddr] <= wdata;
    if (re) rdata_q <= mem_q[raddr];
  end

  assign rdata = rdata_q;
endmodule
