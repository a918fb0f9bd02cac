// SPDX-License-Identifier: Apache-2.0
// Everything that touches the hard block, for tests: db_pcie_dma (two read clients, writer, poster) and db_pcie_bar in
// front of 16 KiB of registers. Client ports are flattened, client 0 in the low bits.
module pcie_hardblock_tb
  import db_pcie_pkg::*;
#(
    parameter int DATA_W = 256,
    localparam int N      = DATA_W / 32,
    localparam int DW_W   = $clog2(N) + 1,
    localparam int USER_W = 16,
    localparam int C      = 2
) (
    input logic clk,
    input logic rst,
    input logic [1:0] cfg_max_payload,
    input logic [2:0] cfg_max_read_req,
    input logic stop,
    output logic quiet,
    output logic [C-1:0] rd_idle,

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

    input  logic [       C-1:0] s_req_valid,
    output logic [       C-1:0] s_req_ready,
    input  logic [     C*8-1:0] s_req_fn,
    input  logic [    C*64-1:0] s_req_addr,
    input  logic [    C*13-1:0] s_req_len,
    input  logic [       C-1:0] s_req_first,
    input  logic [       C-1:0] s_req_last,
    input  logic [       C-1:0] s_req_drop,
    input  logic [C*USER_W-1:0] s_req_user,
    output logic [       C-1:0] m_axis_tvalid,
    input  logic [       C-1:0] m_axis_tready,
    output logic [C*DATA_W-1:0] m_axis_tdata,
    output logic [       C-1:0] m_axis_tlast,
    output logic [  C*DW_W-1:0] m_axis_tdw,
    output logic [C*USER_W-1:0] m_axis_tuser,
    output logic [       C-1:0] m_axis_terr,

    input  logic              s_seg_valid,
    output logic              s_seg_ready,
    input  logic [       7:0] s_seg_fn,
    input  logic [      63:0] s_seg_addr,
    input  logic [      12:0] s_seg_len,
    input  logic              s_seg_first,
    input  logic              s_seg_last,
    input  logic              s_seg_drop,
    input  logic [USER_W-1:0] s_seg_user,
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic [DATA_W-1:0] s_axis_tdata,
    input  logic              s_axis_tlast,
    input  logic              s_axis_terr,
    output logic              m_done_valid,
    input  logic              m_done_ready,
    output logic [USER_W-1:0] m_done_user,
    output logic              m_done_err,

    input  logic         s_post_valid,
    output logic         s_post_ready,
    input  logic [  7:0] s_post_fn,
    input  logic [ 63:0] s_post_addr,
    input  logic [  4:0] s_post_len_dw,
    input  logic [511:0] s_post_data
);

  logic idle;

  db_pcie_dma #(
      .DATA_W     (DATA_W),
      .NUM_CLIENTS(C),
      .USER_W     (USER_W),
      .WR_USER_W  (USER_W),
      .TAGS_LG    ({16'd4, 16'd3}),
      .RING_DW_LG ({16'd11, 16'd10}),
      .CHUNK      ({16'd512, 16'd256})
  ) u_dma (
      .cfg_mps (3'(cfg_max_payload)),
      .cfg_mrrs(cfg_max_read_req),
      .hold    (1'b0),
      .*
  );

  logic        reg_valid, reg_ready, reg_wr, reg_rvalid;
  logic [ 7:0] reg_fn;
  logic [15:0] reg_addr;
  logic [ 3:0] reg_be;
  logic [31:0] reg_wdata, reg_rdata;

  db_pcie_bar #(
      .DATA_W(DATA_W)
  ) u_bar (
      .*
  );

  // Registers that answer after some cycles, not always the same number.
  logic [31:0] regs[4096];
  logic [ 2:0] wait_q;

  assign reg_ready = wait_q[0];

  always_ff @(posedge clk) begin
    wait_q     <= rst ? '0 : wait_q + 3'd1;
    reg_rvalid <= reg_valid && reg_ready && !reg_wr && !rst;
    reg_rdata  <= regs[reg_addr[13:2]];
    if (reg_valid && reg_ready && reg_wr) begin
      for (int i = 0; i < 4; i++) if (reg_be[i]) regs[reg_addr[13:2]][i*8+:8] <= reg_wdata[i*8+:8];
    end
  end

endmodule
