// SPDX-License-Identifier: Apache-2.0
// Which slots a near-storage command's rows go through: an operator that a program names is any slot that has it.
//
// A program is up to 8 operators, each of which gets the rows that the one before gives. A command is looked at while
// the one before it is under way, operator by operator. A slot that holds its program for this one already is taken
// again, also while packets of the same program are inside. Else the one that was used least recently, of those in which
// nothing is, gets the words. So as many programs follow each other without a gap as there are slots for them.
// A slot is a command's from here until s_done says so. A command of which an operator is in no slot that its function
// may use goes on without one; one that looks at more bytes than its program takes (NEAR_LINES_MOST) goes on as one
// without a program.
// Latency: a command with nothing to be loaded 5 cycles, 3 more for each operator behind the first; a Read 1 cycle. To
// load one takes 2 cycles and one a word. Throughput: a command in so many cycles.
module db_csd_near_rename
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int SLOTS      = 4,  ///< 1..8
  parameter int WORDS_LOG2 = 6   ///< words of a program in the memory
) (
  input  logic                       clk,
  input  logic                       rst,
  output logic                       busy,          ///< a packet is inside
  input  logic                       s_packet_valid,
  output logic                       s_packet_ready,
  input  near_packet_t               s_packet,
  output logic                       m_packet_valid,
  input  logic                       m_packet_ready,
  output near_packet_t               m_packet,
  output near_chain_t                m_chain,
  /// Slots: what is in each, 0 nothing; which ones no command may begin in; which ones the packet's function may use; a
  /// command has left those of `s_done`; in which ones none is, nor will be if they have been `off` for 3 cycles; which one
  /// was used least recently of those wanted.
  input  logic [SLOTS-1:0][3:0]      operators,
  input  logic [SLOTS-1:0]           off,
  output logic [PLACE_W-1:0]         place,
  input  logic [SLOTS-1:0]           allowed,
  input  logic [SLOTS-1:0]           s_done,
  output logic [SLOTS-1:0]           idle,
  input  logic [SLOTS-1:0]           wanted,
  output logic [SLOTS-1:0]           m_oldest,
  /// Pulses: a command's operators are in none of its slots.
  output logic [15:0]                m_missed,
  /// Rows of slot s go to those of route[s].
  output logic [SLOTS-1:0][SLOTS-1:0] route,
  /// The memory of programs: the word is there a cycle after its address; pulse: one is written.
  output near_owner_t                owner,
  output logic [WORDS_LOG2-1:0]      addr,
  input  logic [31:0]                word,
  input  logic                       written,
  input  near_owner_t                written_owner,
  /// Words of a program, by slot.
  output logic [SLOTS-1:0]           m_param_valid,
  output near_param_t                m_param
);
  localparam int INSIDE_W = 4;
  localparam int STAGE_W  = $clog2(NEAR_SLOTS_MOST);
  if (SLOTS < 1 || SLOTS > NEAR_SLOTS_MOST) begin : g_bad
    $error("%m: SLOTS must be 1..8 (is %0d)", SLOTS);
  end

  typedef enum logic [2:0] {IDLE, READ, HEAD, MATCH, PICK, COME, LOAD, GO} state_e;
  state_e                      state_q;
  near_packet_t                packet_q;
  logic [3:0]                  op_q;                   // of the program, the operator that is looked at
  logic                        more_q;                 // another one follows
  logic [STAGE_W-1:0]          stage_q;                // how many are before it
  logic [7:0]                  words_q, left_q, addr_q;
  logic [WORDS_LOG2-1:0]       at_q, next_at_q, next_q;  // its head, that of the next one; what is read
  logic                        none_q, absent_q;
  logic [SLOTS-1:0]            chain_q, first_q, prev_q, chosen_q;  // slots: all, first, of the operator before, its
  logic [SLOTS-1:0]            loads_q;                // that get words

  // ---- slots
  near_owner_t [SLOTS-1:0]     holds_q;                // whose program
  logic [SLOTS-1:0][STAGE_W-1:0] holds_stage_q;        // ... and how many of its operators are before this one
  logic [SLOTS-1:0]            valid_q, empty, same_q, fits_q, fed_q, hit, pick, chosen;
  logic [SLOTS-1:0][INSIDE_W-1:0] inside_q;
  logic [SLOTS-1:0][SLOTS-1:0] later_q;                // bit t of s: s was used later than t
  logic                        prev_empty_q, again, out_free, goes, loaded, chooses, too_long;
  logic [SLOTS-1:0]            fed, used;
  assign place    = packet_q.place;
  assign m_oldest = oldest(wanted, later_q);
  assign owner    = '{place: packet_q.place, number: packet_q.args.number};
  assign addr     = next_q;
  assign too_long = stage_q == '0 && word[24] && packet_q.args.data > NEAR_BYTES_W'(NEAR_LINES_MOST);
  assign again    = written && written_owner == owner;
  assign goes     = state_q == GO && out_free && !again;
  assign loaded   = goes && !absent_q && !none_q;
  assign used     = loaded ? chain_q : '0;
  assign busy     = state_q != IDLE || m_packet_valid;
  assign s_packet_ready = state_q == IDLE && (s_packet.computes || out_free);
  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    assign empty[s] = inside_q[s] == '0;
    assign idle[s]  = empty[s] && (state_q == IDLE || !chain_q[s]);
  end

  // The one that was used least recently of those that would do.
  function automatic logic [SLOTS-1:0] oldest(input logic [SLOTS-1:0] of, input logic [SLOTS-1:0][SLOTS-1:0] later);
    logic [SLOTS-1:0] best;
    for (int s = 0; s < SLOTS; s++) best[s] = of[s] && (later[s] & of) == '0;
    return best;
  endfunction
  // Rows of one slot alone go to another. So the way from the operator before is one that is there already, or it is set
  // while both slots are empty.
  assign hit     = same_q & fits_q & (stage_q == '0 ? '1 : fed_q | (prev_empty_q ? empty : '0));
  assign pick    = prev_empty_q ? oldest(fits_q & empty & ~chain_q, later_q) : '0;
  assign chosen  = hit != '0 ? hit : pick;
  assign chooses = state_q == PICK && chosen != '0 && !again;
  always_comb begin
    fed = '0;
    for (int s = 0; s < SLOTS; s++) if (prev_q[s]) fed |= route[s];
  end

  always_ff @(posedge clk) begin
    m_missed      <= '0;
    m_param_valid <= '0;
    m_param       <= '{addr: addr_q, data: word};
    for (int s = 0; s < SLOTS; s++) begin
      same_q[s] <= valid_q[s] && holds_q[s] == owner && holds_stage_q[s] == stage_q;
      fits_q[s] <= operators[s] == op_q && !off[s] && allowed[s];
    end
    fed_q        <= fed;
    prev_empty_q <= (prev_q & ~empty) == '0;
    unique case (state_q)
      IDLE: begin
        packet_q <= s_packet;
        if (s_packet_valid && s_packet_ready && s_packet.computes) state_q <= READ;
      end
      READ: state_q <= HEAD;
      HEAD: begin
        op_q    <= word[3:0];
        more_q  <= word[4];
        words_q <= word[15:8];
        none_q  <= word[3:0] == NEAR_NONE || too_long;
        state_q <= word[3:0] == NEAR_NONE || word[3:0] == NEAR_CRYPT || too_long ? GO : MATCH;
      end
      MATCH: begin
        next_at_q <= at_q + WORDS_LOG2'(words_q) + 1'b1;
        next_q    <= at_q + WORDS_LOG2'(words_q) + 1'b1;
        state_q   <= PICK;
      end
      PICK: begin
        chosen_q <= chosen;
        left_q   <= words_q;
        addr_q   <= 8'd1;
        if (chosen != '0) begin
          chain_q <= chain_q | chosen;
          prev_q  <= chosen;
          stage_q <= stage_q + 1'b1;
          if (stage_q == '0) first_q <= chosen;
          if (hit == '0) begin
            loads_q <= loads_q | pick;
            next_q  <= at_q + 1'b1;
            state_q <= COME;
          end else begin
            state_q <= more_q ? HEAD : GO;
          end
          at_q <= next_at_q;
        end
        if ((fits_q & ~chain_q) == '0) begin
          m_missed[op_q] <= 1'b1;
          absent_q       <= 1'b1;
          state_q        <= GO;
        end
      end
      COME: begin
        next_q  <= next_q + 1'b1;
        state_q <= LOAD;
      end
      LOAD: begin
        m_param_valid <= left_q != '0 ? chosen_q : '0;
        addr_q        <= addr_q + 8'd1;
        left_q        <= left_q - 8'd1;
        next_q        <= next_q + 1'b1;
        if (left_q <= 8'd1) begin
          next_q  <= at_q;
          state_q <= more_q ? READ : GO;
        end
      end
      default: if (out_free) state_q <= IDLE;
    endcase
    // A command begins; or its program is written meanwhile: once more, from its head.
    if (state_q == IDLE || again) begin
      stage_q  <= '0;
      none_q   <= 1'b0;
      absent_q <= 1'b0;
      chain_q  <= '0;
      first_q  <= '0;
      prev_q   <= '0;
      loads_q  <= '0;
      at_q     <= '0;
      next_q   <= '0;
    end
    if (again && state_q != IDLE) begin
      state_q       <= READ;
      m_missed      <= '0;
      m_param_valid <= '0;
    end
    if (rst) begin
      state_q       <= IDLE;
      m_missed      <= '0;
      m_param_valid <= '0;
    end
  end

  near_chain_t chain;
  assign chain = '{none: none_q, absent: absent_q, slots: NEAR_SLOTS_MOST'(chain_q), first: NEAR_SLOTS_MOST'(first_q),
                   last: NEAR_SLOTS_MOST'(prev_q)};
  db_skid #(.WIDTH($bits(near_packet_t) + $bits(near_chain_t))) i_out (
    .clk, .rst, .s_valid(state_q == IDLE ? s_packet_valid && !s_packet.computes : state_q == GO && !again),
    .s_ready(out_free), .s_data({state_q == IDLE ? s_packet : packet_q, chain}), .m_valid(m_packet_valid),
    .m_ready(m_packet_ready), .m_data({m_packet, m_chain}));

  // ---- what slots hold, who is in them, when they were used
  always_ff @(posedge clk) begin
    for (int s = 0; s < SLOTS; s++) begin
      inside_q[s] <= inside_q[s] + INSIDE_W'(used[s]) - INSIDE_W'(s_done[s]);
      if (chooses && chosen[s]) begin
        holds_q[s]       <= owner;
        holds_stage_q[s] <= stage_q;
        if (hit == '0) valid_q[s] <= 1'b0;
      end
      if (loaded && loads_q[s]) valid_q[s] <= 1'b1;
      // Rows of the operator before alone go to it, and those of the last, which are the result, to none.
      if (chooses) begin
        if (prev_q[s]) route[s] <= chosen;
        else if (chosen[s] && !more_q) route[s] <= '0;
        else route[s] <= route[s] & ~chosen;
      end
      if ((written && holds_q[s] == written_owner) || operators[s] == NEAR_NONE) valid_q[s] <= 1'b0;
      if (loaded && holds_q[s] == owner && !chain_q[s]) valid_q[s] <= 1'b0;  // one slot has it
      for (int t = 0; t < SLOTS; t++) begin
        if (used[s]) later_q[s][t] <= used[t] ? s > t : 1'b1;
        else if (used[t]) later_q[s][t] <= 1'b0;
        if (rst) later_q[s][t] <= s > t;
        if (s == t) later_q[s][t] <= 1'b0;
      end
    end
    if (rst) begin
      valid_q  <= '0;
      inside_q <= '0;
      route    <= '0;
    end
  end
endmodule
