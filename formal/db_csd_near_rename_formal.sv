// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_near_rename: a command's slots have its own program, an operator each, and rows go from its first
// through all of them to its last and nowhere else.
//
// One packet, any (mark), is followed from where it comes in until its command has left its slots; of its owner's
// program, of up to OPS operators, the heads and one word (at_q, any) of each operator. All else is free: where
// these words are (what lies at the same place is the same), other owners' packets, what their programs say, what a
// function may use, when programs are written and slots go off. Assumed is what the blocks around give. Of the
// program that is followed: behind an operator comes one that a slot can have (the firmware). A command leaves its
// slots together, once it has begun; 8 are in a slot at most (db_csd_near). What is in a slot is exchanged after it
// has been off for 4 cycles and was idle (db_csd_near_exchange).
module db_csd_near_rename_formal
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int SLOTS = 3,
  parameter int OPS   = 3,             // of the program that is followed, at most
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
  input logic [OPS-1:0][31:0]   writes_head, writes_word,  // what the program is then
  input logic [31:0]            junk             // what is in a slot that was exchanged
);
  localparam int WORDS_LOG2 = 6;
  localparam logic [2:0] IDLE = 3'd0, READ = 3'd1, HEAD = 3'd2, MATCH = 3'd3, PICK = 3'd4, COME = 3'd5, LOAD = 3'd6,
                         GO = 3'd7;

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
    logic [7:0] unused_high;
    logic [7:0] words;
    logic [2:0] unused_low;
    logic       more;
    logic [3:0] op;
  } head_t;
  near_owner_t           mine_q, asked_q;
  logic [7:0]            at_q;                  // of a word of each operator, as the operator counts
  logic [WORDS_LOG2-1:0] addr_q;
  logic [OPS-1:0][31:0]  heads_q, words_q;
  logic                  mine_is_written, read_q;
  head_t [OPS-1:0]       head;
  logic [OPS:0][WORDS_LOG2-1:0]     base;       // where the head of each is; behind the last, what would be the next
  logic [2*OPS-1:0][WORDS_LOG2-1:0] where;      // heads, and words
  logic [2*OPS-1:0][31:0]           what;
  logic [OPS-1:0]        there;                 // the program has that operator
  assign mine_is_written = written && written_owner == mine_q;
  assign base[0] = '0;
  for (genvar k = 0; k < OPS; k++) begin : g_head
    assign head[k]       = head_t'(heads_q[k][24:0]);
    assign base[k+1]     = base[k] + WORDS_LOG2'(head[k].words) + WORDS_LOG2'(1);
    assign where[k]      = base[k];
    assign where[OPS+k]  = base[k] + WORDS_LOG2'(at_q);
    assign what[k]       = heads_q[k];
    assign what[OPS+k]   = words_q[k];
    if (k == 0) assign there[k] = 1'b1;
    else assign there[k] = there[k-1] && head[k-1].more;
  end
  always_ff @(posedge clk) begin
    mine_q  <= mine_q;
    at_q    <= at_q;
    heads_q <= mine_is_written ? writes_head : heads_q;
    words_q <= mine_is_written ? writes_word : words_q;
    read_q  <= owner == mine_q && !mine_is_written;
    asked_q <= owner;
    addr_q  <= addr;
  end
  always_comb begin
    assume (at_q != '0);
    for (int k = 0; k < OPS; k++) begin
      if (there[k] && k > 0) assume (head[k].op != NEAR_NONE && head[k].op != NEAR_CRYPT);
      if (there[k] && k == OPS - 1) assume (!head[k].more);
    end
    for (int i = 0; i < 2 * OPS; i++) begin
      for (int j = i + 1; j < 2 * OPS; j++) if (where[i] == where[j]) assume (what[i] == what[j]);
      if (read_q && addr_q == where[i]) assume (word == what[i]);
    end
  end
  logic none;                                   // there is none, or not for the packet
  assign none = head[0].op == NEAR_NONE || (head[0].lines && dut.packet_q.args.data > NEAR_BYTES_W'(NEAR_LINES_MOST));

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

  function automatic logic one(input logic [SLOTS-1:0] of);
    return of != '0 && (of & (of - 1'b1)) == '0;
  endfunction

  // Where rows go to from some slots.
  function automatic logic [SLOTS-1:0] next(input logic [SLOTS-1:0] of, input logic [SLOTS-1:0][SLOTS-1:0] by);
    logic [SLOTS-1:0] to;
    to = '0;
    for (int s = 0; s < SLOTS; s++) if (of[s]) to |= by[s];
    return to;
  endfunction

  // The slot behind the one of operator k: none behind the last.
  function automatic logic [SLOTS-1:0] behind(input logic [OPS-1:0][SLOTS-1:0] way, input int k);
    return k + 1 < OPS ? way[(k+1)%OPS] : '0;
  endfunction

  function automatic logic [SLOTS-1:0] all_of(input logic [OPS-1:0][SLOTS-1:0] way);
    all_of = '0;
    for (int k = 0; k < OPS; k++) all_of |= way[k];
  endfunction

  // ---- packets inside; the one that is followed, and its command
  logic             push, pop, present_q, goes, works, nowhere;
  logic [2:0]       count_q, pos_q, out;
  near_packet_t     packet_q;
  near_chain_t      chain_q, chain;
  logic             in_q, began_q;              // it is in slots; it has begun
  logic             kept_q;                     // since it went, nothing took its program from its slots
  logic [OPS-1:0][SLOTS-1:0] way, way_q;        // slots of the command that goes, as its rows go; its
  logic [OPS-1:0]   there_q;
  logic [SLOTS-1:0] slots_q, used, unfit;
  logic [SLOTS-1:0][3:0] had_q;                 // operators then
  assign push  = s_packet_valid && s_packet_ready;
  assign pop   = m_packet_valid && m_packet_ready;
  assign out   = 3'(m_packet_valid) + 3'(!dut.i_out.s_ready_q);
  assign works = present_q && pos_q == out;
  assign goes  = dut.goes;
  assign chain = dut.chain;
  assign used  = in_q ? slots_q : '0;
  assign unfit = off | (place == mine_q.place ? ~allowed : '0);
  assign way[0] = SLOTS'(chain.first);
  for (genvar k = 1; k < OPS; k++) begin : g_way
    assign way[k] = next(way[k-1], route);
  end
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
    if (mine_is_written || (slots_q & unfit) != '0 || (dut.chooses && owner != mine_q && (slots_q & dut.chosen) != '0))
      kept_q <= 1'b0;
    if (works && goes) begin
      chain_q <= chain;
      in_q    <= !chain.absent && !chain.none && chain.slots != '0;
      kept_q  <= !chain.absent && !chain.none && chain.slots != '0 && !mine_is_written &&
                 (SLOTS'(chain.slots) & unfit) == '0;
      slots_q <= SLOTS'(chain.slots);
      way_q   <= way;
      there_q <= there;
      had_q   <= operators;
      began_q <= 1'b0;
    end
    if (present_q && pos_q == '0 && begins) began_q <= 1'b1;
    if (gone) in_q <= 1'b0;
    if (rst) begin
      count_q   <= '0;
      present_q <= 1'b0;
      in_q      <= 1'b0;
      kept_q    <= 1'b0;
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
  assign of_out   = m_packet_valid && m_packet.computes && !nowhere ? SLOTS'(m_chain.slots) : '0;
  assign of_spare = !dut.i_out.s_ready_q && spare.computes && !spare_nowhere ? SLOTS'(spare_chain.slots) : '0;
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

  // ---- what must hold
  logic [SLOTS-1:0] avail_q, avail2_q;          // that the function may use, with the operator
  logic [SLOTS-1:0] empty, empty_q, empty2_q, taken_q, fresh, told_to_q;  // taken_q: for the command; fresh: now
  logic [2:0]       state, state_q;
  logic [3:0]       op_q;
  logic [7:0]       left_q, told_addr_q;
  logic             room_q, written_q;
  assign state = 3'(dut.state_q);
  assign fresh = dut.chain_q & ~taken_q;
  for (genvar s = 0; s < SLOTS; s++) begin : g_empty
    assign empty[s] = dut.inside_q[s] == '0;
  end
  always_ff @(posedge clk) begin
    state_q     <= state;
    empty_q     <= empty;
    empty2_q    <= empty_q;
    op_q        <= dut.op_q;
    taken_q     <= dut.chain_q;
    left_q      <= dut.left_q;
    told_to_q   <= m_param_valid;
    told_addr_q <= m_param.addr;
    room_q      <= dut.i_out.s_ready_q;
    written_q   <= written;
    for (int s = 0; s < SLOTS; s++) avail_q[s] <= allowed[s] && !off[s] && operators[s] == dut.op_q;
    avail2_q <= avail_q;
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
    // what a slot is told: only while no command is inside; its words from the first on, and no more than there are
    assert ((m_param_valid & ~empty) == '0);
    if (!rst_q && m_param_valid != '0) begin
      assert (one(m_param_valid) && (told_to_q == '0 || told_to_q == m_param_valid));
      assert (m_param.addr == (told_to_q == '0 ? 8'd1 : told_addr_q + 8'd1));
      for (int k = 0; k < OPS; k++) begin
        if (owner == mine_q && int'(dut.stage_q) == k + 1) assert (m_param.addr <= head[k].words);
      end
    end
    // a slot that is chosen is allowed, has the operator, and is none of the command's yet; none, if there is none
    if (!rst_q && state_q == PICK && !(state inside {PICK, READ})) begin
      if (chain.absent) assert ((avail2_q & ~taken_q) == '0 && dut.chain_q == taken_q);
      else assert (one(fresh) && (fresh & ~avail2_q) == '0 && SLOTS'(chain.last) == fresh);
    end else if (!rst_q && state == GO && state_q != GO) assert (!chain.absent);
    // the command that goes has as many slots as its program has operators, in their order, with their words
    if (goes && owner == mine_q) begin
      assert (chain.none == none);
      if (none || head[0].op == NEAR_CRYPT) assert (!chain.absent && {chain.slots, chain.first, chain.last} == '0);
      else if (!chain.absent) begin
        assert (SLOTS'(chain.slots) == chain.slots && SLOTS'(chain.first) == chain.first);
        for (int k = 0; k < OPS; k++) if (there[k]) begin
          assert (one(way[k]));
          for (int s = 0; s < SLOTS; s++) if (way[k][s]) begin
            assert (operators[s] == head[k].op && (at_q > head[k].words || told[s] == words_q[k]));
          end
          for (int j = 0; j < k; j++) assert (way[j] != way[k]);
          if (!head[k].more) assert (chain.last == NEAR_SLOTS_MOST'(way[k]) && next(way[k], route) == '0);
        end
        assert (SLOTS'(chain.slots) == all_of(way));
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
    // while a command is in its slots, they keep their operators
    if (in_q) begin
      assert (all_of(way_q) == slots_q);
      for (int s = 0; s < SLOTS; s++) begin
        if (used[s]) assert (!idle[s] && operators[s] == had_q[s] && operators[s] != NEAR_NONE);
        // ... rows of each go to the next alone, what the last gives to none; of no other slot come rows to any
        if (!used[s]) assert ((route[s] & used) == '0);
        for (int k = 0; k < OPS; k++) begin
          if (way_q[k][s]) assert (route[s] == behind(way_q, k));
        end
      end
    end
    // a command waits only while others are in slots, or what it goes to has no room, or its program is written
    if (!rst_q && state == state_q) begin
      if (state == PICK) assert (empty2_q != '1);
      else if (state == LOAD) assert (dut.left_q == left_q - 8'd1);
      else if (state == GO) assert (!room_q);
      else assert (state == IDLE || (state == READ && written_q));
    end
    // ... else it goes on, or to its next operator with one more slot
    if (!rst_q && state_q != IDLE && state != IDLE && !written_q) begin
      assert ((taken_q & ~dut.chain_q) == '0);
      assert (state >= state_q || (state == HEAD && state_q == PICK) || (state == READ && state_q == LOAD));
    end
    // an operator that is missed is told
    if (!rst_q) begin
      assert (m_missed == (state_q == PICK && state != READ && (avail2_q & ~taken_q) == '0 ? 16'd1 << op_q : 16'd0));
    end
    // the next command of a program finds it, without a wait and a word
    if (kept_q) begin
      assert ((m_param_valid & slots_q) == '0);
      if (owner == mine_q && goes && !none) assert (way == way_q && SLOTS'(chain.slots) == slots_q && !chain.absent);
      if (owner == mine_q && !rst_q) assert (state != PICK || state_q != PICK);
      if (owner == mine_q) assert (!(state inside {COME, LOAD}));
    end
    // the one that was used least recently: there always is one
    assert (wanted == '0 ? m_oldest == '0 : one(m_oldest) && (m_oldest & ~wanted) == '0);
    // a slot that is off and idle stays so
    for (int s = 0; s < SLOTS; s++) begin
      if (may_q[s]) assert (empty[s] && !m_param_valid[s]);
      if (may_q[s] && state != IDLE) assert (!dut.chain_q[s]);
    end
  end

  // ---- how it comes about
  logic [SLOTS-1:0][SLOTS-1:0] taken;           // for the command, by operator
  logic [OPS-1:0][SLOTS-1:0]   is_told;
  for (genvar s = 0; s < SLOTS; s++) begin : g_taken
    for (genvar k = 0; k < SLOTS; k++) begin : g_op
      assign taken[k][s] = dut.chain_q[s] && int'(dut.holds_stage_q[s]) == k;
    end
    for (genvar k = 0; k < OPS; k++) begin : g_told
      assign is_told[k][s] = at_q > head[k].words || told[s] == words_q[k];
    end
  end
  always_comb if (started_q && !rst && !COVER) begin
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
        assert (packet_q.computes && !chain_q.none && !chain_q.absent && SLOTS'(chain_q.slots) == slots_q);
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
      if (off_q[0][s]) assert (!dut.fits_q[s]);
      if (m_param_valid[s]) assert (state inside {READ, LOAD, GO} && dut.loads_q[s]);
    end
    // what is taken for the command: it holds an operator each, is loaded or is to be
    if (state != IDLE) begin
      assert (int'(dut.stage_q) <= SLOTS && (dut.loads_q & ~dut.chain_q) == '0);
      if (dut.stage_q == '0) assert (dut.chain_q == '0 && dut.first_q == '0 && dut.prev_q == '0);
      for (int k = 0; k < SLOTS; k++) begin
        if (k < int'(dut.stage_q)) assert (one(taken[k]));
        if (k == 0 && dut.stage_q != '0) assert (dut.first_q == taken[k]);
        if (k + 1 == int'(dut.stage_q)) assert (dut.prev_q == taken[k]);
        // its rows go to the next; to it come those of the one before alone
        if (k + 1 < int'(dut.stage_q)) assert (next(taken[k], route) == taken[(k+1)%SLOTS]);
        for (int s = 0; s < SLOTS; s++) begin
          if (k == 0 || !taken[(k+SLOTS-1)%SLOTS][s]) assert ((route[s] & taken[k]) == '0);
        end
      end
      for (int s = 0; s < SLOTS; s++) if (dut.chain_q[s]) begin
        assert (dut.holds_q[s] == owner && dut.holds_stage_q[s] < dut.stage_q);
        assert (dut.loads_q[s] ? empty[s] && !dut.valid_q[s] : dut.valid_q[s]);
        assert (!may_q[s] && operators_q[s] != NEAR_NONE);
      end
      if (state inside {COME, LOAD} || (state == GO && !dut.none_q && !dut.absent_q && dut.op_q != NEAR_CRYPT)) begin
        assert (dut.stage_q != '0);
        if (!dut.more_q || state == GO) assert (next(dut.prev_q, route) == '0);
      end
      assert (!dut.absent_q || (state == GO && !dut.none_q && dut.op_q != NEAR_CRYPT));
      assert (!dut.none_q || state == GO);
      if (state inside {[MATCH:LOAD]}) assert (dut.op_q != NEAR_NONE && dut.op_q != NEAR_CRYPT);
    end
    if (state == PICK) begin
      assert (dut.fed_q == next(dut.prev_q, route));
      assert (dut.prev_empty_q == ((dut.prev_q & ~empty_q) == '0) && (empty_q & ~empty) == '0);
      for (int s = 0; s < SLOTS; s++) if (dut.same_q[s] && dut.fits_q[s]) begin
        assert (dut.valid_q[s] && dut.holds_q[s] == owner && dut.holds_stage_q[s] == dut.stage_q);
      end
    end
    for (int s = 0; s < SLOTS; s++) begin
      if (operators_q[s] == NEAR_NONE && started_q) assert (!dut.valid_q[s]);
      // an operator of a program is in one slot; it has been told what the program says
      for (int t = 0; t < SLOTS; t++) begin
        assert (s == t || !dut.valid_q[s] || !dut.valid_q[t] || dut.holds_q[s] != dut.holds_q[t] ||
                dut.holds_stage_q[s] != dut.holds_stage_q[t]);
      end
      if (dut.valid_q[s] && dut.holds_q[s] == mine_q) begin
        assert (int'(dut.holds_stage_q[s]) < OPS);
        for (int k = 0; k < OPS; k++) if (int'(dut.holds_stage_q[s]) == k) assert (there[k] && is_told[k][s]);
      end
    end
    // the program that is followed: where its words are, which have been told
    if (state != IDLE && owner == mine_q) begin
      if (state == GO && (none || head[0].op == NEAR_CRYPT)) begin
        assert (dut.none_q == none && dut.stage_q == '0 && !dut.absent_q && (none || dut.op_q == NEAR_CRYPT));
      end else begin
        assert (!dut.none_q);
        if (dut.stage_q != '0 || !(state inside {READ, HEAD})) assert (!none && head[0].op != NEAR_CRYPT);
        for (int k = 0; k < OPS; k++) begin
          if (int'(dut.stage_q) == k) begin
            if (state inside {[READ:PICK]} || dut.absent_q) assert (there[k]);
            if (state inside {[READ:PICK]}) assert (dut.at_q == base[k]);
            if (state == READ) assert (addr == base[k]);
            if (state == HEAD) assert (addr_q == base[k] && asked_q == mine_q && read_q);
            if (state inside {MATCH, PICK}) begin
              assert (dut.op_q == head[k].op && dut.more_q == head[k].more && dut.words_q == head[k].words);
            end
            if (state == PICK) assert (dut.next_at_q == base[k+1] && addr == base[k+1]);
            if (state == GO && !dut.absent_q) assert (k > 0);
          end
          if (int'(dut.stage_q) == k + 1 && state inside {COME, LOAD, GO} && !dut.absent_q) begin
            assert (there[k] && dut.more_q == head[k].more && (state != GO || !dut.more_q));
            assert (dut.op_q == head[k].op && dut.at_q == base[k+1]);
            if (state inside {COME, LOAD}) assert (dut.words_q == head[k].words);
            if (state == COME) assert (addr == base[k] + WORDS_LOG2'(1));
            if (state == LOAD) begin
              assert (asked_q == mine_q && read_q && addr_q == base[k] + WORDS_LOG2'(dut.addr_q));
              assert (addr == base[k] + WORDS_LOG2'(dut.addr_q) + WORDS_LOG2'(1));
            end
          end
          for (int s = 0; s < SLOTS; s++) if (k < SLOTS && taken[k%SLOTS][s]) begin
            assert (there[k] && operators_q[s] == head[k].op);
            if (!(state == COME && dut.prev_q[s]) && !(state == LOAD && dut.prev_q[s] && at_q >= dut.addr_q)) begin
              assert (is_told[k][s]);
            end
          end
        end
        assert (int'(dut.stage_q) <= OPS && (int'(dut.stage_q) < OPS || state inside {COME, LOAD, GO}));
      end
    end
    if (state inside {COME, LOAD}) assert (dut.chosen_q == dut.prev_q && (dut.prev_q & ~dut.loads_q) == '0);
    if (state == COME) assert (dut.addr_q == 8'd1 && dut.left_q == dut.words_q);
    if (state == LOAD) begin
      assert (9'(dut.left_q) + 9'(dut.addr_q) == 9'(dut.words_q) + 9'd1);
      assert (dut.addr_q != '0 && (dut.left_q != '0 || dut.addr_q == 8'd1));
      if (m_param_valid == '0) assert (dut.addr_q == 8'd1);
      else assert (m_param_valid == dut.prev_q && m_param.addr + 8'd1 == dut.addr_q);
    end
    // slots of the command that is followed; as long as one has its words the program is what it was
    if (in_q) begin
      assert (there_q[0]);
      for (int k = 0; k < OPS; k++) begin
        if (there_q[k]) assert (one(way_q[k]));
        else assert (way_q[k] == '0);
        for (int s = 0; s < SLOTS; s++) if (way_q[k][s]) begin
          assert (!may_q[s] && operators_q[s] == had_q[s]);
          assert (dut.holds_q[s] == mine_q && int'(dut.holds_stage_q[s]) == k);
          if (dut.valid_q[s]) assert ((behind(way_q, k) != '0) == head[k].more);
        end
      end
    end
    // as long as they are kept
    if (kept_q) begin
      assert (there_q == there && slots_q == all_of(way_q) && (slots_q & off_q[0]) == '0);
      assert (head[0].op != NEAR_NONE && head[0].op != NEAR_CRYPT);
      for (int k = 0; k < OPS; k++) begin
        if (there_q[k]) assert (one(way_q[k]));
        else assert (way_q[k] == '0);
        if (behind(way_q, k) != '0) assert (next(way_q[k], route) == behind(way_q, k));
        for (int s = 0; s < SLOTS; s++) if (way_q[k][s]) begin
          assert (dut.valid_q[s] && dut.holds_q[s] == mine_q && int'(dut.holds_stage_q[s]) == k);
          assert (operators_q[s] == head[k].op);
          if (state == PICK && owner == mine_q && int'(dut.stage_q) == k) assert (dut.same_q[s] && dut.fits_q[s]);
        end
        if (state != IDLE && owner == mine_q && k < int'(dut.stage_q)) assert (taken[k%SLOTS] == way_q[k]);
      end
      if (state != IDLE) assert (owner == mine_q ? dut.loads_q == '0 : (dut.chain_q & slots_q) == '0);
      if (state != IDLE && owner == mine_q) assert (!dut.absent_q);
    end
    // an order of use
    for (int s = 0; s < SLOTS; s++) begin
      assert (!dut.later_q[s][s]);
      for (int t = 0; t < SLOTS; t++) begin
        assert (s == t || dut.later_q[s][t] != dut.later_q[t][s]);
        for (int u = 0; u < SLOTS; u++) begin
          assert (!dut.later_q[s][t] || !dut.later_q[t][u] || dut.later_q[s][u]);
        end
      end
    end
  end

  // ---- a chain in whose last slot another owner's was first before, and rows of it went on; one more command of it
  logic [SLOTS-1:0] fed_q;
  logic             second_packet_q;
  always_ff @(posedge clk) begin
    for (int s = 0; s < SLOTS; s++) if (route[s] != '0) fed_q[s] <= !rst;
    if (rst) fed_q <= '0;
    second_packet_q <= !rst && (second_packet_q || push);
  end
  always_comb if (COVER) begin
    assume (rst == !started_q && off == '0 && allowed == '1 && wanted == '0 && !written && SLOTS == 3);
    assume (operators == {NEAR_CSV, NEAR_GREP, NEAR_FILTER} && mine_q == '0 && at_q == 8'd1);
    assume (s_packet == near_packet_t'{computes: 1'b1, place: PLACE_W'(!second_packet_q), default: '0});
    assume (s_packet_valid && mark && m_packet_ready == begun_q && begins == (m_packet_valid && !begun_q));
    assume (s_done == (begun_q && !in_q ? 3'b110 : 3'b000) && !gone && junk == '0 && words_q == '0);
    assume (heads_q[0] == {24'h1, 4'h1, NEAR_FILTER} && heads_q[1] == {24'h1, 4'h0, NEAR_GREP});
    if (state == HEAD && owner.place != '0) begin
      assume (word == (dut.stage_q == '0 ? {24'h1, 4'h1, NEAR_GREP} : {24'h1, 4'h0, NEAR_CSV}));
    end
    cover (!rst && in_q && began_q && way_q[1] != '0 && (fed_q & way_q[1]) != '0);
    cover (!rst && goes && kept_q && owner == mine_q && way == way_q && way[1] != '0);
  end
endmodule
