// SPDX-License-Identifier: Apache-2.0
// N_DRIVES db_host_stub with their root ports side by side, as db_recorder has them (drive i at [i*W +: W]); the user's
// side is that of one of them, chosen by register 4. Not synthesizable.
module db_host_multi_stub #(
    parameter int N_DRIVES = 2,
    parameter int DATA_W = 128,
    localparam int N = DATA_W / 32,
    localparam int CQ_U = (DATA_W == 512) ? 183 : 88,
    localparam int CC_U = (DATA_W == 512) ? 81 : 33,
    localparam int RQ_U = (DATA_W == 512) ? 137 : 62,
    localparam int RC_U = (DATA_W == 512) ? 161 : 75
) (
    input  logic                        clk,
    input  logic                        rst,
    output logic [N_DRIVES*DATA_W-1:0]  m_axis_rq_tdata,
    output logic [N_DRIVES*N-1:0]       m_axis_rq_tkeep,
    output logic [N_DRIVES-1:0]         m_axis_rq_tlast,
    output logic [N_DRIVES*RQ_U-1:0]    m_axis_rq_tuser,
    output logic [N_DRIVES-1:0]         m_axis_rq_tvalid,
    input  logic [N_DRIVES-1:0]         m_axis_rq_tready,
    input  logic [N_DRIVES*DATA_W-1:0]  s_axis_rc_tdata,
    input  logic [N_DRIVES*N-1:0]       s_axis_rc_tkeep,
    input  logic [N_DRIVES-1:0]         s_axis_rc_tlast,
    input  logic [N_DRIVES*RC_U-1:0]    s_axis_rc_tuser,
    input  logic [N_DRIVES-1:0]         s_axis_rc_tvalid,
    output logic [N_DRIVES-1:0]         s_axis_rc_tready,
    input  logic [N_DRIVES*DATA_W-1:0]  s_axis_cq_tdata,
    input  logic [N_DRIVES*N-1:0]       s_axis_cq_tkeep,
    input  logic [N_DRIVES-1:0]         s_axis_cq_tlast,
    input  logic [N_DRIVES*CQ_U-1:0]    s_axis_cq_tuser,
    input  logic [N_DRIVES-1:0]         s_axis_cq_tvalid,
    output logic [N_DRIVES-1:0]         s_axis_cq_tready,
    output logic [2*N_DRIVES-1:0]       pcie_cq_np_req,
    output logic [N_DRIVES*DATA_W-1:0]  m_axis_cc_tdata,
    output logic [N_DRIVES*N-1:0]       m_axis_cc_tkeep,
    output logic [N_DRIVES-1:0]         m_axis_cc_tlast,
    output logic [N_DRIVES*CC_U-1:0]    m_axis_cc_tuser,
    output logic [N_DRIVES-1:0]         m_axis_cc_tvalid,
    input  logic [N_DRIVES-1:0]         m_axis_cc_tready,
    input  logic [N_DRIVES-1:0]         link_up,
    input  logic [N_DRIVES*3-1:0]       cfg_mps_cap,
    output logic [N_DRIVES*3-1:0]       set_mps,
    output logic [N_DRIVES*3-1:0]       set_mrrs,
    input  logic [N_DRIVES*64-1:0]      window_base,
    input  logic [N_DRIVES*64-1:0]      bar_base,
    input  logic [15:0]                 s_axil_awaddr,
    input  logic                        s_axil_awvalid,
    output logic                        s_axil_awready,
    input  logic [31:0]                 s_axil_wdata,
    input  logic [3:0]                  s_axil_wstrb,
    input  logic                        s_axil_wvalid,
    output logic                        s_axil_wready,
    output logic [1:0]                  s_axil_bresp,
    output logic                        s_axil_bvalid,
    input  logic                        s_axil_bready,
    input  logic [15:0]                 s_axil_araddr,
    input  logic                        s_axil_arvalid,
    output logic                        s_axil_arready,
    output logic [31:0]                 s_axil_rdata,
    output logic [1:0]                  s_axil_rresp,
    output logic                        s_axil_rvalid,
    input  logic                        s_axil_rready,
    input  logic [127:0]                s_axis_cmd_tdata,
    input  logic                        s_axis_cmd_tvalid,
    output logic                        s_axis_cmd_tready,
    input  logic [DATA_W-1:0]           s_axis_wdata_tdata,
    input  logic                        s_axis_wdata_tvalid,
    output logic                        s_axis_wdata_tready,
    output logic [DATA_W-1:0]           m_axis_rdata_tdata,
    output logic                        m_axis_rdata_tvalid,
    input  logic                        m_axis_rdata_tready,
    output logic                        m_axis_rdata_tlast,
    output logic                        m_axis_rdata_tuser,
    output logic [63:0]                 m_axis_status_tdata,
    output logic                        m_axis_status_tvalid,
    input  logic                        m_axis_status_tready,
    input  logic                        s_adm_valid,
    output logic                        s_adm_ready,
    input  logic [31:0]                 s_adm_data,
    output logic                        m_adm_valid,
    input  logic                        m_adm_ready,
    output logic [127:0]                m_adm_cqe,
    output logic                        m_adm_timeout,
    output logic                        m_fwd_valid,
    input  logic                        m_fwd_ready,
    output logic [22:0]                 m_fwd_addr,
    output logic [DATA_W-1:0]           m_fwd_data,
    output logic [DATA_W/8-1:0]         m_fwd_be,
    input  logic                        s_reg_valid,
    output logic                        s_reg_ready,
    input  logic                        s_reg_write,
    input  logic [23:0]                 s_reg_addr,
    input  logic [31:0]                 s_reg_wdata,
    output logic                        m_reg_valid,
    output logic [31:0]                 m_reg_rdata,
    output logic [1:0]                  m_reg_status,
    output logic                        up,
    output logic                        dead,
    output logic [63:0]                 blocks,
    output logic [3:0]                  lba_shift,
    output logic                        idle,
    output logic                        stat_doorbell,
    output logic                        stat_cqe
);
  localparam int SEL_W = (N_DRIVES > 1) ? $clog2(N_DRIVES) : 1;
  logic [SEL_W-1:0] sel_q;
  logic s_axil_awready_a[N_DRIVES];
  logic s_axil_wready_a[N_DRIVES];
  logic [1:0] s_axil_bresp_a[N_DRIVES];
  logic s_axil_bvalid_a[N_DRIVES];
  logic s_axil_arready_a[N_DRIVES];
  logic [31:0] s_axil_rdata_a[N_DRIVES];
  logic [1:0] s_axil_rresp_a[N_DRIVES];
  logic s_axil_rvalid_a[N_DRIVES];
  logic s_axis_cmd_tready_a[N_DRIVES];
  logic s_axis_wdata_tready_a[N_DRIVES];
  logic [DATA_W-1:0] m_axis_rdata_tdata_a[N_DRIVES];
  logic m_axis_rdata_tvalid_a[N_DRIVES];
  logic m_axis_rdata_tlast_a[N_DRIVES];
  logic m_axis_rdata_tuser_a[N_DRIVES];
  logic [63:0] m_axis_status_tdata_a[N_DRIVES];
  logic m_axis_status_tvalid_a[N_DRIVES];
  logic s_adm_ready_a[N_DRIVES];
  logic m_adm_valid_a[N_DRIVES];
  logic [127:0] m_adm_cqe_a[N_DRIVES];
  logic m_adm_timeout_a[N_DRIVES];
  logic m_fwd_valid_a[N_DRIVES];
  logic [22:0] m_fwd_addr_a[N_DRIVES];
  logic [DATA_W-1:0] m_fwd_data_a[N_DRIVES];
  logic [DATA_W/8-1:0] m_fwd_be_a[N_DRIVES];
  logic s_reg_ready_a[N_DRIVES];
  logic m_reg_valid_a[N_DRIVES];
  logic [31:0] m_reg_rdata_a[N_DRIVES];
  logic [1:0] m_reg_status_a[N_DRIVES];
  logic up_a[N_DRIVES];
  logic dead_a[N_DRIVES];
  logic [63:0] blocks_a[N_DRIVES];
  logic [3:0] lba_shift_a[N_DRIVES];
  logic idle_a[N_DRIVES];
  logic stat_doorbell_a[N_DRIVES];
  logic stat_cqe_a[N_DRIVES];

  // register 4: whose user's side is connected
  logic take;
  logic b_q;
  assign take = s_axil_awvalid && s_axil_wvalid && s_axil_awaddr == 16'd4 && !b_q;
  always_ff @(posedge clk) begin
    if (s_axil_bready) b_q <= 1'b0;
    if (take) begin
      sel_q <= s_axil_wdata[SEL_W-1:0];
      b_q   <= 1'b1;
    end
    if (rst) begin
      sel_q <= '0;
      b_q   <= 1'b0;
    end
  end

  assign s_axil_awready = take || s_axil_awready_a[sel_q];
  assign s_axil_wready = take || s_axil_wready_a[sel_q];
  assign s_axil_bresp = s_axil_bresp_a[sel_q];
  assign s_axil_bvalid = b_q || s_axil_bvalid_a[sel_q];
  assign s_axil_arready = s_axil_arready_a[sel_q];
  assign s_axil_rdata = s_axil_rdata_a[sel_q];
  assign s_axil_rresp = s_axil_rresp_a[sel_q];
  assign s_axil_rvalid = s_axil_rvalid_a[sel_q];
  assign s_axis_cmd_tready = s_axis_cmd_tready_a[sel_q];
  assign s_axis_wdata_tready = s_axis_wdata_tready_a[sel_q];
  assign m_axis_rdata_tdata = m_axis_rdata_tdata_a[sel_q];
  assign m_axis_rdata_tvalid = m_axis_rdata_tvalid_a[sel_q];
  assign m_axis_rdata_tlast = m_axis_rdata_tlast_a[sel_q];
  assign m_axis_rdata_tuser = m_axis_rdata_tuser_a[sel_q];
  assign m_axis_status_tdata = m_axis_status_tdata_a[sel_q];
  assign m_axis_status_tvalid = m_axis_status_tvalid_a[sel_q];
  assign s_adm_ready = s_adm_ready_a[sel_q];
  assign m_adm_valid = m_adm_valid_a[sel_q];
  assign m_adm_cqe = m_adm_cqe_a[sel_q];
  assign m_adm_timeout = m_adm_timeout_a[sel_q];
  assign m_fwd_valid = m_fwd_valid_a[sel_q];
  assign m_fwd_addr = m_fwd_addr_a[sel_q];
  assign m_fwd_data = m_fwd_data_a[sel_q];
  assign m_fwd_be = m_fwd_be_a[sel_q];
  assign s_reg_ready = s_reg_ready_a[sel_q];
  assign m_reg_valid = m_reg_valid_a[sel_q];
  assign m_reg_rdata = m_reg_rdata_a[sel_q];
  assign m_reg_status = m_reg_status_a[sel_q];
  assign up = up_a[sel_q];
  assign dead = dead_a[sel_q];
  assign blocks = blocks_a[sel_q];
  assign lba_shift = lba_shift_a[sel_q];
  always_comb begin
    idle = 1'b1;
    for (int i = 0; i < N_DRIVES; i++) idle &= idle_a[i];
  end
  assign stat_doorbell = stat_doorbell_a[sel_q];
  assign stat_cqe = stat_cqe_a[sel_q];

  for (genvar i = 0; i < N_DRIVES; i++) begin : g_host
    db_host_stub #(.DATA_W(DATA_W)) u_host (
        .clk, .rst, .m_axis_rq_tdata(m_axis_rq_tdata[i*DATA_W+:DATA_W]), .m_axis_rq_tkeep(m_axis_rq_tkeep[i*N+:N]),
        .m_axis_rq_tlast(m_axis_rq_tlast[i]), .m_axis_rq_tuser(m_axis_rq_tuser[i*RQ_U+:RQ_U]),
        .m_axis_rq_tvalid(m_axis_rq_tvalid[i]), .m_axis_rq_tready(m_axis_rq_tready[i]),
        .s_axis_rc_tdata(s_axis_rc_tdata[i*DATA_W+:DATA_W]), .s_axis_rc_tkeep(s_axis_rc_tkeep[i*N+:N]),
        .s_axis_rc_tlast(s_axis_rc_tlast[i]), .s_axis_rc_tuser(s_axis_rc_tuser[i*RC_U+:RC_U]),
        .s_axis_rc_tvalid(s_axis_rc_tvalid[i]), .s_axis_rc_tready(s_axis_rc_tready[i]),
        .s_axis_cq_tdata(s_axis_cq_tdata[i*DATA_W+:DATA_W]), .s_axis_cq_tkeep(s_axis_cq_tkeep[i*N+:N]),
        .s_axis_cq_tlast(s_axis_cq_tlast[i]), .s_axis_cq_tuser(s_axis_cq_tuser[i*CQ_U+:CQ_U]),
        .s_axis_cq_tvalid(s_axis_cq_tvalid[i]), .s_axis_cq_tready(s_axis_cq_tready[i]),
        .pcie_cq_np_req(pcie_cq_np_req[2*i+:2]),
        .m_axis_cc_tdata(m_axis_cc_tdata[i*DATA_W+:DATA_W]), .m_axis_cc_tkeep(m_axis_cc_tkeep[i*N+:N]),
        .m_axis_cc_tlast(m_axis_cc_tlast[i]), .m_axis_cc_tuser(m_axis_cc_tuser[i*CC_U+:CC_U]),
        .m_axis_cc_tvalid(m_axis_cc_tvalid[i]), .m_axis_cc_tready(m_axis_cc_tready[i]), .link_up(link_up[i]),
        .cfg_mps_cap(cfg_mps_cap[i*3+:3]), .set_mps(set_mps[i*3+:3]), .set_mrrs(set_mrrs[i*3+:3]),
        .window_base(window_base[i*64+:64]), .bar_base(bar_base[i*64+:64]), .s_axil_awaddr,
        .s_axil_awvalid(s_axil_awvalid && sel_q == SEL_W'(i) && s_axil_awaddr != 16'd4),
        .s_axil_awready(s_axil_awready_a[i]), .s_axil_wdata, .s_axil_wstrb,
        .s_axil_wvalid(s_axil_wvalid && sel_q == SEL_W'(i) && s_axil_awaddr != 16'd4),
        .s_axil_wready(s_axil_wready_a[i]), .s_axil_bresp(s_axil_bresp_a[i]), .s_axil_bvalid(s_axil_bvalid_a[i]),
        .s_axil_bready(s_axil_bready && sel_q == SEL_W'(i)), .s_axil_araddr,
        .s_axil_arvalid(s_axil_arvalid && sel_q == SEL_W'(i)), .s_axil_arready(s_axil_arready_a[i]),
        .s_axil_rdata(s_axil_rdata_a[i]), .s_axil_rresp(s_axil_rresp_a[i]), .s_axil_rvalid(s_axil_rvalid_a[i]),
        .s_axil_rready(s_axil_rready && sel_q == SEL_W'(i)), .s_axis_cmd_tdata,
        .s_axis_cmd_tvalid(s_axis_cmd_tvalid && sel_q == SEL_W'(i)), .s_axis_cmd_tready(s_axis_cmd_tready_a[i]),
        .s_axis_wdata_tdata, .s_axis_wdata_tvalid(s_axis_wdata_tvalid && sel_q == SEL_W'(i)),
        .s_axis_wdata_tready(s_axis_wdata_tready_a[i]), .m_axis_rdata_tdata(m_axis_rdata_tdata_a[i]),
        .m_axis_rdata_tvalid(m_axis_rdata_tvalid_a[i]),
        .m_axis_rdata_tready(m_axis_rdata_tready && sel_q == SEL_W'(i)),
        .m_axis_rdata_tlast(m_axis_rdata_tlast_a[i]), .m_axis_rdata_tuser(m_axis_rdata_tuser_a[i]),
        .m_axis_status_tdata(m_axis_status_tdata_a[i]), .m_axis_status_tvalid(m_axis_status_tvalid_a[i]),
        .m_axis_status_tready(m_axis_status_tready && sel_q == SEL_W'(i)),
        .s_adm_valid(s_adm_valid && sel_q == SEL_W'(i)), .s_adm_ready(s_adm_ready_a[i]), .s_adm_data,
        .m_adm_valid(m_adm_valid_a[i]), .m_adm_ready(m_adm_ready && sel_q == SEL_W'(i)), .m_adm_cqe(m_adm_cqe_a[i]),
        .m_adm_timeout(m_adm_timeout_a[i]), .m_fwd_valid(m_fwd_valid_a[i]),
        .m_fwd_ready(m_fwd_ready && sel_q == SEL_W'(i)), .m_fwd_addr(m_fwd_addr_a[i]), .m_fwd_data(m_fwd_data_a[i]),
        .m_fwd_be(m_fwd_be_a[i]), .s_reg_valid(s_reg_valid && sel_q == SEL_W'(i)), .s_reg_ready(s_reg_ready_a[i]),
        .s_reg_write, .s_reg_addr, .s_reg_wdata, .m_reg_valid(m_reg_valid_a[i]), .m_reg_rdata(m_reg_rdata_a[i]),
        .m_reg_status(m_reg_status_a[i]), .up(up_a[i]), .dead(dead_a[i]), .blocks(blocks_a[i]),
        .lba_shift(lba_shift_a[i]), .idle(idle_a[i]), .stat_doorbell(stat_doorbell_a[i]), .stat_cqe(stat_cqe_a[i])
    );
  end

endmodule
