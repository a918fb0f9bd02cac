// SPDX-License-Identifier: Apache-2.0
// The firmware's registers that say who has each SSD (regs/db_vcsd_ssds.rdl, page 2 of the extension bus): it hands a queue
// pair over to an SSD's db_host_owner, takes it back, has the card bring it up. What is wrong with a hand-over is the
// firmware's to say; here it passes as it is.
// Latency: a register is read in its cycle, a command is there the cycle after it was written. Throughput: one at a time.
module db_virt_owners
  import db_host_pkg::*, db_vcsd_ssds_regs_pkg::*, db_ssd_pkg::ext_bus_t;
#(
  parameter int NUM_SSD  = 2,   ///< 1, 2, 4, 8
  parameter int SSD_CMDS = 128  ///< commands under way in each SSD: power of two, 8..256
) (
  input  logic                 clk,
  input  logic                 rst,
  /// of the firmware; zeros while another page is read
  input  ext_bus_t             s_ext,
  output logic [31:0]          m_ext_rdata,
  /// of each SSD
  input  owner_e [NUM_SSD-1:0] owner,
  input  logic [NUM_SSD-1:0]   present,
  input  logic [NUM_SSD-1:0]   up,
  /// pulses
  output logic [NUM_SSD-1:0]   m_hand_valid,
  output handed_t              m_hand,
  output logic [NUM_SSD-1:0]   m_take_back,
  output logic [NUM_SSD-1:0]   m_bring_up
);
  localparam int INDEX_W = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  db_vcsd_ssds__in_t  hwif_in;
  db_vcsd_ssds__out_t hwif_out;
  logic               sel_q;
  logic [31:0]        rdata;
  logic [INDEX_W-1:0] which;
  logic [NUM_SSD-1:0] one;
  always_ff @(posedge clk) sel_q <= s_ext.addr[11:8] == 4'd2;  // there a cycle before req
  db_vcsd_ssds_regs i_regs (
    .clk, .rst, .s_cpuif_req(s_ext.req && sel_q), .s_cpuif_req_is_wr(s_ext.wr), .s_cpuif_addr(s_ext.addr[4:0]),
    .s_cpuif_wr_data(s_ext.wdata), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(),
    .s_cpuif_rd_ack(), .s_cpuif_rd_err(), .s_cpuif_rd_data(rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(),
    .hwif_in, .hwif_out);
  assign m_ext_rdata = sel_q ? rdata : '0;
  assign which       = INDEX_W'(hwif_out.SELECT.ssd.value);
  always_comb begin
    hwif_in.STATUS.owner.next   = owner[which];
    hwif_in.STATUS.present.next = present[which];
    hwif_in.STATUS.up.next      = up[which];
    hwif_in.STATUS.depth.next   = 4'($clog2(2 * SSD_CMDS));
    for (int i = 0; i < NUM_SSD; i++) one[i] = which == INDEX_W'(i);
  end
  assign m_hand_valid = one & {NUM_SSD{hwif_out.CTL.hand.value}};
  assign m_take_back  = one & {NUM_SSD{hwif_out.CTL.take_back.value}};
  assign m_bring_up   = one & {NUM_SSD{hwif_out.CTL.bring_up.value}};
  assign m_hand = '{sq_doorbell: hwif_out.SQ_DOORBELL.offset.value, cq_doorbell: hwif_out.CQ_DOORBELL.offset.value,
                    nsid: hwif_out.NSID.nsid.value, sq_log2: hwif_out.QUEUES.depth.value,
                    lba_shift: hwif_out.QUEUES.block.value, transfer_log2: hwif_out.QUEUES.transfer.value};
endmodule
