// SPDX-License-Identifier: Apache-2.0
// Splits the accesses to BAR 0 among their owners: registers, doorbells, MSI-X table and PBA.
//
//   0x0000-0x0fff  controller registers (db_ssd_regs)
//   0x1000-0x1fff  doorbells, stride 0: SQ y tail at 0x1000 + 8y, CQ y head at 0x1004 + 8y; read as 0. Which queue
//                  that is of all that there are, the firmware says for each function (s_fn_queues)
//   0x2000-0x3fff  MSI-X table, pending bits (db_pcie_msix)
//
// Why a block: none of the owners need know another's addresses. A doorbell never waits for a transfer: posted
// writes of the host must go on while our own reads are answered behind them (PCIe ordering).
// Errors of doorbells come back here from both kinds of queues and leave as one; of two at once the submission queue's.
// Latency: 1 cycle to the owner; an answer passes with 1 cycle. One access at a time, as db_pcie_bar sends them.
module db_ssd_bar
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1,   ///< functions, 1..17
  parameter int NUM_QP = 32   ///< I/O queue pairs of all, 1..254
) (
  input  logic                clk,
  input  logic                rst,
  /// Pulse: which queues a function has. With one function it has them all.
  input  logic                s_fn_queues_valid,
  input  fn_queues_t          s_fn_queues,
  /// Accesses to BAR 0, from db_pcie_bar; a read is answered by a pulse.
  input  logic                s_reg_valid,
  output logic                s_reg_ready,
  input  reg_access_t         s_reg,
  output logic                s_reg_rvalid,
  output logic [31:0]         s_reg_rdata,
  /// To the owners of registers, addresses from their first on: [0] controller registers, [1] MSI-X.
  output logic [1:0]          m_reg_valid,
  input  logic [1:0]          m_reg_ready,
  output reg_access_t         m_reg,
  input  logic [1:0]          m_reg_rvalid,
  input  logic [1:0][31:0]    m_reg_rdata,
  /// Doorbells: [0] submission queue tail, [1] completion queue head.
  output logic [1:0]          m_doorbell_valid,
  input  logic [1:0]          m_doorbell_ready,
  output doorbell_t           m_doorbell,
  /// What was wrong with one: [0] submission queues, [1] completion queues; pulses.
  input  logic [1:0]          s_doorbell_err_valid,
  input  doorbell_err_t [1:0] s_doorbell_err,
  output logic                m_doorbell_err_valid,
  output doorbell_err_t       m_doorbell_err
);
  typedef enum logic [1:0] {ST_IDLE, ST_SEND, ST_ANSWER, ST_ZERO} state_e;
  state_e state_q;
  logic       msix_q;
  logic       is_doorbell;

  // ---- the queue of a doorbell
  logic [8:0]       qid;
  logic [QID_W-1:0] queue;
  logic             exists;
  assign qid = s_reg.addr[11:3];
  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok = &{1'b0, s_fn_queues_valid, s_fn_queues};
    assign queue  = qid[QID_W-1:0];
    assign exists = s_reg.fn == '0 && qid <= 9'(NUM_QP);
  end else begin : g_many
    typedef struct packed {
      logic [QID_W-1:0] before_first;
      logic [QID_W-1:0] count;
    } share_t;
    share_t             shares [NUM_FN];
    share_t             share;
    logic [PLACE_W-1:0] place;
    logic               there;
    assign place  = fn_place(s_reg.fn);
    assign there  = place < PLACE_W'(NUM_FN);
    assign share  = shares[there ? place : '0];
    assign queue  = qid == '0 ? QID_W'(place) : share.before_first + qid[QID_W-1:0];
    assign exists = there && qid <= 9'(share.count);
    always_ff @(posedge clk) begin
      if (s_fn_queues_valid) shares[s_fn_queues.place] <= '{s_fn_queues.before_first, s_fn_queues.count};
    end
  end

  assign m_doorbell_err_valid = s_doorbell_err_valid != 2'b00;
  assign m_doorbell_err       = s_doorbell_err_valid[0] ? s_doorbell_err[0] : s_doorbell_err[1];

  assign is_doorbell = s_reg.addr[15:12] == 4'h1;
  assign s_reg_ready = state_q == ST_IDLE;

  always_ff @(posedge clk) begin
    s_reg_rvalid <= 1'b0;
    unique case (state_q)
      ST_IDLE: if (s_reg_valid) begin
        m_reg       <= s_reg;
        m_reg.addr  <= {3'd0, s_reg.addr[12] && s_reg.addr[13], s_reg.addr[11:0]};
        m_doorbell  <= '{fn: s_reg.fn, qid: qid, number: queue, exists: exists, value: s_reg.wdata[15:0]};
        msix_q      <= s_reg.addr[13];
        if (is_doorbell) begin
          // A doorbell takes a full dword; anything else there is ignored.
          m_doorbell_valid <= (s_reg.wr && s_reg.be[1:0] == 2'b11) ? {s_reg.addr[2], !s_reg.addr[2]} : 2'b00;
          state_q          <= s_reg.wr ? ST_SEND : ST_ZERO;
        end else if (s_reg.addr[15:14] != 2'b00) begin
          state_q <= s_reg.wr ? ST_IDLE : ST_ZERO;
        end else begin
          m_reg_valid <= {s_reg.addr[13], !s_reg.addr[13]};
          state_q     <= ST_SEND;
        end
      end
      ST_SEND: if ((m_reg_valid & ~m_reg_ready) == 2'b00 && (m_doorbell_valid & ~m_doorbell_ready) == 2'b00) begin
        state_q          <= (m_reg_valid != 2'b00 && !m_reg.wr) ? ST_ANSWER : ST_IDLE;
        m_reg_valid      <= 2'b00;
        m_doorbell_valid <= 2'b00;
      end
      ST_ANSWER: if (m_reg_rvalid[msix_q]) begin
        s_reg_rvalid <= 1'b1;
        s_reg_rdata  <= m_reg_rdata[msix_q];
        state_q      <= ST_IDLE;
      end
      ST_ZERO: begin
        s_reg_rvalid <= 1'b1;
        s_reg_rdata  <= 32'd0;
        state_q      <= ST_IDLE;
      end
    endcase
    if (rst) begin
      state_q          <= ST_IDLE;
      m_reg_valid      <= 2'b00;
      m_doorbell_valid <= 2'b00;
      s_reg_rvalid     <= 1'b0;
    end
  end

endmodule
