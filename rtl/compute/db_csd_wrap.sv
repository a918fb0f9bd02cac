// SPDX-License-Identifier: Apache-2.0
// Holds any core between two streams: a core of fixed latency that cannot stall, or one of any latency and interval.
//
// A row goes to the core, its context (tuser, tlast) into a FIFO beside it; the result meets the context again at
// the output. With FORMAT_PRESERVING the core gives one result a row, in order; no more than DEPTH rows are inside
// core and output FIFO together, so every result finds room and the core may ignore s_core_ready. Without, the core
// gives any number of results a command, s_core_last with the last of them, and must wait for s_core_ready; then
// the context is that of the command's first row.
// Latency: the core's + 1. Throughput: the core's, one row a cycle if DEPTH is at least its latency + 2.
module db_csd_wrap #(
  parameter int DATA_W = 256,             ///< bits of s_axis_tdata, at least 1
  parameter int OUT_W = DATA_W,           ///< bits of m_axis_tdata, at least 1
  parameter int USER_W = 8,               ///< bits of tuser, at least 1
  parameter int DEPTH = 32,               ///< rows inside; a power of two, at least 2
  parameter bit FORMAT_PRESERVING = 1'b1  ///< one row out for each row in
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_axis_tvalid,
  output logic              s_axis_tready,
  input  logic [DATA_W-1:0] s_axis_tdata,
  input  logic              s_axis_tlast,
  input  logic [USER_W-1:0] s_axis_tuser,
  /// to the core; data, last and user of a row that moves when valid and ready
  output logic              m_core_valid,
  input  logic              m_core_ready,   ///< tie to 1 if the core takes a row every cycle
  output logic [DATA_W-1:0] m_core_data,
  output logic              m_core_last,
  output logic [USER_W-1:0] m_core_user,
  /// from the core
  input  logic              s_core_valid,
  output logic              s_core_ready,
  input  logic [OUT_W-1:0]  s_core_data,
  input  logic              s_core_last,    ///< looked at only without FORMAT_PRESERVING
  output logic              m_axis_tvalid,
  input  logic              m_axis_tready,
  output logic [OUT_W-1:0]  m_axis_tdata,
  output logic              m_axis_tlast,
  output logic [USER_W-1:0] m_axis_tuser
);
  if (DEPTH < 2 || DEPTH != (1 << $clog2(DEPTH))) begin : g_bad
    $error("%m: DEPTH must be a power of two of at least 2 (is %0d)", DEPTH);
  end

  logic take, leave, room, ctx_push, ctx_pop, ctx_ready, ctx_valid;
  logic out_valid, out_last, ctx_last;

  assign take          = s_axis_tvalid && s_axis_tready;
  assign leave         = m_axis_tvalid && m_axis_tready;
  assign m_core_valid  = s_axis_tvalid && room;
  assign s_axis_tready = m_core_ready && room;
  assign m_core_data   = s_axis_tdata;
  assign m_core_last   = s_axis_tlast;
  assign m_core_user   = s_axis_tuser;
  assign m_axis_tvalid = out_valid && ctx_valid;

  if (FORMAT_PRESERVING) begin : g_row
    logic [$clog2(DEPTH):0] left_q;  // rows that may still come in
    logic                   room_q;
    assign room         = room_q;
    assign ctx_push     = take;
    assign ctx_pop      = leave;
    assign m_axis_tlast = ctx_last;
    always_ff @(posedge clk) begin
      if (take != leave) left_q <= take ? left_q - 1'b1 : left_q + 1'b1;
      room_q <= leave || left_q > ($bits(left_q))'(take);
      if (rst) begin
        left_q <= ($bits(left_q))'(DEPTH);
        room_q <= 1'b1;
      end
      assert (rst || !s_core_valid || s_core_ready);
      assert (rst || !take || ctx_ready);
    end
    logic unused;
    assign unused = out_last;
  end else begin : g_command
    logic first_q;
    assign room         = !first_q || ctx_ready;
    assign ctx_push     = take && first_q;
    assign ctx_pop      = leave && out_last;
    assign m_axis_tlast = out_last;
    always_ff @(posedge clk) begin
      if (take) first_q <= s_axis_tlast;
      if (rst) first_q <= 1'b1;
    end
  end

  db_fifo #(.WIDTH(USER_W + 1), .DEPTH(DEPTH)) i_ctx (
    .clk, .rst, .level(),
    .s_valid(ctx_push), .s_ready(ctx_ready), .s_data({s_axis_tlast, s_axis_tuser}),
    .m_valid(ctx_valid), .m_ready(ctx_pop), .m_data({ctx_last, m_axis_tuser})
  );
  db_fifo #(.WIDTH(OUT_W + 1), .DEPTH(DEPTH)) i_out (
    .clk, .rst, .level(),
    .s_valid(s_core_valid), .s_ready(s_core_ready), .s_data({s_core_last, s_core_data}),
    .m_valid(out_valid), .m_ready(leave), .m_data({out_last, m_axis_tdata})
  );
endmodule
