// SPDX-License-Identifier: Apache-2.0
// From a command's context to each row's: the block (LBA) it belongs to and its place in it.
//
// Why: counted once here, so that no operator counts.
// Latency: 1 cycle. Throughput: one row a cycle, whatever the sequence of commands. All outputs are registers.
module db_csd_front
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                       clk,
  input  logic                       rst,
  input  logic                       s_axis_tvalid,
  output logic                       s_axis_tready,
  input  logic [DATA_W-1:0]          s_axis_tdata,
  input  logic                       s_axis_tlast,   ///< last row of the command
  input  op_ctx_t                    s_axis_tuser,
  output logic                       m_axis_tvalid,
  input  logic                       m_axis_tready,
  output logic [DATA_W-1:0]          m_axis_tdata,
  output logic                       m_axis_tlast,
  output row_ctx_t                   m_axis_tuser
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  localparam int ROW_LOG = $clog2(DATA_W / 8);

  op_ctx_t ctx;
  row_ctx_t   row;
  logic        first_q;      // the next row is the first of a command
  logic [7:0]  row_q;
  logic [63:0] lba_q;        // of the next row, unless it is the first of a command
  logic [7:0]  last_row;    // number of a block's last row
  logic        take;

  assign ctx = s_axis_tuser;
  assign last_row = 8'((9'd1 << (ctx.lbads - 5'(ROW_LOG))) - 9'd1);

  always_comb begin
    row           = '0;
    row.cmd       = ctx;
    row.key_err   = ctx.refuse;
    row.cmd.lba   = first_q ? ctx.lba : lba_q;
    row.cmd_first = first_q;
    row.row      = first_q ? 8'd0 : row_q;
    row.lba_first = row.row == 8'd0;
    row.lba_last  = row.row == last_row;
  end

  assign take = s_axis_tvalid && s_axis_tready;
  always_ff @(posedge clk) begin
    if (take) begin
      first_q <= s_axis_tlast;
      row_q  <= row.lba_last ? 8'd0 : row.row + 8'd1;
      lba_q   <= row.cmd.lba + 64'(row.lba_last);
      assert (ctx.lbads >= 5'd9 && ctx.lbads <= 5'd12);
      assert (!s_axis_tlast || row.lba_last || ctx.op == OP_PASS);  // commands are whole blocks, but for range lists
    end
    if (rst) first_q <= 1'b1;
  end

  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid), .s_ready(s_axis_tready), .s_data({row, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );
endmodule
