// SPDX-License-Identifier: Apache-2.0
// When a media command may start: at the head of the items, once every earlier write has its response (`drained`).
//
// db_ssd_media_cmd does it. Its end waits until its completion can be taken (m_done_ready). One that was aborted before
// its turn is passed over. Pieces of a command remember the first error; what comes behind it is not done.
// Latency: 1 cycle from start, and 1 to the end, beside those of db_ssd_media_cmd. Throughput: one at a time.
module db_ssd_media_order
  import db_mem_pkg::*, db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,     ///< bits of a media address
  parameter bit PIECES = 1'b0    ///< commands may come in pieces
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              stop,
  input  logic              drained,
  output logic              quiet,         ///< no media command is on offer or under way; an offer is not taken back
  input  logic              s_item_valid,
  input  write_item_t       s_item,
  input  exec_cmd_t         s_cmd,         ///< the command of the item
  input  logic              s_aborted,     ///< ... it has been aborted
  input  logic              s_row_valid,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  input  status_t           prp_status,    ///< of the walk of its PRPs, if it has data
  input  status_t           fua_status,    ///< of the Write that this is the flush of, else 0
  output write_turn_t       turn,
  output logic              m_media_valid,
  input  logic              m_media_ready,
  output media_cmd_t        m_media,
  input  logic              s_media_done,
  input  logic              s_media_err,
  output logic              m_done_valid,  ///< pulse: over
  input  logic              m_done_ready,
  output status_t           m_done_status
);
  logic    turn_comes, start, skip, skipped_q, run_q, done, end_q, out_q;
  status_t status_q;
  typedef struct packed {
    logic    any;
    status_t status;
  } failed_t;
  failed_t failed;             // pieces before this one

  // An aborted command is not begun. One with a list is: its rows must be taken, and mostly they are errors.
  assign turn_comes    = s_item_valid && s_item.media && drained && !run_q && !end_q && !stop;
  assign skip          = turn_comes && s_aborted && !s_cmd.desc.ranges;
  assign start         = turn_comes && !skip;
  assign m_done_valid  = end_q && m_done_ready;
  assign m_done_status = failed.any ? failed.status
                       : (s_cmd.desc.ranges && prp_status != '0) ? prp_status
                       : (fua_status != '0)                      ? fua_status
                       : skipped_q                               ? '0 : status_q;
  assign turn.item_done  = m_done_valid;
  assign turn.packet_end = m_done_valid && s_cmd.desc.ranges;
  assign quiet           = !m_media_valid && !out_q;

  db_ssd_media_cmd #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_media_cmd (
    .clk, .rst, .stop, .s_start(start), .s_cmd, .s_row_valid(s_row_valid && run_q), .s_row_ready(turn.row_ready),
    .s_row_data, .s_row_info, .m_media_valid, .m_media_ready, .m_media, .s_media_done, .s_media_err, .m_done(done),
    .m_status(status_q), .s_void(failed.any));

  // ---- known a cycle after the command
  if (PIECES) begin : g_pieces
    failed_t store, failed_before;
    assign store = '{any: m_done_status != '0, status: m_done_status};
    db_ram_sdp #(.WIDTH($bits(failed_t)), .DEPTH(2 ** PLACE_W)) i_failed (
      .clk, .we(m_done_valid && s_cmd.desc.ranges), .waddr(s_cmd.piece.place), .wdata(store), .re(1'b1),
      .raddr(s_cmd.piece.place), .rdata(failed_before));
    assign failed = s_cmd.piece.later ? failed_before : '0;
  end else begin : g_whole
    assign failed = '0;
  end

  always_ff @(posedge clk) begin
    if (turn_comes) skipped_q <= skip;
    if (start)      run_q <= 1'b1;
    else if (done)  run_q <= 1'b0;
    if (done || skip)      end_q <= 1'b1;
    else if (m_done_valid) end_q <= 1'b0;
    if (m_media_valid && m_media_ready) out_q <= 1'b1;
    else if (s_media_done)              out_q <= 1'b0;
    if (rst) begin
      run_q <= 1'b0;
      end_q <= 1'b0;
      out_q <= 1'b0;
    end
  end

endmodule
