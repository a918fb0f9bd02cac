// SPDX-License-Identifier: Apache-2.0
// Which command that reads may go: one that is the oldest that has come on each of its SSDs.
//
// So what leaves the SSDs' rings is in the order in which commands go. Lanes are looked at in turn. A command that asks no
// SSD has a lane of its own.
// Latency: 3 cycles from s_come_valid to m_let. Throughput: a command every 2 cycles.
module db_virt_let
  import db_ssd_pkg::SLOT_W, db_virt_pkg::*;
#(
  parameter int NUM_SSD  = 2,    ///< 1, 2, 4, 8
  parameter int NUM_CMDS = 128   ///< commands at once: power of two, 2..256
) (
  input  logic                           clk,
  input  logic                           rst,
  output logic                           idle,
  /// pulse: a command waits, before it has come anywhere
  input  logic                           s_known_valid,
  input  logic [SLOT_W-1:0]              s_known_slot,
  input  known_t                         s_known,
  /// the oldest that has come on each SSD
  input  logic [NUM_SSD-1:0]             s_come_valid,
  output logic [NUM_SSD-1:0]             s_come_take,
  input  logic [NUM_SSD-1:0][SLOT_W-1:0] s_come_slot,
  /// pulse: it goes
  output logic                           m_let_valid,
  output logic [SLOT_W-1:0]              m_let_slot,
  output let_t                           m_let
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  logic [NUM_SSD:0]             come_valid, grant, lane_q, heads;
  logic [NUM_SSD:0][SLOT_W-1:0] come_slot;
  logic                         any, look_q, look, all, none_valid, none_take;
  logic [SLOT_W-1:0]            slot, slot_q, none_slot;
  known_t                       known;
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_nowhere (
    .clk, .rst, .s_valid(s_known_valid && s_known.mask == '0), .s_ready(), .s_data(s_known_slot),
    .m_valid(none_valid), .m_ready(none_take), .m_data(none_slot), .level());
  assign come_valid = {none_valid, s_come_valid};
  assign come_slot  = {none_slot, s_come_slot};
  assign look       = any && !look_q;
  db_arb_rr #(.N(NUM_SSD + 1)) i_turn (
    .clk, .rst, .req(come_valid), .ack(look), .gnt_valid(any), .gnt(grant), .gnt_idx());
  always_comb begin
    slot  = '0;
    heads = '0;
    for (int i = 0; i <= NUM_SSD; i++) begin
      if (grant[i]) slot |= come_slot[i];
      heads[i] = come_valid[i] && come_slot[i] == slot_q;
    end
  end
  db_ram_sdp #(.WIDTH($bits(known_t)), .DEPTH(NUM_CMDS)) i_known (
    .clk, .we(s_known_valid), .waddr(s_known_slot[CMD_W-1:0]), .wdata(s_known), .re(look), .raddr(slot[CMD_W-1:0]),
    .rdata(known));
  assign all         = look_q && (known.mask[NUM_SSD-1:0] & ~heads[NUM_SSD-1:0]) == '0;
  assign s_come_take = all ? known.mask[NUM_SSD-1:0] : '0;
  assign none_take   = all && lane_q[NUM_SSD];
  always_ff @(posedge clk) begin
    look_q      <= look && !rst;
    slot_q      <= slot;
    lane_q      <= grant;
    m_let_valid <= all && !rst;
    m_let_slot  <= slot_q;
    m_let       <= known.let_go;
  end
  assign idle = come_valid == '0 && !look_q && !m_let_valid;
endmodule
