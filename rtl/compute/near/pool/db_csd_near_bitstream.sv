// SPDX-License-Identifier: Apache-2.0
// Reads a bitstream from card memory: rows one behind another, and the CRC-32C of all of them.
//
// Why so: the memory is others' too, and takes its time; so only reads for which there is room are under way.
// Latency: a read to its row the memory's and 2 cycles. Throughput: ROWS rows in the memory's latency, at most one a cycle.
`include "db_axi_types.svh"
module db_csd_near_bitstream #(
  parameter int DATA_W  = 256,  ///< bits: 128, 256, 512
  parameter int ADDR_W  = 40,   ///< bits of an address of card memory
  parameter int BYTES_W = 25,   ///< bits of a number of bytes
  parameter int ROWS    = 32,   ///< that are under way at most: a power of two
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               s_begin,      ///< pulse: from `s_addr` on; only while no row is left
  input  logic [ADDR_W-1:0]  s_addr,       ///< a multiple of 64
  input  logic               s_more,       ///< pulse: so many bytes, or so many more; not in the cycle of s_begin
  input  logic [BYTES_W-1:0] s_bytes,      ///< a multiple of 64
  output axi_read_req_t      m_axi_read_req,
  input  axi_read_rsp_t      m_axi_read_rsp,
  output logic               m_valid,
  input  logic               m_ready,
  output logic [DATA_W-1:0]  m_data,
  output logic               m_err,        ///< it could not be read
  output logic               none          ///< no row is left
);
  localparam int ROW_BYTES = DATA_W / 8;
  localparam int ROW_LOG   = $clog2(ROW_BYTES);
  localparam int ROWS_W    = BYTES_W - ROW_LOG;

  logic [ADDR_W-1:0]     addr_q;
  logic [ROWS_W-1:0]     to_ask_q, left_q;
  logic [$clog2(ROWS):0] under_q;
  logic                  ask, go, out, room;
  assign ask  = to_ask_q != '0 && !under_q[$clog2(ROWS)];
  assign go   = ask && m_axi_read_rsp.ar_ready;
  assign out  = m_valid && m_ready;
  assign none = left_q == '0;
  assign m_axi_read_req.ar_valid = ask;
  assign m_axi_read_req.ar       = '{fua: 1'b0, addr: addr_q, len: '0};
  assign m_axi_read_req.r_ready  = room;
  always_ff @(posedge clk) begin
    if (go) addr_q <= addr_q + ADDR_W'(ROW_BYTES);
    if (s_begin) addr_q <= s_addr;
    to_ask_q <= to_ask_q - ROWS_W'(go) + (s_more ? s_bytes[BYTES_W-1:ROW_LOG] : '0);
    left_q   <= left_q - ROWS_W'(out) + (s_more ? s_bytes[BYTES_W-1:ROW_LOG] : '0);
    under_q  <= under_q + ($clog2(ROWS) + 1)'(go) - ($clog2(ROWS) + 1)'(out);
    if (rst) begin
      to_ask_q <= '0;
      left_q   <= '0;
      under_q  <= '0;
    end
  end
  db_fifo #(.WIDTH(DATA_W + 1), .DEPTH(ROWS)) i_rows (
    .clk, .rst, .s_valid(m_axi_read_rsp.r_valid), .s_ready(room),
    .s_data({m_axi_read_rsp.r.resp[1], m_axi_read_rsp.r.data}), .m_valid, .m_ready, .m_data({m_err, m_data}),
    .level());

  logic unused_ok;
  assign unused_ok = &{1'b0, m_axi_read_rsp.r.last, m_axi_read_rsp.r.resp[0], s_bytes[ROW_LOG-1:0]};
endmodule
