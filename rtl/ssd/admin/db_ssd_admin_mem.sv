// SPDX-License-Identifier: Apache-2.0
// The RAM of the admin processor, shared with the copy engine, which goes first. It is made of banks whose sizes are powers
// of two, the largest first and the only one that is filled from the image, so that no block RAM lies idle: 88 KiB are 64,
// 16 and 8. Behind the last bank a write is lost and a read gives 0; where there is one bank it repeats.
// Latency: data the cycle after the access. Throughput: one access a cycle.
module db_ssd_admin_mem
  import db_ssd_admin_pkg::*;
#(
  parameter int BYTES    = 65536,   ///< multiple of 4096, 32768..1048576
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
  localparam int TOP    = $clog2(BYTES + 1) - 1;  // of the largest bank: 2^TOP bytes
  localparam bit WHOLE  = BYTES == 2 ** TOP;

  ram_access_t access;
  logic        req;

  assign access      = s_copy_req ? s_copy : s_cpu;
  assign req         = s_copy_req || s_cpu_req;
  assign s_cpu_ready = !s_copy_req;

  logic unused_ok;
  assign unused_ok = &{1'b0, access.addr};  // a small RAM takes the low bits

  if (WHOLE) begin : g_one
    db_ssd_admin_ram #(.BYTES(BYTES), .HEX_FILE(HEX_FILE)) i_ram (
      .clk, .en(req), .we(access.we), .addr(access.addr[ADDR_W-1:0]), .wdata(access.wdata), .rdata);
  end else begin : g_banks
    logic [TOP:12][31:0] bank_rdata;

    always_comb begin
      rdata = '0;
      for (int b = 12; b <= TOP; b++) rdata |= bank_rdata[b];
    end

    for (genvar b = 12; b <= TOP; b++) begin : g_bank
      if (BYTES[b]) begin : g_has
        localparam int FIRST = BYTES >> (b + 1) << 1;  // it begins at so many times its size
        logic        hit, hit_q;
        logic [31:0] data;

        assign hit = access.addr[ADDR_W-1:b-2] == (ADDR_W - b + 2)'(FIRST);
        assign bank_rdata[b] = hit_q ? data : '0;

        always_ff @(posedge clk) if (req) hit_q <= hit;

        if (b == TOP) begin : g_filled
          db_ssd_admin_ram #(.BYTES(2 ** b), .HEX_FILE(HEX_FILE)) i_ram (
            .clk, .en(req && hit), .we(access.we), .addr(access.addr[b-3:0]), .wdata(access.wdata), .rdata(data));
        end else begin : g_empty
          db_ssd_admin_ram #(.BYTES(2 ** b)) i_ram (
            .clk, .en(req && hit), .we(access.we), .addr(access.addr[b-3:0]), .wdata(access.wdata), .rdata(data));
        end
      end else begin : g_none
        assign bank_rdata[b] = '0;
      end
    end
  end

endmodule
