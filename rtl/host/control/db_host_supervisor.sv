// SPDX-License-Identifier: Apache-2.0
// Keeps the drive up: bring-up when there is a link, and what is done when something goes wrong.
//
//   late command   -> Abort; if it is still late abort_ms later -> controller reset
//   CSTS, looked at each poll_ms: all ones (removed) -> dead; CFS, not ready, no answer -> controller reset
//   an admin command got no answer, or `reset`, or a damaged write to the window -> controller reset
//   link down      -> dead until it is back
//   `shutdown`     -> no new command; when all have ended: CC.SHN, then CSTS.SHST is waited for -> dead until `start`
// A controller reset takes io_up down, then goes through db_host_nvme; through db_host_pci before it if the drive has
// lost its configuration (memory space or bus master is off). After ATTEMPTS bring-ups with no I/O command retired
// since, the drive is given up: io_dead, until the link comes back or `start`. docs/host/theory.md has the diagram.
// A shutdown waits for each of the two for shutdown_ms at most; what goes wrong before CC.SHN is mended first.
// io_up falls the cycle after `damaged`: before a completion entry behind the damaged write can count.
module db_host_supervisor
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_pcie_block_pkg::*;
  import db_host_control_pkg::*;
#(
  /// bring-ups in a row, 1..15
  parameter int ATTEMPTS   = 3,
  /// bring the drive up when there is a link; else `start` first
  parameter bit AUTO_START = 1'b1
) (
  input  logic          clk,
  input  logic          rst,
  /// each millisecond
  input  logic          tick,
  /// one cycle: bring up anew, whatever was before
  input  logic          start,
  /// one cycle: reset the controller
  input  logic          reset,
  /// shut the drive down
  input  logic          shutdown,
  input  logic          link_up,
  input  settings_t     settings,

  /// held while a command is late; falls between two late ones
  input  logic          s_late_valid,
  input  late_cmd_t     s_late,
  /// one cycle: the oldest I/O command was completed
  input  logic          io_done,
  /// nothing is under way in the host, nor a command in the drive; looked at from 2 cycles after io_open fell on
  input  logic          drained,
  /// one cycle: an admin command got its answer, or none
  input  logic          s_rsp_valid,
  input  admin_answer_t s_rsp,
  /// one cycle: a write of the drive to the window was damaged
  input  logic          damaged,

  output logic          io_up,
  output logic          io_dead,
  /// new commands are taken: io_up, until the drive is to be shut down
  output logic          io_open,
  /// until the next bring-up: the drive is shut down; it could not be
  output logic          shut_down,
  output logic          shutdown_failed,
  /// of the last failure; kept when all is well again
  output fail_e         fail_reason,
  output step_e         fail_step,
  output step_e         step,
  /// not up, and something is done about it; or a command is late
  output logic          busy,
  /// one cycle
  output logic          stat_abort,
  output logic          stat_reset,

  /// db_host_pci, db_host_nvme and what waits on them
  output logic          stop,
  output logic          pci_start,
  input  logic          pci_done,
  input  fail_e         pci_fail,
  input  step_e         pci_step,
  output logic          nvme_start,
  input  logic          nvme_done,
  input  fail_e         nvme_fail,
  input  step_e         nvme_step,

  output logic          m_acc_valid,
  input  logic          m_acc_ready,
  output acc_t          m_acc,
  input  logic          s_answer_valid,
  input  acc_answer_t   s_answer,

  /// Abort, to db_host_admin
  output logic          m_cmd_valid,
  input  logic          m_cmd_ready,
  output logic [31:0]   m_cmd_data,
  input  logic [3:0]    s_cmd_index
);
  if (ATTEMPTS < 1 || ATTEMPTS > 15) begin : g_bad
    $error("%m: ATTEMPTS must be 1..15, not %0d", ATTEMPTS);
  end

  typedef enum logic [2:0] {
    ST_OFF, ST_PCI, ST_NVME, ST_UP, ST_CHECK, ST_SHUT, ST_DEAD
  } state_e;
  state_e      state_q;
  step_e       last_q;                  // the step that bring-up is in or was in
  logic [ 3:0] tries_q;
  logic        asked_q;                 // an access is under way
  logic        poll_q;                  // look at CSTS
  logic [15:0] poll_left_q, abort_left_q;
  logic        abort_over_q;            // abort_left_q is 0
  logic        aborted_q;               // the Abort has been sent, or is being sent
  logic        ended_q;                 // ... and its command has ended since: one that is late now is another
  late_cmd_t   late_q;                  // whom it is for
  logic        lost_q, reset_q;         // causes of a reset
  logic        placed_q;                // db_host_pci has done its part

  logic enable_q;                       // drives are brought up
  always_ff @(posedge clk) enable_q <= rst ? AUTO_START : enable_q || start;

  assign step = (state_q == ST_UP) ? (aborted_q ? STEP_ABORT : STEP_UP) :
                (state_q == ST_CHECK) ? STEP_CHECK :
                (state_q == ST_SHUT) ? STEP_SHUTDOWN :
                (pci_step != STEP_OFF) ? pci_step : nvme_step;

  assign busy = state_q inside {ST_PCI, ST_NVME, ST_CHECK, ST_SHUT} || stop || (state_q == ST_UP && s_late_valid) ||
                (state_q == ST_OFF && enable_q && link_up);

  // ---- shutdown
  logic        shut_q, closed_q, drained_q;  // asked for; a cycle ago, too; and since then nothing is under way
  logic        over_q;                       // shut_left_q is 0
  logic        told_q;                       // CC.SHN is written
  logic [15:0] shut_left_q;
  logic        shut_begin, shut_end;
  assign io_open    = io_up && !shut_q;
  assign shut_begin = state_q == ST_UP && (drained_q || over_q) && shut_q && !poll_q;
  assign shut_end   = told_q && s_answer_valid && asked_q && s_answer.status == ACC_GOOD &&
                      s_answer.rdata[3:2] == 2'b10;  // CSTS.SHST: complete; not that of all ones

  // ---- accesses
  assign m_acc_valid = !asked_q && ((state_q == ST_CHECK && placed_q) || poll_q);
  always_comb begin
    m_acc = '{op: ACC_MEM_RD, addr: NVME_REG_CSTS, be: 4'hf, wdata: '0};
    if (state_q == ST_CHECK) m_acc = '{op: ACC_CFG_RD, addr: 24'h4, be: 4'hf, wdata: '0};
    if (state_q == ST_SHUT && !told_q) m_acc = '{op: ACC_MEM_WR, addr: NVME_REG_CC, be: 4'hf, wdata: CC_SHUTDOWN};
  end

  // ---- Abort
  logic sending_q;
  assign m_cmd_valid = sending_q;
  always_comb begin
    m_cmd_data = '0;
    if (s_cmd_index == 4'd0) m_cmd_data = 32'(ADMIN_OPC_ABORT);
    if (s_cmd_index == 4'd10) m_cmd_data = {late_q.cid, 12'd0, late_q.qid};
  end

  // Memory space and bus master are on: the drive has kept its configuration.
  logic kept;
  assign kept = placed_q && s_answer.status == ACC_GOOD && s_answer.rdata[2:1] == 2'b11 && s_answer.rdata != '1;

  // ---- what has happened
  logic  answer, trouble, failed;
  fail_e reason;
  assign answer = s_answer_valid && asked_q;
  always_comb begin
    trouble = 1'b0;                     // the controller is to be reset
    failed  = 1'b0;                     // bring-up did not go well
    reason  = FAIL_NONE;
    unique case (state_q)
      ST_UP: begin
        if (damaged) reason = FAIL_DAMAGED;
        else if (answer && s_answer.status != ACC_GOOD) reason = acc_fail(s_answer.status);
        else if (answer && s_answer.rdata == '1) reason = FAIL_REMOVED;
        else if (answer && s_answer.rdata[1]) reason = FAIL_FATAL;
        else if (answer && !s_answer.rdata[0]) reason = FAIL_NOT_READY;
        else if (poll_q) reason = FAIL_NONE;  // its answer first
        else if (lost_q) reason = FAIL_ADMIN_TIMEOUT;
        else if (aborted_q && s_late_valid && !ended_q && abort_over_q) reason = FAIL_LATE;
        else if (reset_q) reason = FAIL_ASKED;
        trouble = reason != FAIL_NONE;
      end
      ST_PCI: begin
        failed = pci_done && pci_fail != FAIL_NONE;
        reason = pci_fail;
      end
      ST_NVME: begin
        failed  = nvme_done && nvme_fail != FAIL_NONE;
        trouble = damaged;              // the drive's facts, or a queue
        reason  = failed ? nvme_fail : damaged ? FAIL_DAMAGED : FAIL_NONE;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    pci_start  <= 1'b0;
    nvme_start <= 1'b0;
    stop       <= 1'b0;
    stat_abort <= 1'b0;
    stat_reset <= 1'b0;
    if (step != STEP_OFF) last_q <= step;
    if (m_acc_valid && m_acc_ready) asked_q <= 1'b1;
    if (answer) asked_q <= 1'b0;
    if (io_done && state_q == ST_UP) tries_q <= '0;
    if (pci_start) placed_q <= 1'b0;
    lost_q  <= state_q == ST_UP && (lost_q || (s_rsp_valid && s_rsp.timeout));
    reset_q <= state_q == ST_UP && (reset_q || reset);
    if (shutdown) shut_q <= 1'b1;
    closed_q  <= shut_q;
    drained_q <= shut_q && closed_q && drained;
    over_q    <= shut_left_q == '0;
    if (!shut_q) shut_left_q <= settings.shutdown_ms;
    else if (tick && !over_q) shut_left_q <= shut_left_q - 1'b1;

    unique case (state_q)
      ST_OFF: begin
        if (enable_q && link_up) begin
          state_q   <= ST_PCI;
          pci_start <= 1'b1;
          tries_q   <= 4'd1;
          shut_down       <= 1'b0;
          shutdown_failed <= 1'b0;
        end else if (shut_q) begin
          shut_q          <= 1'b0;
          shutdown_failed <= 1'b1;
        end
      end
      ST_PCI: begin
        if (pci_done && !failed) begin
          state_q    <= ST_NVME;
          nvme_start <= 1'b1;
          placed_q   <= 1'b1;
        end
      end
      ST_NVME: begin
        if (nvme_done && !failed) begin
          state_q     <= ST_UP;
          io_up       <= 1'b1;
          io_dead     <= 1'b0;
          poll_left_q <= settings.poll_ms;
        end
      end
      ST_CHECK: begin
        if (answer || !placed_q) begin
          nvme_start <= kept;
          pci_start  <= !kept;
          state_q    <= kept ? ST_NVME : ST_PCI;
        end
      end
      ST_DEAD: begin
        if (shut_q) begin
          shut_q          <= 1'b0;
          shutdown_failed <= !shut_down;
        end
      end
      default: ;
    endcase

    // up: the poll, and late commands
    if (answer) poll_q <= 1'b0;
    if (state_q == ST_UP && tick) begin
      if (poll_left_q != '0) poll_left_q <= poll_left_q - 1'b1;
      if (poll_left_q == 16'd1) poll_q <= 1'b1;
      if (poll_left_q <= 16'd1) poll_left_q <= settings.poll_ms;
      if (!abort_over_q) abort_left_q <= abort_left_q - 1'b1;
      abort_over_q <= abort_over_q || abort_left_q == 16'd1;
    end
    if (m_cmd_valid && m_cmd_ready && s_cmd_index == '1) sending_q <= 1'b0;
    if (state_q == ST_UP && s_late_valid && !aborted_q) begin
      aborted_q    <= 1'b1;
      ended_q      <= 1'b0;
      late_q       <= s_late;
      sending_q    <= 1'b1;
      abort_left_q <= settings.abort_ms;
      abort_over_q <= settings.abort_ms == '0;
      stat_abort   <= 1'b1;
    end
    if (aborted_q && !s_late_valid) ended_q <= 1'b1;
    if (aborted_q && (!s_late_valid || ended_q) && !sending_q) aborted_q <= 1'b0;

    // shutdown: CC.SHN, then looks at CSTS
    if (shut_begin) begin
      state_q     <= ST_SHUT;
      io_up       <= 1'b0;
      poll_q      <= 1'b1;
      sending_q   <= 1'b0;
      aborted_q   <= 1'b0;
      told_q      <= 1'b0;
      over_q      <= 1'b0;
      shut_left_q <= settings.shutdown_ms;
    end
    if (state_q == ST_SHUT) begin
      if (answer) told_q <= 1'b1;
      if (tick) poll_q <= 1'b1;
      if (shut_end || over_q) begin
        state_q         <= ST_DEAD;
        io_dead         <= 1'b1;
        poll_q          <= 1'b0;
        asked_q         <= 1'b0;
        shut_q          <= 1'b0;
        shut_down       <= shut_end;
        shutdown_failed <= !shut_end;
        if (!shut_end) begin
          fail_reason <= FAIL_SHUTDOWN;
          fail_step   <= STEP_SHUTDOWN;
        end
      end
    end

    if (trouble || failed) begin
      io_up       <= 1'b0;
      fail_reason <= reason;
      fail_step   <= last_q;
      poll_q      <= 1'b0;
      sending_q   <= 1'b0;
      aborted_q   <= 1'b0;
      asked_q     <= 1'b0;              // an answer that is still to come is nobody's
      stop        <= trouble;
      if (reason == FAIL_REMOVED || (tries_q >= 4'(ATTEMPTS) && reason != FAIL_ASKED)) begin
        state_q <= ST_DEAD;
        io_dead <= 1'b1;
      end else begin
        state_q    <= ST_CHECK;
        if (tries_q != '1) tries_q <= tries_q + 1'b1;
        stat_reset <= 1'b1;
      end
    end
    if ((!link_up || start) && state_q != ST_OFF) begin
      state_q   <= ST_OFF;
      stop      <= 1'b1;
      io_up     <= 1'b0;
      poll_q    <= 1'b0;
      sending_q <= 1'b0;
      aborted_q <= 1'b0;
      asked_q   <= 1'b0;
      if (start) shut_q <= 1'b0;
      if (!link_up) begin
        io_dead     <= 1'b1;
        fail_reason <= FAIL_LINK;
        fail_step   <= last_q;
      end
    end
    if (rst) begin
      state_q     <= ST_OFF;
      io_up       <= 1'b0;
      io_dead     <= 1'b0;
      fail_reason <= FAIL_NONE;
      fail_step   <= STEP_OFF;
      last_q      <= STEP_OFF;
      asked_q     <= 1'b0;
      poll_q      <= 1'b0;
      sending_q   <= 1'b0;
      aborted_q   <= 1'b0;
      abort_over_q <= 1'b1;
      placed_q    <= 1'b0;
      tries_q     <= '0;
      shut_q          <= 1'b0;
      shut_down       <= 1'b0;
      shutdown_failed <= 1'b0;
    end
  end
endmodule
