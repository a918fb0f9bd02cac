// SPDX-License-Identifier: Apache-2.0
// Programs of near-storage commands that encrypt or decrypt (docs/csd/near-storage.md): what such a program says
// replaces what the namespace does, in the context of a command that has it.
//
// Data units are counted from the program's offset, so that the parts of a file have their place in it, wherever they
// lie. A namespace that has an operator of its own keeps it: the rows of such a command get key_err.
// The table is not reset: the firmware writes all of it before a function takes commands.
// Latency: 1 cycle. Throughput: a context a cycle.
module db_csd_crypt
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_aes_pkg::KEY_SLOT_W, db_csd_pkg::*;
#(
  parameter int NUM_FN = 1   ///< functions, 1..17
) (
  input  logic       clk,
  input  logic       rst,
  input  logic       s_bind_valid,  ///< pulse; of what is no program's nothing is done
  input  binding_t   s_bind,        ///< param: offset in bits 63:0, in bit 64 encrypt
  input  tap_cmd_t   s_tap_cmd,     ///< a cycle before its context
  input  logic [1:0] s_ctx_valid,
  input  op_ctx_t    s_ctx,
  output logic [1:0] m_ctx_valid,
  output op_ctx_t    m_ctx
);
  localparam int AW = NUM_FN > 1 ? PLACE_W + NEAR_PROGRAMS_LOG2 : NEAR_PROGRAMS_LOG2;
  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad
    $error("%m: NUM_FN must be 1..17 (is %0d)", NUM_FN);
  end

  typedef struct packed {
    logic                  encrypts;
    logic [3:0]            op;
    logic [KEY_SLOT_W-1:0] slot;
    logic [63:0]           offset;
  } entry_t;
  entry_t          entry;
  logic            near_q;
  op_ctx_t         ctx;
  logic [AW-1:0]   at;
  assign at = AW'({fn_place(s_tap_cmd.ctx.fn), s_tap_cmd.near_program});
  db_ram_sdp #(.WIDTH($bits(entry_t)), .DEPTH(1 << AW)) i_entries (
    .clk, .we(s_bind_valid && s_bind.of_program), .waddr(s_bind.index[AW-1:0]),
    .wdata({s_bind.param[64], s_bind.op, s_bind.slot, s_bind.param[63:0]}), .re(1'b1), .raddr(at), .rdata(entry));
  always_comb begin
    ctx = s_ctx;
    if (near_q && entry.op != OP_PASS) begin
      ctx.refuse = s_ctx.op != OP_PASS;
      if (s_ctx.op == OP_PASS) begin
        ctx.op       = entry.op;
        ctx.key_slot = entry.slot;
        ctx.lba      = s_ctx.lba + entry.offset;
        ctx.dir      = entry.encrypts;
        ctx.of_program     = 1'b1;
      end
    end
  end
  always_ff @(posedge clk) begin
    near_q      <= s_tap_cmd.read && s_tap_cmd.ctx.desc.computes;
    m_ctx       <= ctx;
    m_ctx_valid <= rst ? '0 : s_ctx_valid;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_tap_cmd, s_bind};
endmodule
