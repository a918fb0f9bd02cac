// SPDX-License-Identifier: Apache-2.0
// Interrupt coalescing (features 08h and 09h, Base 2.0, 5.27.1.6 and 5.27.1.7).
//
// A request passes at once if it is the admin queue's, if coalescing is off (threshold or time 0) or disabled for its
// vector. Otherwise it is counted, and its vector fires when more than ic_thr requests have come, or at the latest
// ic_time x 100 us after the first that waits. The time is kept for all vectors together, so a vector may fire
// earlier than its own time, never later.
// Latency: 1 cycle; counted requests 2. Throughput: a request a cycle, counted ones every 2.
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
  logic               any_q, due, out_free, take, at_once, fire;
  logic [VW-1:0]      vec, vec_q, sweep_q;
  logic [FN_W-1:0]    fn_q;
  logic [63:0]        deadline_q, due_q;   // due_q: of the request at work
  logic [7:0]         count_r;

  assign vec      = s_irq_vector[VW-1:0];
  assign out_free = !m_irq_valid || m_irq_ready;
  assign take     = s_irq_valid && s_irq_ready;
  assign at_once  = s_irq_admin || ic_thr == 8'd0 || ic_time == 8'd0 || exempt_q[vec];
  assign due      = any_q && time_us >= deadline_q;
  assign s_irq_ready = state_q == ST_IDLE && out_free && !due;
  assign fire     = waiting_q[vec_q] && count_r >= ic_thr;   // with this one the threshold is passed

  // Requests that wait; valid while the vector's bit in waiting_q is set.
  db_ram_sdp #(.WIDTH(8), .DEPTH(NUM_VEC < 2 ? 2 : NUM_VEC)) i_count (
    .clk, .we(state_q == ST_COUNT), .waddr(vec_q), .wdata(waiting_q[vec_q] ? count_r + 8'd1 : 8'd1),
    .re(1'b1), .raddr(vec), .rdata(count_r));

  always_ff @(posedge clk) begin
    if (m_irq_ready) m_irq_valid <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        sweep_q <= '0;
        if (due) state_q <= ST_SWEEP;
        else if (take) begin
          vec_q <= vec;
          fn_q  <= s_irq_fn;
          due_q <= time_us + 64'd100 * 64'(ic_time);
          if (at_once) begin
            m_irq_valid  <= 1'b1;
            m_irq_fn     <= s_irq_fn;
            m_irq_vector <= s_irq_vector;
          end else state_q <= ST_COUNT;
        end
      end
      ST_COUNT: begin
        waiting_q[vec_q] <= !fire;
        any_q            <= 1'b1;
        if (!any_q || due_q < deadline_q) deadline_q <= due_q;   // ic_time may have been lowered
        if (fire) begin
          m_irq_valid  <= 1'b1;
          m_irq_fn     <= fn_q;
          m_irq_vector <= 16'(vec_q);
        end
        state_q <= ST_IDLE;
      end
      ST_SWEEP: if (out_free) begin
        if (waiting_q[sweep_q]) begin
          m_irq_valid  <= 1'b1;
          m_irq_fn     <= '0;
          m_irq_vector <= 16'(sweep_q);
        end
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
      state_q     <= ST_IDLE;
      m_irq_valid <= 1'b0;
      waiting_q   <= '0;
      exempt_q    <= '0;
      any_q       <= 1'b0;
    end
  end

  assign idle    = state_q == ST_IDLE && !m_irq_valid && !s_irq_valid && !due;
  assign wake_us = any_q ? deadline_q : '1;

endmodule
