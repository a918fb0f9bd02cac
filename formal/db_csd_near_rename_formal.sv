// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_near_rename: a command's slots have its own program, and rows go from its first to its last and
// nowhere else.
//
// One packet, any (mark), is followed from where it comes in until its command has left its slots; of its owner's
// program three words: the first, and one each (at_q, any) of what gets the data and of what is behind that. All else
// is free: other owners' packets, what their programs say, what a function may use, when programs are written and slots
// go off. Assumed is what the blocks around give. Of the program that is followed: it does not name an operator twice,
// and has words for each (the firmware). A command leaves slots in which it has begun, 8 are in a slot at most
// (db_csd_near). What is in a slot is exchanged after it has been off for 4 cycles and was idle (db_csd_near_exchange).
module db_csd_near_rename_formal
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int SLOTS = 3,
  parameter bit COVER = 1'b0           // only one course of events, to show that it can happen
) (
  input logic                   clk,
  input logic                   rst,
  input logic                   s_packet_valid,
  input near_packet_t           s_packet,
  input logic                   mark,
  input logic                   m_packet_ready,
  input logic                   begins,          // the command of the packet that is offered
  input logic                   gone,            // the command that is followed has left
  input logic [SLOTS-1:0]       s_done,
  input logic [SLOTS-1:0][3:0]  operators,
  input logic [SLOTS-1:0]       off,
  input logic [SLOTS-1:0]       allowed,
  input logic [SLOTS-1:0]       wanted,
  input logic [31:0]            word,
  input logic                   written,
  input near_owner_t            written_owner,
  input logic [2:0][31:0]       writes,          // what the three words are then
  input logic [31:0]            junk             // what is in a slot that was exchanged
);
  localparam int WORDS_LOG2 = 6;
  localparam logic [3:0] IDLE = 4'd0, READ = 4'd1, HEAD = 4'd2, MATCH = 4'd3, FIRST = 4'd4, LAST = 4'd5, FETCH = 4'd6,
                         COME = 4'd7, LOAD = 4'd8, GO = 4'd9;

  logic                        busy, s_packet_ready, m_packet_valid;
  near_packet_t                m_packet;
  near_chain_t                 m_chain;
  logic [PLACE_W-1:0]          place;
  logic [SLOTS-1:0]            idle, m_oldest, m_param_valid;
  logic [15:0]                 m_missed;
  logic [SLOTS-1:0][SLOTS-1:0] route;
  near_owner_t                 owner;
  logic [WORDS_LOG2-1:0]       addr;
  near_param_t                 m_param;
  db_csd_near_rename #(.SLOTS(SLOTS), .WORDS_LOG2(WORDS_LOG2)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  // ---- the program that is followed, whose it is, and what the memory says of it
  typedef struct packed {
    logic       lines;
    logic [7:0] behind_words, words;
    logic [3:0] behind, first;
  } head_t;
  near_owner_t           mine_q, asked_q;
  logic [7:0]            at_q;                  // of a word of an operator, as the operator counts
  logic [WORDS_LOG2-1:0] behind_at_q, addr_q;   // where that word of the second operator is
  logic [2:0][31:0]      memory_q, was_q;
  logic                  mine_is_written, read_q;
  head_t                 head;
  assign mine_is_written = written && written_owner == mine_q;
  assign head            = head_t'(memory_q[0][24:0]);
  always_ff @(posedge clk) begin
    mine_q      <= mine_q;
    at_q        <= at_q;
    behind_at_q <= behind_at_q;
    memory_q    <= mine_is_written ? writes : memory_q;
    was_q       <= memory_q;
    read_q      <= owner == mine_q && !mine_is_written;
    asked_q     <= owner;
    addr_q      <= addr;
  end
  always_comb begin
    assume (head.behind == NEAR_NONE || head.behind != head.first);
    assume (head.first == NEAR_NONE || (head.words != '0 && head.behind_words != '0));
    assume (at_q != '0 && WORDS_LOG2'(at_q) != '0 && behind_at_q != '0);
    if (WORDS_LOG2'(at_q) == behind_at_q) assume (memory_q[1] == memory_q[2]);
    if (read_q && addr_q == '0) assume (word == was_q[0]);
    if (read_q && addr_q == WORDS_LOG2'(at_q)) assume (word == was_q[1]);
    if (read_q && addr_q == behind_at_q) assume (word == was_q[2]);
  end

  // ---- slots: what has been told them, and what is in them
  logic [SLOTS-1:0][31:0] told_q, told;
  logic [SLOTS-1:0][3:0]  operators_q;
  logic [SLOTS-1:0]       may_q, may;           // it is off and idle
  logic [2:0][SLOTS-1:0]  off_q;
  logic                   rst_q;
  assign may = off & (may_q | (idle & off_q[0] & off_q[1] & off_q[2]));
  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    assign told[s] = m_param_valid[s] && m_param.addr == at_q ? m_param.data : told_q[s];
    always_ff @(posedge clk) told_q[s] <= operators[s] == NEAR_NONE ? junk : told[s];
    always_comb begin
      if (!rst_q && operators[s] != operators_q[s]) begin
        assume (may_q[s] && (operators[s] == NEAR_NONE || operators_q[s] == NEAR_NONE));
      end
    end
  end
  always_ff @(posedge clk) begin
    rst_q       <= rst;
    operators_q <= operators;
    may_q       <= may;
    off_q       <= {off_q[1:0], off};
    if (rst) begin
      may_q <= '0;
      off_q <= '0;
    end
  end

  // ---- packets inside; the one that is followed, and its command
  logic             push, pop, present_q, goes, works, nowhere;
  logic [2:0]       count_q, pos_q, out;
  near_packet_t     packet_q;
  near_chain_t      chain_q;
  logic             in_q, began_q;              // it is in slots; it has begun
  logic [SLOTS-1:0] first_q, last_q, used;
  assign push  = s_packet_valid && s_packet_ready;
  assign pop   = m_packet_valid && m_packet_ready;
  assign out   = 3'(m_packet_valid) + 3'(!dut.i_out.s_ready_q);
  assign works = present_q && pos_q == out;
  assign goes  = dut.goes;
  assign used  = in_q ? first_q | last_q : '0;
  always_ff @(posedge clk) begin
    count_q <= count_q + 3'(push) - 3'(pop);
    if (present_q && pop) begin
      pos_q <= pos_q - 3'd1;
      if (pos_q == '0) present_q <= 1'b0;
    end
    if (!present_q && !in_q && push && mark && (!s_packet.computes || mine_q == {s_packet.place, s_packet.args.number}))
    begin
      present_q <= 1'b1;
      pos_q     <= count_q - 3'(pop);
      packet_q  <= s_packet;
    end
    if (works && goes) begin
      chain_q <= dut.chain;
      in_q    <= !dut.absent_q && dut.first_q != '0;
      first_q <= dut.first_q;
      last_q  <= dut.last_q;
      began_q <= 1'b0;
    end
    if (present_q && pos_q == '0 && begins) began_q <= 1'b1;
    if (gone) in_q <= 1'b0;
    if (rst) begin
      count_q   <= '0;
      present_q <= 1'b0;
      in_q      <= 1'b0;
    end
  end

  // ---- commands that have begun
  logic                  begun_q;               // the one of the packet that is offered
  logic [SLOTS-1:0][3:0] begun_in_q;            // by slot
  logic [SLOTS-1:0]      of_out, of_spare;
  logic                  spare_nowhere;
  near_packet_t          spare;
  near_chain_t           spare_chain;
  assign {spare, spare_chain} = dut.i_out.spare_q;
  assign nowhere       = m_chain.none || m_chain.absent;
  assign spare_nowhere = spare_chain.none || spare_chain.absent;
  assign of_out   = m_packet_valid && m_packet.computes && !nowhere ? SLOTS'(m_chain.first | m_chain.last) : '0;
  assign of_spare = !dut.i_out.s_ready_q && spare.computes && !spare_nowhere ?
                    SLOTS'(spare_chain.first | spare_chain.last) : '0;
  always_ff @(posedge clk) begin
    begun_q <= (begun_q || begins) && !pop;
    for (int s = 0; s < SLOTS; s++) begun_in_q[s] <= begun_in_q[s] + 4'(begins && of_out[s]) - 4'(s_done[s]);
    if (rst) begin
      begun_q    <= 1'b0;
      begun_in_q <= '0;
    end
  end
  always_comb if (started_q && !rst) begin
    if (begins) assume (m_packet_valid && m_packet.computes && !begun_q);
    if (pop && m_packet.computes) assume (begun_q);
    if (gone) assume (in_q && began_q && (used & ~s_done) == '0);
    for (int s = 0; s < SLOTS; s++) begin
      if (begins && of_out[s]) assume (begun_in_q[s] < 4'd8);
      if (s_done[s]) assume ((gone && used[s]) || begun_in_q[s] > 4'(began_q && used[s]));
    end
  end

  function automatic logic one(input logic [SLOTS-1:0] of);
    return of != '0 && (of & (of - 1'b1)) == '0;
  endfunction

  // ---- what must hold
  logic [SLOTS-1:0] avail_q, avail2_q, avail_behind_q, avail_behind2_q;  // that the function may use, with the operator
  logic [SLOTS-1:0] empty, empty_q;
  logic [3:0]       state, state_q, op_q, behind_q;
  logic [7:0]       left_q;
  logic             room_q, written_q, went_q;
  assign state = 4'(dut.state_q);
  for (genvar s = 0; s < SLOTS; s++) begin : g_empty
    assign empty[s] = dut.inside_q[s] == '0;
  end
  always_ff @(posedge clk) begin
    state_q   <= state;
    empty_q   <= empty;
    op_q      <= dut.op_q;
    behind_q  <= dut.behind_q;
    left_q    <= dut.left_q;
    room_q    <= dut.i_out.s_ready_q;
    written_q <= written;
    went_q    <= works && goes && !rst;
    for (int s = 0; s < SLOTS; s++) begin
      avail_q[s]        <= allowed[s] && !off[s] && operators[s] == dut.op_q;
      avail_behind_q[s] <= allowed[s] && !off[s] && operators[s] == dut.behind_q;
    end
    avail2_q        <= avail_q;
    avail_behind2_q <= avail_behind_q;
  end
  always_comb if (started_q && !rst && !COVER) begin
    // packets come out as they went in, in their order, once
    assert (busy == (count_q != '0) && count_q <= 3'd3);
    if (pop) assert (count_q != '0);
    if (present_q) assert (pos_q < count_q);
    if (present_q && pos_q == '0 && m_packet_valid) begin
      assert (m_packet == packet_q);
      assert (!packet_q.computes || m_chain == chain_q);
    end
    // what a slot is told: only while no command is inside
    assert ((m_param_valid & ~empty) == '0);
    // slots that are chosen are allowed, and have the operators; none, if there is none of them
    if (!rst_q && state_q == FIRST && state != READ) begin
      assert (dut.absent_q ? avail2_q == '0 : (dut.first_q & ~avail2_q) == '0);
    end
    if (!rst_q && state_q == LAST && state != READ) begin
      assert (dut.absent_q ? (avail_behind2_q & ~dut.first_q) == '0 : (dut.last_q & ~avail_behind2_q) == '0);
    end
    if (goes && !dut.absent_q && dut.first_q != '0) begin
      assert (one(dut.first_q) && one(dut.last_q) && !dut.none_q);
      for (int s = 0; s < SLOTS; s++) begin
        if (dut.first_q[s]) assert (operators[s] == dut.op_q);
        else if (dut.last_q[s]) assert (operators[s] == dut.behind_q);
      end
    end
    // ... as the program says, whose words they have been told
    if (goes && owner == mine_q) begin
      assert (dut.none_q == (head.first == NEAR_NONE ||
                             (head.lines && dut.packet_q.args.data > NEAR_BYTES_W'(NEAR_LINES_MOST))));
      if (dut.none_q || head.first == NEAR_CRYPT) assert (!dut.absent_q && dut.first_q == '0 && dut.last_q == '0);
      else if (!dut.absent_q) begin
        assert (one(dut.first_q) && one(dut.last_q) && (dut.first_q != dut.last_q) == (head.behind != NEAR_NONE));
        for (int s = 0; s < SLOTS; s++) begin
          if (dut.first_q[s]) assert (operators[s] == head.first && (at_q > head.words || told[s] == memory_q[1]));
          else if (dut.last_q[s]) begin
            assert (operators[s] == head.behind);
            assert (at_q > head.behind_words || WORDS_LOG2'(head.words + at_q) != behind_at_q ||
                    told[s] == memory_q[2]);
          end
        end
      end
    end
    // no counter of commands in a slot wraps
    for (int s = 0; s < SLOTS; s++) begin
      assert (dut.inside_q[s] <= 4'd10 && !(s_done[s] && empty[s]));
    end
    // rows of a slot go to one other slot at most, and to a slot those of one other
    for (int s = 0; s < SLOTS; s++) begin
      assert (route[s] == '0 || (one(route[s]) && !route[s][s]));
      for (int t = 0; t < SLOTS; t++) assert (s == t || (route[s] & route[t]) == '0);
    end
    // while a command is in its slots they are its program's, and its operators stay
    if (in_q) begin
      assert (one(first_q) && one(last_q));
      for (int s = 0; s < SLOTS; s++) begin
        if (used[s]) assert (!idle[s] && dut.holds_q[s] == mine_q && operators[s] != NEAR_NONE);
        // ... rows of the first go to the last alone, what the last gives to none; of no other slot come rows to either
        if (first_q[s]) assert (route[s] == (last_q & ~first_q));
        else assert ((route[s] & (first_q | last_q)) == '0);
        if (last_q[s]) assert (route[s] == '0);
      end
    end
    // a command waits only while others are in slots, or what it goes to has no room, or its program is written
    if (!rst_q && state == state_q) begin
      if (state inside {FIRST, LAST}) assert (empty_q != '1);
      else if (state == LOAD) assert (dut.left_q == left_q - 8'd1);
      else if (state == GO) assert (!room_q);
      else assert (state == IDLE || (state == READ && written_q));
    end
    if (!rst_q && state_q == LOAD && state == FETCH) assert (dut.second_q && dut.load_last_q != '0);
    // an operator that is missed is told
    if (!rst_q) begin
      assert (m_missed == (state_q == FIRST && avail2_q == '0 ? 16'd1 << op_q :
                           state_q == LAST && (avail_behind2_q & ~dut.first_q) == '0 ? 16'd1 << behind_q : 16'd0));
    end
    // the next command of a program finds it
    if (went_q && !written_q) assert ((used & ~dut.valid_q) == '0);
    // the one that was used least recently: there always is one
    assert (wanted == '0 ? m_oldest == '0 : one(m_oldest) && (m_oldest & ~wanted) == '0);
    // a slot that is off and idle stays so
    for (int s = 0; s < SLOTS; s++) begin
      if (may_q[s]) assert (empty[s] && !m_param_valid[s]);
      if (may_q[s] && state > READ) assert (!dut.first_q[s] && !dut.last_q[s]);
    end
  end

  // ---- how it comes about
  logic [SLOTS-1:0] loads;
  assign loads       = dut.load_first_q | dut.load_last_q;
  logic                  second;                // the words of what is behind are loaded
  logic [7:0]            count;                 // ... of what is loaded
  logic [WORDS_LOG2-1:0] base;
  logic [SLOTS-1:0]      first_is_told, behind_is_told;
  assign second = dut.second_q || dut.load_first_q == '0;
  assign count  = second ? head.behind_words : head.words;
  assign base   = second ? WORDS_LOG2'(head.words) : '0;
  for (genvar s = 0; s < SLOTS; s++) begin : g_told
    assign first_is_told[s]  = at_q > head.words || told[s] == memory_q[1];
    assign behind_is_told[s] = at_q > head.behind_words || WORDS_LOG2'(head.words + at_q) != behind_at_q ||
                               told[s] == memory_q[2];
  end
  always_comb if (started_q && !rst && !COVER) begin
    assert (state <= GO);
    // packets
    assert (count_q == out + 3'(state != IDLE));
    assert (dut.i_out.s_ready_q || m_packet_valid);
    if (state != IDLE) assert (dut.packet_q.computes);
    if (works) assert (state != IDLE && dut.packet_q == packet_q && packet_q.computes && !in_q);
    else if (present_q) begin
      assert ((pos_q == '0 ? m_packet : spare) == packet_q);
      if (packet_q.computes) assert ((pos_q == '0 ? m_chain : spare_chain) == chain_q);
    end
    if (present_q && packet_q.computes) assert (mine_q == {packet_q.place, packet_q.args.number});
    assert (!begun_q || (m_packet_valid && m_packet.computes));
    if (in_q) begin
      if (!began_q) assert (present_q && !works);
      if (present_q) begin
        assert (packet_q.computes && !chain_q.none && !chain_q.absent);
        assert (SLOTS'(chain_q.first) == first_q && SLOTS'(chain_q.last) == last_q);
        assert (began_q == (pos_q == '0 && begun_q));
      end
    end
    for (int s = 0; s < SLOTS; s++) begin
      assert (begun_in_q[s] <= 4'd8 && begun_in_q[s] >= 4'(began_q && used[s]));
      assert (dut.inside_q[s] == begun_in_q[s] + 4'(of_out[s] && !begun_q) + 4'(of_spare[s]));
    end
    // off
    for (int s = 0; s < SLOTS; s++) begin
      if (may_q[s]) assert (off_q[0][s] && off_q[1][s] && off_q[2][s]);
      if (off_q[0][s]) assert (!dut.fits_q[s] && !dut.fits_behind_q[s]);
      if (state > READ && (dut.first_q[s] || dut.last_q[s])) assert (!may_q[s]);
      if (m_param_valid[s]) assert (state inside {FETCH, LOAD, GO} && loads[s]);
      if (m_param_valid[s]) assert (!may_q[s]);
    end
    // the choice
    if (state inside {HEAD, MATCH, FIRST}) begin
      assert (dut.first_q == '0 && dut.last_q == '0 && loads == '0 && !dut.absent_q && !dut.second_q);
    end
    if (state > HEAD && state < GO) assert (!dut.none_q && dut.op_q != NEAR_NONE && dut.op_q != NEAR_CRYPT);
    if (state == GO && dut.first_q == '0 && !dut.absent_q) begin
      assert (dut.last_q == '0 && loads == '0 && (dut.none_q || dut.op_q == NEAR_CRYPT));
    end
    if (dut.absent_q && state > HEAD) assert (state == GO && !dut.none_q && dut.op_q != NEAR_CRYPT);
    if (state inside {[FETCH:LOAD]}) assert (!dut.absent_q && loads != '0);
    if (state inside {[LAST:LOAD]} || (state == GO && !dut.absent_q && dut.first_q != '0)) begin
      assert (one(dut.first_q) && !dut.none_q && dut.op_q != NEAR_NONE && dut.op_q != NEAR_CRYPT);
      assert (dut.load_first_q == '0 || dut.load_first_q == dut.first_q);
      assert ((dut.load_first_q & ~dut.empty) == '0);
      if (state == LAST) assert (dut.load_last_q == '0 && dut.behind_q != NEAR_NONE);
      else begin
        assert (one(dut.last_q));
        assert (dut.load_last_q == '0 || dut.load_last_q == dut.last_q);
        if (loads != '0) assert (((dut.first_q | dut.last_q) & ~dut.empty) == '0);
        if (dut.load_last_q != '0) assert (dut.first_q != dut.last_q);
        if (dut.behind_q == NEAR_NONE) assert (dut.first_q == dut.last_q);
        else if (dut.behind_q != dut.op_q) assert (dut.first_q != dut.last_q);
      end
      for (int s = 0; s < SLOTS; s++) begin
        if (dut.first_q[s]) assert (operators[s] == dut.op_q && operators_q[s] == dut.op_q);
        else if (dut.last_q[s] && state != LAST) begin
          assert (operators[s] == dut.behind_q && operators_q[s] == dut.behind_q);
        end
        if (dut.first_q[s] && !dut.load_first_q[s]) begin
          assert (dut.valid_q[s] && dut.holds_q[s] == owner && !dut.is_behind_q[s]);
        end
        if (state != LAST && dut.last_q[s] && !dut.first_q[s] && !dut.load_last_q[s]) begin
          assert (dut.valid_q[s] && dut.holds_q[s] == owner && dut.is_behind_q[s]);
        end
      end
    end
    if (owner == mine_q && state > HEAD) begin
      assert (dut.op_q == head.first && dut.behind_q == head.behind && dut.words_q == head.words);
      assert (dut.behind_words_q == head.behind_words);
      assert (dut.none_q == (head.first == NEAR_NONE ||
                             (head.lines && dut.packet_q.args.data > NEAR_BYTES_W'(NEAR_LINES_MOST))));
    end
    if (state inside {READ, HEAD}) assert (state == READ ? addr == '0 : addr_q == '0 && asked_q == owner);
    for (int s = 0; s < SLOTS; s++) begin
      if (operators_q[s] == NEAR_NONE && started_q) assert (!dut.valid_q[s]);
    end
    // an order of use
    for (int s = 0; s < SLOTS; s++) begin
      assert (!dut.later_q[s][s]);
      for (int t = 0; t < SLOTS; t++) begin
        assert (s == t || dut.later_q[s][t] != dut.later_q[t][s]);
        for (int u = 0; u < SLOTS; u++) begin
          assert (!dut.later_q[s][t] || !dut.later_q[t][u] || dut.later_q[s][u]);
        end
        // a program is in one slot, and what is behind it in one other
        assert (s == t || !dut.valid_q[s] || !dut.valid_q[t] || dut.holds_q[s] != dut.holds_q[t] ||
                dut.is_behind_q[s] != dut.is_behind_q[t]);
      end
    end
    // slots: rows come to what is behind another, and rows of others go nowhere
    for (int s = 0; s < SLOTS; s++) begin
      if (dut.valid_q[s] || !dut.empty[s]) begin
        if (dut.is_behind_q[s]) assert (route[s] == '0);
        for (int t = 0; t < SLOTS; t++) if (!dut.is_behind_q[s]) assert (!route[t][s]);
      end
      // ... which have been told what the program says
      if (dut.valid_q[s] && dut.holds_q[s] == mine_q) begin
        assert (dut.is_behind_q[s] ? behind_is_told[s] : first_is_told[s]);
      end
      // those of the command that is followed; a program has no others than a command that is in them
      if (in_q) begin
        if (first_q[s]) assert (!dut.is_behind_q[s]);
        else if (last_q[s]) assert (dut.is_behind_q[s]);
        else if ((dut.valid_q & used) != '0) assert (!(dut.valid_q[s] && dut.holds_q[s] == mine_q));
        if (dut.valid_q[s] && first_q[s]) assert ((first_q != last_q) == (head.behind != NEAR_NONE));
      end
    end
    // words come from where they are
    if (state inside {FIRST, LAST}) assert (!dut.second_q);
    if (state inside {FETCH, COME, LOAD}) assert (!second || dut.load_last_q != '0);
    if (state inside {COME, LOAD}) begin
      assert (dut.load_q == (second ? dut.load_last_q : dut.load_first_q));
      assert (dut.second_q || dut.load_first_q != '0);
    end
    if (owner == mine_q && !dut.absent_q) begin
      if (state == COME) assert (addr == base + WORDS_LOG2'(1) && dut.addr_q == 8'd1 && dut.left_q == count);
      if (state == LOAD) begin
        assert (asked_q == owner && read_q && addr_q == base + WORDS_LOG2'(dut.addr_q));
        assert (addr == base + WORDS_LOG2'(dut.addr_q) + WORDS_LOG2'(1));
        assert (9'(dut.left_q) + 9'(dut.addr_q) == 9'(count) + 9'd1 && dut.left_q != '0 && dut.addr_q != '0);
      end
      for (int s = 0; s < SLOTS; s++) begin
        if (dut.load_first_q[s]) begin
          if ((state inside {FETCH, COME, LOAD} && second) || state == GO) assert (first_is_told[s]);
          if (state == LOAD && !second && at_q < dut.addr_q) assert (first_is_told[s]);
        end
        if (dut.load_last_q[s]) begin
          if (state == GO) assert (behind_is_told[s]);
          if (state == LOAD && second && at_q < dut.addr_q) assert (behind_is_told[s]);
        end
      end
    end
  end

  // ---- a chain in whose last slot another owner's was first before, and rows of it went on
  logic [SLOTS-1:0] fed_q;
  always_ff @(posedge clk) begin
    for (int s = 0; s < SLOTS; s++) if (route[s] != '0) fed_q[s] <= !rst;
    if (rst) fed_q <= '0;
  end
  logic second_packet_q;
  always_ff @(posedge clk) second_packet_q <= !rst && (second_packet_q || push);
  always_comb if (COVER) begin
    assume (rst == !started_q && off == '0 && allowed == '1 && wanted == '0 && !written && SLOTS == 3);
    assume (operators == {NEAR_CSV, NEAR_GREP, NEAR_FILTER} && mine_q == '0 && at_q == 8'd1 && behind_at_q == 6'd2);
    assume (s_packet == near_packet_t'{computes: 1'b1, place: PLACE_W'(!second_packet_q), default: '0});
    assume (s_packet_valid && mark && m_packet_ready == begun_q && begins == (m_packet_valid && !begun_q));
    assume (s_done == (begun_q && !in_q ? 3'b110 : 3'b000) && !gone && junk == '0 && memory_q[2:1] == '0);
    assume (memory_q[0] == {16'd1, 8'd1, NEAR_GREP, NEAR_FILTER});
    assume (word == (owner.place == '0 ? memory_q[0] : {16'd1, 8'd1, NEAR_CSV, NEAR_GREP}) || state != HEAD);
    cover (!rst && in_q && began_q && first_q != last_q && (fed_q & last_q) != '0);
  end
endmodule
