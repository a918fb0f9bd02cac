// SPDX-License-Identifier: Apache-2.0
// Requester completions (RC) to writes into the ring RAMs of the read clients.
//
// What: looks up where a tag's request put its data (context table, written by db_pcie_read_mux when the request
//   leaves), finds the position of this completion in it from the descriptor's remaining byte count, rotates each
//   beat so that dword k of the ring lies in bank k mod N, and gives every bank its own row address. One beat of
//   payload at any dword offset is therefore one write of N lanes, and all clients share the one rotator.
// Errors: a tag ends when the descriptor says "request completed", or with an error that ends the request by
//   definition (UR/CA/CRS, bad length, timeout, function-level reset). A poisoned, mismatched or discontinued
//   completion writes nothing and is remembered until the tag ends: further completions of a poisoned read may
//   still come, and the tag must not be used again before.
// Late completions: what comes for a tag that no request has, or as "invalid tag", is dropped and counted (m_late). A
//   tag that ended for another reason than its last completion may still get some: it ends with `lost`.
// At 512 bits RC is straddled; db_pcie_rc_straddle makes one completion a cycle of it.
// Latency: 3 cycles from s_rc to m_ring_* and m_done, at 512 bits 6. Throughput: one beat a cycle always, tready is
// constant 1; at 512 bits tready falls while runs of completions of a few dwords queue (see db_pcie_rc_straddle).
`include "db_pcie_types.svh"
module db_pcie_rc
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W      = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int NUM_CLIENTS = 4,    ///< read clients, 1..8
  parameter int TAG_W       = 8,    ///< bits of a tag, 1..8
  parameter int RING_W      = 12,   ///< log2 of the largest client ring in dwords; smaller rings use the low bits
  parameter bit PEERS       = 1'b0, ///< tags from 128 on are others'
  parameter bit CMB         = 1'b0, ///< there is s_cmb
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam int N        = DATA_W / 32,
  localparam int LANE_W   = $clog2(N),
  localparam int ROW_W    = RING_W - LANE_W,
  localparam int CLIENT_W = (NUM_CLIENTS > 1) ? $clog2(NUM_CLIENTS) : 1
) (
  input  logic                    clk,
  input  logic                    rst,

  input  logic                    s_rc_valid,
  output logic                    s_rc_ready,
  input  rc_t                     s_rc,
  /// CMB: completions of card memory, in the form of CC; link_rst resets their way
  input  logic                    link_rst,
  input  logic                    s_cmb_valid,
  output logic                    s_cmb_ready,
  input  cc_t                     s_cmb,

  /// a request leaves
  input  logic                    s_ctx_valid,
  input  read_ctx_t               s_ctx,

  /// ring writes of this client: lane k writes its own row of bank k
  output logic [CLIENT_W-1:0]     m_ring_client,
  output logic [N-1:0]            m_ring_we,
  output logic [N-1:0][ROW_W-1:0] m_ring_row,
  output logic [DATA_W-1:0]       m_ring_data,

  /// a tag has ended; in the cycle of its last ring write or later
  output logic                    m_done_valid,
  output read_done_t              m_done,
  /// pulse: a completion came that no request waits for
  output logic                    m_late
);
  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (NUM_CLIENTS < 1 || NUM_CLIENTS > MAX_CLIENTS) begin : g_bad_clients
    $error("%m: NUM_CLIENTS must be 1..%0d, not %0d", MAX_CLIENTS, NUM_CLIENTS);
  end
  if (TAG_W < 1 || TAG_W > 8) begin : g_bad_tag_w
    $error("%m: TAG_W must be 1..8, not %0d", TAG_W);
  end
  if (RING_W <= LANE_W || RING_W > MAX_RING_W) begin : g_bad_ring
    $error("%m: RING_W must be more than log2(DATA_W/32) and at most %0d, not %0d", MAX_RING_W, RING_W);
  end

  // ---- context table
  // Holds the end of the tag's ring space (less the dwords of descriptor in front of the payload), so that one
  // subtraction finds a beat's place: lane l of a packet's first beat belongs at end - remaining + l.
  localparam int CTX_W = CLIENT_W + RING_W + 11;
  localparam int H     = (DATA_W == 512) ? 0 : RC_DW;

  logic [RING_W-1:0] ctx_end;
  assign ctx_end = RING_W'(s_ctx.ring_dw) + RING_W'(s_ctx.dwords) - RING_W'(H);

  // ---- stage 1: one completion's beat
  // Straight from the port, or at 512 bits from the registers of db_pcie_rc_straddle.
  logic              s1_valid, s1_sop, s1_eop, s1_disc;
  logic [DATA_W-1:0] s1_data;
  logic [     N-1:0] s1_mask;    // lanes that hold payload
  rc_desc_t          s1_desc;    // valid with sop
  logic [      10:0] s1_rem_dw;  // dwords left of the request, this completion's included
  logic [      13:0] s1_rem_up;
  assign s1_rem_up = 14'(s1_desc.byte_count) + 14'd3;
  assign s1_rem_dw = s1_rem_up[12:2];

  if (DATA_W == 512) begin : g_straddle
    logic         valid, sop, eop, disc, pause, open, cmb_valid, cmb_sop, cmb_eop;
    logic [511:0] data, cmb_data;
    logic [4:0]   dwords, link_dwords, cmb_dwords;
    rc_desc_t     desc, cmb_desc;
    for (genvar l = 0; l < N; l++) begin : g_mask
      assign s1_mask[l] = 5'(l) < dwords;
    end
    db_pcie_rc_straddle i_straddle (
      .clk, .rst, .s_rc_valid, .s_rc_ready, .s_rc, .pause, .open, .m_valid(valid), .m_sop(sop), .m_eop(eop),
      .m_disc(disc), .m_data(data), .m_dwords(link_dwords), .m_desc(desc)
    );
    if (CMB) begin : g_cmb
      db_pcie_cmb_rc_rows i_rows (
        .clk, .rst(link_rst), .s_cmb_valid, .s_cmb_ready, .s_cmb, .pause, .link_open(open), .m_valid(cmb_valid),
        .m_sop(cmb_sop), .m_eop(cmb_eop), .m_data(cmb_data), .m_dwords(cmb_dwords), .m_desc(cmb_desc));
    end else begin : g_no_cmb
      logic unused_ok;
      assign unused_ok = &{1'b0, link_rst, open};
      assign {s_cmb_ready, pause, cmb_valid, cmb_sop, cmb_eop, cmb_data, cmb_dwords, cmb_desc} = '0;
    end
    assign s1_valid = valid || cmb_valid;
    assign s1_sop   = cmb_valid ? cmb_sop : sop;
    assign s1_eop   = cmb_valid ? cmb_eop : eop;
    assign s1_disc  = !cmb_valid && disc;
    assign s1_data  = cmb_valid ? cmb_data : data;
    assign dwords   = cmb_valid ? cmb_dwords : link_dwords;
    assign s1_desc  = cmb_valid ? cmb_desc : desc;
  end else begin : g_plain
    logic in_pkt_q, rc_valid;
    rc_t  rc;
    if (CMB) begin : g_cmb
      db_pcie_cmb_rc #(.DATA_W(DATA_W)) i_join (
        .clk, .rst(link_rst), .s_rc_valid, .s_rc_ready, .s_rc, .s_cmb_valid, .s_cmb_ready, .s_cmb,
        .m_rc_valid(rc_valid), .m_rc(rc));
    end else begin : g_no_cmb
      logic unused_ok;
      assign unused_ok   = &{1'b0, link_rst};
      assign s_rc_ready  = 1'b1;
      assign s_cmb_ready = 1'b0;
      assign rc_valid    = s_rc_valid;
      assign rc          = s_rc;
    end
    assign s1_desc    = rc_desc_t'(s1_data[$bits(rc_desc_t)-1:0]);
    assign s1_mask    = s1_sop ? (rc.tkeep & ~N'(2 ** RC_DW - 1)) : rc.tkeep;
    assign s1_valid   = rc_valid;
    assign s1_sop     = !in_pkt_q;
    assign s1_eop     = rc.tlast;
    assign s1_disc    = rc_discontinue(DATA_W, 161'(rc.tuser));
    assign s1_data    = rc.tdata;
    always_ff @(posedge clk) begin
      if (rst) in_pkt_q <= 1'b0;
      else if (rc_valid) in_pkt_q <= !rc.tlast;
    end
  end

  logic [    CTX_W-1:0] s2_ctx;
  logic [ CLIENT_W-1:0] s2_client;
  logic [RING_W-1:0] s2_end;
  logic [         10:0] s2_len;
  db_ram_sdp #(.WIDTH(CTX_W), .DEPTH(2 ** TAG_W)) i_ctx (
    .clk, .we(s_ctx_valid), .waddr(s_ctx.tag[TAG_W-1:0]),
    .wdata({s_ctx.client[CLIENT_W-1:0], ctx_end, s_ctx.dwords}), .re(s1_valid && s1_sop),
    .raddr(s1_desc.tag[TAG_W-1:0]), .rdata(s2_ctx)
  );
  assign {s2_client, s2_end, s2_len} = s2_ctx;

  // ---- stage 2: descriptor and context side by side
  logic              s2_valid_q, s2_sop_q, s2_eop_q, s2_disc_q;
  logic              s2_completed_q, s2_other_q, s2_ignore_q, s2_err_q, s2_ends_q, s2_lost_q;
  logic [DATA_W-1:0] s2_data_q;
  logic [     N-1:0] s2_mask_q;
  logic [ TAG_W-1:0] s2_tag_q;
  logic [      10:0] s2_rem_q;

  always_ff @(posedge clk) begin
    s2_valid_q <= s1_valid && !rst;
    s2_sop_q   <= s1_sop;
    s2_eop_q   <= s1_eop;
    s2_disc_q  <= s1_disc;
    s2_data_q  <= s1_data;
    s2_mask_q  <= s1_mask;
    s2_tag_q   <= s1_desc.tag[TAG_W-1:0];
    s2_rem_q   <= s1_rem_dw;
    s2_completed_q <= s1_desc.req_completed;
    s2_other_q     <= PEERS && s1_desc.tag[7];
    s2_ignore_q    <= s1_desc.error_code == RC_INVALID_TAG || (s1_desc.tag >> TAG_W) != '0;
    s2_lost_q      <= s1_desc.error_code inside {RC_BAD_LENGTH, RC_FLR, RC_TIMEOUT};
    s2_ends_q      <= s1_desc.error_code inside {RC_BAD_STATUS, RC_BAD_LENGTH, RC_FLR, RC_TIMEOUT};
    s2_err_q       <= s1_desc.error_code != RC_OK || s1_desc.dword_count > s1_rem_dw;
  end

  // ---- stage 3: place in the ring
  logic                 s3_valid_q, s3_sop_q, s3_eop_q, s3_disc_q;
  logic                 s3_other_q, s3_ignore_q, s3_err_q, s3_ends_q, s3_lost_q;
  logic [   DATA_W-1:0] s3_data_q;
  logic [        N-1:0] s3_mask_q;
  logic [    TAG_W-1:0] s3_tag_q;
  logic [ CLIENT_W-1:0] s3_client_q;
  logic [RING_W-1:0] s3_base_q;  // ring dword of lane 0

  always_ff @(posedge clk) begin
    s3_valid_q <= s2_valid_q && !rst;
    s3_sop_q   <= s2_sop_q;
    s3_eop_q   <= s2_eop_q;
    s3_disc_q  <= s2_disc_q;
    s3_data_q  <= s2_data_q;
    s3_mask_q  <= s2_mask_q;
    if (s2_valid_q) begin
      if (s2_sop_q) begin
        s3_base_q   <= s2_end - RING_W'(s2_rem_q);
        s3_tag_q    <= s2_tag_q;
        s3_client_q <= s2_client;
        s3_other_q  <= s2_other_q;
        s3_ignore_q <= s2_ignore_q;
        s3_ends_q   <= s2_completed_q || s2_ends_q;
        s3_lost_q   <= s2_lost_q;
        s3_err_q    <= s2_err_q || s2_rem_q > s2_len;
      end else begin
        s3_base_q <= s3_base_q + RING_W'(N);
      end
    end
  end

  // An error that does not end its tag is remembered without a memory of two writers: the request side makes a
  // tag's two bits differ, the error side makes them alike. So it is with open: a request has the tag.
  typedef struct packed {logic err, open;} tag_bits_t;
  logic [1:0] req_bits[2**TAG_W];
  logic [1:0] cpl_bits[2**TAG_W];
  tag_bits_t  req, cpl, cpl_d;  // of the tag of stage 3; what the completion makes of its own
  logic       s3_err, s3_err_before, s3_mine, disc_q;

  assign req           = req_bits[s3_tag_q];
  assign cpl           = cpl_bits[s3_tag_q];
  assign s3_err        = s3_err_q || s3_disc_q || (!s3_sop_q && disc_q);
  assign s3_err_before = req.err == cpl.err;
  assign s3_mine       = s3_valid_q && !s3_ignore_q && req.open != cpl.open;
  assign cpl_d         = '{err: s3_err ? req.err : cpl.err, open: s3_ends_q ? req.open : cpl.open};

  always_ff @(posedge clk) begin
    if (s3_valid_q) disc_q <= s3_disc_q || (!s3_sop_q && disc_q);
    if (s_ctx_valid) req_bits[s_ctx.tag[TAG_W-1:0]] <= ~cpl_bits[s_ctx.tag[TAG_W-1:0]];
    if (s3_mine && s3_eop_q) cpl_bits[s3_tag_q] <= cpl_d;
  end

  // ---- stage 4: rotate, out
  logic [LANE_W-1:0] s3_rot;
  logic [ ROW_W-1:0] s3_row;
  assign {s3_row, s3_rot} = s3_base_q;

  for (genvar k = 0; k < N; k++) begin : g_bank
    logic [LANE_W-1:0] lane;      // that goes to this bank
    logic              next_row;  // it lies beyond the end of lane 0's row
    assign {next_row, lane} = (LANE_W + 1)'(k) - {1'b0, s3_rot};
    always_ff @(posedge clk) begin
      m_ring_data[k*32+:32] <= s3_data_q[{lane, 5'd0}+:32];
      m_ring_row[k]         <= s3_row + ROW_W'(next_row);
      m_ring_we[k]          <= s3_mine && !s3_err_q && s3_mask_q[lane] && !rst;
    end
  end

  always_ff @(posedge clk) begin
    m_ring_client <= s3_client_q;
    m_done_valid  <= s3_mine && s3_eop_q && s3_ends_q && !rst;
    m_done        <= '{client: 3'(s3_client_q), tag: 8'(s3_tag_q), err: s3_err || s3_err_before, lost: s3_lost_q};
    m_late        <= s3_valid_q && s3_eop_q && !s3_mine && !s3_other_q && !rst;
  end
endmodule
