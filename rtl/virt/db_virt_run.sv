// SPDX-License-Identifier: Apache-2.0
// What a stretch has of a granule on one SSD of it: a run of blocks, striped or not, from its begin there to its end.
//
// Latency: 3 cycles of `go`, the last of which is `done`; all that is given stays from the cycle before until then, and what
// comes out is there from the next one on. Throughput: a run in that time, and a cycle between two.
module db_virt_run
  import db_virt_pkg::*;
#(
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
  localparam int G           = GRANULE_LOG2
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             go,
  output logic             done,
  input  extent_t          extent,
  input  logic [SSD_W-1:0] member,     ///< of the granule's SSDs
  input  logic [G:0]       first,      ///< bytes of the granule: where the stretch begins, and what is behind its end
  input  logic [G:0]       after,
  input  logic [3:0]       lba_shift,  ///< of the SSD, when the run is looked at
  output logic             some,       ///< the SSD has something of it
  output logic             misfit,     ///< ... that is no number of whole blocks, or one too large
  output logic [63:0]      lba,
  output logic [31:0]      blocks
);
  logic [1:0]  step_q;
  logic [G:0]  at_q, there, begin_q, end_q, bytes_q;
  logic [63:0] addr_q;                 // bytes of the SSD
  db_virt_before #(.GRANULE_LOG2(G)) i_before (.log2(extent.log2), .member, .at(at_q), .bytes(there));
  assign done = step_q == 2'd2;
  always_ff @(posedge clk) begin
    step_q <= rst || !go || done ? '0 : step_q + 2'd1;
    at_q   <= go && step_q == '0 ? after : first;
    if (step_q == '0) begin_q <= there;
    end_q <= there;
    if (done) begin
      bytes_q <= end_q - begin_q;
      addr_q  <= 64'({extent.place, G'(begin_q) | G'(G'(extent.part) << (6'(G) - 6'(extent.log2)))});
    end
  end
  assign some   = bytes_q != '0;
  assign misfit = !whole(lba_shift, addr_q[11:9], bytes_q[11:9]) || 64'(bytes_q) >> lba_shift > 64'hffff_ffff;
  assign lba    = addr_q >> lba_shift;
  assign blocks = 32'(64'(bytes_q) >> lba_shift);
endmodule
