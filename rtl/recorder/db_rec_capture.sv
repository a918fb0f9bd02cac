// SPDX-License-Identifier: Apache-2.0
// The capture stream: cuts it into blocks of 4 KiB and deals them out to the drives in turn.
//
// A block goes to the next drive of those that take part (`run`), whole: it starts only when the drive's FIFO has room
// for all of it. A drive that is not up loses its block (reported, place kept) and does not stop the others. tlast must
// come with the last beat of a block. Early: the rest of the block is zeros. Late: what is too much is passed over up
// to the next tlast. Both are counted and reported. drop: between blocks, DROP_BLOCKS whole ones are thrown away.
// Latency: 1 cycle, beat to wr_*. Throughput: a beat every cycle, no bubble between blocks.
module db_rec_capture
  import db_rec_pkg::*;
#(
    parameter int unsigned N_DRIVES    = 2,    // 1..8
    parameter int unsigned STREAM_W    = 256,  // bits, 128..1024
    parameter int unsigned DROP_BLOCKS = 2     // blocks dropped at a time, 2..254, even
) (
    input  logic                clk,
    input  logic                rst,

    input  logic                hold,          // start no block
    input  logic [N_DRIVES-1:0] run,           // drives that take part; the first block is the lowest one's
    input  logic [N_DRIVES-1:0] up,
    input  logic [N_DRIVES-1:0] room,
    input  logic                drop,

    input  logic                s_axis_tvalid,
    output logic                s_axis_tready,
    input  logic [STREAM_W-1:0] s_axis_tdata,
    input  logic                s_axis_tlast,

    // db_rec_lane
    output logic [N_DRIVES-1:0] take,
    output logic                take_lost,
    output logic [N_DRIVES-1:0] wr_valid,
    output logic [STREAM_W-1:0] wr_data,

    output logic [N_DRIVES-1:0] quiet,         // no block will begin for a drive whose run is low
    output logic                busy,          // inside a block
    output logic                ev_valid,      // a block is lost or malformed
    input  logic                ev_ready,
    output logic [2:0]          ev_drive,
    output logic                ev_format,     // 1: malformed, 0: lost
    output logic [31:0]         ev_block,
    input  logic [N_DRIVES*32-1:0] next,       // of the lanes
    output logic                stat_drop,     // pulses: a block was dropped
    output logic                stat_format    // ... was malformed
);
  localparam int unsigned ROWS = BLOCK_BITS / STREAM_W;
  localparam int unsigned RW = $clog2(ROWS);
  if (N_DRIVES < 1 || N_DRIVES > 8 || DROP_BLOCKS < 2 || DROP_BLOCKS > 254 || DROP_BLOCKS % 2 != 0) begin : g_bad
    $error("%m: N_DRIVES must be 1..8, DROP_BLOCKS even and 2..254");
  end

  typedef enum logic [2:0] {
    GAP, BLOCK, LOSE, DROP, PAD, SKIP  // LOSE, DROP, SKIP: up to tlast
  } state_e;
  state_e              state_q;
  logic                ready_q, first_q;
  logic [N_DRIVES-1:0] sel_q, take_q, wr_q;
  logic                take_lost_q, lost_q, ev_valid_q, ev_format_q;
  logic [STREAM_W-1:0] data_q;
  logic [RW-1:0]       row_q;
  logic [7:0]          drops_q;
  logic                beat, moves, row_last, dropped, ends, leaves, begins_block, begins_lose, begins_drop, malformed;

  assign beat     = s_axis_tvalid && ready_q;
  assign moves    = beat || state_q == PAD;
  assign row_last = row_q == RW'(ROWS - 1);

  // ------------------------------------------------------------------ whose turn is next: known while a block runs
  logic [N_DRIVES-1:0] turn_q, next_q, near, pick, run1_q, run2_q, run3_q;
  logic                active_q, ok_q, lose_q;
  logic [1:0]          age_q;  // cycles since something changed, up to 3
  assign near = run & turn_q;  // turn_q: the drives at or after the turn
  assign pick = near != '0 ? near & (~near + 1'b1) : run & (~run + 1'b1);
  always_ff @(posedge clk) begin
    next_q   <= pick;
    active_q <= run != '0 && !hold;
    ok_q     <= age_q == 2'd3 && !hold && !lost_q && (next_q & room & up) != '0;
    lose_q   <= age_q == 2'd3 && !hold && !lost_q && (next_q & ~up) != '0 && !ev_valid_q;
    run1_q   <= run;
    run2_q   <= run1_q;
    run3_q   <= run2_q;
    if (run1_q == '0) turn_q <= '1;
    else if (begins_block || begins_lose) turn_q <= ~(next_q | (next_q - 1'b1));
    if (begins_block || begins_lose || run != run1_q) begin
      age_q  <= '0;
      ok_q   <= 1'b0;
      lose_q <= 1'b0;
    end else if (age_q != 2'd3) begin
      age_q <= age_q + 2'd1;
    end
    if (rst) begin
      age_q    <= '0;
      active_q <= 1'b0;
      ok_q     <= 1'b0;
      lose_q   <= 1'b0;
    end
  end
  assign quiet = ~(run | run1_q | run2_q | run3_q | (busy ? sel_q : '0) | take_q) & {N_DRIVES{!(lost_q || ev_valid_q)}};

  // ------------------------------------------------------------------ blocks
  assign dropped      = beat && s_axis_tlast && state_q == DROP;
  assign leaves       = first_q && !beat && run1_q == '0 && state_q inside {BLOCK, LOSE, DROP};
  assign ends         = state_q == GAP || leaves ||
                        (moves && row_last && (state_q == PAD || (state_q == BLOCK && s_axis_tlast))) ||
                        (beat && s_axis_tlast && state_q inside {LOSE, SKIP}) || (dropped && drops_q == 8'd1);
  assign begins_drop  = ends && drop && active_q;
  assign begins_block = ends && !begins_drop && ok_q;
  assign begins_lose  = ends && !begins_drop && !ok_q && lose_q;
  assign malformed    = state_q == BLOCK && beat && row_last != s_axis_tlast;

  always_ff @(posedge clk) begin
    if (state_q == PAD) data_q <= '0;
    else if (beat) data_q <= s_axis_tdata;
    wr_q        <= (beat && state_q == BLOCK) || state_q == PAD ? sel_q : '0;
    take_q      <= beat && first_q && state_q inside {BLOCK, LOSE} ? sel_q : '0;
    take_lost_q <= state_q == LOSE;
    stat_drop   <= dropped;
    stat_format <= malformed;
    if (beat) first_q <= 1'b0;
    if (moves) row_q <= row_q + 1'b1;
    if (dropped) begin
      drops_q <= drops_q - 8'd1;
      first_q <= 1'b1;
    end
    if (malformed) begin
      state_q <= row_last ? SKIP : PAD;
      ready_q <= row_last;
    end
    if (ends) begin
      row_q   <= '0;
      first_q <= 1'b1;
      ready_q <= begins_drop || begins_block || begins_lose;
      state_q <= begins_drop ? DROP : begins_block ? BLOCK : begins_lose ? LOSE : GAP;
      if (begins_drop) drops_q <= 8'(DROP_BLOCKS);
      if (begins_block || begins_lose) sel_q <= next_q;
    end
    if (rst) begin
      state_q     <= GAP;
      ready_q     <= 1'b0;
      wr_q        <= '0;
      take_q      <= '0;
      stat_drop   <= 1'b0;
      stat_format <= 1'b0;
    end
  end
  assign s_axis_tready = ready_q;
  assign take          = take_q;
  assign take_lost     = take_lost_q;
  assign wr_valid      = wr_q;
  assign wr_data       = data_q;
  assign busy          = state_q != GAP;

  // ------------------------------------------------------------------ events: one register. A lost block waits for it,
  // and the next block for the lost one; a malformed one that finds it full is only counted.
  logic [2:0]  ev_drive_q, sel_idx;
  logic [31:0] ev_block_q, sel_next;
  always_comb begin
    sel_idx  = '0;
    sel_next = '0;
    for (int i = 0; i < int'(N_DRIVES); i++)
      if (sel_q[i]) begin
        sel_idx  |= 3'(i);
        sel_next |= next[i*32+:32];
      end
  end
  always_ff @(posedge clk) begin
    if (ev_ready) ev_valid_q <= 1'b0;
    if (take_lost_q && take_q != '0) lost_q <= 1'b1;
    if ((lost_q || stat_format) && !ev_valid_q) begin
      ev_valid_q  <= 1'b1;
      ev_format_q <= !lost_q;
      ev_drive_q  <= sel_idx;
      ev_block_q  <= sel_next - 32'd1;  // the lane has counted on
      lost_q      <= 1'b0;
    end
    if (rst) begin
      ev_valid_q <= 1'b0;
      lost_q     <= 1'b0;
    end
  end
  assign ev_valid  = ev_valid_q;
  assign ev_format = ev_format_q;
  assign ev_drive  = ev_drive_q;
  assign ev_block  = ev_block_q;
endmodule
