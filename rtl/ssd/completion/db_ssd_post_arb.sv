// SPDX-License-Identifier: Apache-2.0
// Short writes to the host from three sources into one: completion queue entries, interrupts, firmware.
//
// What a source has handed over goes out before what any source hands over later; that is the order between an
// entry and its interrupt, and between an admin command's data and its entry. An entry waits while another source has
// something: there are fewer interrupts than entries, and the firmware's writes come at most every fifth cycle.
// What is offered stays until it is taken. drop_irqs: interrupts that are not yet offered are thrown away.
// Latency: none (combinational; the register behind it is db_pcie_post's, whose ready is one too). Throughput: one a
// cycle.
module db_ssd_post_arb
  import db_pcie_block_pkg::*, db_ssd_pkg::*;
(
  input  logic      clk,
  input  logic      rst,
  input  logic      s_cqe_valid,
  output logic      s_cqe_ready,
  input  cqe_post_t s_cqe,
  input  logic      drop_irqs,      ///< while the controller stops
  input  logic      s_msix_valid,
  output logic      s_msix_ready,
  input  post_t     s_msix,
  input  logic      s_fw_valid,
  output logic      s_fw_ready,
  input  post_t     s_fw,
  output logic      m_post_valid,
  input  logic      m_post_ready,
  output post_t     m_post
);
  localparam logic [1:0] CQE = 2'd0, MSIX = 2'd1, FW = 2'd2;
  logic       msix, held_q;              // held_q: offered, not taken
  logic [1:0] sel, owner_q;
  assign msix = s_msix_valid && (!drop_irqs || (held_q && owner_q == MSIX));
  assign sel  = held_q ? owner_q : msix ? MSIX : s_fw_valid ? FW : CQE;
  assign s_cqe_ready  = m_post_ready && sel == CQE;
  assign s_msix_ready = (m_post_ready && sel == MSIX) || (drop_irqs && !msix);
  assign s_fw_ready   = m_post_ready && sel == FW;
  always_comb begin
    m_post_valid = s_cqe_valid;
    m_post       = '{fn: s_cqe.fn, addr: s_cqe.addr, dwords: 3'd4, data: s_cqe.cqe};
    if (sel == MSIX) begin
      m_post_valid = msix;
      m_post       = s_msix;
    end
    if (sel == FW) begin
      m_post_valid = s_fw_valid;
      m_post       = s_fw;
    end
  end
  always_ff @(posedge clk) begin
    held_q  <= m_post_valid && !m_post_ready;
    owner_q <= sel;
    if (rst) held_q <= 1'b0;
  end
endmodule
