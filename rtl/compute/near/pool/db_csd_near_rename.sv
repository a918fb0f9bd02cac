// SPDX-License-Identifier: Apache-2.0
// Which slots a near-storage command's rows go through: an operator that a program names is any slot that has it.
//
// A command is looked at while the one before it is under way. A slot that holds its program already is taken again, also
// while packets of the same program are inside. Else the one that was used least recently, of those in which nothing is,
// gets the program's words. So as many programs follow each other without a gap as there are slots for them.
// A slot is a command's from here until s_done says so. A command whose operator is in no slot that its function may use goes
// on without one; one that looks at more bytes than its program takes (NEAR_LINES_MOST) goes on as one without a program.
// Latency: a command with no program to be loaded 5 cycles, one more if it is a chain; else 3 more and a cycle a word. A
// Read 1 cycle. Throughput: a command in so many cycles.
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
  if (SLOTS < 1 || SLOTS > NEAR_SLOTS_MOST) begin : g_bad
    $error("%m: SLOTS must be 1..8 (is %0d)", SLOTS);
  end

  typedef enum logic [3:0] {IDLE, READ, HEAD, MATCH, FIRST, LAST, FETCH, COME, LOAD, GO} state_e;
  state_e                      state_q;
  near_packet_t                packet_q;
  logic [3:0]                  op_q, behind_q;         // of the program: what gets the data; what is behind it, or none
  logic [7:0]                  words_q, behind_words_q, left_q, addr_q;
  logic [WORDS_LOG2-1:0]       next_q;
  logic                        second_q, none_q, absent_q;
  logic [SLOTS-1:0]            first_q, last_q, load_q, load_first_q, load_last_q;

  // ---- slots
  near_owner_t [SLOTS-1:0]     holds_q;                // whose program
  logic [SLOTS-1:0]            valid_q, is_behind_q, empty, same_q, fits_q, fits_behind_q, pick, pick_behind, hit,
                               hit_behind, used;
  logic [SLOTS-1:0][INSIDE_W-1:0] inside_q;
  logic [SLOTS-1:0][SLOTS-1:0] later_q;                // bit t of s: s was used later than t
  logic                        again, out_free, goes, loaded, too_long;
  assign place    = packet_q.place;
  assign m_oldest = oldest(wanted, later_q);
  assign owner    = '{place: packet_q.place, number: packet_q.args.number};
  assign addr     = next_q;
  assign too_long = word[24] && packet_q.args.data > NEAR_BYTES_W'(NEAR_LINES_MOST);
  assign again    = written && written_owner == owner;
  assign goes     = state_q == GO && out_free && !again;
  assign used     = goes && !absent_q ? first_q | last_q : '0;
  assign loaded   = goes && !absent_q;
  assign busy     = state_q != IDLE || m_packet_valid;
  assign s_packet_ready = state_q == IDLE && (s_packet.computes || out_free);
  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    assign empty[s] = inside_q[s] == '0;
    assign idle[s]  = empty[s] && (state_q == IDLE || !(first_q[s] || last_q[s]));
  end

  // The one that was used least recently of those that would do.
  function automatic logic [SLOTS-1:0] oldest(input logic [SLOTS-1:0] of, input logic [SLOTS-1:0][SLOTS-1:0] later);
    logic [SLOTS-1:0] best;
    for (int s = 0; s < SLOTS; s++) best[s] = of[s] && (later[s] & of) == '0;
    return best;
  endfunction
  assign hit         = same_q & fits_q & ~is_behind_q;
  // Rows of one slot alone go to another: if a command's first is not the one that fed it, until it is empty. A first that
  // is to feed another than before does so when none is inside it.
  assign hit_behind  = same_q & fits_behind_q & is_behind_q & (load_first_q == '0 ? '1 : empty);
  assign pick        = oldest(fits_q & empty, later_q);
  assign pick_behind = (first_q & ~empty) == '0 ? oldest(fits_behind_q & empty & ~first_q, later_q) : '0;

  always_ff @(posedge clk) begin
    m_missed      <= '0;
    m_param_valid <= '0;
    m_param       <= '{addr: addr_q, data: word};
    next_q        <= next_q + 1'b1;
    for (int s = 0; s < SLOTS; s++) begin
      same_q[s]        <= valid_q[s] && holds_q[s] == owner;
      fits_q[s]        <= operators[s] == op_q && !off[s] && allowed[s];
      fits_behind_q[s] <= operators[s] == behind_q && !off[s] && allowed[s];
    end
    unique case (state_q)
      IDLE: begin
        packet_q <= s_packet;
        next_q   <= '0;
        if (s_packet_valid && s_packet_ready && s_packet.computes) state_q <= READ;
      end
      READ: begin
        second_q     <= 1'b0;
        none_q       <= 1'b0;
        absent_q     <= 1'b0;
        first_q      <= '0;
        last_q       <= '0;
        load_first_q <= '0;
        load_last_q  <= '0;
        state_q      <= HEAD;
      end
      HEAD: begin
        op_q           <= word[3:0];
        behind_q       <= word[7:4];
        words_q        <= word[15:8];
        behind_words_q <= word[23:16];
        none_q         <= word[3:0] == NEAR_NONE || too_long;
        state_q        <= word[3:0] == NEAR_NONE || word[3:0] == NEAR_CRYPT || too_long ? GO : MATCH;
      end
      MATCH: state_q <= FIRST;
      FIRST: begin
        first_q      <= hit != '0 ? hit : pick;
        last_q       <= hit != '0 ? hit : pick;
        load_first_q <= hit != '0 ? '0 : pick;
        if (hit != '0 || pick != '0) state_q <= behind_q != NEAR_NONE ? LAST : hit != '0 ? GO : FETCH;
        if (fits_q == '0) begin
          m_missed[op_q] <= 1'b1;
          absent_q       <= 1'b1;
          state_q        <= GO;
        end
      end
      LAST: begin
        last_q      <= hit_behind != '0 ? hit_behind : pick_behind;
        load_last_q <= hit_behind != '0 ? '0 : pick_behind;
        if (hit_behind != '0) state_q <= load_first_q != '0 ? FETCH : GO;
        else if (pick_behind != '0) state_q <= FETCH;
        if ((fits_behind_q & ~first_q) == '0) begin
          m_missed[behind_q] <= 1'b1;
          absent_q           <= 1'b1;
          state_q            <= GO;
        end
      end
      FETCH: begin                                     // the words' turn: of the first, or of the one behind it
        second_q <= load_first_q == '0 || second_q;
        next_q   <= load_first_q != '0 && !second_q ? WORDS_LOG2'(1) : WORDS_LOG2'(1) + WORDS_LOG2'(words_q);
        left_q   <= load_first_q != '0 && !second_q ? words_q : behind_words_q;
        load_q   <= load_first_q != '0 && !second_q ? load_first_q : load_last_q;
        addr_q   <= 8'd1;
        state_q  <= COME;
      end
      COME: state_q <= left_q == '0 ? GO : LOAD;
      LOAD: begin
        m_param_valid <= load_q;
        addr_q        <= addr_q + 8'd1;
        left_q        <= left_q - 8'd1;
        if (left_q == 8'd1) begin
          second_q <= 1'b1;
          state_q  <= !second_q && load_last_q != '0 ? FETCH : GO;
        end
      end
      default: if (out_free) state_q <= IDLE;
    endcase
    // Its program is written meanwhile: once more, from its head.
    if (again && state_q != IDLE) begin
      state_q       <= READ;
      next_q        <= '0;
      m_param_valid <= '0;
    end
    if (rst) begin
      state_q       <= IDLE;
      m_param_valid <= '0;
    end
  end

  near_chain_t chain;
  assign chain = '{none: none_q, absent: absent_q, first: NEAR_SLOTS_MOST'(first_q), last: NEAR_SLOTS_MOST'(last_q)};
  db_skid #(.WIDTH($bits(near_packet_t) + $bits(near_chain_t))) i_out (
    .clk, .rst, .s_valid(state_q == IDLE ? s_packet_valid && !s_packet.computes : state_q == GO && !again),
    .s_ready(out_free), .s_data({state_q == IDLE ? s_packet : packet_q, chain}), .m_valid(m_packet_valid),
    .m_ready(m_packet_ready), .m_data({m_packet, m_chain}));

  // ---- what slots hold, who is in them, when they were used
  always_ff @(posedge clk) begin
    for (int s = 0; s < SLOTS; s++) begin
      inside_q[s] <= inside_q[s] + INSIDE_W'(used[s]) - INSIDE_W'(s_done[s]);
      if (state_q == LOAD && load_q[s]) valid_q[s] <= 1'b0;
      if (loaded && (load_first_q[s] || load_last_q[s])) begin
        valid_q[s]     <= 1'b1;
        holds_q[s]     <= owner;
        is_behind_q[s] <= load_last_q[s];
      end
      // Rows of the first slot alone go to the last, whose own are the result, and none to one that has another program now.
      if (loaded) route[s] <= first_q[s] ? last_q & ~first_q : last_q[s] ? '0 : route[s] & ~(load_first_q | last_q);
      if ((written && holds_q[s] == written_owner) || operators[s] == NEAR_NONE) valid_q[s] <= 1'b0;
      if (loaded && holds_q[s] == owner && !first_q[s] && !last_q[s]) valid_q[s] <= 1'b0;  // one slot has it
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
