// SPDX-License-Identifier: Apache-2.0
// Operator that reduces: CRC-32C (Castagnoli, RFC 3720) of all data of a command. The data pass unchanged.
//
// The stream waits when results are not taken; none is lost.
// Latency: data 1 cycle; result 3 cycles after the command's last row came in. Throughput: one row a cycle.
module db_csd_crc32c
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256,             ///< bits: 128, 256, 512
  parameter bit FORMAT_PRESERVING = 1'b1  ///< declares: one row out for each row in
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
  /// results, one a command
  output logic                     m_res_valid,
  input  logic                     m_res_ready,
  output result_t                  m_res         ///< bits 31:0
);
  if (DATA_W < 32 || !FORMAT_PRESERVING) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), FORMAT_PRESERVING 1", DATA_W);
  end
  localparam int RESULTS = 8;                    // results that wait

  row_ctx_t row;
  logic  room_q, take, skid_ready;
  assign row          = s_axis_tuser;
  assign s_axis_tready = skid_ready && room_q;
  assign take          = s_axis_tvalid && s_axis_tready && row.cmd.op == OP_CRC32C;
  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid && room_q), .s_ready(skid_ready), .s_data({s_axis_tuser, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );

  // ---- the CRC
  logic                 valid_q, last_q, done_q;
  logic [CSD_TAG_W-1:0] tag_q, done_tag_q;
  logic [31:0]          crc;
  db_crc32c #(.DATA_W(DATA_W)) i_crc (
    .clk, .s_valid(take), .s_first(row.cmd_first), .s_data(s_axis_tdata), .crc);
  always_ff @(posedge clk) begin
    valid_q    <= take && !rst;
    last_q     <= s_axis_tlast;
    tag_q      <= row.cmd.tag;
    done_q     <= valid_q && last_q && !rst;
    done_tag_q <= tag_q;
  end

  logic                     res_ready;
  logic [$clog2(RESULTS):0] level;
  logic [31:0]              found;
  db_fifo #(.WIDTH(CSD_TAG_W + 32), .DEPTH(RESULTS)) i_res (
    .clk, .rst, .level,
    .s_valid(done_q), .s_ready(res_ready), .s_data({done_tag_q, ~crc}),
    .m_valid(m_res_valid), .m_ready(m_res_ready), .m_data({m_res.tag, found})
  );
  assign m_res.digest = 256'(found);
  always_ff @(posedge clk) begin
    room_q <= 32'(level) < RESULTS - 4;  // up to three more are on their way
    if (rst) room_q <= 1'b1;
    assert (rst || !done_q || res_ready);
  end
endmodule
