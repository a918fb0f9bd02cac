// SPDX-License-Identifier: Apache-2.0
// Aborts a command that its submission queue still holds: watches the entries of the queue as decode takes them, from
// the next one to be requested up to the tail that the host had written, and marks the one with the command identifier.
//
// Why: an entry in host memory is not ours before it is fetched. A mark with an end cannot meet a later command that
// uses the identifier again. One command at a time. It ends early when the firmware says so, or creates or deletes the
// queue; whether the command was marked before stays true.
// Latency: m_abort in the cycle of s_sqe. Throughput: an entry every 2 cycles.
module db_ssd_abort_watch
  import db_ssd_pkg::*;
(
  input  logic             clk,
  input  logic             rst,
  input  logic             s_begin,     ///< pulse
  input  logic             s_watch,     ///< ... the queue has entries to request
  input  logic             s_end,       ///< pulse
  input  logic             s_queue_valid,  ///< pulse: queue s_sqid is created or deleted
  input  logic [QID_W-1:0] s_sqid,
  input  logic [15:0]      s_cid,
  input  logic [15:0]      s_tail,
  input  logic             s_sqe_take,  ///< decode takes an entry
  input  fetched_sqe_t     s_sqe,
  /// A cycle later, from decode: its queue and the place behind it.
  input  logic             s_head_valid,
  input  logic [QID_W-1:0] s_head_sqid,
  input  logic [15:0]      s_head,
  output logic             m_abort,     ///< s_sqe is to be aborted
  output logic             watching,    ///< entries that are watched are still to come
  output logic             caught       ///< when not watching any more: there was one
);
  logic [QID_W-1:0] sqid_q;
  logic [15:0]      cid_q, tail_q;
  logic             caught_q;           // the entry taken before is to be aborted
  assign m_abort = watching && s_sqe.sqid == sqid_q && s_sqe.sqe[31:16] == cid_q;
  always_ff @(posedge clk) begin
    caught_q <= s_sqe_take && m_abort && !s_sqe.err;
    if (caught_q) caught <= 1'b1;
    if (caught_q || (s_head_valid && s_head_sqid == sqid_q && s_head == tail_q)) watching <= 1'b0;
    if (s_end || (s_queue_valid && s_sqid == sqid_q)) watching <= 1'b0;
    if (s_begin) begin
      watching <= s_watch;
      caught   <= 1'b0;
      sqid_q   <= s_sqid;
      cid_q    <= s_cid;
      tail_q   <= s_tail;
    end
    if (rst) begin
      watching <= 1'b0;
      caught_q <= 1'b0;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_sqe};
endmodule
