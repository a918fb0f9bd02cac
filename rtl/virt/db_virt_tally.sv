// SPDX-License-Identifier: Apache-2.0
// Counts of commands: each begins with how often it must be called, and is done with the last call.
//
// Callers have a queue each, and are heard in turn. An error of any call is kept.
// Latency: 3 cycles from a call to m_valid, 1 from a begin that waits for nothing. Throughput: a call a cycle.
module db_virt_tally
  import db_ssd_pkg::SLOT_W;
#(
  parameter int NUM_CMDS = 128,  ///< commands: power of two, 2..256
  parameter int CALLERS  = 2,    ///< at least 1
  parameter int COUNT_W  = 9,    ///< bits of a count
  parameter int USER_W   = 8,    ///< bits that are kept with a command
  parameter int DEPTH    = 512   ///< calls that wait of a caller: power of two
) (
  input  logic                           clk,
  input  logic                           rst,
  /// pulse: a command begins, with so many calls to come
  input  logic                           s_begin_valid,
  input  logic [SLOT_W-1:0]              s_begin_slot,
  input  logic [COUNT_W-1:0]             s_begin_count,
  input  logic                           s_begin_err,    ///< an error from the start
  input  logic [USER_W-1:0]              s_begin_user,
  /// pulses: a call
  input  logic [CALLERS-1:0]             s_call_valid,
  input  logic [CALLERS-1:0][SLOT_W-1:0] s_call_slot,
  input  logic [CALLERS-1:0]             s_call_err,
  /// pulse: the last has been heard
  output logic                           m_valid,
  output logic [SLOT_W-1:0]              m_slot,
  output logic                           m_err,
  output logic [USER_W-1:0]              m_user,
  output logic                           idle      ///< no call waits
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  typedef struct packed {
    logic [COUNT_W-1:0] count;
    logic               err;
    logic [USER_W-1:0]  user;
  } word_t;
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    logic              err;
  } call_t;
  word_t mem_q [NUM_CMDS];

  logic [CALLERS-1:0]  valid, take;
  call_t [CALLERS-1:0] call;
  call_t               now, call_q;
  logic                any, heard, last, call_valid_q, counts;
  word_t               word, next;
  for (genvar i = 0; i < CALLERS; i++) begin : g_caller
    logic room;
    db_fifo #(.WIDTH($bits(call_t)), .DEPTH(DEPTH)) i_calls (
      .clk, .rst, .s_valid(s_call_valid[i]), .s_ready(room), .s_data({s_call_slot[i], s_call_err[i]}),
      .m_valid(valid[i]), .m_ready(heard && take[i]), .m_data(call[i]), .level());
`ifndef SYNTHESIS
    always_ff @(posedge clk) if (!rst && s_call_valid[i]) assert (room);
`endif
  end
  db_arb_rr #(.N(CALLERS)) i_turn (.clk, .rst, .req(valid), .ack(heard), .gnt_valid(any), .gnt(take), .gnt_idx());
  assign heard  = any && (!call_valid_q || counts);
  assign counts = call_valid_q && !s_begin_valid;
  always_comb begin
    now = '0;
    for (int i = 0; i < CALLERS; i++) if (take[i]) now |= call[i];
  end
  assign word = mem_q[call_q.slot[CMD_W-1:0]];
  assign last = word.count == COUNT_W'(1);
  assign next = s_begin_valid ? '{count: s_begin_count, err: s_begin_err, user: s_begin_user}
                              : '{count: word.count - 1'b1, err: word.err || call_q.err, user: word.user};
  always_ff @(posedge clk) begin
    call_valid_q <= !rst && (heard || (call_valid_q && !counts));
    if (heard) call_q <= now;
    if (s_begin_valid || counts) mem_q[s_begin_valid ? s_begin_slot[CMD_W-1:0] : call_q.slot[CMD_W-1:0]] <= next;
    m_valid <= !rst && (s_begin_valid ? s_begin_count == '0 : counts && last);
    m_slot  <= s_begin_valid ? s_begin_slot : call_q.slot;
    m_err   <= next.err;
    m_user  <= next.user;
  end
  assign idle = valid == '0 && !call_valid_q && !m_valid;
endmodule
