// SPDX-License-Identifier: Apache-2.0
// Second half of bring-up: controller registers, admin queue, Identify, I/O queues. Steps are step_e of
// db_host_control_pkg, docs/host.md lists them; recovery comes in here too, as the first thing done is a controller reset.
//
// A step reads or writes a register, reads one until it says what it should, sends an admin command, or reads a dword
// of what Identify has put into the admin buffer. `p_step` is the table of what each does, `p_check` of what its answer
// must hold; facts are kept as their step's answer goes by. Nothing waits for a fixed time: ready bits for CAP.TO
// and a half second more, with a look each millisecond.
module db_host_nvme
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_pcie_pkg::*;
  import db_host_control_pkg::*;
#(
    parameter int NUM_CMDS  = 128,  // command slots, a power of two, 8..256
    parameter int NUM_QP    = 1,    // I/O queue pairs: 1, 2, 4
    parameter int PART_LOG2 = 20,   // log2 of the largest data command in bytes, 12..20
    parameter int HALF_MS   = 500   // milliseconds in the unit of CAP.TO; another value only to shorten a simulation
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        tick,         // each millisecond
    input  logic        start,
    input  logic        stop,
    output logic        done,         // one cycle
    output fail_e       fail,         // together with done; FAIL_NONE: good
    output logic [14:0] fail_status,  // of the last admin command
    output step_e       step,         // STEP_OFF while idle

    input logic [63:0] window_base,
    input logic [31:0] nsid,

    // the drive's facts, good once it is done
    output logic [ 3:0] doorbell_stride,
    output logic [ 3:0] lba_shift,
    output logic [63:0] blocks,
    output logic [31:0] max_blocks,   // of a data command
    output logic [15:0] sq_size,      // entries of each I/O queue
    output logic [15:0] oncs,
    output logic        vwc,

    output logic        m_acc_valid,
    input  logic        m_acc_ready,
    output acc_t        m_acc,
    input  logic        s_acc_valid,
    input  logic [31:0] s_acc_rdata,
    input  acc_status_e s_acc_status,

    output logic        m_clear,      // the admin queue pair starts anew
    output logic        m_cmd_valid,  // db_host_admin
    input  logic        m_cmd_ready,
    output logic [31:0] m_cmd_data,
    input  logic [ 3:0] s_cmd_index,
    input  logic        s_rsp_valid,
    input  logic        s_rsp_timeout,
    input  cqe_t        s_rsp_cqe,

    output abuf_t       m_abuf,       // reads only
    input  logic        s_abuf_ready,
    input  logic [31:0] s_abuf_rdata  // 2 cycles after ready
);
  localparam int SQ_LOG2_MAX = $clog2(2 * NUM_CMDS / NUM_QP);
  if (!(NUM_QP inside {1, 2, 4})) begin : g_bad_qp
    $error("%m: NUM_QP must be 1, 2 or 4, not %0d", NUM_QP);
  end
  if (NUM_CMDS < 8 || NUM_CMDS > 256 || 2 ** $clog2(NUM_CMDS) != NUM_CMDS) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 8..256, not %0d", NUM_CMDS);
  end
  if (PART_LOG2 < 12 || PART_LOG2 > 20) begin : g_bad_part
    $error("%m: PART_LOG2 must be 12..20, not %0d", PART_LOG2);
  end
  if (HALF_MS < 1 || HALF_MS > 500) begin : g_bad_half
    $error("%m: HALF_MS must be 1..500, not %0d", HALF_MS);
  end

  localparam logic [7:0] OPC_CREATE_SQ    = 8'h01;
  localparam logic [7:0] OPC_CREATE_CQ    = 8'h05;
  localparam logic [7:0] OPC_IDENTIFY     = 8'h06;
  localparam logic [7:0] OPC_SET_FEATURES = 8'h09;
  localparam logic [7:0] FID_NUM_QUEUES   = 8'h07;

  typedef enum logic [1:0] {
    REG, COMMAND, BUFFER
  } kind_e;
  typedef enum logic [2:0] {
    ASK, ANSWER, FETCH, LOOK, ACT, LATER
  } state_e;
  state_e      state_q;
  step_e       step_q, next;
  logic [ 1:0] qp_q;        // I/O queue pair
  logic [ 7:0] to_q;        // CAP.TO
  logic [ 3:0] sq_log2_q, max_log2_q;
  logic [ 5:0] format_q;    // LBA format in use

  // ------------------------------------------------------------------ table of steps: what is asked
  kind_e       kind;
  logic        wr;
  logic [ 7:0] addr;        // of a register (byte), or in the admin buffer (dword)
  logic [31:0] wdata;       // of a register
  logic [ 7:0] opc;
  logic [25:0] prp1;        // in the window
  logic [31:0] cdw1, cdw10, cdw11;
  always_comb begin : p_step
    kind  = REG;
    wr    = 1'b0;
    addr  = '0;
    wdata = '0;
    opc   = OPC_IDENTIFY;
    prp1  = 26'(ADMIN_BUF);
    cdw1  = '0;
    cdw10 = '0;
    cdw11 = '0;
    unique case (step_q)
      STEP_CAP_LO: addr = 8'(REG_CAP_LO);
      STEP_CAP_HI: addr = 8'(REG_CAP_HI);
      STEP_DISABLE: begin
        wr   = 1'b1;
        addr = 8'(REG_CC);
      end
      STEP_WAIT_OFF, STEP_WAIT_ON: addr = 8'(REG_CSTS);
      STEP_AQA: begin
        wr    = 1'b1;
        addr  = 8'(REG_AQA);
        wdata = {4'd0, 12'(ADMIN_SQ_ENTRIES - 1), 4'd0, 12'(ADMIN_SQ_ENTRIES - 1)};
      end
      STEP_ASQ_LO: begin
        wr    = 1'b1;
        addr  = 8'(REG_ASQ_LO);
        wdata = {window_base[31:WIN_W], 26'(ADMIN_SQ)};
      end
      STEP_ASQ_HI: begin
        wr    = 1'b1;
        addr  = 8'(REG_ASQ_HI);
        wdata = window_base[63:32];
      end
      STEP_ACQ_LO: begin
        wr    = 1'b1;
        addr  = 8'(REG_ACQ_LO);
        wdata = {window_base[31:WIN_W], 26'(ADMIN_CQ)};
      end
      STEP_ACQ_HI: begin
        wr    = 1'b1;
        addr  = 8'(REG_ACQ_HI);
        wdata = window_base[63:32];
      end
      STEP_ENABLE: begin
        wr    = 1'b1;
        addr  = 8'(REG_CC);
        wdata = CC_ENABLE;
      end
      STEP_ID_CTRL: begin
        kind  = COMMAND;
        cdw10 = 32'd1;
      end
      STEP_MDTS: begin        // byte 77
        kind = BUFFER;
        addr = 8'd19;
      end
      STEP_ONCS: begin        // bytes 520, 521
        kind = BUFFER;
        addr = 8'd130;
      end
      STEP_VWC: begin         // byte 525
        kind = BUFFER;
        addr = 8'd131;
      end
      STEP_ID_NS: begin
        kind = COMMAND;
        cdw1 = nsid;
      end
      STEP_NSZE_LO: kind = BUFFER;
      STEP_NSZE_HI: begin
        kind = BUFFER;
        addr = 8'd1;
      end
      STEP_FLBAS: begin       // byte 26
        kind = BUFFER;
        addr = 8'd6;
      end
      STEP_LBAF: begin        // from byte 128 on
        kind = BUFFER;
        addr = 8'd32 + 8'(format_q);
      end
      STEP_QUEUES: begin
        kind  = COMMAND;
        opc   = OPC_SET_FEATURES;
        cdw10 = 32'(FID_NUM_QUEUES);
        cdw11 = {16'(NUM_QP - 1), 16'(NUM_QP - 1)};
      end
      STEP_CREATE_CQ: begin   // contiguous, no interrupts
        kind  = COMMAND;
        opc   = OPC_CREATE_CQ;
        prp1  = 26'(IO_CQ) | {8'd0, qp_q, 16'd0};
        cdw10 = {sq_size - 16'd1, 16'(qp_q) + 16'd1};
        cdw11 = 32'd1;
      end
      default: begin          // STEP_CREATE_SQ: contiguous, its completion queue
        kind  = COMMAND;
        opc   = OPC_CREATE_SQ;
        prp1  = 26'(IO_SQ) | {8'd0, qp_q, 16'd0};
        cdw10 = {sq_size - 16'd1, 16'(qp_q) + 16'd1};
        cdw11 = {16'(qp_q) + 16'd1, 16'd1};
      end
    endcase
  end

  // The question is put a cycle after the step began, so that the table ends in registers. What is valid is a register
  // too, high while ask is and the kind fits: others' ready depends on it.
  logic        ask, ask_q, acc_valid_q, cmd_valid_q, buf_valid_q, leave;
  kind_e       kind_q;
  logic        wr_q;
  logic [ 7:0] addr_q;
  always_ff @(posedge clk) begin
    ask_q  <= 1'b1;
    kind_q <= kind;
    wr_q   <= wr;
    addr_q <= addr;
    m_acc  <= '{op: wr ? ACC_MEM_WR : ACC_MEM_RD, addr: 24'(addr), be: 4'hf, wdata: wdata};
    if (leave) ask_q <= 1'b0;
    if (leave || kind != REG) m_acc <= acc_t'('0);
    acc_valid_q <= !leave && kind == REG && !(acc_valid_q && m_acc_ready);
    buf_valid_q <= !leave && kind == BUFFER && !(buf_valid_q && s_abuf_ready);
    cmd_valid_q <= !leave && ask && kind_q == COMMAND && !(cmd_valid_q && m_cmd_ready);  // a dword each other cycle
  end
  assign leave       = rst || start || stop || state_q != ASK || step_q == STEP_OFF;
  assign ask         = state_q == ASK && ask_q;
  assign m_acc_valid = acc_valid_q;
  assign m_abuf      = '{en: buf_valid_q, we: 1'b0, addr: 11'(addr_q), wdata: '0};
  assign m_cmd_valid = cmd_valid_q;
  assert property (@(posedge clk) disable iff (rst) m_acc_valid == (ask && kind_q == REG));
  assert property (@(posedge clk) disable iff (rst) m_abuf.en == (ask && kind_q == BUFFER));
  assert property (@(posedge clk) disable iff (rst) !m_cmd_valid || (ask && kind_q == COMMAND));
  always_ff @(posedge clk) m_clear <= step_q >= STEP_WAIT_OFF && step_q <= STEP_ENABLE;

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

  // ------------------------------------------------------------------ table of steps: what the answer must hold
  logic [31:0] ans_q;
  fail_e       ans_fail_q;  // there is none
  logic        over;        // out of time
  logic        again;       // look once more later
  fail_e       bad, bad_q;
  logic        again_q, last_q;
  step_e       next_q;
  logic [ 7:0] mdts;
  assign mdts = ans_q[15:8];
  always_comb begin : p_check
    bad   = FAIL_NONE;
    again = 1'b0;
    next  = step_e'(step_q + 6'd1);
    unique case (step_q)
      STEP_CAP_HI: begin
        if (!ans_q[5]) bad = FAIL_COMMAND_SET;
        else if (ans_q[19:16] != '0) bad = FAIL_PAGE_SIZE;
      end
      STEP_WAIT_OFF: again = ans_q[0];
      STEP_WAIT_ON: begin
        again = !ans_q[0];
        if (ans_q[1]) bad = FAIL_FATAL;
      end
      STEP_NSZE_HI: if (blocks[31:0] == '0 && ans_q == '0) bad = FAIL_NO_NAMESPACE;
      STEP_LBAF: begin
        if (ans_q[15:0] != '0) bad = FAIL_METADATA;
        else if (!(ans_q[23:16] inside {8'd9, 8'd10, 8'd11, 8'd12})) bad = FAIL_LBA_SIZE;
      end
      STEP_QUEUES: begin
        if (17'(ans_q[15:0]) + 1'b1 < 17'(NUM_QP) || 17'(ans_q[31:16]) + 1'b1 < 17'(NUM_QP)) bad = FAIL_FEW_QUEUES;
      end
      STEP_CREATE_SQ: if (qp_q != 2'(NUM_QP - 1)) next = STEP_CREATE_CQ;
      default: ;
    endcase
    if (again && over) bad = FAIL_NOT_READY;
    if (kind_q == REG && !wr_q && ans_q == '1) bad = FAIL_REMOVED;
    if (ans_fail_q != FAIL_NONE) bad = ans_fail_q;
  end

  // ------------------------------------------------------------------ one after the other
  logic [8:0] ms_q;         // of a half second
  logic [7:0] half_q;       // half seconds
  assign over = half_q > to_q;
  assign step = step_q;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    fail <= FAIL_NONE;
    if (tick) begin
      ms_q <= ms_q + 1'b1;
      if (ms_q == 9'(HALF_MS - 1)) begin
        ms_q <= '0;
        if (!over) half_q <= half_q + 1'b1;
      end
    end

    unique case (state_q)
      ASK: begin
        ans_fail_q <= FAIL_NONE;
        if (m_acc_valid && m_acc_ready) state_q <= ANSWER;
        if (m_abuf.en && s_abuf_ready) state_q <= FETCH;
        if (m_cmd_valid && m_cmd_ready && s_cmd_index == '1) state_q <= ANSWER;
      end
      ANSWER: begin
        if (kind_q == REG) begin
          ans_q      <= s_acc_rdata;
          ans_fail_q <= acc_fail(s_acc_status);
          if (s_acc_valid) state_q <= LOOK;
        end else if (kind_q == BUFFER) begin
          ans_q   <= s_abuf_rdata;
          state_q <= LOOK;
        end else begin
          ans_q      <= s_rsp_cqe.dw0;
          ans_fail_q <= FAIL_NONE;
          if (s_rsp_timeout) ans_fail_q <= FAIL_ADMIN_TIMEOUT;
          else if (s_rsp_cqe.status[13:0] != '0) ans_fail_q <= FAIL_ADMIN_STATUS;
          if (s_rsp_valid) begin
            fail_status <= s_rsp_cqe.status;
            state_q     <= LOOK;
          end
        end
      end
      FETCH: state_q <= ANSWER;
      LOOK: begin
        state_q <= ACT;
        bad_q   <= bad;
        again_q <= again;
        next_q  <= next;
        last_q  <= step_q == STEP_CREATE_SQ && next != STEP_CREATE_CQ;
      end
      ACT: begin
        state_q <= ASK;
        if (step_q inside {STEP_DISABLE, STEP_ENABLE}) begin
          ms_q   <= '0;
          half_q <= '0;
        end
        if (bad_q != FAIL_NONE) begin
          done   <= 1'b1;
          fail   <= bad_q;
          step_q <= STEP_OFF;
        end else if (again_q) begin
          state_q <= LATER;
        end else if (last_q) begin
          done   <= 1'b1;
          step_q <= STEP_OFF;
        end else begin
          step_q <= next_q;
        end
        if (step_q == STEP_CREATE_SQ) qp_q <= qp_q + 1'b1;
      end
      default: if (tick) state_q <= ASK;
    endcase

    if (start) begin
      state_q     <= ASK;
      step_q      <= STEP_CAP_LO;
      qp_q        <= '0;
      fail_status <= '0;
    end
    if (rst || stop) begin
      state_q <= ASK;
      step_q  <= STEP_OFF;
      done    <= 1'b0;
    end
    if (rst) fail_status <= '0;
  end

  // ------------------------------------------------------------------ facts
  always_ff @(posedge clk) begin
    if (state_q == LOOK) begin
      unique case (step_q)
        STEP_CAP_LO: begin
          to_q      <= ans_q[31:24];
          sq_log2_q <= 4'd1;
          for (int k = 2; k <= SQ_LOG2_MAX; k++) if (ans_q[15:0] >= 16'(2 ** k - 1)) sq_log2_q <= 4'(k);
        end
        STEP_CAP_HI: doorbell_stride <= ans_q[3:0];
        STEP_MDTS:   max_log2_q <= (mdts != '0 && mdts < 8'(PART_LOG2 - 12)) ? 4'(mdts) : 4'(PART_LOG2 - 12);
        STEP_ONCS:   oncs <= ans_q[15:0];
        STEP_VWC:    vwc <= ans_q[8];
        STEP_NSZE_LO: blocks[31:0] <= ans_q;
        STEP_NSZE_HI: blocks[63:32] <= ans_q;
        STEP_FLBAS:  format_q <= {ans_q[22:21], ans_q[19:16]};
        STEP_LBAF:   lba_shift <= ans_q[19:16];
        default: ;
      endcase
    end
    if (rst) begin              // not known: so that commands to a drive that was never up can end
      max_log2_q <= '0;
      lba_shift  <= 4'd9;
      blocks     <= '0;
    end
    sq_size    <= 16'd1 << sq_log2_q;
    max_blocks <= 32'((PART_LOG2 - 8)'(1) << (5'd12 + 5'(max_log2_q) - 5'(lba_shift)));
  end
endmodule
