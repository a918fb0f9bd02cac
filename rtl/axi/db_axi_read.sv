// SPDX-License-Identifier: Apache-2.0
// Reads stretches of the media over AXI4 and gives them out as one stream packet each, in order.
//
// Bursts are requested as far ahead as the row buffer has room for a whole one, so the R channel is never held up and
// one reader cannot block the other. A burst stays inside an aligned stretch of BURST_BYTES.
// Latency: command to AR 1 cycle, R to output 1 (FAST) to 3. Throughput: a row a cycle; a burst every 2 cycles.
module db_axi_read #(
  parameter int DATA_W      = 256,   // bits: 128, 256, 512
  parameter int ADDR_W      = 40,    // bits of a media address
  parameter int ROWS        = 512,   // row buffer: power of two, at least two bursts
  parameter int BURST_BYTES = 1024,  // power of two, 512..4096, at most 256 rows
  parameter int USER_W      = 8,     // bits that travel with a command
  parameter bit FAST        = 1'b0   // rows reach the output a cycle after R; 0: after 3, a LUT a bit less
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               stop,          // request no more
  output logic               quiet,         // nothing requested is missing, nothing more will be now
  input  logic               s_cmd_valid,
  output logic               s_cmd_ready,
  input  logic [ADDR_W-1:0]  s_cmd_addr,    // multiple of 512
  input  logic [31:0]        s_cmd_bytes,   // multiple of 512, not 0
  input  logic [USER_W-1:0]  s_cmd_user,
  // AXI4 read channels
  output logic               m_ar_valid,
  input  logic               m_ar_ready,
  output logic [ADDR_W-1:0]  m_ar_addr,
  output logic [7:0]         m_ar_len,
  input  logic               s_r_valid,
  output logic               s_r_ready,
  input  logic [DATA_W-1:0]  s_r_data,
  input  logic [1:0]         s_r_resp,
  input  logic               s_r_last,
  // data
  output logic               m_axis_tvalid,
  input  logic               m_axis_tready,
  output logic [DATA_W-1:0]  m_axis_tdata,
  output logic               m_axis_tlast,  // of the command
  output logic               m_axis_terr,   // this row could not be read
  output logic [USER_W-1:0]  m_axis_tuser
);
  localparam int ROW_BYTES = DATA_W / 8;
  localparam int ROW_LG    = $clog2(ROW_BYTES);
  localparam int BURST_LG  = $clog2(BURST_BYTES);
  localparam int CW        = $clog2(ROWS) + 1;
  localparam int BURSTS    = 2 ** $clog2(ROWS * ROW_BYTES / 512);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256 or 512");
  end
  if (BURST_BYTES < 512 || BURST_BYTES > 4096 || BURST_BYTES / ROW_BYTES > 256 ||
      ROWS * ROW_BYTES < 2 * BURST_BYTES) begin : g_bad_burst
    $error("%m: BURST_BYTES must be 512..4096 and at most 256 rows, ROWS hold two of them");
  end

  logic               busy_q;
  logic [ADDR_W-1:0]  addr_q;
  logic [31:0]        left_q;
  logic [USER_W-1:0]  user_q;
  logic [BURST_LG-1:0] off_d;
  logic [31:0]        left_d;
  logic [BURST_LG:0]  to_edge, burst_q;     // bytes
  logic [CW-1:0]      burst_rows, go_rows_q, reserved_q, reserved;
  logic [CW-1:0]      missing_q;            // rows requested and not here
  logic               last_d, last_q, known_q, offered_q, room_q, go, go_q, go_last_q, pop;
  logic               meta_ready, meta_valid, meta_last;
  logic               row_rlast, row_err;

  // The next burst is worked out in the cycle after the one before it has left: bursts go every other cycle. Once
  // offered, a burst stays, also when stop comes. room_q: what was reserved a cycle ago leaves room for a whole burst;
  // that burst was not requested in that cycle, as known_q says. The arbiter's ready is late, so the rows of a burst
  // are added in the cycle after it (go_rows_q).
  assign off_d      = busy_q ? addr_q[BURST_LG-1:0] : s_cmd_addr[BURST_LG-1:0];
  assign left_d     = busy_q ? left_q : s_cmd_bytes;
  assign to_edge    = (BURST_LG + 1)'(BURST_BYTES) - {1'b0, off_d};
  assign last_d     = left_d <= 32'(to_edge);
  assign burst_rows = CW'(burst_q >> ROW_LG);
  assign m_ar_valid = busy_q && known_q && (!stop || offered_q) && meta_ready && room_q;
  assign m_ar_addr  = addr_q;
  assign m_ar_len   = 8'(burst_rows - 1'b1);
  assign go         = m_ar_valid && m_ar_ready;
  assign s_cmd_ready = !busy_q;
  assign pop        = m_axis_tvalid && m_axis_tready;
  assign reserved   = reserved_q + go_rows_q;

  always_ff @(posedge clk) begin
    last_q  <= last_d;
    burst_q <= last_d ? left_d[BURST_LG:0] : to_edge;
    known_q   <= !go;
    room_q    <= reserved <= CW'(ROWS - BURST_BYTES / ROW_BYTES);
    offered_q <= m_ar_valid && !m_ar_ready;
    if (go) begin
      addr_q     <= addr_q + ADDR_W'(burst_q);
      left_q     <= left_q - 32'(burst_q);
      busy_q     <= !last_q;
    end
    if (s_cmd_valid && s_cmd_ready) begin
      busy_q <= 1'b1;
      addr_q <= s_cmd_addr;
      left_q <= s_cmd_bytes;
      user_q <= s_cmd_user;
    end
    go_q       <= go && !rst;
    go_last_q  <= last_q;
    go_rows_q  <= go ? burst_rows : '0;
    reserved_q <= reserved - CW'(pop);
    missing_q  <= missing_q + go_rows_q - CW'(s_r_valid && s_r_ready);
    if (rst) begin
      offered_q  <= 1'b0;
      busy_q     <= 1'b0;
      go_rows_q  <= '0;
      reserved_q <= '0;
      missing_q  <= '0;
    end
  end

  // A burst's meaning waits until its rows leave. It goes in a cycle late, before the next burst and command.
  db_fifo #(.WIDTH(USER_W + 1), .DEPTH(BURSTS)) i_meta (
    .clk, .rst, .s_valid(go_q), .s_ready(meta_ready), .s_data({user_q, go_last_q}),
    .m_valid(meta_valid), .m_ready(pop && row_rlast), .m_data({m_axis_tuser, meta_last}), .level());
  db_fifo #(.WIDTH(DATA_W + 2), .DEPTH(ROWS), .AROUND(FAST)) i_rows (
    .clk, .rst, .s_valid(s_r_valid), .s_ready(s_r_ready), .s_data({s_r_data, s_r_resp[1], s_r_last}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tdata, row_err, row_rlast}),
    .level());
  assign m_axis_terr  = row_err;
  assign m_axis_tlast = row_rlast && meta_last;

  // All that was asked for has come.
  assign quiet = !(busy_q && (!stop || offered_q)) && !go_q && missing_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (m_axis_tvalid) assert (meta_valid);
    if (s_r_valid) assert (s_r_ready);
  end
`endif
endmodule
