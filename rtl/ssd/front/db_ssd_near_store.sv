// SPDX-License-Identifier: Apache-2.0
// The second part of near-storage commands that store (docs/csd/near-storage.md): when such a command's result is where its
// data pointer says, a Write from there comes to decode as an entry, in the slot that the command has.
//
// Why so: how long a result is, and whether there is one, is known when it ends; the result's place holds it until then.
// And decode checks the Write as any other: namespace, gate, reservation, lock, extent; all that follows is a Write's.
// There is room for each command that comes again, so nobody waits for it.
// Latency: 4 cycles from s_again to the entry. Throughput: an entry in 4 cycles.
module db_ssd_near_store
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  output logic              busy,           ///< a Write is to come
  /// Pulse: a command that stores goes to the read engine.
  input  logic              s_cmd_valid,
  input  cmd_t              s_cmd,
  input  near_store_t       s_store,
  /// The first part has ended well.
  input  logic              s_again_valid,
  output logic              s_again_ready,  ///< always
  input  near_again_t       s_again,
  output logic              m_sqe_next,     ///< what m_sqe_valid is in the next cycle
  output logic              m_sqe_valid,
  input  logic              m_sqe_ready,
  output fetched_sqe_t      m_sqe,
  output part_t             m_part,         ///< with m_sqe
  output logic [SLOT_W-1:0] m_slot          ///< of it
);
  localparam int AW = $clog2(NUM_CMDS);
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** AW) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256 (is %0d)", NUM_CMDS);
  end

  // ---- which commands come again
  near_again_t again, again_q;
  logic        next_valid, take, look_q, find_q, give_q;
  db_fifo #(.WIDTH($bits(near_again_t)), .DEPTH(NUM_CMDS)) i_again (
    .clk, .rst, .s_valid(s_again_valid), .s_ready(s_again_ready), .s_data(s_again), .m_valid(next_valid),
    .m_ready(take), .m_data(again), .level());
  assign take = next_valid && !look_q && !find_q && !give_q;
  always_ff @(posedge clk) begin
    if (take) again_q <= again;
    look_q <= take;
    find_q <= look_q;
    give_q <= m_sqe_next;
    if (rst) {look_q, find_q} <= '0;
  end

  // ---- what its slot keeps
  localparam int NLB_W = NEAR_BYTES_W - 9;
  typedef struct packed {
    logic [NLB_W-1:0] nlb;      // of 512 bytes, zero based
    logic             fua;
    logic             sgl;
    logic [63:0]      prp1;
    logic [63:0]      prp2;
    near_store_t      where;
  } kept_t;
  near_args_t               args;
  kept_t                    kept;
  logic [$bits(kept_t)-1:0] rdata;
  assign args = near_args_t'(s_cmd.ns_blocks[$bits(near_args_t)-1:0]);
  assign kept = kept_t'(rdata);
  db_ram_sdp #(.WIDTH($bits(kept_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_kept (
    .clk, .we(s_cmd_valid), .waddr(s_cmd.slot[AW-1:0]),
    .wdata({args.result[NEAR_BYTES_W-1:9] - 1'b1, s_cmd.fua, s_cmd.sgl, s_cmd.prp1, s_cmd.prp2, s_store}),
    .re(look_q), .raddr(again_q.slot[AW-1:0]), .rdata);
  logic [31:0] nsid_q;           // a register: decode looks for it before all else
  always_ff @(posedge clk) if (find_q) nsid_q <= kept.where.nsid == '0 ? again_q.nsid : 32'(kept.where.nsid);

  // ---- as an entry
  localparam logic [1:0] PSDT_SGL = 2'd1;
  assign busy        = next_valid || look_q || find_q || give_q;
  assign m_slot      = again_q.slot;
  assign m_sqe_valid = give_q;
  assign m_sqe_next  = !rst && (find_q || (give_q && !m_sqe_ready));
  always_comb begin
    m_part          = '0;
    m_part.valid    = m_sqe_valid;
    m_part.slot     = again_q.slot;
    m_part.stores   = 1'b1;
    m_sqe           = '0;
    m_sqe.fn        = again_q.fn;
    m_sqe.sqid      = again_q.sqid;
    m_sqe.sqe.opc   = OPC_WRITE;
    m_sqe.sqe.psdt  = kept.sgl ? PSDT_SGL : '0;
    m_sqe.sqe.cid   = again_q.cid;
    m_sqe.sqe.nsid  = nsid_q;
    m_sqe.sqe.prp1  = kept.prp1;
    m_sqe.sqe.prp2  = kept.prp2;
    {m_sqe.sqe.cdw11, m_sqe.sqe.cdw10} = kept.where.slba;
    m_sqe.sqe.cdw12 = {1'b0, kept.fua, 30'(kept.nlb)};
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, args, s_cmd};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_again_valid) assert (s_again_ready);
`endif
endmodule
