// SPDX-License-Identifier: Apache-2.0
// Short writes to the host from three sources into one: completion queue entries, interrupts, firmware.
//
// What a source has handed over goes out before what any source hands over later; that is the order between an
// entry and its interrupt, and between an admin command's data and its entry.
// Latency: 1 cycle. Throughput: one a cycle.
module db_ssd_postmux
  import db_nvme_pkg::*, db_ssd_pkg::*;
(
  input  logic            clk,
  input  logic            rst,
  input  logic            s_cqe_valid,
  output logic            s_cqe_ready,
  input  logic [FN_W-1:0] s_cqe_fn,
  input  logic [63:0]     s_cqe_addr,
  input  cqe_t            s_cqe,
  input  logic            s_msix_valid,
  output logic            s_msix_ready,
  input  logic [FN_W-1:0] s_msix_fn,
  input  logic [63:0]     s_msix_addr,
  input  logic [31:0]     s_msix_data,
  input  logic            s_fw_valid,
  output logic            s_fw_ready,
  input  logic [FN_W-1:0] s_fw_fn,
  input  logic [63:0]     s_fw_addr,
  input  logic [4:0]      s_fw_len_dw,
  input  logic [511:0]    s_fw_data,
  output logic            m_post_valid,
  input  logic            m_post_ready,
  output logic [FN_W-1:0] m_post_fn,
  output logic [63:0]     m_post_addr,
  output logic [4:0]      m_post_len_dw,
  output logic [511:0]    m_post_data
);
  logic       any, out_free;
  logic [2:0] gnt;
  logic [1:0] gnt_idx;
  assign out_free = !m_post_valid || m_post_ready;
  db_arb_rr #(.N(3)) i_arb (
    .clk, .rst, .req({s_fw_valid, s_msix_valid, s_cqe_valid}), .ack(any && out_free), .gnt_valid(any), .gnt, .gnt_idx);
  assign {s_fw_ready, s_msix_ready, s_cqe_ready} = out_free ? gnt : 3'd0;

  always_ff @(posedge clk) begin
    if (out_free) begin
      m_post_valid <= any;
      unique case (gnt_idx)
        2'd0: begin
          m_post_fn     <= s_cqe_fn;
          m_post_addr   <= s_cqe_addr;
          m_post_len_dw <= 5'd4;
          m_post_data   <= {384'd0, s_cqe};
        end
        2'd1: begin
          m_post_fn     <= s_msix_fn;
          m_post_addr   <= s_msix_addr;
          m_post_len_dw <= 5'd1;
          m_post_data   <= {480'd0, s_msix_data};
        end
        default: begin
          m_post_fn     <= s_fw_fn;
          m_post_addr   <= s_fw_addr;
          m_post_len_dw <= s_fw_len_dw;
          m_post_data   <= s_fw_data;
        end
      endcase
    end
    if (rst) m_post_valid <= 1'b0;
  end
endmodule
