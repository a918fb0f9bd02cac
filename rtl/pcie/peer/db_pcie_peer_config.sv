// SPDX-License-Identifier: Apache-2.0
// A drive that is not behind a root port of ours: the host has configured it, and an endpoint cannot. Shows db_host what
// is so: its accesses to the configuration space are answered here, those to BAR 0 go on.
//
// What it reads: an NVMe controller with a 64-bit BAR 0 at bar_base, memory space and bus master on, a PCI Express
// capability at 40h. What it writes has no effect.
// Latency: 1 cycle; accesses to BAR 0 pass straight through, their answers 1 cycle.
module db_pcie_peer_config
  import db_pcie_block_pkg::*;
(
  input  logic        clk,
  input  logic        rst,
  /// where the host has put BAR 0
  input  logic [63:0] bar_base,
  input  logic        s_acc_valid,
  output logic        s_acc_ready,
  input  acc_t        s_acc,
  output logic        m_answer_valid,
  output acc_answer_t m_answer,
  /// to and from db_pcie_root_req
  output logic        m_acc_valid,
  input  logic        m_acc_ready,
  output acc_t        m_acc,
  input  logic        s_answer_valid,
  input  acc_answer_t s_answer
);
  localparam logic [11:0] CAPABILITY = 12'h040;

  logic        here, sized_q, answer, answer_q;   // answer: of the configuration space
  logic [31:0] rdata;
  assign here        = s_acc.op inside {ACC_CFG_RD, ACC_CFG_WR};
  assign m_acc_valid = s_acc_valid && !here;
  assign m_acc       = s_acc;
  assign s_acc_ready = here ? !answer_q : m_acc_ready;
  assign answer      = s_acc_valid && here && !answer_q;

  always_comb begin
    unique case (s_acc.addr[11:0])
      12'h000:             rdata = 32'h5a5a_1d1d;
      12'h004:             rdata = 32'h0010_0006;  // capabilities; bus master, memory space
      12'h008:             rdata = 32'h0108_0200;
      12'h010:             rdata = sized_q ? 32'hffff_c004 : {bar_base[31:4], 4'h4};
      12'h014:             rdata = bar_base[63:32];
      12'h034:             rdata = 32'(CAPABILITY);
      CAPABILITY:          rdata = 32'h0002_0010;
      CAPABILITY + 12'h4:  rdata = 32'h0000_0025;  // extended tags, 4096 bytes
      default:             rdata = '0;
    endcase
  end

  always_ff @(posedge clk) begin
    answer_q       <= answer;
    m_answer_valid <= answer || s_answer_valid;
    m_answer       <= answer ? '{status: ACC_GOOD, rdata: rdata} : s_answer;
    if (s_acc_valid && s_acc.op == ACC_CFG_WR && s_acc.addr[11:0] == 12'h010) sized_q <= s_acc.wdata == '1;
    if (rst) begin
      answer_q       <= 1'b0;
      m_answer_valid <= 1'b0;
      sized_q        <= 1'b0;
    end
  end
endmodule
