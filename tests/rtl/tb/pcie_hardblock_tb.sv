// SPDX-License-Identifier: Apache-2.0
// db_pcie_endpoint (two read clients) in front of 16 KiB of registers a function, with the streams flat as cocotbext-pcie's model of
// the hard block wants them.
`include "db_pcie_types.svh"
module pcie_hardblock_tb
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
    parameter int DATA_W = 256,
    parameter int NUM_FN = 1,
    localparam int N      = DATA_W / 32,
    localparam int USER_W = 16,
    localparam int C      = 2
) (
    input logic clk,
    input logic rst,
    input logic [1:0] cfg_max_payload,
    input logic [2:0] cfg_max_read_req,
    input logic stop,
    input logic [NUM_FN-1:0] silent,
    output logic quiet,
    input  logic [5:0] pcie_rq_seq_num0,
    input  logic       pcie_rq_seq_num_vld0,
    input  logic [5:0] pcie_rq_seq_num1,
    input  logic       pcie_rq_seq_num_vld1,
    output logic [1:0] pcie_cq_np_req,
    output logic       idle,

    input  logic [           DATA_W-1:0] s_axis_cq_tdata,
    input  logic [                N-1:0] s_axis_cq_tkeep,
    input  logic                         s_axis_cq_tlast,
    input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
    input  logic                         s_axis_cq_tvalid,
    output logic                         s_axis_cq_tready,
    output logic [           DATA_W-1:0] m_axis_cc_tdata,
    output logic [                N-1:0] m_axis_cc_tkeep,
    output logic                         m_axis_cc_tlast,
    output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
    output logic                         m_axis_cc_tvalid,
    input  logic                         m_axis_cc_tready,
    output logic [           DATA_W-1:0] m_axis_rq_tdata,
    output logic [                N-1:0] m_axis_rq_tkeep,
    output logic                         m_axis_rq_tlast,
    output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
    output logic                         m_axis_rq_tvalid,
    input  logic                         m_axis_rq_tready,
    input  logic [           DATA_W-1:0] s_axis_rc_tdata,
    input  logic [                N-1:0] s_axis_rc_tkeep,
    input  logic                         s_axis_rc_tlast,
    input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
    input  logic                         s_axis_rc_tvalid,
    output logic                         s_axis_rc_tready,

    input  logic      [C-1:0]        s_read_valid,
    output logic      [C-1:0]        s_read_ready,
    input  segment_t  [C-1:0]        s_read,
    input  logic [C-1:0][USER_W-1:0] s_read_user,
    output logic      [C-1:0]        m_row_valid,
    input  logic      [C-1:0]        m_row_ready,
    output logic [C-1:0][DATA_W-1:0] m_row_data,
    output row_info_t [C-1:0]        m_row_info,
    output logic [C-1:0][USER_W-1:0] m_row_user,

    input  logic              s_seg_valid,
    output logic              s_seg_ready,
    input  segment_t          s_seg,
    input  logic [USER_W-1:0] s_seg_user,
    input  logic              s_row_valid,
    output logic              s_row_ready,
    input  logic [DATA_W-1:0] s_row_data,
    input  row_info_t         s_row_info,
    output logic              m_done_valid,
    input  logic              m_done_ready,
    output logic [USER_W-1:0] m_done_user,
    output logic              m_done_err,

    input  logic  s_post_valid,
    output logic  s_post_ready,
    input  post_t s_post
);
  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef `DB_PCIE_RC_T(DATA_W) rc_t;
  cq_t cq;
  cc_t cc;
  rq_t rq;
  rc_t rc;
  assign cq = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep, tdata: s_axis_cq_tdata};
  assign rc = '{tuser: s_axis_rc_tuser, tlast: s_axis_rc_tlast, tkeep: s_axis_rc_tkeep, tdata: s_axis_rc_tdata};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = cc;
  assign {m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata} = rq;

  assign pcie_cq_np_req[1] = 1'b0;

  logic        reg_valid, reg_ready, reg_rvalid;
  reg_access_t access;
  logic [31:0] reg_rdata;

  db_pcie_endpoint #(
      .NUM_FN      (NUM_FN),
      .DATA_W      (DATA_W),
      .NUM_CLIENTS (C),
      .CLIENTS     ({client_cfg_t'{tags_log2: 16'd4, ring_dw_log2: 16'd11, chunk_bytes: 16'd512, has_user: 1'b1},
                     client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd10, chunk_bytes: 16'd256, has_user: 1'b1}}),
      .READ_USER_W (USER_W),
      .WRITE_USER_W(USER_W)
  ) i_endpoint (
      .cfg_mps     (3'(cfg_max_payload)),
      .cfg_mrrs    (cfg_max_read_req),
      .hold        (1'b0),
      .peer_stop   (1'b0),
      .s_peer_valid(1'b0),
      .s_peer_ready(),
      .s_peer      ('0),
      .cmb_set_valid(1'b0),
      .cmb_set_place('0),
      .cmb_set     ('0),
      .cmb_clear   ('0),
      .cmb_base_invalid(),
      .cmb_link_write(),
      .m_cmb_valid (),
      .m_cmb_ready (1'b0),
      .m_cmb       (),
      .s_cmb_valid (1'b0),
      .s_cmb_ready (),
      .s_cmb       ('0),
      .silent      (silent),
      .fence       (1'b0),
      .fenced      (),
      .s_read_owner('0),
      .m_read_owner(),
      .s_read_void ('0),
      .m_write_user(),
      .s_write_void('0),
      .ctrl_rst    (rst),
      .time_us     ('0),
      .late_completion(),
      .s_rq_seq    ({pcie_rq_seq_num_vld1, pcie_rq_seq_num_vld0, pcie_rq_seq_num1, pcie_rq_seq_num0}),
      .cq_np_req   (pcie_cq_np_req[0]),
      .s_cq_valid  (s_axis_cq_tvalid),
      .s_cq_ready  (s_axis_cq_tready),
      .s_cq        (cq),
      .m_cc_valid  (m_axis_cc_tvalid),
      .m_cc_ready  (m_axis_cc_tready),
      .m_cc        (cc),
      .m_rq_valid  (m_axis_rq_tvalid),
      .m_rq_ready  (m_axis_rq_tready),
      .m_rq        (rq),
      .s_rc_valid  (s_axis_rc_tvalid),
      .s_rc_ready  (s_axis_rc_tready),
      .s_rc        (rc),
      .m_reg_valid (reg_valid),
      .m_reg_ready (reg_ready),
      .m_reg       (access),
      .m_reg_rvalid(reg_rvalid),
      .m_reg_rdata (reg_rdata),
      .*
  );

  // Registers that answer after some cycles, not always the same number.
  logic [31:0] regs[8*4096];
  logic [ 2:0] wait_q;
  logic [14:0] word;

  assign reg_ready = wait_q[0];
  assign word      = {access.fn[2:0], access.addr[13:2]};

  always_ff @(posedge clk) begin
    wait_q     <= rst ? '0 : wait_q + 3'd1;
    reg_rvalid <= reg_valid && reg_ready && !access.wr && !rst;
    reg_rdata  <= regs[word];
    if (reg_valid && reg_ready && access.wr) begin
      for (int i = 0; i < 4; i++) if (access.be[i]) regs[word][i*8+:8] <= access.wdata[i*8+:8];
    end
  end

endmodule
