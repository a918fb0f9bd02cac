// SPDX-License-Identifier: Apache-2.0
// Interrupt coalescing (features 08h and 09h, Base 2.0, 5.27.1.6 and 5.27.1.7).
//
// A request passes at once if it is the admin queue's, if coalescing is off (threshold or time 0) or disabled for its
// vector. Otherwise it is counted, and its vector fires when more than ic_thr requests have come, or at the latest
// ic_time x 100 us after the first that waits. The time is kept for all vectors together, so a vector may fire
// earlier than its own time, never later.
// Latency: none for what passes while coalescing is off and for the admin queue (combinational, valid and ready);
// others 2 cycles. Throughput: a request a cycle, others every 2. New settings hold from the cycle after.
module db_ssd_coalesce
  import db_ssd_pkg::*;
#(
  parameter int NUM_VEC = 33      // MSI-X vectors, 1..2048
) (
  input  logic             clk,
  input  logic             rst,
  input  logic [63:0]      time_us,
  input  logic [7:0]       ic_thr,        // requests - 1 that make an interrupt; 0: each does
  input  logic [7:0]       ic_time,       // 100 us; 0: no waiting
  input  logic             icv_we,        // vector icv_vector is (1) or is not (0) exempt
  input  logic [15:0]      icv_vector,
  input  logic             icv_cd,
  input  logic             s_irq_valid,
  output logic             s_irq_ready,
  input  logic [FN_W-1:0]  s_irq_fn,
  input  logic [15:0]      s_irq_vector,
  input  logic             s_irq_admin,
  output logic             m_irq_valid,
  input  logic             m_irq_ready,
  output logic [FN_W-1:0]  m_irq_fn,
  output logic [15:0]      m_irq_vector,
  output logic             idle,          // nothing to do before wake_us
  output logic [63:0]      wake_us        // when waiting requests are due, or before; all ones: none waits
);
  localparam int VW = (NUM_VEC > 1) ? $clog2(NUM_VEC) : 1;
  if (NUM_VEC < 1 || NUM_VEC > 2048) begin : g_bad_num_vec
    $error("%m: NUM_VEC must be 1..2048");
  end

  typedef enum logic [1:0] {ST_IDLE, ST_COUNT, ST_SWEEP} state_e;
  state_e             state_q;
  logic [NUM_VEC-1:0] exempt_q, waiting_q;
  logic               off_q;              // settings: nothing waits
  logic [14:0]        wait_q;             // settings: us
  logic               any_q, due, due_q, fire_free, open, at_once, take, pass, hold_q, exempt, enough;
  logic               fire_valid_q;       // an interrupt of counted requests
  logic [VW-1:0]      vec, vec_q, sweep_q;
  logic [15:0]        fire_vector_q;
  logic [FN_W-1:0]    fn_q, fire_fn_q;
  logic [63:0]        deadline_q, until_q;   // until_q: of the request at work
  logic [7:0]         count_r;

  always_ff @(posedge clk) begin
    off_q  <= ic_thr == 8'd0 || ic_time == 8'd0;
    wait_q <= {1'b0, ic_time, 6'd0} + {2'b00, ic_time, 5'd0} + {5'd0, ic_time, 2'b00};   // 100 ic_time
  end

  assign vec         = s_irq_vector[VW-1:0];
  assign fire_free   = !fire_valid_q || m_irq_ready;
  assign due         = any_q && time_us >= deadline_q;
  // What passes goes on to pass until it is taken (hold_q). What was counted goes first.
  assign open        = s_irq_valid && state_q == ST_IDLE && !fire_valid_q && !due_q;
  assign at_once     = s_irq_admin || off_q;
  assign pass        = hold_q || (open && at_once);
  assign take        = open && !at_once && !hold_q;
  assign s_irq_ready = pass ? m_irq_ready : take;
  assign m_irq_valid  = fire_valid_q || pass;
  assign m_irq_fn     = fire_valid_q ? fire_fn_q : s_irq_fn;
  assign m_irq_vector = fire_valid_q ? fire_vector_q : s_irq_vector;
  assign exempt      = exempt_q[vec_q];
  assign enough      = waiting_q[vec_q] && count_r >= ic_thr;   // with this one the threshold is passed

  // Requests that wait; valid while the vector's bit in waiting_q is set.
  db_ram_sdp #(.WIDTH(8), .DEPTH(NUM_VEC < 2 ? 2 : NUM_VEC)) i_count (
    .clk, .we(state_q == ST_COUNT && !exempt), .waddr(vec_q), .wdata(waiting_q[vec_q] ? count_r + 8'd1 : 8'd1),
    .re(1'b1), .raddr(vec), .rdata(count_r));

  always_ff @(posedge clk) begin
    due_q  <= due;
    hold_q <= pass && !m_irq_ready;
    if (m_irq_ready) fire_valid_q <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        sweep_q <= '0;
        vec_q   <= vec;
        fn_q    <= s_irq_fn;
        until_q <= time_us + 64'(wait_q);
        if (take) state_q <= ST_COUNT;
        else if (due_q && any_q && !hold_q) state_q <= ST_SWEEP;
      end
      ST_COUNT: begin
        if (!exempt) begin
          waiting_q[vec_q] <= !enough;
          any_q            <= 1'b1;
          if (!any_q || until_q < deadline_q) deadline_q <= until_q;   // ic_time may have been lowered
        end
        fire_valid_q  <= exempt || enough;
        fire_fn_q     <= fn_q;
        fire_vector_q <= 16'(vec_q);
        state_q       <= ST_IDLE;
      end
      ST_SWEEP: if (fire_free) begin
        fire_valid_q       <= waiting_q[sweep_q];
        fire_fn_q          <= '0;
        fire_vector_q      <= 16'(sweep_q);
        waiting_q[sweep_q] <= 1'b0;
        sweep_q            <= sweep_q + 1'b1;
        if (sweep_q == VW'(NUM_VEC - 1)) begin
          any_q   <= 1'b0;
          state_q <= ST_IDLE;
        end
      end
      default: state_q <= ST_IDLE;
    endcase
    if (icv_we) exempt_q[icv_vector[VW-1:0]] <= icv_cd;
    if (rst) begin
      state_q      <= ST_IDLE;
      fire_valid_q <= 1'b0;
      hold_q       <= 1'b0;
      due_q        <= 1'b0;
      waiting_q    <= '0;
      exempt_q     <= '0;
      any_q        <= 1'b0;
    end
  end

  assign idle    = state_q == ST_IDLE && !fire_valid_q && !s_irq_valid && !due;
  assign wake_us = any_q ? deadline_q : '1;

endmodule
