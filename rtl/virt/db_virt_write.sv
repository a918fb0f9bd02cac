// SPDX-License-Identifier: Apache-2.0
// Writes of the virtual media: each burst becomes a block command of the SSD that has it; its response is the command's end.
//
// A burst without strobes (its data did not arrive, or its command was aborted) writes nothing and is answered as good.
// Latency: 3 cycles from AW to the first row at the SSD, if W is there. Throughput: a row a cycle, a burst every 3 cycles.
`include "db_axi_types.svh"
module db_virt_write
  import db_host_pkg::*, db_virt_pkg::*;
#(
  parameter int DATA_W  = 256,   ///< bits of a row: 128, 256, 512
  parameter int ADDR_W  = 40,    ///< bits of a media address
  parameter int NUM_SSD = 2,     ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
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
  /// to the SSD of its place
  output logic                           m_cmd_valid,
  input  logic                           m_cmd_ready,
  output logic [SSD_W-1:0]               m_cmd_ssd,
  output block_cmd_t                     m_cmd,
  /// rows for each SSD
  output logic [NUM_SSD-1:0]             m_row_valid,
  input  logic [NUM_SSD-1:0]             m_row_ready,
  output logic [DATA_W-1:0]              m_row_data,
  /// how each SSD's Writes end, in their order; a pulse
  input  logic [NUM_SSD-1:0]             s_end_valid,
  input  logic [NUM_SSD-1:0]             s_end_err
);
  localparam int BURSTS   = 512;  // under way
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int INDEX_W  = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  typedef enum logic [1:0] {END_SSD, END_CARD, END_GOOD, END_BAD} end_e;
  typedef struct packed {
    end_e             kind;
    logic [SSD_W-1:0] ssd;
  } end_t;
  typedef `DB_AXI_ADDR_T(ADDR_W) axi_addr_t;

  // ---- where to
  logic      map_ready, place_valid, place_ready, hold;
  place_t    place;
  axi_addr_t aw_q;
  db_virt_map #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_map (
    .clk, .rst, .ssd_pages, .ssd, .m_look_valid, .m_look, .s_extent,
    .s_valid(s_axi_write_req.aw_valid), .s_ready(map_ready),
    .s_addr(s_axi_write_req.aw.addr), .s_bytes((13'(s_axi_write_req.aw.len) + 13'd1) << ROW_LOG2),
    .m_valid(place_valid), .m_ready(place_ready), .m_place(place), .hold);
  always_ff @(posedge clk) if (map_ready) aw_q <= s_axi_write_req.aw;

  // ---- with the first row the burst begins: it takes its place in the order of responses
  logic               empty, begin_it, order_ready, end_in_valid, begun_q, card_sent_q, card_go, row_take;
  end_t               end_in;
  end_e               kind, kind_q;
  logic [SSD_W-1:0]   to_q, to;
  logic [INDEX_W-1:0] index;
  assign empty = s_axi_write_req.w.strb == '0;
  always_comb begin
    unique case (place.kind)
      PLACE_SSD:  kind = empty ? END_GOOD : END_SSD;
      PLACE_CARD: kind = empty ? END_GOOD : END_CARD;
      default:    kind = empty ? END_GOOD : END_BAD;
    endcase
    if (begun_q) kind = kind_q;
  end
  assign to    = begun_q ? to_q : place.ssd;
  assign index = INDEX_W'(to);
  // Ready to begin, but for what its place says.
  logic may;
  assign may          = !begun_q && place_valid && !hold && order_ready && s_axi_write_req.w_valid;
  assign card_go      = may && kind == END_CARD && !card_sent_q;
  assign m_cmd_valid  = may && kind == END_SSD;
  assign m_cmd_ssd    = place.ssd;
  assign m_cmd        = '{rsvd: '0, op: BLOCK_WRITE, tag: 16'(TAG_WRITE), blocks: place.blocks, lba: place.lba};
  assign begin_it     = may && (kind == END_SSD ? m_cmd_ready : kind == END_CARD ? card_sent_q : 1'b1);
  assign place_ready  = begin_it;
  assign end_in_valid = begin_it;
  assign end_in       = '{kind: kind, ssd: place.ssd};

  // ---- rows; the first one follows a cycle after its burst began
  assign row_take = begun_q && s_axi_write_req.w_valid &&
                    (kind == END_SSD ? m_row_ready[index] : kind == END_CARD ? m_card_write_rsp.w_ready : 1'b1);
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    assign m_row_valid[i] = begun_q && s_axi_write_req.w_valid && kind == END_SSD && index == INDEX_W'(i);
  end
  assign m_row_data = s_axi_write_req.w.data;
  always_ff @(posedge clk) begin
    if (begin_it) begin
      begun_q <= 1'b1;
      kind_q  <= kind;
      to_q    <= place.ssd;
    end
    if (row_take && s_axi_write_req.w.last) begun_q <= 1'b0;
    if (card_go && m_card_write_rsp.aw_ready) card_sent_q <= 1'b1;
    if (begin_it) card_sent_q <= 1'b0;
    if (rst) begin
      begun_q     <= 1'b0;
      card_sent_q <= 1'b0;
    end
  end

  // ---- responses
  logic               end_valid, end_ready, b_valid, b_ready;
  end_t               ending;
  logic [INDEX_W-1:0] from;
  logic [1:0]         b;
  logic [NUM_SSD-1:0] done_valid, done_ready, done_err;
  db_fifo #(.WIDTH($bits(end_t)), .DEPTH(BURSTS)) i_order (
    .clk, .rst, .s_valid(end_in_valid), .s_ready(order_ready), .s_data(end_in), .m_valid(end_valid),
    .m_ready(end_ready),
    .m_data(ending), .level());
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_done
    // room for all: there are never more Writes under way than places in the order
    db_fifo #(.WIDTH(1), .DEPTH(BURSTS)) i_done (
      .clk, .rst, .s_valid(s_end_valid[i]), .s_ready(), .s_data(s_end_err[i]), .m_valid(done_valid[i]),
      .m_ready(done_ready[i]), .m_data(done_err[i]), .level());
    assign done_ready[i] = end_ready && ending.kind == END_SSD && from == INDEX_W'(i);
  end
  assign from = INDEX_W'(ending.ssd);
  always_comb begin
    b_valid = end_valid;
    b       = 2'b00;
    unique case (ending.kind)
      END_SSD: begin
        b_valid = end_valid && done_valid[from];
        b       = {done_err[from], 1'b0};
      end
      END_CARD: begin
        b_valid = end_valid && m_card_write_rsp.b_valid;
        b       = m_card_write_rsp.b;
      end
      END_BAD: b = 2'b10;
      default: ;
    endcase
  end
  assign end_ready        = b_valid && b_ready;
  assign m_card_write_req = '{aw_valid: card_go, aw: aw_q,
  w_valid: begun_q && s_axi_write_req.w_valid && kind == END_CARD,
                              w: s_axi_write_req.w, b_ready: b_ready && end_valid && ending.kind == END_CARD};
  logic       out_valid;
  logic [1:0] out;
  db_skid #(.WIDTH(2)) i_out (
    .clk, .rst, .s_valid(b_valid), .s_ready(b_ready), .s_data(b), .m_valid(out_valid),
    .m_ready(s_axi_write_req.b_ready),
    .m_data(out));
  assign s_axi_write_rsp = '{aw_ready: map_ready, w_ready: row_take, b_valid: out_valid, b: out};
  assign idle            = map_ready && !s_axi_write_req.aw_valid && !end_valid && !out_valid && !begun_q;
endmodule
