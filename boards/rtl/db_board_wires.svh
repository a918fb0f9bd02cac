// SPDX-License-Identifier: Apache-2.0
// The nets of a board between the PCIe block, db_board_ssd and the memory: text for a module with DATA_W and ADDR_W.
  logic                user_clk, user_reset, link_up, memory_ready, memory_rst;
  logic [DATA_W-1:0]   s_axis_cq_tdata, m_axis_cc_tdata, m_axis_rq_tdata, s_axis_rc_tdata;
  logic [DATA_W/32-1:0] s_axis_cq_tkeep, m_axis_cc_tkeep, m_axis_rq_tkeep, s_axis_rc_tkeep;
  logic [db_pcie_pkg::cq_user_w(DATA_W)-1:0] s_axis_cq_tuser;
  logic [db_pcie_pkg::cc_user_w(DATA_W)-1:0] m_axis_cc_tuser;
  logic [db_pcie_pkg::rq_user_w(DATA_W)-1:0] m_axis_rq_tuser;
  logic [db_pcie_pkg::rc_user_w(DATA_W)-1:0] s_axis_rc_tuser;
  logic                s_axis_cq_tlast, s_axis_cq_tvalid, s_axis_cq_tready, m_axis_cc_tlast, m_axis_cc_tvalid,
                       m_axis_rq_tlast, m_axis_rq_tvalid, s_axis_rc_tlast, s_axis_rc_tvalid, s_axis_rc_tready;
  logic [3:0]          cc_tready, rq_tready;   // four copies
  logic [1:0]          pcie_cq_np_req, cfg_max_payload;
  logic [2:0]          cfg_max_read_req;
  logic [5:0]          pcie_rq_seq_num0, pcie_rq_seq_num1;
  logic                pcie_rq_seq_num_vld0, pcie_rq_seq_num_vld1, cfg_interrupt_sent;
  logic [15:0]         cfg_function_status;
  logic [3:0]          cfg_interrupt_msix_enable, cfg_interrupt_msix_mask, cfg_flr_in_process, cfg_flr_done,
                       cfg_interrupt_int, cfg_interrupt_pending;
  logic                m_axi_awid, m_axi_awvalid, m_axi_awready, m_axi_wlast, m_axi_wvalid, m_axi_wready, m_axi_bid,
                       m_axi_bvalid, m_axi_bready, m_axi_arid, m_axi_arvalid, m_axi_arready, m_axi_rid, m_axi_rlast,
                       m_axi_rvalid, m_axi_rready;
  logic [ADDR_W-1:0]   m_axi_awaddr, m_axi_araddr;
  logic [7:0]          m_axi_awlen, m_axi_arlen;
  logic [1:0]          m_axi_bresp, m_axi_rresp;
  logic [DATA_W-1:0]   m_axi_wdata, m_axi_rdata;
  logic [DATA_W/8-1:0] m_axi_wstrb;
