// SPDX-License-Identifier: Apache-2.0
// How many entries a turn takes, and the read request for them.
//
// Up to the tail, to the end of the queue's memory, to that of its page, to the limit: so a request is one stretch of
// host memory inside a page. A turn begins only when the request's register is empty (free).
// Latency: from ST_AVAIL (or ST_DOORBELL, for a queue that is served at once) the number is there 2 cycles later, in
// ST_GO, and the request a cycle after it.
module db_ssd_sq_fetch
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int AW = 6                    ///< bits of a queue's number
) (
  input  logic          clk,
  input  logic          rst,
  input  sq_state_e     state,
  input  logic [AW-1:0] queue,            ///< queue at work
  input  logic          exists,           ///< ... it has not been deleted
  input  sq_ctx_t       ctx,
  input  logic [FN_W-1:0] fn,             ///< whose the queue is
  input  logic [15:0]   head,             ///< next entry to request
  input  logic [15:0]   tail,
  input  logic [15:0]   doorbell_value,   ///< ST_DOORBELL: the new tail
  input  logic [6:0]    limit,            ///< ST_COUNT: the most entries
  output logic [6:0]    count_next,       ///< ST_COUNT: count in the next cycle
  output logic [6:0]    count,            ///< ST_GO: entries that are requested
  output logic [15:0]   next_head,        ///< ... and the one after them
  output logic          more,             ///< ... there are some left
  output logic          free,             ///< the last request has been handed over
  output logic          m_fetch_valid,
  input  logic          m_fetch_ready,
  output segment_t      m_fetch,
  output fetch_user_t   m_fetch_user
);
  logic [15:0] tail_now, to_end, avail_q;
  logic [6:0]  page_q, n_d, n_q;
  logic        wrap_q, tail_0_q;          // what is available ends with the queue's memory; the tail is 0
  logic        all_d, all_q;              // this turn takes all that is available
  logic        exists_q;

  always_comb begin
    tail_now = (state == ST_DOORBELL) ? doorbell_value : tail;
    to_end   = ctx.size - head + 16'd1;
    all_d    = avail_q <= 16'(limit) && avail_q <= 16'(page_q);
    n_d      = all_d ? avail_q[6:0] : (page_q < limit) ? page_q : limit;
  end
  always_ff @(posedge clk) begin
    if (state == ST_DOORBELL || state == ST_AVAIL) begin
      avail_q  <= (tail_now >= head) ? tail_now - head : to_end;
      wrap_q   <= tail_now < head;
      tail_0_q <= tail_now == 16'd0;
      page_q   <= 7'd64 - {1'b0, head[5:0]};
      exists_q <= exists;
    end
    n_q   <= count_next;
    all_q <= all_d;
  end
  assign count_next = exists_q ? n_d : 7'd0;
  assign count     = n_q;
  assign next_head = (wrap_q && all_q) ? 16'd0 : head + 16'(n_q);
  assign more      = exists_q && !(all_q && (!wrap_q || tail_0_q));

  // ---- the request
  logic        push;
  segment_t    request;
  fetch_user_t request_user;
  assign push         = state == ST_GO && n_q != 7'd0;
  assign request      = '{fn: fn, addr: {ctx.base, 12'd0} + {42'd0, head, 6'd0}, len: 13'(n_q) << 6, first: 1'b1,
                          last: 1'b1, drop: 1'b0};
  assign request_user = '{fn: fn, sqid: QID_W'(queue), index: head, size: ctx.size};
  assign free         = !m_fetch_valid;
  always_ff @(posedge clk) begin
    if (m_fetch_ready) m_fetch_valid <= 1'b0;
    if (push)          m_fetch_valid <= 1'b1;
    if (state == ST_GO) begin
      m_fetch      <= request;
      m_fetch_user <= request_user;
    end
    if (rst) m_fetch_valid <= 1'b0;
  end

endmodule
