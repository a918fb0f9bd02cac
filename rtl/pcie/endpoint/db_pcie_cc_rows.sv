// SPDX-License-Identifier: Apache-2.0
// Packets of CC of 512 bits to rows of payload with the descriptor beside (cc_side_t), as db_pcie_cc_straddle takes them.
//
// Payload comes down from lane 3 to lane 0: a row is the rest of a beat and three dwords of the next.
// Latency: 1 cycle behind the beat that a row needs. Throughput: a beat a cycle; one is lost behind a packet whose last beat
// has three dwords or fewer. No pause inside a packet, if there is none on s_cc.
`include "db_pcie_types.svh"
module db_pcie_cc_rows
  import db_pcie_pkg::*;
#(
  localparam type cc_t = `DB_PCIE_CC_T(512),
  localparam type row_t = `DB_PCIE_STREAM_T(512, cc_form_w(512, 1'b1))
) (
  input  logic clk,
  input  logic rst,
  /// no packet inside
  output logic idle,
  input  logic s_cc_valid,
  output logic s_cc_ready,
  input  cc_t  s_cc,
  output logic m_valid,
  input  logic m_ready,
  output row_t m_row
);
  cc_t        beat_q;
  logic       have_q, sop_q, tail, go;
  logic [3:0] lane, lane_q;  // of a packet's last dword in its last beat
  cc_side_t   side;

  assign lane       = s_cc.tuser[11:8];
  assign lane_q     = beat_q.tuser[11:8];
  assign tail       = !beat_q.tlast && s_cc.tlast && lane < 4'(CC_DW);  // the next beat has no row of its own
  assign m_valid    = have_q && (beat_q.tlast || s_cc_valid);
  assign go         = m_valid && m_ready;
  assign s_cc_ready = !have_q || m_ready;
  assign idle       = !have_q;

  always_comb begin
    side.sop    = sop_q;
    side.desc   = beat_q.tdata[95:0];
    side.dwords = 5'd16;
    if (tail) side.dwords = 5'd14 + 5'(lane);
    if (beat_q.tlast) side.dwords = 5'(lane_q) - 5'd2;
  end
  assign m_row.tuser = side;
  assign m_row.tlast = beat_q.tlast || tail;
  assign m_row.tkeep = '1;
  assign m_row.tdata = {s_cc.tdata[95:0], beat_q.tdata[511:96]};

  always_ff @(posedge clk) begin
    if (s_cc_valid && s_cc_ready) begin
      beat_q <= s_cc;
      have_q <= !(have_q && tail);
      sop_q  <= !have_q || beat_q.tlast;
    end else if (go) begin
      have_q <= 1'b0;
    end
    if (rst) have_q <= 1'b0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, beat_q.tkeep, beat_q.tuser};
endmodule
