// SPDX-License-Identifier: Apache-2.0
// Tags of a read client: which have ended and how, how many are outstanding. They retire in the order in which they were
// given, whatever the order of their ends.
//
// Latency: none from s_done of the oldest tag to m_retire. Throughput: a tag a cycle.
module db_pcie_read_retire
  import db_pcie_block_pkg::*;
#(
  parameter int TAG_BASE = 0,   ///< first tag
  parameter int NUM_TAGS = 32,  ///< a power of two
  parameter int RING_W   = 12,  ///< log2 of the ring's dwords
  localparam int TAG_W = $clog2(NUM_TAGS)
) (
  input  logic            clk,
  input  logic            rst,

  /// a tag is given to a chunk, which ends before take_end of the ring
  input  logic            take,
  input  logic [TAG_W:0]  take_tag,
  input  logic [RING_W:0] take_end,
  /// the chunk is its packet's last
  input  logic            take_last,
  /// nothing is asked for it: it has failed
  input  logic            take_drop,
  /// take_tag is passed over: it has no chunk, and ends at once
  input  logic            skip,

  /// pulse: a request leaves
  input  logic            sent,
  /// a request waits to leave
  input  logic            waiting,
  /// no request is outstanding or waits
  output logic            idle,

  input  logic            s_done_valid,
  input  read_done_t      s_done,
  /// that tag, if it is of this client and completions of it may still come
  output logic             m_lost_valid,
  output logic [TAG_W-1:0] m_lost,

  /// the oldest tag that has not retired
  output logic [TAG_W:0]  retire_tag,
  /// it does now, and had a chunk
  output logic            m_retire_valid,
  output logic            m_retire_last,
  output logic            m_retire_err,
  output logic [RING_W:0] m_retire_end
);
  // ---- done, failed
  logic [NUM_TAGS-1:0] done_q, err_q;
  logic [7:0]          done_at;
  logic                done_here;
  assign done_at   = s_done.tag - 8'(TAG_BASE);
  assign done_here = s_done_valid && 9'(done_at) < 9'(NUM_TAGS);

  assign m_lost_valid = done_here && s_done.lost;
  assign m_lost       = done_at[TAG_W-1:0];

  logic begin_tag, end_tag;  // end_tag: at once
  assign begin_tag = take || skip;
  assign end_tag   = take_drop || skip;
  always_ff @(posedge clk) begin
    if (begin_tag) begin
      done_q[take_tag[TAG_W-1:0]] <= end_tag;
      err_q[take_tag[TAG_W-1:0]]  <= end_tag;
    end
    if (done_here) begin
      done_q[done_at[TAG_W-1:0]] <= 1'b1;
      err_q[done_at[TAG_W-1:0]]  <= s_done.err;
    end
  end

  // ---- outstanding
  logic [TAG_W:0] out_q, out_d;  // sent and not ended, not counting sent_q
  logic           sent_q;        // in the cycle before
  assign out_d = out_q + (TAG_W + 1)'(sent_q) - (TAG_W + 1)'(done_here);

  always_ff @(posedge clk) begin
    sent_q <= sent;
    out_q  <= out_d;
    idle   <= out_d == '0 && !waiting;
    if (rst) begin
      sent_q <= 1'b0;
      out_q  <= '0;
      idle   <= 1'b1;
    end
  end

  // ---- the oldest tag
  // What retirement needs to know of a chunk: whether there is one, whether its packet ends, and where it does.
  logic [RING_W+2:0] chunk_mem[NUM_TAGS];
  logic              skipped, over;
  always_ff @(posedge clk) if (begin_tag) chunk_mem[take_tag[TAG_W-1:0]] <= {skip, take_last, take_end};

  logic [TAG_W:0] tag_q;
  logic [7:0]     pcie_tag_q;  // TAG_BASE + tag_q
  logic           now;         // it ends in this cycle

  assign now            = s_done_valid && s_done.tag == pcie_tag_q;
  assign retire_tag     = tag_q;
  logic ended, given;                             // side by side, as both come late
  assign ended          = now || done_q[tag_q[TAG_W-1:0]];
  assign given          = tag_q != take_tag;
  assign over           = ended && given;
  assign m_retire_valid = ended && (given && !skipped);
  assign m_retire_err   = now ? s_done.err : err_q[tag_q[TAG_W-1:0]];
  assign {skipped, m_retire_last, m_retire_end} = chunk_mem[tag_q[TAG_W-1:0]];

  always_ff @(posedge clk) begin
    if (over) begin
      tag_q      <= tag_q + 1'b1;
      pcie_tag_q <= (&tag_q[TAG_W-1:0]) ? 8'(TAG_BASE) : pcie_tag_q + 1'b1;
    end
    if (rst) begin
      tag_q      <= '0;
      pcie_tag_q <= 8'(TAG_BASE);
    end
  end
endmodule
