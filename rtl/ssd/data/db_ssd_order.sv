// SPDX-License-Identifier: Apache-2.0
// In which order commands go from decode to the engines: with one function straight, with several by their shares.
//
// Why: an engine works in the order of what it is given. So it is given little (db_ssd_order_window), and what else has
// been fetched waits here, in RAM, by function (db_ssd_order_turn): a command waits for what the engine has inside and
// a turn of each other function, not for all that others have fetched. There is room for every command with a slot.
// A long Dataset Management goes in pieces, with others' commands between them (db_ssd_order_pieces).
// Operators are told of a command when it goes, as packets come in that order.
// Latency: none with one function; else 11 cycles and more. Throughput: that of db_ssd_order_turn, of both engines.
module db_ssd_order
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_data_pkg::*,
         db_ssd_order_pkg::*;
#(
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter int DATA_W   = 256,  ///< bits of a row: 128, 256, 512
  /// what an engine has before it at most, but for one command, in 512 bytes, 1..4095: some 4 us of the link
  parameter int WINDOW   = DATA_W / 4,
  parameter int READ_WINDOW = WINDOW,  ///< ... of the read engine: what its media works on at once, if that is more
  parameter bit SGL      = 1'b0, ///< takes SGLs
  /// what moves user data of the media, flushes or zeroes waits behind (db_ssd_ahead): it goes at once
  parameter bit AHEAD    = 1'b0,
  /// near-storage commands: functions may have deadlines; with AHEAD some have their data from memory, and such do not
  /// wait behind
  parameter bit NEAR     = 1'b0
) (
  input  logic                   clk,
  input  logic                   rst,
  input  fn_set_t                s_fn_set,       ///< several functions: weights, deadlines if NEAR
  input  logic                   us_turns,       ///< changes each microsecond
  /// Commands from decode, for [0] the read engine, [1] the write engine; not both at once.
  input  logic [1:0]             s_cmd_valid,
  output logic [1:0]             s_cmd_ready,
  input  cmd_t                   s_cmd,
  /// What operators must know of the command of the cycle before, and all that have a slot: their contexts.
  input  tap_cmd_t               s_tap_cmd,
  input  logic                   s_ctx_valid,
  input  logic [SLOT_W-1:0]      s_ctx_slot,
  /// To the engines.
  output logic [1:0]             m_cmd_valid,
  input  logic [1:0]             m_cmd_ready,
  output cmd_t                   m_cmd,
  output piece_t                 m_piece,        ///< of m_cmd
  output tap_cmd_t               m_tap_cmd,
  output logic                   m_tap_begin,    ///< pulse: a command begins, with or without a packet (m_tap_cmd)
  output logic [SLOT_W-1:0]      m_tap_begin_slot,
  /// Pulses: an engine's segment of host memory is taken; a command of it, or a piece of one, has ended.
  input  logic [1:0]             s_seg,
  input  segment_t [1:0]         s_seg_of,
  input  logic [1:0][SLOT_W-1:0] s_seg_slot,
  input  logic [1:0]             s_end,
  input  logic [1:0][SLOT_W-1:0] s_end_slot,
  output logic [1:0]             busy            ///< commands for an engine wait here
);
  if (NUM_FN == 1) begin : g_straight
    logic unused_ok;
    assign s_cmd_ready = m_cmd_ready;
    assign m_cmd_valid = s_cmd_valid;
    assign m_cmd       = s_cmd;
    assign m_piece     = '0;
    assign m_tap_cmd   = s_tap_cmd;
    assign m_tap_begin = s_ctx_valid;
    assign m_tap_begin_slot = s_ctx_slot;
    assign busy        = '0;
    assign unused_ok   = &{1'b0, clk, rst, s_fn_set, us_turns, s_seg, s_seg_of, s_seg_slot, s_end, s_end_slot};
  end else begin : g_order
    localparam int CMD_W      = $clog2(NUM_CMDS);

    logic [1:0]             valid, open, go, go_q;
    logic [SLOT_W-1:0]      go_slot;
    logic [PLACE_W-1:0]     go_place;
    logic [CMD_W-1:0]       at;
    order_entry_t           entry;
    db_ssd_order_cost #(.DATA_W(DATA_W), .SGL(SGL), .AHEAD(AHEAD), .DEADLINES(NEAR)) i_cost (
      .clk, .rst, .s_share_valid(s_fn_set.share_valid), .s_share(s_fn_set.share), .s_valid(s_cmd_valid), .s_cmd,
      .m_valid(valid), .m_entry(entry));
    assign at = go_slot[CMD_W-1:0];
    logic [COST_W-1:0] cost;                // of the command that went
    order_entry_t      weighs;              // in windows
    always_comb begin
      weighs = entry;
      if (AHEAD && entry.user_data) begin   // it is none of a window's, nor are its segments
        weighs.cost      = '0;
        weighs.user_data = 1'b0;
      end
    end
    db_ram_sdp #(.WIDTH(COST_W), .DEPTH(NUM_CMDS)) i_costs (
      .clk, .we(valid != '0), .waddr(entry.slot[CMD_W-1:0]), .wdata(weighs.cost), .re(1'b1), .raddr(at), .rdata(cost));
    for (genvar e = 0; e < 2; e++) begin : g_engine
      if (AHEAD && !NEAR && e == 0) begin : g_open
        assign open[e] = 1'b1;
      end else begin : g_window
        db_ssd_order_window #(.NUM_CMDS(NUM_CMDS), .WINDOW(e == 0 ? READ_WINDOW : WINDOW)) i_window (
          .clk, .rst, .s_valid(valid[e]), .s_entry(weighs), .s_gone(go_q[e]), .s_gone_cost(cost), .s_seg(s_seg[e]),
          .s_seg_of(s_seg_of[e]), .s_seg_slot(s_seg_slot[e]), .s_end(s_end[e]),
          .s_end_slot(s_end_slot[e]), .open(open[e]));
      end
    end
    db_ssd_order_turn #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .DEADLINES(NEAR)) i_turn (
      .clk, .rst, .us_turns, .s_valid(valid), .s_entry(entry), .open(open & m_cmd_ready), .m_go(go),
      .m_slot(go_slot), .m_place(go_place), .s_more(m_piece.more), .busy);

    // ---- commands, and what of their contexts operators must know beside
    typedef struct packed {
      logic [QID_W-1:0] sqid;
      logic [15:0]      cid;
      logic [31:0]      nsid;
      logic [63:0]      slba;
    } beside_t;
    beside_t          beside;
    cmd_t             whole;
    db_ram_sdp #(.WIDTH($bits(cmd_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_cmds (
      .clk, .we(s_cmd_valid != '0), .waddr(s_cmd.slot[CMD_W-1:0]), .wdata(s_cmd), .re(go != '0), .raddr(at),
      .rdata(whole));
    db_ssd_order_pieces #(.SGL(SGL)) i_pieces (
      .clk, .rst, .s_go(go[1]), .s_place(go_place), .s_cmd(whole), .m_cmd, .m_piece);
    db_ram_sdp #(.WIDTH($bits(beside_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_beside (
      .clk, .we(s_ctx_valid), .waddr(s_ctx_slot[CMD_W-1:0]),
      .wdata({s_tap_cmd.ctx.sqid, s_tap_cmd.ctx.cid, s_tap_cmd.ctx.nsid, s_tap_cmd.ctx.slba}), .re(go != '0),
      .raddr(at), .rdata(beside));

    always_ff @(posedge clk) begin
      go_q <= rst ? '0 : go;
    end
    assign s_cmd_ready = '1;
    assign m_cmd_valid = go_q;
    assign m_tap_begin = go_q != '0 && !m_piece.later;
    assign m_tap_begin_slot = m_cmd.slot;
    assign m_tap_cmd   = '{
      read: go_q[0] && m_cmd.desc.to_host, write: go_q[1] && m_cmd.desc.from_host, lba4k: m_cmd.lba4k,
      near_program: near_program(m_cmd),
      ctx: '{desc: m_cmd.desc, fn: m_cmd.fn, sqid: beside.sqid, cid: beside.cid, nsid: beside.nsid,
             slba: beside.slba, bytes: m_cmd.bytes}};
  end
endmodule
