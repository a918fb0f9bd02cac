// SPDX-License-Identifier: Apache-2.0
// How commands end whose media says so later: a Write when the write engine and the media have both said it, in any order;
// a Flush and Write Zeroes when the media has; Dataset Management when the engine has taken its list and the media has
// done range after range. Completions of all others pass.
//
// The engine's status goes before an error of the media, which is a Write Fault.
// Latency: 1 cycle. Throughput: one every 2 cycles.
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
  status_t             word_mem_q [NUM_CMDS];   // of the first that has come
  logic [NUM_CMDS-1:0] half_q;                  // one of the two has
  always_ff @(posedge clk)
    if (s_cmd_valid)
      kind_mem_q[s_cmd_slot[CMD_W-1:0]] <= '{write: s_cmd_write, alone: s_cmd_alone, ranges: s_cmd_ranges};

  logic              ended_valid, ended_take, ended_err;
  logic [SLOT_W-1:0] ended_slot;
  db_fifo #(.WIDTH(SLOT_W + 1), .DEPTH(NUM_CMDS)) i_ended (
    .clk, .rst, .s_valid(s_ended_valid), .s_ready(), .s_data({s_ended_slot, s_ended_err}), .m_valid(ended_valid),
    .m_ready(ended_take), .m_data({ended_slot, ended_err}), .level());

  // ---- one at a time: the engine's, else the media's
  logic              any, free, first, next;
  logic [CMD_W-1:0]  at;
  kind_t             kind;
  status_t           word, other;
  assign free               = !m_completion_valid;
  assign any                = s_completion_valid || ended_valid;
  assign s_completion_ready = free;
  assign ended_take         = free && !s_completion_valid && ended_valid;
  assign at                 = s_completion_valid ? s_completion.slot[CMD_W-1:0] : ended_slot[CMD_W-1:0];
  assign kind               = kind_mem_q[at];
  assign other              = half_q[at] ? word_mem_q[at] : '0;
  assign look_slot          = SLOT_W'(at);
  assign next               = kind.ranges && word == '0 && look_left;
  assign first              = (kind.write && !half_q[at]) || next;
  always_comb begin
    word = s_completion.status;
    if (!s_completion_valid)                                       word = ended_err ? STATUS_WRITE_FAULT : '0;
    else if (kind.ranges && s_completion.status == '0 && look_over) word = STATUS_SIZE_LIMIT;
  end
  always_ff @(posedge clk) begin
    m_media_err <= s_media_err && !rst;
    over         <= 1'b0;
    begun        <= 1'b0;
    m_next_valid <= 1'b0;
    m_next_slot  <= SLOT_W'(at);
    if (m_completion_ready) m_completion_valid <= 1'b0;
    if (free && any) begin
      m_completion_valid <= !first;
      m_completion.slot  <= SLOT_W'(at);
      // the engine's, if it has one to say
      if (s_completion_valid) m_completion.status <= word != '0 ? word : other;
      else                    m_completion.status <= other != '0 ? other : word;
      over         <= !first && (kind.write || kind.alone || (kind.ranges && !s_completion_valid));
      begun        <= next && s_completion_valid;
      m_next_valid <= next;
      if (!first && (s_completion_valid ? kind.write && other != '0 : ended_err)) m_media_err <= 1'b1;
      word_mem_q[at] <= word;
      if (kind.write) half_q[at] <= first;
    end
    if (rst) begin
      m_completion_valid <= 1'b0;
      half_q             <= '0;
      over               <= 1'b0;
      begun              <= 1'b0;
      m_next_valid       <= 1'b0;
    end
  end
endmodule
