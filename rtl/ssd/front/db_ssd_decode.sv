// SPDX-License-Identifier: Apache-2.0
// Turns submission queue entries into checked commands.
//
// Entries of admin queues go out whole, and so do reservation commands, once they have passed the checks and have a
// slot: the firmware ends them. Any other I/O entry takes a slot, writes the slot's context, and leaves as a command
// for the engine that its opcode's descriptor names (db_ssd_op_pkg), or as a completion: an error, or a Dataset
// Management without Deallocate, which is only advice. An entry whose fetch failed has no command identifier to answer
// to: m_fetch_err says so and the entry is dropped. With several functions the others go on, so what it holds is given
// back: one for I/O takes a slot and ends unseen (m_ctx_void), one for an admin queue is reported lost.
//
// Checks, in this order, with DNR unless said (NVMe Base 2.0: 3.2.1, 3.3.3.1; NVM Command Set 1.0: 3.2):
//   aborted before it was fetched                                  Command Abort Requested
//   fused operation; SGL where there are none, or PSDT 3           Invalid Field
//   opcode                                                         Invalid Opcode
//   NSID 0 or above NUM_ALL                                        Invalid Namespace or Format
//   NSID inactive, or FFFFFFFFh for anything but Flush             Invalid Field
//   gate of the namespace closed                                   Namespace Not Ready, Format In Progress (no DNR)
//   a host that may not, by a reservation (Base 2.0, 8.19)         Reservation Conflict
//   SLBA + NLB + 1 beyond the namespace                            LBA Out of Range
//   user data, or a Verify, beyond MDTS; Write with a directive    Invalid Field
//   near-storage command: bytes of data or result, reserved bits   Invalid Field
//   ... that stores: its Write, when it comes, of no whole blocks   Invalid Field
//   user data of a locked namespace                                Access Denied
//   several functions: more ranges than a piece has, in a list     Invalid Number of SGL Descriptors
//   Execute Program: no such program, not active, no such ranges   what db_ssd_programs says
//   Memory Copy: more ranges than there may be                     Command Size Limit Exceeded
//   ... a range: its length, its namespace, over the destination   Invalid Field, Invalid Namespace, Overlapping I/O Range
//
// The next part of a command (db_ssd_near_store, db_ssd_copy) comes as an entry, and is checked as any other.
// Both engines have room for every command that has a slot, so no entry ever waits for one of them: neither a Read
// behind a Write, nor an admin command behind either.
// Latency: 1 cycle from s_sqe to m_cmd, which the engines take into their rooms in that cycle; 3 to a completion, 1 to
// m_admin, m_head and m_fetch_err; of Execute Program 1 more. Throughput: an entry every 2 cycles, of these in 3.
module db_ssd_decode
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*,
         db_ssd_decode_pkg::*;
#(
  parameter int NUM_FN        = 1,    ///< functions, 1..17: their admin queues are the first so many
  parameter int NUM_NS        = 1,    ///< namespaces of blocks, 1..64: NSIDs are 1..NUM_NS
  parameter bit UNCORRECTABLE = 1'b0, ///< has Write Uncorrectable
  parameter bit SGL           = 1'b0, ///< takes SGLs
  parameter bit NEAR          = 1'b0, ///< has near-storage commands
  parameter bit SLM           = 1'b0, ///< ... and a namespace of memory and one of programs for each function
  localparam int NUM_ALL      = SLM ? NUM_NS + 2 * NUM_FN : NUM_NS
) (
  input  logic                    clk,
  input  logic                    rst,
  /// Entries, from db_ssd_fetch.
  input  logic                    s_sqe_valid,
  output logic                    s_sqe_ready,
  input  fetched_sqe_t            s_sqe,
  input  logic [MAX_FN-1:0]       cache_off,     ///< of which functions every write is as one with FUA
  input  logic                    s_abort,       ///< with it: it ends with Command Abort Requested
  input  part_t                   s_part,        ///< NEAR: with it: it is none that was fetched
  /// Free slots, from a db_tag_pool.
  input  logic                    s_slot_valid,
  output logic                    s_slot_ready,
  input  logic [SLOT_W-1:0]       s_slot,
  /// Pulse: the context of a slot, when its command comes out, at least one cycle before its completion does.
  output logic                    m_ctx_valid,
  output logic [SLOT_W-1:0]       m_ctx_slot,
  output slot_ctx_t               m_ctx,
  output logic                    m_ctx_void,    ///< its host waits for no completion
  output logic                    m_ctx_again,   ///< its command had the slot before
  output logic                    m_ctx_stored,  ///< ... and is the Write of a near-storage command's result
  /// Pulse for every entry taken, admin and failed ones too: its queue's head is behind it.
  output logic                    m_head_valid,
  output logic [QID_W-1:0]        m_head_sqid,
  output logic [15:0]             m_head,
  output logic                    m_fetch_err,   ///< pulse: an entry could not be fetched
  output logic [FN_W-1:0]         m_fetch_err_fn, ///< ... of this function
  output logic                    m_admin_lost,  ///< ... pulse: with several functions, of an admin queue
  output logic                    m_admin_valid,
  input  logic                    m_admin_ready,
  output admin_sqe_t              m_admin,
  /// A command for the read engine or the write engine. Their ready never falls.
  output logic                    m_read_valid,
  input  logic                    m_read_ready,
  output logic                    m_write_valid,
  input  logic                    m_write_ready,
  output cmd_t                    m_cmd,
  output near_store_t             m_store,       ///< of a near-storage command that stores
  output tap_cmd_t                m_tap_cmd,     ///< with m_ctx, of the same command
  /// Commands that end here.
  output logic                    m_completion_valid,
  input  logic                    m_completion_ready,
  output slot_completion_t        m_completion,
  output logic                    busy,          ///< an I/O entry is inside
  output logic                    free,          ///< the I/O entry taken last goes, or has gone
  /// Pulse: an entry of the table of namespaces; all but the gate changes only while it has no command.
  input  logic                    s_ns_valid,
  input  ns_entry_t               s_ns,
  input  logic                    ns_rst,        ///< no namespace is there
  input  programs_set_t           s_programs,    ///< SLM: pulses: programs and memory ranges
  input  logic [NUM_NS-1:0]       ns_locked      ///< commands that move user data are refused; may change at any time
);
  localparam int MDTS_LOG2 = 20;  // of the most data bytes in a command, as Identify's MDTS says

  if (NUM_NS < 1 || NUM_NS > 64) begin : g_bad_ns
    $error("%m: NUM_NS must be 1..64 (is %0d)", NUM_NS);
  end

  // ---- intake: admin and failed entries leave here
  sqe_t sqe;
  logic take, drop, is_admin, s1_valid_q, late_q;  // late: there for the second cycle
  op_desc_t op;                                  // of the NVM command set
  logic     held;  // m_admin has an I/O entry that is still checked
  logic     go, failed;

  assign sqe         = s_sqe.sqe;
  assign is_admin    = is_admin_queue(s_sqe.sqid, NUM_FN);
  assign drop        = s_sqe.err && (NUM_FN == 1 || is_admin);
  assign op          = op_desc(sqe.opc, UNCORRECTABLE, NUM_FN > 1, NEAR);
  assign s_sqe_ready = drop || (is_admin ? !m_admin_valid && !held : !s1_valid_q && !(op.firmware && m_admin_valid));
  assign take        = s_sqe_valid && s_sqe_ready;

  always_ff @(posedge clk) begin
    m_head_valid <= take && !s_part.valid && !rst;
    m_head_sqid  <= s_sqe.sqid;
    m_head       <= s_sqe.head;
    m_fetch_err  <= take && s_sqe.err && !rst;
    m_fetch_err_fn <= s_sqe.fn;
    m_admin_lost <= NUM_FN > 1 && take && s_sqe.err && is_admin && !rst;
    if (m_admin_ready) m_admin_valid <= 1'b0;
    if (!m_admin_valid && !held) begin
      m_admin_valid <= s_sqe_valid && is_admin && !s_sqe.err;
      m_admin       <= '{io: NUM_FN > 1 && !is_admin, slot: '0, sqid: NUM_FN > 1 ? s_sqe.sqid : '0,
                         fn: s_sqe.fn, sqe: sqe};
    end
    if (held && go) begin
      m_admin_valid <= !failed;
      m_admin.slot  <= s_slot;
    end
    if (rst) m_admin_valid <= 1'b0;
  end

  // ---- stage 1: operation, namespace, end of the extent
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [31:0]      nsid;
    logic [63:0]      prp1;
    logic [63:0]      prp2;
    logic [63:0]      slba;
    logic [15:0]      nlb;       // zero based
    logic             fua;
    logic             aborted;
    logic             unread;    // several functions: it could not be fetched
    logic             bad_field; // fused, PSDT
    logic             sgl;
    logic             bad_list;  // it cannot be cut (db_ssd_order_pieces)
    op_desc_t         op;
    logic             directive;
    logic [1:0]       bad_size;  // with blocks of [0] 512, [1] 4096 bytes
    near_args_t       near_args;
    logic             no_work;   // ends here: neither engine has anything to do
    logic [64:0]      lba_end;   // SLBA + NLB + 1
    logic [63:0]      from;      // in memory
    ns_set_e          set;
    part_t            part;
    logic             too_many;
    logic [NEAR_BYTES_W-1:0] bytes;  // of a command that has no blocks
    near_store_t      store;
    logic [64:0]      stored_end;   // as lba_end, of the Write of a result to blocks of 4096 bytes
    logic             ns_in_range;  // 1..NUM_NS
    logic             ns_active;
    logic             ns_all;
    logic             lba4k;
    logic             locked;
    logic             read_only;
    logic             conflict;  // with a reservation
    ns_gate_e         gate;
    logic [63:0]      base;
    logic [63:0]      blocks;
    logic             refused;      // whatever its extent; aborted ones are seen apart
  } s1_t;
  s1_t  s1_d, s1_q;
  logic [PLACE_W-1:0] place;
  assign place = NUM_FN == 1 ? '0 : fn_place(s_sqe.fn);
  localparam int NS_W = NUM_ALL > 1 ? $clog2(NUM_ALL + 1) : 1;
  namespace_t ns;
  logic [MAX_FN-1:0] bars;
  bytewise_t  bytewise;         // SLM: of a command that has no blocks
  executed_t  executed;         // ... of Execute Program, in the second cycle of s1_q
  logic       not_done;         // ... or Memory Copy's ranges
  if (SLM) begin : g_programs
    db_ssd_programs #(.NUM_FN(NUM_FN), .MOST_LOG2(MDTS_LOG2)) i_programs (
      .clk, .rst(ns_rst), .s_set(s_programs), .look(!s1_valid_q), .s_place(place), .s_sqe(sqe),
      .s_programs(ns.set == SET_PROGRAMS), .m_bytewise(bytewise), .m_executed(executed));
    assign not_done = s1_q.set == SET_PROGRAMS ? executed.failed : s1_q.too_many || s1_q.part.overlaps;
  end else begin : g_no_programs
    logic unused_programs;
    assign {bytewise, executed, not_done} = '0;
    assign unused_programs = &{1'b0, s_programs, bytewise, executed, not_done};
  end
  db_ssd_namespaces #(.NUM_FN(NUM_FN), .NUM_NS(NUM_ALL)) i_namespaces (
    .clk, .rst(ns_rst), .s_valid(s_ns_valid), .s_entry(s_ns), .nsid(sqe.nsid[NS_W-1:0]), .ns, .bars);
  logic [2**PLACE_W-1:0] bars_all;
  assign bars_all = 32'(bars);
  near_fields_t near;
  assign near = near_fields(sqe, op.stores, SLM);
  op_desc_t [2:0] ops;        // by set of commands
  logic     [2:0] refused_of;
  assign ops = {SLM ? programs_desc(sqe.opc) : op, SLM ? memory_desc(sqe.opc) : op, op};

  always_comb begin
    s1_d           = '0;
    s1_d.fn        = s_sqe.fn;
    s1_d.sqid      = s_sqe.sqid;
    s1_d.cid       = sqe.cid;
    s1_d.nsid      = sqe.nsid;
    s1_d.prp1      = sqe.prp1;
    s1_d.prp2      = sqe.prp2;
    s1_d.slba      = {sqe.cdw11, sqe.cdw10};
    s1_d.nlb       = sqe.cdw12[15:0];
    if (NUM_ALL == 1 ? sqe.nsid == 32'd1 : sqe.nsid != '0 && sqe.nsid <= 32'(NUM_ALL)) begin
      s1_d.ns_in_range = 1'b1;
      s1_d.ns_active   = NUM_FN == 1 ? ns.valid : ns.attached[place];
      if (SLM && s1_d.ns_active) s1_d.set = ns.set;
      if (SLM && s_part.valid && s1_d.ns_active && s1_d.set != (s_part.memory ? SET_MEMORY : SET_NVM))
        {s1_d.ns_in_range, s1_d.set} = {1'b0, SET_NVM};
    end
    s1_d.op        = ops[s1_d.set];
    // VSL is MDTS: what is read to nobody, a Verify, would else hold up all Reads behind it for as long as it likes.
    for (int i = 0; i < 2; i++)
      s1_d.bad_size[i] = (s1_d.op.user_data || s1_d.op.counts_read) &&
                         (sqe.cdw12[15:0] >> (MDTS_LOG2 - (i == 1 ? 12 : 9))) != '0;
    s1_d.fua       = (sqe.cdw12[30] || cache_off[place]) && s1_d.op.has_fua;
    s1_d.aborted   = s_abort;
    s1_d.unread    = NUM_FN > 1 && s_sqe.err;
    s1_d.bad_field = sqe.fuse != '0 || (SGL ? sqe.psdt == 2'd3 : sqe.psdt != '0);
    s1_d.sgl       = SGL && sqe.psdt != '0;
    s1_d.bad_list  = NUM_FN > 1 && s1_d.sgl && s1_d.op.ranges && sqe.cdw11[2] && sqe.prp2[63:61] == 3'b001 &&
                     sqe.cdw10[7:0] >= 8'(PIECE_RANGES);
    s1_d.directive = s1_d.op.has_directive && sqe.cdw12[23:20] != '0;
    if (NEAR && s1_d.op.computes && s1_d.set == SET_NVM) begin
      s1_d.op.memory      = near.memory;
      s1_d.op.from_sgl    = near.sgl;
      s1_d.op.counts_read = !near.memory;
      s1_d.from           = sqe.mptr;
      s1_d.near_args      = near.args;
      s1_d.bad_size      |= near.bad;
      s1_d.store          = near.store;
    end
    s1_d.no_work   = no_work(s1_d.op, sqe.cdw11[2]);
    s1_d.lba_end   = {1'b0, sqe.cdw11, sqe.cdw10} + {49'd0, sqe.cdw12[15:0]} + 65'd1;
    s1_d.ns_all    = sqe.nsid == NSID_ALL;
    if (s1_d.ns_in_range) begin
      s1_d.gate        = ns.gate;
      s1_d.lba4k       = ns.lba4k;
      for (int n = 0; n < NUM_NS; n++)
        if (NUM_ALL == 1 || sqe.nsid[NS_W-1:0] == NS_W'(n + 1)) s1_d.locked |= ns_locked[n];
      s1_d.read_only   = ns.read_only;
      s1_d.base        = ns.base;
      s1_d.blocks      = ns.blocks;
    end
    if (SLM && s1_d.set != SET_NVM) begin
      s1_d.nlb       = '0;
      s1_d.sgl       = s1_d.sgl || s1_d.set == SET_PROGRAMS;
      s1_d.slba      = bytewise.first;
      s1_d.lba_end   = bytewise.last;
      s1_d.bytes     = bytewise.bytes;
      s1_d.from      = ns.base | bytewise.first;
      s1_d.near_args = bytewise.args;
      s1_d.bad_size  = {2{bytewise.bad}};
      s1_d.too_many  = bytewise.too_many;
    end
    if (NEAR) begin
      s1_d.part       = s_part;
      s1_d.stored_end = {1'b0, sqe.cdw11, sqe.cdw10} + 65'(sqe.cdw12[15:3]) + 65'd1;
      if (s_part.valid && s_part.stores) s1_d.bad_size = {sqe.cdw12[2:0] != '1, 1'b0};
      else if (SLM && s_part.valid) begin
        s1_d.op.copies      = s_part.more;
        s1_d.op.counts_read = 1'b0;       // the host reads nothing
        s1_d.bad_size      |= s_part.bad;
      end
    end
    // Each command but those of reservations reads, or writes: Flush is one of these.
    if (NUM_FN > 1 && !s1_d.op.firmware)
      s1_d.conflict = s1_d.ns_all ? bars_all[place] && s1_d.op.flush
                    : s1_d.ns_in_range && ns.barred[place] && (ns.exclusive || s1_d.op.modifies || s1_d.op.flush);
    // What fails is worked out beside the verdict and in part a cycle ahead, so that an engine knows early; whose set of
    // commands it is comes late.
    for (int i = 0; i < 3; i++)
      refused_of[i] = op_refused(ops[i], sqe.cdw11[2], s1_d.ns_all, s1_d.read_only, s1_d.locked);
    s1_d.refused = s1_d.unread || s1_d.bad_field || s1_d.gate != NS_OPEN || s1_d.directive || s1_d.conflict ||
                   s1_d.bad_list || (!s1_d.ns_all && (!s1_d.ns_in_range || !s1_d.ns_active)) || refused_of[s1_d.set];
  end

  // ---- stage 2: the verdict, the slot, out
  status_t     verdict;
  logic [63:0] slba;
  logic        beyond_end, bad_size, lba4k_q;
  logic [NEAR_PROGRAMS_LOG2-1:0] near_q;
  logic              again, stored, may_go;
  logic [SLOT_W-1:0] slot;
  logic [1:0]  to_tap_q;         // with m_ctx: it sends a packet to the host, [1] from the host
  logic        end_valid_q;      // a completion, one cycle before it comes out
  slot_completion_t end_q;

  assign slba        = s1_q.op.has_lba ? s1_q.slba : '0;
  assign beyond_end  = s1_q.op.has_lba && (stored && s1_q.lba4k ? s1_q.stored_end > {1'b0, s1_q.blocks}
                                                                : s1_q.lba_end > {1'b0, s1_q.blocks});
  assign bad_size    = s1_q.bad_size[s1_q.lba4k];
  assign again       = NEAR && s1_q.part.valid;
  assign stored      = NEAR && s1_q.part.valid && s1_q.part.stores;
  assign slot        = again ? s1_q.part.slot : s_slot;
  assign held        = NUM_FN > 1 && s1_valid_q && s1_q.op.firmware;

  always_comb begin
    m_cmd          = '0;
    m_cmd.fn       = s1_q.fn;
    m_cmd.slot     = slot;
    m_cmd.desc     = s1_q.op;
    m_cmd.fua      = s1_q.fua;
    m_cmd.lba4k    = s1_q.lba4k;
    m_cmd.media_addr = (NEAR && s1_q.op.memory ? s1_q.from : s1_q.base) +
                       (NEAR && s1_q.op.memory ? '0 : s1_q.lba4k ? slba << 12 : slba << 9);
    m_cmd.ns_blocks = NEAR && (s1_q.op.computes || s1_q.op.copies) ? 64'(s1_q.near_args) : s1_q.blocks;
    m_cmd.sgl      = s1_q.sgl;
    m_cmd.prp1     = s1_q.prp1;
    m_cmd.prp2     = s1_q.prp2;
    m_store        = s1_q.store;
    if (SLM && s1_q.set != SET_NVM)  m_cmd.bytes = 32'(s1_q.bytes);
    else if (s1_q.op.has_lba)        m_cmd.bytes = ({16'd0, s1_q.nlb} + 32'd1) << (s1_q.lba4k && !stored ? 12 : 9);
    else if (s1_q.op.ranges) m_cmd.bytes = ({24'd0, s1_q.slba[7:0]} + 32'd1) << 4;
    if (SLM && s1_q.set == SET_PROGRAMS) begin
      m_cmd.ns_blocks  = 64'(with_result(s1_q.near_args, executed.result));
      m_cmd.media_addr = s1_q.base | 64'(executed.from);
      m_cmd.prp1       = s1_q.base | 64'(executed.to);
      m_cmd.prp2       = 64'(executed.result);
    end
  end

  always_comb begin
    verdict = INVALID_FIELD;
    if (s1_q.unread || s1_q.aborted)                                verdict = ABORTED;
    else if (s1_q.bad_field)                                        verdict = INVALID_FIELD;
    else if (!s1_q.op.known)                                        verdict = INVALID_OPC;
    else if (s1_q.ns_all && !s1_q.op.any_namespace)                 verdict = INVALID_FIELD;
    else if (!s1_q.ns_all && !s1_q.ns_in_range)                     verdict = INVALID_NS;
    else if (!s1_q.ns_all && !s1_q.ns_active)                       verdict = INVALID_FIELD;
    else if (s1_q.gate != NS_OPEN)
      verdict = s1_q.gate == NS_LATER ? COME_AGAIN : s1_q.gate == NS_FORMATTING ? FORMATTING : NS_NOT_READY;
    else if (s1_q.conflict)                                         verdict = CONFLICT;
    else if (beyond_end)                                            verdict = LBA_RANGE;
    else if (bad_size || s1_q.directive)                            verdict = INVALID_FIELD;
    else if (s1_q.op.modifies && s1_q.read_only && !s1_q.no_work)   verdict = PROTECTED;
    else if (s1_q.op.user_data && s1_q.locked)                      verdict = ACCESS_DENIED;
    else if (s1_q.bad_list)                                         verdict = BAD_COUNT;
    else if (SLM && not_done)
      verdict = s1_q.set == SET_PROGRAMS ? executed.status : s1_q.too_many ? TOO_MANY : OVERLAPS;
    else                                                            verdict = OK;
    failed = s1_q.refused || s1_q.aborted || beyond_end || bad_size || (SLM && not_done);
  end

  // The slot does not wait for the verdict.
  assign may_go        = s1_valid_q && (!SLM || s1_q.set != SET_PROGRAMS || late_q) && !end_valid_q && m_read_ready &&
                         m_write_ready;
  assign s_slot_ready  = may_go && !again;
  assign go            = may_go && (s_slot_valid || again);
  assign m_read_valid  = go && !failed && s1_q.op.read_engine;
  assign m_write_valid = go && !failed && !s1_q.op.read_engine && !s1_q.op.firmware &&
                         !s1_q.no_work;

  always_ff @(posedge clk) begin
    if (!s1_valid_q) s1_q <= s1_d;
    s1_valid_q <= s1_valid_q ? !go : take && !is_admin && !drop;
    late_q     <= s1_valid_q && !go;

    m_ctx_valid <= go;
    m_ctx_slot  <= slot;
    {m_ctx_again, m_ctx_stored} <= {again, stored};
    m_ctx_void  <= s1_q.unread;
    m_ctx       <= '{desc: s1_q.op, fn: s1_q.fn, sqid: s1_q.sqid, cid: s1_q.cid, nsid: s1_q.nsid,
                     slba: slba, bytes: m_cmd.bytes};
    if (stored) m_ctx.desc.computes <= 1'b1;  // its completion says how long the result was
    to_tap_q    <= {m_write_valid && s1_q.op.from_host, m_read_valid && s1_q.op.to_host};
    lba4k_q     <= s1_q.lba4k;
    near_q      <= NEAR ? s1_q.near_args.number : '0;

    if (!m_completion_valid) end_valid_q <= 1'b0;
    if (go && (failed || s1_q.no_work)) end_valid_q <= 1'b1;
    if (go) end_q <= '{slot: slot, status: verdict};
    if (m_completion_ready) m_completion_valid <= 1'b0;
    if (!m_completion_valid) begin
      m_completion_valid <= end_valid_q;
      m_completion       <= end_q;
    end

    if (rst) {s1_valid_q, to_tap_q, end_valid_q, m_completion_valid, m_ctx_valid} <= '0;
  end

  assign busy = s1_valid_q || end_valid_q;
  assign free = !s1_valid_q || go;

  // ---- what the operators must know: context and command are there in the same cycle
  assign m_tap_cmd = '{read: to_tap_q[0], write: to_tap_q[1], lba4k: lba4k_q, near_program: near_q, ctx: m_ctx};
endmodule
