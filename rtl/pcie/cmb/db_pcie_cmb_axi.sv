// SPDX-License-Identifier: Apache-2.0
// Rows to card memory (AXI4): those that are written, in order; those that two readers ask for, in turn. A row is a burst of
// one beat. One id: answers come in order.
//
// A region of which a write failed (BRESP) has not what was written, and nobody was told: posted writes have no answer. So
// it is broken until its window is set anew: every read of it is in error, and stale data is never taken for good.
// Latency: 2 cycles from s_wr to AW and W, 1 from s_row to AR, 0 from R to m_row. Throughput: a row a cycle, each way.
`include "db_axi_types.svh"
module db_pcie_cmb_axi
  import db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN      = 1,    ///< functions, 1..17
  parameter int DATA_W      = 256,  ///< bits of a row: 128, 256 or 512
  parameter int REGION_LOG2 = 16,   ///< log2 of the bytes of a function's region
  parameter int COUNT_W     = 8,    ///< bits of counts of written rows
  localparam int ADDR_W     = REGION_LOG2 + $clog2(NUM_FN),
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    set_valid,  ///< pulse: a function's window is set, or cleared
  input  logic [PLACE_W-1:0]      set_place,
  input  logic [NUM_FN-1:0]       clear,

  /// always taken, up to 8 after stall rose
  input  logic                    s_wr_valid,
  input  logic [ADDR_W-1:0]       s_wr_addr,
  input  logic [DATA_W-1:0]       s_wr_data,
  input  logic [DATA_W/8-1:0]     s_wr_be,
  output logic                    stall,
  output logic [COUNT_W-1:0]      count_in,   ///< rows that came to be written
  output logic [COUNT_W-1:0]      count_done, ///< and have been

  input  logic [1:0]              s_row_valid,
  output logic [1:0]              s_row_ready,
  input  logic [1:0][ADDR_W-1:0]  s_row_addr,
  output logic [1:0]              m_row_valid,
  output logic [DATA_W-1:0]       m_row_data,
  output logic                    m_row_err,

  output axi_read_req_t           m_axi_read_req,
  input  axi_read_rsp_t           m_axi_read_rsp,
  output axi_write_req_t          m_axi_write_req,
  input  axi_write_rsp_t          m_axi_write_rsp,
  output logic                    idle
);
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int UNDER    = 64;  // writes and reads under way at most
  localparam int UNDER_W  = $clog2(UNDER);
  localparam int INDEX_W  = NUM_FN > 1 ? $clog2(NUM_FN) : 1;
  typedef struct packed {
    logic [ADDR_W-1:ROW_LOG2] row;
    logic [DATA_W/8-1:0]      be;
    logic [DATA_W-1:0]        data;
  } wr_t;
  function automatic logic [INDEX_W-1:0] place_of(input logic [ADDR_W-1:0] addr);
    return NUM_FN > 1 ? addr[ADDR_W-1-:INDEX_W] : '0;
  endfunction

  // ---- writes
  wr_t                      wr, out_q;
  logic                     wr_valid, wr_take, aw_q, w_q, b_valid, wr_idle;
  logic [4:0]               wr_level;
  logic [UNDER_W:0]         writes_q;
  logic [INDEX_W-1:0]       b_place;
  db_fifo #(.WIDTH($bits(wr_t)), .DEPTH(16)) i_wr (
    .clk, .rst, .s_valid(s_wr_valid), .s_ready(), .s_data({s_wr_addr[ADDR_W-1:ROW_LOG2], s_wr_be, s_wr_data}),
    .m_valid(wr_valid), .m_ready(wr_take), .m_data(wr), .level(wr_level));
  db_fifo #(.WIDTH(INDEX_W), .DEPTH(UNDER)) i_b_places (
    .clk, .rst, .s_valid(wr_take), .s_ready(), .s_data(place_of({wr.row, ROW_LOG2'(0)})), .m_valid(), .m_ready(b_valid),
    .m_data(b_place), .level());
  assign stall   = wr_level >= 5'd8;
  assign wr_take = wr_valid && (!aw_q || m_axi_write_rsp.aw_ready) && (!w_q || m_axi_write_rsp.w_ready) &&
                   !writes_q[UNDER_W];
  assign b_valid = m_axi_write_rsp.b_valid;
  assign wr_idle = !wr_valid && writes_q == '0;
  always_comb begin
    m_axi_write_req          = '0;
    m_axi_write_req.aw_valid = aw_q;
    m_axi_write_req.aw.addr  = {out_q.row, ROW_LOG2'(0)};
    m_axi_write_req.w_valid  = w_q;
    m_axi_write_req.w.last   = 1'b1;
    m_axi_write_req.w.strb   = out_q.be;
    m_axi_write_req.w.data   = out_q.data;
    m_axi_write_req.b_ready  = 1'b1;
  end
  always_ff @(posedge clk) begin
    if (m_axi_write_rsp.aw_ready) aw_q <= 1'b0;
    if (m_axi_write_rsp.w_ready) w_q <= 1'b0;
    if (wr_take) begin
      out_q <= wr;
      aw_q  <= 1'b1;
      w_q   <= 1'b1;
    end
    if (wr_take != b_valid) writes_q <= wr_take ? writes_q + 1'b1 : writes_q - 1'b1;
    count_in   <= count_in + COUNT_W'(s_wr_valid);
    count_done <= count_done + COUNT_W'(b_valid);
    if (rst) begin
      aw_q       <= 1'b0;
      w_q        <= 1'b0;
      writes_q   <= '0;
      count_in   <= '0;
      count_done <= '0;
    end
  end

  // ---- regions of which a write has failed
  logic [2**INDEX_W-1:0] broken_q;
  always_ff @(posedge clk) begin
    if (set_valid) broken_q[NUM_FN > 1 ? set_place[INDEX_W-1:0] : 0] <= 1'b0;
    for (int i = 0; i < NUM_FN; i++) if (clear[i]) broken_q[i] <= 1'b0;
    if (b_valid && m_axi_write_rsp.b[1]) broken_q[b_place] <= 1'b1;
    if (rst) broken_q <= '0;
  end

  // ---- reads
  logic               ar_q, ar_take, turn_q, pick, order_room, reader;
  logic [ADDR_W-1:0]  addr_q;
  logic [INDEX_W-1:0] r_place;
  logic [UNDER_W:0]   order_level;
  assign pick        = s_row_valid == 2'b11 ? turn_q : s_row_valid[1];
  assign ar_take     = s_row_valid != '0 && (!ar_q || m_axi_read_rsp.ar_ready) && order_room;
  assign s_row_ready = {ar_take && pick, ar_take && !pick};
  db_fifo #(.WIDTH(1 + INDEX_W), .DEPTH(UNDER)) i_order (
    .clk, .rst, .s_valid(ar_take), .s_ready(order_room), .s_data({pick, place_of(s_row_addr[pick])}), .m_valid(),
    .m_ready(m_axi_read_rsp.r_valid), .m_data({reader, r_place}), .level(order_level));
  always_comb begin
    m_axi_read_req          = '0;
    m_axi_read_req.ar_valid = ar_q;
    m_axi_read_req.ar.addr  = addr_q;
    m_axi_read_req.r_ready  = 1'b1;
  end
  assign m_row_valid = {m_axi_read_rsp.r_valid && reader, m_axi_read_rsp.r_valid && !reader};
  assign m_row_data  = m_axi_read_rsp.r.data;
  assign m_row_err   = m_axi_read_rsp.r.resp[1] || broken_q[r_place];
  always_ff @(posedge clk) begin
    if (m_axi_read_rsp.ar_ready) ar_q <= 1'b0;
    if (ar_take) begin
      ar_q   <= 1'b1;
      addr_q <= s_row_addr[pick];
      turn_q <= !pick;
    end
    if (rst) ar_q <= 1'b0;
  end
  assign idle = wr_idle && order_level == '0 && !s_wr_valid;

  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_read_rsp.r.last, m_axi_read_rsp.r.resp[0], m_axi_write_rsp.b[0],
                       s_wr_addr[ROW_LOG2-1:0]};
endmodule
