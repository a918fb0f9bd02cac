// SPDX-License-Identifier: Apache-2.0
// The endpoint's side of PCIe: the four streams of the hard block (PG213) in front, and behind them what a controller
// speaks: register accesses, reads and writes of host memory. Wiring only; rtl/pcie/README.md has the picture.
//
// An adapter to another vendor's block is a module with these ports.
// Latency and throughput: of db_pcie_bar and db_pcie_dma.
`include "db_pcie_types.svh"
module db_pcie_endpoint
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN       = 1,    ///< functions, 1..17
  parameter int DATA_W       = 256,  ///< bits of a beat and of a row: 128, 256, 512
  parameter int NUM_CLIENTS  = 5,    ///< read clients, 1..8
  /// their shares of tags and memory (db_pcie_dma)
  parameter client_cfg_t [NUM_CLIENTS-1:0] CLIENTS =
      {NUM_CLIENTS{client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd10, chunk_bytes: 16'd512, has_user: 1'b1}}},
  parameter bit [NUM_CLIENTS-1:0] OWNED = '1,  ///< clients whose requests have owners
  parameter int READ_USER_W  = 48,   ///< bits of user data with each read packet
  parameter int WRITE_USER_W = 24,   ///< bits of user data with each written packet
  parameter int EPOCH_LOG2   = 17,   ///< how long tags rest whose completions may be late (db_pcie_read_clock)
  parameter bit PEERS        = 1'b0, ///< there is s_peer
  parameter int CMB_LOG2     = 0,    ///< log2 of the bytes of a function's region of card memory, 12..30; 0: none
  parameter bit CMB_TOP      = 1'b0, ///< ... which lies at the end of all addresses, too (db_pcie_cmb_window)
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic                                     clk,
  input  logic                                     rst,
  /// resets what the controller starts itself: all but register accesses. After stop, and quiet
  input  logic                                     ctrl_rst,
  input  logic [63:0]                              time_us,  ///< free running
  /// 0: 128 bytes ... 5: 4096
  input  logic [2:0]                               cfg_mps,
  input  logic [2:0]                               cfg_mrrs,
  /// go to rest: no read request is sent from the next cycle on, and when the last one has ended nothing at all
  input  logic                                     stop,
  /// not a bus master now: nothing new is sent, but for the read request on its way to RQ
  input  logic                                     hold,
  /// functions that send nothing: what is theirs and has not begun is dropped
  input  logic [NUM_FN-1:0]                        silent,
  /// after stop: nothing is on its way
  output logic                                     quiet,
  /// nothing waits inside, but for register accesses
  output logic                                     idle,
  /// pulse; fenced, from the cycle after it on: what had been sent or begun has come to its end (db_pcie_dma)
  input  logic                                     fence,
  output logic                                     fenced,
  /// pulse: a completion came that no request waits for; it was dropped
  output logic                                     late_completion,

  /// credits for requests that want an answer (db_pcie_bar)
  output logic                                     cq_np_req,
  input  logic                                     s_cq_valid,
  output logic                                     s_cq_ready,
  input  cq_t                                      s_cq,
  output logic                                     m_cc_valid,
  input  logic                                     m_cc_ready,
  output cc_t                                      m_cc,
  output logic                                     m_rq_valid,
  input  logic                                     m_rq_ready,
  output rq_t                                      m_rq,
  /// requests that no completion of ours can pass any more (db_pcie_rq_landed)
  input  rq_seq_t                                  s_rq_seq,
  input  logic                                     s_rc_valid,
  output logic                                     s_rc_ready,
  input  rc_t                                      s_rc,

  /// accesses of the host to BAR 0 (db_pcie_bar)
  output logic                                     m_reg_valid,
  input  logic                                     m_reg_ready,
  output reg_access_t                              m_reg,
  input  logic                                     m_reg_rvalid,
  input  logic [31:0]                              m_reg_rdata,

  /// reads, client 0 lowest (db_pcie_read); the user data is the packet's, taken with first
  input  logic      [NUM_CLIENTS-1:0]              s_read_valid,
  output logic      [NUM_CLIENTS-1:0]              s_read_ready,
  input  segment_t  [NUM_CLIENTS-1:0]              s_read,
  input  logic [NUM_CLIENTS-1:0][READ_USER_W-1:0]  s_read_user,
  /// whose request it is; of whose requests what has not been sent is dropped
  input  logic [NUM_CLIENTS-1:0][7:0]              s_read_owner,
  output logic [NUM_CLIENTS-1:0][7:0]              m_read_owner,
  input  logic      [NUM_CLIENTS-1:0]              s_read_void,
  output logic      [NUM_CLIENTS-1:0]              m_row_valid,
  input  logic      [NUM_CLIENTS-1:0]              m_row_ready,
  output logic [NUM_CLIENTS-1:0][DATA_W-1:0]       m_row_data,
  output row_info_t [NUM_CLIENTS-1:0]              m_row_info,
  output logic [NUM_CLIENTS-1:0][READ_USER_W-1:0]  m_row_user,

  /// data writer (db_pcie_write): where to, the rows, and a report for each packet
  input  logic                                     s_seg_valid,
  output logic                                     s_seg_ready,
  input  segment_t                                 s_seg,
  input  logic [WRITE_USER_W-1:0]                  s_seg_user,
  input  logic                                     s_row_valid,
  output logic                                     s_row_ready,
  input  logic [DATA_W-1:0]                        s_row_data,
  input  row_info_t                                s_row_info,
  /// user data of the TLPs that come next; of whose TLPs what has not begun is dropped
  output logic [1:0][WRITE_USER_W-1:0]             m_write_user,
  input  logic [1:0]                               s_write_void,
  output logic                                     m_done_valid,
  input  logic                                     m_done_ready,
  output logic [WRITE_USER_W-1:0]                  m_done_user,
  output logic                                     m_done_err,

  /// short writes (db_pcie_post)
  input  logic                                     s_post_valid,
  output logic                                     s_post_ready,
  input  post_t                                    s_post,

  /// packets for RQ of db_pcie_peers; none while peer_stop
  input  logic                                     peer_stop,
  input  logic                                     s_peer_valid,
  output logic                                     s_peer_ready,
  input  rq_t                                      s_peer,

  /// card memory (db_pcie_cmb): windows, requests, completions, a pulse for each write that goes to the link
  input  logic                                     cmb_set_valid,
  input  logic [PLACE_W-1:0]                       cmb_set_place,
  input  cmb_window_t                              cmb_set,
  input  logic [NUM_FN-1:0]                        cmb_clear,
  output logic [NUM_FN-1:0]                        cmb_base_invalid,
  output logic                                     cmb_link_write,
  output logic                                     m_cmb_valid,
  input  logic                                     m_cmb_ready,
  output cq_t                                      m_cmb,
  input  logic                                     s_cmb_valid,
  output logic                                     s_cmb_ready,
  input  cc_t                                      s_cmb
);
  db_pcie_bar #(.DATA_W(DATA_W)) i_bar (
    .clk, .rst, .cq_np_req, .s_cq_valid, .s_cq_ready, .s_cq, .m_cc_valid, .m_cc_ready, .m_cc, .m_reg_valid,
    .m_reg_ready, .m_reg, .m_reg_rvalid, .m_reg_rdata
  );
  db_pcie_dma #(
    .NUM_FN(NUM_FN), .DATA_W(DATA_W), .NUM_CLIENTS(NUM_CLIENTS), .CLIENTS(CLIENTS), .OWNED(OWNED),
    .READ_USER_W(READ_USER_W),
    .WRITE_USER_W(WRITE_USER_W), .EPOCH_LOG2(EPOCH_LOG2), .PEERS(PEERS), .CMB_LOG2(CMB_LOG2), .CMB_TOP(CMB_TOP)
  ) i_dma (
    .clk, .rst(ctrl_rst), .link_rst(rst), .time_us, .late_completion, .cfg_mps, .cfg_mrrs, .stop, .hold, .silent,
    .quiet, .idle,
    .m_rq_valid, .m_rq_ready, .m_rq, .s_rq_seq, .s_rc_valid, .s_rc_ready, .s_rc, .s_read_valid,
    .s_read_ready, .s_read, .s_read_user, .s_read_owner, .m_read_owner, .s_read_void, .m_row_valid, .m_row_ready,
    .m_row_data, .m_row_info, .m_row_user,
    .s_seg_valid, .s_seg_ready, .s_seg, .s_seg_user, .s_row_valid, .s_row_ready, .s_row_data, .s_row_info,
    .m_done_valid, .m_done_ready, .m_done_user, .m_done_err, .s_post_valid, .s_post_ready, .s_post,
    .m_write_user, .s_write_void, .fence, .fenced, .peer_stop, .s_peer_valid, .s_peer_ready, .s_peer,
    .cmb_set_valid, .cmb_set_place, .cmb_set, .cmb_clear, .cmb_base_invalid, .cmb_link_write, .m_cmb_valid,
    .m_cmb_ready, .m_cmb, .s_cmb_valid, .s_cmb_ready, .s_cmb
  );
endmodule
