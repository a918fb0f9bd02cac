// SPDX-License-Identifier: Apache-2.0
// Controller registers as a host sees them (NVMe Base 2.0, 3.1.3): the generated block db_nvme_regs (from
// regs/db_nvme.rdl) behind the simple register bus, and what a description of registers cannot say:
// the mask shared by INTMS and INTMC, the magic word of NSSR, and what a controller reset clears.
//
// CC.EN going from 1 to 0 resets CC and the interrupt mask; AQA, ASQ, ACQ and CSTS.NSSRO stay (3.7.2). flr_rst (from
// the firmware: function-level reset) resets all. So does a subsystem reset, before the next access: who finds CSTS.RDY 0
// writes anew at once, and the firmware, which answers later, leaves it. Addresses that are not described read zero and take no
// writes. So do accesses of functions other than the PF, but that they can read what is constant (CAP, VS, CRTO).
//
// Latency: a read is answered 2 cycles after it was taken; ready again 3 cycles after, 6 behind a subsystem reset. One
// access at a time.
module db_ssd_regs
  import db_pcie_block_pkg::*, db_ssd_pkg::*;
#(
  parameter bit CONSTANTS = 1'b0  ///< other functions may read constants
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        flr_rst,        ///< pulse: reset every register
  /// Accesses, from db_ssd_bar; a read is answered by a pulse.
  input  logic        s_reg_valid,
  output logic        s_reg_ready,
  input  reg_access_t s_reg,
  output logic        s_reg_rvalid,
  output logic [31:0] s_reg_rdata,
  output host_regs_t  host_regs,
  output logic [31:0] intms,          ///< 1: interrupt masked
  input  csts_t       csts
);
  import db_nvme_regs_pkg::*;

  localparam logic [11:0] ADDR_CC     = 12'h014;
  localparam logic [11:0] ADDR_CAP_HI = 12'h004;
  localparam int          NSSRS       = 4;
  localparam logic [31:0] NSSR_MAGIC = 32'h4e56_4d65;  // "NVMe"

  typedef enum logic [1:0] {ST_IDLE, ST_ACCESS, ST_SETTLE, ST_RESET} state_e;
  state_e      state_q;
  logic        constant, vf_q;
  logic        wr_q, mine_q, cc_written_q, cc_event_q, nssr_event_q, en_q, clear_q, rst_q;
  logic [11:0] addr_q;
  logic [3:0]  be_q;
  logic [31:0] wdata_q;

  db_nvme__in_t  hwif_in;
  db_nvme__out_t hwif_out;

  logic [31:0] rdata;
  logic [31:0] intms_cleared;

  logic unused_ok;
  assign unused_ok = &{1'b0, s_reg.addr[15:12], s_reg.addr[1:0]};

  assign s_reg_ready = state_q == ST_IDLE;
  assign constant    = CONSTANTS && !s_reg.wr && s_reg.addr[11:2] inside {10'h000, 10'h001, 10'h002, 10'h01a};

  db_nvme_regs i_regs (
    .clk                  (clk),
    .rst                  (rst_q),
    .s_cpuif_req          (state_q == ST_ACCESS && mine_q),
    .s_cpuif_req_is_wr    (wr_q),
    .s_cpuif_addr         (addr_q[6:0]),
    .s_cpuif_wr_data      (wdata_q),
    .s_cpuif_wr_biten     ({{8{be_q[3]}}, {8{be_q[2]}}, {8{be_q[1]}}, {8{be_q[0]}}}),
    .s_cpuif_req_stall_wr (),
    .s_cpuif_req_stall_rd (),
    .s_cpuif_rd_ack       (),
    .s_cpuif_rd_err       (),
    .s_cpuif_rd_data      (rdata),
    .s_cpuif_wr_ack       (),
    .s_cpuif_wr_err       (),
    .hwif_in              (hwif_in),
    .hwif_out             (hwif_out)
  );

  assign intms_cleared = hwif_out.INTMS.MASK.value
                       & ~(hwif_out.INTMC.wr_data.MASK & hwif_out.INTMC.wr_biten.MASK);

  always_comb begin
    hwif_in.INTMS.MASK.next   = clear_q ? 32'd0 : intms_cleared;
    hwif_in.INTMS.MASK.we     = clear_q || (hwif_out.INTMC.req && hwif_out.INTMC.req_is_wr);
    hwif_in.INTMC.rd_ack      = hwif_out.INTMC.req && !hwif_out.INTMC.req_is_wr;
    hwif_in.INTMC.wr_ack      = hwif_out.INTMC.req && hwif_out.INTMC.req_is_wr;
    hwif_in.INTMC.rd_data.MASK = hwif_out.INTMS.MASK.value;
    hwif_in.NSSR.rd_ack       = hwif_out.NSSR.req && !hwif_out.NSSR.req_is_wr;
    hwif_in.NSSR.wr_ack       = hwif_out.NSSR.req && hwif_out.NSSR.req_is_wr;
    hwif_in.NSSR.rd_data.NSSRC = 32'd0;
    hwif_in.CC.EN.hwclr       = clear_q;
    hwif_in.CC.CSS.hwclr      = clear_q;
    hwif_in.CC.MPS.hwclr      = clear_q;
    hwif_in.CC.AMS.hwclr      = clear_q;
    hwif_in.CC.SHN.hwclr      = clear_q;
    hwif_in.CC.IOSQES.hwclr   = clear_q;
    hwif_in.CC.IOCQES.hwclr   = clear_q;
    hwif_in.CSTS.RDY.next     = csts.rdy;
    hwif_in.CSTS.CFS.next     = csts.cfs;
    hwif_in.CSTS.SHST.next    = csts.shst;
    hwif_in.CSTS.NSSRO.hwset  = csts.nssro;
  end

  assign host_regs.cc  = {8'd0, hwif_out.CC.IOCQES.value, hwif_out.CC.IOSQES.value, hwif_out.CC.SHN.value,
                          hwif_out.CC.AMS.value, hwif_out.CC.MPS.value, hwif_out.CC.CSS.value, 3'd0,
                          hwif_out.CC.EN.value};
  assign host_regs.aqa = {4'd0, hwif_out.AQA.ACQS.value, 4'd0, hwif_out.AQA.ASQS.value};
  assign host_regs.asq = {hwif_out.ASQ_HI.BASE.value, hwif_out.ASQ_LO.BASE.value, 12'd0};
  assign host_regs.acq = {hwif_out.ACQ_HI.BASE.value, hwif_out.ACQ_LO.BASE.value, 12'd0};
  assign intms         = hwif_out.INTMS.MASK.value;
  assign host_regs.cc_written      = cc_event_q;
  assign host_regs.subsystem_reset = nssr_event_q;

  always_ff @(posedge clk) begin
    rst_q        <= rst || flr_rst || nssr_event_q;
    s_reg_rvalid <= 1'b0;
    cc_event_q   <= 1'b0;
    nssr_event_q <= 1'b0;
    clear_q      <= 1'b0;
    unique case (state_q)
      ST_IDLE: if (s_reg_valid) begin
        wr_q    <= s_reg.wr;
        mine_q  <= (s_reg.fn == '0 || constant) && s_reg.addr[11:7] == '0;
        vf_q    <= CONSTANTS && s_reg.fn != '0;
        addr_q  <= {s_reg.addr[11:2], 2'b00};
        be_q    <= s_reg.be;
        wdata_q <= s_reg.wdata;
        state_q <= ST_ACCESS;
      end
      ST_ACCESS: begin
        s_reg_rvalid <= !wr_q;
        s_reg_rdata  <= mine_q ? rdata : 32'd0;
        if (vf_q && addr_q == ADDR_CAP_HI) s_reg_rdata[NSSRS] <= 1'b0;  // a VF cannot reset the subsystem
        cc_written_q <= wr_q && mine_q && addr_q == ADDR_CC;
        nssr_event_q <= hwif_out.NSSR.req && hwif_out.NSSR.req_is_wr && be_q == 4'hf && wdata_q == NSSR_MAGIC;
        state_q      <= ST_SETTLE;
      end
      ST_SETTLE: begin
        // CC has its new value now.
        cc_event_q <= cc_written_q;
        clear_q    <= cc_written_q && en_q && !hwif_out.CC.EN.value;
        en_q       <= hwif_out.CC.EN.value;
        state_q    <= nssr_event_q ? ST_RESET : ST_IDLE;
      end
      ST_RESET: if (!rst_q && !flr_rst) state_q <= ST_IDLE;
      default: state_q <= ST_IDLE;
    endcase
    if (rst || flr_rst || nssr_event_q) begin
      en_q    <= 1'b0;
      clear_q <= 1'b0;
    end
    if (rst) begin
      state_q      <= ST_IDLE;
      s_reg_rvalid <= 1'b0;
      cc_event_q   <= 1'b0;
      nssr_event_q <= 1'b0;
    end
  end

endmodule
