// SPDX-License-Identifier: Apache-2.0
// For a harness that follows one owner: it becomes void with `kill` and stays so; a fence begins once, and not before who
// asks whether the owner is void has known of it for two cycles.
  logic [1:0] known_q;
  logic       fence_q;                 // it has begun
  always_ff @(posedge clk) begin
    void_q  <= !rst && (void_q || kill);
    known_q <= rst ? '0 : {known_q[0], void_q};
    fence_q <= !rst && (fence_q || fence);
  end
  always_comb if (fence) assume (known_q[1] && !fence_q);
  always_comb if (started_q && !rst) assert (known_q != 2'b10 && (void_q || known_q == '0) && (known_q[1] || !fence_q));
