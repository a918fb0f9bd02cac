// SPDX-License-Identifier: Apache-2.0
// Results of all reducers, one after the other, each with the command that it belongs to.
//
// A command with a result leaves what a host can know it by under its tag; the result comes with the tag, perhaps long
// after the command has ended. Latency: 1 cycle. Throughput: a result a cycle, in turn.
module db_csd_results
  import db_csd_pkg::*;
#(
  parameter int N        = 4,   ///< reducers, both directions together
  parameter int NUM_CMDS = 128  ///< commands inside
) (
  input  logic                 clk,
  input  logic                 rst,
  /// A command that has a result.
  input  logic                 s_cmd_valid,
  input  logic [CSD_TAG_W-1:0] s_cmd_tag,
  input  res_cmd_t             s_cmd,
  input  logic    [N-1:0]      s_res_valid,
  output logic    [N-1:0]      s_res_ready,
  input  result_t [N-1:0]      s_res,
  output logic                 m_res_valid,
  input  logic                 m_res_ready,
  output result_t              m_res,
  output res_cmd_t             m_res_cmd,
  output logic                 reducing      ///< a reducer may still be at work when its data are gone
);
  // Commands whose result may be under way: all that are inside, and what waits in the reducers behind them.
  localparam int DEPTH = NUM_CMDS > 64 ? 2 * NUM_CMDS : 128;
  localparam int AW    = $clog2(DEPTH);
  logic [N-1:0]         grant;
  logic [$clog2(N)-1:0] index;
  logic                 any, take, res_valid_q;
  result_t              res, res_q;
  logic [8:0]           todo_q;
  db_arb_rr #(.N(N)) i_arb (
    .clk, .rst, .req(s_res_valid), .ack(take), .gnt_valid(any), .gnt(grant), .gnt_idx(index));
  assign take        = any && (!res_valid_q || m_res_ready);
  assign s_res_ready = take ? grant : '0;
  assign res         = s_res[index];
  db_ram_sdp #(.WIDTH($bits(res_cmd_t)), .DEPTH(DEPTH)) i_whose (
    .clk, .we(s_cmd_valid), .waddr(s_cmd_tag[AW-1:0]), .wdata(s_cmd), .re(take), .raddr(res.tag[AW-1:0]),
    .rdata(m_res_cmd));
  always_ff @(posedge clk) begin
    if (m_res_ready) res_valid_q <= 1'b0;
    if (take) begin
      res_valid_q <= 1'b1;
      res_q       <= res;
    end
    todo_q <= todo_q + 9'(s_cmd_valid) - 9'(res_valid_q && m_res_ready);
    if (rst) begin
      res_valid_q <= 1'b0;
      todo_q      <= '0;
    end
  end
  assign m_res_valid = res_valid_q;
  assign m_res       = res_q;
  assign reducing    = todo_q != '0;
endmodule
