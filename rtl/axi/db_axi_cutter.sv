// SPDX-License-Identifier: Apache-2.0
// Cuts a stretch of memory into bursts: none crosses a multiple of BURST_BYTES (so none 4 KiB). Of a stretch of whole
// pages of 4 KiB each page is a burst, if s_pages asks for it: a block of 4 KiB is moved by one burst.
//
// It counts in 512 bytes, up to 256 MiB. The extent of a burst is worked out in the cycle before it is shown, from the
// stretch as it is taken or as the burst before it left it. So after m_next the next burst is known a cycle late: m_next
// comes every other cycle at most.
// Latency: stretch to first burst 1 cycle. Throughput: a burst every 2 cycles.
module db_axi_cutter #(
  parameter int ADDR_W      = 40,   ///< bits of an address
  parameter int BURST_BYTES = 1024  ///< power of two, 512..4096
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,
  output logic              s_ready,  ///< nothing is being cut
  input  logic [ADDR_W-1:0] s_addr,   ///< multiple of 512
  input  logic [31:0]       s_bytes,  ///< multiple of 512, 512 to 2^28
  input  logic              s_pages,  ///< address and bytes are multiples of 4096: a burst a page
  output logic              m_valid,  ///< a burst is there; its extent not yet in the cycle after m_next
  input  logic              m_next,   ///< it has been used; only with m_valid, not in two cycles running
  output logic [ADDR_W-1:9] m_addr,   ///< in 512 bytes
  output logic [3:0]        m_blocks, ///< of 512 bytes, 1..8
  output logic              m_last    ///< of the stretch
);
  localparam int BURST   = BURST_BYTES / 512;
  localparam int LEFT_W  = 20;

  if (BURST < 1 || BURST > 8 || BURST != 2 ** $clog2(BURST)) begin : g_bad_burst
    $error("%m: BURST_BYTES must be a power of two, 512..4096");
  end

  logic              busy_q, last_q, last_d, pages_q, pages_d;
  logic [ADDR_W-1:9] addr_q;
  logic [LEFT_W-1:0] left_q, left_d;     // blocks of the stretch
  logic [3:0]        offset_d, to_edge, blocks_q;

  assign offset_d = 4'(busy_q ? addr_q[11:9] : s_addr[11:9]) & 4'(BURST - 1);
  assign left_d   = busy_q ? left_q : s_bytes[28:9];
  assign pages_d  = busy_q ? pages_q : s_pages;
  assign to_edge  = pages_d ? 4'd8 : 4'(BURST) - offset_d;
  assign last_d   = left_d <= LEFT_W'(to_edge);

  assign s_ready  = !busy_q;
  assign m_valid  = busy_q;
  assign m_addr   = addr_q;
  assign m_blocks = blocks_q;
  assign m_last   = last_q;

  always_ff @(posedge clk) begin
    last_q   <= last_d;
    blocks_q <= last_d ? left_d[3:0] : to_edge;
    if (m_next) begin
      addr_q <= addr_q + (ADDR_W - 9)'(blocks_q);
      left_q <= left_q - LEFT_W'(blocks_q);
      busy_q <= !last_q;
    end
    if (s_valid && !busy_q) begin
      busy_q  <= 1'b1;
      addr_q  <= s_addr[ADDR_W-1:9];
      left_q  <= s_bytes[28:9];
      pages_q <= s_pages;
    end
    if (rst) busy_q <= 1'b0;
  end

`ifndef SYNTHESIS
  logic next_q;
  always_ff @(posedge clk) begin
    next_q <= m_next && !rst;
    if (!rst && m_next) assert (m_valid && !next_q);
    if (!rst && s_valid && !busy_q) begin
      assert (s_addr[8:0] == '0 && s_bytes[8:0] == '0 && s_bytes != '0 && s_bytes <= 32'd1 << 28);
      assert (!s_pages || (s_addr[11:0] == '0 && s_bytes[11:0] == '0));
    end
  end
`endif
endmodule
