// SPDX-License-Identifier: Apache-2.0
// NVMe host without its end of PCIe: drives one SSD with no processor. db_host is this on a root port; db_vcsd has several
// behind one endpoint. Wiring only; docs/host/theory.md says how it works.
//
//   s_axis_cmd -> db_host_cmd -> db_host_slots -> doorbells -> db_host_control -> m_poke, m_acc
//   s_axis_wdata -> db_host_write_ring -> db_host_window_rows -> m_row_data             (what the drive reads)
//   s_wr -> db_host_read_ring -> m_axis_rdata                                          (what it writes)
//      +--> db_host_cqe -> db_host_slots -> m_axis_status
//
// Latency and throughput: those of db_host, less what its end of PCIe takes.
module db_host_engine
  import db_pcie_block_pkg::*, db_nvme_pkg::*, db_host_pkg::*, db_host_control_pkg::*;
#(
  /// bits: 128, 256, 512
  parameter int DATA_W        = 128,
  /// commands in flight: 8..256, a power of 2
  parameter int NUM_CMDS      = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP        = 1,
  /// buffer of data to be written: 4 KiB..8 MiB, a power of 2
  parameter int WR_RING_BYTES = 65536,
  /// buffer of data that is read: the same
  parameter int RD_RING_BYTES = 524288,
  /// rings of 64 KiB and more: 1 UltraRAM, 0 block RAM
  parameter bit RING_URAM     = 1'b1,
  /// clock
  parameter int CLK_MHZ       = 250,
  /// cycles of a millisecond; fewer only to shorten a simulation
  parameter int MS_CYCLES     = CLK_MHZ * 1000,
  /// bring the drive up when there is a link
  parameter bit AUTO_START    = 1'b1,
  /// AXI4-Lite registers; without them what follows is fixed, and s_axil reads as 0
  parameter bit REGS          = 1'b1,
  /// namespace
  parameter logic [31:0] NSID        = 32'd1,
  /// longest wait for an admin command
  parameter logic [15:0] ADMIN_MS    = 16'd10000,
  /// ... for a late command after its Abort
  parameter logic [15:0] ABORT_MS    = 16'd1000,
  /// time between looks at CSTS; 0: never
  parameter logic [15:0] POLL_MS     = 16'd1,
  /// longest wait for commands to end before a shutdown, and then for the drive
  parameter logic [15:0] SHUTDOWN_MS = 16'd10000,
  /// repeat what a reset took, else report it
  parameter bit          REPEAT      = 1'b1,
  /// PRPs for drives that take SGLs, too
  parameter bit          PRP_ONLY    = 1'b0,
  /// cycles until a command is late; 0: never
  parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000,
  /// parts of Reads that have ended, and wait for their data to be taken: a power of 2; 0: those behind end later
  parameter int          OUT_PARTS   = 0,
  /// log2 of the bytes of BAR 0 in which the doorbells must lie, 13..31; 0: it has them all, and nobody is behind it
  parameter int          BAR_LOG2    = 0,
  /// the drive's owner may hand over a queue pair; else it is ours
  parameter bit          HAND_OVER   = 1'b0,
  /// a command that the drive answers with "not now" is sent once more; needs NUM_QP 1
  parameter bit          RETRY       = 1'b0
) (
  input  logic                         clk,
  input  logic                         rst,
  // ---- the drive
  input  logic                         link_up,
  /// largest MPS of our port, 0 = 128 bytes
  input  logic [2:0]                   cfg_mps_cap,
  /// what our port's Device Control is to hold
  output logic [2:0]                   set_mps,
  output logic [2:0]                   set_mrrs,
  /// what the drive sees of us; a multiple of 64 MiB
  input  logic [63:0]                  window_base,
  /// where its BAR 0 goes
  input  logic [63:0]                  bar_base,
  /// each millisecond
  output logic                         tick,
  /// posted writes to BAR 0, and accesses to the drive: each is answered for one cycle
  output logic                         m_poke_valid,
  input  logic                         m_poke_ready,
  output poke_t                        m_poke,
  output logic                         m_acc_valid,
  input  logic                         m_acc_ready,
  output acc_t                         m_acc,
  input  logic                         s_answer_valid,
  input  acc_answer_t                  s_answer,
  /// rows of the window that the drive writes, always taken; up to 3 may follow after m_stall rose
  input  logic                         s_wr_valid,
  input  logic [WIN_W-1:0]             s_wr_addr,
  input  logic [DATA_W-1:0]            s_wr_data,
  input  logic [DATA_W/8-1:0]          s_wr_be,
  output logic                         m_stall,
  /// rows that it reads: m_row_data comes ROW_LATENCY cycles after s_row_valid
  input  logic                         s_row_valid,
  input  logic [WIN_W-1:0]             s_row_addr,
  output logic [DATA_W-1:0]            m_row_data,
  /// pulses: a request outside the window or not supported; a damaged write to it
  input  logic                         s_bad,
  input  logic                         s_damaged,
  /// a request is on its way to the drive; something of it comes, or is being answered
  input  logic                         requesting,
  input  logic                         link_active,
  /// HAND_OVER: db_host_owner
  input  logic                         left_alone,
  input  logic                         s_hand_valid,
  input  handed_t                      s_hand,
  input  logic                         take_back,
  input  logic                         bring_up,
  /// nothing of this drive is under way at the user's side
  input  logic                         s_user_quiet,
  /// one cycle: a command is sent once more
  output logic                         stat_retry,
  output owner_e                       owner,
  output logic                         window_open,
`include "db_host_ports.svh"
);
  localparam int ROW_LOG2  = $clog2(DATA_W / 8);
  localparam int RING_LOG2 = $clog2((WR_RING_BYTES < RD_RING_BYTES) ? WR_RING_BYTES : RD_RING_BYTES);
  localparam int PART_LOG2 = (RING_LOG2 - 3 < 12) ? 12 : (RING_LOG2 - 3 > 20) ? 20 : RING_LOG2 - 3;

  // ---- control
  settings_t     settings;
  drive_facts_t  facts, control_facts;
  control_busy_t control_busy;
  logic          doorbell_valid, doorbell_ready, late_valid, entry_valid, admin_buf_ready, quiet;
  doorbell_t     doorbell;
  late_cmd_t     late;
  admin_entry_t  entry;
  admin_buf_t    admin_buf;
  logic [31:0]   admin_buf_rdata;
  admin_answer_t admin_answer;
  acc_answer_t   reg_answer;
  logic          slots_bad, slot_done, cqe_bad, open, control_link, control_up, control_dead, control_open;
  logic          control_shutdown, handed, owner_busy;
  logic [31:0]   nsid;
  logic [23:0]   handed_doorbell;
  poke_t         poke;

  db_host_control #(
    .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .CLK_MHZ(CLK_MHZ), .MS_CYCLES(MS_CYCLES),
    .PART_LOG2(PART_LOG2), .AUTO_START(AUTO_START), .REGS(REGS), .NSID(NSID), .ADMIN_MS(ADMIN_MS), .ABORT_MS(ABORT_MS),
    .POLL_MS(POLL_MS), .SHUTDOWN_MS(SHUTDOWN_MS), .REPEAT(REPEAT), .PRP_ONLY(PRP_ONLY), .CMD_TIMEOUT(CMD_TIMEOUT),
    .BAR_LOG2(BAR_LOG2)
  ) i_control (
    .clk, .rst, .link_up(control_link), .cfg_mps_cap, .set_mps, .set_mrrs, .window_base, .bar_base,
    .tick, .m_poke_valid, .m_poke_ready, .m_poke(poke), .m_acc_valid, .m_acc_ready, .m_acc, .s_answer_valid, .s_answer,
    .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_awprot, .s_axil_wvalid, .s_axil_wready,
    .s_axil_wdata, .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready,
    .s_axil_araddr, .s_axil_arprot, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp,
    .s_adm_valid, .s_adm_ready, .s_adm_data, .m_adm_valid, .m_adm_ready, .m_adm(admin_answer),
    .s_reg_valid, .s_reg_ready, .s_reg({s_reg_write, s_reg_addr, s_reg_wdata}), .m_reg_valid, .m_reg(reg_answer),
    .m_admin_buf(admin_buf), .s_admin_buf_ready(admin_buf_ready), .s_admin_buf_rdata(admin_buf_rdata),
    .s_entry_valid(entry_valid), .s_entry(entry), .s_doorbell_valid(doorbell_valid),
    .s_doorbell_ready(doorbell_ready), .s_doorbell(doorbell), .s_late_valid(late_valid), .s_late(late),
    .io_up(control_up), .io_dead(control_dead), .io_open(control_open),
    .shutdown(shutdown || control_shutdown), .shut_down, .shutdown_failed, .settings, .facts(control_facts),
    .busy(control_busy), .s_idle(quiet), .s_io_done(slot_done),
    .s_damaged, .stat_cqe, .stat_bad({s_bad, s_damaged, slots_bad, cqe_bad})
  );
  assign m_adm_cqe     = admin_answer.cqe;
  assign m_adm_timeout = admin_answer.timeout;
  assign m_reg_rdata   = reg_answer.rdata;
  assign m_reg_status  = reg_answer.status;
  assign blocks        = facts.blocks;
  assign lba_shift     = facts.lba_shift;

  // ---- whose it is
  logic slots_empty, part_valid;
  if (HAND_OVER) begin : g_owner
    logic drained;
    assign drained = slots_empty && !part_valid;
    db_host_owner #(.PART_LOG2(PART_LOG2)) i_owner (
      .clk, .rst, .tick, .link_up, .left_alone, .s_hand_valid, .s_hand, .take_back, .bring_up, .owner,
      .open(window_open), .m_link_up(control_link), .m_shutdown(control_shutdown), .s_up(control_up),
      .s_dead(control_dead), .s_open(control_open), .s_shut(shut_down || shutdown_failed), .s_facts(control_facts),
      .settings, .io_up(up), .io_dead(dead), .io_open(open), .facts, .nsid, .handed, .doorbell_cq(doorbell.cq),
      .doorbell(handed_doorbell), .late(late_valid), .damaged(s_damaged), .s_drained(drained),
      .s_quiet(drained && !s_axis_cmd_tvalid && s_user_quiet), .busy(owner_busy));
  end else begin : g_ours
    assign {up, dead, open, facts, nsid} = {control_up, control_dead, control_open, control_facts, settings.nsid};
    assign {control_link, control_shutdown, handed, owner_busy, handed_doorbell} = {link_up, 27'd0};
    assign {owner, window_open} = {OWNER_CARD, 1'b1};
    logic unused;
    assign unused = &{1'b0, left_alone, s_hand_valid, s_hand, take_back, bring_up, s_user_quiet};
  end
  assign m_poke = '{addr: handed ? handed_doorbell : poke.addr, data: poke.data};

  // ---- commands
  logic             part_ready, ctx_re, cqe_start, cqe_valid, out_valid, out_ready;
  part_t            part;
  logic [31:0]      wr_fill, wr_freed, rd_freed;
  logic [CID_W-1:0] ctx_slot;
  entry_ctx_t       ctx;
  slot_map_t        map;
  cqe_t             cqe;
  logic [3:0][15:0] cq_head;
  out_cmd_t         out, out_next;
  logic             out_next_valid, out_next_ready;

  db_host_cmd i_cmd (
    .clk, .rst, .io_open(open), .io_dead(dead), .max_blocks(facts.max_blocks), .lba_shift(facts.lba_shift),
    .s_axis_cmd_tdata, .s_axis_cmd_tvalid, .s_axis_cmd_tready, .m_part_valid(part_valid), .m_part_ready(part_ready),
    .m_part(part)
  );
  db_host_slots #(
    .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .RETRY(RETRY), .WR_RING_BYTES(WR_RING_BYTES),
    .RD_RING_BYTES(RD_RING_BYTES)
  ) i_slots (
    .clk, .rst, .io_up(up), .io_dead(dead), .repeat_on_reset(settings.repeat_on_reset), .sq_size(facts.sq_size),
    .cmd_timeout(settings.cmd_timeout), .s_part_valid(part_valid), .s_part_ready(part_ready), .s_part(part),
    .wr_fill, .wr_freed, .rd_freed, .s_ctx_re(ctx_re), .s_ctx_slot(ctx_slot), .m_ctx(ctx), .map,
    .cqe_start, .s_cqe_valid(cqe_valid), .s_cqe(cqe), .cq_head,
    .m_doorbell_valid(doorbell_valid), .m_doorbell_ready(doorbell_ready), .m_doorbell(doorbell),
    .m_late_valid(late_valid), .m_late(late), .m_axis_status_tdata, .m_axis_status_tvalid, .m_axis_status_tready,
    .m_out_valid(out_valid), .m_out_ready(out_ready), .m_out(out), .empty(slots_empty), .stat_doorbell,
    .stat_retire(slot_done), .stat_retry, .stat_cqe, .stat_bad(slots_bad)
  );

  // ---- what the drive writes
  db_host_cqe #(.DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP)) i_cqe (
    .clk, .rst, .start(cqe_start), .io_up(up), .sq_size(facts.sq_size), .s_wr_valid, .s_wr_addr,
    .s_wr_data, .s_wr_be, .m_io_valid(cqe_valid), .m_io_cqe(cqe), .cq_head,
    .m_admin_valid(entry_valid), .m_admin(entry), .stat_bad(cqe_bad)
  );
  db_host_read_ring #(.DATA_W(DATA_W), .BYTES(RD_RING_BYTES), .URAM(RING_URAM)) i_read_ring (
    .clk, .rst, .s_wr_valid, .s_wr_addr, .s_wr_data, .s_wr_be,
    .s_out_valid(out_next_valid), .s_out_ready(out_next_ready), .s_out(out_next), .m_axis_rdata_tdata,
    .m_axis_rdata_tvalid, .m_axis_rdata_tready, .m_axis_rdata_tlast, .m_axis_rdata_tuser, .freed(rd_freed)
  );
  if (OUT_PARTS != 0) begin : g_out
    db_fifo #(.WIDTH($bits(out_cmd_t)), .DEPTH(OUT_PARTS)) i_out (
      .clk, .rst, .s_valid(out_valid), .s_ready(out_ready), .s_data(out), .m_valid(out_next_valid),
      .m_ready(out_next_ready), .m_data(out_next), .level());
  end else begin : g_straight
    assign out_next_valid = out_valid;
    assign out_ready      = out_next_ready;
    assign out_next       = out;
  end
  db_host_forward #(.DATA_W(DATA_W)) i_forward (
    .clk, .rst, .s_wr_valid, .s_wr_addr, .s_wr_data, .s_wr_be, .stall(m_stall),
    .m_fwd_valid, .m_fwd_ready, .m_fwd_addr, .m_fwd_data, .m_fwd_be
  );

  // ---- what the drive reads
  logic              write_ring_re, admin_buf_re;
  logic [DATA_W-1:0] write_ring_data, admin_buf_data;
  logic [$clog2(WR_RING_BYTES)-ROW_LOG2-1:0] write_ring_addr;
  logic [10:0]       admin_buf_addr;

  db_host_window_rows #(
    .DATA_W(DATA_W), .WR_RING_BYTES(WR_RING_BYTES), .RD_RING_BYTES(RD_RING_BYTES), .NUM_QP(NUM_QP),
    .RETRY(RETRY)
  ) i_window_rows (
    .clk, .window_base, .nsid, .sgl(facts.sgl && !settings.prp_only), .map, .s_row_valid, .s_row_addr,
    .m_row_data, .m_ctx_re(ctx_re), .m_ctx_slot(ctx_slot), .s_ctx(ctx), .m_write_ring_re(write_ring_re),
    .m_write_ring_addr(write_ring_addr), .s_write_ring_data(write_ring_data), .m_admin_buf_re(admin_buf_re),
    .m_admin_buf_addr(admin_buf_addr), .s_admin_buf_data(admin_buf_data)
  );
  db_host_write_ring #(.DATA_W(DATA_W), .BYTES(WR_RING_BYTES), .URAM(RING_URAM)) i_write_ring (
    .clk, .rst, .s_axis_wdata_tdata, .s_axis_wdata_tvalid, .s_axis_wdata_tready, .fill(wr_fill), .freed(wr_freed),
    .s_row_re(write_ring_re), .s_row_addr(write_ring_addr), .m_row_data(write_ring_data)
  );
  db_host_admin_buf #(.DATA_W(DATA_W), .SHARED(REGS)) i_admin_buf (
    .clk, .s_wr_valid, .s_wr_addr, .s_wr_data, .s_wr_be, .s_row_re(admin_buf_re),
    .s_row_addr(admin_buf_addr), .m_row_data(admin_buf_data), .s_dw(admin_buf), .s_dw_ready(admin_buf_ready),
    .m_dw_rdata(admin_buf_rdata)
  );

  // ---- idle: only time passes
  db_host_idle #(.NUM_ACTIVE(10)) i_idle (
    .clk, .rst, .control(control_busy), .requesting, .slots_empty, .part_valid,
    .active({s_axis_cmd_tvalid, s_axis_wdata_tvalid, m_axis_rdata_tvalid, m_axis_status_tvalid, link_active,
             m_fwd_valid, out_next_valid, s_axil_awvalid, s_axil_arvalid, owner_busy}),
    .quiet, .idle
  );
endmodule
