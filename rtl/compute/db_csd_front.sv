// SPDX-License-Identifier: Apache-2.0
// From a command's context to each beat's: the block (LBA) it belongs to and its place in it.
//
// Why: counted once here, so that no operator counts.
// Latency: 1 cycle. Throughput: one beat a cycle, whatever the sequence of commands. All outputs are registers.
module db_csd_front
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256  // bits: 128, 256, 512
) (
  input  logic                       clk,
  input  logic                       rst,
  input  logic                       s_axis_tvalid,
  output logic                       s_axis_tready,
  input  logic [DATA_W-1:0]          s_axis_tdata,
  input  logic                       s_axis_tlast,   // last beat of the command
  input  logic [$bits(op_ctx_t)-1:0] s_axis_tuser,
  output logic                       m_axis_tvalid,
  input  logic                       m_axis_tready,
  output logic [DATA_W-1:0]          m_axis_tdata,
  output logic                       m_axis_tlast,
  output logic [$bits(beat_t)-1:0]   m_axis_tuser
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  localparam int ROW_LOG = $clog2(DATA_W / 8);

  op_ctx_t ctx;
  beat_t   beat;
  logic        first_q;      // the next beat is the first of a command
  logic [7:0]  beat_q;
  logic [63:0] lba_q;        // of the next beat, unless it is the first of a command
  logic [7:0]  last_beat;    // number of a block's last beat
  logic        take;

  assign ctx = s_axis_tuser;
  assign last_beat = 8'((9'd1 << (ctx.lbads - 5'(ROW_LOG))) - 9'd1);

  always_comb begin
    beat           = '0;
    beat.cmd       = ctx;
    beat.cmd.lba   = first_q ? ctx.lba : lba_q;
    beat.cmd_first = first_q;
    beat.beat      = first_q ? 8'd0 : beat_q;
    beat.lba_first = beat.beat == 8'd0;
    beat.lba_last  = beat.beat == last_beat;
  end

  assign take = s_axis_tvalid && s_axis_tready;
  always_ff @(posedge clk) begin
    if (take) begin
      first_q <= s_axis_tlast;
      beat_q  <= beat.lba_last ? 8'd0 : beat.beat + 8'd1;
      lba_q   <= beat.cmd.lba + 64'(beat.lba_last);
      assert (ctx.lbads >= 5'd9 && ctx.lbads <= 5'd12);
      assert (!s_axis_tlast || beat.lba_last || ctx.op == OP_PASS);  // commands are whole blocks, but for range lists
    end
    if (rst) first_q <= 1'b1;
  end

  db_skid #(.WIDTH($bits(beat_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid), .s_ready(s_axis_tready), .s_data({beat, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );
endmodule
