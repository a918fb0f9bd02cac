// SPDX-License-Identifier: Apache-2.0
// Between a controller and a memory that a reset of the controller must not disturb (PERST#, hot reset, link down): what
// is under way to the memory ends by the rules of AXI. A write burst goes to the memory when all of it is here, so it
// is written as a whole or not at all; half a burst that a reset leaves is dropped, answers to nobody are thrown away.
//
// With `rst` high nothing new comes in; `quiet` says that nothing of before is under way.
// Latency: an address of a read 1 cycle, R and B none; a write its rows and 2 cycles. Throughput: a row a cycle each way.
`include "db_board_axi.svh"
module db_board_gate #(
  parameter int DATA_W = 256,  ///< 128, 256, 512
  parameter int ADDR_W = 40,   ///< bits of an address, 20..64
  localparam type write_req_t = `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type write_rsp_t = `DB_BOARD_WRITE_RSP_T,
  localparam type read_req_t  = `DB_BOARD_READ_REQ_T(ADDR_W),
  localparam type read_rsp_t  = `DB_BOARD_READ_RSP_T(DATA_W)
) (
  input  logic       clk,
  input  logic       memory_rst,    ///< of the memory, too
  input  logic       rst,           ///< of the controller
  output logic       quiet,
  input  write_req_t s_write_req,   ///< bursts of 4 KiB at most
  output write_rsp_t s_write_rsp,
  input  read_req_t  s_read_req,
  output read_rsp_t  s_read_rsp,
  output write_req_t m_write_req,
  input  write_rsp_t m_write_rsp,
  output read_req_t  m_read_req,
  input  read_rsp_t  m_read_rsp
);
  localparam int ROWS   = 2 * 4096 / (DATA_W / 8);  // two of the longest bursts
  localparam int AW_W   = $bits(m_write_req.axi.aw) + 1;
  localparam int AR_W   = $bits(m_read_req.axi.ar) + 1;
  if ((DATA_W != 128 && DATA_W != 256 && DATA_W != 512) || ADDR_W < 20 || ADDR_W > 64) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), ADDR_W 20..64 (is %0d)", DATA_W, ADDR_W);
  end

  // ---- writes: whole bursts that are here without their address having gone, and without their rows having gone
  logic       aw_ready, aw_valid, w_ready, w_valid, aw_go, w_push, w_go, clear, clear_q;
  logic [5:0] whole_aw_q, whole_w_q;
  db_fifo #(.WIDTH(AW_W), .DEPTH(32)) i_aw (
    .clk, .rst(clear_q), .s_valid(s_write_req.axi.aw_valid && !rst), .s_ready(aw_ready),
    .s_data({s_write_req.aw_id, s_write_req.axi.aw}), .m_valid(aw_valid), .m_ready(aw_go),
    .m_data({m_write_req.aw_id, m_write_req.axi.aw}), .level());
  db_fifo #(.WIDTH($bits(m_write_req.axi.w)), .DEPTH(ROWS)) i_w (
    .clk, .rst(clear_q), .s_valid(w_push), .s_ready(w_ready), .s_data(s_write_req.axi.w), .m_valid(w_valid),
    .m_ready(w_go), .m_data(m_write_req.axi.w), .level());
  assign w_push = s_write_req.axi.w_valid && s_write_rsp.axi.w_ready;
  assign aw_go  = m_write_req.axi.aw_valid && m_write_rsp.axi.aw_ready;
  assign w_go   = m_write_req.axi.w_valid && m_write_rsp.axi.w_ready;
  assign clear  = rst && whole_aw_q == '0 && whole_w_q == '0;
  assign m_write_req.axi.aw_valid = aw_valid && whole_aw_q != '0;
  assign m_write_req.axi.w_valid  = w_valid && whole_w_q != '0;
  assign m_write_req.axi.b_ready  = s_write_req.axi.b_ready || rst;
  assign s_write_rsp = '{
    b_id: m_write_rsp.b_id,
    axi: '{aw_held: 1'b0, aw_ready: aw_ready && !rst,
           w_ready: w_ready && !rst && whole_w_q < 6'd32 && whole_aw_q < 6'd32,
           b_valid: m_write_rsp.axi.b_valid && !rst, b: m_write_rsp.axi.b}};
  always_ff @(posedge clk) begin
    whole_aw_q <= whole_aw_q + 6'(w_push && s_write_req.axi.w.last) - 6'(aw_go);
    whole_w_q  <= whole_w_q + 6'(w_push && s_write_req.axi.w.last) - 6'(w_go && m_write_req.axi.w.last);
    clear_q    <= clear || memory_rst;
    if (memory_rst) begin
      whole_aw_q <= '0;
      whole_w_q  <= '0;
    end
  end

  // ---- reads: an address that was offered goes
  logic ar_ready, ar_push;
  db_fifo #(.WIDTH(AR_W), .DEPTH(2)) i_ar (
    .clk, .rst(memory_rst), .s_valid(ar_push), .s_ready(ar_ready), .s_data({s_read_req.ar_id, s_read_req.axi.ar}),
    .m_valid(m_read_req.axi.ar_valid), .m_ready(m_read_rsp.axi.ar_ready),
    .m_data({m_read_req.ar_id, m_read_req.axi.ar}), .level());
  assign ar_push = s_read_req.axi.ar_valid && s_read_rsp.axi.ar_ready;
  assign m_read_req.axi.r_ready = s_read_req.axi.r_ready || rst;
  assign s_read_rsp = '{
    r_id: m_read_rsp.r_id,
    axi: '{ar_ready: ar_ready && !rst, r_valid: m_read_rsp.axi.r_valid && !rst, r: m_read_rsp.axi.r}};

  // ---- how many answers are to come
  logic [8:0] reads_q, writes_q;
  always_ff @(posedge clk) begin
    reads_q  <= reads_q + 9'(ar_push) -
                9'(m_read_rsp.axi.r_valid && m_read_req.axi.r_ready && m_read_rsp.axi.r.last);
    writes_q <= writes_q + 9'(aw_go) - 9'(m_write_rsp.axi.b_valid && m_write_req.axi.b_ready);
    quiet    <= clear && clear_q && reads_q == '0 && writes_q == '0;
    if (memory_rst) begin
      reads_q  <= '0;
      writes_q <= '0;
      quiet    <= 1'b0;
    end
  end
endmodule
