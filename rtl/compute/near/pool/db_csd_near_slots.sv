// SPDX-License-Identifier: Apache-2.0
// What the firmware sees of the slots (regs/db_csd_slots.rdl): what is in them, which of them a function may use, where the
// library is; and it begins an exchange.
//
// At power-on every function may use all.
// Latency: a register is read in its cycle; a share counts 2 cycles behind its write.
module db_csd_near_slots
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_csd_near_pkg::*, db_csd_slots_regs_pkg::*;
#(
  parameter int               NUM_FN       = 1,    ///< functions, 1..17
  parameter int               SLOTS        = 3,    ///< 1..7
  parameter logic [SLOTS-1:0] EXCHANGEABLE = '0    ///< what is in these can be exchanged
) (
  input  logic                  clk,
  input  logic                  rst,            ///< power-on
  input  ext_bus_t              s_ext,
  output logic [31:0]           m_ext_rdata,
  input  logic [SLOTS-1:0][3:0] operators,
  input  logic [PLACE_W-1:0]    place,
  output logic [SLOTS-1:0]      allowed,        ///< that the function there may use
  output logic                  m_go,           ///< pulse: exchange
  output logic [2:0]            m_slot,
  output logic [31:0]           m_addr,
  input  logic                  busy,           ///< that exchange
  input  logic [7:0]            s_ended,        ///< how many have ended
  input  logic [3:0]            s_error,        ///< how the last one did
  output logic                  m_set,          ///< pulse: the library is set
  output logic [31:0]           m_library,
  output logic [4:0]            m_stride,
  output logic [15:0]           m_hold
);
  db_csd_slots__in_t  hwif_in;
  db_csd_slots__out_t hwif_out;
  logic               sel_q, go_q, share_q, set_q;
  logic [NUM_FN-1:0][SLOTS-1:0] shares_q;
  always_ff @(posedge clk) sel_q <= s_ext.addr[11:8] == 4'd5;  // there a cycle before req
  db_csd_slots_regs i_regs (
    .clk, .rst, .s_cpuif_req(s_ext.req && sel_q), .s_cpuif_req_is_wr(s_ext.wr), .s_cpuif_addr(s_ext.addr[4:0]),
    .s_cpuif_wr_data(s_ext.wdata), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(),
    .s_cpuif_rd_ack(), .s_cpuif_rd_err(), .s_cpuif_rd_data(m_ext_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(), .hwif_in,
    .hwif_out);
  always_comb begin
    hwif_in.NOW.operators.next     = 28'(operators);
    hwif_in.NOW.count.next         = 4'(SLOTS);
    hwif_in.CAPS.exchangeable.next   = 7'(EXCHANGEABLE);
    hwif_in.STATE.busy.next          = busy || go_q;
    hwif_in.STATE.error.next         = s_error;
    hwif_in.STATE.ended.next         = s_ended;
  end
  always_ff @(posedge clk) begin
    go_q    <= hwif_out.GO.slot.swmod;
    share_q <= hwif_out.SHARE.slots.swmod;
    set_q   <= hwif_out.LIBRARY.at.swmod;
    for (int f = 0; f < NUM_FN; f++) begin
      if (share_q && hwif_out.SHARE.place.value == 5'(f)) shares_q[f] <= SLOTS'(hwif_out.SHARE.slots.value);
    end
    if (rst) begin
      go_q     <= 1'b0;
      share_q  <= 1'b0;
      set_q    <= 1'b0;
      shares_q <= '1;
    end
  end
  assign allowed = NUM_FN == 1 ? shares_q[0] : shares_q[place < PLACE_W'(NUM_FN) ? place : '0];
  assign m_set     = set_q;
  assign m_library = hwif_out.LIBRARY.at.value;
  assign m_stride  = hwif_out.FORM.stride.value;
  assign m_hold    = hwif_out.FORM.hold.value;
  assign m_go    = go_q;
  assign m_slot  = hwif_out.GO.slot.value;
  assign m_addr  = hwif_out.FROM.at.value;
endmodule
