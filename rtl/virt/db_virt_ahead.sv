// SPDX-License-Identifier: Apache-2.0
// Commands wait here for their SSDs, so that none waits for another's.
//
//   s_ahead -> db_virt_plan -+-> db_virt_lane x NUM_SSD: asked of the SSDs ahead -------> db_virt_let -> m_read_let
//                            '-> db_virt_write_lane x NUM_SSD: room in their rings -> tally -> m_write_let
//   zeroes -> db_virt_zero -> db_virt_write_lane x NUM_SSD: granule by granule
//   bursts of Writes, flushes, zeroes, as the SSDs end them -> tally -> m_ended, or with FUA a flush first
//
// A command that reads goes when all of it is in the SSDs' rings; one that writes when they have room for all of it. A Write
// has ended with its last burst, a Flush when the SSDs of its namespace have done it, what zeroes
// with its last granule. Wiring, and what is known of each
// command while it waits.
// Latency: s_ahead to a Read's block command 12 cycles; its end to m_read_let 6. s_ahead to m_write_let 19. A burst's end
// to m_ended 4. Throughput: a chunk of 128 KiB every 10 cycles.
module db_virt_ahead
  import db_host_pkg::block_cmd_t, db_ssd_pkg::*, db_virt_pkg::*;
#(
  parameter int DATA_W        = 256,     ///< bits of a row: 128, 256, 512
  parameter int ADDR_W        = 40,      ///< bits of a media address
  parameter int NUM_SSD       = 2,       ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2  = 20,      ///< db_virt_map
  parameter int RD_RING_BYTES = 524288,  ///< of each SSD: power of two, 64 KiB..8 MiB
  parameter int WR_RING_BYTES = 262144,  ///< the same
  parameter int NUM_CMDS      = 128,     ///< commands at once: power of two, 2..256
  localparam int LOOK_W       = ADDR_W - GRANULE_LOG2
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic                           forget,        ///< all that waits or is under way is not wanted any more
  input  logic [51:0]                    ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0]       ssd,
  output logic                           idle,
  output logic [NUM_SSD-1:0]             quiet,         ///< nothing of this SSD is under way
  output logic [NUM_SSD-1:0]             m_fence,       ///< it has Writes of before the last forget
  /// db_virt_map
  output logic                           m_look_valid,
  output logic [LOOK_W-1:0]              m_look,
  input  extent_t                        s_extent,
  input  logic                           s_ahead_valid,
  output logic                           s_ahead_ready,
  input  ahead_t                         s_ahead,
  /// pulses: this command may go, and what becomes of its bursts; not both at once
  output logic                           m_read_let_valid,
  output logic [SLOT_W-1:0]              m_read_let_slot,
  output let_t                           m_read_let,
  output logic                           m_write_let_valid,
  output logic [SLOT_W-1:0]              m_write_let_slot,
  output let_t                           m_write_let,
  /// db_virt_zero: a look-up, whether a command has been aborted
  output logic                           m_zero_look_valid,
  input  logic                           s_zero_look_ready,
  output logic [LOOK_W-1:0]              m_zero_look,
  input  extent_t                        s_zero_extent,
  output logic [SLOT_W-1:0]              m_ask_slot,
  input  logic                           s_aborted,
  /// pulse: this Write, Flush or stretch of zeros has ended
  output logic                           m_ended_valid,
  output logic [SLOT_W-1:0]              m_ended_slot,
  output logic                           m_ended_err,
  /// Reads of each SSD, and when they end
  output logic [NUM_SSD-1:0]             m_cmd_valid,
  input  logic [NUM_SSD-1:0]             m_cmd_ready,
  output block_cmd_t [NUM_SSD-1:0]       m_cmd,
  input  logic [NUM_SSD-1:0]             s_read_end,
  /// flushes and Write Zeroes of each SSD
  output logic [NUM_SSD-1:0]             m_alone_valid,
  input  logic [NUM_SSD-1:0]             m_alone_ready,
  output alone_t [NUM_SSD-1:0]           m_alone,
  /// pulses: a burst goes to its SSD, or to none; it has so many units of 512 bytes
  input  logic [NUM_SSD-1:0]             s_burst_valid,
  input  logic [NUM_SSD-1:0]             s_void_valid,
  input  logic [3:0]                     s_burst_len,
  /// pulses: a burst, flush or Write Zeroes has ended: at an SSD; without any
  input  logic [NUM_SSD-1:0]             s_end_valid,
  input  logic [NUM_SSD-1:0][SLOT_W-1:0] s_end_slot,
  input  logic [NUM_SSD-1:0]             s_end_err,
  input  logic                           s_none_valid,
  input  logic [SLOT_W-1:0]              s_none_slot,
  input  logic                           s_none_err,
  input  logic [NUM_SSD-1:0]             s_row_valid,
  output logic [NUM_SSD-1:0]             s_row_ready,
  output logic [NUM_SSD-1:0]             m_row_valid,
  input  logic [NUM_SSD-1:0]             m_row_ready
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  // Commands of 1 MiB have at most so many parts; with small rings, so many are room for most.
  localparam int PARTS = NUM_CMDS * 16;
  logic off;
  assign off = rst || forget;

  logic               zero, zero_ready, zero_idle, plan_ready;
  assign zero          = s_ahead.kind == AHEAD_ZERO;
  assign s_ahead_ready = zero ? zero_ready : plan_ready;
  logic               flush_valid, flush_ready, plan_idle;
  logic               known_valid, known_write, known_flush, known_fua, known_err;
  logic [SLOT_W-1:0]  flush_slot, known_slot;
  logic [NUM_SSD-1:0] flush_ssds, want_valid, want_ready, room_valid, room_ready;
  known_t             known;
  logic [8:0]         known_bursts;
  want_t              want;
  room_t              room;
  db_virt_plan #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2), .RD_RING_BYTES(RD_RING_BYTES),
                 .WR_RING_BYTES(WR_RING_BYTES), .NUM_CMDS(NUM_CMDS)) i_plan (
    .clk, .rst(off), .ssd_pages, .ssd, .idle(plan_idle), .m_look_valid, .m_look, .s_extent,
    .s_ahead_valid(s_ahead_valid && !zero), .s_ahead_ready(plan_ready), .s_ahead,
    .s_flush_valid(flush_valid), .s_flush_ready(flush_ready), .s_flush_slot(flush_slot), .s_flush_ssds(flush_ssds),
    .m_known_valid(known_valid), .m_known_write(known_write), .m_known_flush(known_flush), .m_known_fua(known_fua),
    .m_known_err(known_err), .m_known_slot(known_slot), .m_known(known), .m_known_bursts(known_bursts),
    .m_want_valid(want_valid),
    .m_want_ready(want_ready), .m_want(want), .m_room_valid(room_valid), .m_room_ready(room_ready), .m_room(room));

  // ---- what zeroes: its rounds when the plan leaves room
  logic               round_valid, round_err, round_more, over_valid, over_err, over_more, over_round, begins;
  logic [SLOT_W-1:0]  round_slot, over_slot;
  logic [3:0]         round_count;
  logic [NUM_SSD-1:0] round_flush, put_valid, lane_valid;
  alone_t             put;
  room_t              lane;
  db_virt_zero #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2), .NUM_CMDS(NUM_CMDS)) i_zero (
    .clk, .rst(off), .ssd, .idle(zero_idle), .s_zero_valid(s_ahead_valid && zero), .s_zero_ready(zero_ready),
    .s_zero(s_ahead), .m_look_valid(m_zero_look_valid), .s_look_ready(s_zero_look_ready), .m_look(m_zero_look),
    .s_extent(s_zero_extent), .m_ask_slot, .s_aborted, .m_begin_valid(round_valid), .m_begin_ready(!begins),
    .m_begin_slot(round_slot), .m_begin_count(round_count), .m_begin_err(round_err), .m_begin_more(round_more),
    .m_begin_flush(round_flush),
    .m_put_valid(put_valid), .m_put_ready(room_valid == '0), .m_put(put), .s_again_valid(over_round),
    .s_again_slot(over_slot));
  assign begins     = known_valid && (known_write || known_flush);
  assign lane_valid = room_valid != '0 ? room_valid : put_valid;
  always_comb begin
    lane = room;
    if (room_valid == '0) begin
      lane       = '0;
      lane.slot  = put.slot;
      lane.flush = 1'b1;
      lane.zero  = 1'b1;
    end
  end

  // ---- the SSDs
  logic [NUM_SSD-1:0]             come_valid, come_take, read_idle, write_idle, write_quiet, fence, call_valid;
  logic [NUM_SSD-1:0]             end_valid;
  logic [NUM_SSD-1:0][SLOT_W-1:0] come_slot, call_slot;
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    db_virt_lane #(.DATA_W(DATA_W), .RING_BYTES(RD_RING_BYTES), .PARTS(PARTS), .NUM_CMDS(NUM_CMDS)) i_read (
      .clk, .rst, .forget, .idle(read_idle[i]), .fence(fence[i]), .s_put_valid(want_valid[i]),
      .s_put_ready(want_ready[i]), .s_put(want), .m_cmd_valid(m_cmd_valid[i]), .m_cmd_ready(m_cmd_ready[i]),
      .m_cmd(m_cmd[i]), .s_end_valid(s_read_end[i]), .m_come_valid(come_valid[i]), .m_come_ready(come_take[i]),
      .m_come_slot(come_slot[i]), .s_row_valid(s_row_valid[i]), .s_row_ready(s_row_ready[i]),
      .m_row_valid(m_row_valid[i]), .m_row_ready(m_row_ready[i]));
    db_virt_write_lane #(.RING_BYTES(WR_RING_BYTES), .PARTS(PARTS), .NUM_CMDS(NUM_CMDS)) i_write (
      .clk, .rst, .forget, .idle(write_idle[i]), .quiet(write_quiet[i]), .fence(fence[i]),
      .s_put_valid(lane_valid[i]),
      .s_put_ready(room_ready[i]), .s_put(lane), .s_put_alone(put), .m_call_valid(call_valid[i]),
      .m_call_slot(call_slot[i]), .m_alone_valid(m_alone_valid[i]), .m_alone_ready(m_alone_ready[i]),
      .m_alone(m_alone[i]),
      .s_burst_valid(s_burst_valid[i]), .s_void_valid(s_void_valid[i]), .s_burst_len, .s_end_valid(s_end_valid[i]),
      .m_end_valid(end_valid[i]));
  end

  // ---- commands that read
  logic let_idle;
  db_virt_let #(.NUM_SSD(NUM_SSD), .NUM_CMDS(NUM_CMDS)) i_let (
    .clk, .rst(off), .idle(let_idle), .s_known_valid(known_valid && !known_write && !known_flush),
    .s_known_slot(known_slot), .s_known(known), .s_come_valid(come_valid), .s_come_take(come_take),
    .s_come_slot(come_slot), .m_let_valid(m_read_let_valid), .m_let_slot(m_read_let_slot), .m_let(m_read_let));

  // ---- commands that write: room at all of their SSDs
  logic [3:0] ssds;
  always_comb begin
    ssds = '0;
    for (int i = 0; i < NUM_SSD; i++) ssds += 4'(known.mask[i]);
  end
  logic              has_valid, room_idle, may_valid, may;
  logic [SLOT_W-1:0] has_slot, may_slot;
  let_t              may_let;
  db_virt_tally #(.NUM_CMDS(NUM_CMDS), .CALLERS(NUM_SSD), .COUNT_W(4), .USER_W(1), .DEPTH(NUM_CMDS)) i_room (
    .clk, .rst(off), .s_begin_valid(known_valid && known_write), .s_begin_slot(known_slot), .s_begin_count(ssds),
    .s_begin_err(1'b0), .s_begin_user(1'b0), .s_call_valid(call_valid), .s_call_slot(call_slot), .s_call_err('0),
    .m_valid(has_valid), .m_slot(has_slot), .m_err(), .m_user(), .idle(room_idle));
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_may (
    .clk, .rst(off), .s_valid(has_valid), .s_ready(), .s_data(has_slot), .m_valid(may_valid), .m_ready(may),
    .m_data(may_slot), .level());
  db_ram_sdp #(.WIDTH($bits(let_t)), .DEPTH(NUM_CMDS)) i_lets (
    .clk, .we(known_valid && known_write), .waddr(known_slot[CMD_W-1:0]), .wdata(known.let_go), .re(may),
    .raddr(may_slot[CMD_W-1:0]), .rdata(may_let));
  logic              look_q;
  logic [SLOT_W-1:0] look_slot_q;
  assign may               = may_valid && !look_q;
  assign m_write_let_valid = look_q && !m_read_let_valid;
  assign m_write_let_slot  = look_slot_q;
  assign m_write_let       = may_let;
  always_ff @(posedge clk) begin
    look_q <= !off && (may || (look_q && m_read_let_valid));
    if (may) look_slot_q <= may_slot;
  end

  // ---- ... and their ends; with FUA a flush follows
  logic               end_idle, fua, fua_valid;
  logic [NUM_SSD-1:0] over_ssds;
  db_virt_tally #(.NUM_CMDS(NUM_CMDS), .CALLERS(NUM_SSD + 1), .USER_W(NUM_SSD + 1), .DEPTH(512)) i_ends (
    .clk, .rst(off), .s_begin_valid(begins || round_valid), .s_begin_slot(begins ? known_slot : round_slot),
    .s_begin_count(!begins ? 9'(round_count) : known_write ? known_bursts : 9'(ssds)),
    .s_begin_err(begins ? known_err : round_err),
    .s_begin_user(!begins ? {round_more, round_flush}
                          : {1'b0, known_write && known_fua ? known.mask[NUM_SSD-1:0] : NUM_SSD'(0)}),
    .s_call_valid({s_none_valid, end_valid}), .s_call_slot({s_none_slot, s_end_slot}),
    .s_call_err({s_none_err, s_end_err}), .m_valid(over_valid), .m_slot(over_slot), .m_err(over_err),
    .m_user({over_more, over_ssds}), .idle(end_idle));
  assign over_round = over_valid && over_more && !over_err;
  assign fua        = over_valid && over_ssds != '0 && !over_err;
  db_fifo #(.WIDTH(SLOT_W + NUM_SSD), .DEPTH(NUM_CMDS)) i_fua (
    .clk, .rst(off), .s_valid(fua), .s_ready(), .s_data({over_slot, over_ssds}), .m_valid(fua_valid),
    .m_ready(flush_ready), .m_data({flush_slot, flush_ssds}), .level());
  assign flush_valid   = fua_valid;
  assign m_ended_valid = over_valid && !fua && !over_round;
  assign m_ended_slot  = over_slot;
  assign m_ended_err   = over_err;

  assign quiet   = read_idle & write_quiet;
  assign m_fence = fence;
  assign idle = plan_idle && zero_idle && &read_idle && &write_idle && let_idle && room_idle && end_idle &&
                !may_valid && !look_q && !fua_valid;
endmodule
