// SPDX-License-Identifier: Apache-2.0
// CQ of an endpoint, parted by BAR: requests to BAR 4 are for card memory, all others for the controller.
//
// Each function has a region. The address becomes {place of the function, offset in its region}, so no request reaches another
// function's; a function that there is not gets an address outside of all.
// There is no storage behind the parting: a doorbell written behind data for card memory reaches the controller only when that
// is in card memory's one stream.
// Latency: 1 cycle. Throughput: a beat a cycle.
`include "db_pcie_types.svh"
module db_pcie_cmb_cq
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN      = 1,    ///< functions, 1..17
  parameter int DATA_W      = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int REGION_LOG2 = 16,   ///< log2 of the bytes of a function's region, 12..30
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input  logic clk,
  input  logic rst,
  input  logic s_cq_valid,
  output logic s_cq_ready,
  input  cq_t  s_cq,

  output logic m_cmb_valid,
  input  logic m_cmb_ready,
  output cq_t  m_cmb,
  output logic m_bar_valid,
  input  logic m_bar_ready,
  output cq_t  m_bar
);
  logic               valid, ready, mid_q, cmb_q, cmb;
  logic [PLACE_W-1:0] place;
  cq_desc_t           desc, out_desc;
  db_skid #(.WIDTH($bits(cq_t))) i_in (
    .clk, .rst, .s_valid(s_cq_valid), .s_ready(s_cq_ready), .s_data(s_cq), .m_valid(valid), .m_ready(ready),
    .m_data(m_bar));

  assign desc        = m_bar.tdata[127:0];
  assign cmb         = mid_q ? cmb_q : desc.bar_id == CMB_BAR;
  assign m_cmb_valid = valid && cmb;
  assign m_bar_valid = valid && !cmb;
  assign ready       = cmb ? m_cmb_ready : m_bar_ready;
  assign place       = fn_place(desc.target_fn);
  always_comb begin
    out_desc         = desc;
    out_desc.rsvd1   = 1'b0;
    out_desc.addr_dw = 62'({place, desc.addr_dw[REGION_LOG2-3:0]});
    if (place >= PLACE_W'(NUM_FN)) out_desc.addr_dw = {1'b1, 61'd0};
    m_cmb = m_bar;
    if (!mid_q) m_cmb.tdata[127:0] = out_desc;
  end

  always_ff @(posedge clk) begin
    if (valid && ready) begin
      mid_q <= !m_bar.tlast;
      cmb_q <= cmb;
    end
    if (rst) mid_q <= 1'b0;
  end
endmodule
