// SPDX-License-Identifier: Apache-2.0
// Doorbells of the I/O queues: the tail of queue pair q says how many of the slots since place 0 were its own.
//
// One queue pair is looked at a cycle, in turn. Tails come first; heads when HEAD_BATCH entries have gathered (a
// quarter of a small queue) or HEAD_WAIT cycles have passed. Values of a doorbell that waits are not updated: the
// next one says it.
// Latency: a slot to m_doorbell_valid 1 cycle, with several queue pairs up to NUM_QP. Throughput: one every 2 cycles.
module db_host_doorbells
  import db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP   = 1,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic               clk,
  input  logic               rst,
  /// entries of each I/O queue: a power of 2
  input  logic [15:0]        sq_size,
  input  slot_state_e        state,
  /// a part gets a slot; a slot gets another place
  input  logic               take,
  input  logic               again,
  /// slots in use
  input  logic [SLOT_LOG2:0] count,
  /// next place of each completion queue
  input  logic [3:0][15:0]   cq_head,
  /// falls without ready when SLOTS_RUN ends
  output logic               m_doorbell_valid,
  input  logic               m_doorbell_ready,
  output doorbell_t          m_doorbell,
  /// of one queue pair: where the next entry goes
  output logic [SLOT_LOG2:0] next_place
);
  localparam int HEAD_BATCH = 8;     // entries
  localparam int HEAD_WAIT  = 4096;  // cycles: seven parts of 8 KiB on Gen3 x4
  localparam int QP_LOG2    = $clog2(NUM_QP);
  localparam int QP_W       = (QP_LOG2 == 0) ? 1 : QP_LOG2;
  localparam int PLACE_W    = SLOT_LOG2 + 1 - QP_LOG2;  // of a place in a queue
  typedef logic [SLOT_LOG2:0] seq_t;

  logic [QP_W-1:0]    qp_q;       // that is looked at
  seq_t               issued_q;   // slots since place 0
  logic [PLACE_W-1:0] last_place, tail, head, batch_q;
  logic [PLACE_W-1:0] tail_q[NUM_QP], head_q[NUM_QP];
  logic [12:0]        wait_q[NUM_QP];
  logic               free;

  if (NUM_QP == 1) begin : g_one
    assign qp_q = '0;
  end else begin : g_turn
    always_ff @(posedge clk) qp_q <= rst ? '0 : qp_q + 1'b1;
  end

  always_ff @(posedge clk) begin
    batch_q <= (sq_size >= 16'(4 * HEAD_BATCH)) ? PLACE_W'(HEAD_BATCH) : PLACE_W'(sq_size >> 2);
    if (take || again) issued_q <= issued_q + seq_t'(1);
    if (state == SLOTS_WAIT) issued_q <= count + seq_t'(take);
    if (rst) issued_q <= '0;
  end
  assign next_place = issued_q & seq_t'(last_place);
  assign last_place = PLACE_W'(sq_size - 16'd1);
  assign tail       = PLACE_W'((issued_q + seq_t'(NUM_QP - 1) - seq_t'(32'(qp_q) & (NUM_QP - 1))) >> QP_LOG2) &
                      last_place;
  assign head       = PLACE_W'(cq_head[2'(qp_q)]);
  assign free       = !m_doorbell_valid || m_doorbell_ready;

  always_ff @(posedge clk) begin
    if (m_doorbell_ready) m_doorbell_valid <= 1'b0;
    if (wait_q[qp_q] != 13'(HEAD_WAIT)) wait_q[qp_q] <= wait_q[qp_q] + 13'd1;
    if (state == SLOTS_RUN && free) begin
      m_doorbell.qid <= 4'(qp_q) + 4'd1;
      if (tail != tail_q[qp_q]) begin
        m_doorbell_valid <= 1'b1;
        m_doorbell.cq    <= 1'b0;
        m_doorbell.value <= 16'(tail);
        tail_q[qp_q]     <= tail;
      end else if (head != head_q[qp_q] && (((head - head_q[qp_q]) & last_place) >= batch_q ||
                                            wait_q[qp_q] == 13'(HEAD_WAIT))) begin
        m_doorbell_valid <= 1'b1;
        m_doorbell.cq    <= 1'b1;
        m_doorbell.value <= 16'(head);
        head_q[qp_q]     <= head;
        wait_q[qp_q]     <= '0;
      end
    end
    if (head == head_q[qp_q]) wait_q[qp_q] <= '0;
    if (rst || state != SLOTS_RUN) begin
      m_doorbell_valid <= 1'b0;
      for (int q = 0; q < NUM_QP; q++) begin
        tail_q[q] <= '0;
        head_q[q] <= '0;
        wait_q[q] <= '0;
      end
    end
  end
endmodule
