// SPDX-License-Identifier: Apache-2.0
// db_csd_results behind SHA-256 in both directions, with commands of one block: as many as there can be, each gone as
// soon as its rows have passed. In place of a host's command identifier each has its tag.
module csd_results_tb
  import db_nvme_pkg::*, db_ssd_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W    = 512,
  parameter int NUM_CMDS  = 64,
  parameter int SHA_CORES = 16
) (
  input  logic                 clk,
  input  logic                 rst,
  output logic [CSD_TAG_W-1:0] begun,      ///< commands, of which every other one is a Write
  output logic [CSD_TAG_W-1:0] results,
  output logic                 res_valid,
  output logic [CSD_TAG_W-1:0] res_tag,
  output logic [15:0]          res_cid,
  output logic                 reducing
);
  localparam int ROWS = 4096 / DATA_W;
  logic [15:0]                inside_q;
  logic                       go;
  logic [1:0]                 valid, ready, last, out, out_last, gone, sha_valid, sha_ready;
  logic [1:0][CSD_TAG_W-1:0]  tag_q;  // of the command whose rows go in
  logic [1:0][7:0]            row_q;
  result_t [1:0]              sha;
  result_t                    res;
  res_cmd_t                   whose, found;
  row_ctx_t [1:0]             user;
  assign go = 32'(inside_q) < NUM_CMDS && !rst;
  always_comb begin
    whose     = '0;
    whose.cid = begun;
    for (int d = 0; d < 2; d++) begin
      user[d]            = '0;
      user[d].cmd.op     = OP_SHA256;
      user[d].cmd.tag    = tag_q[d];
      user[d].cmd.dir    = d == 1;
      user[d].cmd_first  = row_q[d] == '0;
      last[d]            = 32'(row_q[d]) == ROWS - 1;
      valid[d]           = begun - tag_q[d] - 1'b1 < 16'h8000;  // it has begun
    end
  end
  assign gone = out & out_last;
  always_ff @(posedge clk) begin
    begun    <= begun + CSD_TAG_W'(go);
    inside_q <= inside_q + 16'(go) - 16'(gone[0]) - 16'(gone[1]);
    results  <= results + CSD_TAG_W'(res_valid);
    for (int d = 0; d < 2; d++) if (valid[d] && ready[d]) begin
      row_q[d] <= last[d] ? '0 : row_q[d] + 1'b1;
      if (last[d]) tag_q[d] <= tag_q[d] + CSD_TAG_W'(2);
    end
    if (rst) begin
      {begun, inside_q, results, row_q} <= '0;
      tag_q <= {CSD_TAG_W'(1), CSD_TAG_W'(0)};
    end
  end
  for (genvar d = 0; d < 2; d++) begin : g_direction
    db_csd_sha256 #(.DATA_W(DATA_W), .CORES(SHA_CORES)) i_sha (
      .clk, .rst, .s_axis_tvalid(valid[d]), .s_axis_tready(ready[d]), .s_axis_tdata(DATA_W'(tag_q[d])),
      .s_axis_tlast(last[d]), .s_axis_tuser(user[d]), .m_axis_tvalid(out[d]), .m_axis_tready(1'b1), .m_axis_tdata(),
      .m_axis_tlast(out_last[d]), .m_axis_tuser(), .m_res_valid(sha_valid[d]), .m_res_ready(sha_ready[d]),
      .m_res(sha[d]));
  end
  db_csd_results #(.N(2), .NUM_CMDS(NUM_CMDS), .SHA_CORES(SHA_CORES)) dut (
    .clk, .rst, .s_begin(go), .s_begin_slot('0), .s_end_valid(1'b0), .s_end('0), .ask_tag('0), .ended(), .end_status(),
    .s_cmd_valid(go), .s_cmd_tag(begun), .s_cmd(whose), .s_res_valid(sha_valid), .s_res_ready(sha_ready), .s_res(sha),
    .m_res_valid(res_valid), .m_res_ready(1'b1), .m_res(res), .m_res_cmd(found), .reducing);
  assign res_tag = res.tag;
  assign res_cid = found.cid;
endmodule
