// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_peer_cq and db_pcie_root_rx together: a row that enters a drive's window is of a packet that this drive
// has sent, and so is a read of it that is answered with data; and the window was open when the packet began. Packets,
// their requesters and addresses, which windows are open, stalls and room are free; requester ids are any, and stay.
`include "db_pcie_types.svh"
module db_pcie_peer_own_formal
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter bit SIDE = 1'b0,  // rows with the descriptor beside, as behind a straddled CQ
  localparam int DATA_W = SIDE ? 512 : 128, localparam int PEERS = 2, localparam int DRIVE_LOG2 = 14,
  localparam int WINDOW_LOG2 = DRIVE_LOG2 + 1,
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input logic                   clk,
  input logic                   rst,
  input logic [PEERS-1:0][15:0] peer_id,
  input logic [PEERS-1:0]       peer_open,
  input logic [63:0]            window_base,
  input logic                   s_cq_valid,
  input cq_t                    s_cq,
  input logic                   m_other_ready,
  input logic                   stall,
  input logic                   req_room
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);
  always_ff @(posedge clk) if (started_q) assume ($stable(peer_id) && $stable(window_base));

  cq_t  cq;
  logic window_valid, window_ready, window_own;
  db_pcie_peer_cq #(.DATA_W(DATA_W), .NUM_PEERS(PEERS), .DRIVE_LOG2(DRIVE_LOG2), .SIDE(SIDE)) i_cq (
    .clk, .rst, .peer_id, .peer_open, .s_cq_valid, .s_cq_ready(), .s_cq, .m_cq(cq), .m_window_valid(window_valid),
    .m_window_ready(window_ready), .m_window_own(window_own), .m_foreign(), .m_other_valid(), .m_other_ready,
    .m_other_asks());
  logic                   wr_valid, req_valid;
  logic [WINDOW_LOG2-1:0] wr_addr;
  window_req_t            req;
  db_pcie_root_rx #(.DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .DRIVE_LOG2(DRIVE_LOG2), .SIDE(SIDE)) dut (
    .clk, .rst, .window_base, .s_cq_valid(window_valid), .s_cq_ready(window_ready), .s_cq(cq), .s_own(window_own),
    .m_wr_valid(wr_valid), .m_wr_addr(wr_addr), .m_wr_data(), .m_wr_be(), .stall, .m_req_valid(req_valid), .m_req(req),
    .req_room, .m_req_drop(), .m_bad(), .m_damaged());

  // ---- who has sent what is taken now, what was taken last, and what the row that is written now is from; above it,
  // whether the window that it is for was open
  cq_desc_t    desc;
  logic        take, mid_q;
  logic [16:0] now, last_q, row_q;
  cq_side_t    side;
  assign side = cq_side_t'($bits(cq_side_t)'(cq.tuser));
  assign desc = SIDE ? side.desc : cq.tdata[127:0];
  assign take = window_valid && window_ready;
  assign now  = mid_q ? last_q : {peer_open[desc.addr_dw[DRIVE_LOG2-2]], desc.requester_id};
  always_ff @(posedge clk) begin
    if (take) begin
      mid_q  <= !cq.tlast;
      last_q <= now;
    end
    row_q <= dut.spill_q ? last_q : now;
    if (rst) mid_q <= 1'b0;
  end

  // what the last packet is written to is its sender's: for the induction
  logic stores;
  assign stores = dut.mid_q && dut.store_q || dut.spill_q;
  always_ff @(posedge clk) begin
    if (started_q && !rst) begin
      assert (mid_q == dut.mid_q);
      if (stores) assert ({1'b1, peer_id[dut.row_q[DRIVE_LOG2]]} == last_q);
      if (wr_valid) assert ({1'b1, peer_id[wr_addr[DRIVE_LOG2]]} == row_q);
      if (req_valid && !req.bad) assert ({1'b1, peer_id[req.addr_dw[DRIVE_LOG2-2]]} == now);
    end
  end
  always_ff @(posedge clk) if (started_q && !rst) cover (wr_valid && wr_addr[DRIVE_LOG2] && peer_id[0] != peer_id[1]);
endmodule
