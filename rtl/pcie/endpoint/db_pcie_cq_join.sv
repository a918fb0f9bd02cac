// SPDX-License-Identifier: Apache-2.0
// Requests with their descriptor beside the payload (cq_side_t) to packets of CQ of 512 bits, for who takes no others.
//
// Payload moves up by the descriptor's four lanes, and four dwords of a row into the next beat. Of tuser there is what is
// read here: byte enables, and `discontinue`.
// Latency: none, but for the last dwords of a packet whose last row has more than 12: 1 cycle, in which no row is taken.
// Throughput: a beat a cycle.
`include "db_pcie_types.svh"
module db_pcie_cq_join
  import db_pcie_pkg::*;
#(
  localparam type cq_t = `DB_PCIE_CQ_T(512)
) (
  input  logic clk,
  input  logic rst,
  /// the end of a packet is to leave yet
  output logic spills,
  input  logic s_valid,
  output logic s_ready,
  input  cq_t  s_row,
  output logic m_cq_valid,
  input  logic m_cq_ready,
  output cq_t  m_cq
);
  cq_side_t         side;
  logic             mid_q, spill_q, damaged_q, whole;
  logic [127:0]     carry_q;
  logic [3:0]       carry_keep_q;
  logic [3:0][3:0]  carry_be_q;
  logic [15:0][3:0] be;
  logic [182:0]     user;

  assign side       = cq_side_t'($bits(cq_side_t)'(s_row.tuser));
  assign be         = cq_row_be(!mid_q, s_row.tlast, s_row.tkeep, side.first_be, side.last_be);
  assign whole      = s_row.tlast && s_row.tkeep[15:12] == '0;
  assign spills     = spill_q;
  assign s_ready    = m_cq_ready && !spill_q;
  assign m_cq_valid = spill_q || s_valid;
  assign m_cq.tlast = spill_q || whole;
  assign m_cq.tdata = {s_row.tdata[383:0], mid_q || spill_q ? carry_q : side.desc};
  assign m_cq.tkeep = spill_q ? 16'(carry_keep_q) : {whole ? s_row.tkeep[11:0] : 12'hfff, 4'hf};
  assign m_cq.tuser = user;
  always_comb begin
    user        = '0;
    user[3:0]   = side.first_be;
    user[11:8]  = side.last_be;
    user[79:16] = {be[11:0], mid_q || spill_q ? carry_be_q : 16'd0};
    if (spill_q) user[79:32] = '0;
    user[96] = spill_q ? damaged_q : whole && side.damaged;
  end

  always_ff @(posedge clk) begin
    if (s_valid && s_ready) begin
      mid_q        <= !s_row.tlast;
      spill_q      <= s_row.tlast && !whole;
      carry_q      <= s_row.tdata[511:384];
      carry_keep_q <= s_row.tkeep[15:12];
      carry_be_q   <= be[15:12];
      damaged_q    <= side.damaged;
    end else if (m_cq_ready) begin
      spill_q <= 1'b0;
    end
    if (rst) begin
      mid_q   <= 1'b0;
      spill_q <= 1'b0;
    end
  end
endmodule
