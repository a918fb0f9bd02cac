// SPDX-License-Identifier: Apache-2.0
// Token buckets, two for each function, of commands and of bytes: which functions may go on.
//
// A bucket gets `rate` in each microsecond, up to `burst`; what is charged is taken out of it. A function may go on while
// a whole token is there. Its bucket may go below zero, and then it waits until that is paid. Without a rate it has no
// limit. One thing happens at a time, for both kinds: charges first, else the microseconds that have passed, bucket by
// bucket, 3 cycles each (so 17 functions need 102 of a microsecond's 250); for those that charges hold up, up to 15 are
// remembered.
// A level has 28 bits of bytes and 12 of a byte's fraction, or 20 bits of commands and 20 of a command's fraction: the same
// adder does for both.
// Latency: a function with a limit that is charged has no tokens from the next cycle on, until 4 cycles later (more behind
// other charges) its bucket says how many. Throughput: a charge every 2 cycles. Decode may see as many commands, with turns
// beside them: so up to 64 of bytes wait, and 4 of commands, which come first.
module db_ssd_sq_fn_bucket
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN = 2,   ///< functions, 2..17
  parameter int MANY   = 8    ///< commands that are enough for any turn, 1..127
) (
  input  logic                clk,
  input  logic                rst,         ///< nobody has a limit
  input  logic                tick,        ///< pulse: a microsecond is over
  /// Pulse: a function's limit; its bucket is full then. The next one at least 8 cycles later.
  input  logic                s_limit_valid,
  input  fn_limit_t           s_limit,
  /// Pulse: commands.
  input  logic                s_cmds_valid,
  input  logic [PLACE_W-1:0]  s_cmds_place,
  input  logic [6:0]          s_cmds,
  /// Pulse: bytes.
  input  logic                s_moved_valid,
  input  logic [PLACE_W-1:0]  s_moved_place,
  input  logic [MOVED_W-1:0]  s_moved,
  output logic [NUM_FN-1:0]   some,        ///< a function has a token of each kind
  output logic [NUM_FN-1:0]   many         ///< ... has MANY commands
);
  localparam int FRAC_W   = 12;            // of a byte
  localparam int CMD_UP   = 8;             // a command is 2^CMD_UP bytes
  localparam int TOKEN_W  = 28;
  localparam int W        = TOKEN_W + 1 + FRAC_W;
  localparam int AT_W     = PLACE_W + 1;   // a bucket: kind, 1 for bytes, and place
  localparam logic [AT_W-1:0] BYTES = AT_W'(1) << PLACE_W;

  if (NUM_FN < 2 || NUM_FN > MAX_FN || MANY < 1 || MANY > 127) begin : g_bad
    $error("%m: NUM_FN (%0d) must be 2..17, MANY (%0d) 1..127", NUM_FN, MANY);
  end

  // ---- what waits: nothing of functions without a limit
  logic [1:0][NUM_FN-1:0] limited_q;
  logic [1:0]             counts;
  always_comb begin
    counts = '0;
    for (int f = 0; f < NUM_FN; f++) begin
      if (limited_q[0][f] && s_cmds_place == PLACE_W'(f))  counts[0] = 1'b1;
      if (limited_q[1][f] && s_moved_place == PLACE_W'(f)) counts[1] = 1'b1;
    end
  end
  logic                cmds_valid, cmds_take, moved_valid, moved_take;
  logic [PLACE_W-1:0]  cmds_place, moved_place;
  logic [6:0]          cmds;
  logic [MOVED_W-1:0]  moved, charge;
  logic                cmds_room, moved_room;
  logic [2:0]          cmds_level;
  logic [6:0]          moved_level;
  db_fifo #(.WIDTH(PLACE_W + 7), .DEPTH(4), .AROUND(1'b0)) i_cmds (
    .clk, .rst, .s_valid(s_cmds_valid && counts[0]), .s_ready(cmds_room), .s_data({s_cmds_place, s_cmds}),
    .m_valid(cmds_valid), .m_ready(cmds_take), .m_data({cmds_place, cmds}), .level(cmds_level));
  db_fifo #(.WIDTH(PLACE_W + MOVED_W), .DEPTH(64), .AROUND(1'b0)) i_moved (
    .clk, .rst, .s_valid(s_moved_valid && counts[1]), .s_ready(moved_room), .s_data({s_moved_place, s_moved}),
    .m_valid(moved_valid), .m_ready(moved_take), .m_data({moved_place, moved}), .level(moved_level));

  logic               set_q;                  // a limit waits
  fn_limit_t          limit_q;
  logic [TOKEN_W-1:0] limit_burst;            // ... in bytes
  logic [3:0]         ticks_q;                // microseconds that are not in the buckets yet
  logic [AT_W-1:0]    sweep_q;                // ... from this bucket on
  logic               swept, swept_all;

  // ---- one bucket: read, change, and after a microsecond cap
  typedef enum logic [1:0] {OP_NONE, OP_CHARGE, OP_FILL, OP_SET} op_e;
  logic signed [W-1:0] level_mem_q [2 ** AT_W];
  op_e                 op_d, op_q;
  logic                cap_q, write, free, over;
  logic [AT_W-1:0]     at_d, at_q;
  logic signed [W-1:0] level_q, sum, level_w;
  logic [W-1:0]        add;                   // with one more if less: a charge, taken off
  logic                less, unused_carry;
  logic [MOVED_W-1:0]  charge_q;
  logic [27:0]         rate;
  logic [TOKEN_W-1:0]  burst;

  assign free        = op_q == OP_NONE && !cap_q;
  assign cmds_take   = free && !set_q;
  assign moved_take  = cmds_take && !cmds_valid;
  assign charge      = cmds_valid ? MOVED_W'(cmds) << CMD_UP : moved;
  assign limit_burst = limit_q.bytes ? limit_q.burst : limit_q.burst << CMD_UP;
  always_comb begin
    op_d = OP_NONE;
    at_d = sweep_q;
    if (free) begin
      if (set_q) begin
        op_d = OP_SET;
        at_d = {limit_q.bytes, limit_q.place};
      end else if (cmds_valid) begin
        op_d = OP_CHARGE;
        at_d = {1'b0, cmds_place};
      end else if (moved_valid) begin
        op_d = OP_CHARGE;
        at_d = {1'b1, moved_place};
      end else if (ticks_q != '0) begin
        op_d = OP_FILL;
      end
    end
  end
  db_ram_sdp #(.WIDTH(28 + TOKEN_W), .DEPTH(2 ** AT_W)) i_limits (
    .clk, .we(op_q == OP_SET), .waddr(at_q), .wdata({limit_q.rate, limit_burst}), .re(free), .raddr(at_d),
    .rdata({rate, burst}));
  assign less  = op_q == OP_CHARGE;
  assign add   = less ? ~(W'(charge_q) << FRAC_W) : W'(rate);
  assign {sum, unused_carry} = {level_q, 1'b1} + {add, less};
  assign over  = !level_q[W-1] && level_q[W-2:FRAC_W] >= burst;  // with cap_q
  assign write = cap_q || op_q == OP_CHARGE || op_q == OP_SET;
  always_comb begin
    level_w = sum;
    if (cap_q)          level_w = over ? {1'b0, burst, FRAC_W'(0)} : level_q;
    if (op_q == OP_SET) level_w = {1'b0, limit_burst, FRAC_W'(0)};
  end
  assign swept     = op_d == OP_FILL;
  assign swept_all = swept && sweep_q == (BYTES | AT_W'(NUM_FN - 1));

  logic [TOKEN_W:0]       whole_q;            // tokens in the bucket, a cycle after write
  logic [AT_W-1:0]        show_q;
  logic                   shows_q, paid_q, some_w, many_w;
  logic [1:0][NUM_FN-1:0] some_q;
  logic [NUM_FN-1:0]      many_q;
  assign many_w = !whole_q[TOKEN_W] && whole_q[TOKEN_W-1:CMD_UP] >= (TOKEN_W - CMD_UP)'(MANY);
  assign some_w = !whole_q[TOKEN_W] && (whole_q[TOKEN_W-1:CMD_UP] != '0 ||
                                        (show_q[PLACE_W] && whole_q[CMD_UP-1:0] != '0));
  always_ff @(posedge clk) begin
    if (s_limit_valid) limit_q <= s_limit;
    set_q <= (s_limit_valid || (set_q && op_d != OP_SET)) && !rst;

    op_q  <= op_d;
    cap_q <= op_q == OP_FILL;
    if (free) begin
      at_q    <= at_d;
      level_q <= level_mem_q[at_d];
      charge_q <= charge;
    end else begin
      level_q <= sum;
    end
    if (write) level_mem_q[at_q] <= level_w;
    if (swept) begin
      sweep_q <= sweep_q + 1'b1;
      if (sweep_q == AT_W'(NUM_FN - 1)) sweep_q <= BYTES;
      if (swept_all) sweep_q <= '0;
    end
    ticks_q <= ticks_q + 4'(tick && ticks_q != '1) - 4'(swept_all);

    // Who may go on. What a charge that waits takes is not there any more.
    whole_q <= level_w[W-1:FRAC_W];
    show_q  <= at_q;
    shows_q <= write;
    paid_q  <= cap_q;
    for (int f = 0; f < NUM_FN; f++) begin
      for (int k = 0; k < 2; k++) begin
        if (op_q == OP_SET && at_q == {1'(k), PLACE_W'(f)}) limited_q[k][f] <= limit_q.rate != '0;
        if (shows_q && show_q == {1'(k), PLACE_W'(f)} &&
            !(paid_q && (cmds_level != '0 || moved_level != '0 || op_q == OP_CHARGE))) begin
          some_q[k][f] <= !limited_q[k][f] || some_w;
          if (k == 0) many_q[f] <= !limited_q[k][f] || many_w;
        end
      end
      if (s_cmds_valid && s_cmds_place == PLACE_W'(f) && limited_q[0][f]) begin
        some_q[0][f] <= 1'b0;
        many_q[f]    <= 1'b0;
      end
      if (s_moved_valid && s_moved_place == PLACE_W'(f) && limited_q[1][f]) some_q[1][f] <= 1'b0;
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
  assign some = some_q[0] & some_q[1];
  assign many = many_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, unused_carry, cmds_room, moved_room};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (s_cmds_valid && counts[0]) assert (cmds_room);
    if (s_moved_valid && counts[1]) assert (moved_room);
  end
`endif
endmodule
