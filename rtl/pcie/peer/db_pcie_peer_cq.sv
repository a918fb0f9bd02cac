// SPDX-License-Identifier: Apache-2.0
// CQ of an endpoint that drives other devices, parted by BAR: requests to BAR 2 are of the drives (their window), all
// others go to the controller. A drive's part of the window is its own: m_window_own says whether the one who asks is the
// drive whose part it is, by the requester id that the host has given it. All others have no business there, the host
// neither; nor has the drive itself while its window is closed.
//
// Latency: 1 cycle; with SIDE none, as db_pcie_cq_straddle in front has registers. Throughput: a beat a cycle. Order between the two is not kept behind this block.
`include "db_pcie_types.svh"
module db_pcie_peer_cq
  import db_pcie_pkg::*;
#(
  parameter int DATA_W     = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int NUM_PEERS  = 2,    ///< drives: 1, 2, 4, 8
  parameter int DRIVE_LOG2 = 26,   ///< log2 of the bytes of a drive's part
  parameter bit SIDE       = 1'b0,  ///< 512 bits: the descriptor stands beside the payload (cq_side_t)
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input  logic clk,
  input  logic rst,
  /// requester id of each drive: bus, device, function
  input  logic [NUM_PEERS-1:0][15:0] peer_id,
  /// it may use its window
  input  logic [NUM_PEERS-1:0]       peer_open,
  input  logic s_cq_valid,
  output logic s_cq_ready,
  input  cq_t  s_cq,
  /// of either
  output cq_t  m_cq,
  output logic m_window_valid,
  input  logic m_window_ready,
  /// in the first beat; if not: pulse when it is taken
  output logic m_window_own,
  output logic m_foreign,
  output logic m_other_valid,
  input  logic m_other_ready,
  /// pulse: the controller gets a request that wants an answer
  output logic m_other_asks
);
  localparam logic [2:0] WINDOW_BAR = 3'd2;
  localparam int         INDEX_W    = NUM_PEERS > 1 ? $clog2(NUM_PEERS) : 1;

  // ---- whose it is is known in front of a register
  logic     valid, ready, mid_in_q, window_in_q, window_in, mid_q, window;
  cq_desc_t desc_in, desc;
  if (SIDE) begin : g_side
    cq_side_t side_in, side;
    assign side_in = cq_side_t'($bits(cq_side_t)'(s_cq.tuser));
    assign side    = cq_side_t'($bits(cq_side_t)'(m_cq.tuser));
    assign desc_in = side_in.desc;
    assign desc    = side.desc;
  end else begin : g_packet
    assign desc_in = s_cq.tdata[127:0];
    assign desc    = m_cq.tdata[127:0];
  end
  assign window_in = mid_in_q ? window_in_q : desc_in.bar_id == WINDOW_BAR;
  db_skid #(.WIDTH($bits(cq_t) + 1)) i_in (
    .clk, .rst, .s_valid(s_cq_valid), .s_ready(s_cq_ready), .s_data({window_in, s_cq}), .m_valid(valid),
    .m_ready(ready), .m_data({window, m_cq}));

  assign m_window_valid = valid && window;
  assign m_other_valid  = valid && !window;
  logic [INDEX_W-1:0] index;
  assign index          = NUM_PEERS > 1 ? desc.addr_dw[DRIVE_LOG2-2+:INDEX_W] : '0;
  assign m_window_own   = desc.requester_id == peer_id[index] && peer_open[index];
  assign ready          = window ? m_window_ready : m_other_ready;

  always_ff @(posedge clk) begin
    if (s_cq_valid && s_cq_ready) begin
      mid_in_q    <= !s_cq.tlast;
      window_in_q <= window_in;
    end
    if (valid && ready) mid_q <= !m_cq.tlast;
    m_other_asks <= m_other_valid && ready && !mid_q && desc.req_type != REQ_MEM_WR &&
                    desc.req_type[3:2] != REQ_MSG[3:2];
    m_foreign <= m_window_valid && ready && !mid_q && !m_window_own;
    if (rst) begin
      mid_in_q     <= 1'b0;
      mid_q        <= 1'b0;
      m_foreign    <= 1'b0;
      m_other_asks <= 1'b0;
    end
  end
endmodule
