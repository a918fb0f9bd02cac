// SPDX-License-Identifier: Apache-2.0
// Interrupt coalescing (features 08h and 09h, Base 2.0, 5.27.1.6 and 5.27.1.7).
//
// A request passes at once if it is the admin queue's, if coalescing is off (threshold or time 0) or disabled for its
// vector. Otherwise it is counted, and its vector fires when more than the threshold of requests have come, or at the
// latest the time of the feature after the first that waits. The time is kept for all vectors together, so a vector
// may fire earlier than its own time, never later.
// What is kept of each vector is in RAM, which is cleared in the NUM_VEC cycles after reset: nothing passes then.
// Latency: none for what passes while coalescing is off and for the admin queue (combinational, valid and ready);
// others 2 cycles. Throughput: a request a cycle, others every 2. New settings hold from the cycle after.
module db_ssd_coalesce
  import db_ssd_pkg::*;
#(
  parameter int NUM_VEC = 33               ///< MSI-X vectors, 1..2048
) (
  input  logic          clk,
  input  logic          rst,
  input  logic [63:0]   time_us,
  input  coalesce_cfg_t coalesce_cfg,
  /// Pulse: a vector is or is not exempt.
  input  logic          int_vec_cfg_valid,
  input  int_vec_cfg_t  int_vec_cfg,
  input  logic          s_irq_valid,
  output logic          s_irq_ready,
  input  irq_t          s_irq,
  output logic          m_irq_valid,
  input  logic          m_irq_ready,
  output irq_t          m_irq,             ///< its bit admin says nothing
  output logic          idle,              ///< nothing to do before wake_us
  output logic [63:0]   wake_us            ///< when waiting requests are due, or before; all ones: none waits
);
  localparam int VW = (NUM_VEC > 1) ? $clog2(NUM_VEC) : 1;
  if (NUM_VEC < 1 || NUM_VEC > 2048) begin : g_bad_num_vec
    $error("%m: NUM_VEC must be 1..2048");
  end

  typedef enum logic [1:0] {ST_CLEAR, ST_IDLE, ST_COUNT, ST_SWEEP} state_e;
  state_e             state_q;
  logic               off_q;              // settings: nothing waits
  logic [14:0]        wait_q;             // settings: us
  logic               any_q, due, due_q, fire_free, open, at_once, take, pass, hold_q, exempt, waiting, enough,
                      sweeping;
  logic               fire_valid_q;       // an interrupt of counted requests
  logic [VW-1:0]      vec, vec_q, sweep_q, look;
  logic [15:0]        fire_vector_q;
  logic [63:0]        deadline_q, until_q;   // until_q: of the request at work
  logic [7:0]         count_r;

  always_ff @(posedge clk) begin
    off_q  <= coalesce_cfg.threshold == 8'd0 || coalesce_cfg.time_100us == 8'd0;
    wait_q <= {1'b0, coalesce_cfg.time_100us, 6'd0} + {2'b00, coalesce_cfg.time_100us, 5'd0} +
              {5'd0, coalesce_cfg.time_100us, 2'b00};   // 100 times
  end

  assign vec         = s_irq.vector[VW-1:0];
  assign fire_free   = !fire_valid_q || m_irq_ready;
  assign due         = any_q && time_us >= deadline_q;
  // What passes goes on to pass until it is taken (hold_q). What was counted goes first.
  assign open        = s_irq_valid && state_q == ST_IDLE && !fire_valid_q && !due_q;
  assign at_once     = s_irq.admin || off_q;
  assign pass        = hold_q || (open && at_once);
  assign take        = open && !at_once && !hold_q;
  assign s_irq_ready = pass ? m_irq_ready : take;
  assign m_irq_valid  = fire_valid_q || pass;
  assign m_irq.vector = fire_valid_q ? fire_vector_q : s_irq.vector;
  assign m_irq.admin  = s_irq.admin;
  // with this one the threshold is passed
  assign enough       = waiting && count_r >= coalesce_cfg.threshold;

  // ---- what is kept of a vector: do requests wait, how many; is it exempt? Read a cycle ahead.
  localparam int DEPTH = NUM_VEC < 2 ? 2 : NUM_VEC;
  assign sweeping = state_q == ST_SWEEP || state_q == ST_CLEAR;
  assign look     = state_q == ST_SWEEP ? sweep_q + VW'(fire_free) : due_q ? '0 : vec;
  db_ram_sdp #(.WIDTH(9), .DEPTH(DEPTH)) i_requests (
    .clk, .we((state_q == ST_COUNT && !exempt) || (sweeping && fire_free)), .waddr(sweeping ? sweep_q : vec_q),
    .wdata(sweeping ? '0 : {!enough, waiting ? count_r + 8'd1 : 8'd1}), .re(1'b1), .raddr(look),
    .rdata({waiting, count_r}));
  db_ram_sdp #(.WIDTH(1), .DEPTH(DEPTH)) i_exempt (
    .clk, .we(int_vec_cfg_valid || state_q == ST_CLEAR),
    .waddr(int_vec_cfg_valid ? int_vec_cfg.vector[VW-1:0] : sweep_q),
    .wdata(int_vec_cfg_valid && int_vec_cfg.exempt), .re(1'b1), .raddr(vec), .rdata(exempt));

  always_ff @(posedge clk) begin
    due_q  <= due;
    hold_q <= pass && !m_irq_ready;
    if (m_irq_ready) fire_valid_q <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        sweep_q <= '0;
        vec_q   <= vec;
        until_q <= time_us + 64'(wait_q);
        if (take) state_q <= ST_COUNT;
        else if (due_q && any_q && !hold_q) state_q <= ST_SWEEP;
      end
      ST_COUNT: begin
        if (!exempt) begin
          any_q <= 1'b1;
          if (!any_q || until_q < deadline_q) deadline_q <= until_q;   // the time may have been lowered
        end
        fire_valid_q  <= exempt || enough;
        fire_vector_q <= 16'(vec_q);
        state_q       <= ST_IDLE;
      end
      ST_SWEEP: if (fire_free) begin
        fire_valid_q  <= waiting;
        fire_vector_q <= 16'(sweep_q);
        sweep_q       <= sweep_q + 1'b1;
        if (sweep_q == VW'(NUM_VEC - 1)) begin
          any_q   <= 1'b0;
          state_q <= ST_IDLE;
        end
      end
      default: begin                 // ST_CLEAR
        sweep_q <= sweep_q + 1'b1;
        if (sweep_q == VW'(NUM_VEC - 1)) state_q <= ST_IDLE;
      end
    endcase
    if (rst) begin
      state_q      <= ST_CLEAR;
      sweep_q      <= '0;
      fire_valid_q <= 1'b0;
      hold_q       <= 1'b0;
      due_q        <= 1'b0;
      any_q        <= 1'b0;
    end
  end

  assign idle    = state_q == ST_IDLE && !fire_valid_q && !s_irq_valid && !due;
  assign wake_us = any_q ? deadline_q : '1;

endmodule
