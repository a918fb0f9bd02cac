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
  typedef `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W) write_req_t;
  typedef `DB_BOARD_WRITE_RSP_T write_rsp_t;
  typedef `DB_BOARD_READ_REQ_T(ADDR_W) read_req_t;
  typedef `DB_BOARD_READ_RSP_T(DATA_W) read_rsp_t;
  write_req_t          m_write_req;
  write_rsp_t          m_write_rsp;
  read_req_t           m_read_req;
  read_rsp_t           m_read_rsp;
