// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_order_turn's lists: what has come is in one list, that of its engine and function, until it goes; those of a
// list go in the order in which they came, each once, but a command in pieces stays first until its last has gone. A turn
// always ends with a command of a function that has one. Which of them it is, is not said here.
// Assumed: a slot comes again when it has gone, and functions that are not there send nothing (decode).
module db_ssd_order_turn_formal
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int NUM_FN   = 2,
  parameter int NUM_CMDS = 2,
  parameter bit COVER    = 1'b0
) (
  input logic         clk,
  input logic         rst,
  input logic         us_turns,
  input logic [1:0]   s_valid,
  input order_entry_t s_entry,
  input logic [1:0]   open,
  input logic         s_more
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  localparam logic [2:0] REST = 3'd0, SCAN = 3'd1, GO = 3'd2, NEXT = 3'd3;

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // ---- the block
  logic [1:0]         m_go, busy;
  logic [SLOT_W-1:0]  m_slot;
  logic [PLACE_W-1:0] m_place;
  db_ssd_order_turn #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .DEADLINES(1'b1)) dut (.*);
  always_comb if (dut.state_q != NEXT) assume (!s_more);

  // ---- what each list has, the first at the bottom
  logic [1:0][NUM_FN-1:0][NUM_CMDS-1:0][CMD_W-1:0] list_q;
  logic [1:0][NUM_FN-1:0][CMD_W:0]                 count_q;
  logic [NUM_CMDS-1:0]                             held;
  logic                                            pop;
  assign pop = dut.state_q == NEXT && !s_more;
  always_comb begin
    held = '0;
    for (int e = 0; e < 2; e++) for (int f = 0; f < NUM_FN; f++) for (int i = 0; i < NUM_CMDS; i++)
      if ((CMD_W + 1)'(i) < count_q[e][f]) held[list_q[e][f][i]] = 1'b1;
  end
  always_comb if (dut.entry_valid_q) assume (!held[dut.entry_q.slot] && dut.entry_q.place < PLACE_W'(NUM_FN));

  for (genvar e = 0; e < 2; e++) begin : g_engine
    for (genvar f = 0; f < NUM_FN; f++) begin : g_fn
      logic comes, goes;
      assign comes = dut.entry_take && dut.entry_q.engine == 1'(e) && dut.entry_q.place == PLACE_W'(f);
      assign goes  = pop && dut.engine_q == 1'(e) && dut.place_q == PLACE_W'(f);
      always_ff @(posedge clk) begin
        if (comes) begin
          count_q[e][f] <= count_q[e][f] + 1'b1;
          list_q[e][f][count_q[e][f][CMD_W-1:0]] <= dut.entry_q.slot;
        end
        if (goes) begin
          count_q[e][f] <= count_q[e][f] - 1'b1;
          for (int i = 0; i < NUM_CMDS - 1; i++) list_q[e][f][i] <= list_q[e][f][i+1];
        end
        if (rst) count_q[e][f] <= '0;
      end

      // ---- how the RAMs hold it
      localparam int AT = e * 2 ** PLACE_W + f;
      logic [CMD_W:0] count;
      assign count = count_q[e][f];
      always_comb if (started_q && !rst) begin
        assert (count <= (CMD_W + 1)'(NUM_CMDS));
        assert (dut.active_q[e][f] == (count != '0));
        if (count != '0) begin
          assert (dut.head_mem_q[AT] == list_q[e][f][0]);
          assert (dut.tail_mem_q[AT] == list_q[e][f][CMD_W'(count - 1'b1)]);
        end
        for (int i = 0; i < NUM_CMDS - 1; i++)
          if ((CMD_W + 1)'(i + 1) < count) assert (dut.next_mem_q[list_q[e][f][i]] == list_q[e][f][i+1]);
        // the function at work
        if (dut.engine_q == 1'(e) && dut.place_q == PLACE_W'(f) &&
            (dut.state_q == GO || dut.state_q == NEXT || (dut.state_q == SCAN && dut.any_q))) begin
          assert (count != '0 && dut.slot_q == list_q[e][f][0]);
          if (dut.state_q == NEXT) begin
            assert (dut.last_q == (count == (CMD_W + 1)'(1)));
            if (count > (CMD_W + 1)'(1)) assert (dut.next_q == list_q[e][f][1]);
          end
        end
        // what goes is the first of a list of this engine and function
        if (m_go[e] && m_place == PLACE_W'(f)) assert (count != '0 && m_slot == SLOT_W'(list_q[e][f][0]));
        if (dut.state_q == SCAN && dut.look_q && dut.engine_q == 1'(e) && dut.look_place_q == PLACE_W'(f))
          assert (!dut.look_active_q || count != '0);
      end
    end
  end

  // ---- a slot is in one place
  logic [CMD_W+2:0] total;
  always_comb begin
    total = '0;
    for (int e = 0; e < 2; e++) for (int f = 0; f < NUM_FN; f++) total += (CMD_W + 3)'(count_q[e][f]);
  end
  always_comb if (started_q && !rst) assert (total == (CMD_W + 3)'($countones(held)));

  // ---- a turn finds one
  logic found, may_find;
  assign found    = dut.any_q || (dut.look_q && dut.look_active_q);
  assign may_find = (dut.todo_q & dut.active_q[dut.engine_q]) != '0;
  always_comb if (started_q && !rst) begin
    assert (dut.state_q <= 3'd4);
    assert (m_go == 2'b00 || (m_place < PLACE_W'(NUM_FN) && (m_go == 2'b01 || m_go == 2'b10)));
    assert (dut.entry_hot_q == (NUM_FN'(1) << dut.entry_q.place) || !dut.entry_valid_q);
    if (dut.state_q == REST) assert (!dut.look_q || !dut.look_active_q || dut.none_q);
    if (dut.state_q == SCAN) begin
      assert (found || (!dut.none_q && may_find));
      assert (dut.none_q == (dut.todo_q == '0));
      if (dut.look_q) assert (dut.look_place_q < PLACE_W'(NUM_FN));
      if (dut.any_q)  assert (dut.place_q < PLACE_W'(NUM_FN));
    end
    if (dut.state_q == GO || dut.state_q == NEXT) assert (dut.any_q && dut.place_q < PLACE_W'(NUM_FN));
  end

  if (COVER) begin : g_cover
    logic [1:0] gone_q;
    always_ff @(posedge clk) gone_q <= rst ? '0 : gone_q + 2'(pop && dut.place_q == PLACE_W'(1) && gone_q != '1);
    always_comb cover (started_q && gone_q == 2'd2 && dut.state_q == NEXT && s_more &&
                       count_q[1][0] == (CMD_W + 1)'(2));
  end
endmodule
