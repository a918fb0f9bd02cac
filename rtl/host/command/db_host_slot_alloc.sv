// SPDX-License-Identifier: Apache-2.0
// Parts get slots and ring space, and the context that their submission entries are made from.
//
// Whether there is a slot and ring space is worked out a cycle ahead, so s_part_ready is a register (but for a part
// that is bad: it waits until no slot is in use, so that its answer keeps its place, and gets none).
// Latency: 2 cycles from a part to its slot. Throughput: a part every 3 cycles.
module db_host_slot_alloc
  import db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS      = 128,
  /// bytes of the rings: 4096..8 Mi, a power of 2
  parameter int WR_RING_BYTES = 65536,
  parameter int RD_RING_BYTES = 524288,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic                 clk,
  input  logic                 rst,
  input  logic                 s_part_valid,
  output logic                 s_part_ready,
  input  part_t                s_part,

  /// rings, in units of 512 bytes that only grow (modulo 2^32): written to the one, read out of the other
  input  logic [31:0]          wr_fill,
  input  logic [31:0]          rd_freed,

  input  logic                 io_dead,
  input  slot_state_e          state,
  input  logic                 drained,
  input  logic                 empty,
  input  logic                 below_limit,
  /// no slot may be given from the next cycle on
  input  logic                 hold,
  input  logic [SLOT_LOG2-1:0] issue_slot,
  input  logic [GEN_W-1:0]     issue_gen,
  /// a status waits to be taken: no bad part may be answered
  input  logic                 status_busy,

  /// the part on offer gets issue_slot, its data the place buf512 (units of 512 bytes)
  output logic                 take,
  output logic [13:0]          buf512,
  /// take may rise
  output logic                 room,
  /// the part on offer is bad and is answered now
  output logic                 bad_now,

  /// entry_ctx_t of a slot, the cycle after s_ctx_re
  input  logic                 s_ctx_re,
  input  logic [CID_W-1:0]     s_ctx_slot,
  output entry_ctx_t           m_ctx
);
  localparam int WR_LOG2 = $clog2(WR_RING_BYTES / 512);
  localparam int RD_LOG2 = $clog2(RD_RING_BYTES / 512);
  localparam int PLACE_W = (WR_LOG2 > RD_LOG2) ? WR_LOG2 : RD_LOG2;
  localparam int UNITS_W = PLACE_W + 2;  // of the counters' bits that are needed
  localparam logic [UNITS_W-1:0] RD_UNITS = UNITS_W'(RD_RING_BYTES / 512);

  logic               write, read, room_q, take_q, calm_q;  // calm_q: no slot is in use, only a take changes that
  logic [UNITS_W-1:0] wr_alloc_q, rd_alloc_q, wr_have, rd_used;
  slot_t              slot;

  assign write   = s_part.slot.op == BLOCK_WRITE;
  assign read    = s_part.slot.op == BLOCK_READ;
  assign wr_have = wr_fill[UNITS_W-1:0] - wr_alloc_q;
  assign rd_used = rd_alloc_q - rd_freed[UNITS_W-1:0];

  // What is taken between looking and having looked is known (take_q).
  always_ff @(posedge clk) begin
    calm_q <= empty && !take && !rst;
    room_q <= (state == SLOTS_RUN || (drained && io_dead)) && s_part_valid && !s_part.bad && below_limit &&
              (!write || wr_have >= UNITS_W'(s_part.slot.len512)) &&
              (!read || rd_used + UNITS_W'(s_part.slot.len512) <= RD_UNITS);
    take_q <= take;
    if (take || take_q || hold || rst) room_q <= 1'b0;
    if (take && write) wr_alloc_q <= wr_alloc_q + UNITS_W'(s_part.slot.len512);
    if (take && read) rd_alloc_q <= rd_alloc_q + UNITS_W'(s_part.slot.len512);
    if (rst) begin
      wr_alloc_q <= '0;
      rd_alloc_q <= '0;
    end
  end
  assign take         = room_q && s_part_valid;
  assign room         = room_q;
  assign bad_now      = s_part_valid && s_part.bad && calm_q && !status_busy &&
                        (state == SLOTS_RUN || state == SLOTS_DRAIN);
  assign s_part_ready = room_q || bad_now;
  assign buf512       = write ? 14'(wr_alloc_q[WR_LOG2-1:0]) : 14'(rd_alloc_q[RD_LOG2-1:0]);

  always_comb begin
    slot        = s_part.slot;
    slot.buf512 = buf512;
  end

  db_ram_sdp #(
    .WIDTH($bits(entry_ctx_t)),
    .DEPTH(NUM_CMDS)
  ) i_ctx (
    .clk,
    .we(take), .waddr(issue_slot), .wdata({issue_gen, slot}),
    .re(s_ctx_re), .raddr(SLOT_LOG2'(s_ctx_slot)), .rdata(m_ctx)
  );
endmodule
