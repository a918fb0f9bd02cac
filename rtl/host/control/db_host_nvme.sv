// SPDX-License-Identifier: Apache-2.0
// Second half of bring-up: controller registers, admin queue, Identify, I/O queues. Steps are step_e of
// db_host_control_pkg, docs/host/theory.md lists them; recovery comes in here too, as the first thing done is a
// controller reset.
//
// Here is the order: a step asks (db_host_nvme_ask), its answer is looked at (db_host_nvme_check), then comes the
// next one, the same one again, or the end. Nothing waits for a fixed time: ready bits for CAP.TO and a half second
// more, with a look each millisecond.
// Latency: 4 cycles a step beside its question and its answer.
module db_host_nvme
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_pcie_block_pkg::*;
  import db_host_control_pkg::*;
#(
  /// command slots, a power of two, 8..256
  parameter int NUM_CMDS  = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP    = 1,
  /// log2 of the largest data command in bytes, 12..20
  parameter int PART_LOG2 = 20,
  /// milliseconds in the unit of CAP.TO; another value only to shorten a simulation
  parameter int HALF_MS   = 500,
  /// log2 of the bytes of BAR 0 in which the doorbells must lie; 0: it has them all
  parameter int BAR_LOG2  = 0
) (
  input  logic          clk,
  input  logic          rst,
  /// each millisecond
  input  logic          tick,
  input  logic          start,
  input  logic          stop,
  /// one cycle
  output logic          done,
  /// together with done; FAIL_NONE: good
  output fail_e         fail,
  /// of the last admin command
  output status_t       fail_status,
  /// STEP_OFF while idle
  output step_e         step,

  input  logic [63:0]   window_base,
  input  logic [31:0]   nsid,
  /// good once it is done
  output drive_facts_t  facts,

  /// zeros while it is not valid
  output logic          m_acc_valid,
  input  logic          m_acc_ready,
  output acc_t          m_acc,
  input  logic          s_answer_valid,
  input  acc_answer_t   s_answer,

  /// the admin queue pair starts anew
  output logic          m_clear,
  /// db_host_admin
  output logic          m_cmd_valid,
  input  logic          m_cmd_ready,
  output logic [31:0]   m_cmd_data,
  input  logic [3:0]    s_cmd_index,
  input  logic          s_rsp_valid,
  input  admin_answer_t s_rsp,

  /// reads only; data 2 cycles after ready
  output admin_buf_t    m_admin_buf,
  input  logic          s_admin_buf_ready,
  input  logic [31:0]   s_admin_buf_rdata
);
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

  typedef enum logic [2:0] {
    ST_ASK, ST_ANSWER, ST_FETCH, ST_LOOK, ST_ACT, ST_LATER
  } state_e;
  state_e      state_q;
  step_e       step_q, next;
  logic [1:0]  qp_q;         // I/O queue pair
  logic [7:0]  timeout;      // CAP.TO
  logic [5:0]  lba_format;
  ask_kind_e   kind;
  logic        write, leave, over, again, last;
  logic [31:0] ans_q;
  fail_e       ans_fail_q;   // there is none
  fail_e       bad;

  assign leave = rst || start || stop || state_q != ST_ASK || step_q == STEP_OFF;
  db_host_nvme_ask #(.NUM_QP(NUM_QP)) i_ask (
    .clk, .rst, .leave, .asking(state_q == ST_ASK), .step(step_q), .qp(qp_q), .sq_size(facts.sq_size), .lba_format,
    .window_base, .nsid, .kind, .write, .m_acc_valid, .m_acc_ready, .m_acc, .m_cmd_valid, .m_cmd_ready, .m_cmd_data,
    .s_cmd_index, .m_admin_buf, .s_admin_buf_ready
  );
  db_host_nvme_check #(
    .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .PART_LOG2(PART_LOG2), .BAR_LOG2(BAR_LOG2)
  ) i_check (
    .clk, .rst, .look(state_q == ST_LOOK), .step(step_q), .qp(qp_q), .kind, .write, .answer(ans_q),
    .answer_fail(ans_fail_q), .over, .bad, .again, .last, .next, .facts, .lba_format, .timeout
  );
  always_ff @(posedge clk) m_clear <= step_q >= STEP_WAIT_OFF && step_q <= STEP_ENABLE;

  // ---- one after the other
  logic [8:0] ms_q;         // of a half second
  logic [8:0] half_q;       // half seconds, up to one more than the longest CAP.TO
  assign over = half_q > 9'(timeout);
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
      ST_ASK: begin
        ans_fail_q <= FAIL_NONE;
        if (m_acc_valid && m_acc_ready) state_q <= ST_ANSWER;
        if (m_admin_buf.en && s_admin_buf_ready) state_q <= ST_FETCH;
        if (m_cmd_valid && m_cmd_ready && s_cmd_index == '1) state_q <= ST_ANSWER;
      end
      ST_ANSWER: begin
        if (kind == ASK_REGISTER) begin
          ans_q      <= s_answer.rdata;
          ans_fail_q <= acc_fail(s_answer.status);
          if (s_answer_valid) state_q <= ST_LOOK;
        end else if (kind == ASK_BUFFER) begin
          ans_q   <= s_admin_buf_rdata;
          state_q <= ST_LOOK;
        end else begin
          ans_q      <= s_rsp.cqe.dw0;
          ans_fail_q <= FAIL_NONE;
          if (s_rsp.timeout) ans_fail_q <= FAIL_ADMIN_TIMEOUT;
          else if (s_rsp.cqe.status[13:0] != '0) ans_fail_q <= FAIL_ADMIN_STATUS;
          if (s_rsp_valid) begin
            fail_status <= s_rsp.cqe.status;
            state_q     <= ST_LOOK;
          end
        end
      end
      ST_FETCH: state_q <= ST_ANSWER;
      ST_LOOK: state_q <= ST_ACT;
      ST_ACT: begin
        state_q <= ST_ASK;
        if (step_q inside {STEP_DISABLE, STEP_ENABLE}) begin
          ms_q   <= '0;
          half_q <= '0;
        end
        if (bad != FAIL_NONE) begin
          done   <= 1'b1;
          fail   <= bad;
          step_q <= STEP_OFF;
        end else if (again) begin
          state_q <= ST_LATER;
        end else if (last) begin
          done   <= 1'b1;
          step_q <= STEP_OFF;
        end else begin
          step_q <= next;
        end
        if (step_q == STEP_CREATE_SQ) qp_q <= qp_q + 1'b1;
      end
      default: if (tick) state_q <= ST_ASK;
    endcase

    if (start) begin
      state_q     <= ST_ASK;
      step_q      <= STEP_CAP_LO;
      qp_q        <= '0;
      fail_status <= '0;
    end
    if (rst || stop) begin
      state_q <= ST_ASK;
      step_q  <= STEP_OFF;
      done    <= 1'b0;
    end
    if (rst) fail_status <= '0;
  end
endmodule
