// SPDX-License-Identifier: Apache-2.0
// Completions of the read engine: of Reads, when db_pcie_write has sent their data, and of Verifies. If both PRP walk
// and media met an error, the walk's is reported. Of data that come from memory no error is the media's; where they come
// from was walked, too, and how that ended goes before.
//
// Latency: 1 cycle. Throughput: a completion a cycle; Reads go first.
module db_ssd_read_finish
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter bit SLM      = 1'b0  ///< data pointers may say where data come from
) (
  input  logic             clk,
  input  logic             rst,
  /// Pulse: how the walk of a data pointer that says so has ended; before its command's data come.
  input  logic              s_from_valid,
  input  logic [SLOT_W-1:0] s_from_slot,
  input  status_t           s_from_status,
  input  logic             s_done_valid,
  output logic             s_done_ready,
  input  segment_user_t    s_done_user,   ///< slot, and how the PRP walk ended
  input  logic             s_done_err,    ///< a row of it could not be read from the media
  input  logic             s_verify_valid,
  output logic             s_verify_ready,
  input  slot_completion_t s_verify,
  input  logic             s_verify_list, ///< it is the end of a list: where it comes from was walked
  output logic             m_completion_valid,
  input  logic             m_completion_ready,
  output slot_completion_t m_completion,
  output logic             media_err      ///< pulse: a command met a media error
);
  logic    free, memory;
  status_t from;
  if (SLM) begin : g_from
    localparam int AW = $clog2(NUM_CMDS);
    status_t from_q [NUM_CMDS];
    always_ff @(posedge clk) if (s_from_valid) from_q[s_from_slot[AW-1:0]] <= s_from_status;
    logic [SLOT_W-1:0] slot;
    assign slot = s_done_valid ? s_done_user.slot : s_verify.slot;
    assign from = (s_done_valid ? s_done_user.memory : s_verify_list) ? from_q[slot[AW-1:0]] : '0;
  end else begin : g_no_from
    logic unused_ok;
    assign unused_ok = &{1'b0, s_from_valid, s_from_slot, s_from_status};
    assign from = '0;
  end
  assign memory = s_done_user.memory;
  assign free           = !m_completion_valid || m_completion_ready;
  assign s_done_ready   = free;
  assign s_verify_ready = free && !s_done_valid;

  always_ff @(posedge clk) begin
    media_err <= 1'b0;
    if (free) begin
      m_completion_valid <= s_done_valid || s_verify_valid;
      m_completion.slot  <= s_done_valid ? s_done_user.slot : s_verify.slot;
      if (from != '0)         m_completion.status <= from;
      else if (!s_done_valid) m_completion.status <= s_verify.status;
      else if (s_done_user.status == '0 && s_done_err)
        m_completion.status <= memory ? STATUS_NOT_HERE : STATUS_READ_ERROR;
      else                    m_completion.status <= s_done_user.status;
      media_err <= s_done_valid ? s_done_err && !memory : s_verify_valid && !s_verify_list && s_verify.status != '0;
    end
    if (rst) begin
      m_completion_valid <= 1'b0;
      media_err          <= 1'b0;
    end
  end

endmodule
