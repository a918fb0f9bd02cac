// SPDX-License-Identifier: Apache-2.0
// Command slots, used and given back in order, so that a submission entry is a function of its place in the queue
// (docs/host.md): takes parts, gives each a slot and ring space, moves the queues' tails, matches completions with
// slots, and retires slots in order: status out, ring space back, data released. After a controller reset all slots
// that are not retired are submitted again, or end with a status.
//
// Latency: a part whose data is there to m_db_valid 2 cycles; a completion to its status 4 cycles (oldest slot).
// Throughput: a part a cycle; a completion a cycle; a slot retired every 2 cycles.
module db_host_slots
  import db_nvme_pkg::*, db_host_pkg::*;
#(
    parameter int unsigned NUM_CMDS      = 128,     // slots: 8..256, a power of 2
    parameter int unsigned NUM_QP        = 1,       // I/O queue pairs: 1, 2, 4
    parameter int unsigned WR_RING_BYTES = 65536,   // bytes, 4096..8 Mi, a power of 2
    parameter int unsigned RD_RING_BYTES = 524288   // bytes, 4096..8 Mi, a power of 2
) (
    input  logic             clk,
    input  logic             rst,
    // from the control
    input  logic             io_up,             // the drive has its I/O queues, empty at the rising edge
    input  logic             io_dead,           // it will not come back by itself: all ends with a path error
    input  logic             repeat_on_reset,   // submit again what a reset took, else end it as aborted by the host
    input  logic [15:0]      sq_size,           // entries of each I/O queue: a power of 2, 4..2 x NUM_CMDS / NUM_QP
    input  logic [31:0]      cmd_timeout,       // cycles; 0: none
    // parts
    input  logic             s_part_valid,
    output logic             s_part_ready,
    input  slot_t            s_part,
    input  logic [15:0]      s_part_tag,
    input  logic             s_part_last,
    input  logic             s_part_bad,
    input  status_t          s_part_status,
    // rings, in units of 512 bytes that only grow (modulo 2^32)
    input  logic [31:0]      wr_fill,
    output logic [31:0]      wr_freed,
    input  logic [31:0]      rd_freed,
    // submission entries are made from the slots
    input  logic             ctx_re,
    input  logic [CID_W-1:0] ctx_slot,
    output slot_t            ctx,               // the cycle after ctx_re
    output logic [GEN_W-1:0] ctx_gen,
    output logic [CID_W-1:0] sq_base,           // slot of place 0 of queue pair 0
    output logic [CID_W-1:0] slot_mask,         // slots in use - 1
    // completions, and the heads that they leave
    output logic             cqe_start,
    input  logic             s_cqe_valid,
    input  cqe_t             s_cqe,
    input  logic [4*16-1:0]  cq_head,
    // doorbells
    output logic             m_db_valid,        // falls without ready when io_up does
    input  logic             m_db_ready,
    output logic             m_db_cq,
    output logic [3:0]       m_db_qid,          // NVMe queue identifier, from 1
    output logic [15:0]      m_db_value,
    // the oldest command, when it is too old; held until it is not
    output logic             m_late_valid,
    output logic [GEN_W+CID_W-1:0] m_late_cid,  // generation, slot
    output logic [3:0]       m_late_qid,
    // results, in order
    output logic [63:0]      m_axis_status_tdata,
    output logic             m_axis_status_tvalid,
    input  logic             m_axis_status_tready,
    output logic             m_out_valid,       // data of a part of a Read may go out
    input  logic             m_out_ready,
    output logic [13:0]      m_out_buf512,
    output logic [13:0]      m_out_len512,
    output logic             m_out_last,
    output logic             m_out_error,
    output logic             empty,             // no slot in use
    output logic             stat_doorbell,     // a part got its slot
    output logic             stat_retire,       // the oldest command has ended as the drive says
    output logic             stat_cqe,          // a completion of a command in flight
    output logic             stat_bad           // one of a command that is not
);
  localparam int unsigned LG  = $clog2(NUM_CMDS);
  localparam int unsigned QLG = $clog2(NUM_QP);

  if (NUM_CMDS < 8 || NUM_CMDS > 256 || (NUM_CMDS & (NUM_CMDS - 1)) != 0 || !(NUM_QP inside {1, 2, 4})) begin : g_bad
    $error("%m: NUM_CMDS 8..256, a power of 2 (is %0d), NUM_QP 1, 2 or 4 (is %0d)", NUM_CMDS, NUM_QP);
  end

  // ------------------------------------------------------------------ state
  // Sequence numbers count slots; the bit above the slot tells one round from the next.
  typedef logic [LG:0] seq_t;
  typedef enum logic [2:0] {
    ST_WAIT,    // no queues: parts wait, or end when the drive is dead
    ST_SWEEP,   // marks every slot as not done
    ST_RUN,
    ST_DRAIN    // what is left ends with a status
  } state_e;

  state_e      state_q;
  seq_t        issue_q, retire_q, base_q, sweep_q;
  logic [LG-1:0] mask_q;          // slots in use - 1
  seq_t        count, limit_q;
  seq_t        wrap_q;            // slots in use: the bit above the slot
  seq_t        slots, slots_q;    // what the drive's queues allow
  logic [31:0] now_q;
  logic        swept_q;           // the first sweep after rst is done
  logic        drained_q;         // ST_DRAIN: what was in flight is gone; what comes now has no completion
  status_t     drain_status;

  assign count = (issue_q - retire_q) & (wrap_q | seq_t'(mask_q));
  assign empty = count == '0;

  logic          odd;             // which round the oldest slot is of
  logic [LG-1:0] issue_slot, retire_slot;
  assign odd         = |(retire_q & wrap_q);
  assign issue_slot  = LG'(issue_q) & mask_q;
  assign retire_slot = LG'(retire_q) & mask_q;

  // ------------------------------------------------------------------ parts get slots
  localparam int unsigned WR_LG = $clog2(WR_RING_BYTES / 512);
  localparam int unsigned RD_LG = $clog2(RD_RING_BYTES / 512);
  localparam int unsigned BW    = (WR_LG > RD_LG) ? WR_LG : RD_LG;  // of a place in a ring; of a length one more
  localparam int unsigned UW    = BW + 2;  // of the counters' bits that are needed
  localparam logic [UW-1:0] RD_UNITS = UW'(RD_RING_BYTES / 512);
  logic          take, bad_now, room_q, wr, rd;
  logic [UW-1:0] wr_alloc_q, rd_alloc_q;
  slot_t         ctx_new;
  logic [UW-1:0] wr_have, rd_used;

  assign wr      = s_part.op == OP_WRITE;
  assign rd      = s_part.op == OP_READ;
  assign wr_have = wr_fill[UW-1:0] - wr_alloc_q;
  assign rd_used = rd_alloc_q - rd_freed[UW-1:0];

  // Whether there is a slot and ring space is worked out a cycle ahead; what is taken in between is known (take_q).
  logic take_q, calm_q;  // calm_q: no slot is in use, and only a part that is taken could change that
  always_ff @(posedge clk) begin
    calm_q <= empty && !take && !rst;
    room_q <= (state_q == ST_RUN || (drained_q && io_dead)) && s_part_valid && !s_part_bad && count < limit_q &&
              (!wr || wr_have >= UW'(s_part.len512)) && (!rd || rd_used + UW'(s_part.len512) <= RD_UNITS);
    take_q <= take;
    if (take || take_q || rst) room_q <= 1'b0;
  end
  assign take         = room_q && s_part_valid;
  assign bad_now      = s_part_valid && s_part_bad && calm_q && !m_axis_status_tvalid &&
                        (state_q == ST_RUN || state_q == ST_DRAIN);
  assign s_part_ready = room_q || bad_now;

  always_comb begin
    ctx_new        = s_part;
    ctx_new.buf512 = wr ? 14'(wr_alloc_q[WR_LG-1:0]) : 14'(rd_alloc_q[RD_LG-1:0]);
  end

  // Each round through the slots is a generation, and so is each start with none in use: a completion entry that comes
  // again when its slot has been given to another command is none of that command's.
  logic [GEN_W-1:0] issue_gen_q, retire_gen_q, next_gen_q;  // next_gen_q: retire_gen_q + 1
  logic             fresh;                                  // the slots begin anew

  db_ram_sdp #(
      .WIDTH(GEN_W + $bits(slot_t)),
      .DEPTH(NUM_CMDS)
  ) u_ctx (
      .clk,
      .we(take), .waddr(issue_slot), .wdata({issue_gen_q, ctx_new}),
      .re(ctx_re), .raddr(LG'(ctx_slot)), .rdata({ctx_gen, ctx})
  );

  // ------------------------------------------------------------------ what retiring needs
  typedef struct packed {
    logic        rd, wr, last;
    logic [15:0] tag;
    logic [BW-1:0] buf512;
    logic [BW:0]   len512;
  } meta_t;
  meta_t meta_new, meta;
  logic  look_q;   // meta, done and age are those of the oldest slot
  logic  retire;

  assign meta_new = '{rd: rd, wr: wr, last: s_part_last, tag: s_part_tag, buf512: BW'(ctx_new.buf512),
                      len512: (BW+1)'(s_part.len512)};

  seq_t next_retire;
  assign next_retire = retire ? retire_q + seq_t'(1) : retire_q;

  db_ram_sdp #(
      .WIDTH($bits(meta_t)),
      .DEPTH(NUM_CMDS)
  ) u_meta (
      .clk,
      .we(take), .waddr(issue_slot), .wdata(meta_new),
      .re(1'b1), .raddr(retire_slot), .rdata(meta)
  );

  // Doorbell time of each slot; read for completions, otherwise for the oldest.
  logic [31:0]   born;
  logic          cqe1_q, cqe2_q, oldest1_q;
  cqe_t          cqe_in_q;
  logic [LG-1:0] cqe_slot;
  logic          in_flight, cqe_wins;
  assign cqe_slot = LG'(s_cqe.cid) & mask_q;
  assign cqe_wins = s_cqe_valid;
  db_ram_sdp #(
      .WIDTH(32),
      .DEPTH(NUM_CMDS)
  ) u_born (
      .clk,
      .we(take || state_q == ST_SWEEP),
      .waddr((state_q == ST_SWEEP) ? LG'(sweep_q) : issue_slot), .wdata(now_q),
      .re(1'b1), .raddr(cqe_wins ? cqe_slot : retire_slot), .rdata(born)
  );

  // A completion: in flight is what lies between the oldest and the newest slot, of the right generation.
  logic [LG-1:0]    slot1_q;
  seq_t             ahead;
  logic             below;  // of the round after the oldest slot's
  logic [GEN_W-1:0] gen1;
  assign gen1      = cqe_in_q.cid[CID_W+:GEN_W];
  assign below     = slot1_q < retire_slot;
  assign ahead     = seq_t'(slot1_q - retire_slot) & seq_t'(mask_q);
  assign in_flight = cqe_in_q.cid[CID_W-1:0] == CID_W'(slot1_q) && cqe_in_q.cid[15:CID_W+GEN_W] == '0 &&
                     (below ? gen1 == next_gen_q : gen1 == retire_gen_q) && ahead < count;

  typedef struct packed {
    logic        odd;
    status_t     status;
    logic [31:0] latency;
  } done_t;
  done_t done_new, done;
  logic  sweep1_q, sweep2_q;  // the sweep goes through the same registers: the slot's round, inverted

  always_ff @(posedge clk) begin
    sweep1_q        <= state_q == ST_SWEEP && !rst;
    sweep2_q        <= sweep1_q && !rst;
    cqe1_q          <= s_cqe_valid && state_q == ST_RUN;
    cqe_in_q        <= s_cqe;
    slot1_q         <= (state_q == ST_SWEEP) ? LG'(sweep_q) : cqe_slot;
    cqe2_q          <= cqe1_q && in_flight;
    done_new.odd    <= odd ^ below ^ sweep1_q;  // the round of a slot, from its number alone
    done_new.status <= cqe_in_q.status;
    done_new.latency <= now_q - born;
    stat_cqe        <= cqe1_q && in_flight;
    stat_bad        <= cqe1_q && !in_flight;
    if (rst || state_q != ST_RUN) begin
      cqe1_q   <= 1'b0;
      cqe2_q   <= 1'b0;
    end
    if (rst) begin
      stat_cqe <= 1'b0;
      stat_bad <= 1'b0;
    end
  end
  logic [LG-1:0] slot2_q;
  always_ff @(posedge clk) slot2_q <= slot1_q;

  db_ram_sdp #(
      .WIDTH($bits(done_t)),
      .DEPTH(NUM_CMDS)
  ) u_done (
      .clk,
      .we(cqe2_q || sweep2_q), .waddr(slot2_q), .wdata(done_new),
      .re(1'b1), .raddr(retire_slot), .rdata(done)
  );

  // ------------------------------------------------------------------ slots are retired in order
  logic    is_done, ending;
  status_t result, worst_q;
  assign is_done = look_q && !drained_q && done.odd == odd;
  assign ending  = state_q == ST_DRAIN;
  assign drain_status = status(1'b0, SCT_PATH, io_dead ? SC_PATH_ERROR : SC_HOST_ABORTED);
  assign result  = is_done ? done.status : drain_status;
  assign retire  = look_q && !empty && (is_done || ending) && (state_q == ST_RUN || ending) && !m_out_valid &&
                   !m_axis_status_tvalid;

  always_ff @(posedge clk) begin
    // a slot's words are there two cycles after it is
    look_q <= !retire && !rst && state_q != ST_SWEEP && !sweep1_q && !sweep2_q && !take;
    if (m_axis_status_tready) m_axis_status_tvalid <= 1'b0;
    if (m_out_ready) m_out_valid <= 1'b0;
    if (retire) begin
      m_out_valid  <= meta.rd;
      m_out_buf512 <= 14'(meta.buf512);
      m_out_len512 <= 14'(meta.len512);
      m_out_last   <= meta.last;
      m_out_error  <= result != '0;
      wr_freed     <= wr_freed + (meta.wr ? 32'(meta.len512) : 32'd0);
      worst_q      <= meta.last ? '0 : (worst_q == '0) ? result : worst_q;
      m_axis_status_tvalid <= meta.last;
      m_axis_status_tdata  <= 64'({(worst_q == '0) ? result : worst_q, meta.tag, is_done ? done.latency : 32'd0});
    end else if (bad_now) begin
      m_axis_status_tvalid <= 1'b1;
      m_axis_status_tdata  <= 64'({s_part_status, s_part_tag, 32'd0});
    end
    if (rst) begin
      m_axis_status_tvalid <= 1'b0;
      m_out_valid          <= 1'b0;
      wr_freed             <= '0;
      worst_q              <= '0;
    end
  end

  assign fresh = state_q == ST_WAIT && empty && io_up;
  always_ff @(posedge clk) begin
    if (fresh || (take && issue_slot == mask_q)) issue_gen_q <= issue_gen_q + 1'b1;
    if (fresh) begin
      retire_gen_q <= issue_gen_q + 1'b1;
      next_gen_q   <= issue_gen_q + GEN_W'(2);
    end else if (retire && retire_slot == mask_q) begin
      retire_gen_q <= next_gen_q;
      next_gen_q   <= next_gen_q + 1'b1;
    end
    if (rst) begin
      issue_gen_q  <= '0;
      retire_gen_q <= '0;
      next_gen_q   <= GEN_W'(1);
    end
  end

  // ------------------------------------------------------------------ states
  assign slots = (32'(sq_size) * NUM_QP >= NUM_CMDS) ? seq_t'(NUM_CMDS) : seq_t'(32'(sq_size) * NUM_QP);

  always_ff @(posedge clk) begin
    now_q     <= now_q + 32'd1;
    slots_q   <= slots;
    cqe_start <= 1'b0;
    if (take) begin
      issue_q <= issue_q + seq_t'(1);
      if (wr) wr_alloc_q <= wr_alloc_q + UW'(s_part.len512);
      if (rd) rd_alloc_q <= rd_alloc_q + UW'(s_part.len512);
    end
    retire_q <= next_retire;
    drained_q <= ending && (drained_q || empty);
    unique case (state_q)
      ST_WAIT: begin
        sweep_q <= '0;
        if (!empty && (io_dead || !repeat_on_reset || (io_up && wrap_q != slots_q))) begin
          state_q <= ST_DRAIN;
        end else if (io_up) begin
          state_q   <= ST_SWEEP;
          cqe_start <= 1'b1;
          if (empty) begin
            mask_q   <= LG'(slots_q - 1'b1);
            wrap_q   <= slots_q;
            issue_q  <= '0;
            retire_q <= '0;
            base_q   <= '0;
          end else begin
            base_q <= retire_q;
          end
        end else if (io_dead) begin
          state_q <= ST_DRAIN;
        end
        // as many as fit into the queues, one place of each always free
        limit_q <= io_dead ? wrap_q >> 1 :
                   (32'(sq_size) * NUM_QP > NUM_CMDS) ? seq_t'(NUM_CMDS) : seq_t'(32'(sq_size) * NUM_QP - NUM_QP);
      end
      ST_SWEEP: begin
        sweep_q <= sweep_q + seq_t'(1);
        if (sweep_q == seq_t'(NUM_CMDS - 1)) begin
          state_q <= (swept_q && io_up) ? ST_RUN : ST_WAIT;
          swept_q <= 1'b1;
        end
      end
      ST_RUN: if (!io_up) state_q <= ST_WAIT;
      default: if (empty && !take && !room_q && !io_dead) state_q <= ST_WAIT;
    endcase
    if (rst) begin
      state_q    <= ST_SWEEP;  // the RAM has no reset
      sweep_q    <= '0;
      issue_q    <= '0;
      retire_q   <= '0;
      base_q     <= '0;
      mask_q     <= LG'(NUM_CMDS - 1);
      wrap_q     <= seq_t'(NUM_CMDS);
      limit_q    <= seq_t'(NUM_CMDS / 2);
      now_q      <= '0;
      wr_alloc_q <= '0;
      rd_alloc_q <= '0;
      swept_q    <= 1'b0;
      drained_q  <= 1'b0;
      cqe_start  <= 1'b0;
    end
  end
  assign sq_base   = CID_W'(LG'(base_q) & mask_q);
  assign slot_mask = CID_W'(mask_q);

  // ------------------------------------------------------------------ doorbells
  // Tail of queue pair q: how many of the slots since base were its own. One doorbell at a time is looked at; tails
  // come first, heads when several entries have gathered or some time has passed.
  localparam int unsigned HEAD_BATCH = 8;    // entries; a quarter of a small queue
  localparam int unsigned HEAD_WAIT  = 4096; // cycles: seven parts of 8 KiB on Gen3 x4

  localparam int unsigned QW = (QLG == 0) ? 1 : QLG;
  localparam int unsigned TW = LG + 1 - QLG;  // of a place in a queue

  logic [QW-1:0] q_q;                   // queue pair that is looked at
  seq_t          issued_q;              // since base
  logic [TW-1:0] last_place;
  logic [TW-1:0] tail, tail_q[NUM_QP], head_q[NUM_QP], head;
  logic [12:0]   wait_q[NUM_QP];
  logic          db_free;
  logic [TW-1:0] batch_q;

  if (NUM_QP == 1) begin : g_one
    assign q_q = '0;
  end else begin : g_turn
    always_ff @(posedge clk) q_q <= rst ? '0 : q_q + 1'b1;
  end

  always_ff @(posedge clk) begin
    batch_q <= (sq_size >= 16'(4 * HEAD_BATCH)) ? TW'(HEAD_BATCH) : TW'(sq_size >> 2);
    if (take) issued_q <= issued_q + seq_t'(1);
    if (state_q == ST_WAIT) issued_q <= count + seq_t'(take);
    if (rst) issued_q <= '0;
  end
  assign last_place = TW'(sq_size - 16'd1);
  assign tail       = TW'((issued_q + seq_t'(NUM_QP - 1) - seq_t'(32'(q_q) & (NUM_QP - 1))) >> QLG) & last_place;
  assign head       = cq_head[16*q_q+:TW];
  assign db_free    = !m_db_valid || m_db_ready;

  always_ff @(posedge clk) begin
    if (m_db_ready) m_db_valid <= 1'b0;
    if (wait_q[q_q] != 13'(HEAD_WAIT)) wait_q[q_q] <= wait_q[q_q] + 13'd1;
    if (state_q == ST_RUN && db_free) begin
      m_db_qid <= 4'(q_q) + 4'd1;
      if (tail != tail_q[q_q]) begin
        m_db_valid  <= 1'b1;
        m_db_cq     <= 1'b0;
        m_db_value  <= 16'(tail);
        tail_q[q_q] <= tail;
      end else if (head != head_q[q_q] && (((head - head_q[q_q]) & last_place) >= batch_q ||
                                           wait_q[q_q] == 13'(HEAD_WAIT))) begin
        m_db_valid  <= 1'b1;
        m_db_cq     <= 1'b1;
        m_db_value  <= 16'(head);
        head_q[q_q] <= head;
        wait_q[q_q] <= '0;
      end
    end
    if (head == head_q[q_q]) wait_q[q_q] <= '0;
    if (rst || state_q != ST_RUN) begin
      m_db_valid <= 1'b0;
      for (int q = 0; q < int'(NUM_QP); q++) begin
        tail_q[q] <= '0;
        head_q[q] <= '0;
        wait_q[q] <= '0;
      end
    end
  end

  // ------------------------------------------------------------------ too old?
  // The oldest slot is late first, as far as anyone can see: those behind it cannot be retired before it.
  logic [3:0] fresh_q;  // cycles for which the oldest slot and its time have been looked at
  always_ff @(posedge clk) begin
    oldest1_q <= !cqe_wins;
    if (retire || take || empty || state_q != ST_RUN) fresh_q <= '0;
    else if (fresh_q != 4'hf) fresh_q <= fresh_q + 4'd1;
    if (fresh_q != 4'hf || is_done || cmd_timeout == '0) m_late_valid <= 1'b0;
    else if (oldest1_q) m_late_valid <= now_q - born > cmd_timeout;
    m_late_cid <= {retire_gen_q, CID_W'(retire_slot)};
    m_late_qid <= 4'((32'(retire_q - base_q) & 32'(NUM_QP - 1)) + 32'd1);
    if (rst) m_late_valid <= 1'b0;
  end

  assign stat_doorbell = take;
  always_ff @(posedge clk) stat_retire <= retire && is_done && !rst;
endmodule
