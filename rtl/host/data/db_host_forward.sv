// SPDX-License-Identifier: Apache-2.0
// What the drive writes to REGION_FORWARD leaves as a stream of rows, for whoever wants it beside block commands.
//
// db_pcie_root has no ready for its rows, so `stall` asks it in time to take nothing more: 64 places are left then.
// The FIFO is of block RAM, although few rows would do: in LUTs it would be the largest thing here that is hardly
// ever used.
// Latency: 3 cycles. Throughput: a row every cycle.
module db_host_forward
  import db_host_pkg::*;
#(
  /// bits of a row: 128, 256 or 512
  parameter int DATA_W = 128
) (
  input  logic                clk,
  input  logic                rst,
  /// all row writes of db_pcie_root; those of REGION_FORWARD are taken
  input  logic                s_wr_valid,
  input  logic [WIN_W-1:0]    s_wr_addr,
  input  logic [DATA_W-1:0]   s_wr_data,
  input  logic [DATA_W/8-1:0] s_wr_be,
  /// what db_pcie_root still holds has room; nothing more may come
  output logic                stall,
  output logic                m_fwd_valid,
  input  logic                m_fwd_ready,
  /// in the region
  output logic [REGION_W-1:0] m_fwd_addr,
  output logic [DATA_W-1:0]   m_fwd_data,
  output logic [DATA_W/8-1:0] m_fwd_be
);
  typedef struct packed {
    logic [REGION_W-1:0] addr;
    logic [DATA_W-1:0]   data;
    logic [DATA_W/8-1:0] be;
  } row_t;
  logic       valid, room;
  logic [7:0] level;
  row_t       row;

  assign valid = s_wr_valid && region_e'(s_wr_addr[WIN_W-1:REGION_W]) == REGION_FORWARD;
  assign stall = level[7:6] != '0;
  db_fifo #(.WIDTH($bits(row_t)), .DEPTH(128), .AROUND(1'b0)) i_rows (
    .clk, .rst, .s_valid(valid), .s_ready(room), .s_data({s_wr_addr[REGION_W-1:0], s_wr_data, s_wr_be}),
    .m_valid(m_fwd_valid), .m_ready(m_fwd_ready), .m_data(row), .level
  );
  assign m_fwd_addr = row.addr;
  assign m_fwd_data = row.data;
  assign m_fwd_be   = row.be;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && valid) assert (room);
`endif
endmodule
