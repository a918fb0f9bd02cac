// SPDX-License-Identifier: Apache-2.0
// What is kept of each completion queue, in RAM: context, tail, head. Writers: firmware (create), engine (tail),
// doorbells (head). A memory has one reader, so size and tail are there twice: for the engine and for doorbells.
// Latency: 1 cycle.
module db_ssd_cq_ctx
  import db_ssd_pkg::*, db_ssd_cq_pkg::*;
#(
  parameter int  NUM_Q = 33,              ///< completion queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic          clk,
  input  logic          changed,          ///< new_queue becomes s_queue_ctx
  input  logic [AW-1:0] new_queue,
  input  queue_ctx_t    s_queue_ctx,
  input  logic          look,             ///< the engine looks look_queue up
  input  logic [AW-1:0] look_queue,
  input  logic [AW-1:0] queue,            ///< the queue at work
  input  logic          sent,             ///< ... its tail moves
  input  cq_tail_t      tail_next,        ///< ... here
  input  logic          hit,              ///< the head of hit_queue becomes hit_value
  input  logic [AW-1:0] hit_queue,
  input  logic [15:0]   hit_value,
  /// Of look_queue; they stay until the next look.
  output cq_ctx_t       ctx,
  output cq_tail_t      tail,
  output logic [15:0]   head,
  input  logic [AW-1:0] doorbell_queue,
  /// Of doorbell_queue.
  output logic [15:0]   doorbell_size,
  output logic [15:0]   doorbell_tail
);
  localparam bit BLOCK = NUM_Q > 64;       // as LUTs they would take as many again for each 64 queues
  cq_ctx_t       new_ctx;
  logic          tail_we, head_we;
  logic [AW-1:0] tail_waddr, head_waddr;
  cq_tail_t      tail_wdata;
  logic [15:0]   head_wdata;
  logic [$bits(cq_ctx_t)-1:0]  ctx_rdata;
  logic [$bits(cq_tail_t)-1:0] tail_rdata;
  assign ctx        = cq_ctx_t'(ctx_rdata);
  assign tail       = cq_tail_t'(tail_rdata);
  assign new_ctx    = '{base: s_queue_ctx.base[63:12], size: s_queue_ctx.size, vector: s_queue_ctx.vector,
                        ien: s_queue_ctx.ien};
  assign tail_we    = changed || sent;
  assign tail_waddr = changed ? new_queue : queue;
  assign tail_wdata = changed ? '{phase: 1'b1, index: 16'd0} : tail_next;
  assign head_we    = changed || hit;
  assign head_waddr = changed ? new_queue : hit_queue;
  assign head_wdata = changed ? 16'd0 : hit_value;

  if (BLOCK) begin : g_block
    // Tables of one width are half a block RAM each, so they share some. Who writes a context writes its tail too.
    localparam int CTX_PARTS = 5;
    logic [CTX_PARTS-1:0][17:0] ctx_parts;
    logic [1:0][17:0]           doorbell_parts;
    logic [17:0]                tail_part;
    assign ctx_rdata     = $bits(cq_ctx_t)'(ctx_parts);
    assign tail_rdata    = tail_part[$bits(cq_tail_t)-1:0];
    assign doorbell_size = doorbell_parts[0][15:0];
    assign doorbell_tail = doorbell_parts[1][15:0];
    db_ram_parts #(.PARTS(CTX_PARTS + 1), .DEPTH(NUM_Q)) i_ctx (
      .clk, .we({tail_we, {CTX_PARTS{changed}}}), .waddr(tail_waddr),
      .wdata({18'(tail_wdata), (18 * CTX_PARTS)'(new_ctx)}), .re(look), .raddr(look_queue),
      .rdata({tail_part, ctx_parts}));
    db_ram_parts #(.PARTS(2), .DEPTH(NUM_Q)) i_doorbell (
      .clk, .we({tail_we, changed}), .waddr(tail_waddr), .wdata({18'(tail_wdata.index), 18'(s_queue_ctx.size)}),
      .re(1'b1), .raddr(doorbell_queue), .rdata(doorbell_parts));
    logic unused_parts;
    assign unused_parts = &{1'b0, ctx_parts, doorbell_parts, tail_part};
  end else begin : g_lut
    db_ram_sdp #(.WIDTH($bits(cq_ctx_t)), .DEPTH(NUM_Q)) i_ctx (
      .clk, .we(changed), .waddr(new_queue), .wdata(new_ctx), .re(look), .raddr(look_queue), .rdata(ctx_rdata));
    db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_size (
      .clk, .we(changed), .waddr(new_queue), .wdata(s_queue_ctx.size), .re(1'b1), .raddr(doorbell_queue),
      .rdata(doorbell_size));
    db_ram_sdp #(.WIDTH($bits(cq_tail_t)), .DEPTH(NUM_Q)) i_tail (
      .clk, .we(tail_we), .waddr(tail_waddr), .wdata(tail_wdata), .re(look), .raddr(look_queue), .rdata(tail_rdata));
    db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_tail_doorbell (
      .clk, .we(tail_we), .waddr(tail_waddr), .wdata(tail_wdata.index), .re(1'b1), .raddr(doorbell_queue),
      .rdata(doorbell_tail));
  end
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q), .BLOCK(BLOCK)) i_head (
    .clk, .we(head_we), .waddr(head_waddr), .wdata(head_wdata), .re(look), .raddr(look_queue), .rdata(head));

endmodule
