// SPDX-License-Identifier: Apache-2.0
// Completions from card memory, in the form of CC, as db_pcie_rc_straddle makes them of RC: for 512 bits. Payload comes
// down from lane 3 to lane 0, so that a row is the rest of a beat and three dwords of the next. Between two completions of the
// link they have their turn: `pause` asks for it.
// Latency: 2 cycles. Throughput: a row a cycle, one lost for each completion.
`include "db_pcie_types.svh"
module db_pcie_cmb_rc_rows
  import db_pcie_pkg::*;
#(
  localparam type cc_t = `DB_PCIE_CC_T(512)
) (
  input  logic         clk,
  input  logic         rst,
  input  logic         s_cmb_valid,
  output logic         s_cmb_ready,
  input  cc_t          s_cmb,
  /// no completion of the link is begun; there is none now
  output logic         pause,
  input  logic         link_open,
  /// m_valid: taken
  output logic         m_valid,
  output logic         m_sop,
  output logic         m_eop,
  output logic [511:0] m_data,
  output logic [4:0]   m_dwords,
  output rc_desc_t     m_desc
);
  localparam int LANES = 16 - CC_DW;  // of payload in a packet's first beat

  cc_t         beat_q;
  logic        have_q, sop_q, more, go, load;
  logic [10:0] left_q;   // dwords that have not left
  rc_desc_t    desc_q;
  cc_desc_t    desc;
  assign desc = cc_desc_t'(s_cmb.tdata[95:0]);

  // ---- turns: after each completion of ours the link may begin one
  logic [1:0] rest_q;
  logic       pause_q;
  assign pause = pause_q;
  always_ff @(posedge clk) begin
    if (rest_q != '0) rest_q <= rest_q - 1'b1;
    pause_q <= have_q && rest_q == '0 && !(go && m_eop);
    if (go && m_eop) rest_q <= '1;
    if (rst) begin
      pause_q <= 1'b0;
      rest_q  <= '0;
    end
  end

  // ---- rows
  assign more        = left_q > 11'(LANES);          // the row reaches into the next beat
  assign go          = have_q && pause_q && !link_open && (!more || s_cmb_valid);
  assign load        = s_cmb_valid && !have_q;
  assign s_cmb_ready = !have_q || (go && more);
  assign m_valid     = go;
  assign m_sop       = sop_q;
  assign m_eop       = left_q <= 11'd16;
  assign m_dwords    = m_eop ? left_q[4:0] : 5'd16;
  assign m_data      = {s_cmb.tdata[95:0], beat_q.tdata[511:96]};
  assign m_desc      = desc_q;
  always_ff @(posedge clk) begin
    if (load || (go && more)) beat_q <= s_cmb;
    if (load) begin
      left_q <= desc.dword_count;
      desc_q <= rc_desc_of(desc);
      sop_q  <= 1'b1;
      have_q <= 1'b1;
    end else if (go) begin
      left_q <= left_q - 11'd16;
      sop_q  <= 1'b0;
      have_q <= !m_eop;
    end
    if (rst) have_q <= 1'b0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, beat_q.tuser, beat_q.tlast, beat_q.tkeep, beat_q.tdata[95:0]};
endmodule
