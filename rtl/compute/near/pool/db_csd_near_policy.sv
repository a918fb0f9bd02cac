// SPDX-License-Identifier: Apache-2.0
// Decides which operator is loaded when: one that a command missed, out of the library, into an empty slot, or into the one
// that was used least recently of those that have had theirs for `hold`.
//
// So a slot is exchanged once in `hold` at most, and operators that are missed have their turns. The firmware's exchanges
// go before these. A bitstream that is refused is not tried again until the library is set again.
// Latency: 3 cycles from a miss to the exchange.
module db_csd_near_policy
  import db_csd_near_pkg::*;
#(
  parameter int               SLOTS        = 3,   ///< 1..7
  parameter logic [SLOTS-1:0] EXCHANGEABLE = '1   ///< what is in these can be exchanged
) (
  input  logic                  clk,
  input  logic                  rst,        ///< power-on
  input  logic                  s_set,      ///< pulse: the library is set
  input  logic [31:0]           s_at,       ///< byte of card memory
  input  logic [4:0]            s_stride,   ///< log2 of a place's bytes, 7 to 24; 0: there is no library
  input  logic [15:0]           s_hold,     ///< 4096 cycles each
  input  logic [15:0]           s_missed,   ///< pulses, by operator
  input  logic [SLOTS-1:0][3:0] operators,
  output logic [SLOTS-1:0]      m_wanted,   ///< slots that may be exchanged
  input  logic [SLOTS-1:0]      s_oldest,   ///< of these
  /// An exchange that the firmware asks for; the one that begins; it is under way; how it ended.
  input  logic                  s_go,
  input  logic [2:0]            s_slot,
  input  logic [31:0]           s_addr,
  output logic                  m_go,
  output logic [2:0]            m_slot,
  output logic [SLOT_ADDR_W-1:0] m_addr,    ///< which may be beyond it
  output logic [3:0]            m_operator, ///< that was missed; 0: the firmware asks, for whichever
  input  logic                  busy,
  input  logic [3:0]            s_error,
  /// Of the firmware's exchanges.
  output logic                  m_busy,
  output logic [7:0]            m_ended,    ///< how many have
  output logic [3:0]            m_error     ///< how the last one of these did
);
  localparam int KINDS = 6;                       // operators 1 to 6 at most
  logic [11:0]            tick_q;
  logic                   tick, asked_q, own_q, under_q, goes, fits;  // own: the exchange is the firmware's
  logic [15:0]            missed_q, refused_q, picks;
  logic [SLOTS-1:0][15:0] age_q;                  // since it was exchanged
  logic [SLOTS-1:0]       empty, aged;
  logic [3:0]             kind, kind_q;
  logic [2:0]             slot;
  always_comb begin
    for (int s = 0; s < SLOTS; s++) begin
      empty[s] = EXCHANGEABLE[s] && operators[s] == NEAR_NONE;
      aged[s]  = EXCHANGEABLE[s] && age_q[s] >= s_hold;
    end
    m_wanted = empty != '0 ? empty : aged;
    picks    = missed_q & ~refused_q & NEAR_IN_SLOTS;
    kind     = '0;
    for (int k = KINDS; k >= 1; k--) if (picks[k]) kind = 4'(k);
    for (int k = KINDS; k >= 1; k--) if (picks[k] && 4'(k) > kind_q) kind = 4'(k);  // in turn
    slot = '0;
    for (int s = 0; s < SLOTS; s++) if (s_oldest[s]) slot = 3'(s);
  end
  assign tick  = &tick_q;
  assign fits  = s_stride != '0 && kind != '0 && s_oldest != '0;
  assign goes  = !busy && !m_go && !under_q && (asked_q || fits);
  assign m_busy = asked_q || (under_q && own_q);
  always_ff @(posedge clk) begin
    tick_q   <= tick_q + 12'd1;
    missed_q <= missed_q | s_missed;
    asked_q  <= s_go || (asked_q && !goes);
    m_go     <= goes;
    under_q  <= goes || (under_q && (m_go || busy));
    if (goes) begin
      own_q  <= asked_q;
      m_slot <= asked_q ? s_slot : slot;
      m_addr <= asked_q ? SLOT_ADDR_W'(s_addr)
                        : SLOT_ADDR_W'(s_at) + (SLOT_ADDR_W'({kind - 4'd1, slot}) << s_stride);
      m_operator <= asked_q ? NEAR_NONE : kind;
      if (!asked_q) begin
        kind_q         <= kind;
        missed_q[kind] <= 1'b0;
      end
    end
    if (under_q && !m_go && !busy) begin
      if (own_q) m_error <= s_error;
      if (own_q) m_ended <= m_ended + 8'd1;
      else if (s_error != SLOT_OK) refused_q[kind_q] <= 1'b1;
    end
    for (int s = 0; s < SLOTS; s++) begin
      if (operators[s] == NEAR_NONE) age_q[s] <= '0;
      else if (tick && age_q[s] != '1) age_q[s] <= age_q[s] + 16'd1;
    end
    // What is there is not missed any more.
    for (int s = 0; s < SLOTS; s++) if (operators[s] != NEAR_NONE) missed_q[operators[s]] <= 1'b0;
    if (s_set) begin
      missed_q  <= '0;
      refused_q <= '0;
    end
    if (rst) begin
      tick_q    <= '0;
      missed_q  <= '0;
      refused_q <= '0;
      asked_q   <= 1'b0;
      under_q   <= 1'b0;
      m_go      <= 1'b0;
      m_error   <= SLOT_OK;
      m_ended   <= '0;
      kind_q    <= '0;
      age_q     <= '1;
    end
  end
endmodule
