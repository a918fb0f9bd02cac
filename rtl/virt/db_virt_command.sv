// SPDX-License-Identifier: Apache-2.0
// Commands of the media's port, which are the firmware's, to those of SSDs: flush is one for each that is there and for the
// card's own memory, with a size for that alone; zero one Write Zeroes for each granule and SSD that has part of the stretch.
// One at a time, as the port gives them. The address of a flush says more: with MEDIA_FLUSH_ZEROED it goes only to SSDs that
// have zeroed something since the last one; of those of MEDIA_FLUSH_SPARED it is no error if they cannot.
//
// What a stretch has of a granule is one run of blocks on each SSD of it (db_virt_run).
// An SSD that is not there is not asked to flush; one that has been away since it zeroed something is an error then, as what
// its cache held may be gone. To zero something on one that is not there is an error, as is what has no block command, and what
// is nowhere. All that is left of the stretch is zeroed all the same. What is zeroed on an SSD that still has Writes of before a
// reset waits until it has ended them (`fence`): they would come onto the zeros.
// Latency: 2 cycles for each granule and 6 for each SSD of it, then the slowest. Throughput: one command at a time.
module db_virt_command
  import db_host_pkg::*, db_virt_pkg::*;
  import db_ssd_pkg::MEDIA_FLUSH_SPARED, db_ssd_pkg::MEDIA_FLUSH_ZEROED;
#(
  parameter int ADDR_W       = 40,  ///< bits of a media address
  parameter int NUM_SSD      = 2,   ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
  localparam int LOOK_W      = ADDR_W - GRANULE_LOG2
) (
  input  logic                     clk,
  input  logic                     rst,
  input  ssd_state_t [NUM_SSD-1:0] ssd,
  input  logic [NUM_SSD-1:0]       fence,   ///< it has Writes of before a reset (db_virt_write_lane)
  output logic                     idle,
  /// 0 flush, 1 zero; the answer is a pulse
  input  logic                     s_cmd_valid,
  output logic                     s_cmd_ready,
  input  logic [1:0]               s_op,
  input  logic [ADDR_W-1:0]        s_addr,
  input  logic [63:0]              s_bytes,
  output logic                     m_rsp_valid,
  output logic                     m_rsp_err,
  /// db_virt_extents: the answer is there a cycle after m_look_valid and s_look_ready
  output logic                     m_look_valid,
  input  logic                     s_look_ready,
  output logic [LOOK_W-1:0]        m_look,
  input  extent_t                  s_extent,
  /// the card's own memory: flush alone
  output logic                     m_card_valid,
  input  logic                     m_card_ready,
  input  logic                     s_card_rsp_valid,
  input  logic                     s_card_rsp_err,
  /// to SSDs, and how their commands end: pulses
  output logic                     m_cmd_valid,
  input  logic                     m_cmd_ready,
  output logic [SSD_W-1:0]         m_cmd_ssd,
  output block_cmd_t               m_cmd,
  input  logic [NUM_SSD-1:0]       s_end_valid,
  input  logic [NUM_SSD-1:0]       s_end_err
);
  localparam int INDEX_W = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  localparam int G       = GRANULE_LOG2;
  localparam int OUT_W   = 5;                                  // of commands under way
  typedef enum logic [3:0] {ST_IDLE, ST_CARD, ST_LOOK, ST_GET, ST_RUN, ST_FIT, ST_SEND, ST_OFFER, ST_WAIT} state_e;
  state_e             state_q;
  logic               zero_q, card_q, some_q, err_q, lost_q, card_wait_q, last;
  logic [NUM_SSD-1:0] zeroed_q, there;                         // they have zeroed something since the last flush
  logic [NUM_SSD-1:0] spared_q;                                // they may fail
  logic [SSD_W-1:0]   member_q, which;                         // of the SSDs of the granule, or of all; which that is
  logic [OUT_W-1:0]   out_q, ended;
  logic [ADDR_W:0]    from_q, to_q, next_q;                    // bytes of the media: what is left; the next granule
  extent_t            extent_q;
  logic [63:0]        lba, lba_q;                              // of what the SSD has of the granule
  logic [31:0]        blocks, blocks_q;
  logic               run_done, some, misfit;
  ssd_state_t         now;

  // Which bytes of the granule the stretch has: up to its end at most.
  logic [G:0] first, after_q;
  assign first = {1'b0, from_q[G-1:0]};
  always_ff @(posedge clk) after_q <= to_q >= next_q ? {1'b1, G'(0)} : {1'b0, to_q[G-1:0]};

  logic [SSD_W-1:0] mask;
  assign mask = ~(SSD_W'('1) << extent_q.log2);
  db_virt_run #(.GRANULE_LOG2(G)) i_run (
    .clk, .rst, .go(state_q == ST_RUN), .done(run_done), .extent(extent_q), .member(member_q), .first, .after(after_q),
    .lba_shift(now.lba_shift), .some, .misfit, .lba, .blocks);

  logic misfit_q, asks_q, asks, bad, room, offers;
  assign which  = zero_q ? extent_q.ssd | member_q : member_q;
  assign now    = ssd[INDEX_W'(which)];
  assign last   = zero_q ? member_q == mask : member_q == SSD_W'(NUM_SSD - 1);
  assign bad    = zero_q && (misfit_q || !now.present);
  assign room   = !out_q[OUT_W-1];
  assign asks   = asks_q && (!some_q || zeroed_q[INDEX_W'(which)]);
  assign offers = asks && !bad && now.present && (now.up || now.dead) && room && !(zero_q && fence[INDEX_W'(which)]);
  assign m_cmd_valid  = state_q == ST_OFFER;
  assign m_cmd_ssd    = which;
  assign m_cmd        = '{rsvd: '0, op: zero_q ? BLOCK_ZEROES : BLOCK_FLUSH, tag: 16'(TAG_MEDIA),
                          blocks: zero_q ? blocks_q : 32'd1,
                          lba: zero_q ? lba_q : 64'd0};
  assign s_cmd_ready  = state_q == ST_IDLE;
  assign m_card_valid = state_q == ST_CARD;
  assign m_look_valid = state_q == ST_LOOK && from_q < to_q;
  assign m_look       = from_q[ADDR_W-1:G];
  assign idle         = state_q == ST_IDLE && !s_cmd_valid && !m_rsp_valid;

  always_comb begin
    ended = '0;
    for (int i = 0; i < NUM_SSD; i++) begin
      ended    += OUT_W'(s_end_valid[i]);
      there[i]  = ssd[i].present;
    end
  end

  always_ff @(posedge clk) begin
    m_rsp_valid <= 1'b0;
    if (zero_q) zeroed_q <= zeroed_q | (s_end_valid & ~s_end_err);
    if ((zeroed_q & ~there) != '0) lost_q <= 1'b1;
    unique case (state_q)
      ST_IDLE: if (s_cmd_valid) begin
        zero_q   <= s_op == 2'd1;
        card_q   <= s_bytes != '0;
        some_q   <= s_op == 2'd0 && (16'(s_addr) & MEDIA_FLUSH_ZEROED) != '0;
        spared_q <= s_op == 2'd0 ? NUM_SSD'(16'(s_addr) & MEDIA_FLUSH_SPARED) : '0;
        asks_q   <= 1'b1;
        misfit_q <= 1'b0;
        err_q    <= s_op > 2'd1;
        from_q   <= (ADDR_W+1)'(s_addr);
        to_q     <= (ADDR_W+1)'(64'(s_addr) + s_bytes);
        member_q <= '0;
        state_q  <= s_op == 2'd0 ? ST_CARD : s_op == 2'd1 ? ST_LOOK : ST_WAIT;
      end
      ST_CARD: if (m_card_ready) begin
        card_wait_q <= 1'b1;
        state_q     <= card_q ? ST_WAIT : ST_SEND;
      end
      ST_LOOK: begin
        next_q <= {(ADDR_W+1-G)'(from_q[ADDR_W:G] + 1'b1), G'(0)};
        if (from_q >= to_q) state_q <= ST_WAIT;
        else if (s_look_ready) state_q <= ST_GET;
      end
      ST_GET: begin
        extent_q <= s_extent;
        member_q <= '0;
        if (s_extent.valid) state_q <= ST_RUN;
        else begin
          err_q   <= 1'b1;
          from_q  <= next_q;
          state_q <= ST_LOOK;
        end
      end
      ST_RUN: if (run_done) state_q <= ST_FIT;
      ST_FIT: begin
        misfit_q <= misfit;
        blocks_q <= blocks;
        lba_q    <= lba;
        asks_q   <= some;
        // what lba_shift says of an SSD that is being brought up is not known
        if (!now.present || now.up || now.dead || !some) state_q <= ST_SEND;
      end
      ST_SEND, ST_OFFER: begin
        if (state_q == ST_SEND && offers) state_q <= ST_OFFER;
        if (state_q == ST_OFFER ? m_cmd_ready : !asks || bad || !now.present) begin
          if (state_q == ST_SEND && asks && bad) err_q <= 1'b1;
          member_q <= member_q + 1'b1;
          state_q  <= zero_q ? ST_RUN : ST_SEND;
          if (last) begin
            from_q  <= next_q;
            state_q <= zero_q ? ST_LOOK : ST_WAIT;
          end
        end
      end
      default: if (out_q == '0 && !card_wait_q) begin
        m_rsp_valid <= 1'b1;
        m_rsp_err   <= err_q || (some_q && lost_q);
        state_q     <= ST_IDLE;
        if (zero_q ? err_q : !card_q) begin  // of what has failed nobody asks for a flush
          zeroed_q <= '0;
          lost_q   <= 1'b0;
        end
      end
    endcase
    if (s_card_rsp_valid) begin
      card_wait_q <= 1'b0;
      if (s_card_rsp_err) err_q <= 1'b1;
    end
    if ((s_end_valid & s_end_err & ~spared_q) != '0) err_q <= 1'b1;
    out_q <= out_q + OUT_W'(m_cmd_valid && m_cmd_ready) - ended;
    if (rst) begin
      state_q     <= ST_IDLE;
      card_wait_q <= 1'b0;
      out_q       <= '0;
      zeroed_q    <= '0;
      lost_q      <= 1'b0;
      m_rsp_valid <= 1'b0;
    end
  end
endmodule
