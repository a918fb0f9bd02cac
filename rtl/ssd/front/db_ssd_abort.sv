// SPDX-License-Identifier: Apache-2.0
// Ends commands before their time: all of a function or submission queue, or one of them. And looks whether an
// engine still has a command of a namespace, or of a function.
//
// What: it keeps of each slot whose command is in it, whether an engine has it (`inside`; the firmware is none), and
// whether the host still waits for it (`alive`). To abort a command is to clear `alive`. Whoever acts for a slot asks
// here first: requests to the host that are not sent are dropped, so are writes to the host that have not begun and media
// commands that have not been started. The engine goes on with what is left, without the host, and its completion is
// dropped; the slot stays taken until then.
// Why: so an owner is told "done" though the media takes its time, and nothing touches the host's memory after that.
//
//   start -> entries that are fetched now pass decode -> a look at each slot -> what had been sent comes home -> over
//
// Latency: NUM_CMDS cycles and two host round trips. Throughput: one at a time.
module db_ssd_abort
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter int ASKERS   = 6     ///< 1..16
) (
  input  logic                          clk,
  input  logic                          rst,
  /// A command takes a slot; not in two cycles that follow each other, nor in the cycle after the slot's last one ended.
  input  logic                          s_ctx_valid,
  input  logic [SLOT_W-1:0]             s_ctx_slot,
  input  slot_ctx_t                     s_ctx,
  input  logic                          s_ctx_void,   ///< its host waits for no completion
  input  logic                          s_ctx_again,  ///< it had the slot before: but for its namespace all stays
  /// Pulse: its engine has ended it; aborted, in the same cycle: its completion is dropped.
  input  logic                          s_done_valid,
  input  logic [SLOT_W-1:0]             s_done_slot,
  output logic                          done_aborted,
  input  logic                          s_done_again, ///< ... no: it comes to another, and stays as it is
  /// Has the command of a slot been aborted? In the same cycle. Of a slot that is free it means nothing.
  input  logic [ASKERS-1:0][SLOT_W-1:0] s_slot,
  output logic [ASKERS-1:0]             aborted,
  input  logic                          s_start,      ///< pulse, while not busy
  input  abort_cmd_t                    s_cmd,        ///< stays while busy
  output logic                          busy,
  output abort_found_t                  found,        ///< when not busy any more
  /// Pulse; fenced, from the cycle after it on: entries that were asked for before have been taken by decode.
  output logic                          fetch_fence,
  input  logic                          fetch_fenced,
  input  logic                          decode_free,  ///< the entry that decode took last is a command, or over
  /// Pulse; fenced, from the cycle after it on: what had been sent for engines has come to its end.
  output logic                          fence,
  input  logic                          fenced
);
  localparam int AW = $clog2(NUM_CMDS);
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** AW) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end

  typedef enum logic [2:0] {ST_INIT, ST_IDLE, ST_FETCH, ST_DECODE, ST_LOOK, ST_SETTLE, ST_FENCE} state_e;
  state_e        state_q;
  logic [AW-1:0] slot_q;        // the slot that is looked at
  logic [1:0]    settle_q;
  logic          done_q;        // an end is still to be written, as a command takes a slot
  logic [AW-1:0] done_slot_q;
  logic          begun_q;       // a command took a slot in the cycle before: what was read may be older
  logic          begins;
  logic          init, look, hit, ends;

  // ---- of each slot
  typedef struct packed {
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [6:0]       nsid;     // as decode has checked it, or all ones for all
  } owner_t;
  owner_t                    owner;
  logic [$bits(owner_t)-1:0] owner_rdata;
  assign owner = owner_t'(owner_rdata);
  db_ram_sdp #(.WIDTH($bits(owner_t)), .DEPTH(NUM_CMDS)) i_owner (
    .clk, .we(s_ctx_valid), .waddr(s_ctx_slot[AW-1:0]), .wdata({s_ctx.sqid, s_ctx.cid, s_ctx.nsid[6:0]}), .re(1'b1),
    .raddr(look ? slot_q + 1'b1 : slot_q), .rdata(owner_rdata));
  logic mine;                   // by_fn: it is the function's
  if (NUM_FN == 1) begin : g_one
    assign mine = 1'b1;
  end else begin : g_many
    logic [FN_W-1:0] fn;
    db_ram_sdp #(.WIDTH(FN_W), .DEPTH(NUM_CMDS)) i_fn (
      .clk, .we(s_ctx_valid), .waddr(s_ctx_slot[AW-1:0]), .wdata(s_ctx.fn), .re(1'b1),
      .raddr(look ? slot_q + 1'b1 : slot_q), .rdata(fn));
    assign mine = fn == s_cmd.key[FN_W-1:0];
  end

  // A bit each, one write a cycle: a command begins, or one has ended, or one is aborted.
  (* ram_style = "distributed" *) logic alive_mem[NUM_CMDS], inside_mem[NUM_CMDS];
  logic                we;
  logic [AW-1:0]       waddr;
  assign begins = s_ctx_valid && !s_ctx_again;
  assign we    = init || begins || done_q || ends;
  assign waddr = (init || !(begins || done_q)) ? slot_q : begins ? s_ctx_slot[AW-1:0] : done_slot_q;
  always_ff @(posedge clk) begin
    if (we)           alive_mem[waddr]  <= begins && !s_ctx_void && !init;
    if (we && !ends) inside_mem[waddr] <= begins && !s_ctx.desc.firmware && !init;
  end

  always_comb for (int i = 0; i < ASKERS; i++) aborted[i] = !alive_mem[s_slot[i][AW-1:0]];
  // One port for the end of a command and the look at a slot, as it waits for the other.
  logic [AW-1:0] at;
  logic          at_alive;
  assign at           = s_done_valid ? s_done_slot[AW-1:0] : slot_q;
  assign at_alive     = alive_mem[at];
  assign done_aborted = !at_alive;

  // ---- a look at the slots, one after the other
  assign init  = state_q == ST_INIT;
  assign look  = state_q == ST_LOOK && !s_ctx_valid && !begun_q && !s_done_valid && !done_q;
  assign hit   = s_cmd.find ? inside_mem[slot_q] && (s_cmd.by_fn && NUM_FN > 1 ? mine
                                                     : owner.nsid == s_cmd.key[6:0] || owner.nsid == '1)
       : s_cmd.by_fn && NUM_FN > 1
            ? at_alive && mine && (!s_cmd.by_ns || (!found.found && owner.nsid == s_cmd.sqid[6:0]))
                            : at_alive && owner.sqid == s_cmd.sqid &&
                              (!s_cmd.by_cid || owner.cid == s_cmd.key);
  assign ends  = look && hit && !s_cmd.find;
  assign busy  = state_q != ST_IDLE;

  always_ff @(posedge clk) begin
    fetch_fence <= state_q == ST_IDLE && s_start && !rst;
    fence       <= state_q == ST_SETTLE && settle_q == '1 && !rst;
    settle_q    <= state_q inside {ST_SETTLE, ST_DECODE} ? settle_q + 1'b1 : '0;
    begun_q     <= s_ctx_valid;
    done_q      <= (s_done_valid && !s_done_again) || (done_q && begins);
    if (s_done_valid && !s_done_again) done_slot_q <= s_done_slot[AW-1:0];
    if (look && hit) begin
      found.found <= 1'b1;
      if (NUM_FN > 1) {found.sqid, found.cid} <= {owner.sqid, owner.cid};
    end
    if (init || look) slot_q <= slot_q + 1'b1;
    unique case (state_q)
      ST_INIT: if (slot_q == '1) state_q <= ST_IDLE;
      ST_IDLE: if (s_start) begin
        found   <= '0;
        state_q <= ST_FETCH;
      end
      ST_FETCH: if (!fetch_fence && fetch_fenced) state_q <= ST_DECODE;
      // What decode has now is a command with a slot three cycles after it is free.
      ST_DECODE: begin
        if (settle_q == 2'd0 && !decode_free) settle_q <= '0;
        if (settle_q == '1) state_q <= ST_LOOK;
      end
      ST_LOOK: if (look && slot_q == '1) state_q <= s_cmd.find ? ST_IDLE : ST_SETTLE;
      // Who has asked just before knows it in three cycles.
      ST_SETTLE: if (settle_q == '1) state_q <= ST_FENCE;
      ST_FENCE:  if (!fence && fenced) state_q <= ST_IDLE;
      default:   state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q <= ST_INIT;
      slot_q  <= '0;
      done_q  <= 1'b0;
      begun_q <= 1'b0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) !(s_done_valid && done_q) || !begins);
  assert property (@(posedge clk) disable iff (rst) !(s_ctx_valid && done_q && s_ctx_slot[AW-1:0] == done_slot_q));
  assert property (@(posedge clk) disable iff (rst) !s_start || !busy);
  assert property (@(posedge clk) disable iff (rst) !s_ctx_valid || !init);  // no queue is made that soon
endmodule
