// SPDX-License-Identifier: Apache-2.0
// Splits the accesses to BAR 0 among their owners: registers, doorbells, MSI-X table and PBA.
//
//   0x0000-0x0fff  controller registers (db_ssd_regs)
//   0x1000-0x1fff  doorbells, stride 0: SQ y tail at 0x1000 + 8y, CQ y head at 0x1004 + 8y; read as 0
//   0x2000-0x3fff  MSI-X table, pending bits (db_pcie_msix)
//
// Why a block: none of the owners need know another's addresses. A doorbell never waits for a transfer: posted
// writes of the host must go on while our own reads are answered behind them (PCIe ordering).
// Latency: 1 cycle to the owner; an answer passes with 1 cycle. One access at a time, as db_pcie_bar sends them.
module db_ssd_bar
  import db_ssd_pkg::*;
(
  input  logic             clk,
  input  logic             rst,
  // from db_pcie_bar
  input  logic             s_reg_valid,
  output logic             s_reg_ready,
  input  logic             s_reg_wr,
  input  logic [FN_W-1:0]  s_reg_fn,
  input  logic [15:0]      s_reg_addr,
  input  logic [3:0]       s_reg_be,
  input  logic [31:0]      s_reg_wdata,
  output logic             s_reg_rvalid,
  output logic [31:0]      s_reg_rdata,
  // to the owners of registers: 0 = controller registers, 1 = MSI-X
  output logic [1:0]       m_reg_valid,
  input  logic [1:0]       m_reg_ready,
  output logic             m_reg_wr,
  output logic [FN_W-1:0]  m_reg_fn,
  output logic [12:0]      m_reg_addr,
  output logic [3:0]       m_reg_be,
  output logic [31:0]      m_reg_wdata,
  input  logic [1:0]       m_reg_rvalid,
  input  logic [63:0]      m_reg_rdata,
  // doorbells: [0] submission queue tail, [1] completion queue head
  output logic [1:0]       m_db_valid,
  input  logic [1:0]       m_db_ready,
  output logic [FN_W-1:0]  m_db_fn,
  output logic [8:0]       m_db_qid,
  output logic [15:0]      m_db_value
);

  typedef enum logic [1:0] {ST_IDLE, ST_SEND, ST_ANSWER, ST_ZERO} state_e;
  state_e state_q;
  logic       msix_q;
  logic       is_db;

  assign is_db       = s_reg_addr[15:12] == 4'h1;
  assign s_reg_ready = state_q == ST_IDLE;

  always_ff @(posedge clk) begin
    s_reg_rvalid <= 1'b0;
    unique case (state_q)
      ST_IDLE: if (s_reg_valid) begin
        m_reg_wr    <= s_reg_wr;
        m_reg_fn    <= s_reg_fn;
        m_reg_addr  <= {s_reg_addr[12] && s_reg_addr[13], s_reg_addr[11:0]};
        m_reg_be    <= s_reg_be;
        m_reg_wdata <= s_reg_wdata;
        m_db_fn     <= s_reg_fn;
        m_db_qid    <= s_reg_addr[11:3];
        m_db_value  <= s_reg_wdata[15:0];
        msix_q      <= s_reg_addr[13];
        if (is_db) begin
          // A doorbell takes a full dword; anything else there is ignored.
          m_db_valid <= (s_reg_wr && s_reg_be[1:0] == 2'b11) ? {s_reg_addr[2], !s_reg_addr[2]} : 2'b00;
          state_q    <= s_reg_wr ? ST_SEND : ST_ZERO;
        end else if (s_reg_addr[15:14] != 2'b00) begin
          state_q    <= s_reg_wr ? ST_IDLE : ST_ZERO;
        end else begin
          m_reg_valid <= {s_reg_addr[13], !s_reg_addr[13]};
          state_q     <= ST_SEND;
        end
      end
      ST_SEND: if ((m_reg_valid & ~m_reg_ready) == 2'b00 && (m_db_valid & ~m_db_ready) == 2'b00) begin
        state_q     <= (m_reg_valid != 2'b00 && !m_reg_wr) ? ST_ANSWER : ST_IDLE;
        m_reg_valid <= 2'b00;
        m_db_valid  <= 2'b00;
      end
      ST_ANSWER: if (m_reg_rvalid[msix_q]) begin
        s_reg_rvalid <= 1'b1;
        s_reg_rdata  <= msix_q ? m_reg_rdata[63:32] : m_reg_rdata[31:0];
        state_q      <= ST_IDLE;
      end
      ST_ZERO: begin
        s_reg_rvalid <= 1'b1;
        s_reg_rdata  <= 32'd0;
        state_q      <= ST_IDLE;
      end
    endcase
    if (rst) begin
      state_q      <= ST_IDLE;
      m_reg_valid  <= 2'b00;
      m_db_valid   <= 2'b00;
      s_reg_rvalid <= 1'b0;
    end
  end

endmodule
