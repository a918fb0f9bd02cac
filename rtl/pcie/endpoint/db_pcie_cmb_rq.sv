// SPDX-License-Identifier: Apache-2.0
// RQ of a controller, parted: requests whose address lies in the requesting function's window become requests to card
// memory, in the form of CQ; all others go on to the link as they are. Packets of others than the controller (peers' tags, 128
// and up) always do.
//
// Why in the order of RQ, one head for both: what is posted behind a write to card memory (an interrupt behind its entry)
// must not pass it. A packet leaves for the link only when the one before has gone into the one stream of card memory.
// Where a request goes is known by its page (db_pcie_cmb_window); its address there is put together from the function's
// place and the offset in its region, so that it can be no other's.
// Latency: 5 cycles to either side. Throughput: a beat a cycle; to card memory at 512 bits a bubble behind a packet whose last
// beat has more than 12 dwords.
`include "db_pcie_types.svh"
module db_pcie_cmb_rq
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN      = 1,    ///< functions, 1..17
  parameter int DATA_W      = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int REGION_LOG2 = 16,   ///< log2 of the bytes of a function's region, 12..30
  parameter bit TOP         = 1'b0, ///< it lies at the end of all addresses, too (db_pcie_cmb_window)
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               set_valid,
  input  logic [PLACE_W-1:0] set_place,
  input  cmb_window_t        set,
  input  logic [NUM_FN-1:0]  clear,        ///< pulse: the function has no window
  output logic [NUM_FN-1:0]  base_invalid,
  /// no packet inside
  output logic               idle,
  /// pulse: a posted write of the controller begins on the link
  output logic               link_write,
  /// pulse: a beat leaves for either side
  output logic               pop,

  /// of db_pcie_rq_mux; at 512 bits payload alone, the descriptor in tuser
  input  logic               s_rq_valid,
  output logic               s_rq_ready,
  input  rq_t                s_rq,

  output logic               m_rq_valid,
  input  logic               m_rq_ready,
  output rq_t                m_rq,

  /// BAR 4, address {place, offset}, rsvd1 of the descriptor: 1
  output logic               m_cq_valid,
  input  logic               m_cq_ready,
  output cq_t                m_cq
);
  localparam int N         = DATA_W / 32;
  localparam int DEPTH     = 16;
  localparam int PAGES_W   = REGION_LOG2 == 12 ? 1 : REGION_LOG2 - 12;
  localparam int CQ_USER_W = cq_user_w(DATA_W);

  // ---- what comes, and where it goes
  typedef struct packed {
    logic               hit;
    logic [PLACE_W-1:0] place;
    logic [PAGES_W-1:0] page;
  } where_t;
  rq_t      beat;
  rq_desc_t desc_in, desc;
  logic     take, in_mid_q, valid, found_valid, pop_found, head_mid_q, hit_q, may, hit;
  where_t   found_in, found;
  logic     found_in_valid;

  function automatic rq_desc_t desc_of(input rq_t b);
    rq_side_t side;
    side = rq_side_t'($bits(rq_side_t)'(b.tuser));
    return (DATA_W == 512) ? side.desc : rq_desc_t'(b.tdata[127:0]);
  endfunction

  assign take    = s_rq_valid && s_rq_ready;
  assign desc_in = desc_of(s_rq);
  db_fifo #(.WIDTH($bits(rq_t)), .DEPTH(DEPTH)) i_beats (
    .clk, .rst, .s_valid(s_rq_valid), .s_ready(s_rq_ready), .s_data(s_rq), .m_valid(valid), .m_ready(pop),
    .m_data(beat), .level());
  db_pcie_cmb_window #(.NUM_FN(NUM_FN), .REGION_LOG2(REGION_LOG2), .TOP(TOP)) i_window (
    .clk, .rst, .set_valid, .set_place, .set, .clear, .base_invalid, .s_valid(take && !in_mid_q),
    .s_place(desc_in.tag[7] ? '1 : fn_place(desc_in.requester_fn)), .s_page(desc_in.addr_dw[61:10]),
    .m_valid(found_in_valid), .m_hit(found_in.hit), .m_place(found_in.place), .m_page(found_in.page));
  // As many as there can be packets in front.
  db_fifo #(.WIDTH($bits(where_t)), .DEPTH(DEPTH)) i_found (
    .clk, .rst, .s_valid(found_in_valid), .s_ready(), .s_data(found_in), .m_valid(found_valid), .m_ready(pop_found),
    .m_data(found), .level());
  assign desc      = desc_of(beat);
  assign may       = valid && (head_mid_q || found_valid);
  assign hit       = head_mid_q ? hit_q : found.hit;
  assign pop_found = pop && !head_mid_q;
  always_ff @(posedge clk) begin
    if (take) in_mid_q <= !s_rq.tlast;
    if (pop) begin
      head_mid_q <= !beat.tlast;
      hit_q      <= hit;
    end
    if (rst) begin
      in_mid_q   <= 1'b0;
      head_mid_q <= 1'b0;
    end
  end

  // ---- to the link
  logic link_ready, link_take, spills;  // the end of a packet to card memory is to leave yet
  assign link_take = may && !hit && !spills && link_ready;
  db_skid #(.WIDTH($bits(rq_t))) i_link (
    .clk, .rst, .s_valid(link_take), .s_ready(link_ready), .s_data(beat), .m_valid(m_rq_valid), .m_ready(m_rq_ready),
    .m_data(m_rq));
  assign link_write = link_take && !head_mid_q && desc.req_type == REQ_MEM_WR && !desc.tag[7];
  assign idle       = !valid && !in_mid_q && !m_rq_valid && !spills;

  // ---- to card memory
  cq_desc_t out_desc;
  logic     cmb_take, cmb_ready;
  always_comb begin
    out_desc             = '0;
    out_desc.rsvd1       = 1'b1;
    out_desc.bar_id      = CMB_BAR;
    out_desc.target_fn   = desc.requester_fn;
    out_desc.tag         = desc.tag;
    out_desc.req_type    = desc.req_type;
    out_desc.dword_count = desc.dword_count;
    out_desc.addr_dw     = 62'({found.place, (REGION_LOG2 - 2)'({found.page, desc.addr_dw[9:0]})});
  end
  assign cmb_take = may && hit && cmb_ready;
  assign pop      = link_take || cmb_take;

  if (DATA_W == 512) begin : g_join
    rq_side_t side;
    cq_side_t out_side;
    cq_t      row;
    assign side     = rq_side_t'(beat.tuser[$bits(rq_side_t)-1:0]);
    always_comb begin
      out_side = '{damaged: 1'b0, last_be: rq_last_be(desc), first_be: 4'hf, desc: out_desc};
      if (head_mid_q) out_side.last_be = 4'hf;  // the descriptor is that of the first beat alone
    end
    always_comb begin
      row = '{tuser: CQ_USER_W'(out_side), tlast: beat.tlast, tkeep: '0, tdata: beat.tdata};
      for (int l = 0; l < N; l++) row.tkeep[l] = 5'(l) < side.dwords;
    end
    db_pcie_cq_join i_join (
      .clk, .rst, .spills, .s_valid(may && hit), .s_ready(cmb_ready), .s_row(row), .m_cq_valid, .m_cq_ready, .m_cq);
  end else begin : g_plain
    logic [182:0] user;
    assign spills     = 1'b0;
    assign cmb_ready  = m_cq_ready;
    assign m_cq_valid = may && hit;
    always_comb begin
      user       = '0;
      user[3:0]  = 4'hf;
      user[7:4]  = rq_last_be(desc);
      for (int l = 0; l < N; l++) user[8 + 4*l +: 4] = {4{beat.tkeep[l]}};
      m_cq       = '{tuser: CQ_USER_W'(user), tlast: beat.tlast, tkeep: beat.tkeep, tdata: beat.tdata};
      if (!head_mid_q) m_cq.tdata[127:0] = out_desc;
    end
  end
endmodule
