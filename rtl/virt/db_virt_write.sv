// SPDX-License-Identifier: Apache-2.0
// Writes of the virtual media: each burst becomes a block command of the SSD that has it.
//
// db_virt_ahead has let the commands go for which there is room: so no burst waits for an SSD. It is answered as good when
// its last row is in the SSD's ring; what becomes of it is known by its command's slot later. Bursts come in the order of these commands.
// One without strobes (its data did not arrive, or its command was aborted) writes nothing, nor does one whose SSD was not
// there; they end at once (m_none). The card's own memory answers for itself.
// Latency: 3 cycles from AW to the first row at the SSD, if W is there. Throughput: a row a cycle, a burst every 3 cycles.
`include "db_axi_types.svh"
module db_virt_write
  import db_host_pkg::*, db_virt_pkg::*, db_ssd_pkg::SLOT_W;
#(
  parameter int DATA_W  = 256,   ///< bits of a row: 128, 256, 512
  parameter int ADDR_W  = 40,    ///< bits of a media address
  parameter int NUM_SSD = 2,     ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
  parameter int NUM_CMDS = 128,  ///< commands at once: power of two, 2..256
  localparam int LOOK_W = ADDR_W - GRANULE_LOG2,
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic [51:0]                    ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0]       ssd,
  output logic                           idle,
  /// db_virt_map
  output logic                           m_look_valid,
  output logic [LOOK_W-1:0]              m_look,
  input  extent_t                        s_extent,
  input  axi_write_req_t                 s_axi_write_req,
  output axi_write_rsp_t                 s_axi_write_rsp,
  /// the card's own memory
  output axi_write_req_t                 m_card_write_req,
  input  axi_write_rsp_t                 m_card_write_rsp,
  /// pulse: a command's bursts will come; until forget none is under way, and all are forgotten
  input  logic                           s_let_valid,
  input  logic [SLOT_W-1:0]              s_let_slot,
  input  let_t                           s_let,
  input  logic                           forget,
  /// pulses: a burst has gone to its SSD, or has not; it has so many units of 512 bytes
  output logic [NUM_SSD-1:0]             m_burst_valid,
  output logic [NUM_SSD-1:0]             m_void_valid,
  output logic [3:0]                     m_burst_len,
  /// pulse, then: it has ended without one
  output logic                           m_none_valid,
  output logic [SLOT_W-1:0]              m_none_slot,
  output logic                           m_none_err,
  /// to the SSD of its place
  output logic                           m_cmd_valid,
  input  logic                           m_cmd_ready,
  output logic [SSD_W-1:0]               m_cmd_ssd,
  output block_cmd_t                     m_cmd,
  /// rows for each SSD
  output logic [NUM_SSD-1:0]             m_row_valid,
  input  logic [NUM_SSD-1:0]             m_row_ready,
  output logic [DATA_W-1:0]              m_row_data
);
  localparam int BURSTS   = 64;   // that wait for their answer
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int INDEX_W  = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  typedef enum logic [1:0] {END_SSD, END_CARD, END_VOID, END_NONE} end_e;
  typedef `DB_AXI_ADDR_T(ADDR_W) axi_addr_t;

  // ---- where to
  logic      map_ready, place_valid, place_ready, card_aw_q;
  place_t    place;
  axi_addr_t aw_q;
  // What was let go is there, whatever has become of the SSD.
  ssd_state_t [NUM_SSD-1:0] there;
  always_comb for (int i = 0; i < NUM_SSD; i++)
    there[i] = '{present: 1'b1, up: 1'b1, dead: 1'b0, lba_shift: ssd[i].lba_shift};
  db_virt_map #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_map (
    .clk, .rst, .ssd_pages, .ssd(there), .m_look_valid, .m_look, .s_extent,
    .s_valid(s_axi_write_req.aw_valid && !card_aw_q), .s_ready(map_ready),
    .s_addr(s_axi_write_req.aw.addr), .s_bytes((13'(s_axi_write_req.aw.len) + 13'd1) << ROW_LOG2),
    .m_valid(place_valid), .m_ready(place_ready), .m_place(place));
  always_ff @(posedge clk) if (map_ready && !card_aw_q) aw_q <= s_axi_write_req.aw;

  // ---- its command
  logic              let_valid, let_take, on_card, begin_it;
  let_t              let_of;
  logic [SLOT_W-1:0] let_slot;
  logic [LET_W-1:0]  len512, left, gone_q;      // of the burst; with those of its command before it
  db_fifo #(.WIDTH(SLOT_W + $bits(let_t)), .DEPTH(NUM_CMDS)) i_let (
    .clk, .rst(rst || forget), .s_valid(s_let_valid && s_let.len512 != '0), .s_ready(), .s_data({s_let_slot, s_let}),
    .m_valid(let_valid), .m_ready(let_take), .m_data({let_slot, let_of}), .level());
  assign on_card  = place.kind == PLACE_CARD;
  assign len512   = (LET_W'(aw_q.len) + 1'b1) >> (9 - ROW_LOG2);
  assign left     = gone_q + len512;
  assign let_take = begin_it && !on_card && left == let_of.len512;
  always_ff @(posedge clk) begin
    if (begin_it && !on_card) gone_q <= let_take ? '0 : left;
    if (rst || forget) gone_q <= '0;
  end

  // ---- with the first row the burst begins
  // One to the card begins when its address is on offer, whether it has been taken or not: a slave may wait for W before
  // it takes AW. So aw_q stays until it has.
  logic               empty, order_ready, begun_q, card_shown_q, card_first, row_take, may;
  end_e               kind, kind_q;         // of the burst that could begin, of the one whose rows come
  logic [SSD_W-1:0]   to_q;
  logic [INDEX_W-1:0] index;
  assign empty = s_axi_write_req.w.strb == '0;
  always_comb begin
    kind = on_card ? END_CARD : let_of.none[place.ssd] ? END_NONE : END_SSD;
    if (empty && kind != END_NONE) kind = END_VOID;
  end
  assign index = INDEX_W'(to_q);
  // Ready to begin, but for what its place says.
  assign may          = !begun_q && place_valid && order_ready && s_axi_write_req.w_valid && (on_card || let_valid);
  assign card_first   = may && kind == END_CARD && !card_shown_q;
  assign m_cmd_valid  = may && kind == END_SSD;
  assign m_cmd_ssd    = place.ssd;
  assign m_cmd        = '{rsvd: '0, op: BLOCK_WRITE, tag: write_tag(let_slot), blocks: place.blocks, lba: place.lba};
  assign begin_it     = may && (kind == END_SSD ? m_cmd_ready : kind == END_CARD ? card_shown_q : 1'b1);
  assign place_ready  = begin_it;
  always_ff @(posedge clk) begin
    m_burst_len <= len512[3:0];
    for (int i = 0; i < NUM_SSD; i++) begin
      m_burst_valid[i] <= begin_it && kind == END_SSD && place.ssd == SSD_W'(i) && !rst;
      m_void_valid[i]  <= begin_it && kind == END_VOID && !on_card && !let_of.none[i] && place.ssd == SSD_W'(i) && !rst;
    end
    m_none_valid <= begin_it && !on_card && kind != END_SSD && !rst;
    m_none_slot  <= let_slot;
    m_none_err   <= kind == END_NONE && !empty;
  end

  // ---- rows; the first one follows a cycle after its burst began
  assign row_take = begun_q && s_axi_write_req.w_valid &&
                    (kind_q == END_SSD ? m_row_ready[index] : kind_q == END_CARD ? m_card_write_rsp.w_ready : 1'b1);
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    assign m_row_valid[i] = begun_q && s_axi_write_req.w_valid && kind_q == END_SSD && index == INDEX_W'(i);
  end
  assign m_row_data = s_axi_write_req.w.data;
  always_ff @(posedge clk) begin
    if (begin_it) begin
      begun_q <= 1'b1;
      kind_q  <= kind;
      to_q    <= place.ssd;
    end
    if (row_take && s_axi_write_req.w.last) begun_q <= 1'b0;
    card_shown_q <= card_first;
    card_aw_q    <= m_card_write_req.aw_valid && !m_card_write_rsp.aw_ready;
    if (rst) begin
      begun_q      <= 1'b0;
      card_shown_q <= 1'b0;
      card_aw_q    <= 1'b0;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && forget) assert (!begin_it);
`endif

  // ---- responses
  logic       end_valid, end_ready, b_valid, b_ready, on_card_end;
  logic [1:0] b;
  db_fifo #(.WIDTH(1), .DEPTH(BURSTS)) i_order (
    .clk, .rst, .s_valid(row_take && s_axi_write_req.w.last), .s_ready(order_ready), .s_data(kind_q == END_CARD),
    .m_valid(end_valid), .m_ready(end_ready), .m_data(on_card_end), .level());
  assign b_valid = end_valid && (!on_card_end || m_card_write_rsp.b_valid);
  assign b       = on_card_end ? m_card_write_rsp.b : 2'b00;
  assign end_ready        = b_valid && b_ready;
  assign m_card_write_req = '{aw_valid: card_first || card_aw_q, aw: aw_q,
                              w_valid: begun_q && s_axi_write_req.w_valid && kind_q == END_CARD,
                              w: s_axi_write_req.w, b_ready: b_ready && end_valid && on_card_end};
  logic       out_valid;
  logic [1:0] out;
  db_skid #(.WIDTH(2)) i_out (
    .clk, .rst, .s_valid(b_valid), .s_ready(b_ready), .s_data(b), .m_valid(out_valid),
    .m_ready(s_axi_write_req.b_ready),
    .m_data(out));
  assign s_axi_write_rsp = '{aw_held: 1'b0, aw_ready: map_ready && !card_aw_q, w_ready: row_take, b_valid: out_valid,
                             b: out};
  assign idle            = map_ready && !s_axi_write_req.aw_valid && !end_valid && !out_valid && !begun_q;
endmodule
