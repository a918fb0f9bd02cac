// SPDX-License-Identifier: Apache-2.0
// What is kept of each submission queue, in RAM: context, tail, next entry to request, and for the completion engine
// where the queue reports to and how far its entries have been taken in. Counts of commands requested and over say
// whether the queue holds any.
//
// A memory has one writer and one reader, so some are there twice. What belongs to the queue at work is read with
// queue_next and is here in the next cycle. Latency: 1 cycle; sq_inflight 2.
module db_ssd_sq_ctx
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_Q = 33,                ///< submission queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic             clk,
  input  logic             rst,
  input  sq_state_e        state,
  input  logic [AW-1:0]    queue,
  input  logic [AW-1:0]    queue_next,
  input  queue_ctx_t       new_ctx,         ///< ST_CTX: what the queue becomes
  input  logic             wrr,             ///< ... its priority counts
  input  logic [15:0]      doorbell_value,  ///< ST_DOORBELL: the new tail
  input  logic             doorbell_bad,    ///< ... unless it is wrong
  input  logic [6:0]       count,           ///< ST_GO: entries requested
  input  logic [15:0]      next_head,       ///< ... and the next one
  /// Of the queue at work.
  output sq_ctx_t          ctx,
  output logic [15:0]      tail,
  output sq_pos_t          pos,
  input  logic             s_head_valid,
  input  logic [QID_W-1:0] s_head_sqid,
  input  logic [15:0]      s_head,
  input  logic [QID_W-1:0] sq_lookup_sqid,
  output sq_lookup_t       sq_lookup,
  /// A command is over; two of one queue are never a cycle apart.
  input  logic             s_retired_valid,
  input  logic [QID_W-1:0] s_retired_sqid,
  output logic             retiring,        ///< it is being counted
  input  logic [NUM_Q-1:0] queue_listed,
  input  logic [QID_W-1:0] sq_select,
  output logic             sq_inflight
);
  logic create, init;
  assign create = state == ST_CTX && new_ctx.valid;
  assign init   = state == ST_INIT;

  // ---- the queue at work
  sq_ctx_t     ctx_w;
  logic        tail_we, pos_we;
  logic [15:0] tail_w;
  sq_pos_t     pos_w, pos_sel;
  logic [$bits(sq_ctx_t)-1:0] ctx_rdata;
  logic [$bits(sq_pos_t)-1:0] pos_rdata, pos_sel_rdata;
  assign ctx     = sq_ctx_t'(ctx_rdata);
  assign pos     = sq_pos_t'(pos_rdata);
  assign pos_sel = sq_pos_t'(pos_sel_rdata);
  assign ctx_w   = '{base: new_ctx.base[63:12], size: new_ctx.size, list: wrr ? new_ctx.prio : 2'd1};
  assign tail_we = init || create || (state == ST_DOORBELL && !doorbell_bad);
  assign tail_w  = state == ST_DOORBELL ? doorbell_value : 16'd0;
  always_comb begin
    pos_we = 1'b0;
    pos_w  = '0;
    unique case (state)
      ST_INIT: pos_we = 1'b1;
      ST_CTX:  begin pos_we = new_ctx.valid; pos_w.issued = pos.issued; end
      ST_GO:   begin pos_we = count != 7'd0; pos_w = '{head: next_head, issued: pos.issued + 16'(count)}; end
      default: ;
    endcase
  end

  db_ram_sdp #(.WIDTH($bits(sq_ctx_t)), .DEPTH(NUM_Q)) i_ctx (
    .clk, .we(create), .waddr(queue), .wdata(ctx_w), .re(1'b1), .raddr(queue_next), .rdata(ctx_rdata));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_tail (
    .clk, .we(tail_we), .waddr(queue), .wdata(tail_w), .re(1'b1), .raddr(queue_next), .rdata(tail));
  db_ram_sdp #(.WIDTH($bits(sq_pos_t)), .DEPTH(NUM_Q)) i_pos (
    .clk, .we(pos_we), .waddr(queue), .wdata(pos_w), .re(1'b1), .raddr(queue_next), .rdata(pos_rdata));
  db_ram_sdp #(.WIDTH($bits(sq_pos_t)), .DEPTH(NUM_Q)) i_pos_sel (
    .clk, .we(pos_we), .waddr(queue), .wdata(pos_w), .re(1'b1), .raddr(sq_select[AW-1:0]), .rdata(pos_sel_rdata));

  // ---- the completion engine's view
  logic          head_we;
  logic [AW-1:0] head_waddr;
  assign head_we    = s_head_valid || create || init;
  assign head_waddr = s_head_valid ? s_head_sqid[AW-1:0] : queue;
  db_ram_sdp #(.WIDTH(QID_W), .DEPTH(NUM_Q)) i_cqid (
    .clk, .we(create), .waddr(queue), .wdata(new_ctx.cqid), .re(1'b1), .raddr(sq_lookup_sqid[AW-1:0]),
    .rdata(sq_lookup.cqid));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_head (
    .clk, .we(head_we), .waddr(head_waddr), .wdata(s_head_valid ? s_head : 16'd0),
    .re(1'b1), .raddr(sq_lookup_sqid[AW-1:0]), .rdata(sq_lookup.head));

  // ---- commands that are over: read, then write one more
  logic          done_q, done_we;
  logic [AW-1:0] done_sqid_q, done_waddr;
  logic [15:0]   done_w, done_r, done_sel;
  assign retiring   = done_q;
  assign done_we    = done_q || init;
  assign done_waddr = done_q ? done_sqid_q : queue;
  assign done_w     = done_q ? done_r + 16'd1 : 16'd0;
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_done (
    .clk, .we(done_we), .waddr(done_waddr), .wdata(done_w),
    .re(1'b1), .raddr(s_retired_sqid[AW-1:0]), .rdata(done_r));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_done_sel (
    .clk, .we(done_we), .waddr(done_waddr), .wdata(done_w),
    .re(1'b1), .raddr(sq_select[AW-1:0]), .rdata(done_sel));
  always_ff @(posedge clk) begin
    done_q      <= s_retired_valid && !rst;
    done_sqid_q <= s_retired_sqid[AW-1:0];
    sq_inflight  <= pos_sel.issued != done_sel || queue_listed[sq_select[AW-1:0]] || state != ST_IDLE;
  end

endmodule
