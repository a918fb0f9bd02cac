// SPDX-License-Identifier: Apache-2.0
// Cuts a stretch of memory into bursts: none crosses a multiple of BURST_BYTES (so none 4 KiB). Of a stretch of whole pages of
// 4 KiB each page is a burst, if s_pages asks for it: a block of 4 KiB is moved by one burst.
//
// The extent of a burst is worked out in the cycle before it is shown, from the stretch as it is taken or as the burst
// before it left it. So after m_next the next burst is known a cycle late: m_next comes every other cycle at most.
// Latency: stretch to first burst 1 cycle. Throughput: a burst every 2 cycles.
module db_axi_cutter #(
  parameter int ADDR_W      = 40,   ///< bits of an address
  parameter int BURST_BYTES = 1024  ///< power of two, 512..2048
) (
  input  logic                         clk,
  input  logic                         rst,
  input  logic                         s_valid,
  output logic                         s_ready,  ///< nothing is being cut
  input  logic [ADDR_W-1:0]            s_addr,
  input  logic [31:0]                  s_bytes,  ///< not 0
  input  logic                         s_pages,  ///< address and bytes are multiples of 4096: a burst a page
  output logic                         m_valid,  ///< a burst is there; its extent not yet in the cycle after m_next
  input  logic                         m_next,   ///< it has been used; only with m_valid, not in two cycles running
  output logic [ADDR_W-1:0]            m_addr,
  output logic [12:0]                  m_bytes,
  output logic                         m_last    ///< of the stretch
);
  localparam int BURST_LOG2 = $clog2(BURST_BYTES);

  logic                  busy_q, last_q, last_d, pages_q, pages_d;
  logic [ADDR_W-1:0]     addr_q;
  logic [31:0]           left_q, left_d;     // bytes of the stretch
  logic [BURST_LOG2-1:0] offset_d;
  logic [12:0]           to_edge, bytes_q;

  assign offset_d = busy_q ? addr_q[BURST_LOG2-1:0] : s_addr[BURST_LOG2-1:0];
  assign left_d   = busy_q ? left_q : s_bytes;
  assign pages_d  = busy_q ? pages_q : s_pages;
  assign to_edge  = pages_d ? 13'd4096 : 13'(BURST_BYTES) - 13'(offset_d);
  assign last_d   = left_d <= 32'(to_edge);

  assign s_ready = !busy_q;
  assign m_valid = busy_q;
  assign m_addr  = addr_q;
  assign m_bytes = bytes_q;
  assign m_last  = last_q;

  always_ff @(posedge clk) begin
    last_q  <= last_d;
    bytes_q <= last_d ? left_d[12:0] : to_edge;
    if (m_next) begin
      addr_q <= addr_q + ADDR_W'(bytes_q);
      left_q <= left_q - 32'(bytes_q);
      busy_q <= !last_q;
    end
    if (s_valid && !busy_q) begin
      busy_q <= 1'b1;
      addr_q <= s_addr;
      left_q <= s_bytes;
      pages_q <= s_pages;
    end
    if (rst) busy_q <= 1'b0;
  end

`ifndef SYNTHESIS
  logic next_q;
  always_ff @(posedge clk) begin
    next_q <= m_next && !rst;
    if (!rst && m_next) assert (m_valid && !next_q);
  end
`endif
endmodule
