// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_near: rows of a result go to the buffer of the command that they were made for, and a command leaves
// its slots once.
//
// Commands that have begun stand in a list, the oldest first, each with how far its result is. A row is a command's
// if it was given while that was the oldest whose result had not ended; what gives rows then is what `from` says. One
// command, any (mark), is followed to show that `from` says its slots. Which slots commands have, what operators give
// and when, is any (db_csd_near_stubs.sv); slot 0 gives rows, the others words. Assumed of commands and their packets:
// a command looks at a byte at least, and its packet has all that it looks at.
`include "db_axi_types.svh"
module db_csd_near_formal
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter bit COVER = 1'b0,          // only that it can happen
  localparam int DATA_W = 128,
  localparam int ALL    = 3,
  localparam int ADDR_W = cmb_addr_w(0, 1),
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input logic              clk,
  input logic              rst,
  input ext_bus_t          s_ext,
  input logic              s_row_valid,
  input logic [DATA_W-1:0] s_row_data,
  input row_info_t         s_row_info,
  input logic              m_row_ready,
  input axi_read_rsp_t     m_axi_read_rsp,
  input logic              mark
);
  logic busy, m_row_valid, s_row_ready, m_result_valid;
  row_info_t m_row_info;
  near_result_t m_result;
  db_csd_near #(.DATA_W(DATA_W), .NUM_CMDS(2), .SLOTS(28'h21), .CELLS(1)) dut (
    .clk, .rst, .power_rst(rst), .busy, .exchanging(), .s_ext, .m_ext_rdata(), .s_packet_valid(1'b0), .s_packet('0),
    .s_row_valid, .s_row_ready, .s_row_data, .s_row_info, .m_row_valid, .m_row_ready, .m_row_data(), .m_row_info,
    .m_result_valid, .m_result, .m_axi_read_req(), .m_axi_read_rsp, .m_icap_valid(), .m_icap_ready(1'b0),
    .m_icap_data());

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb begin
    if (!started_q) assume (rst);
    if (dut.begins) assume (dut.packet.args.data != '0);
    if (dut.takes && dut.row_info.last) assume (!dut.some_q || dut.last_q);
  end

  // ---- commands that have begun: the result is made; its last row is on its way; it has come; there is none
  typedef enum logic [1:0] {MAKES, COMES, ENDED, NOTHING} how_e;
  how_e [7:0]  how_q, how;
  logic [3:0]  count_q, makes, comes;
  logic        begins, ends, comes_last, done, nowhere, in_valid, in_ready, takes;
  assign begins     = dut.begins;
  assign nowhere    = dut.nowhere;
  assign ends       = dut.from_end;
  assign takes      = dut.i_pack.take;
  assign comes_last = takes && dut.found.last;
  assign done       = dut.i_pack.done;
  assign in_valid   = dut.any_valid;
  assign in_ready   = dut.found_ready;
  function automatic logic [3:0] first_of(input how_e [7:0] of, input how_e what);
    first_of = 4'd8;
    for (int i = 7; i >= 0; i--) if (of[i] == what) first_of = 4'(i);
  endfunction
  assign makes = first_of(how_q, MAKES);
  assign comes = first_of(how_q, COMES);
  always_comb begin
    how = how_q;
    for (int i = 0; i < 8; i++) begin
      if (ends && makes == 4'(i)) how[i] = COMES;
      if (comes_last && comes == 4'(i)) how[i] = ENDED;
      if (begins && count_q == 4'(i)) how[i] = nowhere ? NOTHING : MAKES;
    end
  end
  always_ff @(posedge clk) begin
    how_q   <= done ? {NOTHING, how[7:1]} : how;
    count_q <= count_q + 4'(begins) - 4'(done);
    if (rst) begin
      how_q   <= {8{NOTHING}};
      count_q <= '0;
    end
  end

  // ---- rows between: which command's, beside db_skid's
  logic [3:0] tag_q, spare_tag_q, tag;
  logic       out_free;
  assign tag      = makes;
  assign out_free = !dut.found_valid || dut.pack_ready;
  always_ff @(posedge clk) begin
    if (in_ready) spare_tag_q <= tag - 4'(done);
    else spare_tag_q <= spare_tag_q - 4'(done);
    if (out_free) tag_q <= (in_ready ? tag : spare_tag_q) - 4'(done);
    else tag_q <= tag_q - 4'(done);
  end
  logic      spare;
  near_row_t spare_row;
  assign spare     = !in_ready;
  assign spare_row = near_row_t'(dut.i_found.spare_q[DATA_W +: $bits(near_row_t)]);

  // ---- what stands in FIFOs
  localparam int FROM_W  = 2 * ALL;
  logic [7:0]              begun_nowhere;
  logic [7:0][FROM_W-1:0]  from_entry;
  logic [7:0][3:0]         ahead;       // commands ahead this one that still make their result
  logic [3:0]              making, coming;
  for (genvar i = 0; i < 8; i++) begin : g_entry
    logic [1:0] begun;                 // none, absent
    assign begun = i == 0 ? 2'(dut.i_pack.i_begun.m_data)
                          : 2'(dut.i_pack.i_begun.g_lutram.mem_q[3'(dut.i_pack.i_begun.rptr_q + 3'(i - 1))]);
    assign begun_nowhere[i] = begun != '0;
    assign from_entry[i] = i == 0 ? dut.i_from.m_data : dut.i_from.g_lutram.mem_q[3'(dut.i_from.rptr_q + 3'(i - 1))];
  end
  always_comb begin
    making = '0;
    coming = '0;
    for (int i = 0; i < 8; i++) begin
      ahead[i] = making;
      making += 4'(how_q[i] == MAKES);
      coming += 4'(how_q[i] == COMES);
    end
  end

  // ---- one command that is followed
  logic              mine_q;
  logic [3:0]        place_q;
  logic [FROM_W-1:0] slots_q, slots;     // of it; of the command whose packet is next
  logic [2:0]        at;                 // where that is, if it has begun
  assign slots = {ALL'(dut.chain.slots), ALL'(dut.chain.last)};
  assign at    = 3'(count_q - 4'd1);
  always_ff @(posedge clk) begin
    if (mine_q) begin
      place_q <= place_q - 4'(done);
      if (done && place_q == '0) mine_q <= 1'b0;
    end else if (begins && mark && !nowhere) begin
      mine_q  <= 1'b1;
      place_q <= count_q - 4'(done);
      slots_q <= slots;
    end
    if (rst) mine_q <= 1'b0;
  end

  // ---- what must hold
  logic [ALL-1:0] left_q;
  always_ff @(posedge clk) left_q <= ends && !rst ? dut.from.slots : '0;
  always_comb if (started_q && !rst && !COVER) begin
    // 8 commands at most; no FIFO overflows
    assert (count_q <= 4'd8);
    if (begins) assert (count_q < 4'd8 && dut.i_pack.i_begun.s_ready && (nowhere || dut.i_from.s_ready));
    if (dut.ended_q) assert (dut.i_pack.i_end.s_ready);
    // what the result's block takes is the oldest command's
    if (takes) assert (tag_q == '0 && count_q != '0 && how_q[0] inside {MAKES, COMES});
    if (done) assert (count_q != '0 && how_q[0] inside {ENDED, NOTHING});
    // rows are given for the oldest whose result has not ended, by its last slot; it leaves its slots with the last row
    if (dut.any_valid) assert (dut.from_valid && makes < count_q);
    if (mine_q && how_q[place_q[2:0]] == MAKES && makes == place_q) assert (dut.from == slots_q);
    if (ends) assert (makes < count_q);
    // rows of the media that are a result are that of their command
    if (dut.gives && dut.row_valid && dut.op_ready && dut.chain.first == '0) assert (makes == count_q - 4'd1);
    assert (dut.leave == left_q);
  end

  // ---- how it comes about
  always_comb if (started_q && !rst && !COVER) begin
    assert (dut.inside_q == count_q + 4'(m_result_valid));
    assert (dut.from_valid == (making != '0) && dut.i_from.level_q == making);
    assert (dut.i_pack.begun_valid == (count_q != '0) && dut.i_pack.i_begun.level_q == count_q);
    assert (dut.i_pack.i_end.level_q <= 4'd8);
    assert (dut.i_pack.i_end.level_q + 4'(dut.begun_q) + 4'(dut.ended_q) == count_q);
    assert (dut.i_pack.i_end.m_valid_q == (dut.i_pack.i_end.level_q != '0));
    assert (3'(dut.i_pack.i_begun.wptr_q - dut.i_pack.i_begun.rptr_q) == 3'(count_q - 4'(count_q != '0)));
    assert (3'(dut.i_from.wptr_q - dut.i_from.rptr_q) == 3'(making - 4'(making != '0)));
    for (int i = 0; i < 8; i++) begin
      if (4'(i) < count_q) assert (begun_nowhere[i] == (how_q[i] == NOTHING));
      else assert (how_q[i] == NOTHING);
      if (i > 0) assert (how_q[i] != ENDED);
      for (int j = i + 1; j < 8; j++) begin
        if (how_q[i] == MAKES) assert (how_q[j] inside {MAKES, NOTHING});
      end
    end
    // rows on their way
    assert (!spare || dut.found_valid);
    assert (coming == 4'(dut.found_valid && dut.found.last) + 4'(spare && spare_row.last));
    if (dut.found_valid) begin
      assert (tag_q < count_q);
      for (int i = 0; i < 8; i++) begin
        if (4'(i) < tag_q) assert (how_q[i] inside {ENDED, NOTHING});
        if (4'(i) == tag_q) begin
          assert (how_q[i] == (dut.found.last || (spare && spare_row.last && spare_tag_q == tag_q) ? COMES : MAKES));
        end
      end
    end
    if (spare) begin
      assert (spare_tag_q < count_q && spare_tag_q >= tag_q && (spare_tag_q == tag_q) == !dut.found.last);
      for (int i = 0; i < 8; i++) begin
        if (4'(i) > tag_q && 4'(i) < spare_tag_q) assert (how_q[i] == NOTHING);
        if (4'(i) == spare_tag_q) assert (how_q[i] == (spare_row.last ? COMES : MAKES));
      end
    end
    // the block of the result
    if (dut.i_pack.active_q) begin
      assert (count_q != '0 && dut.i_pack.ended_q == (how_q[0] inside {ENDED, NOTHING}));
    end else assert (how_q[0] != ENDED);
    // words that are gathered are the oldest command's
    if (dut.gathered_valid) assert (dut.from_valid && dut.from.last[0] == 1'b0 && dut.from.last != '0);
    assert ((dut.chain.last & (dut.chain.last - 1'b1)) == '0 || !dut.packet_valid);
    for (int i = 0; i < 8; i++) begin
      if (4'(i) < making) assert ((from_entry[i][ALL-1:0] & (from_entry[i][ALL-1:0] - 1'b1)) == '0);
    end
    // the command whose rows of the media come; if they are its result, it has ended with the last of them
    if (dut.begun_q) begin
      assert (dut.packet_valid && (how_q[at] == NOTHING) == nowhere);
      if (how_q[at] == MAKES) assert (from_entry[ahead[at][2:0]] == slots);
    end
    if (dut.begun_q && dut.some_q) begin
      assert (dut.left_q != '0 && dut.last_q == (dut.left_q <= NEAR_BYTES_W'(DATA_W / 8)));
    end
    if (dut.packet_valid) begin
      assert ((dut.chain.first == '0) == (dut.chain.last == '0) && dut.chain.slots >> ALL == '0);
      assert (((dut.chain.first | dut.chain.last) & ~dut.chain.slots) == '0);
    end
    for (int i = 0; i < 8; i++) begin
      if (how_q[i] == MAKES && from_entry[ahead[i][2:0]][ALL-1:0] == '0) begin
        assert (dut.begun_q && dut.some_q && count_q == 4'(i + 1));
      end
    end
    // the command that is followed
    if (mine_q) begin
      assert (place_q < count_q && how_q[place_q[2:0]] != NOTHING);
      if (how_q[place_q[2:0]] == MAKES) assert (from_entry[ahead[place_q[2:0]][2:0]] == slots_q);
    end
  end
  // ---- the second result that ends, of a slot's rows, while others wait
  logic second_q;
  always_ff @(posedge clk) second_q <= !rst && (second_q || done);
  always_comb if (COVER) begin
    assume (rst == !started_q);
    cover (!rst && done && second_q && mine_q && place_q == '0 && slots_q[0] && how_q[0] == ENDED && count_q > 4'd2);
  end
endmodule
