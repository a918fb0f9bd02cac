// SPDX-License-Identifier: Apache-2.0
// Who may use the admin queue and the admin buffer.
//
// A command keeps db_host_admin until its last dword: bring-up's, then Abort, then the user's. The buffer: the engine
// first, then Identify's reader, then the registers.
// Latency: none; throughput: that of db_host_admin and db_host_admin_buf.
module db_host_admin_arb
  import db_host_pkg::*, db_host_control_pkg::*;
(
  input  logic        clk,

  /// commands, a dword at a time; bring-up's never stand beside others
  input  logic        s_nvme_valid,
  input  logic [31:0] s_nvme_data,
  input  logic        s_abort_valid,
  output logic        s_abort_ready,
  input  logic [31:0] s_abort_data,
  input  logic        s_user_valid,
  output logic        s_user_ready,
  input  logic [31:0] s_user_data,
  output logic        m_cmd_valid,
  input  logic        m_cmd_ready,
  output logic [31:0] m_cmd_data,
  /// the dword that is wanted
  input  logic [3:0]  s_cmd_index,
  /// answers; the second: to a command that was no Abort
  input  logic        s_rsp_valid,
  output logic        m_user_rsp_valid,

  input  admin_buf_t  s_engine_buf,
  input  admin_buf_t  s_nvme_buf,
  output logic        s_nvme_buf_ready,
  input  admin_buf_t  s_regs_buf,
  output logic        s_regs_buf_ready,
  output admin_buf_t  m_buf,
  input  logic        m_buf_ready
);
  logic abort_q, abort;  // the command in process, the one on offer is an Abort
  assign abort            = (s_cmd_index != '0) ? abort_q : s_abort_valid;
  assign m_cmd_valid      = s_nvme_valid || (abort ? s_abort_valid : s_user_valid);
  assign m_cmd_data       = s_nvme_valid ? s_nvme_data : abort ? s_abort_data : s_user_data;
  assign s_abort_ready    = m_cmd_ready && abort;
  assign s_user_ready     = m_cmd_ready && !abort && !s_nvme_valid;
  assign m_user_rsp_valid = s_rsp_valid && !abort_q;
  always_ff @(posedge clk) begin
    if (m_cmd_valid && m_cmd_ready) abort_q <= abort;
  end

  always_comb begin
    m_buf = s_engine_buf.en ? s_engine_buf : s_nvme_buf.en ? s_nvme_buf : s_regs_buf;
    // Bring-up writes nothing: so without registers the engine's data needs no gate.
    m_buf.wdata = s_engine_buf.en || !s_regs_buf.en ? s_engine_buf.wdata : s_regs_buf.wdata;
  end
  assign s_nvme_buf_ready = m_buf_ready && !s_engine_buf.en;
  assign s_regs_buf_ready = m_buf_ready && !s_engine_buf.en && !s_nvme_buf.en;
endmodule
