// SPDX-License-Identifier: Apache-2.0
// The ports of db_ssd_core and db_csd_core but for those of operators, as structs: `include this in the port list of a
// module that has their parameters and types. No guard: it is text for several modules.
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  por_rst,           ///< with rst: power was off
  /// The PCIe block's streams, settings and interrupts.
  input  logic                  s_cq_valid,
  output logic                  s_cq_ready,
  input  cq_t                   s_cq,
  output logic                  m_cc_valid,
  input  logic                  m_cc_ready,
  output cc_t                   m_cc,
  output logic                  m_rq_valid,
  input  logic                  m_rq_ready,
  output rq_t                   m_rq,
  input  rq_seq_t               s_rq_seq,          ///< requests that no completion of ours can pass any more
  output logic                  cq_np_req,         ///< credits for requests that want an answer
  input  logic                  s_rc_valid,
  output logic                  s_rc_ready,
  input  rc_t                   s_rc,
  input  logic                  s_peer_valid,      ///< packets of db_pcie_peers for RQ
  output logic                  s_peer_ready,
  input  rq_t                   s_peer,
  input  link_cfg_t             link_cfg,
  output logic [NUM_FN-1:0]     flr_done,          ///< pulses
  output logic                  intx,              ///< level: INTA asserted
  /// Media: AXI4 (read id 0: Read and Verify, 1: Compare) and commands, each answered by a pulse.
  output axi_read_req_t         m_axi_read_req,
  input  axi_read_rsp_t         m_axi_read_rsp,
  output logic                  m_axi_arid,
  input  logic                  m_axi_rid,
  output axi_write_req_t        m_axi_write_req,
  input  axi_write_rsp_t        m_axi_write_rsp,
  output logic                  m_media_cmd_valid,
  input  logic                  m_media_cmd_ready,
  output media_cmd_t            m_media_cmd,
  input  logic                  s_media_rsp_valid,
  input  logic                  s_media_rsp_err,
  output logic                  m_ahead_valid,     ///< AHEAD: a command that will come; all of them are forgotten with
  input  logic                  m_ahead_ready,
  output ahead_t                m_ahead,
  output logic                  m_ahead_rst,       ///< ... this
  input  logic                  s_come_valid,      ///< pulse: this slot's command will not wait for the media
  input  logic [SLOT_W-1:0]     s_come_slot,
  input  logic [SLOT_W-1:0]     s_ask_slot,        ///< has this slot's command been aborted? In the same cycle
  output logic                  m_aborted,
  input  logic                  s_ended_valid,     ///< pulse: what was told of this slot last has ended (but what reads)
  input  logic [SLOT_W-1:0]     s_ended_slot,
  input  logic                  s_ended_err,
  /// Card memory, AXI4: the Controller Memory Buffer, if CMB_LOG2 is not 0.
  output cmb_read_req_t         m_cmb_read_req,
  input  axi_read_rsp_t         m_cmb_read_rsp,
  output cmb_write_req_t        m_cmb_write_req,
  input  axi_write_rsp_t        m_cmb_write_rsp,
  input  logic [51:0]           media_pages,       ///< capacity in 4 KiB
  output logic [3:0]            m_media_health_word,  ///< of the media's health
  input  logic [31:0]           s_media_health,    ///< that word, at most 3 cycles later
  input  logic                  s_media_warning,   ///< pulse: a warning of it is new
  input  logic [63:0]           time_us,           ///< free running
  output logic                  idle,              ///< nothing will change inside until an input does, or at wake_us
  output logic [63:0]           wake_us,
  output stat_t                 stat,
  output logic [$bits(stall_t)-1:0][31:0] stat_stall  ///< cycles of each bit of stall_t
