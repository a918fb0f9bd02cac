// SPDX-License-Identifier: Apache-2.0
// The media's bus and command port, shared: reads of the read engine and of Compare, commands of the write engine and of
// the firmware. Reads and writes of a page exclude each other (db_axi_page_lock).
//
// Reads: round robin; the address is registered, its ID says whose it is and brings the data back to its owner. Rows are
// always taken: a reader has room for what it asks for.
// Commands: one at a time. The choice is made when nothing is under way, the write engine comes first, and stays until
// the answer.
// Latency: AR 1 cycle, AW 2, R none, a command 1. Throughput: an address every other cycle.
`include "db_axi_types.svh"
module db_ssd_media
  import db_ssd_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,   ///< bits of a media address
  parameter bit LOCK   = 1'b1, ///< 0: the media itself keeps reads and writes of a block apart
  parameter int READ_BUF_BYTES = 16384,  ///< what the read engine has under way at most: power of two
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                clk,
  input  logic                rst,                ///< power-on: of what the media sees
  input  logic                ctrl_rst,
  /// Readers: [0] read engine (id 0), [1] Compare (id 1), [2] firmware (id 1, never together with Compare).
  input  axi_read_req_t [2:0] s_axi_read_req,
  output axi_read_rsp_t [2:0] s_axi_read_rsp,
  output axi_read_req_t       m_axi_read_req,
  input  axi_read_rsp_t       m_axi_read_rsp,
  output logic                m_axi_arid,
  input  logic                m_axi_rid,
  input  axi_write_req_t      s_axi_write_req,
  output axi_write_rsp_t      s_axi_write_rsp,
  output axi_write_req_t      m_axi_write_req,
  input  axi_write_rsp_t      m_axi_write_rsp,
  /// Commands: [0] write engine, [1] firmware; done is the answer, a pulse.
  input  logic [1:0]          s_cmd_valid,
  output logic [1:0]          s_cmd_ready,
  input  media_cmd_t [1:0]    s_cmd,
  output logic [1:0]          s_cmd_done,
  output logic                m_cmd_valid,
  input  logic                m_cmd_ready,
  output media_cmd_t          m_cmd,
  input  logic                m_cmd_done,
  output logic                busy,               ///< a command is under way
  output logic                quiet               ///< no address waits for the media
);
  // ---- reads
  logic       any, free, index, ar_valid_q, ar_may, fw_asks, fw_row;
  logic [1:0] req, grant;
  assign fw_asks = s_axi_read_req[2].ar_valid;
  assign fw_row  = s_axi_read_req[2].r_ready;
  assign req     = {s_axi_read_req[1].ar_valid || fw_asks, s_axi_read_req[0].ar_valid};
  assign free = !ar_valid_q;
  db_arb_rr #(.N(2)) i_arb (
    .clk, .rst(ctrl_rst), .req, .ack(any && free), .gnt_valid(any), .gnt(grant), .gnt_idx(index));
  typedef `DB_AXI_ADDR_T(ADDR_W) axi_addr_t;
  axi_addr_t ar_q, load;
  assign load = !index ? s_axi_read_req[0].ar : fw_asks ? s_axi_read_req[2].ar : s_axi_read_req[1].ar;
  always_ff @(posedge clk) begin
    if (free) begin
      ar_valid_q <= any;
      m_axi_arid <= index;
      ar_q       <= load;
    end else if (ar_may && m_axi_read_rsp.ar_ready) ar_valid_q <= 1'b0;
    if (rst) ar_valid_q <= 1'b0;
  end
  assign m_axi_read_req = '{ar_valid: ar_valid_q && ar_may, ar: ar_q, r_ready: 1'b1};
  for (genvar i = 0; i < 3; i++) begin : g_reader
    localparam bit ID = i != 0;
    assign s_axi_read_rsp[i] = '{ar_ready: free && grant[ID], r: m_axi_read_rsp.r,
                                 r_valid: m_axi_read_rsp.r_valid && m_axi_rid == ID && (!ID || fw_row == (i == 2))};
`ifndef SYNTHESIS
    always_ff @(posedge clk) if (!rst && s_axi_read_rsp[i].r_valid) assert (s_axi_read_req[i].r_ready);
`endif
  end
  assign quiet = !ar_valid_q;

  // ---- writes; a page is read or written
  logic aw_may, b_may;
  always_comb begin
    m_axi_write_req          = s_axi_write_req;
    m_axi_write_req.aw_valid = s_axi_write_req.aw_valid && aw_may;
    m_axi_write_req.b_ready  = s_axi_write_req.b_ready && b_may;
    s_axi_write_rsp          = m_axi_write_rsp;
    s_axi_write_rsp.aw_held  = m_axi_write_rsp.aw_held || !aw_may;
    s_axi_write_rsp.aw_ready = m_axi_write_rsp.aw_ready && aw_may;
    s_axi_write_rsp.b_valid  = m_axi_write_rsp.b_valid && b_may;
  end
  if (LOCK) begin : g_lock
    // More reads, more counters, so that fewer pages that are not the same wait for each other.
    localparam int READS = READ_BUF_BYTES / 512;
    db_axi_page_lock #(.ADDR_W(ADDR_W), .READS(READS), .ENTRIES(READS > 256 ? 512 : 256)) i_lock (
      .clk, .rst, .ar_load(any && free), .ar_load_addr(load.addr), .ar_valid(ar_valid_q), .ar_addr(ar_q.addr),
      .ar_id(m_axi_arid), .ar_may,
      .ar_ready(m_axi_read_rsp.ar_ready),
      .r_end(m_axi_read_rsp.r_valid && m_axi_read_req.r_ready && m_axi_read_rsp.r.last), .r_id(m_axi_rid),
      .aw_valid(s_axi_write_req.aw_valid), .aw_addr(s_axi_write_req.aw.addr), .aw_may,
      .aw_ready(m_axi_write_rsp.aw_ready), .b_may, .b_end(m_axi_write_rsp.b_valid && m_axi_write_req.b_ready));
  end else begin : g_no_lock
    assign {ar_may, aw_may, b_may} = '1;
  end

  // ---- commands
  logic busy_q, sent_q, fw_q;
  always_ff @(posedge clk) begin
    if (!busy_q) begin
      busy_q <= s_cmd_valid != 2'b00;
      fw_q   <= !s_cmd_valid[0];
      sent_q <= 1'b0;
    end else begin
      if (m_cmd_valid && m_cmd_ready) sent_q <= 1'b1;
      if (m_cmd_done) busy_q <= 1'b0;
    end
    if (rst) busy_q <= 1'b0;
  end
  assign busy        = busy_q;
  assign m_cmd_valid = busy_q && !sent_q;
  assign m_cmd       = s_cmd[fw_q];
  for (genvar i = 0; i < 2; i++) begin : g_commander
    assign s_cmd_ready[i] = m_cmd_valid && m_cmd_ready && fw_q == 1'(i);
    assign s_cmd_done[i]  = m_cmd_done && busy_q && fw_q == 1'(i);
  end

endmodule
