// SPDX-License-Identifier: Apache-2.0
// The second part of near-storage commands that store (docs/csd/near-storage.md): when such a command's result is where its
// data pointer says, it comes here again and becomes a Write from there, which keeps its slot.
//
// Why so: how long a result is, and whether there is one, is known when it ends; the result's place holds it until then.
// And a Write is all that there is to do: encryption, limits, order and aborts are those of any other.
// All commands pass here on their way from decode to the engines. For one that comes again decode is held, so that commands
// still are two cycles apart.
// Latency: none for what passes; 2 cycles from s_again to the Write. Throughput: a Write every 4 cycles.
module db_ssd_near_store
  import db_pcie_fn_pkg::*, db_nvme_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  /// Commands of decode; a cycle later their contexts, and what operators must know.
  output logic              hold,           ///< one has come again, and is no Write yet: decode gives no command
  input  logic              s_read_valid,
  input  logic              s_write_valid,
  input  cmd_t              s_cmd,
  input  near_store_t       s_store,
  input  logic              s_ctx_valid,
  input  logic [SLOT_W-1:0] s_ctx_slot,
  input  slot_ctx_t         s_ctx,
  input  tap_cmd_t          s_tap_cmd,
  /// The first part has ended well.
  input  logic              s_again_valid,
  output logic              s_again_ready,
  input  near_again_t       s_again,
  output logic              m_write_valid,
  input  logic              m_write_ready,
  output cmd_t              m_cmd,
  output logic              m_ctx_valid,
  output logic [SLOT_W-1:0] m_ctx_slot,
  output slot_ctx_t         m_ctx,
  output tap_cmd_t          m_tap_cmd
);
  localparam int AW = $clog2(NUM_CMDS);
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** AW) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256 (is %0d)", NUM_CMDS);
  end

  typedef enum logic [1:0] {REST, LOOK, GIVE, TELL} state_e;
  state_e      state_q;
  near_again_t again_q;
  logic        takes, gives;
  assign s_again_ready = state_q == REST;
  assign takes = s_again_valid && s_again_ready;
  assign gives = state_q == GIVE && m_write_ready;
  assign hold  = state_q != REST;

  // ---- what its slot keeps
  typedef struct packed {
    logic [NEAR_BYTES_W-1:0] bytes;
    logic                    fua;
    logic                    lba4k;
    logic                    sgl;
    logic [63:0]             prp1;
    logic [63:0]             prp2;
    near_store_t             where;
  } kept_t;
  kept_t                    kept;
  logic [$bits(kept_t)-1:0] rdata;
  near_args_t               args;
  assign args = near_args_t'(s_cmd.ns_blocks[$bits(near_args_t)-1:0]);
  assign kept = kept_t'(rdata);
  db_ram_sdp #(.WIDTH($bits(kept_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_kept (
    .clk, .we(s_read_valid && s_cmd.desc.stores), .waddr(s_cmd.slot[AW-1:0]),
    .wdata({args.result, s_cmd.fua, s_cmd.lba4k, s_cmd.sgl, s_cmd.prp1, s_cmd.prp2, s_store}), .re(takes),
    .raddr(s_again.slot[AW-1:0]), .rdata);

  // ---- the Write, and its context: it counts as one, and its entry says how long the result was
  localparam op_desc_t WRITES = op_desc(OPC_WRITE);
  cmd_t      write_q;
  slot_ctx_t ctx;
  op_desc_t  told;
  always_comb begin
    told          = WRITES;
    told.computes = 1'b1;
    ctx           = '{desc: told, fn: again_q.fn, sqid: again_q.sqid, cid: again_q.cid, nsid: again_q.nsid,
                      slba: kept.where.slba, bytes: 32'(kept.bytes)};
    m_cmd         = state_q == GIVE ? write_q : s_cmd;
    m_write_valid = s_write_valid || gives;
    m_ctx_valid   = s_ctx_valid || state_q == TELL;
    m_ctx_slot    = s_ctx_slot;
    m_ctx         = s_ctx;
    m_tap_cmd     = s_tap_cmd;
    if (state_q == TELL) begin
      m_ctx_slot = again_q.slot;
      m_ctx      = ctx;
      m_tap_cmd  = '{read: 1'b0, write: 1'b1, lba4k: kept.lba4k, near_program: '0, ctx: ctx};
    end
  end
  always_ff @(posedge clk) begin
    if (takes) again_q <= s_again;
    if (state_q == LOOK)
      write_q <= '{desc: WRITES, fn: again_q.fn, slot: again_q.slot, fua: kept.fua, lba4k: kept.lba4k,
                   media_addr: kept.where.base + (kept.lba4k ? kept.where.slba << 12 : kept.where.slba << 9),
                   ns_blocks: '0, bytes: 32'(kept.bytes), sgl: kept.sgl, prp1: kept.prp1, prp2: kept.prp2};
    unique case (state_q)
      REST:    if (takes) state_q <= LOOK;
      LOOK:    state_q <= GIVE;
      GIVE:    if (gives) state_q <= TELL;
      default: state_q <= REST;
    endcase
    if (rst) state_q <= REST;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, args, s_cmd};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && hold) assert (!s_read_valid && !s_write_valid);
  always_ff @(posedge clk) if (!rst && state_q == TELL) assert (!s_ctx_valid);
`endif
endmodule
