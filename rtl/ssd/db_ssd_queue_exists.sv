// SPDX-License-Identifier: Apache-2.0
// Which queues exist: a bit a queue, looked at by two. Up to 64 queues it is registers, beyond LUT RAM, which takes a
// fraction of what so many registers and their multiplexers do. After reset none exists; RAM is cleared while init says so,
// a queue a cycle, and until then looks empty.
// Latency: none; what is written shows a cycle later.
module db_ssd_queue_exists #(
  parameter int  NUM_Q = 33,           ///< queues, 2..256
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               init,     ///< after rst: queue init_at is cleared; all have been when it falls
  input  logic [AW-1:0]      init_at,
  input  logic               we,
  input  logic [AW-1:0]      waddr,
  input  logic               wdata,
  input  logic [1:0][AW-1:0] look,
  output logic [1:0]         exists
);
  if (NUM_Q < 2 || NUM_Q > 256) begin : g_bad
    $error("%m: NUM_Q must be 2..256 (is %0d)", NUM_Q);
  end
  if (NUM_Q <= 64) begin : g_few
    logic [NUM_Q-1:0] valid_q;
    logic unused_ok;
    assign unused_ok = &{1'b0, init, init_at};
    always_ff @(posedge clk) begin
      if (we) valid_q[waddr] <= wdata;
      if (rst) valid_q <= '0;
    end
    assign exists = {valid_q[look[1]], valid_q[look[0]]};
  end else begin : g_many
    logic mem_q [2 ** AW];
    logic unused_ok;
    assign unused_ok = &{1'b0, rst};
    always_ff @(posedge clk) if (init || we) mem_q[init ? init_at : waddr] <= wdata && !init;
    assign exists = {mem_q[look[1]] && !init, mem_q[look[0]] && !init};
  end
endmodule
