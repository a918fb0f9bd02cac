// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_order_pieces: pieces of a function's list of ranges begin where the one before it ended, and the last ends
// where the list does, whatever others send between them; a piece is in the pages of the list, or in the data block of an SGL,
// as far as that goes. What is no list goes whole.
// Any one function is followed (mark). Assumed: a function's list stays at the head of its commands until its last piece has
// gone, which is db_ssd_order_turn's, and it is what decode makes of it.
module db_ssd_order_pieces_formal
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*, db_ssd_order_pkg::*;
#(
  parameter bit COVER = 1'b0
) (
  input logic               clk,
  input logic               rst,
  input logic               s_go,
  input logic [PLACE_W-1:0] s_place,
  input cmd_t               s_cmd,
  input logic [PLACE_W-1:0] any_place
);
  logic [6:0] age_q;
  initial age_q = '0;
  always_ff @(posedge clk) if (age_q != '1) age_q <= age_q + 1'b1;
  always_comb assume (rst == (age_q == '0));
  always_comb if (age_q < 7'd40) assume (!s_go);

  cmd_t   m_cmd;
  piece_t m_piece;
  db_ssd_order_pieces #(.SGL(1'b1)) dut (.*);

  logic [PLACE_W-1:0] mark_q, place_q;
  logic               go_q, mine;
  always_ff @(posedge clk) begin
    mark_q  <= rst ? any_place : mark_q;
    place_q <= s_place;
    go_q    <= s_go && !rst;
  end
  always_comb if (go_q && age_q != '0) assume (!s_go);  // one every other cycle
  assign mine = go_q && age_q != '0 && place_q == mark_q;

  // ---- the list: 1 to 256 ranges, which its owner does not change
  logic [12:0] sent_q;                          // bytes of the list that have gone
  cmd_t        list_q;
  always_comb if (go_q && age_q != '0 && s_cmd.desc.ranges)
    assume (s_cmd.bytes <= 32'd4096 && s_cmd.bytes != '0 && s_cmd.bytes[3:0] == '0);
  always_comb if (mine && sent_q != '0) assume (s_cmd == list_q);
  always_ff @(posedge clk) begin
    if (mine) begin
      sent_q <= m_piece.more ? sent_q + m_cmd.bytes[12:0] : '0;
      list_q <= s_cmd;
    end
    if (rst) sent_q <= '0;
  end

  // ---- where the byte `sent_q` of the list is
  logic [12:0] from;
  logic [31:0] there;                           // SGL: bytes of the block from there on
  assign from  = 13'(s_cmd.prp1[11:0]) + sent_q;
  assign there = s_cmd.prp2[31:0] > 32'(sent_q) ? s_cmd.prp2[31:0] - 32'(sent_q) : '0;
  function automatic logic [31:0] least(input logic [31:0] a, input logic [31:0] b);
    return a < b ? a : b;
  endfunction
  always_comb if (mine) begin
    assert (m_piece.place == mark_q);
    if (s_cmd.desc.ranges) begin
      assert (m_piece.later == (sent_q != '0));
      assert (m_cmd.bytes != '0 && m_cmd.bytes <= 32'(16 * PIECE_RANGES) && m_cmd.bytes[3:0] == '0);
      assert (32'(sent_q) + m_cmd.bytes <= s_cmd.bytes);
      assert (m_piece.more == (32'(sent_q) + m_cmd.bytes != s_cmd.bytes));
      if (s_cmd.sgl) begin
        assert (m_cmd.prp1 == s_cmd.prp1 + 64'(sent_q) && m_cmd.prp2[63:32] == s_cmd.prp2[63:32]);
        assert (least(m_cmd.prp2[31:0], m_cmd.bytes) == least(there, m_cmd.bytes));
        assert (there == '0 || m_cmd.prp2[1:0] == s_cmd.prp2[1:0]);
      end else if (!from[12]) assert (m_cmd.prp1 == {s_cmd.prp1[63:12], from[11:0]} && m_cmd.prp2 == s_cmd.prp2);
      else if (s_cmd.prp2[11:0] == '0) assert (m_cmd.prp1 == {s_cmd.prp2[63:12], from[11:0]});
      else assert (m_cmd.prp1[0]);
    end else assert (m_cmd == s_cmd && m_piece.later == 1'b0 && m_piece.more == 1'b0);
  end
  // ---- how it hangs together; after rst a count is cleared in each cycle
  logic cleared;
  assign cleared = !dut.init_busy_q || dut.init_q > mark_q;
  always_comb if (age_q != '0) begin
    assert (dut.init_busy_q == (age_q <= 7'd32));
    if (dut.init_busy_q) assert (7'(dut.init_q) == age_q - 7'd1);
    if (age_q < 7'd40) assert (!go_q && sent_q == '0);
    assert (dut.go_q == go_q && (!go_q || dut.place_q == place_q));
    assert (sent_q[PIECE_W-1:0] == '0 && !sent_q[12]);
    if (cleared) assert (dut.gone_mem_q[mark_q] == sent_q[11:PIECE_W]);
    if (mine) assert (dut.gone_q == sent_q[11:PIECE_W]);
    if (!go_q) assert (dut.gone_q == '0);
    else assert (dut.next_q == (13 - PIECE_W)'(dut.gone_q) + 1'b1);
    if (sent_q != '0) assert (list_q.desc.ranges && 32'(sent_q) < list_q.bytes && list_q.bytes <= 32'd4096 &&
                              list_q.bytes[3:0] == '0);
  end

  if (COVER) begin : g_cover
    always_comb cover (mine && sent_q != '0 && !m_piece.more && m_cmd.bytes == 32'd16);
  end
endmodule
