// SPDX-License-Identifier: Apache-2.0
// What a user of a host connects beside PCIe: registers, block commands and their data, admin commands, state. Text for
// the port lists of db_host and db_host_engine: `include it in a module that has the parameter DATA_W. No guard.
  // ---- registers
  input  logic                         s_axil_awvalid,
  output logic                         s_axil_awready,
  input  logic [15:0]                  s_axil_awaddr,
  input  logic [2:0]                   s_axil_awprot,
  input  logic                         s_axil_wvalid,
  output logic                         s_axil_wready,
  input  logic [31:0]                  s_axil_wdata,
  input  logic [3:0]                   s_axil_wstrb,
  output logic                         s_axil_bvalid,
  input  logic                         s_axil_bready,
  output logic [1:0]                   s_axil_bresp,
  input  logic                         s_axil_arvalid,
  output logic                         s_axil_arready,
  input  logic [15:0]                  s_axil_araddr,
  input  logic [2:0]                   s_axil_arprot,
  output logic                         s_axil_rvalid,
  input  logic                         s_axil_rready,
  output logic [31:0]                  s_axil_rdata,
  output logic [1:0]                   s_axil_rresp,
  // ---- block commands (db_host_pkg: block_cmd_t, block_status_t)
  input  logic [127:0]                 s_axis_cmd_tdata,
  input  logic                         s_axis_cmd_tvalid,
  output logic                         s_axis_cmd_tready,
  input  logic [DATA_W-1:0]            s_axis_wdata_tdata,
  input  logic                         s_axis_wdata_tvalid,
  output logic                         s_axis_wdata_tready,
  output logic [DATA_W-1:0]            m_axis_rdata_tdata,
  output logic                         m_axis_rdata_tvalid,
  input  logic                         m_axis_rdata_tready,
  /// of a command
  output logic                         m_axis_rdata_tlast,
  /// the drive could not read it: zeros
  output logic [0:0]                   m_axis_rdata_tuser,
  output logic [63:0]                  m_axis_status_tdata,
  output logic                         m_axis_status_tvalid,
  input  logic                         m_axis_status_tready,
  // ---- admin commands beside the registers': 16 dwords in, completion entry out
  input  logic                         s_adm_valid,
  output logic                         s_adm_ready,
  input  logic [31:0]                  s_adm_data,
  output logic                         m_adm_valid,
  input  logic                         m_adm_ready,
  output logic [127:0]                 m_adm_cqe,
  output logic                         m_adm_timeout,
  // ---- raw accesses to the drive's registers
  input  logic                         s_reg_valid,
  output logic                         s_reg_ready,
  input  logic                         s_reg_write,
  input  logic [23:0]                  s_reg_addr,
  input  logic [31:0]                  s_reg_wdata,
  output logic                         m_reg_valid,
  output logic [31:0]                  m_reg_rdata,
  output logic [1:0]                   m_reg_status,
  // ---- what the drive writes to REGION_FORWARD
  output logic                         m_fwd_valid,
  input  logic                         m_fwd_ready,
  output logic [22:0]                  m_fwd_addr,
  output logic [DATA_W-1:0]            m_fwd_data,
  output logic [DATA_W/8-1:0]          m_fwd_be,
  // ---- state
  /// commands are done
  output logic                         up,
  /// commands fail; nothing will change by itself
  output logic                         dead,
  /// one cycle or more: shut the drive down, in order; then one of the two below rises
  input  logic                         shutdown,
  /// the drive has said so: what it holds is safe, its power may go
  output logic                         shut_down,
  /// it has not, within SHUTDOWN_MS, or there is none
  output logic                         shutdown_failed,
  /// of the namespace
  output logic [63:0]                  blocks,
  /// log2 of their bytes
  output logic [3:0]                   lba_shift,
  /// nothing changes until an input does, or a tick comes
  output logic                         idle,
  /// pulse: a part of a command got its slot
  output logic                         stat_doorbell,
  /// pulse: a completion entry was taken
  output logic                         stat_cqe
