// SPDX-License-Identifier: Apache-2.0
// Which row of a read client's ring may leave, and what stands beside it: a row leaves when all its dwords have arrived,
// and rows of a packet's last chunk only when the packet's end is known.
//
// A failed chunk marks its packet's rows from the one on in which it begins.
// Latency: 1 cycle from s_retire to m_row. Throughput: a row a cycle.
module db_pcie_read_rows #(
  parameter int DATA_W   = 256,   ///< bits of a row: 128, 256 or 512
  parameter int RING_DW  = 4096,  ///< dwords of the ring, a power of two
  parameter int USER_W   = 8,     ///< bits of the packet's user field
  parameter int MAX_PKTS = 32,    ///< packets inside at once, a power of two
  localparam int RING_W = $clog2(RING_DW),
  localparam int LANE_W = $clog2(DATA_W / 32),
  localparam int ROW_W  = RING_W - LANE_W,
  localparam int PKT_W  = $clog2(MAX_PKTS) + 1
) (
  input  logic              clk,
  input  logic              rst,

  /// a packet begins; never more than MAX_PKTS are inside
  input  logic              s_packet_valid,
  input  logic [USER_W-1:0] s_packet_user,

  /// the oldest chunk has ended: dwords before s_retire_end are in the ring
  input  logic              s_retire_valid,
  input  logic              s_retire_last,
  input  logic              s_retire_err,
  input  logic [RING_W:0]   s_retire_end,

  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [ROW_W-1:0]  m_row,
  output logic              m_row_last,
  output logic              m_row_err,
  /// valid dwords: all except in a packet's last row
  output logic [LANE_W:0]   m_row_dw,
  output logic [USER_W-1:0] m_row_user,

  /// rows before this one have been read
  output logic [ROW_W:0]    gone_row,
  /// packets that have left, modulo 2 * MAX_PKTS
  output logic [PKT_W-1:0]  gone_packets
);
  localparam int N = DATA_W / 32;

  // ---- the packet that is being retired
  // Its last chunk moves it to the FIFO of ends.
  logic [RING_W:0]  arrived_q;    // dwords before this one are in the ring
  logic             fail_q;       // a chunk has failed, the first one in row fail_row_q
  logic [ROW_W:0]   fail_row_q;
  logic [PKT_W-1:0] pkt_ret_q;    // packets retired, modulo 2 * MAX_PKTS
  logic             fail_d;
  logic [ROW_W:0]   fail_row_d, last_row;
  logic [LANE_W:0]  last_dw;

  assign fail_d     = fail_q || s_retire_err;
  assign fail_row_d = fail_q ? fail_row_q : arrived_q[RING_W:LANE_W];
  assign last_row   = s_retire_end[RING_W:LANE_W] - (ROW_W + 1)'(s_retire_end[LANE_W-1:0] == '0);
  assign last_dw    = {s_retire_end[LANE_W-1:0] == '0, s_retire_end[LANE_W-1:0]};

  always_ff @(posedge clk) begin
    if (s_retire_valid) begin
      arrived_q  <= s_retire_last ? {last_row + 1'b1, LANE_W'(0)} : s_retire_end;
      fail_q     <= fail_d && !s_retire_last;
      fail_row_q <= fail_row_d;
      if (s_retire_last) pkt_ret_q <= pkt_ret_q + 1'b1;
    end
    if (rst) begin
      arrived_q <= '0;
      fail_q    <= 1'b0;
      pkt_ret_q <= '0;
    end
  end

  // ---- packets that have ended, and what belongs to those inside
  typedef struct packed {
    logic            fail;
    logic [ROW_W:0]  fail_row;
    logic [ROW_W:0]  row;
    logic [LANE_W:0] dw;
  } end_t;

  logic end_valid, user_valid, packet_gone;
  end_t end_new, end_head;

  assign end_new = '{fail: fail_d, fail_row: fail_row_d, row: last_row, dw: last_dw};

  // Neither is ever full: MAX_PKTS packets at most are inside.
  db_fifo #(.WIDTH($bits(end_t)), .DEPTH(MAX_PKTS)) i_ends (
    .clk, .rst, .s_valid(s_retire_valid && s_retire_last), .s_ready(), .s_data(end_new), .m_valid(end_valid),
    .m_ready(packet_gone), .m_data(end_head), .level()
  );
  db_fifo #(.WIDTH(USER_W), .DEPTH(MAX_PKTS), .AROUND(1'b0)) i_users (
    .clk, .rst, .s_valid(s_packet_valid), .s_ready(), .s_data(s_packet_user), .m_valid(user_valid),
    .m_ready(packet_gone), .m_data(m_row_user), .level()
  );

  // ---- rows out
  logic [ROW_W:0]   row_q;        // next row to leave
  logic [ROW_W:0]   gone_q;
  logic [PKT_W-1:0] pkt_out_q;    // packets that have left, modulo 2 * MAX_PKTS
  logic             sent_fail_q;  // an earlier row of this packet was marked
  logic             current, fail, fail_here;

  // The packet that leaves is either retired (its end is known), or the one that is being retired (current), or
  // between the two for the time that the end takes through the FIFO.
  assign current     = pkt_ret_q == pkt_out_q;
  assign m_row_valid = user_valid && (end_valid || (current && row_q != arrived_q[RING_W:LANE_W]));
  assign m_row       = row_q[ROW_W-1:0];
  assign m_row_last  = end_valid && row_q == end_head.row;
  assign m_row_dw    = m_row_last ? end_head.dw : (LANE_W + 1)'(N);
  assign fail        = end_valid ? end_head.fail : fail_q;
  assign fail_here   = row_q == (end_valid ? end_head.fail_row : fail_row_q);
  assign m_row_err   = sent_fail_q || (fail && fail_here);
  assign packet_gone  = m_row_ready && m_row_last;  // it is valid, as a packet with an end has its user
  assign gone_row     = gone_q;
  assign gone_packets = pkt_out_q;

  always_ff @(posedge clk) begin
    if (m_row_valid && m_row_ready) begin
      row_q       <= row_q + 1'b1;
      sent_fail_q <= m_row_err && !m_row_last;
    end
    if (packet_gone) pkt_out_q <= pkt_out_q + 1'b1;
    if (m_row_ready) gone_q <= row_q;  // a row is read when it is taken, or before the next one is
    if (rst) begin
      row_q       <= '0;
      gone_q      <= '0;
      sent_fail_q <= 1'b0;
      pkt_out_q   <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) !end_valid || user_valid);
endmodule
