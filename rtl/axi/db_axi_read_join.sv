// SPDX-License-Identifier: Apache-2.0
// Joins the readers of one memory that answers in order: bursts of one beat, without IDs.
//
// The first reader goes before the others, which are for those who can wait.
// Latency: 0 cycles both ways. Throughput: a beat a cycle; at most DEPTH under way.
`include "db_axi_types.svh"
module db_axi_read_join #(
  parameter int N      = 2,    ///< readers, 1..8
  parameter int ADDR_W = 40,   ///< bits of an address
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256, 512
  parameter int DEPTH  = 128,  ///< beats under way at most: a power of two, 2..256
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  axi_read_req_t [N-1:0] s_axi_read_req,
  output axi_read_rsp_t [N-1:0] s_axi_read_rsp,
  output axi_read_req_t         m_axi_read_req,
  input  axi_read_rsp_t         m_axi_read_rsp
);
  localparam int WHO_W = N > 1 ? $clog2(N) : 1;

  // An address on offer stays until it is taken, also when one that goes before it comes.
  logic [WHO_W-1:0] who, held_q, from;
  logic             held, offers, room, from_valid, go, back;
  logic             held_valid_q;
  assign held   = held_valid_q;
  assign offers = s_axi_read_req[who].ar_valid && room;
  assign go     = offers && m_axi_read_rsp.ar_ready;
  assign back   = m_axi_read_rsp.r_valid && m_axi_read_req.r_ready;
  always_comb begin
    who = '0;
    for (int n = N - 1; n >= 0; n--) if (s_axi_read_req[n].ar_valid) who = WHO_W'(n);
    if (held) who = held_q;
  end
  always_ff @(posedge clk) begin
    held_valid_q <= offers && !m_axi_read_rsp.ar_ready;
    held_q       <= who;
    if (rst) held_valid_q <= 1'b0;
  end
  db_fifo #(.WIDTH(WHO_W), .DEPTH(DEPTH)) i_from (
    .clk, .rst, .s_valid(go), .s_ready(room), .s_data(who), .m_valid(from_valid), .m_ready(back), .m_data(from),
    .level());
  always_comb begin
    m_axi_read_req          = s_axi_read_req[who];
    m_axi_read_req.ar_valid = offers;
    m_axi_read_req.r_ready  = from_valid && s_axi_read_req[from].r_ready;
    for (int n = 0; n < N; n++) begin
      s_axi_read_rsp[n]          = m_axi_read_rsp;
      s_axi_read_rsp[n].ar_ready = go && who == WHO_W'(n);
      s_axi_read_rsp[n].r_valid  = m_axi_read_rsp.r_valid && from_valid && from == WHO_W'(n);
    end
  end
endmodule
