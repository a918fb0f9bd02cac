// SPDX-License-Identifier: Apache-2.0
// The firmware's way to the media: one word at a time, for what it has to remember without power.
//
// Stands between the write engine and the media. An access makes the engine pause until it is over: a media command beside
// it would come before the response of a write. It waits until what the engine has begun has ended; then it takes the
// engine's AXI4 write channels for one beat, or reads under the id of Compare, which is at rest then. A word is at lane 0
// of its beat, so it costs a multiplexer of a word and no lane is chosen; the engine that is at rest sets all strobes, and
// what is on the other lanes is nobody's. Reads of the host pass beside.
// Latency: 2 cycles and the media's; none for the engine. Throughput: one access at a time.
`include "db_axi_types.svh"
module db_ssd_store
  import db_ssd_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,   ///< bits of a media address
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic           clk,
  input  logic           rst,          ///< power-on: of what the media sees
  input  logic           engine_idle,  ///< the write engine has begun nothing, and does not while busy
  input  logic           s_valid,
  output logic           s_ready,
  input  store_cmd_t     s_cmd,        ///< stays until done
  output logic           s_done,       ///< pulse
  output logic           s_err,        ///< with s_done: the media failed
  output logic [31:0]    s_data,       ///< with s_done and until the next: what was read
  /// The write engine's channels, and the media's.
  input  axi_write_req_t s_axi_write_req,
  output axi_write_rsp_t s_axi_write_rsp,
  output axi_read_req_t  m_axi_read_req,  ///< r_ready: the next row is ours
  input  axi_read_rsp_t  m_axi_read_rsp,
  output axi_write_req_t m_axi_write_req,
  input  axi_write_rsp_t m_axi_write_rsp,
  output logic           busy
);
  logic own_q;                         // the channels are ours
  logic may_q;                         // engine_idle, which comes late
  logic ar_q, aw_q, w_q;               // on offer
  logic shown_q, w_valid;              // the address has been on offer to the media

  // A command that is given to the engine as it is taken asks nothing of the media before own_q holds it back.
  assign s_ready = !own_q && may_q;
  assign busy    = s_valid || own_q;
  assign w_valid = w_q && (!aw_q || shown_q);  // db_axi_page_lock wants W behind its address

  always_comb begin
    m_axi_read_req  = '{ar_valid: ar_q, ar: '{fua: 1'b0, addr: s_cmd.addr[ADDR_W-1:0], len: 8'd0}, r_ready: own_q};
    m_axi_write_req = s_axi_write_req;
    s_axi_write_rsp = m_axi_write_rsp;
    if (own_q) begin
      m_axi_write_req.aw_valid    = aw_q;
      m_axi_write_req.aw          = '{fua: 1'b0, addr: s_cmd.addr[ADDR_W-1:0], len: 8'd0};
      m_axi_write_req.b_ready     = 1'b1;
      m_axi_write_req.w_valid     = w_valid;
      m_axi_write_req.w.last      = 1'b1;
      m_axi_write_req.w.data[31:0] = s_cmd.data;
      s_axi_write_rsp.aw_ready    = 1'b0;
      s_axi_write_rsp.w_ready     = 1'b0;
      s_axi_write_rsp.b_valid     = 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    s_done <= 1'b0;
    may_q  <= engine_idle;
    shown_q <= own_q && aw_q && !m_axi_write_rsp.aw_held;
    if (s_valid && s_ready) begin
      own_q <= 1'b1;
      ar_q  <= !s_cmd.write;
      aw_q  <= s_cmd.write;
      w_q   <= s_cmd.write;
    end
    if (own_q) begin
      if (m_axi_read_rsp.ar_ready)  ar_q <= 1'b0;
      if (m_axi_write_rsp.aw_ready) aw_q <= 1'b0;
      if (m_axi_write_rsp.w_ready && w_valid) w_q <= 1'b0;
      if (m_axi_read_rsp.r_valid || m_axi_write_rsp.b_valid) begin
        own_q  <= 1'b0;
        s_done <= 1'b1;
        s_err  <= s_cmd.write ? m_axi_write_rsp.b != 2'b00 : m_axi_read_rsp.r.resp != 2'b00;
        s_data <= m_axi_read_rsp.r.data[31:0];
      end
    end
    if (rst) begin
      own_q  <= 1'b0;
      ar_q   <= 1'b0;
      aw_q   <= 1'b0;
      w_q    <= 1'b0;
      s_done <= 1'b0;
    end
  end

endmodule
