// SPDX-License-Identifier: Apache-2.0
// Completions of the write engine: those of Writes come from db_ssd_write_commit, those of Compares and media commands
// when they end. What is offered stays until it is taken. Whether a Compare has found a difference is known late in a
// cycle, so it has a register of its own and becomes a status behind it.
//
// Latency: a Write's 0, the others' 1 cycle. Throughput: one a cycle; of Compares and media commands one every other.
module db_ssd_write_finish
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
(
  input  logic              clk,
  input  logic              rst,
  input  logic              s_write_valid,
  output logic              s_write_ready,
  input  slot_completion_t  s_write,
  output logic              s_done_ready,     ///< a Compare or media command may end
  input  logic              s_compare_valid,  ///< pulse: the Compare that is the item at the head is over
  input  status_t           s_compare_status,
  input  logic              s_compare_differs,
  input  logic              s_media_valid,    ///< pulse: the media command that is the item at the head is over
  input  status_t           s_media_status,
  input  logic              s_media_more,     ///< ... a piece of it: the command goes on, so this is no completion
  input  write_item_t       item,             ///< at the head
  output logic              m_completion_valid,
  input  logic              m_completion_ready,
  output slot_completion_t  m_completion,
  output logic              m_end,            ///< pulse: a completion was taken, or a piece is over
  output logic [SLOT_W-1:0] m_end_slot,
  output logic              media_err         ///< pulse: a command met a media error
);
  logic             done_valid_q, keep_done_q, pick_write, differs_q, no_error_q, piece_q, taken;
  slot_completion_t done_q, done;

  assign s_done_ready       = !done_valid_q && !piece_q;
  assign pick_write         = s_write_valid && !keep_done_q;
  assign m_completion_valid = s_write_valid || done_valid_q;
  assign m_completion       = pick_write ? s_write : done;
  assign s_write_ready      = m_completion_ready && pick_write;

  assign taken              = m_completion_valid && m_completion_ready;
  assign m_end              = taken || piece_q;
  assign m_end_slot         = taken ? m_completion.slot : done_q.slot;

  always_comb begin
    done = done_q;
    if (no_error_q && differs_q) done.status = STATUS_MISMATCH;
  end

  always_ff @(posedge clk) begin
    if (s_done_ready) begin
      done_valid_q  <= s_compare_valid || (s_media_valid && !s_media_more);
      piece_q       <= s_media_valid && s_media_more;
      done_q.slot   <= item.slot;
      done_q.status <= item.media ? s_media_status : s_compare_status;
      differs_q     <= s_compare_differs;
      no_error_q    <= !item.media && s_compare_status == '0;
    end else begin
      if (m_completion_ready && !pick_write) done_valid_q <= 1'b0;
      if (!taken) piece_q <= 1'b0;
    end
    keep_done_q <= done_valid_q && !pick_write && !m_completion_ready;
    media_err   <= m_completion_valid && m_completion_ready &&
                   (m_completion.status == STATUS_READ_ERROR || m_completion.status == STATUS_WRITE_FAULT);
    if (rst) begin
      done_valid_q <= 1'b0;
      piece_q      <= 1'b0;
      keep_done_q  <= 1'b0;
      media_err    <= 1'b0;
    end
  end

endmodule
