// SPDX-License-Identifier: Apache-2.0
// The RAM of the admin processor, shared with the copy engine, which goes first.
// Latency: data the cycle after the access. Throughput: one access a cycle.
module db_ssd_admin_mem
  import db_ssd_admin_pkg::*;
#(
  parameter int BYTES    = 65536,   ///< power of two, 32768..1048576
  parameter     HEX_FILE = ""       ///< $readmemh image of 32-bit words; "" leaves the memory as it is
) (
  input  logic        clk,
  input  logic        s_copy_req,   ///< the copy engine's access
  input  ram_access_t s_copy,
  input  logic        s_cpu_req,    ///< the processor's
  output logic        s_cpu_ready,
  input  ram_access_t s_cpu,
  output logic [31:0] rdata         ///< of whose turn it was
);
  localparam int ADDR_W = $clog2(BYTES / 4);

  ram_access_t access;

  assign access      = s_copy_req ? s_copy : s_cpu;
  assign s_cpu_ready = !s_copy_req;

  logic unused_ok;
  assign unused_ok = &{1'b0, access.addr};  // a small RAM takes the low bits

  db_ssd_admin_ram #(.BYTES(BYTES), .HEX_FILE(HEX_FILE)) i_ram (
    .clk, .en(s_copy_req || s_cpu_req), .we(access.we), .addr(access.addr[ADDR_W-1:0]), .wdata(access.wdata), .rdata);

endmodule
