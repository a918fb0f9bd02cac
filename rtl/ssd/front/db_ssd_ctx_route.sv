// SPDX-License-Identifier: Apache-2.0
// Queue contexts from the firmware: to the submission queues or to the completion queues. Combinational.
module db_ssd_ctx_route
  import db_ssd_pkg::*;
(
  input  logic       s_queue_ctx_valid,
  output logic       s_queue_ctx_ready,
  input  queue_ctx_t s_queue_ctx,
  output logic       m_sq_ctx_valid,
  input  logic       m_sq_ctx_ready,
  output logic       m_cq_ctx_valid,
  input  logic       m_cq_ctx_ready
);
  assign m_sq_ctx_valid    = s_queue_ctx_valid && s_queue_ctx.kind == QUEUE_SQ;
  assign m_cq_ctx_valid    = s_queue_ctx_valid && s_queue_ctx.kind == QUEUE_CQ;
  assign s_queue_ctx_ready = s_queue_ctx.kind == QUEUE_SQ ? m_sq_ctx_ready : m_cq_ctx_ready;
endmodule
