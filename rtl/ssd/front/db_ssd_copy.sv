// SPDX-License-Identifier: Apache-2.0
// Memory Copy (docs/csd/programs.md): its ranges, one after the other, as entries for decode, in the slot that it has.
//
// Why so: a range is a Read, or a Memory Read, whose data pointer says where in the function's memory its data go. So decode
// checks it as any other: namespace, gate, reservation, lock, extent; and all that follows is a Read's.
// Of each slot it keeps where the data go and how far they have come, and its list, which the read engine fetches as the
// command's first part (db_ssd_copy_list). There is room for each command that comes again, so nobody waits for it.
// Latency: 6 cycles from s_again to the entry. Throughput: a range in 8 cycles.
module db_ssd_copy
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_CMDS  = 128,   ///< command slots: power of two, 2..256
  parameter int SIZE_LOG2 = 21     ///< log2 of the bytes of a function's memory, 12..30
) (
  input  logic              clk,
  input  logic              rst,
  output logic              busy,           ///< a range is to come
  /// Pulse: a Memory Copy goes to the read engine, for its list.
  input  logic              s_cmd_valid,
  input  cmd_t              s_cmd,
  input  copy_range_t       s_range,        ///< of such a list
  /// Pulse, a cycle later: what it will move, of all its sources, counts now, and none of them when it comes.
  output logic              m_moves,
  output logic [MOVED_W-1:0] m_moves_bytes,
  /// Its list, or a range, has ended well, and another range follows.
  input  logic              s_again_valid,
  output logic              s_again_ready,  ///< always
  input  near_again_t       s_again,
  output logic              m_sqe_next,     ///< what m_sqe_valid is in the next cycle
  output logic              m_sqe_valid,
  input  logic              m_sqe_ready,
  output fetched_sqe_t      m_sqe,
  output part_t             m_part,         ///< with m_sqe
  output logic [SLOT_W-1:0] m_slot,         ///< of it
  /// Pulse: the entry has passed decode, and is so long.
  input  logic              s_passed,
  input  logic [31:0]       s_passed_bytes
);
  localparam int AW = $clog2(NUM_CMDS);
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** AW || SIZE_LOG2 < 12 || SIZE_LOG2 > 30) begin : g_bad
    $error("%m: NUM_CMDS must be a power of two, 2..256 (is %0d), SIZE_LOG2 12..30 (is %0d)", NUM_CMDS, SIZE_LOG2);
  end

  copy_args_t args;
  assign args = copy_args_t'(s_cmd.ns_blocks[$bits(copy_args_t)-1:0]);
  always_ff @(posedge clk) begin
    m_moves       <= s_cmd_valid && !rst;
    m_moves_bytes <= args.length[31:MOVED_W] != '0 ? '1 : args.length[MOVED_W-1:0];
  end

  // ---- which commands come again
  near_again_t again;
  logic        next_valid, take;
  db_fifo #(.WIDTH($bits(near_again_t)), .DEPTH(NUM_CMDS)) i_again (
    .clk, .rst, .s_valid(s_again_valid), .s_ready(s_again_ready), .s_data(s_again), .m_valid(next_valid),
    .m_ready(take), .m_data(again), .level());

  // ---- of each slot
  typedef struct packed {
    copy_args_t                  args;
    logic [63:0]                 to;      // of the first range
    logic [31:0]                 moved;   // bytes of those before
    logic [COPY_RANGES_LOG2-1:0] index;   // of the range that is next
  } kept_t;
  typedef struct packed {
    logic [31:0] nsid;
    logic [63:0] start;
    logic [31:0] amount;
  } range_t;
  typedef enum logic [2:0] {REST, LOOK, FIND, SUM, CHECK, GIVE, PASS} state_e;
  state_e      state_q;
  logic        give_q;              // state_q is GIVE, as a register of its own: decode has it before all else
  near_again_t again_q;
  kept_t       kept, keeps;
  range_t      range;
  logic [$bits(kept_t)-1:0]  kept_rdata;
  logic [$bits(range_t)-1:0] range_rdata;
  logic [AW-1:0]             slot;
  assign slot  = again_q.slot[AW-1:0];
  assign kept  = kept_t'(kept_rdata);
  assign range = range_t'(range_rdata);
  always_comb begin
    keeps       = kept;
    keeps.moved = kept.moved + s_passed_bytes;
    keeps.index = kept.index + 1'b1;
    if (s_cmd_valid) keeps = '{args: args, to: s_cmd.media_addr, moved: '0, index: '0};
  end
  db_ram_sdp #(.WIDTH($bits(kept_t)), .DEPTH(NUM_CMDS), .BLOCK(1'b1)) i_kept (
    .clk, .we(s_cmd_valid || s_passed), .waddr(s_cmd_valid ? s_cmd.slot[AW-1:0] : slot), .wdata(keeps),
    .re(state_q == LOOK), .raddr(slot), .rdata(kept_rdata));
  db_ram_sdp #(.WIDTH($bits(range_t)), .DEPTH(NUM_CMDS << COPY_RANGES_LOG2), .BLOCK(1'b1)) i_ranges (
    .clk, .we(s_range.valid), .waddr({s_range.slot[AW-1:0], s_range.index}),
    .wdata({s_range.nsid, s_range.start, s_range.amount}), .re(state_q == FIND), .raddr({slot, kept.index}),
    .rdata(range_rdata));

  // ---- the range at hand
  localparam int END_W = 34;               // of places in the memory, and behind it
  logic [31:0]      left_q;
  logic [63:0]      to_q;
  logic [1:0][31:0] bytes;                 // with blocks of [0] 512, [1] 4096 bytes
  logic [END_W-1:0] first, first_to, end_q, end_to_q;
  logic             more, overlaps_q;
  logic [1:0]       bad_q;
  assign more     = kept.index != kept.args.last;
  assign first    = END_W'(range.start[31:0]);
  assign first_to = END_W'(kept.to[SIZE_LOG2-1:0]);
  always_comb for (int i = 0; i < 2; i++)
    bytes[i] = kept.args.memory ? range.amount : (32'(range.amount[15:0]) + 32'd1) << (i == 1 ? 12 : 9);
  assign take = state_q == REST && next_valid;
  always_ff @(posedge clk) begin
    if (take) again_q <= again;
    left_q     <= kept.args.length - kept.moved;
    to_q       <= kept.to + 64'(kept.moved);
    end_q      <= first + END_W'(range.amount);
    end_to_q   <= first_to + END_W'(kept.args.length);
    overlaps_q <= kept.args.memory && first < end_to_q && first_to < end_q;
    for (int i = 0; i < 2; i++) bad_q[i] <= more ? bytes[i] >= left_q : bytes[i] != left_q;
    unique case (state_q)
      REST:    if (take) state_q <= LOOK;
      LOOK:    state_q <= FIND;
      FIND:    state_q <= SUM;
      SUM:     state_q <= CHECK;
      CHECK: begin
        state_q <= GIVE;
        give_q  <= 1'b1;
      end
      GIVE: if (m_sqe_ready) begin
        state_q <= PASS;
        give_q  <= 1'b0;
      end
      default: if (s_passed) state_q <= REST;
    endcase
    if (rst) begin
      state_q <= REST;
      give_q  <= 1'b0;
    end
  end

  // ---- as an entry: its data pointer is an SGL descriptor of a block
  localparam logic [1:0] PSDT_SGL = 2'd1;
  assign busy        = state_q != REST || next_valid;
  assign m_slot      = again_q.slot;
  assign m_sqe_valid = give_q;
  assign m_sqe_next  = !rst && (state_q == CHECK || (give_q && !m_sqe_ready));
  assign m_part      = '{valid: m_sqe_valid, slot: again_q.slot, stores: 1'b0, more: more, memory: kept.args.memory,
                         bad: bad_q, overlaps: overlaps_q};
  always_comb begin
    m_sqe           = '0;
    m_sqe.fn        = again_q.fn;
    m_sqe.sqid      = again_q.sqid;
    m_sqe.sqe.opc   = OPC_READ;            // Memory Read is the same
    m_sqe.sqe.psdt  = PSDT_SGL;
    m_sqe.sqe.cid   = again_q.cid;
    m_sqe.sqe.nsid  = range.nsid;
    m_sqe.sqe.prp1  = to_q;
    m_sqe.sqe.prp2  = 64'(left_q);
    {m_sqe.sqe.cdw11, m_sqe.sqe.cdw10} = range.start;
    m_sqe.sqe.cdw12 = kept.args.memory ? range.amount : 32'(range.amount[15:0]);
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_cmd, s_range};
  if (OPC_READ != SLM_OPC_READ) begin : g_bad_opcode
    $error("%m: a Memory Read is another opcode than a Read");
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_again_valid) assert (s_again_ready);
  always_ff @(posedge clk) if (!rst) assert (!(s_cmd_valid && s_passed) && (!s_passed || state_q == PASS));
`endif
endmodule
