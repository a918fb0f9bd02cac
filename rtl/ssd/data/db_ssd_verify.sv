// SPDX-License-Identifier: Apache-2.0
// Where the rows of Read and Verify part: those of Read go on, those of Verify end here, and those of the list of a Memory
// Copy, which somebody else looks at.
//
// Latency: rows 0, last row of a Verify to its completion 1 cycle. Throughput: a row a cycle.
module db_ssd_verify
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256     ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  input  logic              s_row_verify,       ///< of a Verify
  input  logic [SLOT_W-1:0] s_row_slot,
  input  logic              s_row_list,         ///< ... of a list
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output row_info_t         m_row_info,
  output logic              m_completion_valid,
  input  logic              m_completion_ready,
  output slot_completion_t  m_completion,
  output logic              m_list              ///< with m_completion: of a list, whose rows are not the media's
);
  logic err_q, err, take;  // of the rows of a Verify so far

  assign m_row_valid = s_row_valid && !s_row_verify;
  assign m_row_data  = s_row_data;
  assign m_row_info  = s_row_info;
  assign s_row_ready = s_row_verify ? !m_completion_valid : m_row_ready;
  assign take        = s_row_valid && s_row_verify && !m_completion_valid;
  assign err         = err_q || s_row_info.err;

  always_ff @(posedge clk) begin
    if (take) err_q <= err && !s_row_info.last;
    if (take && s_row_info.last) begin
      m_completion_valid <= 1'b1;
      m_completion       <= '{slot: s_row_slot, status: !err ? '0 : s_row_list ? STATUS_NOT_HERE : STATUS_READ_ERROR};
      m_list             <= s_row_list;
    end else if (m_completion_ready) m_completion_valid <= 1'b0;
    if (rst) begin
      err_q              <= 1'b0;
      m_completion_valid <= 1'b0;
    end
  end

endmodule
