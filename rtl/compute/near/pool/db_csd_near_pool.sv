// SPDX-License-Identifier: Apache-2.0
// The pool of slots of near-storage operators: which slot a command gets, what is in the slots, and what they are to do. Wiring.
//
//   firmware -> db_csd_near_programs -- words --.
//   s_packet --------------------------> db_csd_near_rename -> m_packet, m_chain, words for slots
//   firmware -> db_csd_near_slots -- shares ----^     | missed
//                      '-> db_csd_near_policy <-------'
//                                '-> db_csd_near_exchange -> operators, m_icap
//
// Which operator is in which slot says SLOTS; a program goes to any slot that has its operator, so commands of several
// functions or programs follow each other without a gap as long as there are slots for them. What is in a slot can be
// exchanged where SLOTS says so, by the PF or as it is missed.
// Latency: that of db_csd_near_rename. Throughput: a command in so many cycles.
`include "db_axi_types.svh"
module db_csd_near_pool
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,            ///< bits: 128, 256, 512
  parameter int NUM_FN = 1,              ///< functions, 1..17
  parameter int CELLS  = 8,              ///< pieces of strings of a Grep, 1..32
  parameter logic [27:0] SLOTS = 28'h6321,  ///< as db_csd_near has it
  parameter logic [15:0] SHELL = 16'd0,  ///< of this design, that bitstreams are for
  parameter int CMB_LOG2 = 0,            ///< card memory of a function, log2 of bytes; 0: none
  localparam int POOL   = near_slot_count(32'(SLOTS)),
  localparam int ALL    = POOL + 1,      // Hash is the last
  localparam int ADDR_W = cmb_addr_w(CMB_LOG2, NUM_FN),
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                    clk,
  input  logic                    rst,            ///< controller reset
  input  logic                    power_rst,
  output logic                    busy,           ///< a packet is inside
  output logic                    exchanging,     ///< what is in a slot is being exchanged
  input  ext_bus_t                s_ext,          ///< of the firmware
  output logic [31:0]             m_ext_rdata,
  input  logic                    s_packet_valid,
  output logic                    s_packet_ready,
  input  near_packet_t            s_packet,
  output logic                    m_packet_valid,
  input  logic                    m_packet_ready,
  output near_packet_t            m_packet,
  output near_chain_t             m_chain,
  output logic [ALL-1:0][3:0]     operators,      ///< what is in each slot; 0: nothing
  input  logic [ALL-1:0]          s_done,         ///< a command has left these
  output logic [ALL-1:0][ALL-1:0] route,          ///< rows of slot s go to those of route[s]
  output logic                    written,        ///< pulse: a program is written
  output near_owner_t             written_owner,
  output logic [ALL-1:0]          m_param_valid,  ///< words of a program, by slot
  output near_param_t             m_param,
  output axi_read_req_t           m_axi_read_req, ///< bitstreams from card memory
  input  axi_read_rsp_t           m_axi_read_rsp,
  output logic                    m_icap_valid,   ///< ... to the configuration port (ICAP)
  input  logic                    m_icap_ready,
  output logic [31:0]             m_icap_data
);
  // What is in slots at power-on, and in which it can be exchanged.
  function automatic logic [POOL-1:0][3:0] built_in();
    for (int s = 0; s < POOL; s++) built_in[s] = SLOTS[4*s +: 4] == NEAR_EXCHANGED ? '0 : SLOTS[4*s +: 4];
  endfunction
  function automatic logic [POOL-1:0] exchangeable();
    for (int s = 0; s < POOL; s++) exchangeable[s] = SLOTS[4*s +: 4] == NEAR_EXCHANGED;
  endfunction
  localparam logic [POOL-1:0][3:0] BUILT_IN     = built_in();
  localparam logic [POOL-1:0]      EXCHANGEABLE = exchangeable();
  if (EXCHANGEABLE != '0 && CMB_LOG2 == 0) begin : g_bad
    $error("%m: SLOTS has some that are exchanged, so there must be card memory (CMB_LOG2)");
  end

  // ---- programs, and the slots for them
  localparam int WORDS_LOG2 = near_words_log2(CELLS);
  near_owner_t               asked;
  logic [WORDS_LOG2-1:0]     asked_addr;
  logic [31:0]               asked_word;
  logic [31:0]               programs_rdata, slots_rdata;
  logic [POOL-1:0]           off, allowed, wanted;
  logic [ALL-1:0]            slot_idle, oldest;
  logic [15:0]               missed;
  logic [PLACE_W-1:0]        asked_place;
  db_csd_near_programs #(
    .NUM_FN(NUM_FN), .CELLS(CELLS), .OPERATORS(near_operators(32'(SLOTS)))
  ) i_programs (
    .clk, .rst, .s_ext, .m_ext_rdata(programs_rdata), .m_written(written), .m_written_owner(written_owner),
    .owner(asked), .addr(asked_addr), .word(asked_word));
  db_csd_near_rename #(.SLOTS(ALL), .WORDS_LOG2(WORDS_LOG2)) i_rename (
    .clk, .rst, .busy, .s_packet_valid, .s_packet_ready, .s_packet, .m_packet_valid, .m_packet_ready, .m_packet,
    .m_chain, .operators, .off({1'b0, off}), .place(asked_place), .allowed({1'b1, allowed}), .s_done, .idle(slot_idle),
    .wanted({1'b0, wanted}), .m_oldest(oldest), .m_missed(missed), .route, .owner(asked), .addr(asked_addr),
    .word(asked_word), .written, .written_owner,
    .m_param_valid, .m_param);

  // ---- what is in the slots
  assign operators[POOL] = NEAR_HASH;
  logic              fw_go, fw_busy, library_set, go, may;
  logic [2:0]        fw_slot, go_slot;
  logic [31:0]       fw_addr, library_at;
  logic [SLOT_ADDR_W-1:0] go_addr;
  logic [3:0]        fw_error, slot_error, go_operator;
  logic [7:0]        fw_ended;
  logic [4:0]        stride;
  logic [15:0]       hold;
  db_csd_near_slots #(.NUM_FN(NUM_FN), .SLOTS(POOL), .EXCHANGEABLE(EXCHANGEABLE)) i_slots (
    .clk, .rst(power_rst), .s_ext, .m_ext_rdata(slots_rdata), .operators(operators[POOL-1:0]), .place(asked_place),
    .allowed, .m_go(fw_go), .m_slot(fw_slot), .m_addr(fw_addr), .busy(fw_busy), .s_ended(fw_ended),
    .s_error(fw_error),
    .m_set(library_set), .m_library(library_at), .m_stride(stride), .m_hold(hold));
  assign m_ext_rdata = s_ext.addr[8] ? slots_rdata : programs_rdata;
  if (EXCHANGEABLE != '0) begin : g_exchange
    db_csd_near_policy #(.SLOTS(POOL), .EXCHANGEABLE(EXCHANGEABLE)) i_policy (
      .clk, .rst(power_rst), .s_set(library_set), .s_at(library_at), .s_stride(stride), .s_hold(hold),
      .s_missed(missed), .operators(operators[POOL-1:0]), .m_wanted(wanted), .s_oldest(oldest[POOL-1:0]),
      .s_go(fw_go), .s_slot(fw_slot),
      .s_addr(fw_addr), .m_go(go), .m_slot(go_slot), .m_addr(go_addr), .m_operator(go_operator), .busy(exchanging),
      .s_error(slot_error),
      .m_busy(fw_busy), .m_ended(fw_ended), .m_error(fw_error));
    always_comb begin
      may = 1'b0;
      for (int s = 0; s < POOL; s++) if (go_slot == 3'(s)) may = EXCHANGEABLE[s];
    end
    db_csd_near_exchange #(
      .DATA_W(DATA_W), .ADDR_W(ADDR_W), .SLOTS(POOL), .SHELL(SHELL), .BUILT_IN(BUILT_IN), .REGION_LOG2(CMB_LOG2)
    ) i_exchange (
      .clk, .rst(power_rst), .s_go(go), .s_slot(go_slot), .s_addr(go_addr), .s_operator(go_operator), .s_may(may),
      .busy(exchanging), .m_error(slot_error), .m_axi_read_req, .m_axi_read_rsp, .operators(operators[POOL-1:0]), .off,
      .idle(slot_idle[POOL-1:0]), .m_icap_valid, .m_icap_ready, .m_icap_data);
  end else begin : g_fixed
    logic unused_fixed;
    assign operators[POOL-1:0] = BUILT_IN;
    assign {off, exchanging, m_axi_read_req, m_icap_valid, m_icap_data, wanted} = '0;
    assign {fw_busy, go, may, go_slot, go_addr, go_operator} = '0;
    assign {fw_error, slot_error} = {2{SLOT_FIXED}};
    always_ff @(posedge clk) fw_ended <= power_rst ? '0 : fw_ended + 8'(fw_go);
    assign unused_fixed = &{1'b0, fw_go, fw_slot, fw_addr, library_set, library_at, stride, hold, missed, oldest,
                            slot_idle, slot_error, go, may, go_slot, go_addr, go_operator, m_axi_read_rsp,
                            m_icap_ready};
  end
endmodule
