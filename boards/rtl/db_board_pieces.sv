// SPDX-License-Identifier: Apache-2.0
// AXI4 addresses of a memory of two lanes to those of AXI3 at each lane: bursts of at most 16 beats, the same ones on both.
// A lane holds half of each row, so its byte address is half of the memory's. `m_piece` says, in order, which burst each
// piece belongs to and whether it is the last: who joins the answers needs it.
// Latency: 2 cycles. Throughput: a piece a cycle; a cycle more for each burst.
module db_board_pieces #(
  parameter int DATA_W = 512,  ///< of the memory, 256, 512
  parameter int ADDR_W = 33    ///< bits of its address, 20..64
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic                   s_id,
  input  logic [ADDR_W-1:0]      s_addr,
  input  logic [7:0]             s_len,
  input  logic                   s_valid,
  output logic                   s_ready,
  output logic [1:0][ADDR_W-2:0] m_addr,
  output logic [1:0][3:0]        m_len,
  output logic [1:0]             m_valid,
  input  logic [1:0]             m_ready,
  output logic                   m_piece_valid,
  input  logic                   m_piece_ready,
  output logic                   m_piece_id,
  output logic                   m_piece_last
);
  localparam int PENDING  = 64;                   // pieces without an answer
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int ROW_W    = ADDR_W - ROW_LOG2;

  logic              busy_q, id_q, go, last, piece_ready;
  logic [ROW_W-1:0]  row_q;
  logic [7:0]        len_q;   // beats that are left, less 1
  logic [3:0]        len;
  logic [1:0]        lane_ready;
  assign last    = len_q < 8'd16;
  assign len     = last ? len_q[3:0] : 4'd15;
  assign go      = busy_q && piece_ready && lane_ready == '1;
  assign s_ready = !busy_q;
  always_ff @(posedge clk) begin
    if (!busy_q) begin
      busy_q <= s_valid;
      id_q   <= s_id;
      row_q  <= s_addr[ADDR_W-1:ROW_LOG2];
      len_q  <= s_len;
    end else if (go) begin
      busy_q <= !last;
      row_q  <= row_q + ROW_W'(16);
      len_q  <= len_q - 8'd16;
    end
    if (rst) busy_q <= 1'b0;
  end
  for (genvar i = 0; i < 2; i++) begin : g_lane
    db_fifo #(.WIDTH(ADDR_W + 3), .DEPTH(4)) i_addr (
      .clk, .rst, .s_valid(go), .s_ready(lane_ready[i]), .s_data({{row_q, (ROW_LOG2-1)'(0)}, len}),
      .m_valid(m_valid[i]), .m_ready(m_ready[i]), .m_data({m_addr[i], m_len[i]}), .level());
  end
  db_fifo #(.WIDTH(2), .DEPTH(PENDING)) i_pieces (
    .clk, .rst, .s_valid(go), .s_ready(piece_ready), .s_data({id_q, last}), .m_valid(m_piece_valid),
    .m_ready(m_piece_ready), .m_data({m_piece_id, m_piece_last}), .level());
endmodule
