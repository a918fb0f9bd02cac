// SPDX-License-Identifier: Apache-2.0
// Operator that reduces: how many bytes of a command's data have the value that the host chose (count.rdl); with the
// default it counts lines, as `wc -l`. The data pass unchanged.
//
// Latency: data 1 cycle; result 5 cycles after the command's last row came in. Throughput: one row a cycle. The stream
// waits while results are not taken; none is lost.
module db_csd_op_count
  import db_csd_pkg::*, db_csd_op_count_pkg::*;
#(
  parameter int         DATA_W = 256,  ///< bits: 128, 256, 512
  parameter bit         DIR    = 1'b1, ///< 1: to the media, 0: from the media
  parameter logic [3:0] CODE   = 4'd7, ///< what a namespace is bound to
  parameter bit         FORMAT_PRESERVING = 1'b1, ///< declares: one row out for each row in
  parameter int         LATENCY = 1    ///< declares: cycles from row in to row out
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic                     s_axis_tvalid,
  output logic                     s_axis_tready,
  input  logic [DATA_W-1:0]        s_axis_tdata,
  input  logic                     s_axis_tlast,
  input  row_ctx_t                 s_axis_tuser,
  output logic                     m_axis_tvalid,
  input  logic                     m_axis_tready,
  output logic [DATA_W-1:0]        m_axis_tdata,
  output logic                     m_axis_tlast,
  output row_ctx_t                 m_axis_tuser,
  output logic                     m_res_valid,   ///< one a command
  input  logic                     m_res_ready,
  output result_t                  m_res         ///< bits 31:0
);
  if (!FORMAT_PRESERVING || LATENCY != 1) begin : g_bad
    $error("%m: FORMAT_PRESERVING and LATENCY must be 1 (is %0d)", LATENCY);
  end
  localparam int BYTES   = DATA_W / 8;
  localparam int GROUPS  = BYTES / 8;
  localparam int RESULTS = 16;  // that wait

  row_ctx_t row;
  param_t   param;
  logic     room_q, take, skid_ready;
  assign row          = s_axis_tuser;
  assign param         = row.cmd.param;
  assign s_axis_tready = skid_ready && room_q;
  assign take          = s_axis_tvalid && s_axis_tready && row.cmd.op == CODE;
  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid && room_q), .s_ready(skid_ready), .s_data({s_axis_tuser, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );

  // ---- which bytes; how many of each eight; of the row; of the command
  typedef struct packed {
    logic                 valid, first, last;
    logic [CSD_TAG_W-1:0] tag;
  } stage_t;
  stage_t            stage_q[4];
  logic [BYTES-1:0]  equal_q;
  logic [3:0]        eight_q[GROUPS];
  logic [6:0]        ones, ones_q;
  logic [31:0]       total_q;
  always_comb begin
    ones = '0;
    for (int g = 0; g < GROUPS; g++) ones += 7'(eight_q[g]);
  end
  for (genvar g = 0; g < GROUPS; g++) begin : g_eight
    logic [3:0] eight;
    always_comb begin
      eight = '0;
      for (int i = 0; i < 8; i++) eight += 4'(equal_q[8*g + i]);
    end
    always_ff @(posedge clk) eight_q[g] <= eight;
  end
  always_ff @(posedge clk) begin
    for (int i = 0; i < BYTES; i++) equal_q[i] <= s_axis_tdata[8*i +: 8] == param.value;
    ones_q      <= ones;
    stage_q[0] <= '{valid: take, first: row.cmd_first, last: s_axis_tlast, tag: row.cmd.tag};
    for (int i = 1; i < 4; i++) stage_q[i] <= stage_q[i-1];
    if (stage_q[2].valid) total_q <= (stage_q[2].first ? 32'd0 : total_q) + 32'(ones_q);
    if (rst) for (int i = 0; i < 4; i++) stage_q[i].valid <= 1'b0;
  end

  logic                     res_ready;
  logic [$clog2(RESULTS):0] level;
  logic [31:0]              total;
  db_fifo #(.WIDTH(CSD_TAG_W + 32), .DEPTH(RESULTS)) i_res (
    .clk, .rst, .level,
    .s_valid(stage_q[3].valid && stage_q[3].last), .s_ready(res_ready), .s_data({stage_q[3].tag, total_q}),
    .m_valid(m_res_valid), .m_ready(m_res_ready), .m_data({m_res.tag, total})
  );
  assign m_res.digest = 256'(total);
  always_ff @(posedge clk) begin
    room_q <= 32'(level) < RESULTS - 6;  // up to five more are on their way
    if (rst) room_q <= 1'b1;
    assert (rst || !(stage_q[3].valid && stage_q[3].last) || res_ready);
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, DIR, row, param};
endmodule
