// SPDX-License-Identifier: Apache-2.0
// Registers of the host on AXI4-Lite: the block generated from regs/db_host.rdl (db_host_regs), the RAM for an admin
// command at 0x5000, and the window onto the admin buffer at 0x4000. Whole dwords: write strobes count in registers
// only.
// Latency: a register as the generated block has it (a few cycles); the window waits while the engine has the buffer.
module db_host_axil
  import db_host_pkg::*;
  import db_host_control_pkg::*;
#(
  /// for PARAM: bits of a row, command slots, I/O queue pairs
  parameter int DATA_W   = 128,
  parameter int NUM_CMDS = 128,
  parameter int NUM_QP   = 1
) (
  input  logic          clk,
  input  logic          rst,

  input  logic          s_axil_awvalid,
  output logic          s_axil_awready,
  input  logic [15:0]   s_axil_awaddr,
  input  logic [2:0]    s_axil_awprot,
  input  logic          s_axil_wvalid,
  output logic          s_axil_wready,
  input  logic [31:0]   s_axil_wdata,
  input  logic [3:0]    s_axil_wstrb,
  output logic          s_axil_bvalid,
  input  logic          s_axil_bready,
  output logic [1:0]    s_axil_bresp,
  input  logic          s_axil_arvalid,
  output logic          s_axil_arready,
  input  logic [15:0]   s_axil_araddr,
  input  logic [2:0]    s_axil_arprot,
  output logic          s_axil_rvalid,
  input  logic          s_axil_rready,
  output logic [31:0]   s_axil_rdata,
  output logic [1:0]    s_axil_rresp,

  /// one cycle
  output logic          start,
  output logic          reset,
  output logic          shutdown,
  output settings_t     settings,

  input  logic          io_up,
  input  logic          io_dead,
  /// the drive is shut down; it could not be
  input  logic          shut_down,
  input  logic          shutdown_failed,
  input  logic          link_up,
  input  logic          idle,
  input  step_e         step,
  input  failure_t      failure,
  input  drive_facts_t  facts,
  /// maximum payload size in use, encoded
  input  logic [2:0]    mps,

  /// one cycle each, counted
  input  logic          stat_cqe,
  input  logic          stat_abort,
  input  logic          stat_reset,
  /// counted a cycle later, as one: requests and writes of the drive that were refused or dropped
  input  logic [3:0]    stat_bad,

  /// db_host_admin_passthru: a pulse; the dword of adm_index comes the cycle after; the answer, one cycle
  output logic          adm_go,
  input  logic [3:0]    adm_index,
  output logic [31:0]   adm_data,
  input  logic          adm_busy,
  input  logic          adm_done,
  input  admin_answer_t adm_answer,

  /// rdata 2 cycles after
  output admin_buf_t    m_admin_buf,
  input  logic          s_admin_buf_ready,
  input  logic [31:0]   s_admin_buf_rdata
);
  db_host_regs_pkg::db_host__in_t  in;
  db_host_regs_pkg::db_host__out_t out;

  // The description ends at 0x8000: what lies behind becomes an address where nothing is.
  function automatic logic [14:0] known(input logic [15:0] addr);
    return {addr[14] && !addr[15], addr[13:10], addr[9] || addr[15], addr[8:0]};
  endfunction

  // In simulation the registers' clock stands still while there is nothing for them to keep.
  logic       reg_clk, bad_q, done_q, sqe_rd_q;
  logic [1:0] read_q;                             // cycles since the admin buffer has taken a read
  db_clock_gate #(.AFTER(16)) i_clk (
    .clk, .awake(rst || s_axil_awvalid || s_axil_wvalid || s_axil_bvalid || s_axil_arvalid || s_axil_rvalid ||
                 stat_cqe || stat_abort || stat_reset || bad_q || adm_done || done_q || read_q != '0 || sqe_rd_q),
    .m_clk(reg_clk));
  db_host_regs i_regs (
    .clk(reg_clk),
    .rst,
    .s_axil_awvalid,
    .s_axil_awready,
    .s_axil_awaddr(known(s_axil_awaddr)),
    .s_axil_awprot,
    .s_axil_wvalid,
    .s_axil_wready,
    .s_axil_wdata,
    .s_axil_wstrb,
    .s_axil_bvalid,
    .s_axil_bready,
    .s_axil_bresp,
    .s_axil_arvalid,
    .s_axil_arready,
    .s_axil_araddr(known(s_axil_araddr)),
    .s_axil_arprot,
    .s_axil_rvalid,
    .s_axil_rready,
    .s_axil_rdata,
    .s_axil_rresp,
    .hwif_in      (in),
    .hwif_out     (out)
  );

  assign start    = out.CONTROL.start.value;
  assign reset    = out.CONTROL.reset.value;
  assign shutdown = out.CONTROL.shutdown.value;
  assign settings = '{nsid: out.NSID.V.value, admin_ms: out.ADMIN_MS.V.value, abort_ms: out.ABORT_MS.V.value,
                      poll_ms: out.POLL_MS.V.value, shutdown_ms: out.SHUTDOWN_MS.V.value,
                      repeat_on_reset: out.CONFIG.repeat_on_reset.value,
                      prp_only: out.CONFIG.prp_only.value, cmd_timeout: out.CMD_TIMEOUT.V.value};
  assign adm_go   = out.ADMIN.go.value;

  // ---- admin buffer and command
  logic req, to_buffer, to_sqe;
  assign req       = out.ADMIN_MEM.req;
  assign to_buffer = out.ADMIN_MEM.addr[13:12] == 2'd0;
  assign to_sqe    = out.ADMIN_MEM.addr[13:6] == 8'h40;

  always_ff @(posedge clk) begin
    read_q   <= {read_q[0], m_admin_buf.en && s_admin_buf_ready && !m_admin_buf.we};
    done_q   <= (m_admin_buf.en && s_admin_buf_ready && m_admin_buf.we) ||
                (req && !to_buffer && out.ADMIN_MEM.req_is_wr);
    sqe_rd_q <= req && !to_buffer && !out.ADMIN_MEM.req_is_wr;
    if (m_admin_buf.en && s_admin_buf_ready) m_admin_buf.en <= 1'b0;
    if (req) begin
      m_admin_buf.en    <= to_buffer;
      m_admin_buf.we    <= out.ADMIN_MEM.req_is_wr;
      m_admin_buf.addr  <= {1'b0, out.ADMIN_MEM.addr[11:2]};
      m_admin_buf.wdata <= out.ADMIN_MEM.wr_data;
    end
    if (rst) begin
      m_admin_buf.en <= 1'b0;
      read_q         <= '0;
      done_q         <= 1'b0;
      sqe_rd_q       <= 1'b0;
    end
  end

  db_ram_sdp #(
    .WIDTH(32),
    .DEPTH(16)
  ) i_sqe (
    .clk,
    .we   (req && to_sqe && out.ADMIN_MEM.req_is_wr),
    .waddr(out.ADMIN_MEM.addr[5:2]),
    .wdata(out.ADMIN_MEM.wr_data),
    .re   (1'b1),
    .raddr(adm_index),
    .rdata(adm_data)
  );

  // ---- what is read: of registers, so that a simulator need not read anew where an input changes
  logic       idle_q, link_q;
  logic [2:0] mps_q;
  step_e      step_q;
  always_ff @(posedge clk) begin
    link_q <= link_up;
    mps_q  <= mps;
    bad_q  <= !rst && stat_bad != '0;
    idle_q <= idle;
    step_q <= step;
  end

  always_comb begin
    in.ADMIN_MEM.rd_ack       = read_q[1] || sqe_rd_q;
    in.ADMIN_MEM.rd_data      = read_q[1] ? s_admin_buf_rdata : '0;
    in.ADMIN_MEM.wr_ack       = done_q;
    in.PARAM.cmds.next        = 16'(NUM_CMDS);
    in.PARAM.qp.next          = 8'(NUM_QP);
    in.PARAM.width.next       = 8'(DATA_W / 8);
    in.STATUS.up.next         = io_up;
    in.STATUS.dead.next       = io_dead;
    in.STATUS.link.next       = link_q;
    in.STATUS.idle.next       = idle_q;
    in.STATUS.shut_down.next  = shut_down;
    in.STATUS.shutdown_failed.next = shutdown_failed;
    in.STATUS.step.next       = step_q;
    in.FAIL.reason.next       = failure.reason;
    in.FAIL.step.next         = failure.step;
    in.FAIL.status.next       = failure.status;
    in.BLOCKS_LO.V.next       = facts.blocks[31:0];
    in.BLOCKS_HI.V.next       = facts.blocks[63:32];
    in.MAX_BLOCKS.V.next      = facts.max_blocks;
    in.FORMAT.lba_shift.next  = facts.lba_shift;
    in.FORMAT.vwc.next        = facts.vwc;
    in.FORMAT.sgl.next        = facts.sgl;
    in.FORMAT.stride.next     = facts.doorbell_stride;
    in.FORMAT.mps.next        = mps_q;
    in.FORMAT.oncs.next       = facts.oncs;
    in.QUEUES.size.next       = facts.sq_size;
    in.NUM_CQES.V.incr        = stat_cqe;
    in.NUM_ABORTS.V.incr      = stat_abort;
    in.NUM_RESETS.V.incr      = stat_reset;
    in.NUM_BAD.V.incr         = bad_q;
    in.ADMIN.busy.next        = adm_busy;
    in.ADMIN.lost.next        = adm_answer.timeout;
    in.ADMIN.lost.we          = adm_done;
    in.ADMIN.status.next      = adm_answer.cqe.status;
    in.ADMIN.status.we        = adm_done;
    in.ADMIN_DW0.V.next       = adm_answer.cqe.dw0;
    in.ADMIN_DW0.V.we         = adm_done;
    in.ADMIN_DW1.V.next       = adm_answer.cqe.dw1;
    in.ADMIN_DW1.V.we         = adm_done;
  end
endmodule
