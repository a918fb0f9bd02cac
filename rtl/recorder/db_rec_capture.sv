// SPDX-License-Identifier: Apache-2.0
// The capture stream: cuts it into blocks of 4 KiB and deals them out to the drives in turn.
//
// A block goes to the next drive of those that take part (`run`), whole: it starts only when the drive's FIFO has room
// for all of it. A drive that is not up loses its block (reported, place kept) and does not stop the others. tlast
// must come with the last row of a block. Early: the rest of the block is zeros. Late: what is too much is passed over
// up to the next tlast. Both are counted and reported. drop: between blocks, DROP_BLOCKS whole ones are thrown away.
// Latency: 1 cycle to m_row. Throughput: a row every cycle, no bubble between whole blocks.
module db_rec_capture
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES    = 2,    ///< 1..8
  parameter int STREAM_W    = 256,  ///< bits, 128..1024
  parameter int DROP_BLOCKS = 2     ///< blocks dropped at a time, 2..254, even
) (
  input  logic                        clk,
  input  logic                        rst,

  input  logic                        starting,     ///< a drive of the capture is not ready: start no block
  input  logic         [N_DRIVES-1:0] run,          ///< drives that take part; the first block is the lowest one's
  input  drive_state_t [N_DRIVES-1:0] drives,
  input  lane_state_t  [N_DRIVES-1:0] lanes,
  input  logic                        drop,         ///< data_drop_blocks

  input  logic                        s_axis_tvalid,
  output logic                        s_axis_tready,
  input  logic         [STREAM_W-1:0] s_axis_tdata,
  input  logic                        s_axis_tlast,

  /// To the lanes: a block begins (take, with its first row), and whether it has no rows.
  output logic         [N_DRIVES-1:0] take,
  output logic                        take_lost,
  output logic         [N_DRIVES-1:0] m_row_valid,  ///< taken as they come: the lane has room
  output logic         [STREAM_W-1:0] m_row_data,

  output logic         [N_DRIVES-1:0] quiet,        ///< no block will begin for a drive whose run is low
  output logic                        in_block,
  output logic                        m_event_valid,
  input  logic                        m_event_ready,
  output event_t                      m_event,
  output logic                        stat_drop,    ///< pulse: a block was dropped
  output logic                        stat_format   ///< pulse: one was malformed
);
  localparam int ROWS = BLOCK_BITS / STREAM_W;
  localparam int RW = $clog2(ROWS);
  if (N_DRIVES < 1 || N_DRIVES > 8 || DROP_BLOCKS < 2 || DROP_BLOCKS > 254 || DROP_BLOCKS % 2 != 0) begin : g_bad
    $error("%m: N_DRIVES must be 1..8, DROP_BLOCKS even and 2..254");
  end

  typedef enum logic [2:0] {
    ST_GAP, ST_BLOCK, ST_LOSE, ST_DROP, ST_PAD, ST_SKIP  // ST_LOSE, ST_DROP, ST_SKIP: up to tlast
  } state_e;
  state_e              state_q;
  logic                ready_q, first_q;
  logic [N_DRIVES-1:0] sel_q, take_q, row_valid_q;
  logic                take_lost_q, lost_q, format_q, event_valid_q;
  logic [STREAM_W-1:0] data_q;
  logic [RW-1:0]       row_q;
  logic [7:0]          drops_q;
  logic                comes, moves, row_last, dropped, ends, leaves, begins_block, begins_lose, begins_drop, malformed;

  assign comes    = s_axis_tvalid && ready_q;
  assign moves    = comes || state_q == ST_PAD;
  assign row_last = row_q == RW'(ROWS - 1);

  // ---- whose turn is next: known while a block runs
  logic [N_DRIVES-1:0] turn_q, next_q, near, pick, run1_q, run2_q, run3_q;
  logic                active_q, ok_q, lose_q;
  logic [1:0]          age_q;  // cycles since something changed, or since a block's first row, up to 3
  logic [N_DRIVES-1:0] up, room, lane_hold;
  logic                hold;
  always_comb begin
    for (int i = 0; i < N_DRIVES; i++) begin
      up[i]        = drives[i].up && !drives[i].flush;
      room[i]      = lanes[i].room;
      lane_hold[i] = lanes[i].hold;
    end
  end
  assign hold = lane_hold != '0 || starting;
  assign near = run & turn_q;  // turn_q: the drives at or after the turn
  assign pick = near != '0 ? near & (~near + 1'b1) : run & (~run + 1'b1);
  always_ff @(posedge clk) begin
    next_q   <= pick;
    active_q <= run != '0 && !hold;
    ok_q     <= age_q == 2'd3 && !hold && !lost_q && (next_q & room & up) != '0;
    lose_q   <= age_q == 2'd3 && !hold && !lost_q && (next_q & ~up) != '0 && !event_valid_q;
    run1_q   <= run;
    run2_q   <= run1_q;
    run3_q   <= run2_q;
    if (run1_q == '0) turn_q <= '1;
    else if (begins_block || begins_lose) turn_q <= ~(next_q | (next_q - 1'b1));
    if (begins_block || begins_lose || run != run1_q) begin
      age_q  <= '0;
      ok_q   <= 1'b0;
      lose_q <= 1'b0;
    end else if (age_q != 2'd3 && !(first_q && state_q inside {ST_BLOCK, ST_LOSE})) begin
      age_q <= age_q + 2'd1;
    end
    if (rst) begin
      age_q    <= '0;
      active_q <= 1'b0;
      ok_q     <= 1'b0;
      lose_q   <= 1'b0;
    end
  end
  assign quiet = ~(run | run1_q | run2_q | run3_q | (in_block ? sel_q : '0) | take_q) &
                 {N_DRIVES{!(lost_q || format_q || event_valid_q)}};

  // ---- blocks
  assign dropped      = comes && s_axis_tlast && state_q == ST_DROP;
  assign leaves       = first_q && !comes && run1_q == '0 && state_q inside {ST_BLOCK, ST_LOSE, ST_DROP};
  assign ends         = state_q == ST_GAP || leaves ||
                        (moves && row_last && (state_q == ST_PAD || (state_q == ST_BLOCK && s_axis_tlast))) ||
                        (comes && s_axis_tlast && state_q inside {ST_LOSE, ST_SKIP}) || (dropped && drops_q == 8'd1);
  assign begins_drop  = ends && drop && active_q;
  assign begins_block = ends && !begins_drop && ok_q;
  assign begins_lose  = ends && !begins_drop && !ok_q && lose_q;
  assign malformed    = state_q == ST_BLOCK && comes && row_last != s_axis_tlast;

  always_ff @(posedge clk) begin
    if (state_q == ST_PAD) data_q <= '0;
    else if (comes) data_q <= s_axis_tdata;
    row_valid_q <= (comes && state_q == ST_BLOCK) || state_q == ST_PAD ? sel_q : '0;
    take_q      <= comes && first_q && state_q inside {ST_BLOCK, ST_LOSE} ? sel_q : '0;
    take_lost_q <= state_q == ST_LOSE;
    stat_drop   <= dropped;
    stat_format <= malformed;
    if (comes) first_q <= 1'b0;
    if (moves) row_q <= row_q + 1'b1;
    if (dropped) begin
      drops_q <= drops_q - 8'd1;
      first_q <= 1'b1;
    end
    if (malformed) begin
      state_q <= row_last ? ST_SKIP : ST_PAD;
      ready_q <= row_last;
    end
    if (ends) begin
      row_q   <= '0;
      first_q <= 1'b1;
      ready_q <= begins_drop || begins_block || begins_lose;
      state_q <= begins_drop ? ST_DROP : begins_block ? ST_BLOCK : begins_lose ? ST_LOSE : ST_GAP;
      if (begins_drop) drops_q <= 8'(DROP_BLOCKS);
      if (begins_block || begins_lose) sel_q <= next_q;
    end
    if (rst) begin
      state_q     <= ST_GAP;
      ready_q     <= 1'b0;
      row_valid_q <= '0;
      take_q      <= '0;
      stat_drop   <= 1'b0;
      stat_format <= 1'b0;
    end
  end
  assign s_axis_tready = ready_q;
  assign take          = take_q;
  assign take_lost     = take_lost_q;
  assign m_row_valid      = row_valid_q;
  assign m_row_data       = data_q;
  assign in_block          = state_q != ST_GAP;

  // ---- events: one register. A lost block waits for it,
  // and the next block for the lost one; a malformed one that finds it full is only counted.
  logic [2:0]  sel_idx, idx_q;
  logic [31:0] sel_next, number_q;  // of the block: the lane counts on a cycle later
  event_t      event_q;
  always_comb begin
    sel_idx  = '0;
    sel_next = '0;
    for (int i = 0; i < N_DRIVES; i++)
      if (sel_q[i]) begin
        sel_idx  |= 3'(i);
        sel_next |= lanes[i].next;
      end
  end
  always_ff @(posedge clk) begin
    if (m_event_ready) event_valid_q <= 1'b0;
    if (take_lost_q && take_q != '0) lost_q <= 1'b1;
    if (take_q != '0) {idx_q, number_q} <= {sel_idx, sel_next};
    format_q <= stat_format;
    if ((lost_q || format_q) && !event_valid_q) begin
      event_valid_q <= 1'b1;
      event_q       <= '{malformed: !lost_q, drive: idx_q, block: number_q};
      lost_q        <= 1'b0;
    end
    if (rst) begin
      event_valid_q <= 1'b0;
      lost_q        <= 1'b0;
      format_q      <= 1'b0;
    end
  end
  assign m_event_valid = event_valid_q;
  assign m_event       = event_q;
endmodule
