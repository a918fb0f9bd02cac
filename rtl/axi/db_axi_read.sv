// SPDX-License-Identifier: Apache-2.0
// Reads stretches of the media over AXI4 and gives them out as one packet of rows each, in order.
//
// Bursts are requested as far ahead as the row buffer has room for a whole one, so the R channel is never held up and
// one reader cannot block the other. A burst stays inside an aligned stretch of BURST_BYTES, or is a page of 4 KiB.
// Latency: command to AR 1 cycle, R to output 1 (FAST) to 3. Throughput: a row a cycle; a burst every 2 cycles.
`include "db_axi_types.svh"
module db_axi_read
  import db_mem_pkg::*;
#(
  parameter int DATA_W      = 256,   ///< bits: 128, 256, 512
  parameter int ADDR_W      = 40,    ///< bits of a media address
  parameter int ROWS        = 512,   ///< row buffer: power of two, at least two pages of 4 KiB
  parameter int BURST_BYTES = 1024,  ///< power of two, 512..4096
  parameter int USER_W      = 8,     ///< bits that travel with a command
  /// rows reach the output a cycle after R, with a buffer of at most 32 KiB; 0: after 3, a LUT a bit less
  parameter bit FAST        = 1'b0,
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               stop,          ///< request no more
  output logic               quiet,         ///< nothing requested is missing, nothing more will be now
  input  logic               s_cmd_valid,
  output logic               s_cmd_ready,
  input  logic [ADDR_W-1:0]  s_cmd_addr,    ///< multiple of 512
  input  logic [31:0]        s_cmd_bytes,   ///< multiple of 512, 512 to 2^28
  input  logic               s_cmd_pages,   ///< whole pages of 4 KiB: a burst a page
  input  logic               s_cmd_fua,
  input  logic [USER_W-1:0]  s_cmd_user,
  output axi_read_req_t      m_axi_read_req,
  input  axi_read_rsp_t      m_axi_read_rsp,
  output logic               m_row_valid,
  input  logic               m_row_ready,
  output logic [DATA_W-1:0]  m_row_data,
  output row_info_t          m_row_info,    ///< last: of the command; err: this row alone could not be read
  output logic [USER_W-1:0]  m_row_user
);
  localparam int ROW_BYTES = DATA_W / 8;
  localparam int ROW_LOG2  = $clog2(ROW_BYTES);
  localparam int COUNT_W   = $clog2(ROWS) + 1;
  localparam int BURSTS    = 2 ** $clog2(ROWS * ROW_BYTES / 512);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256 or 512");
  end
  if (BURST_BYTES < 512 || BURST_BYTES > 4096 || ROWS * ROW_BYTES < 8192) begin : g_bad_burst
    $error("%m: BURST_BYTES must be 512..4096, ROWS hold 8 KiB");
  end
  if (FAST && BURSTS > 64) begin : g_bad_fast
    $error("%m: with FAST, ROWS must hold at most 32 KiB");  // i_meta is block RAM, which a row might overtake
  end

  logic                         busy, cut_ready, cut_last, known_q, offered_q, pages_q, fua_q, room, go, go_q,
                                go_last_q, pop;
  logic [1:0]                   room_q;     // for a burst of BURST_BYTES, for a page
  logic [ADDR_W-1:9]            cut_addr;
  logic [3:0]                   cut_blocks;
  logic [USER_W-1:0]            user_q;
  logic [COUNT_W-1:0]           burst_rows, go_rows_q, reserved_q, reserved;
  logic [COUNT_W-1:0]           missing_q;  // rows requested and not here
  logic                         meta_ready, meta_valid, meta_last, row_last;
  axi_read_rsp_t                rsp;

  assign rsp = m_axi_read_rsp;

  // ---- requests
  // A burst is known in the cycle after the one before it has left: bursts go every other cycle. Once offered, a burst
  // stays, also when stop comes. room_q: what was reserved a cycle ago leaves room for a whole burst; no burst was
  // requested in that cycle, as known_q says. The arbiter's ready is late, so the rows of a burst are added in the
  // cycle after it (go_rows_q).
  db_axi_cutter #(.ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES)) i_cutter (
    .clk, .rst, .s_valid(s_cmd_valid), .s_ready(cut_ready), .s_addr(s_cmd_addr), .s_bytes(s_cmd_bytes),
    .s_pages(s_cmd_pages), .m_valid(busy), .m_next(go), .m_addr(cut_addr), .m_blocks(cut_blocks), .m_last(cut_last));
  assign s_cmd_ready = cut_ready;
  assign burst_rows  = COUNT_W'(cut_blocks) << (9 - ROW_LOG2);
  assign m_axi_read_req.ar_valid = busy && known_q && (!stop || offered_q) && meta_ready && room;
  assign m_axi_read_req.ar.fua   = fua_q;
  assign m_axi_read_req.ar.addr  = {cut_addr, 9'd0};
  assign m_axi_read_req.ar.len   = 8'(burst_rows - 1'b1);
  assign go       = m_axi_read_req.ar_valid && rsp.ar_ready;
  assign pop      = m_row_valid && m_row_ready;
  assign reserved = reserved_q + go_rows_q;
  assign room     = room_q[pages_q];

  always_ff @(posedge clk) begin
    known_q   <= !go;
    room_q    <= {reserved <= COUNT_W'(ROWS - 4096 / ROW_BYTES), reserved <= COUNT_W'(ROWS - BURST_BYTES / ROW_BYTES)};
    offered_q <= m_axi_read_req.ar_valid && !rsp.ar_ready;
    if (s_cmd_valid && s_cmd_ready) begin
      user_q  <= s_cmd_user;
      pages_q <= s_cmd_pages;
      fua_q   <= s_cmd_fua;
    end
    go_q       <= go && !rst;
    go_last_q  <= cut_last;
    go_rows_q  <= go ? burst_rows : '0;
    reserved_q <= reserved - COUNT_W'(pop);
    missing_q  <= missing_q + go_rows_q - COUNT_W'(rsp.r_valid && m_axi_read_req.r_ready);
    if (rst) begin
      offered_q  <= 1'b0;
      go_rows_q  <= '0;
      reserved_q <= '0;
      missing_q  <= '0;
    end
  end

  // ---- rows
  // A burst's meaning waits until its rows leave. It goes in a cycle late, before the next burst and command.
  db_fifo #(.WIDTH(USER_W + 1), .DEPTH(BURSTS)) i_meta (
    .clk, .rst, .s_valid(go_q), .s_ready(meta_ready), .s_data({user_q, go_last_q}),
    .m_valid(meta_valid), .m_ready(pop && row_last), .m_data({m_row_user, meta_last}), .level());
  db_fifo #(.WIDTH(DATA_W + 2), .DEPTH(ROWS), .AROUND(FAST)) i_rows (
    .clk, .rst, .s_valid(rsp.r_valid), .s_ready(m_axi_read_req.r_ready),
    .s_data({rsp.r.data, rsp.r.resp[1], rsp.r.last}),
    .m_valid(m_row_valid), .m_ready(m_row_ready), .m_data({m_row_data, m_row_info.err, row_last}), .level());
  assign m_row_info.dw   = 5'(DATA_W / 32);
  assign m_row_info.last = row_last && meta_last;

  // All that was asked for has come.
  assign quiet = !(busy && (!stop || offered_q)) && !go_q && missing_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (m_row_valid) assert (meta_valid);
    if (rsp.r_valid) assert (m_axi_read_req.r_ready);
  end
`endif
endmodule
