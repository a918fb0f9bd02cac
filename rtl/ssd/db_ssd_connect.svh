// SPDX-License-Identifier: Apache-2.0
// Between the flat ports of db_ssd_ports.svh, db_ssd_stat_ports.svh and the structs of db_ssd_core: `include this in
// the body of a module that has them, and connect the core with .* (its taps and extension bus are the module's own).
// db_pcie_types.svh and db_axi_types.svh must have been included. No guard: it is text for several modules.
  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef `DB_PCIE_RC_T(DATA_W) rc_t;
  typedef `DB_AXI_READ_REQ_T(MEDIA_ADDR_W) axi_read_req_t;
  typedef `DB_AXI_READ_RSP_T(DATA_W) axi_read_rsp_t;
  typedef `DB_AXI_WRITE_REQ_T(MEDIA_ADDR_W, DATA_W) axi_write_req_t;
  typedef `DB_AXI_WRITE_RSP_T axi_write_rsp_t;

  // ---- PCIe
  logic      s_cq_valid, s_cq_ready, m_cc_valid, m_cc_ready, m_rq_valid, m_rq_ready, s_rc_valid, s_rc_ready;
  cq_t       s_cq;
  cc_t       m_cc;
  rq_t       m_rq;
  rq_seq_t   s_rq_seq;
  logic      cq_np_req;
  rc_t       s_rc;
  link_cfg_t link_cfg;
  logic      intx;
  logic [NUM_FN-1:0] flr_done;
  assign s_cq_valid       = s_axis_cq_tvalid;
  assign s_axis_cq_tready = s_cq_ready;
  assign s_cq             = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep,
                              tdata: s_axis_cq_tdata};
  assign m_axis_cc_tvalid = m_cc_valid;
  assign m_cc_ready       = m_axis_cc_tready;
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = m_cc;
  assign m_axis_rq_tvalid = m_rq_valid;
  assign m_rq_ready       = m_axis_rq_tready;
  assign {m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata} = m_rq;
  assign s_rq_seq         = '{valid: {pcie_rq_seq_num_vld1, pcie_rq_seq_num_vld0},
                              num: {pcie_rq_seq_num1, pcie_rq_seq_num0}};
  assign pcie_cq_np_req   = {1'b0, cq_np_req};
  assign s_rc_valid       = s_axis_rc_tvalid;
  assign s_axis_rc_tready = s_rc_ready;
  assign s_rc             = '{tuser: s_axis_rc_tuser, tlast: s_axis_rc_tlast, tkeep: s_axis_rc_tkeep,
                              tdata: s_axis_rc_tdata};
  assign link_cfg         = '{max_payload: cfg_max_payload, max_read_req: cfg_max_read_req,
                              intx_disable: cfg_intx_disable,
                              bus_master: MAX_FN'(cfg_bus_master), msix_enable: MAX_FN'(cfg_msix_enable),
                              msix_mask: MAX_FN'(cfg_msix_mask), flr: MAX_FN'(cfg_flr),
                              enable: MAX_FN'(cfg_fn_enable)};
  assign cfg_flr_done     = flr_done;
  assign cfg_intx         = intx;

  // ---- media
  axi_read_req_t  m_axi_read_req;
  axi_read_rsp_t  m_axi_read_rsp;
  axi_write_req_t m_axi_write_req;
  axi_write_rsp_t m_axi_write_rsp;
  media_cmd_t     m_media_cmd;
  assign m_axi_arvalid     = m_axi_read_req.ar_valid;
  assign m_axi_araddr      = m_axi_read_req.ar.addr;
  assign m_axi_arlen       = m_axi_read_req.ar.len;
  assign m_axi_aruser      = m_axi_read_req.ar.fua;
  assign m_axi_arsize      = 3'($clog2(DATA_W / 8));
  assign m_axi_arburst     = 2'b01;
  assign m_axi_rready      = m_axi_read_req.r_ready;
  assign m_axi_read_rsp    = '{ar_ready: m_axi_arready, r_valid: m_axi_rvalid,
                               r: '{last: m_axi_rlast, resp: m_axi_rresp, data: m_axi_rdata}};
  assign m_axi_awvalid     = m_axi_write_req.aw_valid;
  assign m_axi_awid        = 1'b0;
  assign m_axi_awaddr      = m_axi_write_req.aw.addr;
  assign m_axi_awlen       = m_axi_write_req.aw.len;
  assign m_axi_awsize      = 3'($clog2(DATA_W / 8));
  assign m_axi_awburst     = 2'b01;
  assign m_axi_wvalid      = m_axi_write_req.w_valid;
  assign m_axi_wdata       = m_axi_write_req.w.data;
  assign m_axi_wstrb       = m_axi_write_req.w.strb;
  assign m_axi_wlast       = m_axi_write_req.w.last;
  assign m_axi_bready      = m_axi_write_req.b_ready;
  assign m_axi_write_rsp   = '{aw_held: 1'b0, aw_ready: m_axi_awready, w_ready: m_axi_wready, b_valid: m_axi_bvalid,
                               b: m_axi_bresp};
  assign m_media_cmd_op    = m_media_cmd.op;
  assign m_media_cmd_addr  = m_media_cmd.addr[MEDIA_ADDR_W-1:0];
  assign m_media_cmd_bytes = m_media_cmd.bytes;

  // ---- card memory
  typedef `DB_AXI_READ_REQ_T(cmb_addr_w(CMB_LOG2, NUM_FN)) cmb_read_req_t;
  typedef `DB_AXI_WRITE_REQ_T(cmb_addr_w(CMB_LOG2, NUM_FN), DATA_W) cmb_write_req_t;
  cmb_read_req_t  m_cmb_read_req;
  axi_read_rsp_t  m_cmb_read_rsp;
  cmb_write_req_t m_cmb_write_req;
  axi_write_rsp_t m_cmb_write_rsp;
  assign m_cmb_arvalid   = m_cmb_read_req.ar_valid;
  assign m_cmb_araddr    = m_cmb_read_req.ar.addr;
  assign m_cmb_arlen     = m_cmb_read_req.ar.len;
  assign m_cmb_arsize    = 3'($clog2(DATA_W / 8));
  assign m_cmb_arburst   = 2'b01;
  assign m_cmb_rready    = m_cmb_read_req.r_ready;
  assign m_cmb_read_rsp  = '{ar_ready: m_cmb_arready, r_valid: m_cmb_rvalid,
                             r: '{last: m_cmb_rlast, resp: m_cmb_rresp, data: m_cmb_rdata}};
  assign m_cmb_awvalid   = m_cmb_write_req.aw_valid;
  assign m_cmb_awaddr    = m_cmb_write_req.aw.addr;
  assign m_cmb_awlen     = m_cmb_write_req.aw.len;
  assign m_cmb_awsize    = 3'($clog2(DATA_W / 8));
  assign m_cmb_awburst   = 2'b01;
  assign m_cmb_wvalid    = m_cmb_write_req.w_valid;
  assign m_cmb_wdata     = m_cmb_write_req.w.data;
  assign m_cmb_wstrb     = m_cmb_write_req.w.strb;
  assign m_cmb_wlast     = m_cmb_write_req.w.last;
  assign m_cmb_bready    = m_cmb_write_req.b_ready;
  assign m_cmb_write_rsp = '{aw_held: 1'b0, aw_ready: m_cmb_awready, w_ready: m_cmb_wready, b_valid: m_cmb_bvalid,
                             b: m_cmb_bresp};

  // ---- statistics
  stat_t stat;
  assign stat_doorbell_valid = stat.doorbell.valid;
  assign stat_doorbell_qid   = stat.doorbell.qid;
  assign stat_doorbell_tail  = stat.doorbell.tail;
  assign stat_fetch_valid    = stat.fetch.valid;
  assign stat_fetch_qid      = stat.fetch.qid;
  assign stat_fetch_index    = stat.fetch.index;
  assign stat_fetch_count    = stat.fetch.count;
  assign stat_decode_valid   = stat.decode.valid;
  assign stat_decode_slot    = stat.decode.slot;
  assign stat_decode_sqid    = stat.decode.sqid;
  assign stat_decode_cid     = stat.decode.cid;
  assign stat_data_valid     = stat.data.valid;
  assign stat_data_slot      = stat.data.slot;
  assign stat_cqe_valid      = stat.cqe.valid;
  assign stat_cqe_slot       = stat.cqe.slot;
  assign stat_irq_valid      = stat.irq.valid;
  assign stat_irq_vector     = stat.irq.vector;
