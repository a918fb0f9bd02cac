// SPDX-License-Identifier: Apache-2.0
// How commands end whose media says so later: a Write when the write engine and the media have both said it, in any order;
// a Flush and Write Zeroes when the media has; Dataset Management when the engine has taken its list and the media has
// done range after range. Completions of all others pass.
//
// The engine's status goes before an error of the media, which is a Write Fault.
// Latency: 3 cycles. Throughput: one every 3 cycles.
module db_ssd_ahead_end
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_cmd_valid,     ///< pulse: a command begins
  input  logic [SLOT_W-1:0] s_cmd_slot,
  input  logic              s_cmd_write,
  input  logic              s_cmd_alone,     ///< the media does it alone
  input  logic              s_cmd_ranges,    ///< Dataset Management
  input  logic              s_completion_valid,
  output logic              s_completion_ready,
  input  slot_completion_t  s_completion,
  input  logic              s_media_err,     ///< pulse: a command met a media error, as the engine saw it
  input  logic              s_ended_valid,   ///< pulse: the media's word
  input  logic [SLOT_W-1:0] s_ended_slot,
  input  logic              s_ended_err,
  output logic              m_completion_valid,
  input  logic              m_completion_ready,
  output slot_completion_t  m_completion,
  output logic              m_media_err,
  output logic              busy,            ///< one is inside, or a list of ranges goes on
  /// of this slot a range is left, there were too many; in the same cycle (db_ssd_ahead_ranges). m_next, a pulse: its turn
  output logic [SLOT_W-1:0] look_slot,
  input  logic              look_left,
  input  logic              look_over,
  output logic              m_next_valid,
  output logic [SLOT_W-1:0] m_next_slot,
  output logic              begun,           ///< pulse: ... the first
  output logic              over             ///< pulse: one of these has ended
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  typedef struct packed {
    logic write;
    logic alone;
    logic ranges;
  } kind_t;
  kind_t               kind_mem_q [NUM_CMDS];
  typedef struct packed {
    logic    error;
    status_t status;
  } word_t;
  word_t               word_mem_q [NUM_CMDS];   // of the first that has come
  logic [NUM_CMDS-1:0] half_q;                  // one of the two has
  always_ff @(posedge clk)
    if (s_cmd_valid)
      kind_mem_q[s_cmd_slot[CMD_W-1:0]] <= '{write: s_cmd_write, alone: s_cmd_alone, ranges: s_cmd_ranges};

  logic              ended_valid, ended_take, ended_err;
  logic [SLOT_W-1:0] ended_slot;
  db_fifo #(.WIDTH(SLOT_W + 1), .DEPTH(NUM_CMDS)) i_ended (
    .clk, .rst, .s_valid(s_ended_valid), .s_ready(), .s_data({s_ended_slot, s_ended_err}), .m_valid(ended_valid),
    .m_ready(ended_take), .m_data({ended_slot, ended_err}), .level());

  // ---- one at a time, the engine's, else the media's: it is taken, its slot is looked up, then how it ends
  logic              got_q, known_q, act;
  logic              engine_q, error_q;      // who says it; it is an error
  logic [SLOT_W-1:0] slot_q;
  status_t           status_q;
  word_t             word, word_q;           // this one's, the first's
  logic [CMD_W-1:0]  at;
  kind_t             kind_q;
  logic              second_q, left_q, over_q;  // of a Write the other half has come
  logic              first, next, too_many, other_error;
  assign s_completion_ready = !got_q;
  assign ended_take         = !got_q && !s_completion_valid && ended_valid;
  assign at                 = slot_q[CMD_W-1:0];
  assign look_slot          = slot_q;
  assign act                = known_q && !m_completion_valid;
  assign too_many           = engine_q && !error_q && kind_q.ranges && over_q;
  assign word               = '{error: error_q || too_many, status: too_many ? STATUS_SIZE_LIMIT : status_q};
  assign other_error        = second_q && word_q.error;
  assign next               = kind_q.ranges && !word.error && left_q;
  assign first              = (kind_q.write && !second_q) || next;
  assign busy               = got_q || begun;
  always_ff @(posedge clk) begin
    if (!got_q) begin
      engine_q <= s_completion_valid;
      slot_q   <= s_completion_valid ? s_completion.slot : ended_slot;
      status_q <= s_completion_valid ? s_completion.status : ended_err ? STATUS_WRITE_FAULT : '0;
    end
    kind_q      <= kind_mem_q[at];
    second_q    <= half_q[at];
    word_q      <= word_mem_q[at];
    error_q     <= status_q != '0;
    left_q      <= look_left;
    over_q      <= look_over;
    got_q       <= got_q ? !act : s_completion_valid || ended_valid;
    known_q     <= got_q && !act;
    m_media_err <= s_media_err && !rst;
    over         <= 1'b0;
    begun        <= 1'b0;
    m_next_valid <= 1'b0;
    m_next_slot  <= slot_q;
    if (m_completion_ready) m_completion_valid <= 1'b0;
    if (act) begin
      m_completion_valid <= !first;
      m_completion.slot  <= slot_q;
      // the engine's, if it has one to say
      m_completion.status <= other_error && !(engine_q && word.error) ? word_q.status : word.status;
      over         <= !first && (kind_q.write || kind_q.alone || (kind_q.ranges && !engine_q));
      begun        <= next && engine_q;
      m_next_valid <= next;
      if (!first && (engine_q ? kind_q.write && other_error : error_q)) m_media_err <= 1'b1;
      word_mem_q[at] <= word;
      if (kind_q.write) half_q[at] <= first;
    end
    if (rst) begin
      got_q              <= 1'b0;
      known_q            <= 1'b0;
      m_completion_valid <= 1'b0;
      half_q             <= '0;
      over               <= 1'b0;
      begun              <= 1'b0;
      m_next_valid       <= 1'b0;
    end
  end
endmodule
