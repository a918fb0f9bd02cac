// SPDX-License-Identifier: Apache-2.0
// What is kept of each submission queue, in RAM: context, tail, next entry to request, and for the completion engine
// where the queue reports to and how far its entries have been taken in; and how it stands (sq_share_t).
//
// A memory has one writer and one reader, so some are there twice. What belongs to the queue at work is read with
// queue_next and is here in the next cycle. Latency: 1 cycle; sq_inflight 2.
module db_ssd_sq_ctx
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_FN = 1,                ///< functions, 1..17
  parameter int  NUM_Q = 33,                ///< submission queues, admin queues included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic             clk,
  input  sq_state_e        state,
  input  logic [AW-1:0]    queue,
  input  logic [AW-1:0]    queue_next,
  input  queue_ctx_t       new_ctx,         ///< ST_CTX: what the queue becomes
  input  logic             wrr,             ///< ... its priority counts
  input  logic [15:0]      doorbell_value,  ///< ST_DOORBELL: the new tail
  input  logic             doorbell_bad,    ///< ... unless it is wrong
  input  logic [6:0]       count,           ///< ST_GO: entries requested
  input  logic [15:0]      next_head,       ///< ... and the next one
  input  logic             share_we,
  input  sq_share_t        share_w,
  /// Of the queue at work.
  output sq_ctx_t          ctx,
  output logic [PLACE_W-1:0] place,         ///< whose it is
  output logic [15:0]      tail,
  output logic [15:0]      head,            ///< next entry to request
  output sq_share_t        share,
  input  logic             s_head_valid,
  input  logic [QID_W-1:0] s_head_sqid,
  input  logic [15:0]      s_head,
  input  logic [QID_W-1:0] sq_lookup_sqid,
  output sq_lookup_t       sq_lookup,
  input  logic             retiring,        ///< a command that is over is still counted
  input  logic [QID_W-1:0] sq_select,
  output logic             sq_inflight
);
  localparam bit MANY  = NUM_FN > 1;
  localparam bit BLOCK = NUM_Q > 64;       // as LUTs they would take as many again for each 64 queues
  logic create, init;
  assign create = state == ST_CTX && new_ctx.valid && !new_ctx.watch;
  assign init   = state == ST_INIT;

  // ---- the queue at work
  sq_ctx_t     ctx_w;
  logic        tail_we, pos_we;
  logic [15:0] tail_w;
  logic [15:0] head_w;
  sq_share_t   share_sel;
  logic [$bits(sq_ctx_t)-1:0]   ctx_rdata;
  logic [$bits(sq_share_t)-1:0] share_rdata, share_sel_rdata;
  assign ctx       = sq_ctx_t'(ctx_rdata);
  assign share     = sq_share_t'(share_rdata);
  assign share_sel = sq_share_t'(share_sel_rdata);
  assign ctx_w   = '{base: new_ctx.base[63:12], size: new_ctx.size, list: wrr ? new_ctx.prio : 2'd1};
  assign tail_we = init || create || (state == ST_DOORBELL && !doorbell_bad);
  assign tail_w  = state == ST_DOORBELL ? doorbell_value : 16'd0;
  assign pos_we = init || create || (state == ST_GO && count != 7'd0);
  assign head_w = state == ST_GO ? next_head : 16'd0;

  logic [PLACE_W-1:0] place_rdata;
  if (BLOCK) begin : g_block
    // Tables of one width are half a block RAM each, so they share some.
    localparam int CTX_PARTS = 4;
    logic [3:0][17:0]           parts_rdata;
    logic [CTX_PARTS-1:0][17:0] ctx_parts;
    assign ctx_rdata = $bits(sq_ctx_t)'(ctx_parts);
    db_ram_parts #(.PARTS(CTX_PARTS), .DEPTH(NUM_Q)) i_ctx (
      .clk, .we({CTX_PARTS{create}}), .waddr(queue), .wdata((18 * CTX_PARTS)'(ctx_w)), .re(1'b1), .raddr(queue_next),
      .rdata(ctx_parts));
    db_ram_parts #(.PARTS(4), .DEPTH(NUM_Q)) i_position (
      .clk, .we({create && MANY, share_we, pos_we, tail_we}), .waddr(queue),
      .wdata({18'(fn_place(new_ctx.fn)), 18'(share_w), 18'(head_w), 18'(tail_w)}), .re(1'b1), .raddr(queue_next),
      .rdata(parts_rdata));
    assign {tail, head} = {parts_rdata[0][15:0], parts_rdata[1][15:0]};
    assign share_rdata  = parts_rdata[2][$bits(sq_share_t)-1:0];
    assign place_rdata  = parts_rdata[3][PLACE_W-1:0];
    logic unused_parts;
    assign unused_parts = &{1'b0, parts_rdata, ctx_parts};
  end else begin : g_lut
    // As a context is written, the queue at work stays the same: what was read of it stays too.
    db_ram_sdp #(.WIDTH($bits(sq_ctx_t)), .DEPTH(NUM_Q), .APART(1'b1)) i_ctx (
      .clk, .we(create), .waddr(queue), .wdata(ctx_w), .re(!create), .raddr(queue_next), .rdata(ctx_rdata));
    db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_tail (
      .clk, .we(tail_we), .waddr(queue), .wdata(tail_w), .re(1'b1), .raddr(queue_next), .rdata(tail));
    db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_pos (
      .clk, .we(pos_we), .waddr(queue), .wdata(head_w), .re(1'b1), .raddr(queue_next), .rdata(head));
    db_ram_sdp #(.WIDTH($bits(sq_share_t)), .DEPTH(NUM_Q)) i_share (
      .clk, .we(share_we), .waddr(queue), .wdata(share_w), .re(1'b1), .raddr(queue_next), .rdata(share_rdata));
    if (MANY) begin : g_place
      db_ram_sdp #(.WIDTH(PLACE_W), .DEPTH(NUM_Q)) i_place (
        .clk, .we(create), .waddr(queue), .wdata(fn_place(new_ctx.fn)), .re(1'b1), .raddr(queue_next),
        .rdata(place_rdata));
    end else begin : g_pf
      assign place_rdata = '0;
    end
  end
  assign place = MANY ? place_rdata : '0;
  db_ram_sdp #(.WIDTH($bits(sq_share_t)), .DEPTH(NUM_Q), .BLOCK(BLOCK)) i_share_sel (
    .clk, .we(share_we), .waddr(queue), .wdata(share_w), .re(1'b1), .raddr(sq_select[AW-1:0]),
    .rdata(share_sel_rdata));

  // ---- the completion engine's view
  logic          head_we;
  logic [AW-1:0] head_waddr;
  logic          reports;                // where the queue reports to is written
  assign reports    = (state == ST_CTX && !new_ctx.watch) || init;
  assign head_we    = s_head_valid || create || init;
  assign head_waddr = s_head_valid ? s_head_sqid[AW-1:0] : queue;
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q), .BLOCK(BLOCK)) i_head (
    .clk, .we(head_we), .waddr(head_waddr), .wdata(s_head_valid ? s_head : 16'd0),
    .re(1'b1), .raddr(sq_lookup_sqid[AW-1:0]), .rdata(sq_lookup.head));

  if (!MANY) begin : g_one
    logic unused_ok;
    assign unused_ok          = &{1'b0, new_ctx};
    assign sq_lookup.host_qid = '0;          // nobody asks: it is the queue's number
    db_ram_sdp #(.WIDTH(QID_W + 1), .DEPTH(NUM_Q), .BLOCK(BLOCK)) i_cqid (
      .clk, .we(reports), .waddr(queue), .wdata({new_ctx.valid && !init, new_ctx.cqid}), .re(1'b1),
      .raddr(sq_lookup_sqid[AW-1:0]), .rdata({sq_lookup.valid, sq_lookup.cqid}));
  end else begin : g_many
    db_ram_sdp #(.WIDTH(2 * QID_W + 1), .DEPTH(NUM_Q), .BLOCK(BLOCK)) i_cqid (
      .clk, .we(reports), .waddr(queue), .wdata({new_ctx.host_qid, new_ctx.valid && !init, new_ctx.cqid}), .re(1'b1),
      .raddr(sq_lookup_sqid[AW-1:0]), .rdata({sq_lookup.host_qid, sq_lookup.valid, sq_lookup.cqid}));
  end

  // ---- the firmware's view
  logic unused_ok;
  assign unused_ok = &{1'b0, share_sel};
  always_ff @(posedge clk) sq_inflight <= share_sel.cmds != '0 || share_sel.listed || retiring || state != ST_IDLE;

endmodule
