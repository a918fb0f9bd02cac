// SPDX-License-Identifier: Apache-2.0
// What the firmware asks of the media, one at a time, from the start to the answer: commands (Format, deletion of a
// namespace, shutdown), and words of its own.
module db_ssd_admin_media (
  input  logic clk,
  input  logic rst,
  input  logic start,         ///< pulse; only when idle
  output logic idle,          ///< no command is in process
  output logic err,           ///< the last command failed
  output logic m_valid,
  input  logic m_ready,
  input  logic s_done,        ///< pulse: it has been answered
  input  logic s_err          ///< with s_done
);
  logic busy_q;

  assign idle = !busy_q;

  always_ff @(posedge clk) begin
    if (m_ready) m_valid <= 1'b0;
    if (s_done) begin
      busy_q <= 1'b0;
      err    <= s_err;
    end
    if (start) begin
      m_valid <= 1'b1;
      busy_q  <= 1'b1;
    end
    if (rst) begin
      m_valid <= 1'b0;
      busy_q  <= 1'b0;
      err     <= 1'b0;
    end
  end

endmodule
