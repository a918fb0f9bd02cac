// SPDX-License-Identifier: Apache-2.0
// Commands of the media's port to those of SSDs: flush is one for each that is there and for the card's own memory, zero
// one Write Zeroes for each SSD that has part of the stretch. One at a time, as the port gives them.
//
// A stretch of the virtual media is one run of blocks on each SSD, striped or not: from its begin there to its end.
// An SSD that is not there is not asked to flush; to zero something on it is an error, as is what has no block command.
// Latency: 3 cycles for each SSD, then the slowest of them. Throughput: one command at a time.
module db_virt_command
  import db_host_pkg::*, db_virt_pkg::*;
#(
  parameter int ADDR_W      = 40,   ///< bits of a media address
  parameter int NUM_SSD     = 2,    ///< 1, 2, 4, 8
  parameter bit STRIPE      = 1'b0  ///< db_virt_map
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic [51:0]              ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0] ssd,
  output logic                     idle,
  /// 0 flush, 1 zero; the answer is a pulse
  input  logic                     s_cmd_valid,
  output logic                     s_cmd_ready,
  input  logic [1:0]               s_op,
  input  logic [ADDR_W-1:0]        s_addr,
  input  logic [63:0]              s_bytes,
  output logic                     m_rsp_valid,
  output logic                     m_rsp_err,
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
  localparam int INDEX_LOG2 = $clog2(NUM_SSD);
  localparam int INDEX_W    = NUM_SSD > 1 ? INDEX_LOG2 : 1;
  typedef enum logic [2:0] {ST_IDLE, ST_CARD, ST_BEGIN, ST_END, ST_SEND, ST_WAIT} state_e;
  state_e             state_q;
  logic               zero_q, err_q, card_wait_q, last;
  logic [INDEX_W-1:0] index_q;
  logic [NUM_SSD-1:0] wait_q, ends;
  logic [63:0]        from_q, to_q, begin_q, at;       // bytes: of the media; where it begins on this SSD
  logic [63:0]        size, before_q, place, there, bytes_q;
  ssd_state_t         now;

  assign size = {ssd_pages, 12'd0};
  assign now  = ssd[index_q];
  assign last = index_q == INDEX_W'(NUM_SSD - 1);

  // Where on SSD index_q the part of the media before `at` ends.
  logic [63:0] chunk;
  logic [63:0] turn;
  assign at    = state_q == ST_BEGIN ? from_q : to_q;
  assign chunk = at >> STRIPE_LOG2;
  assign turn  = chunk >> INDEX_LOG2;
  assign place = at - before_q;
  always_comb begin
    if (STRIPE) begin
      there = turn << STRIPE_LOG2;
      if (NUM_SSD == 1 || INDEX_W'(chunk) == index_q) there = there | (at & ((64'd1 << STRIPE_LOG2) - 64'd1));
      else if (INDEX_W'(chunk) > index_q) there = (turn + 64'd1) << STRIPE_LOG2;
    end else begin
      there = at < before_q ? '0 : place > size ? size : place;
    end
  end

  logic misfit;
  assign misfit = !whole(now.lba_shift, begin_q[11:9], bytes_q[11:9]) || bytes_q >> now.lba_shift > 64'hffff_ffff;

  logic asks, bad;
  assign asks        = !zero_q || bytes_q != '0;           // this SSD has something to do
  assign bad         = zero_q && (misfit || !now.present);
  assign m_cmd_valid = state_q == ST_SEND && asks && !bad && now.present && (now.up || now.dead);
  assign m_cmd_ssd   = SSD_W'(index_q);
  assign m_cmd       = '{rsvd: '0, op: zero_q ? BLOCK_ZEROES : BLOCK_FLUSH, tag: 16'(TAG_MEDIA),
                         blocks: zero_q ? 32'(bytes_q >> now.lba_shift) : 32'd1, lba: begin_q >> now.lba_shift};
  assign s_cmd_ready  = state_q == ST_IDLE;
  assign m_card_valid = state_q == ST_CARD;
  assign idle         = state_q == ST_IDLE && !s_cmd_valid && !m_rsp_valid;

  always_ff @(posedge clk) begin
    m_rsp_valid <= 1'b0;
    unique case (state_q)
      ST_IDLE: if (s_cmd_valid) begin
        zero_q   <= s_op == 2'd1;
        err_q    <= s_op > 2'd1;
        from_q   <= 64'(s_addr);
        to_q     <= 64'(s_addr) + s_bytes;
        index_q  <= '0;
        before_q <= '0;
        state_q  <= s_op == 2'd0 ? ST_CARD : s_op == 2'd1 ? ST_BEGIN : ST_WAIT;
      end
      ST_CARD: if (m_card_ready) begin
        card_wait_q <= 1'b1;
        state_q     <= ST_BEGIN;
      end
      ST_BEGIN: begin
        begin_q <= zero_q ? there : '0;
        state_q <= ST_END;
      end
      ST_END: begin
        bytes_q <= there - begin_q;
        state_q <= ST_SEND;
      end
      ST_SEND: if (!asks || bad || !now.present || (m_cmd_valid && m_cmd_ready)) begin
        if (asks && bad) err_q <= 1'b1;
        index_q  <= index_q + 1'b1;
        before_q <= before_q + size;
        state_q  <= last ? ST_WAIT : ST_BEGIN;
      end
      default: if (wait_q == '0 && !card_wait_q) begin
        m_rsp_valid <= 1'b1;
        m_rsp_err   <= err_q;
        state_q     <= ST_IDLE;
      end
    endcase
    if (s_card_rsp_valid) begin
      card_wait_q <= 1'b0;
      if (s_card_rsp_err) err_q <= 1'b1;
    end
    if ((s_end_valid & s_end_err) != '0) err_q <= 1'b1;
    wait_q <= (wait_q | ends) & ~s_end_valid;
    if (rst) begin
      state_q     <= ST_IDLE;
      card_wait_q <= 1'b0;
      wait_q      <= '0;
      m_rsp_valid <= 1'b0;
    end
  end
  always_comb begin
    ends = '0;
    if (m_cmd_valid && m_cmd_ready) ends[index_q] = 1'b1;
  end
endmodule
