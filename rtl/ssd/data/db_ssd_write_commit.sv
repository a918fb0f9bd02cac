// SPDX-License-Identifier: Apache-2.0
// Write responses: a Write is over with its last one.
//
// A Write with FUA is not over then: its status waits in fua_status for the flush behind it, which completes it.
// stop: responses are taken though nobody may take completions, as every burst must end; completions are lost then.
// Latency: last response to completion 1 cycle. Throughput: a response a cycle, a completion every other.
module db_ssd_write_commit
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
(
  input  logic             clk,
  input  logic             rst,
  input  logic             stop,
  output logic             drained,       ///< no burst waits for its response
  input  logic             s_burst_valid, ///< a burst's last row goes
  output logic             s_burst_ready,
  input  write_burst_t     s_burst,
  input  logic             s_b_valid,
  output logic             s_b_ready,
  input  logic [1:0]       s_b,           ///< BRESP
  input  logic             media_end,     ///< pulse: a media command is over, also the flush of FUA
  output status_t          fua_status,    ///< of the Write whose flush is to come
  output logic             m_completion_valid,
  input  logic             m_completion_ready,
  output slot_completion_t m_completion
);
  write_burst_t burst;
  logic         burst_valid, take, err_q, fua_q;

  db_fifo #(.WIDTH($bits(write_burst_t)), .DEPTH(64)) i_bursts (
    .clk, .rst, .s_valid(s_burst_valid), .s_ready(s_burst_ready), .s_data(s_burst),
    .m_valid(burst_valid), .m_ready(take), .m_data(burst), .level());

  assign drained   = !burst_valid;         // one that has gone is there in the next cycle
  assign s_b_ready = !m_completion_valid || stop;
  assign take      = s_b_valid && s_b_ready;

  always_ff @(posedge clk) begin
    if (!m_completion_valid)     m_completion_valid <= s_b_valid && burst.last && !burst.fua;
    else if (m_completion_ready) m_completion_valid <= 1'b0;
    fua_q <= take && burst.last && burst.fua;
    if (fua_q)          fua_status <= m_completion.status;
    else if (media_end) fua_status <= '0;
    if (take) begin
      err_q <= (err_q || s_b[1]) && !burst.last;
      if (!m_completion_valid) m_completion <= '{slot: burst.slot, status: (burst.status != '0) ? burst.status
                                                : (err_q || s_b[1]) ? STATUS_WRITE_FAULT : '0};
    end
    if (rst) begin
      m_completion_valid <= 1'b0;
      err_q              <= 1'b0;
      fua_q              <= 1'b0;
      fua_status         <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && take) assert (burst_valid);
`endif
endmodule
