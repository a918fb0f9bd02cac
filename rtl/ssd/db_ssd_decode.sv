// SPDX-License-Identifier: Apache-2.0
// Turns submission queue entries into checked commands.
//
// Admin entries (sqid 0) go out whole. An I/O entry takes a slot, writes the slot's context, and leaves as a command
// for the read pipe (Read, Verify) or the write pipe (Write, Compare, Write Zeroes, Dataset Management, Flush), or as
// a completion: an error, or a Dataset Management without Deallocate, which is only advice. An entry whose fetch
// failed has no command identifier to answer to: m_fetch_err says so and the entry is dropped.
//
// Checks, in this order, all with DNR (NVMe Base 2.0: 3.2.1, 3.3.3.1; NVM Command Set 1.0: 3.2):
//   fused operation, SGL                                           Invalid Field
//   opcode                                                         Invalid Opcode
//   NSID 0 or above NUM_NS                                         Invalid Namespace or Format
//   NSID inactive, or FFFFFFFFh for anything but Flush             Invalid Field
//   SLBA + NLB + 1 beyond the namespace                            LBA Out of Range
//   data beyond MDTS (Read, Write, Compare); Write with a directive Invalid Field
//
// Latency: 4 cycles from s_sqe to a pipe or completion, 1 to m_admin, m_head and m_fetch_err.
// Throughput: one entry a cycle. Outputs are FIFOs of 4, so that a stalled output holds up the others only when
// a fifth entry for it has come.
module db_ssd_decode
  import db_nvme_pkg::*;
  import db_ssd_pkg::*;
#(
    parameter int unsigned NUM_NS    = 1,  // namespaces, 1..64: NSIDs are 1..NUM_NS
    parameter int unsigned MDTS_LOG2 = 20  // log2 of the most data bytes in a command: 12..28
) (
    input  logic                 clk,
    input  logic                 rst,

    // entries, from db_ssd_fetch
    input  logic                 s_sqe_valid,
    output logic                 s_sqe_ready,
    input  logic [FN_W-1:0]      s_sqe_fn,
    input  logic [QID_W-1:0]     s_sqe_sqid,
    input  logic [15:0]          s_sqe_head,     // the queue's head after this entry
    input  logic                 s_sqe_err,      // the fetch failed
    input  logic [511:0]         s_sqe_data,

    // free slots, from a db_tag_pool
    input  logic                 s_slot_valid,
    output logic                 s_slot_ready,
    input  logic [SLOT_W-1:0]    s_slot,

    // pulse: the context of a slot, at least one cycle before its command or completion comes out
    output logic                 m_ctx_we,
    output logic [SLOT_W-1:0]    m_ctx_slot,
    output slot_ctx_t            m_ctx_data,

    // pulse for every entry taken, admin and failed ones too
    output logic                 m_head_valid,
    output logic [QID_W-1:0]     m_head_sqid,
    output logic [15:0]          m_head,

    // pulse: an entry of this queue could not be fetched
    output logic                 m_fetch_err,
    output logic [QID_W-1:0]     m_fetch_err_sqid,

    output logic                 m_admin_valid,
    input  logic                 m_admin_ready,
    output logic [FN_W-1:0]      m_admin_fn,
    output logic [511:0]         m_admin_data,

    output logic                 m_rd_valid,
    input  logic                 m_rd_ready,
    output cmd_t                 m_rd_cmd,

    output logic                 m_wr_valid,
    input  logic                 m_wr_ready,
    output cmd_t                 m_wr_cmd,

    output logic                 m_cpl_valid,
    input  logic                 m_cpl_ready,
    output slot_cpl_t            m_cpl,

    // namespaces; may change only while no command is under way in them
    input  logic [NUM_NS-1:0]    ns_valid,
    input  logic [NUM_NS*64-1:0] ns_base,        // bytes on the media
    input  logic [NUM_NS*64-1:0] ns_blocks,      // size
    input  logic [NUM_NS-1:0]    ns_lba4k        // block size: 0 = 512, 1 = 4096 bytes
);
  localparam int unsigned FIFO_DEPTH = 4;
  localparam logic [31:0] NSID_ALL   = 32'hffff_ffff;
  localparam status_t OK            = status(1'b0, SCT_GENERIC, SC_SUCCESS);
  localparam status_t INVALID_OPC   = status(1'b1, SCT_GENERIC, SC_INVALID_OPCODE);
  localparam status_t INVALID_FIELD = status(1'b1, SCT_GENERIC, SC_INVALID_FIELD);
  localparam status_t INVALID_NS    = status(1'b1, SCT_GENERIC, SC_INVALID_NS);
  localparam status_t LBA_RANGE     = status(1'b1, SCT_GENERIC, SC_LBA_RANGE);

  if (NUM_NS < 1 || NUM_NS > 64) begin : g_bad_ns
    $error("%m: NUM_NS must be 1..64 (is %0d)", NUM_NS);
  end
  if (MDTS_LOG2 < 12 || MDTS_LOG2 > 28) begin : g_bad_mdts
    $error("%m: MDTS_LOG2 must be 12..28 (is %0d)", MDTS_LOG2);
  end

  // ---- intake: admin and failed entries leave here
  sqe_t sqe;
  logic take, is_admin, admin_ready, s1_ready;

  assign sqe         = sqe_t'(s_sqe_data);
  assign is_admin    = s_sqe_sqid == '0;
  assign s_sqe_ready = s_sqe_err || (is_admin ? admin_ready : s1_ready);
  assign take        = s_sqe_valid && s_sqe_ready;

  always_ff @(posedge clk) begin
    m_head_valid     <= take && !rst;
    m_head_sqid      <= s_sqe_sqid;
    m_head           <= s_sqe_head;
    m_fetch_err      <= take && s_sqe_err && !rst;
    m_fetch_err_sqid <= s_sqe_sqid;
  end

  db_fifo #(.WIDTH(FN_W + 512), .DEPTH(FIFO_DEPTH)) i_admin (
      .clk, .rst,
      .s_valid(s_sqe_valid && is_admin && !s_sqe_err), .s_ready(admin_ready), .s_data({s_sqe_fn, s_sqe_data}),
      .m_valid(m_admin_valid), .m_ready(m_admin_ready), .m_data({m_admin_fn, m_admin_data}), .level()
  );

  // ---- stage 1: fields and namespace
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    sqe_t             sqe;
    logic             ns_in_range;  // 1..NUM_NS
    logic             ns_active;
    logic             ns_all;
    logic             lba4k;
    logic [63:0]      base;
    logic [63:0]      blocks;
  } s1_t;
  s1_t  s1_d, s1_q;
  logic s1_valid_q;

  always_comb begin
    s1_d        = '0;
    s1_d.fn     = s_sqe_fn;
    s1_d.sqid   = s_sqe_sqid;
    s1_d.sqe    = sqe;
    s1_d.ns_all = sqe.nsid == NSID_ALL;
    for (int unsigned n = 0; n < NUM_NS; n++) begin
      if (sqe.nsid == n + 1) begin
        s1_d.ns_in_range = 1'b1;
        s1_d.ns_active  |= ns_valid[n];
        s1_d.lba4k      |= ns_lba4k[n];
        s1_d.base       |= ns_base[64*n+:64];
        s1_d.blocks     |= ns_blocks[64*n+:64];
      end
    end
  end

  // ---- stage 2: operation, extent, every check but the namespace's end
  typedef struct packed {
    cmd_t             cmd;       // slot not yet filled in
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [7:0]       opcode;
    logic [31:0]      nsid;
    logic [63:0]      slba;
    status_t          early;     // what comes before the check of the range
    status_t          late;      // what comes after it
    logic             has_lba;
    logic [64:0]      lba_end;   // SLBA + NLB + 1
    logic             to_rd;     // else to the write pipe
    logic             to_cpl;    // nothing to do
  } s2_t;
  s2_t  s2_d, s2_q;
  logic s2_valid_q, s2_ready, s2_go;
  logic known, moves_data, beyond_mdts, directive, dsm;
  logic [63:0] slba;
  logic [15:0] nlb;              // zero based

  assign slba        = {s1_q.sqe.cdw11, s1_q.sqe.cdw10};
  assign nlb         = s1_q.sqe.cdw12[15:0];
  assign beyond_mdts = s1_q.lba4k ? (nlb >> (MDTS_LOG2 - 12)) != '0
                                  : (nlb >> 3 >> (MDTS_LOG2 - 12)) != '0;
  assign directive   = s1_q.sqe.opc == OPC_WRITE && s1_q.sqe.cdw12[23:20] != '0;
  assign dsm         = s1_q.sqe.opc == OPC_DSM;

  always_comb begin
    s2_d        = '0;
    s2_d.sqid   = s1_q.sqid;
    s2_d.cid    = s1_q.sqe.cid;
    s2_d.opcode = s1_q.sqe.opc;
    s2_d.nsid   = s1_q.sqe.nsid;
    known       = 1'b1;
    moves_data  = 1'b0;
    unique case (s1_q.sqe.opc)
      OPC_READ:         begin s2_d.cmd.op = CMD_READ;    s2_d.has_lba = 1'b1; moves_data = 1'b1; s2_d.to_rd = 1'b1; end
      OPC_VERIFY:       begin s2_d.cmd.op = CMD_VERIFY;  s2_d.has_lba = 1'b1; s2_d.to_rd = 1'b1; end
      OPC_WRITE:        begin s2_d.cmd.op = CMD_WRITE;   s2_d.has_lba = 1'b1; moves_data = 1'b1; end
      OPC_COMPARE:      begin s2_d.cmd.op = CMD_COMPARE; s2_d.has_lba = 1'b1; moves_data = 1'b1; end
      OPC_WRITE_ZEROES: begin s2_d.cmd.op = CMD_ZERO;    s2_d.has_lba = 1'b1; end
      OPC_DSM:          begin s2_d.cmd.op = CMD_DSM;     s2_d.to_cpl = !s1_q.sqe.cdw11[2]; end
      OPC_FLUSH:        s2_d.cmd.op = CMD_FLUSH;
      default:          known = 1'b0;
    endcase

    s2_d.slba           = s2_d.has_lba ? slba : '0;
    s2_d.lba_end        = {1'b0, slba} + {49'd0, nlb} + 65'd1;
    s2_d.cmd.fn         = s1_q.fn;
    s2_d.cmd.fua        = s1_q.sqe.cdw12[30] && (s1_q.sqe.opc == OPC_WRITE || s1_q.sqe.opc == OPC_WRITE_ZEROES);
    s2_d.cmd.lba4k      = s1_q.lba4k;
    s2_d.cmd.media_addr = s1_q.base + (s1_q.lba4k ? s2_d.slba << 12 : s2_d.slba << 9);
    s2_d.cmd.ns_blocks  = s1_q.blocks;
    s2_d.cmd.prp1       = s1_q.sqe.prp1;
    s2_d.cmd.prp2       = s1_q.sqe.prp2;
    if (s2_d.has_lba) s2_d.cmd.bytes = s1_q.lba4k ? ({16'd0, nlb} + 32'd1) << 12 : ({16'd0, nlb} + 32'd1) << 9;
    else if (dsm)     s2_d.cmd.bytes = ({24'd0, s1_q.sqe.cdw10[7:0]} + 32'd1) << 4;

    if (s1_q.sqe.fuse != '0 || s1_q.sqe.psdt != '0)              s2_d.early = INVALID_FIELD;
    else if (!known)                                             s2_d.early = INVALID_OPC;
    else if (s1_q.ns_all)        s2_d.early = s1_q.sqe.opc == OPC_FLUSH ? OK : INVALID_FIELD;
    else if (!s1_q.ns_in_range)                                  s2_d.early = INVALID_NS;
    else if (!s1_q.ns_active)                                    s2_d.early = INVALID_FIELD;
    else                                                         s2_d.early = OK;
    s2_d.late = (moves_data && beyond_mdts) || directive ? INVALID_FIELD : OK;
  end

  // ---- stage 3: the namespace's end, the verdict, the slot
  typedef enum logic [1:0] {TO_RD, TO_WR, TO_CPL} route_e;
  cmd_t    s3_cmd_q;
  status_t s3_status_q, verdict;
  route_e  s3_route_q;
  logic    s3_valid_q, s3_ready, s3_go, rd_ready, wr_ready, cpl_ready;

  always_comb begin
    if (s2_q.early.sc != SC_SUCCESS)                                        verdict = s2_q.early;
    else if (s2_q.has_lba && s2_q.lba_end > {1'b0, s2_q.cmd.ns_blocks})     verdict = LBA_RANGE;
    else                                                                    verdict = s2_q.late;
  end

  assign s3_go        = s3_valid_q && (s3_route_q == TO_RD ? rd_ready : s3_route_q == TO_WR ? wr_ready : cpl_ready);
  assign s3_ready     = !s3_valid_q || s3_go;
  assign s_slot_ready = s2_valid_q && s3_ready;
  assign s2_go        = s_slot_ready && s_slot_valid;
  assign s2_ready     = !s2_valid_q || s2_go;
  assign s1_ready     = !s1_valid_q || s2_ready;

  always_ff @(posedge clk) begin
    if (s1_ready) begin
      s1_valid_q <= s_sqe_valid && !is_admin && !s_sqe_err;
      s1_q       <= s1_d;
    end
    if (s2_ready) begin
      s2_valid_q <= s1_valid_q;
      s2_q       <= s2_d;
    end
    if (s3_ready) begin
      s3_valid_q    <= s2_go;
      s3_cmd_q      <= s2_q.cmd;
      s3_cmd_q.slot <= s_slot;
      s3_status_q   <= verdict;
      s3_route_q    <= verdict.sc != SC_SUCCESS || s2_q.to_cpl ? TO_CPL : s2_q.to_rd ? TO_RD : TO_WR;
    end
    m_ctx_we   <= s2_go;
    m_ctx_slot <= s_slot;
    m_ctx_data <= '{fn: s2_q.cmd.fn, sqid: s2_q.sqid, cid: s2_q.cid, opcode: s2_q.opcode, nsid: s2_q.nsid,
                    slba: s2_q.slba, bytes: s2_q.cmd.bytes};
    if (rst) begin
      s1_valid_q <= 1'b0;
      s2_valid_q <= 1'b0;
      s3_valid_q <= 1'b0;
      m_ctx_we   <= 1'b0;
    end
  end

  // ---- outputs
  db_fifo #(.WIDTH($bits(cmd_t)), .DEPTH(FIFO_DEPTH)) i_rd (
      .clk, .rst,
      .s_valid(s3_valid_q && s3_route_q == TO_RD), .s_ready(rd_ready), .s_data(s3_cmd_q),
      .m_valid(m_rd_valid), .m_ready(m_rd_ready), .m_data(m_rd_cmd), .level()
  );
  db_fifo #(.WIDTH($bits(cmd_t)), .DEPTH(FIFO_DEPTH)) i_wr (
      .clk, .rst,
      .s_valid(s3_valid_q && s3_route_q == TO_WR), .s_ready(wr_ready), .s_data(s3_cmd_q),
      .m_valid(m_wr_valid), .m_ready(m_wr_ready), .m_data(m_wr_cmd), .level()
  );
  db_fifo #(.WIDTH($bits(slot_cpl_t)), .DEPTH(FIFO_DEPTH)) i_cpl (
      .clk, .rst,
      .s_valid(s3_valid_q && s3_route_q == TO_CPL), .s_ready(cpl_ready), .s_data({s3_cmd_q.slot, s3_status_q}),
      .m_valid(m_cpl_valid), .m_ready(m_cpl_ready), .m_data(m_cpl), .level()
  );

  // A status is success or carries a code other than 0; nothing else tells the two apart above.
  assert property (@(posedge clk) disable iff (rst) !s3_valid_q || s3_route_q != TO_CPL || s3_status_q.sct == '0);
endmodule
