// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_cmb_cq with db_pcie_root_rx, and of db_pcie_cmb_window: a row of card memory that a host writes, or that it
// is answered with, is of the region of the function that it asks; a request of a controller is in card memory only if it is
// in the window that its function has, or with TOP at the end of all addresses, and then with that function's place. Packets, functions, addresses, windows, resets,
// stalls and room are free. 3 functions.
`include "db_pcie_types.svh"
module db_pcie_cmb_own_formal
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  localparam int DATA_W = 128, localparam int NUM_FN = 3, localparam int LOG2 = 13,
  localparam int ADDR_W = LOG2 + 2,
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input logic               clk,
  input logic               rst,
  input logic               s_cq_valid,
  input cq_t                s_cq,
  input logic               m_bar_ready,
  input logic               stall,
  input logic               req_room,
  input logic               set_valid,
  input logic [PLACE_W-1:0] set_place,
  input cmb_window_t        set,
  input logic [NUM_FN-1:0]  clear,
  input logic               s_valid,
  input logic [PLACE_W-1:0] s_place,
  input logic [63:12]       s_page
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // ---- hosts
  cq_t  cq;
  logic cmb_valid, cmb_ready;
  db_pcie_cmb_cq #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .REGION_LOG2(LOG2)) i_cq (
    .clk, .rst, .s_cq_valid, .s_cq_ready(), .s_cq, .m_cmb_valid(cmb_valid), .m_cmb_ready(cmb_ready), .m_cmb(cq),
    .m_bar_valid(), .m_bar_ready, .m_bar());
  logic              wr_valid, req_valid;
  logic [ADDR_W-1:0] wr_addr;
  window_req_t       req;
  db_pcie_root_rx #(.DATA_W(DATA_W), .WINDOW_LOG2(ADDR_W), .READABLE(8'hff)) dut (
    .clk, .rst, .window_base('0), .s_cq_valid(cmb_valid), .s_cq_ready(cmb_ready), .s_cq(cq), .s_own(1'b1),
    .m_wr_valid(wr_valid), .m_wr_addr(wr_addr), .m_wr_data(), .m_wr_be(), .stall, .m_req_valid(req_valid), .m_req(req),
    .req_room, .m_req_drop(), .m_bad(), .m_damaged());

  // the function of what is taken now, of what was taken last, and of the row that is written now
  cq_desc_t           desc;
  logic               take, mid_q;
  logic [PLACE_W-1:0] now, last_q, row_q;
  assign desc = cq.tdata[127:0];
  assign take = cmb_valid && cmb_ready;
  assign now  = mid_q ? last_q : fn_place(desc.target_fn);
  always_ff @(posedge clk) begin
    if (take) begin
      mid_q  <= !cq.tlast;
      last_q <= now;
    end
    row_q <= dut.spill_q ? last_q : now;
    if (rst) mid_q <= 1'b0;
  end
  always_ff @(posedge clk) begin
    if (started_q && !rst) begin
      assert (mid_q == dut.mid_q && mid_q == (i_cq.mid_q && i_cq.cmb_q));
      if (dut.mid_q && dut.store_q || dut.spill_q) assert (PLACE_W'(dut.row_q[ADDR_W-1:LOG2]) == last_q);
      if (wr_valid) assert (PLACE_W'(wr_addr[ADDR_W-1:LOG2]) == row_q);
      if (req_valid && !req.bad) assert (62'(req.addr_dw >> (LOG2 - 2)) == 62'(now) && now < PLACE_W'(NUM_FN));
    end
  end

  // ---- controllers: function 1's window as it was in the cycle of the look-up
  logic m_valid, m_hit;
  logic [PLACE_W-1:0] m_place;
  logic [LOG2-13:0]   m_page;
  db_pcie_cmb_window #(.NUM_FN(NUM_FN), .REGION_LOG2(LOG2)) i_window (
    .clk, .rst, .set_valid, .set_place, .set, .clear, .base_invalid(), .s_valid, .s_place, .s_page, .m_valid, .m_hit,
    .m_place, .m_page);
  logic top_valid, top_hit;
  logic [PLACE_W-1:0] top_place;
  logic [LOG2-13:0]   top_page;
  db_pcie_cmb_window #(.NUM_FN(NUM_FN), .REGION_LOG2(LOG2), .TOP(1'b1)) i_top (
    .clk, .rst, .set_valid, .set_place, .set, .clear, .base_invalid(), .s_valid, .s_place, .s_page, .m_valid(top_valid),
    .m_hit(top_hit), .m_place(top_place), .m_page(top_page));
  logic         has_q;
  logic [63:12] base_q;
  logic [2:0]              was_has_q;
  logic [2:0][PLACE_W-1:0] was_place_q;
  logic [2:0][63:12]       was_base_q, was_page_q;
  always_ff @(posedge clk) begin
    if (set_valid && set_place == PLACE_W'(1)) begin
      has_q  <= set.enable && {1'b0, set.base} + 53'(2 ** (LOG2 - 12)) <= {1'b1, 52'd0};
      base_q <= set.base;
    end
    if (clear[1] || rst) has_q <= 1'b0;
    was_has_q   <= {was_has_q[1:0], has_q};
    was_base_q  <= {was_base_q[1:0], base_q};
    was_place_q <= {was_place_q[1:0], s_place};
    was_page_q  <= {was_page_q[1:0], s_page};
    if (started_q && !rst) begin
      assert (has_q == i_window.enabled_q[1]);
      if (has_q) assert (base_q == i_window.bases_q[1]);
      if (m_valid && m_hit) assert (m_place == was_place_q[2] && m_place < PLACE_W'(NUM_FN));
      if (m_valid && m_hit && m_place == PLACE_W'(1)) begin
        assert (was_has_q[2] && was_page_q[2] - was_base_q[2] < 52'(2 ** (LOG2 - 12)));
        assert (52'(m_page) == was_page_q[2] - was_base_q[2]);
      end
      assert (i_top.enabled_q == i_window.enabled_q);
      for (int i = 0; i < NUM_FN; i++) if (i_window.enabled_q[i]) assert (i_top.bases_q[i] == i_window.bases_q[i]);
      // with TOP: the same, and the end of all addresses
      if (top_valid) begin
        assert (top_valid == m_valid && top_place == was_place_q[2]);
        if (&was_page_q[2][63:LOG2]) begin
          assert (top_hit == (was_place_q[2] < PLACE_W'(NUM_FN)));
          assert (top_page == was_page_q[2][LOG2-1:12]);
        end else begin
          assert (top_hit == m_hit);
          if (m_hit) assert (top_page == m_page);
        end
      end
    end
    if (started_q && !rst) cover (top_valid && top_hit && !m_hit && top_place == PLACE_W'(1));
    if (started_q && !rst) cover (wr_valid && wr_addr[LOG2] && m_valid && m_hit && m_place == PLACE_W'(1));
  end
endmodule
