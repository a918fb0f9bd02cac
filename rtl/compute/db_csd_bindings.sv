// SPDX-License-Identifier: Apache-2.0
// What is done in each namespace: operator, key slot and parameters, as the firmware binds them; and the context that
// a command takes from it.
//
// A namespace whose operator is AES is locked while its slot has no key for it. Bindings are kept over a controller
// reset (ctrl_rst), so nothing is written plain in between; power-on lets all namespaces pass, and the firmware binds them
// again before it shows one.
// Latency: a context 1 cycle after its command, a lock 1 cycle after key or binding. One command a cycle.
module db_csd_bindings
  import db_aes_pkg::*, db_ssd_pkg::*, db_csd_pkg::*;
#(
  parameter int NUM_NS    = 1,   ///< 1..64
  parameter int KEY_SLOTS = 16   ///< 2..64
) (
  input  logic                      clk,
  input  logic                      rst,           ///< power-on
  input  logic                      ctrl_rst,
  input  logic                      s_bind_valid,  ///< pulse
  input  binding_t                  s_bind,
  input  key_slot_t [KEY_SLOTS-1:0] key_slots,
  output logic [NUM_NS-1:0]         ns_locked,

  input  tap_cmd_t                  s_tap_cmd,     ///< a command will send a packet

  /// Its context; [0] media to host, [1] host to media.
  output logic [1:0]                m_ctx_valid,
  output op_ctx_t                   m_ctx,

  /// It has a result, with this tag; a cycle before its context.
  output logic                      m_reduces,
  output logic [CSD_TAG_W-1:0]      m_tag,
  output res_cmd_t                  m_whose
);
  localparam int SW = $clog2(KEY_SLOTS);
  localparam int NW = NUM_NS > 1 ? $clog2(NUM_NS) : 1;
  logic [3:0]             op_q[NUM_NS];
  logic [KEY_SLOT_W-1:0]  slot_q[NUM_NS];
  logic [CSD_PARAM_W-1:0] param_q[NUM_NS];
  for (genvar i = 0; i < NUM_NS; i++) begin : g_ns
    always_ff @(posedge clk) begin
      if (s_bind_valid && !s_bind.of_program && 32'(s_bind.index) == i) begin
        op_q[i]   <= s_bind.op;
        slot_q[i] <= s_bind.slot;
      end
      ns_locked[i] <= (op_q[i] == OP_AES_CTR && !key_slots[slot_q[i][SW-1:0]].ctr) ||
                      (op_q[i] == OP_AES_XTS && !key_slots[slot_q[i][SW-1:0]].xts);
      if (rst) op_q[i] <= OP_PASS;
    end
  end
  always_ff @(posedge clk) begin
    if (s_bind_valid && !s_bind.of_program && 32'(s_bind.index) < NUM_NS) param_q[NW'(s_bind.index)] <= s_bind.param;
  end

  slot_ctx_t            cmd;
  op_ctx_t              ctx, ctx_q;
  logic [1:0]           ctx_valid_q;
  logic [CSD_TAG_W-1:0] tag_q;        // counts the commands that have a result
  assign cmd = s_tap_cmd.ctx;
  always_comb begin
    ctx       = '0;
    ctx.param = param_q[NW'(cmd.nsid - 32'd1)];
    ctx.fn    = cmd.fn;
    ctx.nsid  = cmd.nsid;
    ctx.lba   = cmd.slba;
    ctx.lbads = s_tap_cmd.lba4k ? 5'd12 : 5'd9;
    ctx.dir   = s_tap_cmd.write;
    ctx.tag   = tag_q;
    for (int i = 0; i < NUM_NS; i++) begin
      // A list of ranges, and data that a near-storage command has from memory, are not the namespace's.
      if (cmd.nsid == 32'(i + 1) && cmd.desc.user_data && !cmd.desc.memory) begin
        ctx.op       = op_q[i];
        ctx.key_slot = slot_q[i];
      end
    end
  end
  assign m_reduces = (s_tap_cmd.read || s_tap_cmd.write) &&
                     (ctx.op == OP_SHA256 || ctx.op == OP_CRC32C || db_csd_ops_pkg::REDUCES[ctx.op]);
  assign m_tag     = tag_q;
  assign m_whose   = '{bytes: cmd.bytes, lba: cmd.slba, nsid: cmd.nsid, compare: cmd.desc.compare, dir: ctx.dir,
                       op: ctx.op, sqid: cmd.sqid, cid: cmd.cid};
  assign m_ctx       = ctx_q;
  assign m_ctx_valid = ctx_valid_q;
  always_ff @(posedge clk) begin
    ctx_q       <= ctx;
    ctx_valid_q <= {s_tap_cmd.write, s_tap_cmd.read};
    if (m_reduces) tag_q <= tag_q + 1'b1;
    if (ctrl_rst) begin
      ctx_valid_q <= '0;
      tag_q       <= '0;
    end
  end
endmodule
