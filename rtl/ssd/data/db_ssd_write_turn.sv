// SPDX-License-Identifier: Apache-2.0
// Whose turn it is in the write engine: items in order, and the host's rows for whoever does the item at the head.
//
// All doers look at m_item and the rows; the one whose item it is answers in its write_turn_t, the others are silent.
// Beside the rows come the results of the PRP walks, one a packet, there before the packet's last row; one is taken in
// the cycle after the packet's end (the next packet's last row is some rows away).
// Latency: item in to m_item 1 cycle. Throughput: an item and a row a cycle.
module db_ssd_write_turn
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DOERS = 3
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    s_item_valid,
  output logic                    s_item_ready,
  input  write_item_t             s_item,
  output logic                    s_row_ready,
  input  row_info_t               s_row_info,
  input  logic                    s_prp_valid,
  output logic                    s_prp_ready,
  input  status_t                 s_prp_status,
  output logic                    m_item_valid,
  output write_item_t             m_item,
  input  write_turn_t [DOERS-1:0] turn,
  output logic                    item_done,   ///< pulse: the next item
  output status_t                 row_status   ///< of the packet whose row is on offer: could its data be had?
);
  logic packet_end;

  always_comb begin
    s_row_ready = 1'b0;
    item_done   = 1'b0;
    packet_end  = 1'b0;
    for (int i = 0; i < DOERS; i++) begin
      s_row_ready |= turn[i].row_ready;
      item_done   |= turn[i].item_done;
      packet_end  |= turn[i].packet_end;
    end
  end

  db_fifo #(.WIDTH($bits(write_item_t)), .DEPTH(4)) i_items (
    .clk, .rst, .s_valid(s_item_valid), .s_ready(s_item_ready), .s_data(s_item),
    .m_valid(m_item_valid), .m_ready(item_done), .m_data(m_item), .level());

  assign row_status = (s_prp_status != '0) ? s_prp_status
                    : s_row_info.err       ? STATUS_NOT_HERE : '0;
  always_ff @(posedge clk) s_prp_ready <= packet_end && !rst;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && packet_end) assert (s_prp_valid);
`endif
endmodule
