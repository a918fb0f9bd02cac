// SPDX-License-Identifier: Apache-2.0
// Whole bursts to the media: address, then rows.
//
// Addresses wait here from when the command was cut until the burst's data is whole. The rows of a burst go when its
// address is on offer (db_axi_page_lock may hold it back), whether it has been taken or not. A void burst's rows have no
// strobe; with no row on W all strobes are set, as db_ssd_store wants them.
// Latency: whole to AW 1 cycle, AW on offer to first row on W 2. Throughput: a row a cycle, also from burst to burst.
`include "db_axi_types.svh"
module db_ssd_write_send
  import db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,    ///< bits of a media address
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_addr_valid,
  output logic              s_addr_ready,
  input  logic [ADDR_W-1:9] s_addr,         ///< of a burst, in 512 bytes
  input  logic [2:0]        s_addr_blocks,  ///< its size in 512 bytes, less 1
  input  logic              s_whole_valid,  ///< the data of the next burst is there
  output logic              s_whole_ready,
  input  logic              s_whole_void,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row,
  output axi_write_req_t    m_axi_write_req, ///< b_ready is not ours: 0
  input  axi_write_rsp_t    m_axi_write_rsp
);
  localparam int BURSTS = 32;   // whose addresses wait
  logic [ADDR_W-1:9] addr;
  logic              addr_valid, begin_burst, aw_valid_q, void_q;
  logic [2:0]        blocks;
  logic [ADDR_W-1:9] addr_q;
  logic [2:0]        blocks_q;

  db_fifo #(.WIDTH(ADDR_W - 9 + 3), .DEPTH(BURSTS)) i_addr (
    .clk, .rst, .s_valid(s_addr_valid), .s_ready(s_addr_ready), .s_data({s_addr, s_addr_blocks}),
    .m_valid(addr_valid), .m_ready(begin_burst), .m_data({addr, blocks}), .level());

  // ---- addresses; behind one that is on offer, its size waits for its rows
  logic       taken, offered, offered_q, send_room, send_valid, send_void, w_valid_q, w_free, w_take, w_last_q;
  logic [2:0] send_blocks;
  logic [7:0] row_q;
  assign taken         = aw_valid_q && m_axi_write_rsp.aw_ready;
  assign offered       = aw_valid_q && !m_axi_write_rsp.aw_held && !offered_q;
  assign begin_burst   = s_whole_valid && !aw_valid_q && send_room;
  assign s_whole_ready = begin_burst;
  db_fifo #(.WIDTH(4), .DEPTH(2)) i_send (
    .clk, .rst, .s_valid(offered), .s_ready(send_room), .s_data({void_q, blocks_q}), .m_valid(send_valid),
    .m_ready(w_take && w_last_q), .m_data({send_void, send_blocks}), .level());

  // ---- rows
  assign w_free      = !w_valid_q || m_axi_write_rsp.w_ready;
  assign s_row_ready = send_valid && w_free;
  assign w_take      = s_row_ready && s_row_valid;
  `DB_AXI_W_T(DATA_W) w_q;
  always_ff @(posedge clk) begin
    offered_q <= (offered || offered_q) && !taken;
    if (taken) aw_valid_q <= 1'b0;
    if (begin_burst) begin
      aw_valid_q <= 1'b1;
      addr_q     <= addr;
      blocks_q   <= blocks;
      void_q     <= s_whole_void;
    end
    if (w_take) begin
      row_q    <= w_last_q ? '0 : row_q + 1'b1;
      w_last_q <= !w_last_q && row_q + 8'd1 == last_row(send_blocks, DATA_W);
    end
    if (w_free) begin
      w_valid_q <= w_take;
      w_q       <= '{last: w_last_q, strb: {DATA_W/8{!(w_take && send_void)}}, data: s_row};
    end
    if (rst) begin
      aw_valid_q <= 1'b0;
      offered_q  <= 1'b0;
      row_q      <= '0;
      w_last_q   <= 1'b0;
      w_valid_q  <= 1'b0;
    end
  end
  assign m_axi_write_req = '{aw_valid: aw_valid_q, b_ready: 1'b0, w_valid: w_valid_q, w: w_q,
                             aw: '{fua: 1'b0, addr: {addr_q, 9'd0}, len: last_row(blocks_q, DATA_W)}};

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (begin_burst) assert (addr_valid);
    if (offered) assert (send_room);
    if (taken) assert (offered || offered_q);
  end
`endif
endmodule
