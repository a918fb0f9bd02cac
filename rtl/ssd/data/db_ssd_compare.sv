// SPDX-License-Identifier: Apache-2.0
// Compare: reads its data from the media, ahead of the host's, and sets both against each other.
//
// Rows are compared 16 bytes by 16 bytes. Where s_row_zero says so, zeros on the media are equal to anything: an
// operator has encrypted zeros of the host there, and deallocated blocks are zeros on the media.
// stop: nothing is asked of the media any more, and no row is compared.
// Latency: last row to m_done in the same cycle. Throughput: a row a cycle.
`include "db_axi_types.svh"
module db_ssd_compare
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W    = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W    = 40,     ///< bits of a media address
  parameter int BUF_BYTES = 8192,   ///< for data of the media: at least two pages of 4 KiB
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  stop,
  output logic                  quiet,        ///< nothing requested is missing from the media
  input  logic                  s_cmd_valid,  ///< a Compare will come as an item: read
  output logic                  s_cmd_ready,
  input  logic [ADDR_W-1:0]     s_cmd_addr,
  input  logic [31:0]           s_cmd_bytes,
  input  logic                  s_cmd_pages,  ///< blocks of 4 KiB: a burst each
  input  logic                  s_cmd_fua,
  output axi_read_req_t         m_axi_read_req,
  input  axi_read_rsp_t         m_axi_read_rsp,
  input  logic                  s_item_valid,
  input  write_item_t           s_item,
  input  logic                  s_row_valid,
  input  logic [DATA_W-1:0]     s_row_data,
  input  logic [DATA_W/128-1:0] s_row_zero,   ///< 16 bytes that zeros on the media are equal to, too
  input  status_t               row_status,   ///< of the packet whose row is on offer: could its data be had?
  output write_turn_t           turn,
  output logic                  m_done_valid, ///< pulse: over
  input  logic                  m_done_ready, ///< else no row is taken
  output status_t               m_done_status,
  output logic                  m_done_differs  ///< if m_done_status says nothing; late in the cycle
);
  logic                  media_valid, mine, take, differ_q, differ, err_q, err;
  logic [DATA_W-1:0]     media_data;
  row_info_t             media_info;
  logic [DATA_W/128-1:0] unequal;

  db_axi_read #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .ROWS(BUF_BYTES * 8 / DATA_W), .USER_W(1)) i_read (
    .clk, .rst, .stop, .quiet, .s_cmd_valid, .s_cmd_ready, .s_cmd_addr, .s_cmd_bytes, .s_cmd_pages, .s_cmd_fua,
    .s_cmd_user(1'b0), .m_axi_read_req, .m_axi_read_rsp, .m_row_valid(media_valid), .m_row_ready(take),
    .m_row_data(media_data), .m_row_info(media_info), .m_row_user());

  assign mine = s_item_valid && s_item.compare;
  assign take = mine && s_row_valid && media_valid && m_done_ready && !stop;

  assign m_done_valid    = take && media_info.last;
  assign turn.row_ready  = mine && media_valid && m_done_ready && !stop;
  assign turn.item_done  = m_done_valid;
  assign turn.packet_end = m_done_valid;

  for (genvar i = 0; i < DATA_W / 128; i++) begin : g_unequal
    assign unequal[i] = s_row_data[128*i +: 128] != media_data[128*i +: 128] &&
                        !(s_row_zero[i] && media_data[128*i +: 128] == '0);
  end
  assign differ        = differ_q || unequal != '0;
  assign err           = err_q || media_info.err;
  assign m_done_status  = (row_status != '0) ? row_status : err ? STATUS_READ_ERROR : '0;
  assign m_done_differs = differ;
  always_ff @(posedge clk) begin
    if (take) begin
      differ_q <= differ && !media_info.last;
      err_q    <= err && !media_info.last;
    end
    if (rst) begin
      differ_q <= 1'b0;
      err_q    <= 1'b0;
    end
  end

endmodule
