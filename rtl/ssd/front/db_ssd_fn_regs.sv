// SPDX-License-Identifier: Apache-2.0
// Controller registers of all functions: those of the PF (db_ssd_regs), which answers for what is constant everywhere, and
// those of VFs in RAM (db_ssd_vf_regs). Both see every access; who has nothing there answers zeros. Latency: that of db_ssd_regs.
module db_ssd_fn_regs
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN   = 1,  ///< functions, 1..17
  parameter int CMB_LOG2 = 0   ///< log2 of the bytes of a function's Controller Memory Buffer; 0: there is none
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
  output host_regs_t         host_regs,   ///< of the PF
  /// The firmware's look at a word of a VF, held until it is answered by a pulse.
  input  logic               look_valid,
  input  vf_look_t           look,
  output logic               look_answer,
  output logic [31:0]        look_data,
  output logic [NUM_FN-1:0]  cc_en,
  output logic [NUM_FN-1:0]  cc_written,  ///< pulse
  output logic [31:0]        intms,       ///< of the PF; 1: interrupt masked
  input  csts_t [NUM_FN-1:0] csts,
  /// To and from db_pcie_cmb_window.
  output logic               cmb_set_valid,
  output logic [PLACE_W-1:0] cmb_set_place,
  output cmb_window_t        cmb_set,
  output logic [NUM_FN-1:0]  cmb_clear,
  input  logic [NUM_FN-1:0]  cmb_base_invalid
);
  // ---- Controller Memory Buffer
  logic [31:0] cmb_rdata;
  if (CMB_LOG2 != 0) begin : g_cmb
    assign cmb_clear = flr_rst | {NUM_FN{host_regs.subsystem_reset}};
    db_ssd_cmb_regs #(.NUM_FN(NUM_FN), .CMB_LOG2(CMB_LOG2)) i_cmb (
      .clk, .rst, .clear(cmb_clear), .s_reg_valid(s_reg_valid && s_reg_ready), .s_reg, .s_reg_rdata(cmb_rdata),
      .set_valid(cmb_set_valid), .set_place(cmb_set_place), .set(cmb_set), .base_invalid(cmb_base_invalid));
  end else begin : g_no_cmb
    logic unused_ok;
    assign unused_ok     = &{1'b0, cmb_base_invalid};
    assign cmb_rdata     = '0;
    assign cmb_set_valid = 1'b0;
    assign cmb_set_place = '0;
    assign cmb_set       = '0;
    assign cmb_clear     = '0;
  end


  logic        pf_ready, pf_rvalid;
  logic [31:0] pf_rdata;
  db_ssd_regs #(.CONSTANTS(NUM_FN > 1)) i_pf (
    .clk, .rst, .flr_rst(flr_rst[0]), .s_reg_valid(s_reg_valid && s_reg_ready), .s_reg_ready(pf_ready), .s_reg,
    .s_reg_rvalid(pf_rvalid), .s_reg_rdata(pf_rdata), .host_regs, .intms, .csts(csts[0]));
  assign cc_en[0]      = host_regs.cc[0];
  assign cc_written[0] = host_regs.cc_written;

  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok    = &{1'b0, look_valid, look};
    assign look_answer  = 1'b0;
    assign look_data    = '0;
    assign s_reg_ready  = pf_ready;
    assign s_reg_rvalid = pf_rvalid;
    assign s_reg_rdata  = pf_rdata | cmb_rdata;
  end else begin : g_many
    logic        vf_ready, vf_rvalid;
    logic [31:0] vf_rdata;
    db_ssd_vf_regs #(.NUM_VF(NUM_FN - 1)) i_vf (
      .clk, .rst, .flr_rst(flr_rst[NUM_FN-1:1]), .s_reg_valid(s_reg_valid && s_reg_ready), .s_reg_ready(vf_ready),
      .s_reg, .s_reg_rvalid(vf_rvalid), .s_reg_rdata(vf_rdata), .csts(csts[NUM_FN-1:1]), .cc_en(cc_en[NUM_FN-1:1]),
      .cc_written(cc_written[NUM_FN-1:1]), .look_valid, .look, .look_answer, .look_data);
    assign s_reg_ready  = pf_ready && vf_ready;
    assign s_reg_rvalid = pf_rvalid || vf_rvalid;  // both at once
    assign s_reg_rdata  = pf_rdata | vf_rdata | cmb_rdata;
  end
endmodule
