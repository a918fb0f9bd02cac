// SPDX-License-Identifier: Apache-2.0
// Controller registers of all functions: those of the PF (db_ssd_regs), which answers for what is constant everywhere, and
// those of VFs in RAM (db_ssd_vf_regs). Both see every access; who has nothing there answers zeros. Latency: that of db_ssd_regs.
module db_ssd_fn_regs
  import db_pcie_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic               clk,
  input  logic               rst,
  input  logic [NUM_FN-1:0]  flr_rst,     ///< pulse: reset every register of a function
  /// Accesses, from db_ssd_bar; a read is answered by a pulse.
  input  logic               s_reg_valid,
  output logic               s_reg_ready,
  input  reg_access_t        s_reg,
  output logic               s_reg_rvalid,
  output logic [31:0]        s_reg_rdata,
  input  logic [PLACE_W-1:0] select,      ///< the function that the firmware looks at
  output host_regs_t         host_regs,   ///< ... its registers; the pulses are the PF's
  output logic [NUM_FN-1:0]  cc_en,
  output logic [NUM_FN-1:0]  cc_written,  ///< pulse
  output logic [31:0]        intms,       ///< of the PF; 1: interrupt masked
  input  csts_t [NUM_FN-1:0] csts
);
  host_regs_t  pf_regs;
  logic        pf_ready, pf_rvalid;
  logic [31:0] pf_rdata;
  db_ssd_regs #(.CONSTANTS(NUM_FN > 1)) i_pf (
    .clk, .rst, .flr_rst(flr_rst[0]), .s_reg_valid(s_reg_valid && s_reg_ready), .s_reg_ready(pf_ready), .s_reg,
    .s_reg_rvalid(pf_rvalid), .s_reg_rdata(pf_rdata), .host_regs(pf_regs), .intms, .csts(csts[0]));
  assign cc_en[0]      = pf_regs.cc[0];
  assign cc_written[0] = pf_regs.cc_written;

  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok    = &{1'b0, select};
    assign s_reg_ready  = pf_ready;
    assign s_reg_rvalid = pf_rvalid;
    assign s_reg_rdata  = pf_rdata;
    assign host_regs    = pf_regs;
  end else begin : g_many
    logic        vf_ready, vf_rvalid;
    logic [31:0] vf_rdata;
    host_regs_t  vf_regs;
    db_ssd_vf_regs #(.NUM_VF(NUM_FN - 1)) i_vf (
      .clk, .rst, .flr_rst(flr_rst[NUM_FN-1:1]), .s_reg_valid(s_reg_valid && s_reg_ready), .s_reg_ready(vf_ready),
      .s_reg, .s_reg_rvalid(vf_rvalid), .s_reg_rdata(vf_rdata), .csts(csts[NUM_FN-1:1]), .cc_en(cc_en[NUM_FN-1:1]),
      .cc_written(cc_written[NUM_FN-1:1]), .select(4'(select - 1'b1)), .host_regs(vf_regs));
    assign s_reg_ready  = pf_ready && vf_ready;
    assign s_reg_rvalid = pf_rvalid || vf_rvalid;  // both at once
    assign s_reg_rdata  = pf_rdata | vf_rdata;
    always_comb begin
      host_regs                 = select == '0 ? pf_regs : vf_regs;
      host_regs.cc_written      = pf_regs.cc_written;
      host_regs.subsystem_reset = pf_regs.subsystem_reset;
    end
  end
endmodule
