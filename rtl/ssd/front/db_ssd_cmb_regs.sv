// SPDX-License-Identifier: Apache-2.0
// Registers of the Controller Memory Buffer of all functions (regs/db_nvme_cmb.rdl; NVMe Base 2.0, 3.1.3): CMBLOC, CMBSZ,
// CMBMSC, CMBSTS, and CAP.CMBS. Beside db_ssd_regs and db_ssd_vf_regs on the same bus: whoever has nothing at an address
// answers zeros.
//
// A function's window is set anew with each write of a half of CMBMSC. What is host's is in RAM; which of it was
// written since the last reset is a bit each.
// Latency: that of db_ssd_regs: a read is answered 2 cycles after it was taken. One access at a time.
module db_ssd_cmb_regs
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_nvme_cmb_regs_pkg::*;
#(
  parameter int NUM_FN   = 1,  ///< functions, 1..17
  parameter int CMB_LOG2 = 16  ///< log2 of the bytes of a function's region, 12..30
) (
  input  logic               clk,
  input  logic               rst,
  input  logic [NUM_FN-1:0]  clear,        ///< pulse: the registers of a function
  /// Accesses of all functions, from db_ssd_bar, that all who have registers take.
  input  logic               s_reg_valid,
  input  reg_access_t        s_reg,
  output logic [31:0]        s_reg_rdata,  ///< 2 cycles later
  /// To db_pcie_cmb_window.
  output logic               set_valid,
  output logic [PLACE_W-1:0] set_place,
  output cmb_window_t        set,
  input  logic [NUM_FN-1:0]  base_invalid
);
  localparam int         INDEX_W     = NUM_FN > 1 ? $clog2(NUM_FN) : 1;
  localparam logic [11:0] ADDR_CAP_HI = 12'h004, ADDR_CMBLOC = 12'(CMB_ADDR + CMB_CMBLOC_ADDR),
                          ADDR_CMBSZ = 12'(CMB_ADDR + CMB_CMBSZ_ADDR), ADDR_LO = 12'(CMB_ADDR + CMB_CMBMSC_LO_ADDR),
                          ADDR_HI = 12'(CMB_ADDR + CMB_CMBMSC_HI_ADDR), ADDR_CMBSTS = 12'(CMB_ADDR + CMB_CMBSTS_ADDR);
  localparam int         CMBS        = 25;  // of CAP's upper half
  localparam cmb_cmbsz_t SIZE = '{sz: 20'(2 ** (CMB_LOG2 - 12)), szu: 4'd0, reserved_5: '0, wds: 1'b1, rds: 1'b1,
                                  lists: 1'b1, cqs: 1'b1, sqs: 1'b1};

  // ---- the access
  logic               reg_q, mine_q, wr_q;
  logic [11:0]        addr_q;
  logic [3:0]         be_q;
  logic [31:0]        wdata_q, merged;
  logic [INDEX_W-1:0] index_q;
  logic [PLACE_W-1:0] place;
  assign place = fn_place(s_reg.fn);

  // ---- CMBMSC
  logic [31:0]       lo_mem_q [2**INDEX_W], hi_mem_q [2**INDEX_W];
  logic [NUM_FN-1:0] lo_set_q, hi_set_q;    // written since the last reset
  cmb_cmbmsc_lo_t    lo, lo_d;
  logic [31:0]       hi, hi_d, old;
  logic              lo_write, hi_write;
  assign lo       = lo_set_q[index_q] ? lo_mem_q[index_q] : CMB_CMBMSC_LO_INIT;
  assign hi       = hi_set_q[index_q] ? hi_mem_q[index_q] : CMB_CMBMSC_HI_INIT;
  assign lo_write = reg_q && mine_q && wr_q && addr_q == ADDR_LO;
  assign hi_write = reg_q && mine_q && wr_q && addr_q == ADDR_HI;
  assign old      = lo_write ? lo : hi;
  always_comb begin
    for (int i = 0; i < 4; i++) merged[8*i +: 8] = be_q[i] ? wdata_q[8*i +: 8] : old[8*i +: 8];
    lo_d = lo;
    hi_d = hi;
    if (lo_write) begin
      lo_d            = merged;
      lo_d.reserved_2 = '0;
    end
    if (hi_write) hi_d = merged;
  end

  always_ff @(posedge clk) begin
    reg_q   <= s_reg_valid;
    mine_q  <= place < PLACE_W'(NUM_FN);
    index_q <= place[INDEX_W-1:0];
    wr_q    <= s_reg.wr;
    addr_q  <= {s_reg.addr[11:2], 2'b00};
    be_q    <= s_reg.be;
    wdata_q <= s_reg.wdata;
    if (lo_write) lo_mem_q[index_q] <= lo_d;
    if (hi_write) hi_mem_q[index_q] <= hi_d;
    if (lo_write) lo_set_q[index_q] <= 1'b1;
    if (hi_write) hi_set_q[index_q] <= 1'b1;
    for (int i = 0; i < NUM_FN; i++) begin
      if (clear[i] || rst) begin
        lo_set_q[i] <= 1'b0;
        hi_set_q[i] <= 1'b0;
      end
    end
    s_reg_rdata <= '0;
    if (reg_q && mine_q && !wr_q) begin
      unique case (addr_q)
        ADDR_CAP_HI: s_reg_rdata <= 32'd1 << CMBS;
        ADDR_CMBLOC: s_reg_rdata <= lo.cre ? CMB_CMBLOC_INIT : '0;
        ADDR_CMBSZ:  s_reg_rdata <= lo.cre ? SIZE : '0;
        ADDR_LO:     s_reg_rdata <= lo;
        ADDR_HI:     s_reg_rdata <= hi;
        ADDR_CMBSTS: s_reg_rdata <= 32'(base_invalid[index_q]);
        default:     s_reg_rdata <= '0;
      endcase
    end
    set_valid <= (lo_write || hi_write) && !rst && !clear[index_q];
    set_place <= PLACE_W'(index_q);
    set       <= '{enable: lo_d.cre && lo_d.cmse, base: {hi_d, lo_d.cba}};
    if (rst) reg_q <= 1'b0;
  end
endmodule
