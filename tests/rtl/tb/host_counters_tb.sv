// SPDX-License-Identifier: Apache-2.0
// The counters among db_host's registers, made from regs/db_host.rdl: a bench can put them near their end, and count.
// verilator lint_off MULTIDRIVEN
// verilator lint_off UNDRIVEN
// verilator lint_off UNUSEDSIGNAL
module host_counters_tb (
  input  logic        clk,
  input  logic        rst,
  input  logic        preset,  // all counters are one below their greatest value
  input  logic        cqe,
  input  logic        aborts,
  input  logic        resets,
  input  logic        bad,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  input  logic [14:0] s_axil_araddr,
  output logic        s_axil_rvalid,
  output logic [31:0] s_axil_rdata
);
  db_host_regs_pkg::db_host__in_t  in;
  db_host_regs_pkg::db_host__out_t out;
  assign in.NUM_CQES.V.incr   = cqe;
  assign in.NUM_ABORTS.V.incr = aborts;
  assign in.NUM_RESETS.V.incr = resets;
  assign in.NUM_BAD.V.incr    = bad;
  db_host_regs i_regs (
    .clk, .rst, .s_axil_awvalid(1'b0), .s_axil_awready(), .s_axil_awaddr('0), .s_axil_awprot('0), .s_axil_wvalid(1'b0),
    .s_axil_wready(), .s_axil_wdata('0), .s_axil_wstrb('0), .s_axil_bready(1'b1), .s_axil_bvalid(), .s_axil_bresp(),
    .s_axil_arready, .s_axil_arvalid, .s_axil_araddr, .s_axil_arprot('0), .s_axil_rready(1'b1), .s_axil_rvalid,
    .s_axil_rdata, .s_axil_rresp(), .hwif_in(in), .hwif_out(out));
  always_ff @(posedge clk) if (preset) begin
    i_regs.field_storage.NUM_CQES.V.value   <= 32'hffff_fffe;
    i_regs.field_storage.NUM_ABORTS.V.value <= 16'hfffe;
    i_regs.field_storage.NUM_RESETS.V.value <= 16'hfffe;
    i_regs.field_storage.NUM_BAD.V.value    <= 32'hffff_fffe;
  end
endmodule
