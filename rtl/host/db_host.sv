// SPDX-License-Identifier: Apache-2.0
// NVMe host: drives one SSD on a PCIe root port with no processor. Wiring only; docs/host.md says how it works.
//
//   s_axis_cmd -> db_host_cmd -> db_host_slots -> doorbells -> db_host_control -> db_pcie_root -> RQ
//   s_axis_wdata -> db_host_write_ring -> db_host_window_rows -> db_pcie_root -> CC          (what the drive reads)
//   CQ -> db_pcie_root -> db_host_read_ring -> m_axis_rdata                         (what it writes)
//                  +--> db_host_cqe -> db_host_slots -> m_axis_status
//
// Latency: last beat of a block to its doorbell on RQ at most 16 cycles. Throughput: a beat a cycle each way.
`include "db_pcie_types.svh"
module db_host
  import db_pcie_pkg::*, db_nvme_pkg::*, db_host_pkg::*;
#(
    parameter int DATA_W        = 128,             // bits: 128, 256, 512
    parameter int NUM_CMDS      = 128,             // commands in flight: 8..256, a power of 2
    parameter int NUM_QP        = 1,               // I/O queue pairs: 1, 2, 4
    parameter int WR_RING_BYTES = 65536,           // buffer of data to be written: 4 KiB..8 MiB, a power of 2
    parameter int RD_RING_BYTES = 524288,          // buffer of data that is read: the same
    parameter bit RING_URAM     = 1'b1,            // rings of 64 KiB and more: 1 UltraRAM, 0 block RAM
    parameter int CLK_MHZ       = 250,             // clock
    parameter int MS_CYCLES     = CLK_MHZ * 1000,  // cycles of a millisecond; fewer only to shorten a simulation
    parameter bit AUTO_START    = 1'b1,            // bring the drive up when there is a link
    parameter bit REGS          = 1'b1,            // AXI4-Lite registers; without them what follows is fixed, and
                                                   // s_axil reads as 0
    parameter logic [31:0] NSID        = 32'd1,    // namespace
    parameter logic [15:0] ADMIN_MS    = 16'd10000, // longest wait for an admin command
    parameter logic [15:0] ABORT_MS    = 16'd1000, // ... for a late command after its Abort
    parameter logic [15:0] POLL_MS     = 16'd1,    // time between looks at CSTS; 0: never
    parameter bit          REPEAT      = 1'b1,     // repeat what a reset took, else report it
    parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000  // cycles until a command is late; 0: never
) (
    input  logic                         clk,
    input  logic                         rst,
    // PCIe root port (PG213)
    input  logic                         link_up,
    input  logic [2:0]                   cfg_mps_cap,        // largest MPS of our port, 0 = 128 bytes
    output logic [2:0]                   set_mps,            // what our port's Device Control is to hold
    output logic [2:0]                   set_mrrs,
    input  logic [63:0]                  window_base,        // what the drive sees of us; a multiple of 64 MiB
    input  logic [63:0]                  bar_base,           // where its BAR 0 goes
    output logic [DATA_W-1:0]            m_axis_rq_tdata,
    output logic [DATA_W/32-1:0]         m_axis_rq_tkeep,
    output logic                         m_axis_rq_tlast,
    output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
    output logic                         m_axis_rq_tvalid,
    input  logic                         m_axis_rq_tready,
    input  logic [DATA_W-1:0]            s_axis_rc_tdata,
    input  logic [DATA_W/32-1:0]         s_axis_rc_tkeep,
    input  logic                         s_axis_rc_tlast,
    input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
    input  logic                         s_axis_rc_tvalid,
    output logic                         s_axis_rc_tready,
    input  logic [DATA_W-1:0]            s_axis_cq_tdata,
    input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
    input  logic                         s_axis_cq_tlast,
    input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
    input  logic                         s_axis_cq_tvalid,
    output logic                         s_axis_cq_tready,
    output logic [1:0]                   pcie_cq_np_req,     // credits for what the drive reads; db_pcie_root_credit
    output logic [DATA_W-1:0]            m_axis_cc_tdata,
    output logic [DATA_W/32-1:0]         m_axis_cc_tkeep,
    output logic                         m_axis_cc_tlast,
    output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
    output logic                         m_axis_cc_tvalid,
    input  logic                         m_axis_cc_tready,
    // registers
    input  logic                         s_axil_awvalid,
    output logic                         s_axil_awready,
    input  logic [15:0]                  s_axil_awaddr,
    input  logic [2:0]                   s_axil_awprot,
    input  logic                         s_axil_wvalid,
    output logic                         s_axil_wready,
    input  logic [31:0]                  s_axil_wdata,
    input  logic [3:0]                   s_axil_wstrb,
    output logic                         s_axil_bvalid,
    input  logic                         s_axil_bready,
    output logic [1:0]                   s_axil_bresp,
    input  logic                         s_axil_arvalid,
    output logic                         s_axil_arready,
    input  logic [15:0]                  s_axil_araddr,
    input  logic [2:0]                   s_axil_arprot,
    output logic                         s_axil_rvalid,
    input  logic                         s_axil_rready,
    output logic [31:0]                  s_axil_rdata,
    output logic [1:0]                   s_axil_rresp,
    // block commands (db_host_pkg: block_cmd_t, block_status_t)
    input  logic [127:0]                 s_axis_cmd_tdata,
    input  logic                         s_axis_cmd_tvalid,
    output logic                         s_axis_cmd_tready,
    input  logic [DATA_W-1:0]            s_axis_wdata_tdata,
    input  logic                         s_axis_wdata_tvalid,
    output logic                         s_axis_wdata_tready,
    output logic [DATA_W-1:0]            m_axis_rdata_tdata,
    output logic                         m_axis_rdata_tvalid,
    input  logic                         m_axis_rdata_tready,
    output logic                         m_axis_rdata_tlast,  // of a command
    output logic [0:0]                   m_axis_rdata_tuser,  // the drive could not read it: zeros
    output logic [63:0]                  m_axis_status_tdata,
    output logic                         m_axis_status_tvalid,
    input  logic                         m_axis_status_tready,
    // admin commands beside the registers': 16 dwords in, completion entry out
    input  logic                         s_adm_valid,
    output logic                         s_adm_ready,
    input  logic [31:0]                  s_adm_data,
    output logic                         m_adm_valid,
    input  logic                         m_adm_ready,
    output logic [127:0]                 m_adm_cqe,
    output logic                         m_adm_timeout,
    // raw accesses to the drive's registers
    input  logic                         s_reg_valid,
    output logic                         s_reg_ready,
    input  logic                         s_reg_write,
    input  logic [23:0]                  s_reg_addr,
    input  logic [31:0]                  s_reg_wdata,
    output logic                         m_reg_valid,
    output logic [31:0]                  m_reg_rdata,
    output logic [1:0]                   m_reg_status,
    // what the drive writes to REG_FORWARD
    output logic                         m_fwd_valid,
    input  logic                         m_fwd_ready,
    output logic [22:0]                  m_fwd_addr,
    output logic [DATA_W-1:0]            m_fwd_data,
    output logic [DATA_W/8-1:0]          m_fwd_be,
    // state
    output logic                         up,                  // commands are done
    output logic                         dead,                // commands fail; nothing will change by itself
    output logic [63:0]                  blocks,              // of the namespace
    output logic [3:0]                   lba_shift,           // log2 of their bytes
    output logic                         idle,                // nothing changes until an input does, or a tick comes
    output logic                         stat_doorbell,       // pulse: a part of a command got its slot
    output logic                         stat_cqe             // pulse: a completion entry was taken
);
  localparam int ROW_LG  = $clog2(DATA_W / 8);
  localparam int RING_LG = $clog2((WR_RING_BYTES < RD_RING_BYTES) ? WR_RING_BYTES : RD_RING_BYTES);

  // ------------------------------------------------------------------ control
  logic         ctl_idle, data_idle, io_up, io_dead, repeat_on_reset;
  logic [31:0]  nsid, max_blocks, cmd_timeout;
  logic [15:0]  sq_size;
  logic         db_valid, db_ready, db_cq, late_valid, db_rung;
  logic [3:0]   db_qid, late_qid;
  logic [15:0]  db_value;
  logic [GEN_W+CID_W-1:0] late_cid;
  logic         acqe_valid, abuf_en, abuf_we, abuf_ready, slot_bad, slot_done, cqe_bad, rx_bad, rx_damaged, bad_q;
  logic [1:0]   acqe_idx;
  cqe_t         acqe;
  logic [10:0]  abuf_addr;
  logic [31:0]  abuf_wdata, abuf_rdata;

  logic         tick, poke_valid, poke_ready, acc_valid, acc_ready, answer_valid;
  poke_t        poke;
  acc_t         acc;
  acc_answer_t  answer;

  db_host_control #(
      .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .CLK_MHZ(CLK_MHZ), .MS_CYCLES(MS_CYCLES),
      .PART_LOG2((RING_LG - 3 < 12) ? 12 : (RING_LG - 3 > 20) ? 20 : RING_LG - 3), .AUTO_START(AUTO_START),
      .REGS(REGS), .NSID(NSID), .ADMIN_MS(ADMIN_MS), .ABORT_MS(ABORT_MS), .POLL_MS(POLL_MS), .REPEAT(REPEAT),
      .CMD_TIMEOUT(CMD_TIMEOUT)
  ) u_ctl (
      .clk, .rst, .link_up, .cfg_mps_cap, .set_mps, .set_mrrs, .window_base, .bar_base,
      .m_poke_valid(poke_valid), .m_poke_ready(poke_ready), .m_poke(poke), .m_acc_valid(acc_valid),
      .m_acc_ready(acc_ready), .m_acc(acc), .s_answer_valid(answer_valid), .s_answer(answer), .rq_busy(m_axis_rq_tvalid),
      .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_awprot, .s_axil_wvalid, .s_axil_wready,
      .s_axil_wdata, .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready,
      .s_axil_araddr, .s_axil_arprot, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp,
      .s_adm_valid, .s_adm_ready, .s_adm_data, .m_adm_valid, .m_adm_ready, .m_adm_cqe, .m_adm_timeout,
      .s_reg_valid, .s_reg_ready, .s_reg_write, .s_reg_addr, .s_reg_wdata, .m_reg_valid, .m_reg_rdata, .m_reg_status,
      .m_abuf_en(abuf_en), .m_abuf_we(abuf_we), .m_abuf_addr(abuf_addr), .m_abuf_wdata(abuf_wdata),
      .s_abuf_ready(abuf_ready), .s_abuf_rdata(abuf_rdata),
      .s_acqe_valid(acqe_valid), .s_acqe_index(acqe_idx), .s_acqe(acqe),
      .s_db_valid(db_valid), .s_db_ready(db_ready), .s_db_cq(db_cq), .s_db_qid(db_qid), .s_db_value(db_value),
      .s_late_valid(late_valid), .s_late_cid(16'(late_cid)), .s_late_qid(late_qid),
      .io_up, .io_dead, .nsid, .lba_shift, .blocks, .max_blocks, .sq_size, .oncs(), .vwc(), .repeat_on_reset,
      .cmd_timeout, .tick, .ctl_idle, .s_idle(data_idle), .s_io_done(slot_done), .s_damaged(rx_damaged), .stat_cqe,
      .stat_bad(bad_q), .stat_doorbell(db_rung)
  );
  assign up   = io_up;
  assign dead = io_dead;

  // ------------------------------------------------------------------ commands
  logic        part_valid, part_ready, part_last, part_bad, slots_empty, cmd_valid;
  slot_t       part;
  logic [15:0] part_tag;
  status_t     part_status;

  // The first command waits until the drive's facts are known.
  assign cmd_valid         = s_axis_cmd_tvalid && (io_up || io_dead);
  logic cmd_ready;
  assign s_axis_cmd_tready = cmd_ready && (io_up || io_dead);

  db_host_cmd u_cmd (
      .clk, .rst, .max_blocks, .lba_shift, .s_axis_cmd_tdata, .s_axis_cmd_tvalid(cmd_valid),
      .s_axis_cmd_tready(cmd_ready), .m_part_valid(part_valid), .m_part_ready(part_ready), .m_part(part),
      .m_part_tag(part_tag), .m_part_last(part_last), .m_part_bad(part_bad), .m_part_status(part_status)
  );

  logic [31:0]      wr_fill, wr_freed, rd_freed;
  logic             ctx_re, cqe_start, cqe_valid;
  logic [CID_W-1:0] ctx_slot, sq_base, slot_mask;
  slot_t            ctx;
  logic [GEN_W-1:0] ctx_gen;
  cqe_t             cqe;
  logic [4*16-1:0]  cq_head;
  logic             out_valid, out_ready, out_last, out_error;
  logic [13:0]      out_buf512, out_len512;

  db_host_slots #(
      .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .WR_RING_BYTES(WR_RING_BYTES), .RD_RING_BYTES(RD_RING_BYTES)
  ) u_slots (
      .clk, .rst, .io_up, .io_dead, .repeat_on_reset, .sq_size, .cmd_timeout,
      .s_part_valid(part_valid), .s_part_ready(part_ready), .s_part(part), .s_part_tag(part_tag),
      .s_part_last(part_last), .s_part_bad(part_bad), .s_part_status(part_status),
      .wr_fill, .wr_freed, .rd_freed, .ctx_re, .ctx_slot, .ctx, .ctx_gen, .sq_base, .slot_mask,
      .cqe_start, .s_cqe_valid(cqe_valid), .s_cqe(cqe), .cq_head,
      .m_db_valid(db_valid), .m_db_ready(db_ready), .m_db_cq(db_cq), .m_db_qid(db_qid), .m_db_value(db_value),
      .m_late_valid(late_valid), .m_late_cid(late_cid), .m_late_qid(late_qid),
      .m_axis_status_tdata, .m_axis_status_tvalid, .m_axis_status_tready,
      .m_out_valid(out_valid), .m_out_ready(out_ready), .m_out_buf512(out_buf512), .m_out_len512(out_len512),
      .m_out_last(out_last), .m_out_error(out_error), .empty(slots_empty), .stat_doorbell,
      .stat_retire(slot_done), .stat_cqe, .stat_bad(slot_bad)
  );

  // ------------------------------------------------------------------ what the drive writes
  logic                wr_valid, fwd_stall;
  logic [WIN_W-1:0]    wr_addr;
  logic [DATA_W-1:0]   wr_data;
  logic [DATA_W/8-1:0] wr_be;

  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  typedef `DB_PCIE_RQ_T(DATA_W) rq_t;
  typedef `DB_PCIE_RC_T(DATA_W) rc_t;
  cq_t cq;
  cc_t cc;
  rq_t rq;
  rc_t rc;
  assign cq = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep, tdata: s_axis_cq_tdata};
  assign rc = '{tuser: s_axis_rc_tuser, tlast: s_axis_rc_tlast, tkeep: s_axis_rc_tkeep, tdata: s_axis_rc_tdata};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = cc;
  assign {m_axis_rq_tuser, m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tdata} = rq;

  logic              row_valid, tx_idle;
  logic [WIN_W-1:0]  row_addr;
  logic [DATA_W-1:0] row_data;

  db_pcie_root #(
      .DATA_W(DATA_W), .WINDOW_LOG2(WIN_W), .READABLE(8'h3f), .ROW_LATENCY(ROW_LATENCY)
  ) u_pcie (
      .clk, .rst, .tick, .link_up, .cfg_mps(set_mps), .window_base, .bar_base, .idle(tx_idle),
      .m_rq_valid(m_axis_rq_tvalid), .m_rq_ready(m_axis_rq_tready), .m_rq(rq), .s_rc_valid(s_axis_rc_tvalid),
      .s_rc_ready(s_axis_rc_tready), .s_rc(rc), .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .s_cq(cq),
      .pcie_cq_np_req, .m_cc_valid(m_axis_cc_tvalid), .m_cc_ready(m_axis_cc_tready), .m_cc(cc),
      .s_poke_valid(poke_valid), .s_poke_ready(poke_ready), .s_poke(poke), .s_acc_valid(acc_valid),
      .s_acc_ready(acc_ready), .s_acc(acc), .m_answer_valid(answer_valid), .m_answer(answer), .m_wr_valid(wr_valid),
      .m_wr_addr(wr_addr), .m_wr_data(wr_data), .m_wr_be(wr_be), .stall(fwd_stall), .m_row_valid(row_valid),
      .m_row_addr(row_addr), .s_row_data(row_data), .m_bad(rx_bad), .m_damaged(rx_damaged)
  );
  always_ff @(posedge clk) bad_q <= !rst && (rx_bad || rx_damaged || slot_bad || cqe_bad);

  db_host_cqe #(.DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP)) u_cqe (
      .clk, .rst, .start(cqe_start), .io_up, .sq_size, .s_wr_valid(wr_valid), .s_wr_addr(wr_addr),
      .s_wr_data(wr_data), .s_wr_be(wr_be), .m_io_valid(cqe_valid), .m_io_q(), .m_io_cqe(cqe), .head(cq_head),
      .m_admin_valid(acqe_valid), .m_admin_idx(acqe_idx), .m_admin_cqe(acqe), .stat_bad(cqe_bad)
  );

  db_host_read_ring #(.DATA_W(DATA_W), .BYTES(RD_RING_BYTES), .URAM(RING_URAM)) u_rbuf (
      .clk, .rst, .s_wr_valid(wr_valid), .s_wr_addr(wr_addr), .s_wr_data(wr_data), .s_wr_be(wr_be),
      .s_out_valid(out_valid), .s_out_ready(out_ready), .s_out_buf512(out_buf512), .s_out_len512(out_len512),
      .s_out_last(out_last), .s_out_error(out_error), .m_axis_rdata_tdata, .m_axis_rdata_tvalid,
      .m_axis_rdata_tready, .m_axis_rdata_tlast, .m_axis_rdata_tuser, .freed(rd_freed)
  );

  typedef struct packed {
    logic [22:0]         addr;
    logic [DATA_W-1:0]   data;
    logic [DATA_W/8-1:0] be;
  } fwd_t;
  logic       fwd_in, fwd_room;
  logic [7:0] fwd_level;
  fwd_t       fwd;
  assign fwd_in    = wr_valid && region_e'(wr_addr[WIN_W-1:REGION_W]) == REG_FORWARD;
  assign fwd_stall = fwd_level[7:6] != '0;  // what rx still holds has room
  // Of block RAM, although few rows would do: in LUTs it would be the largest thing here that is hardly ever used.
  db_fifo #(.WIDTH($bits(fwd_t)), .DEPTH(128), .AROUND(1'b0)) u_fwd (
      .clk, .rst, .s_valid(fwd_in), .s_ready(fwd_room), .s_data({wr_addr[REGION_W-1:0], wr_data, wr_be}),
      .m_valid(m_fwd_valid), .m_ready(m_fwd_ready), .m_data(fwd), .level(fwd_level)
  );
  assign m_fwd_addr = fwd.addr;
  assign m_fwd_data = fwd.data;
  assign m_fwd_be   = fwd.be;

  // ------------------------------------------------------------------ what the drive reads
  logic              wbuf_re, abuf_re;
  logic [DATA_W-1:0] wbuf_data, abuf_data;
  logic [$clog2(WR_RING_BYTES)-ROW_LG-1:0] wbuf_addr;
  logic [10:0]       abuf_row;

  db_host_window_rows #(
      .DATA_W(DATA_W), .WR_RING_BYTES(WR_RING_BYTES), .RD_RING_BYTES(RD_RING_BYTES), .NUM_QP(NUM_QP)
  ) u_src (
      .clk, .window_base, .nsid, .sq_base, .slot_mask, .s_row_valid(row_valid),
      .s_row_addr(row_addr), .m_row_data(row_data), .m_ctx_re(ctx_re), .m_ctx_slot(ctx_slot), .s_ctx(ctx),
      .s_ctx_gen(ctx_gen), .m_wbuf_re(wbuf_re), .m_wbuf_addr(wbuf_addr), .s_wbuf_data(wbuf_data), .m_abuf_re(abuf_re),
      .m_abuf_addr(abuf_row), .s_abuf_data(abuf_data)
  );
  db_host_write_ring #(.DATA_W(DATA_W), .BYTES(WR_RING_BYTES), .URAM(RING_URAM)) u_wbuf (
      .clk, .rst, .s_axis_wdata_tdata, .s_axis_wdata_tvalid, .s_axis_wdata_tready, .fill(wr_fill),
      .s_free512(wr_freed), .s_row_re(wbuf_re), .s_row_addr(wbuf_addr), .m_row_data(wbuf_data)
  );
  db_host_admin_buf #(.DATA_W(DATA_W), .SHARED(REGS)) u_abuf (
      .clk, .s_wr_valid(wr_valid), .s_wr_addr(wr_addr), .s_wr_data(wr_data), .s_wr_be(wr_be), .s_row_re(abuf_re),
      .s_row_addr(abuf_row), .m_row_data(abuf_data), .s_dw_en(abuf_en), .s_dw_we(abuf_we), .s_dw_addr(abuf_addr),
      .s_dw_wdata(abuf_wdata), .s_dw_ready(abuf_ready), .m_dw_rdata(abuf_rdata)
  );

  // ------------------------------------------------------------------ idle: only time passes
  logic [4:0] calm_q;
  assign data_idle = slots_empty && !part_valid;
  always_ff @(posedge clk) begin
    if (rst || !ctl_idle || part_valid || s_axis_cmd_tvalid || s_axis_wdata_tvalid || m_axis_rdata_tvalid ||
        m_axis_status_tvalid || s_axis_cq_tvalid || m_axis_cc_tvalid || m_axis_rq_tvalid || s_axis_rc_tvalid ||
        wr_valid || !tx_idle || pcie_cq_np_req[0] || db_valid || m_fwd_valid || db_rung || out_valid ||
        s_axil_awvalid || s_axil_arvalid || s_adm_valid || s_reg_valid) calm_q <= '0;
    else if (!(&calm_q)) calm_q <= calm_q + 5'd1;
  end
  assign idle = &calm_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && fwd_in) assert (fwd_room);
`endif
endmodule
