// SPDX-License-Identifier: Apache-2.0
// What each step of db_host_nvme asks, as a table (`p_step`), and the asking: a register is read or written, an admin
// command sent, or a dword of what Identify has put into the admin buffer is read.
// Latency: a question is put a cycle after its step began, so that the table ends in registers. What is valid is a
// register too: others' ready depends on it. Throughput: a dword of a command every other cycle.
module db_host_nvme_ask
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_pcie_block_pkg::*;
  import db_host_control_pkg::*;
#(
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP = 1
) (
  input  logic        clk,
  input  logic        rst,
  /// nothing is to be asked, or no longer
  input  logic        leave,
  /// for the assertions: the step waits for its question to be taken
  input  logic        asking,
  input  step_e       step,
  /// of steps that make queues: which queue pair, and its entries
  input  logic [1:0]  qp,
  input  logic [15:0] sq_size,
  /// LBA format in use, of STEP_LBAF
  input  logic [5:0]  lba_format,
  input  logic [63:0] window_base,
  input  logic [31:0] nsid,

  /// of the question that is on offer, or was taken last
  output ask_kind_e   kind,
  output logic        write,

  /// zeros while it is not valid
  output logic        m_acc_valid,
  input  logic        m_acc_ready,
  output acc_t        m_acc,
  /// db_host_admin
  output logic        m_cmd_valid,
  input  logic        m_cmd_ready,
  output logic [31:0] m_cmd_data,
  input  logic [3:0]  s_cmd_index,
  /// reads only
  output admin_buf_t  m_admin_buf,
  input  logic        s_admin_buf_ready
);
  // ---- table of steps
  ask_kind_e   kind_new;
  logic        wr;
  logic [7:0]  addr;        // of a register (byte), or in the admin buffer (dword)
  logic [31:0] wdata;       // of a register
  logic [7:0]  opc;
  logic [25:0] prp1;        // in the window
  logic [31:0] cdw1, cdw10, cdw11;
  always_comb begin : p_step
    kind_new = ASK_REGISTER;
    wr       = 1'b0;
    addr     = '0;
    wdata    = '0;
    opc      = ADMIN_OPC_IDENTIFY;
    prp1     = 26'(ADMIN_BUF);
    cdw1     = '0;
    cdw10    = '0;
    cdw11    = '0;
    unique case (step)
      STEP_CAP_LO: addr = 8'(NVME_REG_CAP);
      STEP_CAP_HI: addr = 8'(NVME_REG_CAP + 24'd4);
      STEP_DISABLE: begin
        wr   = 1'b1;
        addr = 8'(NVME_REG_CC);
      end
      STEP_WAIT_OFF, STEP_WAIT_ON: addr = 8'(NVME_REG_CSTS);
      STEP_AQA: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_AQA);
        wdata = {4'd0, 12'(ADMIN_SQ_ENTRIES - 1), 4'd0, 12'(ADMIN_SQ_ENTRIES - 1)};
      end
      STEP_ASQ_LO: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_ASQ);
        wdata = {window_base[31:WIN_W], 26'(ADMIN_SQ)};
      end
      STEP_ASQ_HI: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_ASQ + 24'd4);
        wdata = window_base[63:32];
      end
      STEP_ACQ_LO: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_ACQ);
        wdata = {window_base[31:WIN_W], 26'(ADMIN_CQ)};
      end
      STEP_ACQ_HI: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_ACQ + 24'd4);
        wdata = window_base[63:32];
      end
      STEP_ENABLE: begin
        wr    = 1'b1;
        addr  = 8'(NVME_REG_CC);
        wdata = CC_ENABLE;
      end
      STEP_ID_CTRL: begin
        kind_new = ASK_COMMAND;
        cdw10 = 32'd1;
      end
      STEP_MDTS: begin        // byte 77
        kind_new = ASK_BUFFER;
        addr = 8'd19;
      end
      STEP_ONCS: begin        // bytes 520, 521
        kind_new = ASK_BUFFER;
        addr = 8'd130;
      end
      STEP_VWC: begin         // byte 525
        kind_new = ASK_BUFFER;
        addr = 8'd131;
      end
      STEP_SGLS: begin        // bytes 536 to 539
        kind_new = ASK_BUFFER;
        addr = 8'd134;
      end
      STEP_ID_NS: begin
        kind_new = ASK_COMMAND;
        cdw1 = nsid;
      end
      STEP_NSZE_LO: kind_new = ASK_BUFFER;
      STEP_NSZE_HI: begin
        kind_new = ASK_BUFFER;
        addr = 8'd1;
      end
      STEP_FLBAS: begin       // byte 26
        kind_new = ASK_BUFFER;
        addr = 8'd6;
      end
      STEP_LBAF: begin        // from byte 128 on
        kind_new = ASK_BUFFER;
        addr = 8'd32 + 8'(lba_format);
      end
      STEP_QUEUES: begin
        kind_new = ASK_COMMAND;
        opc   = ADMIN_OPC_SET_FEATURES;
        cdw10 = 32'(FEATURE_NUM_QUEUES);
        cdw11 = {16'(NUM_QP - 1), 16'(NUM_QP - 1)};
      end
      STEP_CREATE_CQ: begin   // contiguous, no interrupts
        kind_new = ASK_COMMAND;
        opc   = ADMIN_OPC_CREATE_CQ;
        prp1  = 26'(IO_CQ) | {8'd0, qp, 16'd0};
        cdw10 = {sq_size - 16'd1, 16'(qp) + 16'd1};
        cdw11 = 32'd1;
      end
      default: begin          // STEP_CREATE_SQ: contiguous, its completion queue
        kind_new = ASK_COMMAND;
        opc   = ADMIN_OPC_CREATE_SQ;
        prp1  = 26'(IO_SQ) | {8'd0, qp, 16'd0};
        cdw10 = {sq_size - 16'd1, 16'(qp) + 16'd1};
        cdw11 = {16'(qp) + 16'd1, 16'd1};
      end
    endcase
  end

  // ---- asking
  logic       ask_q, acc_valid_q, cmd_valid_q, buf_valid_q, ask;
  ask_kind_e  kind_q;
  logic       wr_q;
  logic [7:0] addr_q;
  always_ff @(posedge clk) begin
    ask_q  <= !leave;
    kind_q <= kind_new;
    wr_q   <= wr;
    addr_q <= addr;
    m_acc  <= '{op: wr ? ACC_MEM_WR : ACC_MEM_RD, addr: 24'(addr), be: 4'hf, wdata: wdata};
    if (leave || kind_new != ASK_REGISTER) m_acc <= acc_t'('0);
    acc_valid_q <= !leave && kind_new == ASK_REGISTER && !(acc_valid_q && m_acc_ready);
    buf_valid_q <= !leave && kind_new == ASK_BUFFER && !(buf_valid_q && s_admin_buf_ready);
    cmd_valid_q <= !leave && ask && kind_q == ASK_COMMAND && !(cmd_valid_q && m_cmd_ready);
  end
  assign ask         = asking && ask_q;
  assign m_acc_valid = acc_valid_q;
  assign m_admin_buf = '{en: buf_valid_q, we: 1'b0, addr: 11'(addr_q), wdata: '0};
  assign m_cmd_valid = cmd_valid_q;
  assign kind        = kind_q;
  assign write       = wr_q;
  assert property (@(posedge clk) disable iff (rst) m_acc_valid == (ask && kind_q == ASK_REGISTER));
  assert property (@(posedge clk) disable iff (rst) m_admin_buf.en == (ask && kind_q == ASK_BUFFER));
  assert property (@(posedge clk) disable iff (rst) !m_cmd_valid || (ask && kind_q == ASK_COMMAND));

  always_ff @(posedge clk) begin : p_sqe
    unique case (s_cmd_index)
      4'd0:    m_cmd_data <= 32'(opc);
      4'd1:    m_cmd_data <= cdw1;
      4'd6:    m_cmd_data <= {window_base[31:WIN_W], prp1};
      4'd7:    m_cmd_data <= window_base[63:32];
      4'd10:   m_cmd_data <= cdw10;
      4'd11:   m_cmd_data <= cdw11;
      default: m_cmd_data <= '0;
    endcase
  end
endmodule
