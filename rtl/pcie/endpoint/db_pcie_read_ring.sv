// SPDX-License-Identifier: Apache-2.0
// Ring memory of one read client: N banks, each a dword wide, written at a row of its own, read a row at a time.
//
// Why banks: completion data begins at any dword of the ring; db_pcie_rc rotates it so that lane k belongs to bank k,
//   and a beat then touches two neighbouring rows in one cycle.
// A row that is asked for while the output waits is put by, so that s_row_ready is a register. It is read later: it
// must not be written before s_row_ready is high again.
// Latency: 1 cycle from s_row to m_row; m_row_data is the memories' output, which holds still while nothing
// is read. Throughput: one row a cycle; write and read ports are independent.
module db_pcie_read_ring #(
  parameter int DATA_W  = 256,   ///< bits of a row: 128, 256 or 512
  parameter int RING_DW = 4096,  ///< dwords, a power of two, at least 2 rows
  parameter int META_W  = 8,     ///< bits that travel with a row
  localparam int N     = DATA_W / 32,
  localparam int ROWS  = RING_DW / N,
  localparam int ROW_W = $clog2(ROWS)
) (
  input  logic                      clk,
  input  logic                      rst,

  /// bank k writes at a row of its own
  input  logic [N-1:0]              s_ring_we,
  input  logic [N-1:0][ROW_W-1:0]   s_ring_row,
  input  logic [DATA_W-1:0]         s_ring_data,

  input  logic                      s_row_valid,
  output logic                      s_row_ready,
  input  logic [ROW_W-1:0]          s_row,
  input  logic [META_W-1:0]         s_row_meta,

  output logic                      m_row_valid,
  input  logic                      m_row_ready,
  output logic [DATA_W-1:0]         m_row_data,
  output logic [META_W-1:0]         m_row_meta
);
  logic              spare_valid_q, out_free, get_valid;
  logic [ROW_W-1:0]  spare_row_q, get_row;
  logic [META_W-1:0] spare_meta_q;

  assign s_row_ready = !spare_valid_q;
  assign out_free    = !m_row_valid || m_row_ready;
  assign get_valid   = spare_valid_q || s_row_valid;
  assign get_row     = spare_valid_q ? spare_row_q : s_row;

  for (genvar k = 0; k < N; k++) begin : g_bank
    db_ram_sdp #(.WIDTH(32), .DEPTH(ROWS), .APART(1'b1)) i_ram (
      .clk, .we(s_ring_we[k]), .waddr(s_ring_row[k]), .wdata(s_ring_data[k*32+:32]), .re(get_valid && out_free),
      .raddr(get_row), .rdata(m_row_data[k*32+:32])
    );
    // A row is asked for when all of it is there.
    assert property (@(posedge clk) disable iff (rst)
                     !(s_ring_we[k] && get_valid && out_free && s_ring_row[k] == get_row));
  end

  always_ff @(posedge clk) begin
    if (s_row_ready) begin
      spare_row_q  <= s_row;
      spare_meta_q <= s_row_meta;
    end
    spare_valid_q <= get_valid && !out_free;
    if (out_free) begin
      m_row_valid <= get_valid;
      m_row_meta  <= spare_valid_q ? spare_meta_q : s_row_meta;
    end
    if (rst) begin
      spare_valid_q <= 1'b0;
      m_row_valid   <= 1'b0;
    end
  end
endmodule
