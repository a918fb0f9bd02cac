// SPDX-License-Identifier: Apache-2.0
// What near-storage commands came to, by slot, until they complete: bytes of the result, and whether it fits. An error of
// the media or the host's goes before what the operators say.
//
// Latency: a cycle from look to what was found there; of m_status and m_dw0 behind s_status none. Throughput: a result and a
// look a cycle.
module db_ssd_near_results
  import db_nvme_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_CMDS = 128   ///< command slots, 2..256
) (
  input  logic              clk,
  input  logic              s_valid,
  input  near_result_t      s_result,
  input  logic              look,
  input  logic [SLOT_W-1:0] look_slot,
  /// A cycle after look: that is a near-storage command, how it ended so far, and whether it has failed by that.
  input  logic              computes,
  input  status_t           s_status,
  input  logic              s_failed,
  output status_t           m_status,
  output logic              m_failed,       ///< m_status is not 0
  output logic [31:0]       m_dw0
);
  localparam int AW = $clog2(NUM_CMDS);
  localparam status_t NO_PROGRAM = status(1'b1, SCT_GENERIC, SC_INVALID_FIELD);
  localparam status_t NOT_LOADED = status(1'b0, SCT_SPECIFIC, SC_OPERATOR_NOT_LOADED);
  localparam status_t TOO_LARGE  = status(1'b0, SCT_SPECIFIC, SC_RESULT_TOO_LARGE);
  near_result_t                    found;
  logic [$bits(near_result_t)-1:0] rdata;
  logic                            counts;
  db_ram_sdp #(.WIDTH($bits(near_result_t)), .DEPTH(NUM_CMDS)) i_results (
    .clk, .we(s_valid), .waddr(s_result.slot[AW-1:0]), .wdata(s_result), .re(look), .raddr(look_slot[AW-1:0]), .rdata);
  assign found    = near_result_t'(rdata);
  assign counts   = computes && !s_failed;
  // What had failed keeps its status; that of all others was 0.
  assign m_status = s_status | (!counts ? '0 : found.none ? NO_PROGRAM : found.absent ? NOT_LOADED :
                                found.too_large ? TOO_LARGE : '0);
  assign m_failed = s_failed || (computes && (found.none || found.absent || found.too_large));
  assign m_dw0    = counts && !found.none && !found.absent ? 32'(found.bytes) : '0;
  logic unused_ok;
  assign unused_ok = &{1'b0, found.slot};
endmodule
