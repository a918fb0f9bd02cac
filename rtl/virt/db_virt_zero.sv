// SPDX-License-Identifier: Apache-2.0
// Stretches that hosts want zeroed, to Write Zeroes of their SSDs, in rounds: what the stretch has of one granule is one
// Write Zeroes on each SSD of it; when these have ended (db_virt_tally), the next granule is looked at.
//
// So each command has one Write Zeroes on an SSD at most, there is room for all, and none waits for another's SSD. One whose
// SSD is being brought up is put aside and tried again. The round is an error, and the last, if the granule is nowhere, or an
// SSD of it is not there or has blocks that are too large; of a command that has been aborted none follows. With FUA the last round names
// the SSDs that are to flush.
// Latency: a round 5 cycles and 5 for each SSD to the last one's lane. Throughput: a round in that time.
module db_virt_zero
  import db_ssd_pkg::*, db_virt_pkg::*;
#(
  parameter int ADDR_W       = 40,   ///< bits of a media address
  parameter int NUM_SSD      = 2,    ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,   ///< db_virt_map
  parameter int NUM_CMDS     = 128,  ///< commands at once: power of two, 2..256
  localparam int LOOK_W      = ADDR_W - GRANULE_LOG2
) (
  input  logic                     clk,
  input  logic                     rst,
  input  ssd_state_t [NUM_SSD-1:0] ssd,
  output logic                     idle,
  input  logic                     s_zero_valid,
  output logic                     s_zero_ready,
  input  ahead_t                   s_zero,
  /// db_virt_extents: the answer is there a cycle after m_look_valid and s_look_ready
  output logic                     m_look_valid,
  input  logic                     s_look_ready,
  output logic [LOOK_W-1:0]        m_look,
  input  extent_t                  s_extent,
  /// has this slot's command been aborted? In the same cycle
  output logic [SLOT_W-1:0]        m_ask_slot,
  input  logic                     s_aborted,
  /// a round begins, with so many ends to come; of the last: the SSDs that are to flush then
  output logic                     m_begin_valid,
  input  logic                     m_begin_ready,
  output logic [SLOT_W-1:0]        m_begin_slot,
  output logic [3:0]               m_begin_count,
  output logic                     m_begin_err,
  output logic                     m_begin_more,   ///< unless one of them is an error another round comes
  output logic [NUM_SSD-1:0]       m_begin_flush,
  /// to the lane of an SSD, which has room
  output logic [NUM_SSD-1:0]       m_put_valid,
  input  logic                     m_put_ready,
  output alone_t                   m_put,
  /// pulse: a round of this slot is over, and another comes
  input  logic                     s_again_valid,
  input  logic [SLOT_W-1:0]        s_again_slot
);
  localparam int INDEX_W = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  localparam int CMD_W   = $clog2(NUM_CMDS);
  localparam int G       = GRANULE_LOG2;
  typedef struct packed {
    logic [ADDR_W:9]    from;     // what is left of the stretch
    logic [ADDR_W:9]    to;
    logic               fua;
    logic [NUM_SSD-1:0] ssds;     // that have zeroed something
  } job_t;
  typedef struct packed {
    logic [63:0] lba;
    logic [31:0] blocks;
  } part_t;
  typedef enum logic [3:0] {ST_IDLE, ST_LOOK, ST_GET, ST_RUN, ST_FIT, ST_ROUND, ST_BEGIN, ST_PUT, ST_AGAIN} state_e;
  state_e              state_q;
  job_t                job_mem_q [NUM_CMDS];
  job_t                job_q, rest;
  part_t               part_mem_q [NUM_SSD];
  logic [SLOT_W-1:0]   slot_q;

  // ---- those that wait for their next round
  logic              wait_valid, wait_take, again;
  logic [SLOT_W-1:0] wait_slot;
  assign again      = state_q == ST_AGAIN && !s_again_valid;
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_wait (
    .clk, .rst, .s_valid(s_again_valid || again), .s_ready(),
    .s_data(s_again_valid ? s_again_slot : slot_q), .m_valid(wait_valid), .m_ready(wait_take), .m_data(wait_slot),
    .level());
  assign s_zero_ready = state_q == ST_IDLE;
  assign wait_take    = state_q == ST_IDLE && !s_zero_valid;

  // ---- one round: the run of each SSD of the granule
  extent_t            extent_q;
  logic [SSD_W-1:0]   member_q, which, mask;
  logic [G:0]         first, after_q;              // bytes of the granule that the stretch has
  logic [ADDR_W:9]    next_q;                      // granule
  part_t              run;                         // what the SSD has of the granule
  logic               run_done, some, misfit;
  logic [NUM_SSD-1:0] asks_q;                      // members that have something to do
  logic               err_q, hold_q, last, ends_q;
  ssd_state_t         now;
  always_ff @(posedge clk) begin                    // two cycles behind job_q, before they are used
    next_q  <= {(ADDR_W + 1 - G)'(job_q.from[ADDR_W:G] + 1'b1), (G - 9)'(0)};
    ends_q  <= job_q.to <= next_q;
    after_q <= job_q.to < next_q ? {1'b0, job_q.to[G-1:9], 9'd0} : {1'b1, G'(0)};
  end
  assign first  = {1'b0, job_q.from[G-1:9], 9'd0};
  assign mask   = ~(SSD_W'('1) << extent_q.log2);
  assign which  = extent_q.ssd | member_q;
  assign now    = ssd[INDEX_W'(which)];
  assign last   = member_q == mask;
  db_virt_run #(.GRANULE_LOG2(G)) i_run (
    .clk, .rst, .go(state_q == ST_RUN), .done(run_done), .extent(extent_q), .member(member_q), .first, .after(after_q),
    .lba_shift(now.lba_shift), .some, .misfit, .lba(run.lba), .blocks(run.blocks));

  // ---- out
  logic               aborted_q, fails, fails_q;
  logic [NUM_SSD-1:0] asked;                       // as SSDs, not members
  part_t              part;
  always_comb begin
    asked = '0;
    for (int i = 0; i < NUM_SSD; i++)
      asked[i] = SSD_W'(i) >> extent_q.log2 == extent_q.ssd >> extent_q.log2 && asks_q[INDEX_W'(SSD_W'(i) & mask)];
    rest      = job_q;
    rest.from = state_q == ST_AGAIN ? job_q.from : next_q;
    rest.ssds = state_q == ST_AGAIN ? job_q.ssds : job_q.ssds | asked;
    m_begin_count = '0;
    for (int i = 0; i < NUM_SSD; i++) m_begin_count += 4'(asked[i] && !fails_q);
    m_put_valid = '0;
    m_put_valid[INDEX_W'(which)] = state_q == ST_PUT && asks_q[INDEX_W'(member_q)];
  end
  assign fails         = err_q || aborted_q;
  assign part          = part_mem_q[INDEX_W'(member_q)];
  assign m_look_valid  = state_q == ST_LOOK;
  assign m_look        = job_q.from[ADDR_W-1:G];
  assign m_ask_slot    = slot_q;
  assign m_begin_valid = state_q == ST_BEGIN;
  assign m_begin_slot  = slot_q;
  assign m_begin_err   = err_q;
  assign m_begin_more  = !fails_q && !ends_q;
  assign m_begin_flush = ends_q && job_q.fua && !fails_q ? rest.ssds : '0;
  assign m_put         = '{slot: slot_q, zero: 1'b1, lba: part.lba, blocks: part.blocks};
  assign idle          = state_q == ST_IDLE && !s_zero_valid && !wait_valid;

  always_ff @(posedge clk) begin
    aborted_q <= s_aborted;
    unique case (state_q)
      ST_IDLE: begin
        slot_q   <= s_zero_valid ? s_zero.slot : wait_slot;
        job_q    <= job_mem_q[wait_slot[CMD_W-1:0]];
        member_q <= '0;
        asks_q   <= '0;
        err_q    <= 1'b0;
        hold_q   <= 1'b0;
        if (s_zero_valid)
          job_q <= '{from: s_zero.addr[ADDR_W:9], to: s_zero.addr[ADDR_W:9] + s_zero.bytes[ADDR_W:9],
                     fua: s_zero.fua, ssds: '0};
        if (s_zero_valid || wait_valid) state_q <= ST_LOOK;
      end
      ST_LOOK: if (s_look_ready) state_q <= ST_GET;
      ST_GET: begin
        extent_q <= s_extent;
        err_q    <= !s_extent.valid;
        state_q  <= s_extent.valid ? ST_RUN : ST_ROUND;
      end
      ST_RUN: if (run_done) state_q <= ST_FIT;
      ST_FIT: begin
        part_mem_q[INDEX_W'(member_q)] <= run;
        asks_q[INDEX_W'(member_q)]     <= some;
        if (some) begin
          if (!now.present) err_q <= 1'b1;
          else if (!now.up && !now.dead) hold_q <= 1'b1;
          else if (misfit) err_q <= 1'b1;
        end
        member_q <= last ? '0 : member_q + 1'b1;
        state_q  <= last ? ST_ROUND : ST_RUN;
      end
      ST_ROUND: begin
        fails_q <= fails;
        state_q <= !hold_q || fails ? ST_BEGIN : ST_AGAIN;
      end
      ST_BEGIN: if (m_begin_ready) state_q <= fails_q ? ST_IDLE : ST_PUT;
      ST_PUT: if (m_put_valid == '0 || m_put_ready) begin
        member_q <= member_q + 1'b1;
        if (last) state_q <= ST_IDLE;
      end
      ST_AGAIN: if (again) state_q <= ST_IDLE;
      default: state_q <= ST_IDLE;
    endcase
    if ((m_begin_valid && m_begin_ready) || state_q == ST_AGAIN) job_mem_q[slot_q[CMD_W-1:0]] <= rest;
    if (rst) state_q <= ST_IDLE;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_zero};
endmodule
