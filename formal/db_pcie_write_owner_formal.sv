// SPDX-License-Identifier: Apache-2.0
// Bounded check of db_pcie_write's path (place, rows, beats): the data of one function is never sent as another's. Packets
// of any lengths and owners follow each other; bit 0 of every dword of a packet's rows tells its owner, of what lies behind
// its end the other one. So each dword of payload on RQ must tell the function in its TLP's descriptor.
// Cuts, drops, pauses of cuts, of rows and of RQ are free. Bounded: every run of so many cycles, four lengths and owners.
`include "db_pcie_types.svh"
module db_pcie_write_owner_formal
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter bit COVER = 1'b0,
  localparam int DATA_W = 128, localparam int DEPTH = 8, localparam int ROW_W = 5, localparam int LEN_W = 3
) (
  input logic                   clk,
  input logic                   rst,
  input logic                   s_cut_valid,
  input logic [LEN_W-1:0]       cut_dwords,
  input logic                   cut_drop,
  input logic                   s_row_valid,
  input logic                   m_rq_ready,
  input logic                   done_room,
  input logic [3:0][LEN_W-1:0]  any_len,   // dwords of packets 0, 1, 2, 3, 0, ...
  input logic [3:0]             any_owner  // ... and whose they are: function 0 or 1
);
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  localparam int N = DATA_W / 32;

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  logic [3:0][LEN_W-1:0] len_q;
  logic [3:0]            owner_q;
  always_ff @(posedge clk) begin
    len_q   <= started_q ? len_q : any_len;
    owner_q <= started_q ? owner_q : any_owner;
  end
  always_comb for (int p = 0; p < 4; p++) assume (any_len[p] != '0);

  // ---- cuts of each packet: they sum to its length
  logic             s_cut_ready, cut_offered_q, offered_drop_q;
  logic [1:0]       cut_at_q;
  logic [LEN_W-1:0] cut_left, cut_done_q, offered_q;
  write_cut_t       s_cut;
  assign cut_left = len_q[cut_at_q] - cut_done_q;
  always_comb begin
    assume (cut_dwords != '0 && cut_dwords <= cut_left);
    assume (!cut_offered_q || (s_cut_valid && cut_dwords == offered_q && cut_drop == offered_drop_q));
    s_cut         = '0;
    s_cut.fn      = 8'(owner_q[cut_at_q]);
    s_cut.drop    = cut_drop;
    s_cut.dwords  = 9'(cut_dwords);
    s_cut.last    = cut_dwords == cut_left;
  end
  always_ff @(posedge clk) begin
    cut_offered_q  <= s_cut_valid && !s_cut_ready;
    offered_q      <= cut_dwords;
    offered_drop_q <= cut_drop;
    if (s_cut_valid && s_cut_ready) begin
      cut_done_q <= s_cut.last ? '0 : cut_done_q + cut_dwords;
      cut_at_q   <= cut_at_q + 2'(s_cut.last);
    end
    if (rst) begin
      cut_offered_q <= 1'b0;
      cut_done_q    <= '0;
      cut_at_q      <= '0;
    end
  end

  // ---- rows of each packet, from lane 0 of a row on
  logic              s_row_ready, row_offered_q;
  logic [1:0]        row_at_q;
  logic [LEN_W-1:0]  row_left, row_done_q;
  logic [DATA_W-1:0] s_row_data;
  row_info_t         s_row_info;
  assign row_left = len_q[row_at_q] - row_done_q;
  always_comb begin
    assume (!row_offered_q || s_row_valid);
    s_row_info      = '0;
    s_row_info.last = row_left <= LEN_W'(N);
    for (int l = 0; l < N; l++) s_row_data[32*l+:32] = 32'(owner_q[row_at_q] ^ (LEN_W'(l) >= row_left));
  end
  always_ff @(posedge clk) begin
    row_offered_q <= s_row_valid && !s_row_ready;
    if (s_row_valid && s_row_ready) begin
      row_done_q <= s_row_info.last ? '0 : row_done_q + LEN_W'(N);
      row_at_q   <= row_at_q + 2'(s_row_info.last);
    end
    if (rst) begin
      row_offered_q <= 1'b0;
      row_done_q    <= '0;
      row_at_q      <= '0;
    end
  end

  // ---- the blocks, wired as in db_pcie_write
  logic              tlp_valid, tlp_ready, row_valid, row_ready, row_last, row_err, row_in, row_late, m_rq_valid;
  write_tlp_t        tlp;
  logic [ROW_W-1:0]  tlp_end_row, rows_in, rows_late;
  logic [DATA_W-1:0] row;
  rq_t               m_rq;
  db_pcie_write_place #(.DATA_W(DATA_W), .USER_W(1), .ROW_W(ROW_W)) i_place (
    .clk, .rst, .s_cut_valid, .s_cut_ready, .s_cut, .s_cut_user(1'b0), .m_tlp_valid(tlp_valid),
    .m_tlp_ready(tlp_ready), .m_tlp(tlp), .m_tlp_end_row(tlp_end_row), .m_tlp_user());
  db_pcie_write_rows #(.DATA_W(DATA_W), .DEPTH(DEPTH), .ROW_W(ROW_W)) i_rows (
    .clk, .rst, .s_row_valid, .s_row_ready, .s_row_data, .s_row_info, .m_row_valid(row_valid), .m_row_ready(row_ready),
    .m_row_data(row), .m_row_last(row_last), .m_row_err(row_err), .row_in, .row_late, .rows_in, .rows_late);
  db_pcie_write_beats #(.NUM_FN(1), .DATA_W(DATA_W), .USER_W(1), .ROW_W(ROW_W)) i_beats (
    .clk, .rst, .silent('0), .s_tlp_valid(tlp_valid), .s_tlp_ready(tlp_ready), .s_tlp(tlp),
    .s_tlp_end_row(tlp_end_row), .s_tlp_user(1'b0), .s_tlp_void(1'b0), .act_user(), .act_void(1'b0), .fence(1'b0),
    .fenced(), .row_in, .row_late, .rows_in, .rows_late, .s_row_valid(row_valid), .s_row_ready(row_ready),
    .s_row_data(row), .s_row_last(row_last), .s_row_err(row_err), .done_room, .m_rq_valid, .m_rq_ready, .m_rq,
    .m_done_valid(), .m_done_user(), .m_done_err());

  // ---- what is on RQ: at 128 bit the first beat is the descriptor alone
  logic     inside_q, fn_q, sent_q;
  rq_desc_t desc;
  assign desc = rq_desc_t'(m_rq.tdata[127:0]);
  always_ff @(posedge clk) begin
    if (m_rq_valid && m_rq_ready) begin
      inside_q <= !m_rq.tlast;
      if (!inside_q) fn_q <= desc.requester_fn[0];
      if (inside_q && !fn_q) sent_q <= 1'b1;
    end
    if (rst) begin
      inside_q <= 1'b0;
      sent_q   <= 1'b0;
    end
  end
  always_comb if (started_q && !rst && !COVER && m_rq_valid && inside_q)
    for (int l = 0; l < N; l++) if (m_rq.tkeep[l]) assert (m_rq.tdata[32*l] == fn_q);

  // data of function 1 behind data of function 0
  if (COVER) begin : g_cover
    always_comb cover (started_q && sent_q && m_rq_valid && inside_q && fn_q);
  end
endmodule
