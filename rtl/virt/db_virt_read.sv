// SPDX-License-Identifier: Apache-2.0
// Reads of the virtual media: rows come in the order of the bursts, each from the SSD that has it.
//
// db_virt_ahead has asked for them, and has let the commands go whose rows are there: so no burst waits for an SSD. Bursts
// come in the order of these commands, by id. What an SSD could not read, and what was not asked for, comes as zeros with
// SLVERR. The card's own memory is read at once.
// Latency: 4 cycles from AR to R, 1 from a row to R. Throughput: a row a cycle, a burst every 3 cycles.
`include "db_axi_types.svh"
module db_virt_read
  import db_host_pkg::*, db_virt_pkg::*;
#(
  parameter int DATA_W  = 256,   ///< bits of a row: 128, 256, 512
  parameter int ADDR_W  = 40,    ///< bits of a media address
  parameter int NUM_SSD = 2,     ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
  parameter int NUM_CMDS = 128,  ///< commands at once: power of two, 2..256
  localparam int LOOK_W = ADDR_W - GRANULE_LOG2,
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic [51:0]                    ssd_pages,
  output logic                           idle,
  /// db_virt_map
  output logic                           m_look_valid,
  output logic [LOOK_W-1:0]              m_look,
  input  extent_t                        s_extent,
  input  axi_read_req_t                  s_axi_read_req,
  output axi_read_rsp_t                  s_axi_read_rsp,
  input  logic                           s_axi_arid,
  output logic                           s_axi_rid,
  /// the card's own memory
  output axi_read_req_t                  m_card_read_req,
  input  axi_read_rsp_t                  m_card_read_rsp,
  /// pulse: a command's bursts will come; until forget none is under way, and all are forgotten
  input  logic                           s_let_valid,
  input  let_t                           s_let,
  input  logic                           forget,
  /// each SSD's rows; err: it could not read it
  input  logic [NUM_SSD-1:0]             s_row_valid,
  output logic [NUM_SSD-1:0]             s_row_ready,
  input  logic [NUM_SSD-1:0][DATA_W-1:0] s_row_data,
  input  logic [NUM_SSD-1:0]             s_row_err
);
  localparam int BURSTS   = 64;   // under way
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int INDEX_W  = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  typedef struct packed {
    place_e           kind;
    logic [SSD_W-1:0] ssd;
    logic             id;
    logic [7:0]       len;
  } burst_t;
  typedef `DB_AXI_ADDR_T(ADDR_W) axi_addr_t;
  typedef `DB_AXI_R_T(DATA_W) axi_r_t;

  // ---- where to
  logic      map_ready, place_valid, place_ready, id_q;
  place_t    place;
  axi_addr_t ar_q;
  // Only where it is counts: what has been asked for comes, whatever became of the SSD.
  ssd_state_t [NUM_SSD-1:0] there;
  assign there = {NUM_SSD{ssd_state_t'{present: 1'b1, up: 1'b1, dead: 1'b0, lba_shift: 4'd9}}};
  db_virt_map #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_map (
    .clk, .rst, .ssd_pages, .ssd(there), .m_look_valid, .m_look, .s_extent,
    .s_valid(s_axi_read_req.ar_valid), .s_ready(map_ready),
    .s_addr(s_axi_read_req.ar.addr), .s_bytes((13'(s_axi_read_req.ar.len) + 13'd1) << ROW_LOG2), .m_valid(place_valid),
    .m_ready(place_ready), .m_place(place));
  always_ff @(posedge clk) begin
    if (map_ready) begin
      ar_q <= s_axi_read_req.ar;
      id_q <= s_axi_arid;
    end
  end

  // ---- its command says whether there is something
  logic [1:0]            let_valid, let_take;
  let_t [1:0]            let_of;
  logic [LET_W-1:0]      len512, left;
  logic [1:0][LET_W-1:0] gone_q;        // units of the command whose bursts come
  logic                  order_ready, burst_valid, burst_ready, may, on_card;
  burst_t                burst_in, burst;
  for (genvar i = 0; i < 2; i++) begin : g_let
    logic mine;
    assign mine = s_let_valid && s_let.len512 != '0 && s_let.compare == (i == 1);
    db_fifo #(.WIDTH($bits(let_t)), .DEPTH(NUM_CMDS)) i_let (
      .clk, .rst(rst || forget), .s_valid(mine), .s_ready(), .s_data(s_let),
      .m_valid(let_valid[i]), .m_ready(let_take[i]), .m_data(let_of[i]), .level());
    assign let_take[i] = place_ready && !on_card && id_q == (i == 1) && left == let_of[i].len512;
    always_ff @(posedge clk) begin
      if (place_ready && !on_card && id_q == (i == 1)) gone_q[i] <= let_take[i] ? '0 : left;
      if (rst || forget) gone_q[i] <= '0;
    end
  end
  assign len512       = (LET_W'(ar_q.len) + 1'b1) >> (9 - ROW_LOG2);
  assign left        = gone_q[id_q] + len512;
  assign on_card     = place.kind == PLACE_CARD;
  assign may         = place_valid && order_ready && (on_card || let_valid[id_q]);
  assign place_ready = may && (!on_card || m_card_read_rsp.ar_ready);
  always_comb begin
    burst_in = '{kind: PLACE_SSD, ssd: place.ssd, id: id_q, len: ar_q.len};
    if (on_card) burst_in.kind = PLACE_CARD;
    else if (let_of[id_q].none[place.ssd]) burst_in.kind = PLACE_NONE;
  end
  db_fifo #(.WIDTH($bits(burst_t)), .DEPTH(BURSTS)) i_order (
    .clk, .rst, .s_valid(place_ready), .s_ready(order_ready), .s_data(burst_in), .m_valid(burst_valid),
    .m_ready(burst_ready), .m_data(burst), .level());

  // ---- rows
  logic               row_valid, row_ready, row_take, last, r_valid;
  logic [7:0]         row_q;
  logic [INDEX_W-1:0] from;
  axi_r_t             row, r;
  assign from = INDEX_W'(burst.ssd);
  assign last = row_q == burst.len;
  always_comb begin
    row_valid = burst_valid;
    row       = '{last: last, resp: 2'b10, data: '0};
    unique case (burst.kind)
      PLACE_SSD: begin
        row_valid = burst_valid && s_row_valid[from];
        row.resp  = {s_row_err[from], 1'b0};
        row.data  = s_row_data[from];
      end
      PLACE_CARD: begin
        row_valid = burst_valid && m_card_read_rsp.r_valid;
        row.resp  = m_card_read_rsp.r.resp;
        row.data  = m_card_read_rsp.r.data;
      end
      default: ;
    endcase
  end
  assign row_take    = row_valid && row_ready;
  assign burst_ready = row_take && last;
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    assign s_row_ready[i] = burst_valid && row_ready && burst.kind == PLACE_SSD && from == INDEX_W'(i);
  end
  assign m_card_read_req = '{ar_valid: may && on_card, ar: ar_q,
                             r_ready: burst_valid && row_ready && burst.kind == PLACE_CARD};
  always_ff @(posedge clk) begin
    if (row_take) row_q <= last ? '0 : row_q + 8'd1;
    if (rst) row_q <= '0;
  end
  db_skid #(.WIDTH($bits(axi_r_t) + 1)) i_out (
    .clk, .rst, .s_valid(row_valid), .s_ready(row_ready), .s_data({burst.id, row}), .m_valid(r_valid),
    .m_ready(s_axi_read_req.r_ready), .m_data({s_axi_rid, r}));
  assign s_axi_read_rsp = '{ar_ready: map_ready, r_valid: r_valid, r: r};
  assign idle           = map_ready && !s_axi_read_req.ar_valid && !burst_valid && !r_valid;
endmodule
