// SPDX-License-Identifier: Apache-2.0
// Whose command goes to an engine next: fair queueing by what commands cost.
//
// Each function has a list of its commands, in the order in which they came. The command at a list's head has a start
// and a finish, which is its step (cost by weight) later. It starts where the one before it finished, or at the clock, if
// its function had none and owes nothing. The head with the earliest finish goes, and the clock is not before its start.
// So functions that always have commands move bytes in proportion to their weights. One that has commands seldom waits
// for less than a command of each other, for hardly any if its own are smaller; nothing is saved up, and what a function
// had too much (finish behind the clock) it owes.
// Lists, steps and finishes are in RAM; a turn looks at each function that has commands or owes, one a cycle.
// Latency: entry to m_go 5 or 6 cycles, when open and nothing else waits. Throughput: a command every n + 5 or n + 6
// cycles while n functions have commands or owe; entries, one every 2 cycles.
module db_ssd_order_turn
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int NUM_FN   = 2,    ///< functions, 2..17
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,   ///< pulse: a command came
  input  order_entry_t      s_entry,
  input  logic              open,      ///< the engine may have another command
  input  logic              may,       ///< m_go may come in this cycle
  output logic              m_go,      ///< the command of slot m_slot goes
  output logic [SLOT_W-1:0] m_slot,
  output logic              busy       ///< commands wait
);
  localparam int PLACES = 2 ** PLACE_W;
  localparam int CMD_W  = $clog2(NUM_CMDS);
  localparam int TIME_W = STEP_W + 3;   // of finishes, which are within 4 * 2 ** STEP_W of each other

  if (NUM_FN < 2 || NUM_FN > MAX_FN) begin : g_bad_num_fn
    $error("%m: NUM_FN must be 2..17");
  end

  typedef enum logic [2:0] {REST, SCAN, GO, NEXT, FINISH} state_e;
  state_e state_q;
  logic   found;          // SCAN: all have been looked at
  logic   entry_first;    // the entry is the only one of its function
  logic   finishes;       // the next of the function that had the turn is at the head

  // ---- entries wait while a list changes; one that comes while the earliest is looked for is looked at, too
  logic         entry_valid, entry_take, room;
  order_entry_t entry;
  logic [3:0]   level;
  db_fifo #(.WIDTH($bits(order_entry_t)), .DEPTH(8)) i_entries (
    .clk, .rst, .s_valid, .s_ready(room), .s_data(s_entry), .m_valid(entry_valid), .m_ready(entry_take), .m_data(entry),
    .level);
  always_comb begin
    unique case (state_q)
      REST:    entry_take = entry_valid;
      SCAN:    entry_take = entry_valid && !(entry_first && found);
      FINISH:  entry_take = entry_valid && !(entry_first && finishes);
      default: entry_take = 1'b0;
    endcase
  end

  // ---- lists
  logic [CMD_W-1:0]  head_mem_q [PLACES];
  logic [CMD_W-1:0]  tail_mem_q [PLACES];
  logic [CMD_W-1:0]  next_mem_q [NUM_CMDS];
  logic [STEP_W-1:0] step_mem_q [NUM_CMDS];
  logic [TIME_W-1:0] finish_mem_q [PLACES];
  logic [NUM_FN-1:0] active_q;             // has commands
  logic [NUM_FN-1:0] owes_q;               // has none, and its last one's finish is behind the clock
  logic [PLACES-1:0] active_all, owes_all;
  logic [TIME_W-1:0] clock_q;
  logic              last_q;
  logic [CMD_W-1:0]  next_q;
  logic [STEP_W-1:0] step_q;
  assign active_all  = PLACES'(active_q);
  assign owes_all    = PLACES'(owes_q);
  assign finishes    = state_q == FINISH && !last_q;
  assign entry_first = !active_all[entry.place];

  // ---- the earliest finish of those that have commands
  logic [NUM_FN-1:0]  todo, todo_q, hot, entry_hot;
  logic               none, none_q, look_q, look_active_q, any_q;  // none is left to look at
  logic [PLACE_W-1:0] look_place_q, place_q;
  logic [TIME_W-1:0]  base, finish, ahead, finish_q, late, passed, start_q;
  logic [CMD_W-1:0]   slot_q;
  function automatic logic [PLACE_W-1:0] first(input logic [NUM_FN-1:0] which);
    first = '0;
    for (int f = NUM_FN - 1; f >= 0; f--) if (which[f]) first = PLACE_W'(f);
  endfunction
  always_comb for (int f = 0; f < NUM_FN; f++) entry_hot[f] = entry.place == PLACE_W'(f);
  assign hot    = todo_q & (~todo_q + 1'b1);
  assign found  = none_q && may;
  always_comb begin
    todo = todo_q & ~hot;
    if (state_q == REST) todo = open && active_q != '0 ? active_q | owes_q : '0;
    none = todo == '0 && !(entry_take && entry_first);
    if (entry_take && entry_first) todo |= entry_hot;
  end
  assign finish = finish_mem_q[look_place_q];
  assign ahead  = finish - finish_q;
  assign base   = finishes ? finish_q : owes_all[entry.place] ? finish_mem_q[entry.place] : clock_q;
  assign late   = clock_q - finish;
  assign passed = start_q - clock_q;

  always_ff @(posedge clk) begin
    // entries
    if (entry_take) begin
      tail_mem_q[entry.place]           <= entry.slot[CMD_W-1:0];
      step_mem_q[entry.slot[CMD_W-1:0]] <= entry.step;
      if (!entry_first) next_mem_q[tail_mem_q[entry.place]] <= entry.slot[CMD_W-1:0];
    end
    if ((entry_take && entry_first) || (state_q == NEXT && !last_q))
      head_mem_q[state_q == NEXT ? place_q : entry.place] <= state_q == NEXT ? next_q : entry.slot[CMD_W-1:0];
    if ((entry_take && entry_first) || finishes)
      finish_mem_q[finishes ? place_q : entry.place] <= base + TIME_W'(finishes ? step_q : entry.step);
    for (int f = 0; f < NUM_FN; f++) begin
      if (look_q && !look_active_q && !late[TIME_W-1] && look_place_q == PLACE_W'(f)) owes_q[f] <= 1'b0;
      if (entry_take && entry_hot[f]) begin
        active_q[f] <= 1'b1;
        owes_q[f]   <= 1'b0;
      end
      if (state_q == NEXT && last_q && place_q == PLACE_W'(f)) begin
        active_q[f] <= 1'b0;
        owes_q[f]   <= 1'b1;
      end
    end

    // a turn
    todo_q        <= todo;
    none_q        <= none;
    look_q        <= !none_q;
    look_place_q  <= first(todo_q);
    look_active_q <= (todo_q & hot & active_q) != '0;
    if (look_q && look_active_q && (!any_q || ahead[TIME_W-1])) begin
      any_q    <= 1'b1;
      place_q  <= look_place_q;
      finish_q <= finish;
      slot_q   <= head_mem_q[look_place_q];
    end
    next_q <= next_mem_q[slot_q];
    last_q <= slot_q == tail_mem_q[place_q];
    step_q <= step_mem_q[state_q == GO ? slot_q : next_q];
    start_q <= finish_q - TIME_W'(step_q);           // NEXT: of the command that goes
    if (state_q == FINISH && !passed[TIME_W-1]) clock_q <= start_q;
    unique case (state_q)
      REST: begin
        any_q <= 1'b0;
        if (open && active_q != '0) state_q <= SCAN;
      end
      SCAN: if (found) state_q <= GO;
      GO:      state_q <= NEXT;
      NEXT:    state_q <= FINISH;
      default: state_q <= REST;
    endcase
    if (rst) begin
      state_q  <= REST;
      active_q <= '0;
      owes_q   <= '0;
      clock_q  <= '0;
      todo_q   <= '0;
      none_q   <= 1'b1;
      look_q   <= 1'b0;
      any_q    <= 1'b0;
    end
  end
  assign m_go   = state_q == GO;
  assign m_slot = SLOT_W'(slot_q);
  assign busy   = level != '0 || active_q != '0 || state_q != REST;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_valid) assert (room);
`endif
endmodule
