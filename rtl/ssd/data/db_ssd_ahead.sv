// SPDX-License-Identifier: Apache-2.0
// For a media that is far away and of many: commands wait here until they need not wait for it.
//
// Why: the engines work in the order of what they are given, so a command whose media takes its time would hold up all
// behind it. So the media is told of a Read, Verify, Compare or Write when the command comes; it names the slot
// when what is read can be had at once, what is written has room; then the command goes to its engine. The media says again
// how a Write has ended, and that is its end (db_ssd_ahead_end). A Flush and Write Zeroes it does alone, and the ranges of
// a Dataset Management, when the write engine has them all (db_ssd_ahead_ranges). All else passes straight.
// There is room for every command with a slot. Operators are told of a command when it goes, as packets come in that order.
// A reset forgets all that waits here, and the media with it; nobody need wait for the media before.
// Latency: 2 cycles to m_ahead, from s_come 3 to the engine; of what passes 1; from an end 3. Throughput: a command
// every 3 cycles.
module db_ssd_ahead
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*,
         db_ssd_data_pkg::*;
#(
  parameter int ADDR_W   = 40,   ///< bits of a media address
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              stop,          ///< until rst: nothing more goes to an engine
  output logic              busy,          ///< a command waits here
  /// Commands for [0] the read engine, [1] the write engine; not both at once. As db_ssd_order gives them.
  input  logic [1:0]        s_cmd_valid,
  output logic [1:0]        s_cmd_ready,
  input  cmd_t              s_cmd,
  input  piece_t            s_piece,
  /// What operators must know of it, in the same cycle or the next.
  input  tap_cmd_t          s_tap_cmd,
  input  logic              s_tap_begin,
  input  logic [SLOT_W-1:0] s_tap_begin_slot,
  output logic [1:0]        m_cmd_valid,
  input  logic [1:0]        m_cmd_ready,
  output cmd_t              m_cmd,
  output piece_t            m_piece,
  output tap_cmd_t          m_tap_cmd,
  output logic              m_tap_begin,
  output logic [SLOT_W-1:0] m_tap_begin_slot,
  /// To the media: a command that will need it. From it: the command of this slot may go; a pulse.
  output logic              m_ahead_valid,
  input  logic              m_ahead_ready,
  output ahead_t            m_ahead,
  input  logic              s_come_valid,
  input  logic [SLOT_W-1:0] s_come_slot,
  /// From the media: this slot's command has ended, or the range of which it was told last; a pulse.
  input  logic              s_ended_valid,
  input  logic [SLOT_W-1:0] s_ended_slot,
  input  logic              s_ended_err,
  /// The write engine's commands to the media, ranges all: the slot of each; the answer is a pulse.
  input  logic              s_media_valid,
  output logic              s_media_ready,
  input  media_cmd_t        s_media,
  input  logic [SLOT_W-1:0] s_media_slot,
  output logic              m_media_done,
  /// Completions of the write engine, and those that go out; a pulse: a command met a media error.
  input  logic              s_completion_valid,
  output logic              s_completion_ready,
  input  slot_completion_t  s_completion,
  input  logic              s_media_err,
  output logic              m_completion_valid,
  input  logic              m_completion_ready,
  output slot_completion_t  m_completion,
  output logic              m_media_err
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  function automatic logic waits(input op_desc_t desc);
    return (desc.read_engine && !desc.memory) || desc.compare || desc.write;
  endfunction
  function automatic logic alone(input op_desc_t desc);
    return desc.flush || desc.zero;
  endfunction
  logic put, pass, ask_room, come_valid, look, look_q, ready_q, go, begun, over, more_valid;
  logic [SLOT_W-1:0] come;
  logic [CMD_W:0]    inside_q;
  cmd_t              cmd;

  // ---- in: what comes late in a cycle has a register
  logic              new_q, came_q, tap_q;    // a command; it came a cycle ago; its tap_cmd
  logic [1:0]        packet_q;                // a packet of what passes: to the host; to the media, also of a piece
  cmd_t              cmd_q;
  piece_t            piece_q;
  tap_cmd_t          tap_cmd_q;
  logic [SLOT_W-1:0] tap_slot_q;
  assign s_cmd_ready = {2{!new_q}};           // what waits has room here
  always_ff @(posedge clk) begin
    new_q  <= (s_cmd_valid != '0 || (pass && !m_cmd_ready[!cmd_q.desc.read_engine])) && !rst;
    came_q <= s_cmd_valid != '0 && !rst;
    if (s_cmd_valid != '0) begin
      cmd_q   <= s_cmd;
      piece_q <= s_piece;
    end
    tap_q      <= s_tap_begin && !rst;
    packet_q   <= waits(s_tap_cmd.ctx.desc) || rst ? '0 : {s_tap_cmd.write, s_tap_cmd.read};
    tap_cmd_q  <= s_tap_cmd;
    tap_slot_q <= s_tap_begin_slot;
  end
  assign put  = new_q && (waits(cmd_q.desc) || alone(cmd_q.desc));
  assign pass = new_q && !put;
  ahead_t ask, more;
  cmd_t   kept;
  always_comb begin
    ask  = '{slot: cmd_q.slot, kind: AHEAD_READ, fua: cmd_q.fua, addr: cmd_q.media_addr, bytes: 64'(cmd_q.bytes)};
    kept = cmd_q;
    if (cmd_q.desc.compare) ask.kind = AHEAD_COMPARE;
    if (cmd_q.desc.write) begin
      ask.kind = AHEAD_WRITE;
      kept.fua = 1'b0;        // the media's, too
    end
    if (cmd_q.desc.zero) ask.kind = AHEAD_ZERO;
    if (cmd_q.desc.flush) begin
      ask.kind  = AHEAD_FLUSH;
      ask.bytes = cmd_q.lba4k ? cmd_q.ns_blocks << 12 : cmd_q.ns_blocks << 9;
    end
  end

  // ---- to the media, and what it says
  db_fifo #(.WIDTH($bits(ahead_t)), .DEPTH(NUM_CMDS)) i_asks (
    .clk, .rst, .s_valid(put || more_valid), .s_ready(ask_room),
    .s_data(put ? ask : more), .m_valid(m_ahead_valid), .m_ready(m_ahead_ready), .m_data(m_ahead), .level());
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_come (
    .clk, .rst, .s_valid(s_come_valid), .s_ready(), .s_data(s_come_slot), .m_valid(come_valid), .m_ready(look),
    .m_data(come), .level());

  // ---- what waits
  typedef struct packed {
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [31:0]      nsid;
    logic [63:0]      slba;
  } beside_t;
  beside_t beside;
  assign look = come_valid && !look_q && !ready_q;
  db_ram_sdp #(.WIDTH($bits(cmd_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_cmds (
    .clk, .we(put), .waddr(cmd_q.slot[CMD_W-1:0]), .wdata(kept), .re(look), .raddr(come[CMD_W-1:0]), .rdata(cmd));
  db_ram_sdp #(.WIDTH($bits(beside_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_beside (
    .clk, .we(tap_q && waits(tap_cmd_q.ctx.desc)), .waddr(tap_slot_q[CMD_W-1:0]),
    .wdata({tap_cmd_q.ctx.sqid, tap_cmd_q.ctx.cid, tap_cmd_q.ctx.nsid, tap_cmd_q.ctx.slba}), .re(look),
    .raddr(come[CMD_W-1:0]), .rdata(beside));

  // ---- one that has come goes when no other passes, nor its message to operators
  assign go = ready_q && !stop && !new_q && !tap_q && packet_q == '0 && m_cmd_ready[!cmd.desc.read_engine];
  always_ff @(posedge clk) begin
    look_q   <= look && !rst;
    ready_q  <= (look_q || (ready_q && !go)) && !rst;
    inside_q <= rst ? '0 : inside_q + (CMD_W + 1)'(put) + (CMD_W + 1)'(begun) - (CMD_W + 1)'(over) -
                           (CMD_W + 1)'(go && !cmd.desc.write);
  end
  assign m_cmd_valid      = {(pass && !cmd_q.desc.read_engine) || (go && !cmd.desc.read_engine),
                             (pass && cmd_q.desc.read_engine) || (go && cmd.desc.read_engine)};
  assign m_cmd            = new_q ? cmd_q : cmd;
  assign m_piece          = new_q ? piece_q : '0;
  assign m_tap_begin      = go || (tap_q && !waits(tap_cmd_q.ctx.desc));
  assign m_tap_begin_slot = tap_q ? tap_slot_q : cmd.slot;
  always_comb begin
    m_tap_cmd = '{
      read: 1'b0, write: 1'b0, lba4k: cmd.lba4k, near_program: near_program(cmd),
      ctx: '{desc: cmd.desc, fn: cmd.fn, sqid: beside.sqid, cid: beside.cid, nsid: beside.nsid, slba: beside.slba,
             bytes: cmd.bytes}};
    if (tap_q || packet_q != '0) m_tap_cmd = tap_cmd_q;
    m_tap_cmd.read  = packet_q[0] || (go && cmd.desc.to_host);  // of what waits only when it goes
    m_tap_cmd.write = packet_q[1] || (go && cmd.desc.from_host);
  end

  // ---- ranges; ends
  logic [SLOT_W-1:0] look_slot, next_slot;
  logic              look_left, look_over, next_valid, end_busy;
  assign busy = inside_q != '0 || new_q || end_busy;
  // One that waits for its engine has begun once: the engine makes room by what it says here.
  db_ssd_ahead_ranges #(.ADDR_W(ADDR_W), .NUM_CMDS(NUM_CMDS)) i_ranges (
    .clk, .rst, .s_begin_valid(came_q && !piece_q.later), .s_begin_slot(cmd_q.slot), .s_media_valid,
    .s_media_ready, .s_media, .s_media_slot, .m_media_done, .look_slot, .look_left, .look_over,
    .s_next_valid(next_valid), .s_next_slot(next_slot), .m_ask_valid(more_valid), .m_ask_ready(!put), .m_ask(more));
  db_ssd_ahead_end #(.NUM_CMDS(NUM_CMDS)) i_end (
    .clk, .rst, .s_cmd_valid(new_q), .s_cmd_slot(cmd_q.slot), .s_cmd_write(cmd_q.desc.write),
    .s_cmd_alone(alone(cmd_q.desc)), .s_cmd_ranges(cmd_q.desc.ranges), .s_completion_valid, .s_completion_ready,
    .s_completion, .s_media_err, .s_ended_valid, .s_ended_slot, .s_ended_err, .m_completion_valid,
    .m_completion_ready, .m_completion, .m_media_err, .busy(end_busy), .look_slot, .look_left, .look_over,
    .m_next_valid(next_valid), .m_next_slot(next_slot), .begun, .over);

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && (put || more_valid)) assert (ask_room);
  always_ff @(posedge clk) if (!rst && s_cmd_valid != '0) assert (!new_q);
`endif
endmodule
