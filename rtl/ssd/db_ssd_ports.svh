// SPDX-License-Identifier: Apache-2.0
// The ports of db_ssd and db_csd, flat, as a user's tools want them: `include this in the port list of a module that
// has the parameters DATA_W, NUM_FN and MEDIA_ADDR_W and imports db_pcie_pkg. db_ssd_stat_ports.svh has those for statistics.
// Inside, db_ssd_connect.svh makes structs of them. No guard: it is text for several modules.
  input  logic                         clk,
  input  logic                         rst,
  input  logic                         por_rst,           ///< with rst, at its begin or all of it: power was off
  /// PCIe: the streams of the UltraScale+ integrated block (PG213), its settings, its interrupts.
  input  logic [DATA_W-1:0]            s_axis_cq_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
  input  logic                         s_axis_cq_tlast,
  input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
  input  logic                         s_axis_cq_tvalid,
  output logic                         s_axis_cq_tready,
  output logic [1:0]                   pcie_cq_np_req,    ///< credits for requests that want an answer: one at a time
  output logic [DATA_W-1:0]            m_axis_cc_tdata,
  output logic [DATA_W/32-1:0]         m_axis_cc_tkeep,
  output logic                         m_axis_cc_tlast,
  output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
  output logic                         m_axis_cc_tvalid,
  input  logic                         m_axis_cc_tready,
  output logic [DATA_W-1:0]            m_axis_rq_tdata,
  output logic [DATA_W/32-1:0]         m_axis_rq_tkeep,
  output logic                         m_axis_rq_tlast,
  output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
  output logic                         m_axis_rq_tvalid,
  input  logic                         m_axis_rq_tready,
  /// Sequence numbers of requests that no completion can pass any more.
  input  logic [5:0]                   pcie_rq_seq_num0,
  input  logic                         pcie_rq_seq_num_vld0,
  input  logic [5:0]                   pcie_rq_seq_num1,
  input  logic                         pcie_rq_seq_num_vld1,
  input  logic [DATA_W-1:0]            s_axis_rc_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_rc_tkeep,
  input  logic                         s_axis_rc_tlast,
  input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
  input  logic                         s_axis_rc_tvalid,
  output logic                         s_axis_rc_tready,
  input  logic [1:0]                   cfg_max_payload,   ///< 0: 128 bytes ... 3: 1024
  input  logic [2:0]                   cfg_max_read_req,  ///< 0: 128 bytes ... 5: 4096
  input  logic                         cfg_intx_disable,  ///< of the PF
  output logic                         cfg_intx,          ///< level: INTA of the PF asserted
  /// By function: bit 0 the PF, bit 1 its VF 0, ...
  input  logic [NUM_FN-1:0]            cfg_fn_enable,     ///< it is there: the PF always, a VF while VF Enable has it
  input  logic [NUM_FN-1:0]            cfg_bus_master,
  input  logic [NUM_FN-1:0]            cfg_msix_enable,
  input  logic [NUM_FN-1:0]            cfg_msix_mask,
  input  logic [NUM_FN-1:0]            cfg_flr,           ///< function-level reset in process
  output logic [NUM_FN-1:0]            cfg_flr_done,      ///< pulses
  /// Media: AXI4, id 0 Read and Verify, id 1 Compare; and commands that AXI4 has no word for.
  output logic                         m_axi_awid,
  output logic [MEDIA_ADDR_W-1:0]      m_axi_awaddr,
  output logic [7:0]                   m_axi_awlen,
  output logic [2:0]                   m_axi_awsize,
  output logic [1:0]                   m_axi_awburst,
  output logic                         m_axi_awvalid,
  input  logic                         m_axi_awready,
  output logic [DATA_W-1:0]            m_axi_wdata,
  output logic [DATA_W/8-1:0]          m_axi_wstrb,
  output logic                         m_axi_wlast,
  output logic                         m_axi_wvalid,
  input  logic                         m_axi_wready,
  input  logic                         m_axi_bid,
  input  logic [1:0]                   m_axi_bresp,
  input  logic                         m_axi_bvalid,
  output logic                         m_axi_bready,
  output logic                         m_axi_arid,
  output logic [MEDIA_ADDR_W-1:0]      m_axi_araddr,
  output logic [7:0]                   m_axi_arlen,
  output logic [2:0]                   m_axi_arsize,
  output logic [1:0]                   m_axi_arburst,
  output logic                         m_axi_aruser,      ///< FUA: what a cache holds of it is made durable first
  output logic                         m_axi_arvalid,
  input  logic                         m_axi_arready,
  input  logic                         m_axi_rid,
  input  logic [DATA_W-1:0]            m_axi_rdata,
  input  logic [1:0]                   m_axi_rresp,
  input  logic                         m_axi_rlast,
  input  logic                         m_axi_rvalid,
  output logic                         m_axi_rready,
  output logic                         m_media_cmd_valid,
  input  logic                         m_media_cmd_ready,
  output logic [1:0]                   m_media_cmd_op,    ///< 0 flush, 1 zero, 2 reads fail until it is written
  output logic [MEDIA_ADDR_W-1:0]      m_media_cmd_addr,
  output logic [63:0]                  m_media_cmd_bytes,
  input  logic                         s_media_rsp_valid, ///< pulse, one for each command
  input  logic                         s_media_rsp_err,
  /// Card memory: AXI4, bursts of one beat, no ids; the Controller Memory Buffer of each function, 2^CMB_LOG2 bytes. Idle if
  /// CMB_LOG2 is 0, its inputs then are not used.
  output logic [cmb_addr_w(CMB_LOG2, NUM_FN)-1:0] m_cmb_awaddr,
  output logic [7:0]                   m_cmb_awlen,
  output logic [2:0]                   m_cmb_awsize,
  output logic [1:0]                   m_cmb_awburst,
  output logic                         m_cmb_awvalid,
  input  logic                         m_cmb_awready,
  output logic [DATA_W-1:0]            m_cmb_wdata,
  output logic [DATA_W/8-1:0]          m_cmb_wstrb,
  output logic                         m_cmb_wlast,
  output logic                         m_cmb_wvalid,
  input  logic                         m_cmb_wready,
  input  logic [1:0]                   m_cmb_bresp,
  input  logic                         m_cmb_bvalid,
  output logic                         m_cmb_bready,
  output logic [cmb_addr_w(CMB_LOG2, NUM_FN)-1:0] m_cmb_araddr,
  output logic [7:0]                   m_cmb_arlen,
  output logic [2:0]                   m_cmb_arsize,
  output logic [1:0]                   m_cmb_arburst,
  output logic                         m_cmb_arvalid,
  input  logic                         m_cmb_arready,
  input  logic [DATA_W-1:0]            m_cmb_rdata,
  input  logic [1:0]                   m_cmb_rresp,
  input  logic                         m_cmb_rlast,
  input  logic                         m_cmb_rvalid,
  output logic                         m_cmb_rready,
  input  logic [51:0]                  media_pages,       ///< capacity in 4 KiB
  /// Health of the media for the SMART log, a word at a time (MediaHealth of facts/doorbell.yaml). All zero: the media has none.
  output logic [3:0]                   m_media_health_word,
  input  logic [31:0]                  s_media_health,    ///< that word, at most 3 cycles later
  input  logic                         s_media_warning,   ///< pulse: a warning of it is new
  input  logic [63:0]                  time_us,           ///< free running
  /// Nothing will change inside until an input does, or time_us reaches wake_us.
  output logic                         idle,
  output logic [63:0]                  wake_us
