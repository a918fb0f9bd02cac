// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the pool and its slots in db_csd_near_formal: packets and commands' slots are any, so is what operators
// give and when. They take what is free from ports of db_csd_near that nothing else uses there.
`include "db_axi_types.svh"
module db_csd_near_pool  // verilog_lint: waive module-filename
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,
  parameter int NUM_FN = 1,
  parameter int CELLS  = 8,
  parameter logic [27:0] SLOTS = 28'h21,
  parameter logic [15:0] SHELL = 16'd0,
  parameter int CMB_LOG2 = 0,
  localparam int ALL    = near_slot_count(32'(SLOTS)) + 1,
  localparam int ADDR_W = cmb_addr_w(CMB_LOG2, NUM_FN),
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    power_rst,
  output logic                    busy,
  output logic                    exchanging,
  input  ext_bus_t                s_ext,
  output logic [31:0]             m_ext_rdata,
  input  logic                    s_packet_valid,
  output logic                    s_packet_ready,
  input  near_packet_t            s_packet,
  output logic                    m_packet_valid,
  input  logic                    m_packet_ready,
  output near_packet_t            m_packet,
  output near_chain_t             m_chain,
  output logic [ALL-1:0][3:0]     operators,
  input  logic [ALL-1:0]          s_done,
  output logic [ALL-1:0][ALL-1:0] route,
  output logic                    written,
  output near_owner_t             written_owner,
  output logic [ALL-1:0]          m_param_valid,
  output near_param_t             m_param,
  output axi_read_req_t           m_axi_read_req,
  input  axi_read_rsp_t           m_axi_read_rsp,
  output logic                    m_icap_valid,
  input  logic                    m_icap_ready,
  output logic [31:0]             m_icap_data
);
  logic [NEAR_SLOTS_MOST-1:0] first, last;
  assign first = s_ext.addr[2:0] == 3'd0 ? '0 : NEAR_SLOTS_MOST'(1) << (s_ext.addr[2:0] % 3);
  assign last  = s_ext.addr[2:0] == 3'd0 ? '0 : NEAR_SLOTS_MOST'(1) << (s_ext.addr[5:3] % 3);
  // A packet that is offered stays. Its slots: one or none for each of first and last, and any others beside these.
  always_ff @(posedge clk) begin
    if (!m_packet_valid || m_packet_ready) begin
      m_packet_valid <= m_axi_read_rsp.r_valid;
      m_packet       <= m_axi_read_rsp.r.data[$bits(near_packet_t)-1:0];
      {m_chain.none, m_chain.absent} <= {s_ext.req, s_ext.wr};
      m_chain.first <= first;
      m_chain.last  <= last;
      m_chain.slots <= first == '0 ? '0 : first | last | NEAR_SLOTS_MOST'(s_ext.wdata[29:27]);
    end
    if (rst) m_packet_valid <= 1'b0;
  end
  assign s_packet_ready = 1'b1;
  assign m_param        = near_param_t'({s_ext.addr, s_ext.wdata});
  assign route          = {s_ext.req_first, s_ext.addr[11:6], s_ext.wdata[31:30]};
  assign {busy, exchanging, m_ext_rdata, operators, written, written_owner, m_param_valid, m_axi_read_req,
          m_icap_valid, m_icap_data} = '0;
endmodule

// Slot 0 gives rows, the others words.
module db_csd_near_slot  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int         DATA_W   = 256,
  parameter int         CELLS    = 8,
  parameter logic [3:0] OPERATOR = NEAR_GREP
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              in_use,
  input  logic [3:0]        operator,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output near_row_t         m_row
);
  localparam bit ROWS = OPERATOR == NEAR_GREP;
  logic [3:0] any;
  assign any          = ROWS ? s_param.data[3:0] : s_param.data[7:4];
  assign s_row_ready  = any[0];
  assign m_row_valid  = ROWS && any[1];
  assign m_row        = '{last: any[2], bytes: s_param.data[22:16], default: '0};
  assign m_row_data   = '0;
  assign m_word_valid = !ROWS && any[1];
  assign m_word       = '{last: any[2], data: '0};
endmodule

module db_csd_near_hash  // verilog_lint: waive module-filename
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,
  parameter int NUM_FN = 1,
  parameter int CORES  = 8,
  parameter int BYTES  = 16384
) (
  input  logic              clk,
  input  logic              rst,
  output logic              working,
  input  logic              s_forget,
  input  near_owner_t       s_forget_owner,
  input  logic              s_param_valid,
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word
);
  assign working      = 1'b0;
  assign s_row_ready  = s_param.data[8];
  assign m_word_valid = s_param.data[9];
  assign m_word       = '{last: s_param.data[10], data: '0};
endmodule
