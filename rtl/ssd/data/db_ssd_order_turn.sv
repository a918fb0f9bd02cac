// SPDX-License-Identifier: Apache-2.0
// Whose command goes to an engine next: fair queueing by what commands cost, for both engines in turn.
//
// Each function has a list of its commands for each engine, in the order in which they came. The command at a list's head
// has a start and a finish, which is its step (cost by weight) later. It starts where the one before it finished, or at the
// engine's clock, if its function had none and owes nothing. The head with the earliest finish goes, and the clock is not
// before its start.
// So functions that always have commands move bytes in proportion to their weights. One that has commands seldom waits
// for less than a command of each other, for hardly any if its own are smaller; nothing is saved up, and what a function
// had too much (finish behind the clock) it owes.
// A function may have a deadline, in which its commands should go. Such a head goes before those in the order above, the
// one that is due first, while it is not late and its finish is not behind the clock by more than ADVANCE; and while others
// have commands the clock stands still. So a function with a deadline is ahead of its share by ADVANCE at most, and what
// is late already hurries no more: over any longer time all have their shares, whatever the deadlines.
// A command that goes in pieces stays at the head until its last has gone; each piece is a turn of its own.
// Lists, steps and finishes are in RAM; a turn looks at each function that has commands or owes, one a cycle. Engines that
// both may have a command take turns.
// Latency: entry to m_go 7 cycles, when open and nothing else waits. Throughput: a command every n + 5 cycles while n
// functions have commands for the engine or owe, of both engines together; entries, one every 2 cycles.
module db_ssd_order_turn
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int NUM_FN   = 2,    ///< functions, 2..17
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter bit DEADLINES = 1'b0 ///< functions may have deadlines
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              us_turns,  ///< changes each microsecond
  input  logic [1:0]        s_valid,   ///< pulse: a command for an engine came; not both at once
  input  order_entry_t      s_entry,
  input  logic [1:0]        open,      ///< an engine may have another command
  output logic [1:0]        m_go,      ///< the command of slot m_slot goes to an engine
  output logic [SLOT_W-1:0] m_slot,
  output logic [PLACE_W-1:0] m_place,  ///< ... of this function
  input  logic              s_more,    ///< a cycle after m_go: that was a piece of a command, there are more
  output logic [1:0]        busy       ///< commands for an engine wait; may be said a little too long
);
  localparam int LISTS  = 2 ** (PLACE_W + 1);  // engine, place
  localparam int CMD_W  = $clog2(NUM_CMDS);
  localparam int TIME_W = STEP_W + 3;   // of finishes, which are within 4 * 2 ** STEP_W of each other
  localparam int ADVANCE_LOG2 = STEP_W - 2;  // 512 KiB by weight 1, of which a command has at most 2 MiB
  localparam int US_W   = DEADLINES ? 20 : 1;  // of a time, us: half a second on what is late looks as if it were not

  if (NUM_FN < 2 || NUM_FN > MAX_FN) begin : g_bad_num_fn
    $error("%m: NUM_FN must be 2..17");
  end

  typedef enum logic [2:0] {REST, SCAN, GO, NEXT, FINISH} state_e;
  state_e state_q;
  logic   engine_q;       // whose turn it is
  logic   engine, begins; // REST: the engine of a turn that begins; it does
  logic   found;          // SCAN: all have been looked at
  logic   entry_first;    // the entry is the only one of its function
  logic   finishes;       // the next of the function that had the turn is at the head

  // ---- time
  logic [US_W-1:0] us_q;
  logic            us_turns_q;
  always_ff @(posedge clk) begin
    us_turns_q <= us_turns;
    us_q       <= rst ? '0 : us_q + US_W'(us_turns != us_turns_q);
  end

  // ---- entries wait while a list changes; one that comes while the earliest is looked for is looked at, too
  typedef struct packed {
    logic               engine;
    logic [PLACE_W-1:0] place;
    logic [CMD_W-1:0]   slot;
    logic [STEP_W-1:0]  step;
    logic               hurries;  // it has a deadline:
    logic [US_W-1:0]    due;
  } entry_t;
  logic       entry_valid_q, entry_take, room;
  entry_t     entry_q, entry_next;
  logic       next_valid, next_take;
  logic [3:0] level;
  logic [1:0] waits_q;      // entries of an engine are in the FIFO or behind it, or were
  db_fifo #(.WIDTH($bits(entry_t)), .DEPTH(8), .AROUND(1'b0)) i_entries (
    .clk, .rst, .s_valid(s_valid != '0), .s_ready(room),
    .s_data({s_valid[1], s_entry.place, s_entry.slot[CMD_W-1:0], s_entry.step, s_entry.deadline != '0,
             us_q + US_W'(s_entry.deadline)}),
    .m_valid(next_valid), .m_ready(next_take), .m_data(entry_next), .level);
  assign next_take = !entry_valid_q || entry_take;
  always_comb begin
    unique case (state_q)
      REST, SCAN: entry_take = entry_valid_q;
      FINISH:     entry_take = entry_valid_q && !finishes;
      default:    entry_take = 1'b0;
    endcase
  end

  // ---- lists
  logic [CMD_W-1:0]       head_mem_q [LISTS];
  logic [CMD_W-1:0]       tail_mem_q [LISTS];
  logic [CMD_W-1:0]       next_mem_q [NUM_CMDS];
  logic [TIME_W-1:0]      finish_mem_q [LISTS];    // of the heads
  logic [US_W:0]          due_mem_q [LISTS];       // ... hurries, due
  logic [1:0][NUM_FN-1:0] active_q;        // has commands
  logic [1:0][NUM_FN-1:0] owes_q;          // has none, and its last one's finish is behind the clock
  logic [NUM_FN-1:0]      entry_hot_q, entry_active, entry_owes;
  logic [TIME_W-1:0]      clock_q, clock_other_q;  // of engine_q, of the other one
  logic                   last_q;
  logic [CMD_W-1:0]       next_q, slot_q;
  logic [PLACE_W-1:0]     place_q;
  logic [STEP_W-1:0]      step;
  logic                   hurries;
  logic [US_W-1:0]        due;
  logic [PLACE_W:0]       entry_list, list;        // the entry's, that of the turn
  assign entry_list   = {entry_q.engine, entry_q.place};
  assign list         = {engine_q, place_q};
  assign finishes     = state_q == FINISH && !last_q;
  assign entry_active = active_q[entry_q.engine] & entry_hot_q;
  assign entry_owes   = owes_q[entry_q.engine] & entry_hot_q;
  assign entry_first  = entry_active == '0;
  db_ram_sdp #(.WIDTH(STEP_W + 1 + US_W), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_steps (
    .clk, .we(entry_take), .waddr(entry_q.slot), .wdata({entry_q.step, entry_q.hurries, entry_q.due}), .re(1'b1),
    .raddr(state_q == GO || s_more ? slot_q : next_q), .rdata({step, hurries, due}));

  // ---- the first that is due, or else the earliest finish, of those that have commands
  logic [NUM_FN-1:0]  todo, todo_q, hot;
  logic               none, none_q, look_q, look_active_q, any_q;  // none is left to look at
  logic               entry_joins;                                 // the entry's function is to be looked at
  logic [PLACE_W-1:0] look_place_q;
  logic [TIME_W-1:0]  base, finish, ahead, finish_q, late, passed, start_q;
  logic [US_W-1:0]    look_due, due_q, sooner, left;
  logic               look_hurries, in_advance, urgent, urgent_q, better;
  logic               others_q;          // another function has commands, too
  function automatic logic [PLACE_W-1:0] first(input logic [NUM_FN-1:0] which);
    first = '0;
    for (int f = NUM_FN - 1; f >= 0; f--) if (which[f]) first = PLACE_W'(f);
  endfunction
  assign engine = open[!engine_q] && active_q[!engine_q] != '0 ? !engine_q : engine_q;
  assign begins = state_q == REST && ((open[0] && active_q[0] != '0) || (open[1] && active_q[1] != '0));
  assign hot    = todo_q & (~todo_q + 1'b1);
  assign found  = none_q;
  // What comes at any other time is active when the next turn begins.
  assign entry_joins = entry_take && entry_first &&
                       (state_q == SCAN ? !found && entry_q.engine == engine_q : begins && entry_q.engine == engine);
  always_comb begin
    todo = todo_q & ~hot;
    none = todo == '0 && !entry_joins;
    if (state_q == REST) begin
      todo = begins ? active_q[engine] | owes_q[engine] : '0;
      none = !begins;
    end
    if (entry_joins) todo |= entry_hot_q;
  end
  assign finish = finish_mem_q[{engine_q, look_place_q}];
  assign ahead  = finish - finish_q;
  assign {look_hurries, look_due} = due_mem_q[{engine_q, look_place_q}];
  // finish within ADVANCE behind the clock
  assign in_advance = !late[TIME_W-1] || late[TIME_W-1:ADVANCE_LOG2] == '1;
  assign left   = look_due - us_q;
  assign sooner = look_due - due_q;
  assign urgent = DEADLINES && look_hurries && in_advance && !left[US_W-1];
  assign better = urgent != urgent_q ? urgent : urgent ? sooner[US_W-1] : ahead[TIME_W-1];
  always_comb begin
    base = entry_q.engine == engine_q ? clock_q : clock_other_q;
    if (entry_owes != '0) base = finish_mem_q[entry_list];
    if (finishes)         base = finish_q;
  end
  assign late   = clock_q - finish;
  assign passed = start_q - clock_q;

  always_ff @(posedge clk) begin
    // entries
    if (entry_take) begin
      tail_mem_q[entry_list] <= entry_q.slot;
      if (!entry_first) next_mem_q[tail_mem_q[entry_list]] <= entry_q.slot;
    end
    if ((entry_take && entry_first) || (state_q == NEXT && !last_q && !s_more))
      head_mem_q[state_q == NEXT ? list : entry_list] <= state_q == NEXT ? next_q : entry_q.slot;
    if ((entry_take && entry_first) || finishes) begin
      finish_mem_q[finishes ? list : entry_list] <= base + TIME_W'(finishes ? step : entry_q.step);
      due_mem_q[finishes ? list : entry_list]    <= finishes ? {hurries, due} : {entry_q.hurries, entry_q.due};
    end
    for (int e = 0; e < 2; e++) begin
      for (int f = 0; f < NUM_FN; f++) begin
        if (look_q && !look_active_q && !late[TIME_W-1] && engine_q == (e == 1) && look_place_q == PLACE_W'(f))
          owes_q[e][f] <= 1'b0;
        if (entry_take && entry_q.engine == (e == 1) && entry_hot_q[f]) begin
          active_q[e][f] <= 1'b1;
          owes_q[e][f]   <= 1'b0;
        end
        if (state_q == NEXT && last_q && !s_more && engine_q == (e == 1) && place_q == PLACE_W'(f)) begin
          active_q[e][f] <= 1'b0;
          owes_q[e][f]   <= 1'b1;
        end
      end
    end
    waits_q <= (level != '0 || entry_valid_q ? waits_q : '0) | s_valid;
    if (next_take) begin
      entry_valid_q <= next_valid;
      entry_q       <= entry_next;
      for (int f = 0; f < NUM_FN; f++) entry_hot_q[f] <= entry_next.place == PLACE_W'(f);
    end

    // a turn
    todo_q        <= todo;
    none_q        <= none;
    look_q        <= !none_q;
    look_place_q  <= first(todo_q);
    look_active_q <= (hot & active_q[engine_q]) != '0;
    if (look_q && look_active_q && any_q) others_q <= 1'b1;
    if (look_q && look_active_q && (!any_q || better)) begin
      any_q    <= 1'b1;
      place_q  <= look_place_q;
      urgent_q <= urgent;
      due_q    <= look_due;
      finish_q <= finish;
      slot_q   <= head_mem_q[{engine_q, look_place_q}];
    end
    next_q  <= next_mem_q[slot_q];
    last_q  <= slot_q == tail_mem_q[list] && !s_more;
    start_q <= finish_q - TIME_W'(step);           // NEXT: of the command that goes
    if (state_q == FINISH && !passed[TIME_W-1] && !(urgent_q && others_q)) clock_q <= start_q;
    unique case (state_q)
      REST: begin
        any_q    <= 1'b0;
        others_q <= 1'b0;
        if (begins) begin
          state_q  <= SCAN;
          engine_q <= engine;
          if (engine != engine_q) begin
            clock_q       <= clock_other_q;
            clock_other_q <= clock_q;
          end
        end
      end
      SCAN: if (found) state_q <= GO;
      GO:      state_q <= NEXT;
      NEXT:    state_q <= FINISH;
      default: state_q <= REST;
    endcase
    if (rst) begin
      state_q       <= REST;
      engine_q      <= 1'b0;
      active_q      <= '0;
      owes_q        <= '0;
      clock_q       <= '0;
      clock_other_q <= '0;
      waits_q       <= '0;
      entry_valid_q <= 1'b0;
      todo_q        <= '0;
      none_q        <= 1'b1;
      look_q        <= 1'b0;
      any_q         <= 1'b0;
      others_q      <= 1'b0;
    end
  end
  assign m_go   = {state_q == GO && engine_q, state_q == GO && !engine_q};
  assign m_slot = SLOT_W'(slot_q);
  assign m_place = place_q;
  for (genvar e = 0; e < 2; e++) begin : g_busy
    assign busy[e] = waits_q[e] || active_q[e] != '0 || (state_q != REST && engine_q == (e == 1));
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_entry};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_valid != '0) assert (room);
`endif
endmodule
