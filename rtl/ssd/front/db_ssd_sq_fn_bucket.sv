// SPDX-License-Identifier: Apache-2.0
// Token buckets, one for each function: which functions may go on.
//
// A bucket gets `rate` in each microsecond, up to `burst`; what is charged is taken out of it. A function may go on while
// a whole token is there. Its bucket may go below zero, and then it waits until that is paid. Without a rate it has no
// limit. One thing happens at a time: charges first, else the microseconds that have passed, bucket by bucket; for those
// that charges hold up, up to 15 are remembered.
// Latency: a function with a limit that is charged has no tokens from the next cycle on, until 3 cycles later (more behind
// other charges) its bucket says how many. Throughput: a charge every 2 cycles; up to 4 wait.
module db_ssd_sq_fn_bucket
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN   = 2,   ///< functions, 2..17
  parameter int TOKEN_W  = 17,  ///< bits of whole tokens, and of a debt, 8..29
  parameter int FRAC_W   = 20,  ///< bits of a token's fraction in the rate, 1..28
  parameter int CHARGE_W = 7,   ///< bits of what is charged at once, up to TOKEN_W
  parameter int MANY     = 8    ///< tokens that are enough for anything, 1..2^CHARGE_W - 1
) (
  input  logic                clk,
  input  logic                rst,         ///< nobody has a limit
  input  logic                tick,        ///< pulse: a microsecond is over
  /// Pulse: a function's limit; its bucket is full then. The next one at least 8 cycles later.
  input  logic                s_limit_valid,
  input  fn_limit_t           s_limit,
  /// Pulse.
  input  logic                s_charge_valid,
  input  logic [PLACE_W-1:0]  s_charge_place,
  input  logic [CHARGE_W-1:0] s_charge,
  output logic [NUM_FN-1:0]   some,        ///< a function has a token
  output logic [NUM_FN-1:0]   many         ///< ... has MANY
);
  localparam int PLACES = 2 ** PLACE_W;
  localparam int W      = TOKEN_W + 1 + FRAC_W;
  localparam int RATE_W = 28;

  if (TOKEN_W < 8 || TOKEN_W > 29 || FRAC_W < 1 || FRAC_W > 28 || CHARGE_W > TOKEN_W) begin : g_bad_width
    $error("%m: TOKEN_W (%0d) must be 8..29, FRAC_W (%0d) 1..28, CHARGE_W (%0d) up to TOKEN_W", TOKEN_W, FRAC_W,
           CHARGE_W);
  end

  // ---- what waits
  logic                charge_valid, charge_take;
  logic [PLACE_W-1:0]  charge_place;
  logic [CHARGE_W-1:0] charge;
  db_fifo #(.WIDTH(PLACE_W + CHARGE_W), .DEPTH(4)) i_charges (
    .clk, .rst, .s_valid(s_charge_valid), .s_ready(), .s_data({s_charge_place, s_charge}), .m_valid(charge_valid),
    .m_ready(charge_take), .m_data({charge_place, charge}), .level());

  logic      set_q;                           // a limit waits
  fn_limit_t limit_q;
  logic [3:0]         ticks_q;                // microseconds that are not in the buckets yet
  logic [PLACE_W-1:0] sweep_q;                // ... from this bucket on
  logic               sweeping, swept;

  // ---- one bucket: read, change, and after a microsecond cap
  typedef enum logic [1:0] {OP_NONE, OP_CHARGE, OP_FILL, OP_SET} op_e;
  logic signed [W-1:0]  level_mem_q [PLACES];
  logic [RATE_W-1:0]    rate_mem_q [PLACES];
  logic [TOKEN_W-1:0]   burst_mem_q [PLACES];
  op_e                  op_d, op_q;
  logic                 cap_q, write;
  logic [PLACE_W-1:0]   at_d, at_q;
  logic signed [W-1:0]  level_q, add_q, sum, level_w;
  logic [TOKEN_W-1:0]   burst_q;
  logic signed [TOKEN_W:0] whole;
  logic [NUM_FN-1:0]    limited_q, some_q, many_q;

  assign sweeping    = ticks_q != '0;
  assign charge_take = op_q == OP_NONE && !cap_q && !set_q;
  always_comb begin
    op_d = OP_NONE;
    at_d = sweep_q;
    if (op_q == OP_NONE && !cap_q) begin
      if (set_q) begin
        op_d = OP_SET;
        at_d = limit_q.place;
      end else if (charge_valid) begin
        op_d = OP_CHARGE;
        at_d = charge_place;
      end else if (sweeping) begin
        op_d = OP_FILL;
      end
    end
  end
  assign sum     = level_q + add_q;
  assign whole   = level_q[W-1:FRAC_W];       // with cap_q
  assign write   = cap_q || op_q == OP_CHARGE || op_q == OP_SET;
  always_comb begin
    level_w = sum;
    if (cap_q)
      level_w = (!whole[TOKEN_W] && whole[TOKEN_W-1:0] >= burst_q) ? {1'b0, burst_q, FRAC_W'(0)} : level_q;
    if (op_q == OP_SET) level_w = {1'b0, limit_q.burst[TOKEN_W-1:0], FRAC_W'(0)};
  end
  assign swept = op_d == OP_FILL;

  logic signed [TOKEN_W:0] whole_w;           // tokens in the bucket, a cycle after write
  logic [PLACE_W-1:0]      show_q;
  logic                    shows_q, paid_q;
  always_ff @(posedge clk) begin
    if (s_limit_valid) limit_q <= s_limit;
    set_q <= (s_limit_valid || (set_q && op_d != OP_SET)) && !rst;

    op_q    <= op_d;
    cap_q   <= op_q == OP_FILL;
    if (op_q == OP_NONE && !cap_q) begin
      at_q    <= at_d;
      level_q <= level_mem_q[at_d];
      burst_q <= burst_mem_q[at_d];
      add_q   <= (op_d == OP_FILL) ? W'(rate_mem_q[at_d]) : -(W'(charge) << FRAC_W);
    end else begin
      level_q <= sum;
    end
    if (write) level_mem_q[at_q] <= level_w;
    if (op_q == OP_SET) begin
      rate_mem_q[at_q]  <= limit_q.rate;
      burst_mem_q[at_q] <= limit_q.burst[TOKEN_W-1:0];
    end

    if (swept) sweep_q <= (sweep_q == PLACE_W'(NUM_FN - 1)) ? '0 : sweep_q + 1'b1;
    ticks_q <= ticks_q + 4'(tick && ticks_q != '1) - 4'(swept && sweep_q == PLACE_W'(NUM_FN - 1));

    // Who may go on. What a charge that waits takes is not there any more.
    whole_w <= level_w[W-1:FRAC_W];
    show_q  <= at_q;
    shows_q <= write;
    paid_q  <= cap_q;
    for (int f = 0; f < NUM_FN; f++) begin
      if (op_q == OP_SET && at_q == PLACE_W'(f)) limited_q[f] <= limit_q.rate != '0;
      if (shows_q && show_q == PLACE_W'(f) && !(paid_q && (charge_valid || op_q == OP_CHARGE))) begin
        some_q[f] <= !limited_q[f] || whole_w > 0;
        many_q[f] <= !limited_q[f] || whole_w >= $signed((TOKEN_W + 1)'(MANY));
      end
      if (s_charge_valid && s_charge_place == PLACE_W'(f) && limited_q[f]) begin
        some_q[f] <= 1'b0;
        many_q[f] <= 1'b0;
      end
    end
    if (rst) begin
      op_q      <= OP_NONE;
      cap_q     <= 1'b0;
      shows_q   <= 1'b0;
      ticks_q   <= '0;
      sweep_q   <= '0;
      limited_q <= '0;
      some_q    <= '1;
      many_q    <= '1;
    end
  end
  assign some = some_q;
  assign many = many_q;

endmodule
