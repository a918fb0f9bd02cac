// SPDX-License-Identifier: Apache-2.0
// Commands that will read the media: each is asked of its SSDs when it comes, and is let go to the controller's reader
// when all of it is in their rings. So who waits for an SSD waits here, and no other command behind it.
//
// A command is looked at twice, a chunk (2**STRIPE_LOG2 bytes, of which all is in one place) at a time: first for its SSDs;
// if one of them is being brought up it is put aside, and tried again when nothing else is to be done. Then its parts
// go to the lanes of the SSDs (db_virt_lane). Parts have at most 128 KiB, and a quarter of a ring.
// A command goes when it is the oldest that has come on each of its SSDs, so what leaves the rings is in the order in which
// commands go. One larger than a ring goes with its first part.
// A part whose SSD is not there, or has blocks that are too large, is not asked for: m_let says of which SSDs it gets errors.
// Latency: of one chunk, 9 cycles to m_cmd; 4 from its lane's m_come to m_let. Throughput: a chunk every 8 cycles.
module db_virt_ahead
  import db_host_pkg::block_cmd_t, db_ssd_pkg::*, db_virt_pkg::*;
#(
  parameter int DATA_W     = 256,     ///< bits of a row: 128, 256, 512
  parameter int ADDR_W     = 40,      ///< bits of a media address
  parameter int NUM_SSD    = 2,       ///< 1, 2, 4, 8
  parameter int GRANULE_LOG2 = 20,    ///< db_virt_map
  parameter int RING_BYTES = 524288,  ///< each SSD's buffer of data that is read: power of two, 64 KiB..8 MiB
  parameter int NUM_CMDS   = 128,     ///< commands at once: power of two, 2..256
  localparam int LOOK_W    = ADDR_W - GRANULE_LOG2
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic                     forget,      ///< all that waits or is under way is not wanted any more
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
  /// pulse: this command may go, and what becomes of its bursts
  output logic                     m_let_valid,
  output logic [SLOT_W-1:0]        m_let_slot,
  output let_t                     m_let,
  output logic [NUM_SSD-1:0]       m_cmd_valid,
  input  logic [NUM_SSD-1:0]       m_cmd_ready,
  output block_cmd_t [NUM_SSD-1:0] m_cmd,
  input  logic [NUM_SSD-1:0]       s_end_valid,  ///< pulses: an SSD's Read has ended
  input  logic [NUM_SSD-1:0]       s_row_valid,
  output logic [NUM_SSD-1:0]       s_row_ready,
  output logic [NUM_SSD-1:0]       m_row_valid,
  input  logic [NUM_SSD-1:0]       m_row_ready
);
  localparam int CMD_W     = $clog2(NUM_CMDS);
  localparam int RING_LOG2 = $clog2(RING_BYTES);
  localparam int PART_LOG2 = RING_LOG2 - 2 < STRIPE_LOG2 ? RING_LOG2 - 2 : STRIPE_LOG2;
  localparam int INDEX_W   = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  // Commands of 1 MiB have at most so many parts; with small rings, so many are room for most.
  localparam int PARTS     = NUM_CMDS * 16;
  if (RING_BYTES != 2 ** RING_LOG2 || RING_BYTES < 65536 || RING_BYTES > 8 << 20) begin : g_bad_ring
    $error("%m: RING_BYTES must be a power of two, 64 KiB..8 MiB (is %0d)", RING_BYTES);
  end
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** CMD_W) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end
  logic off;
  assign off = rst || forget;

  // ---- which command next: one that is new, else one that was put aside
  logic   later_valid, later_take, later_put, begins;
  ahead_t later, cmd_q;
  db_fifo #(.WIDTH($bits(ahead_t)), .DEPTH(NUM_CMDS)) i_later (
    .clk, .rst(off), .s_valid(later_put), .s_ready(), .s_data(cmd_q), .m_valid(later_valid), .m_ready(later_take),
    .m_data(later), .level());

  // ---- its chunks, twice
  typedef enum logic [1:0] {ST_IDLE, ST_LOOK, ST_VERDICT, ST_SEND} state_e;
  state_e              state_q;
  logic                ask_q, map_ready, place_valid, place_take, last, lane_room, put, held_q, last_on;
  logic [ADDR_W-1:0]   at_q;
  logic [31:0]         left_q, len512_q;
  logic [PART_LOG2:0]  room, now;          // bytes to the chunk's end; of the part
  place_t              place;
  logic [NUM_SSD-1:0]  none_q, mask_q, first_q, here, to;
  logic [NUM_SSD-1:0][11:0] ends_q;        // the last part on each SSD
  logic [11:0]         part_q;
  logic                big;
  assign room        = (PART_LOG2 + 1)'(1 << PART_LOG2) - {1'b0, at_q[PART_LOG2-1:0]};
  assign last        = left_q <= 32'(room);
  assign now         = last ? left_q[PART_LOG2:0] : room;
  assign big       = cmd_q.bytes > 32'(RING_BYTES);
  assign begins      = state_q == ST_IDLE && !off;
  assign s_ahead_ready = begins;
  assign later_take  = begins && !s_ahead_valid;
  // Of the size, the map looks whether it is whole blocks. It is not to wait for an SSD that is being brought up.
  ssd_state_t [NUM_SSD-1:0] up;
  always_comb begin
    for (int i = 0; i < NUM_SSD; i++)
      up[i] = '{present: ssd[i].present, up: 1'b1, dead: 1'b0, lba_shift: ssd[i].lba_shift};
  end
  db_virt_map #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_map (
    .clk, .rst(off), .ssd_pages, .ssd(up), .m_look_valid, .m_look, .s_extent,
    .s_valid(ask_q), .s_ready(map_ready), .s_addr(at_q),
    .s_bytes({now[11:0] == '0, now[11:0]}), .m_valid(place_valid), .m_ready(place_take), .m_place(place), .hold());
  ssd_state_t of;
  assign of = ssd[INDEX_W'(place.ssd)];
  always_comb begin
    here = '0;
    here[INDEX_W'(place.ssd)] = place.kind != PLACE_CARD;
    to   = here & ~none_q;
  end
  assign put        = state_q == ST_SEND && place_valid && to != '0;
  assign place_take = place_valid && (state_q == ST_LOOK || !put || lane_room);
  assign last_on    = ends_q[INDEX_W'(place.ssd)] == part_q;
  assign later_put  = state_q == ST_VERDICT && held_q;

  want_t part;
  assign part = '{slot: cmd_q.slot, alone: cmd_q.compare,
                  tells: big ? (first_q & to) != '0 : last_on,
                  len512: 9'(now >> 9), blocks: 9'(now >> of.lba_shift), lba: place.lba};

  always_ff @(posedge clk) begin
    if (ask_q && map_ready) ask_q <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        cmd_q  <= s_ahead_valid ? s_ahead : later;
        at_q   <= s_ahead_valid ? s_ahead.addr[ADDR_W-1:0] : later.addr[ADDR_W-1:0];
        left_q <= s_ahead_valid ? s_ahead.bytes : later.bytes;
        held_q <= 1'b0;
        none_q <= '0;
        mask_q <= '0;
        len512_q <= '0;
        part_q <= '0;
        if (s_ahead_valid || later_valid) begin
          ask_q   <= 1'b1;
          state_q <= ST_LOOK;
        end
      end
      ST_VERDICT: begin
        at_q    <= cmd_q.addr[ADDR_W-1:0];
        left_q  <= cmd_q.bytes;
        first_q <= '1;
        part_q  <= '0;
        ask_q   <= !held_q;
        state_q <= held_q ? ST_IDLE : ST_SEND;
      end
      default: if (place_take) begin
        at_q   <= at_q + ADDR_W'(now);
        left_q <= left_q - 32'(now);
        part_q <= part_q + 1'b1;
        ask_q  <= !last;
        if (last) state_q <= state_q == ST_LOOK ? ST_VERDICT : ST_IDLE;
        if (state_q == ST_LOOK) begin
          held_q <= held_q || (here != '0 && of.present && !of.up && !of.dead);
          if (place.kind == PLACE_NONE) none_q <= none_q | here;
          mask_q <= mask_q | here;
          ends_q[INDEX_W'(place.ssd)] <= part_q;
          if (here != '0) len512_q <= len512_q + 32'(now >> 9);
        end else first_q <= first_q & ~here;
      end
    endcase
    if (off) begin
      state_q <= ST_IDLE;
      ask_q   <= 1'b0;
    end
  end

  // ---- what is known of each command, for when it goes
  typedef struct packed {
    logic [NUM_SSD-1:0] mask;    // who is asked
    let_t               let_go;
  } known_t;
  known_t known, known_in;
  logic   write_it;
  assign write_it = state_q == ST_VERDICT && !held_q;
  assign known_in = '{mask: mask_q & ~none_q,
                      let_go: '{compare: cmd_q.compare, none: MAX_SSD'(none_q), len512: len512_q[LET_W-1:0]}};

  // ---- the SSDs; the last lane has commands that ask none
  logic [NUM_SSD:0]             come_valid, come_take, room_of, lane_idle;
  logic [NUM_SSD:0][SLOT_W-1:0] come_slot;
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    db_virt_lane #(.DATA_W(DATA_W), .RING_BYTES(RING_BYTES), .PARTS(PARTS), .NUM_CMDS(NUM_CMDS)) i_lane (
      .clk, .rst, .forget, .idle(lane_idle[i]), .s_put_valid(put && to[i]), .s_put_ready(room_of[i]), .s_put(part),
      .m_cmd_valid(m_cmd_valid[i]), .m_cmd_ready(m_cmd_ready[i]), .m_cmd(m_cmd[i]), .s_end_valid(s_end_valid[i]),
      .m_come_valid(come_valid[i]), .m_come_ready(come_take[i]), .m_come_slot(come_slot[i]),
      .s_row_valid(s_row_valid[i]), .s_row_ready(s_row_ready[i]), .m_row_valid(m_row_valid[i]),
      .m_row_ready(m_row_ready[i]));
  end
  assign lane_room = (room_of[NUM_SSD-1:0] & to) != '0;
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_nowhere (
    .clk, .rst(off), .s_valid(write_it && known_in.mask == '0), .s_ready(room_of[NUM_SSD]), .s_data(cmd_q.slot),
    .m_valid(come_valid[NUM_SSD]), .m_ready(come_take[NUM_SSD]), .m_data(come_slot[NUM_SSD]), .level());
  assign lane_idle[NUM_SSD] = !come_valid[NUM_SSD];

  // ---- who goes: a look at the oldest of a lane, one lane after the other
  logic [NUM_SSD:0]   grant, lane_q, heads;
  logic               any, look_q, look;
  logic [SLOT_W-1:0]  slot, slot_q;
  assign look = any && !look_q;
  db_arb_rr #(.N(NUM_SSD + 1)) i_turn (
    .clk, .rst(off), .req(come_valid), .ack(look), .gnt_valid(any), .gnt(grant), .gnt_idx());
  always_comb begin
    slot  = '0;
    heads = '0;
    for (int i = 0; i <= NUM_SSD; i++) begin
      if (grant[i]) slot |= come_slot[i];
      heads[i] = come_valid[i] && come_slot[i] == slot_q;
    end
  end
  db_ram_sdp #(.WIDTH($bits(known_t)), .DEPTH(NUM_CMDS)) i_known (
    .clk, .we(write_it), .waddr(cmd_q.slot[CMD_W-1:0]), .wdata(known_in), .re(look), .raddr(slot[CMD_W-1:0]),
    .rdata(known));
  logic all;
  assign all       = look_q && (known.mask & ~heads[NUM_SSD-1:0]) == '0;
  assign come_take = !all ? '0 : known.mask == '0 ? lane_q : {1'b0, known.mask};
  always_ff @(posedge clk) begin
    look_q      <= look && !off;
    slot_q      <= slot;
    lane_q      <= grant;
    m_let_valid <= all && !off;
    m_let_slot  <= slot_q;
    m_let       <= known.let_go;
  end
  assign idle = state_q == ST_IDLE && !s_ahead_valid && !later_valid && &lane_idle && !look_q && !m_let_valid;
endmodule
