// SPDX-License-Identifier: Apache-2.0
// Rows of the host to the W channel: the data of the write bursts, one after the other.
//
// A row that could not be read from the host is written with no strobe, and so are the bursts that begin when their command
// has been aborted: what the media has not got by then it never gets. With `fill` a burst is ended by such rows.
// Latency: row to W 1 cycle. Throughput: a row a cycle, also from burst to burst.
`include "db_axi_types.svh"
module db_ssd_write_data
  import db_mem_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits: 128, 256, 512
  localparam type axi_w_t = `DB_AXI_W_T(DATA_W)
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              fill,
  input  logic              s_item_valid,
  input  write_item_t       s_item,
  input  logic              s_aborted,      ///< the item's command has been
  input  logic              s_row_valid,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  output write_turn_t       turn,
  output logic              m_burst_valid,  ///< pulse: the burst's last row goes; its response is to be waited for
  input  logic              m_burst_ready,  ///< there is room for one more such
  output logic              m_w_valid,
  input  logic              m_w_ready,
  output axi_w_t            m_w
);
  logic       free, mine, take;
  logic [7:0] row_q;
  logic       void_burst, void_q;  // the burst began after its command had been aborted
  logic       last_row_q;  // known a row ahead, as no burst has one row only

  assign free = !m_w_valid || m_w_ready;
  assign mine = s_item_valid && s_item.write && free && m_burst_ready;
  assign take = mine && (s_row_valid || fill);

  assign void_burst = row_q == '0 ? s_aborted : void_q;
  assign m_burst_valid   = take && last_row_q;
  assign turn.row_ready  = mine && !fill;
  assign turn.item_done  = m_burst_valid;
  assign turn.packet_end = m_burst_valid && s_item.last && !fill;

  always_ff @(posedge clk) begin
    void_q <= void_burst;
    if (take) begin
      row_q      <= last_row_q ? '0 : row_q + 1'b1;
      last_row_q <= !last_row_q && row_q + 8'd1 == s_item.rows;
    end
    if (free) begin
      m_w_valid <= take;
      m_w       <= '{last: last_row_q, strb: {DATA_W/8{!(fill || s_row_info.err || void_burst)}}, data: s_row_data};
    end
    if (rst) begin
      row_q      <= '0;
      last_row_q <= 1'b0;
      m_w_valid  <= 1'b0;
    end
  end

endmodule
