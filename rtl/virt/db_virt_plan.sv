// SPDX-License-Identifier: Apache-2.0
// Commands to what their SSDs must do for them: parts for the lanes.
//
// A command is looked at twice, a chunk (2**STRIPE_LOG2 bytes, of which all is in one place) at a time: first for its SSDs;
// if one of them is being brought up it is put aside, and tried again when nothing else is to be done. Then its parts
// go to the lanes of the SSDs. Parts have at most 128 KiB, and a quarter of a ring. Lanes have room for all, so no command
// waits here for another's SSD.
// A part whose SSD is not there, or has blocks that are too large, is not asked for: m_known says of which SSDs it gets errors.
// A Flush goes to the SSDs that its namespace's granules are on, which are looked at 16 at a time (then others have their
// turn), or to those that s_flush names. One that is not there may have what was written in its cache: an error.
// Latency: of one chunk, 11 cycles to its lane; a Flush 5 and 4 a granule, of s_flush 3. Throughput: one every 10 cycles.
module db_virt_plan
  import db_ssd_pkg::*, db_virt_pkg::*;
#(
  parameter int ADDR_W        = 40,      ///< bits of a media address
  parameter int NUM_SSD       = 2,       ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2  = 20,      ///< db_virt_map
  parameter int RD_RING_BYTES = 524288,  ///< of each SSD: power of two, 64 KiB..8 MiB
  parameter int WR_RING_BYTES = 262144,  ///< the same
  parameter int NUM_CMDS      = 128,     ///< commands at once: power of two, 2..256
  localparam int LOOK_W       = ADDR_W - GRANULE_LOG2
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic [51:0]              ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0] ssd,
  output logic                     idle,
  /// db_virt_map
  output logic                     m_look_valid,
  output logic [LOOK_W-1:0]        m_look,
  input  extent_t                  s_extent,
  input  logic                     s_ahead_valid,
  output logic                     s_ahead_ready,
  input  ahead_t                   s_ahead,
  /// a flush of these SSDs
  input  logic                     s_flush_valid,
  output logic                     s_flush_ready,
  input  logic [SLOT_W-1:0]        s_flush_slot,
  input  logic [NUM_SSD-1:0]       s_flush_ssds,
  /// pulse, before its parts: what is known of a command; to be read: of a Write it is m_known_write, of a Flush m_known_flush
  output logic                     m_known_valid,
  output logic                     m_known_write,
  output logic                     m_known_flush,
  output logic                     m_known_fua,
  output logic                     m_known_err,    ///< of a Flush: not all that it concerns are there
  output logic [SLOT_W-1:0]        m_known_slot,
  output known_t                   m_known,
  output logic [8:0]               m_known_bursts, ///< of a Write, in all
  /// parts, to the lane of an SSD; a flush to several at once
  output logic [NUM_SSD-1:0]       m_want_valid,
  input  logic [NUM_SSD-1:0]       m_want_ready,
  output want_t                    m_want,
  output logic [NUM_SSD-1:0]       m_room_valid,
  input  logic [NUM_SSD-1:0]       m_room_ready,
  output room_t                    m_room
);
  localparam int RING_LOG2 = $clog2(RD_RING_BYTES < WR_RING_BYTES ? RD_RING_BYTES : WR_RING_BYTES);
  localparam int PART_LOG2 = RING_LOG2 - 2 < STRIPE_LOG2 ? RING_LOG2 - 2 : STRIPE_LOG2;
  localparam int INDEX_W   = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  function automatic logic legal(input int bytes);
    return bytes == 2 ** $clog2(bytes) && bytes >= 65536 && bytes <= 8 << 20;
  endfunction
  if (!legal(RD_RING_BYTES) || !legal(WR_RING_BYTES)) begin : g_bad_ring
    $error("%m: RD_RING_BYTES, WR_RING_BYTES must be powers of two, 64 KiB..8 MiB (are %0d, %0d)", RD_RING_BYTES,
           WR_RING_BYTES);
  end
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** $clog2(NUM_CMDS)) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end

  // ---- which command next: a flush, one that is new, else one that was put aside
  logic   later_valid, later_take, later_put, begins;
  ahead_t later, later_in, cmd_q, next;
  logic [NUM_SSD-1:0] later_mask, mask_q;
  db_fifo #(.WIDTH(NUM_SSD + $bits(ahead_t)), .DEPTH(NUM_CMDS)) i_later (
    .clk, .rst, .s_valid(later_put), .s_ready(), .s_data({mask_q, later_in}), .m_valid(later_valid),
    .m_ready(later_take), .m_data({later_mask, later}), .level());
  assign next = s_ahead_valid ? s_ahead : later;

  // ---- its chunks, twice; of a Flush its namespace's granules
  typedef enum logic [2:0] {ST_IDLE, ST_LOOK, ST_VERDICT, ST_LATER, ST_SEND, ST_FLUSH} state_e;
  state_e              state_q;
  logic                ask_q, map_ready, place_valid, place_take, last, put, held_q, last_on, flush, write;
  logic                sending;            // a part stands at the output
  logic                still_q;            // at_q and left_q have been so for a cycle: what follows of them is known
  localparam int GRANULES = 16;            // that a Flush looks at before others have their turn
  logic [ADDR_W-1:0]   at_q, granule_next;
  logic [ADDR_W:0]     flush_end_q;        // behind its namespace
  logic [ADDR_W:0]     flush_left_q;       // from at_q to there
  logic                flush_over_q, flush_all;
  logic [31:0]         left_q, len512_q;
  logic [PART_LOG2:0]  room, now_q;        // bytes to the chunk's end; of the part
  logic                in_room, in_room_q; // it is the command's last
  place_t              place;
  logic [NUM_SSD-1:0]  none_q, first_q, here, to, span, present, asked;
  logic [NUM_SSD-1:0][11:0] ends_q;        // the last part on each SSD
  logic [11:0]         part_q;
  logic                big;
  assign flush         = cmd_q.kind == AHEAD_FLUSH;
  assign write         = cmd_q.kind == AHEAD_WRITE;
  assign room          = (PART_LOG2 + 1)'(1 << PART_LOG2) - {1'b0, at_q[PART_LOG2-1:0]};
  assign granule_next  = {at_q[ADDR_W-1:GRANULE_LOG2] + 1'b1, GRANULE_LOG2'(0)};
  assign flush_all     = flush_over_q || &(mask_q | span);
  assign in_room       = left_q <= 32'(room);
  assign last          = flush ? flush_all || part_q == 12'(GRANULES - 1) : in_room_q;
  always_ff @(posedge clk) begin
    flush_end_q  <= (ADDR_W + 1)'(cmd_q.addr[ADDR_W-1:0]) + cmd_q.bytes[ADDR_W:0];
    flush_over_q <= (ADDR_W + 1)'(granule_next) >= flush_end_q;
    flush_left_q <= flush_end_q - (ADDR_W + 1)'(at_q);
    in_room_q    <= in_room;
    now_q        <= in_room ? left_q[PART_LOG2:0] : room;
  end
  assign big           = cmd_q.bytes[31:0] > 32'(write ? WR_RING_BYTES : RD_RING_BYTES);
  assign begins        = state_q == ST_IDLE;
  assign s_flush_ready = begins;
  assign s_ahead_ready = begins && !s_flush_valid;
  assign later_take    = begins && !s_flush_valid && !s_ahead_valid;
  // Of the size, the map looks whether it is whole blocks. It is not to wait for an SSD that is being brought up.
  ssd_state_t [NUM_SSD-1:0] up;
  always_comb begin
    for (int i = 0; i < NUM_SSD; i++) begin
      up[i]      = '{present: ssd[i].present, up: 1'b1, dead: 1'b0, lba_shift: ssd[i].lba_shift};
      present[i] = ssd[i].present;
    end
  end
  db_virt_map #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_map (
    .clk, .rst, .ssd_pages, .ssd(up), .m_look_valid, .m_look, .s_extent, .s_valid(ask_q && still_q),
    .s_ready(map_ready), .s_addr(at_q), .s_bytes({1'b0, now_q[11:0]}), .m_valid(place_valid),
    .m_ready(place_take), .m_place(place));
  ssd_state_t of;
  assign of = ssd[INDEX_W'(place.ssd)];
  always_comb begin
    here = '0;
    here[INDEX_W'(place.ssd)] = place.kind != PLACE_CARD;
    to     = here & ~none_q;
    span   = '0;                           // all that have part of the granule
    for (int i = 0; i < NUM_SSD; i++)
      span[i] = s_extent.valid && SSD_W'(i) >> s_extent.log2 == s_extent.ssd >> s_extent.log2;
  end
  assign put        = state_q == ST_SEND && place_valid && to != '0 && !sending;
  assign place_take = place_valid && (state_q == ST_LOOK || !sending);
  assign last_on    = ends_q[INDEX_W'(place.ssd)] == part_q;
  assign later_put  = state_q == ST_LATER;
  always_comb begin
    later_in = cmd_q;
    if (flush) begin
      later_in.addr  = 64'(at_q);
      later_in.bytes = 64'(flush_left_q);
    end
  end

  // ---- out; one part, or one flush, at a time
  logic tells;
  assign tells   = big ? (first_q & to) != '0 : last_on;
  assign sending = m_want_valid != '0 || m_room_valid != '0;
  always_ff @(posedge clk) begin
    m_want_valid <= m_want_valid & ~m_want_ready;
    m_room_valid <= m_room_valid & ~m_room_ready;
    if (!sending) begin
      m_want_valid <= put && !write ? to : '0;
      m_room_valid <= state_q == ST_FLUSH ? mask_q : put && write ? to : '0;
      m_want       <= '{slot: cmd_q.slot, alone: cmd_q.kind == AHEAD_COMPARE, tells: tells, len512: 9'(now_q >> 9),
                        blocks: 9'(now_q >> of.lba_shift), lba: place.lba};
      m_room       <= '{slot: cmd_q.slot, flush: flush, zero: 1'b0, over: big && (first_q & to) == '0, tells: tells,
                        len512: 9'(now_q >> 9), bursts: 6'((18'(now_q) + 18'(at_q[11:0]) + 18'd4095) >> 12)};
    end
    if (rst) begin
      m_want_valid <= '0;
      m_room_valid <= '0;
    end
  end

  always_ff @(posedge clk) begin
    still_q <= ask_q && !(still_q && map_ready);
    if (still_q && map_ready) ask_q <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        cmd_q    <= next;
        at_q     <= next.addr[ADDR_W-1:0];
        left_q   <= next.bytes[31:0];
        held_q   <= 1'b0;
        none_q   <= '0;
        mask_q   <= '0;
        len512_q <= '0;
        part_q   <= '0;
        if (s_flush_valid) begin
          cmd_q.kind <= AHEAD_FLUSH;
          cmd_q.slot <= s_flush_slot;
          mask_q     <= s_flush_ssds;
          state_q    <= ST_VERDICT;
        end else if (s_ahead_valid || later_valid) begin
          if (next.kind == AHEAD_FLUSH && !s_ahead_valid) mask_q <= later_mask;
          if (next.kind == AHEAD_FLUSH && next.bytes == '0) begin
            mask_q  <= present;
            state_q <= ST_VERDICT;
          end else begin
            ask_q   <= 1'b1;
            state_q <= ST_LOOK;
          end
        end
      end
      ST_VERDICT: begin
        if (!held_q) at_q <= cmd_q.addr[ADDR_W-1:0];
        left_q  <= cmd_q.bytes[31:0];
        mask_q  <= held_q ? mask_q : asked;
        first_q <= '1;
        part_q  <= '0;
        ask_q   <= !held_q && !flush;
        state_q <= held_q ? ST_LATER : flush ? ST_FLUSH : ST_SEND;
      end
      ST_LATER: state_q <= ST_IDLE;
      ST_FLUSH: if (!sending) state_q <= ST_IDLE;
      default: if (place_take) begin
        at_q   <= flush ? granule_next : at_q + ADDR_W'(now_q);
        left_q <= left_q - 32'(now_q);
        part_q <= part_q + 1'b1;
        ask_q  <= !last;
        if (last) state_q <= state_q == ST_LOOK ? ST_VERDICT : ST_IDLE;
        if (state_q == ST_LOOK) begin
          if (flush) begin
            mask_q <= mask_q | span;
            held_q <= last && !flush_all;
          end else begin
            held_q <= held_q || (here != '0 && of.present && !of.up && !of.dead);
            if (place.kind == PLACE_NONE) none_q <= none_q | here;
            mask_q <= mask_q | here;
            ends_q[INDEX_W'(place.ssd)] <= part_q;
            if (here != '0) len512_q <= len512_q + 32'(now_q >> 9);
          end
        end else first_q <= first_q & ~here;
      end
    endcase
    if (rst) begin
      state_q <= ST_IDLE;
      ask_q   <= 1'b0;
    end
  end

  assign asked = mask_q & (flush ? present : ~none_q);
  always_ff @(posedge clk) begin
    m_known_valid  <= state_q == ST_VERDICT && !held_q && !rst;
    m_known_write  <= write;
    m_known_flush  <= flush;
    m_known_fua    <= cmd_q.fua;
    m_known_err    <= flush && (mask_q & ~present) != '0;
    m_known_slot   <= cmd_q.slot;
    m_known        <= '{mask: MAX_SSD'(asked),
                        let_go: '{compare: cmd_q.kind == AHEAD_COMPARE, none: MAX_SSD'(none_q),
                                  len512: len512_q[LET_W-1:0]}};
    m_known_bursts <= 9'((32'(cmd_q.addr[11:0]) + cmd_q.bytes[31:0] + 32'd4095) >> 12);
  end
  assign idle = state_q == ST_IDLE && !s_ahead_valid && !s_flush_valid && !later_valid && !m_known_valid && !sending;
endmodule
