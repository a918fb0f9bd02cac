// SPDX-License-Identifier: Apache-2.0
// Completions of the read engine: of Reads, when db_pcie_write has sent their data, and of Verifies. If both PRP walk
// and media met an error, the walk's is reported.
//
// Latency: 1 cycle. Throughput: a completion a cycle; Reads go first.
module db_ssd_read_finish
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
(
  input  logic             clk,
  input  logic             rst,
  input  logic             s_done_valid,
  output logic             s_done_ready,
  input  segment_user_t    s_done_user,   ///< slot, and how the PRP walk ended
  input  logic             s_done_err,    ///< a row of it could not be read from the media
  input  logic             s_verify_valid,
  output logic             s_verify_ready,
  input  slot_completion_t s_verify,
  output logic             m_completion_valid,
  input  logic             m_completion_ready,
  output slot_completion_t m_completion,
  output logic             media_err      ///< pulse: a command met a media error
);
  logic free;
  assign free           = !m_completion_valid || m_completion_ready;
  assign s_done_ready   = free;
  assign s_verify_ready = free && !s_done_valid;

  always_ff @(posedge clk) begin
    media_err <= 1'b0;
    if (free) begin
      m_completion_valid <= s_done_valid || s_verify_valid;
      m_completion.slot  <= s_done_valid ? s_done_user.slot : s_verify.slot;
      if (!s_done_valid)                                 m_completion.status <= s_verify.status;
      else if (s_done_user.status == '0 && s_done_err)   m_completion.status <= STATUS_READ_ERROR;
      else                                               m_completion.status <= s_done_user.status;
      media_err <= s_done_valid ? s_done_err : s_verify_valid && s_verify.status != '0;
    end
    if (rst) begin
      m_completion_valid <= 1'b0;
      media_err          <= 1'b0;
    end
  end

endmodule
