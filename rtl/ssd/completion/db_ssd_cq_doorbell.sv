// SPDX-License-Identifier: Apache-2.0
// Head doorbells of completion queues: read what the queue is (1), check (2), write. They have this path of their own
// and never wait for a transfer.
// Latency: 2 cycles to hit. Throughput: one a cycle, except while a queue is created or deleted.
module db_ssd_cq_doorbell
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int  NUM_Q = 33,                       ///< completion queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             run,                    ///< errors are reported
  input  logic             s_doorbell_valid,
  output logic             s_doorbell_ready,
  input  doorbell_t        s_doorbell,
  input  logic             changed,                ///< a queue is created or deleted
  input  logic             queue_valid,            ///< the doorbell's queue exists
  input  logic [15:0]      doorbell_size,          ///< of the doorbell's queue, a cycle later: entries - 1
  input  logic [15:0]      doorbell_tail,          ///< ... and its tail
  output logic             hit,                    ///< the head of hit_queue becomes hit_value
  output logic [AW-1:0]    hit_queue,
  output logic [15:0]      hit_value,
  output logic [15:0]      hit_tail,               ///< the queue's tail, two cycles ago
  output logic             m_doorbell_err_valid,
  output doorbell_err_t    m_doorbell_err,
  output logic             busy                    ///< one is on its way
);
  logic             read_q, read_known_q;          // step 1
  logic [FN_W-1:0]  read_fn_q;
  logic [QID_W-1:0] read_qid_q, read_queue_q;    // as its host calls it; its number
  logic [15:0]      read_value_q;
  logic             check_q, check_known_q, check_in_q, check_ok;  // step 2
  logic [FN_W-1:0]  check_fn_q;
  logic [QID_W-1:0] check_qid_q, check_queue_q;
  logic [15:0]      check_value_q, check_tail_q;

  assign s_doorbell_ready = !changed;
  assign check_ok  = check_known_q && check_in_q;
  assign hit       = check_q && check_ok;
  assign hit_queue = check_queue_q[AW-1:0];
  assign hit_value = check_value_q;
  assign hit_tail  = check_tail_q;
  assign busy      = read_q || check_q;
  always_ff @(posedge clk) begin
    read_q        <= s_doorbell_valid && s_doorbell_ready;
    read_known_q  <= s_doorbell.exists && queue_valid;
    read_fn_q     <= s_doorbell.fn;
    read_qid_q    <= s_doorbell.qid[QID_W-1:0];
    read_queue_q  <= s_doorbell.number;
    read_value_q  <= s_doorbell.value;
    check_q       <= read_q;
    check_known_q <= read_known_q;
    check_in_q    <= read_value_q <= doorbell_size;
    check_fn_q    <= read_fn_q;
    check_qid_q   <= read_qid_q;
    check_queue_q <= read_queue_q;
    check_value_q <= read_value_q;
    check_tail_q  <= doorbell_tail;
    m_doorbell_err_valid <= run && check_q && !check_ok;
    m_doorbell_err       <= '{kind: check_known_q, fn: check_fn_q, qid: check_qid_q};
    if (rst) begin
      read_q               <= 1'b0;
      check_q              <= 1'b0;
      m_doorbell_err_valid <= 1'b0;
    end
  end

endmodule
