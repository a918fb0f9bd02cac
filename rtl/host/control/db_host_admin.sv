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
    input logic        clk,
    input logic        rst,
    input logic        tick,        // each millisecond
    input logic        clear,
    input logic [15:0] timeout_ms,

    input  logic        s_cmd_valid,
    output logic        s_cmd_ready,
    input  logic [31:0] s_cmd_data,
    output logic [ 3:0] m_cmd_index,

    output logic m_rsp_valid,       // one cycle
    output logic m_rsp_timeout,     // m_rsp_cqe means nothing
    output cqe_t m_rsp_cqe,         // holds its value until the next one

    output abuf_t m_abuf,           // writes only
    input  logic  s_abuf_ready,

    output logic        m_db_valid, // of queue pair 0
    input  logic        m_db_ready,
    output logic        m_db_cq,
    output logic [15:0] m_db_value,

    input logic       s_acqe_valid, // a completion entry is written
    input logic [1:0] s_acqe_index, // at this place of the queue
    input cqe_t       s_acqe
);
  localparam int ENTRIES = ADMIN_SQ_ENTRIES;
  if (ENTRIES != 4) begin : g_bad
    $error("%m: ADMIN_SQ_ENTRIES must be 4, not %0d", ENTRIES);
  end

  typedef enum logic [1:0] {
    LOAD, RING, WAIT
  } state_e;
  state_e state_q;

  // ------------------------------------------------------------------ command in
  logic [ 3:0] index_q;       // the dword that comes next
  logic        full_q;        // data_q is to be written
  logic [31:0] data_q;
  logic [10:0] addr_q;
  logic [ 1:0] tail_q;
  logic [ 7:0] cid_q;
  logic        last_q;        // data_q is the last one

  assign m_cmd_index = index_q;
  assign s_cmd_ready = state_q == LOAD && !full_q && !clear;
  assign m_abuf      = '{en: full_q, we: 1'b1, addr: addr_q, wdata: data_q};

  // ------------------------------------------------------------------ completion
  logic [1:0]  head_q;
  logic        phase_q, tail_db_q, head_db_q, new_q, ours_q;
  logic [15:0] left_q;        // milliseconds
  logic        fresh;
  assign fresh      = s_acqe_valid && s_acqe_index == head_q && s_acqe.phase == phase_q;

  assign m_db_valid = tail_db_q || head_db_q;
  assign m_db_cq    = !tail_db_q;
  assign m_db_value = 16'(tail_db_q ? tail_q : head_q);

  always_ff @(posedge clk) begin
    // A doorbell's value may grow until it is taken; one that is due again then stays due.
    if (m_db_valid && m_db_ready) begin
      if (tail_db_q) tail_db_q <= 1'b0;
      else head_db_q <= 1'b0;
    end

    if (s_cmd_valid && s_cmd_ready) begin
      full_q  <= 1'b1;
      data_q  <= (index_q == '0) ? {8'd0, cid_q, s_cmd_data[15:0]} : s_cmd_data;
      addr_q  <= ABUF_SQ | {5'd0, tail_q, index_q};
      last_q  <= index_q == '1;
      index_q <= index_q + 1'b1;
    end
    if (full_q && s_abuf_ready) begin
      full_q <= 1'b0;
      if (last_q) begin
        state_q   <= RING;
        tail_q    <= tail_q + 1'b1;
        tail_db_q <= 1'b1;
      end
    end
    if (state_q == RING && !tail_db_q) state_q <= WAIT;

    new_q <= fresh;
    if (fresh) begin
      m_rsp_cqe <= s_acqe;
      head_q    <= head_q + 1'b1;
      phase_q   <= phase_q ^ (head_q == '1);
      head_db_q <= 1'b1;
    end
    ours_q        <= (new_q && m_rsp_cqe.cid == 16'(cid_q)) && state_q != LOAD;

    m_rsp_valid   <= 1'b0;
    m_rsp_timeout <= 1'b0;
    if (state_q == LOAD) left_q <= timeout_ms;
    else if (tick) left_q <= left_q - 1'b1;
    if (state_q != LOAD && (ours_q || left_q == '0)) begin
      state_q       <= LOAD;
      cid_q         <= cid_q + 1'b1;
      m_rsp_valid   <= 1'b1;
      m_rsp_timeout <= !ours_q;
    end

    if (rst || clear) begin
      state_q     <= LOAD;
      index_q     <= '0;
      full_q      <= 1'b0;
      tail_q      <= '0;
      head_q      <= '0;
      phase_q     <= 1'b1;
      tail_db_q   <= 1'b0;
      head_db_q   <= 1'b0;
      new_q       <= 1'b0;
      ours_q      <= 1'b0;
      m_rsp_valid <= 1'b0;
    end
    if (rst) cid_q <= '0;
  end
endmodule
