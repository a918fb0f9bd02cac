// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_quiet with db_pcie_rq_mux and db_pcie_rq_landed, wired as in db_pcie_dma at 128 bits: when it says
// quiet, nothing is on RQ, everything posted has been reported by the hard block, and as long as stop stays, nothing is
// sent. Sources, the hard block's ready and its reports are free; a report comes only for a write that was sent.
`include "db_pcie_types.svh"
module db_pcie_quiet_formal
  import db_pcie_pkg::*;
#(
  localparam type rq_t = `DB_PCIE_RQ_T(128)
) (
  input logic       clk,
  input logic       rst,
  input logic       stop,
  input logic       hold,
  input logic       reads_ended,
  input logic [2:0] s_rq_valid,
  input logic [2:0] s_rq_last,
  input logic       m_rq_ready,
  input logic [1:0] report
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic       hold_reads, hold_writes, quiet, landed, rq_idle, m_rq_valid;
  logic [2:0] s_rq_ready, begun;
  rq_t  [2:0] s_rq;
  rq_t        m_rq;
  rq_seq_t    seq;

  // Of a packet only its end and its source are of interest: bit 0 of tdata says that it is a write.
  always_comb begin
    s_rq = '0;
    for (int i = 0; i < 3; i++) begin
      s_rq[i].tlast    = s_rq_last[i];
      s_rq[i].tdata[0] = i != 2;
    end
    seq.valid = report;
    seq.num   = {RQ_SEQ_WRITE, RQ_SEQ_WRITE};
  end

  db_pcie_rq_mux #(.DATA_W(128), .N(3)) i_mux (
    .clk, .rst, .stop({hold_reads, {2{hold_writes}}}), .idle(rq_idle), .begun, .s_rq_valid, .s_rq_ready, .s_rq,
    .m_rq_valid, .m_rq_ready, .m_rq
  );
  db_pcie_rq_landed #(.COUNT_W(4)) i_landed (
    .clk, .rst, .s_write(begun[0] || begun[1]), .s_seq(seq), .forget(hold && rq_idle), .landed
  );
  db_pcie_quiet i_quiet (
    .clk, .rst, .stop, .hold, .reads_ended, .rq_idle, .landed, .hold_reads, .hold_writes, .quiet
  );

  // ---- what the others do
  logic [2:0] wait_q;
  logic       rested_q;  // stop was there in the cycle before, and all reads had ended
  always_ff @(posedge clk) begin
    wait_q   <= rst ? '0 : s_rq_valid & ~s_rq_ready;
    rested_q <= stop && reads_ended && !rst;
  end
  always_comb begin
    assume ((s_rq_valid & wait_q) == wait_q);              // what is offered stays
    if (rested_q && stop) assume (reads_ended);            // db_pcie_read: idle stays with stop
    if (reads_ended) assume (!s_rq_valid[2]);              // a read on its way to RQ has not ended
    assume (s_rq_last[2]);                                 // a read is one beat
    assume (!hold);                                        // what hold forgets is db_pcie_rq_landed's business
  end

  // ---- writes that began, and were not reported
  logic [3:0] writes_q;
  logic       begin_write;
  assign begin_write = (begun[0] || begun[1]) && !rst;
  always_ff @(posedge clk) begin
    writes_q <= writes_q + 4'(begin_write) - 4'(report[0]) - 4'(report[1]);
    if (rst) writes_q <= '0;
  end
  always_comb begin
    assume (2'(report[0]) + 2'(report[1]) <= writes_q);
    assume (writes_q < 4'd12);                             // the hard block holds fewer than the counter counts
    if (rst) assume (report == '0);
  end

  // ---- what must hold
  logic quiet_q;
  always_ff @(posedge clk) quiet_q <= quiet && stop && !rst;
  always_comb if (started_q && !rst) begin
    // what a user relies on
    if (quiet && stop) assert (!m_rq_valid && begun == '0 && writes_q == '0);
    if (quiet_q && stop) assert (quiet);
    // how it comes about
    assert (i_landed.inside_q + 4'(i_landed.write_q) == writes_q + 4'(i_landed.report_q[0]) + 4'(i_landed.report_q[1]));
    if (i_landed.write_q) assert (!rq_idle);
    assert (landed == (i_landed.inside_q == '0));
    if (hold_reads) assert (rested_q && hold_writes);
    if (rested_q) assert (hold_reads);
    if (quiet && rested_q) assert (hold_reads && rq_idle && landed);
  end
  always_comb if (started_q && !rst) cover (quiet && s_rq_valid[0]);
endmodule
