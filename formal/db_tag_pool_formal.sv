// SPDX-License-Identifier: Apache-2.0
// Proof of db_tag_pool: a tag is never handed out while it is out, none is ever lost, used counts those that are out.
module db_tag_pool_formal #(
    parameter int unsigned N = 4
) (
    input logic                 clk,
    input logic                 rst,
    input logic                 alloc_ready,
    input logic                 free_valid,
    input logic [$clog2(N)-1:0] free_tag
);
  localparam int unsigned TW = $clog2(N);
  localparam int unsigned DEPTH = 1 << TW;

  logic alloc_valid;
  logic [TW-1:0] alloc_tag;
  logic [TW:0] used;

  db_tag_pool #(.N(N)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;

  logic [N-1:0] out_q;  // tags that are out
  always_comb begin
    if (!started_q) assume (rst);
    if (free_valid) assume (32'(free_tag) < N && out_q[free_tag]);
  end

  always_ff @(posedge clk) begin
    if (free_valid) out_q[free_tag] <= 1'b0;
    if (alloc_valid && alloc_ready) out_q[alloc_tag] <= 1'b1;
    if (rst) out_q <= '0;
  end

  logic [TW:0] outside, level;
  always_comb begin
    outside = '0;
    for (int i = 0; i < int'(N); i++) outside = outside + (TW + 1)'(out_q[i]);
  end
  assign level = dut.i_back.level_q;

  // the tags inside the FIFO, oldest first
  logic [TW-1:0] held[DEPTH];
  for (genvar p = 0; p < int'(DEPTH); p++) begin : g_held
    if (p == 0) assign held[p] = dut.i_back.m_data_q;
    else assign held[p] = dut.i_back.g_lutram.mem_q[TW'(dut.i_back.rptr_q + TW'(p - 1))];
  end

  logic [TW:0] copies[N];
  always_comb begin
    for (int t = 0; t < int'(N); t++) begin
      copies[t] = '0;
      for (int p = 0; p < int'(DEPTH); p++) begin
        if ((TW + 1)'(p) < level && held[p] == TW'(t)) copies[t] = copies[t] + 1'b1;
      end
    end
  end

  always_comb if (started_q && !rst) begin
    // what a user relies on
    assert (used == outside);
    assert (alloc_valid == (outside != (TW + 1)'(N)));
    if (alloc_valid) assert (32'(alloc_tag) < N && !out_q[alloc_tag]);
    // how it comes about: a tag is out, or never used yet, or in the FIFO once
    assert (dut.fresh_q <= (TW + 1)'(N));
    assert (level == dut.fresh_q - used);
    for (int t = 0; t < int'(N); t++) begin
      assert (copies[t] == (TW + 1)'((TW + 1)'(t) < dut.fresh_q && !out_q[t]));
      if ((TW + 1)'(t) >= dut.fresh_q) assert (!out_q[t]);
    end
    assert (dut.i_back.m_valid_q == (level != '0));
    assert (TW'(dut.i_back.wptr_q - dut.i_back.rptr_q) == TW'(level - (TW + 1)'(dut.i_back.m_valid_q)));
  end
endmodule
