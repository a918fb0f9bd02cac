// SPDX-License-Identifier: Apache-2.0
// Admin queue pair of the host: one command at a time.
//
// A command comes in as its 16 dwords, one after the other (m_cmd_index says which is wanted), and is written into
// the admin submission queue in db_host_admin_buf; the command identifier is put in here. Then the doorbell is rung and
// the completion entry waited for, for at most timeout_ms. Entries with the wrong place or phase are not new and are
// ignored; a new one with another identifier is the late answer to a command given up before: it is taken off the
// queue, and the wait goes on. Both ends start anew with `clear` (the controller was reset); a command that is under
// way then ends without a response.
// Latency: 2 cycles a dword, 3 from the completion entry to m_rsp_valid.
module db_host_admin
  import db_nvme_pkg::*;
  import db_host_pkg::*;
  import db_host_control_pkg::*;
(
  input  logic          clk,
  input  logic          rst,
  /// each millisecond
  input  logic          tick,
  /// the controller was reset: both ends of the queue pair start anew
  input  logic          clear,
  /// how long an answer is waited for
  input  logic [15:0]   timeout_ms,

  input  logic          s_cmd_valid,
  output logic          s_cmd_ready,
  input  logic [31:0]   s_cmd_data,
  /// the dword that is wanted
  output logic [3:0]    m_cmd_index,

  /// one cycle
  output logic          m_rsp_valid,
  /// its cqe holds its value until the next one
  output admin_answer_t m_rsp,

  /// writes only
  output admin_buf_t    m_admin_buf,
  input  logic          s_admin_buf_ready,

  output logic          m_doorbell_valid,
  input  logic          m_doorbell_ready,
  output doorbell_t     m_doorbell,

  /// the drive has written an entry
  input  logic          s_entry_valid,
  input  admin_entry_t  s_entry,

  /// a command is coming in
  output logic          busy
);
  localparam int ENTRIES = ADMIN_SQ_ENTRIES;
  if (ENTRIES != 4) begin : g_bad
    $error("%m: ADMIN_SQ_ENTRIES must be 4, not %0d", ENTRIES);
  end

  typedef enum logic [1:0] {
    ST_LOAD, ST_RING, ST_WAIT
  } state_e;
  state_e state_q;

  // ---- command in
  logic [ 3:0] index_q;       // the dword that comes next
  logic        full_q;        // data_q is to be written
  logic [31:0] data_q;
  logic [10:0] addr_q;
  logic [ 1:0] tail_q;
  logic [ 7:0] cid_q;
  logic        last_q;        // data_q is the last one

  assign m_cmd_index = index_q;
  assign busy        = index_q != '0;
  assign s_cmd_ready = state_q == ST_LOAD && !full_q && !clear;
  assign m_admin_buf = '{en: full_q, we: 1'b1, addr: addr_q, wdata: data_q};

  // ---- completion
  logic [1:0]  head_q;
  logic        phase_q, tail_due_q, head_due_q, new_q, ours_q;
  logic [15:0] left_q;        // milliseconds
  logic        fresh;
  assign fresh            = s_entry_valid && s_entry.index == head_q && s_entry.cqe.phase == phase_q;

  assign m_doorbell_valid = tail_due_q || head_due_q;
  assign m_doorbell       = '{cq: !tail_due_q, qid: '0, value: 16'(tail_due_q ? tail_q : head_q)};

  always_ff @(posedge clk) begin
    // A doorbell's value may grow until it is taken; one that is due again then stays due.
    if (m_doorbell_valid && m_doorbell_ready) begin
      if (tail_due_q) tail_due_q <= 1'b0;
      else head_due_q <= 1'b0;
    end

    if (s_cmd_valid && s_cmd_ready) begin
      full_q  <= 1'b1;
      data_q  <= (index_q == '0) ? {8'd0, cid_q, s_cmd_data[15:0]} : s_cmd_data;
      addr_q  <= ADMIN_BUF_SQ | {5'd0, tail_q, index_q};
      last_q  <= index_q == '1;
      index_q <= index_q + 1'b1;
    end
    if (full_q && s_admin_buf_ready) begin
      full_q <= 1'b0;
      if (last_q) begin
        state_q    <= ST_RING;
        tail_q     <= tail_q + 1'b1;
        tail_due_q <= 1'b1;
      end
    end
    if (state_q == ST_RING && !tail_due_q) state_q <= ST_WAIT;

    new_q <= fresh;
    if (fresh) begin
      m_rsp.cqe  <= s_entry.cqe;
      head_q     <= head_q + 1'b1;
      phase_q    <= phase_q ^ (head_q == '1);
      head_due_q <= 1'b1;
    end
    ours_q        <= (new_q && m_rsp.cqe.cid == 16'(cid_q)) && state_q != ST_LOAD;

    m_rsp_valid   <= 1'b0;
    m_rsp.timeout <= 1'b0;
    if (state_q == ST_LOAD) left_q <= timeout_ms;
    else if (tick) left_q <= left_q - 1'b1;
    if (state_q != ST_LOAD && (ours_q || left_q == '0)) begin
      state_q       <= ST_LOAD;
      cid_q         <= cid_q + 1'b1;
      m_rsp_valid   <= 1'b1;
      m_rsp.timeout <= !ours_q;
    end

    if (rst || clear) begin
      state_q     <= ST_LOAD;
      index_q     <= '0;
      full_q      <= 1'b0;
      tail_q      <= '0;
      head_q      <= '0;
      phase_q     <= 1'b1;
      tail_due_q  <= 1'b0;
      head_due_q  <= 1'b0;
      new_q       <= 1'b0;
      ours_q      <= 1'b0;
      m_rsp_valid <= 1'b0;
    end
    if (rst) cid_q <= '0;
  end
endmodule
