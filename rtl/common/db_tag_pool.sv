// SPDX-License-Identifier: Apache-2.0
// Pool of N tags, each either inside or handed out once.
//
// alloc_* is a stream of free tags: alloc_valid (out) with alloc_ready (in) hands alloc_tag out. free_valid takes a tag
// back in the same cycle, always; only a tag that is out may be freed. Tags come out in order of their return, so the
// one that was freed longest ago is reused first; in the first round after rst they come from a counter (0, 1, ...).
// Latency: a freed tag can be had again in the next cycle. Throughput: one alloc and one free a cycle.
module db_tag_pool #(
  parameter int unsigned N = 32  ///< tags, at least 2
) (
  input  logic                 clk,
  input  logic                 rst,
  output logic                 alloc_valid,
  input  logic                 alloc_ready,
  output logic [$clog2(N)-1:0] alloc_tag,
  input  logic                 free_valid,
  input  logic [$clog2(N)-1:0] free_tag,
  output logic [$clog2(N):0]   used        ///< tags that are out, 0..N
);
  if (N < 2) begin : g_bad
    $error("%m: N must be at least 2 (is %0d)", N);
  end
  localparam int unsigned TW = $clog2(N);
  localparam logic [TW:0] ONE = 1;

  logic [TW:0]   fresh_q;  // tags at and above it were never handed out since rst
  logic [TW:0]   used_q;
  logic          fresh, back_valid, take;
  logic [TW-1:0] back_tag;

  assign fresh       = fresh_q != (TW + 1)'(N);
  assign alloc_valid = fresh || back_valid;
  assign alloc_tag   = fresh ? fresh_q[TW-1:0] : back_tag;
  assign take        = alloc_valid && alloc_ready;
  assign used        = used_q;

  db_fifo #(
    .WIDTH(TW),
    .DEPTH(1 << TW)
  ) i_back (
    .clk,
    .rst,
    .s_valid(free_valid),
    .s_ready(),  // room for every tag
    .s_data (free_tag),
    .m_valid(back_valid),
    .m_ready(alloc_ready && !fresh),
    .m_data (back_tag),
    .level  ()
  );

  always_ff @(posedge clk) begin
    if (take && fresh) fresh_q <= fresh_q + ONE;
    if (take != free_valid) used_q <= take ? used_q + ONE : used_q - ONE;
    if (rst) begin
      fresh_q <= '0;
      used_q  <= '0;
    end
  end
endmodule
