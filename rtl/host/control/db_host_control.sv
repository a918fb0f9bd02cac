// SPDX-License-Identifier: Apache-2.0
// Control side of the host: all that brings the drive up and keeps it up, no data. Connects
//   db_host_pci, db_host_nvme, db_host_supervisor, raw accesses -> db_pcie_root
//   db_host_nvme, db_host_supervisor, db_host_admin_passthru -> db_host_admin -> admin buffer, doorbells
//   db_host_axil (registers), and the admin buffer's dword port.
// Accesses have one owner at a time: bring-up and recovery run one after the other and go before raw ones. An admin
// command keeps db_host_admin until its last dword; Abort goes before the user's.
module db_host_control
  import db_pcie_pkg::*;
  import db_nvme_pkg::*;
  import db_host_control_pkg::*;
#(
    parameter int DATA_W     = 128,             // bits of the PCIe streams: 128, 256 or 512
    parameter int NUM_CMDS   = 128,             // command slots, a power of two, 8..256
    parameter int NUM_QP     = 1,               // I/O queue pairs: 1, 2, 4
    parameter int PART_LOG2  = 20,              // log2 of the largest data command in bytes (ring), 12..20
    parameter int CLK_MHZ    = 250,             // clock
    parameter int MS_CYCLES  = CLK_MHZ * 1000,  // cycles of a millisecond; fewer only to shorten a simulation
    parameter int HALF_MS    = 500,             // milliseconds of half a second; the same
    parameter bit AUTO_START = 1'b1,            // bring the drive up when there is a link; else CONTROL.start first
    parameter int ATTEMPTS   = 3,               // bring-ups in a row before the drive is given up, 1..15
    parameter int MRRS       = 2,               // maximum read request size, encoded
    parameter bit REGS       = 1'b1,            // AXI4-Lite registers; without them what follows is fixed
    parameter logic [31:0] NSID        = 32'd1,      // namespace
    parameter logic [15:0] ADMIN_MS    = 16'd10000,  // longest wait for an admin command
    parameter logic [15:0] ABORT_MS    = 16'd1000,   // ... for a late command after its Abort
    parameter logic [15:0] POLL_MS     = 16'd1,      // time between looks at CSTS; 0: never
    parameter bit          REPEAT      = 1'b1,       // repeat what a reset took, else report it
    parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000   // cycles until a command is late; 0: never
) (
    input logic clk,
    input logic rst,

    input  logic        link_up,
    input  logic [ 2:0] cfg_mps_cap,
    output logic [ 2:0] set_mps,
    output logic [ 2:0] set_mrrs,
    input  logic [63:0] window_base,            // a multiple of 64 MiB
    input  logic [63:0] bar_base,               // a multiple of BAR 0's size

    // to db_pcie_root
    output logic        m_poke_valid,
    input  logic        m_poke_ready,
    output poke_t       m_poke,
    output logic        m_acc_valid,
    input  logic        m_acc_ready,
    output acc_t        m_acc,
    input  logic        s_answer_valid,
    input  acc_answer_t s_answer,
    input  logic        rq_busy,

    // registers
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [15:0] s_axil_awaddr,
    input  logic [ 2:0] s_axil_awprot,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    output logic [ 1:0] s_axil_bresp,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    input  logic [15:0] s_axil_araddr,
    input  logic [ 2:0] s_axil_arprot,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,

    // user's admin commands (16 dwords each) and raw accesses to BAR 0
    input  logic         s_adm_valid,
    output logic         s_adm_ready,
    input  logic [ 31:0] s_adm_data,
    output logic         m_adm_valid,
    input  logic         m_adm_ready,
    output logic [127:0] m_adm_cqe,
    output logic         m_adm_timeout,
    input  logic         s_reg_valid,
    output logic         s_reg_ready,
    input  logic         s_reg_write,
    input  logic [ 23:0] s_reg_addr,
    input  logic [ 31:0] s_reg_wdata,
    output logic         m_reg_valid,
    output logic [ 31:0] m_reg_rdata,
    output logic [  1:0] m_reg_status,

    // admin buffer and queue
    output logic         m_abuf_en,
    output logic         m_abuf_we,
    output logic [ 10:0] m_abuf_addr,
    output logic [ 31:0] m_abuf_wdata,
    input  logic         s_abuf_ready,
    input  logic [ 31:0] s_abuf_rdata,
    input  logic         s_acqe_valid,          // from the drive's writes
    input  logic [  1:0] s_acqe_index,
    input  logic [127:0] s_acqe,

    // I/O
    input  logic        s_db_valid,
    output logic        s_db_ready,
    input  logic        s_db_cq,
    input  logic [ 3:0] s_db_qid,               // queue identifier: 1 is the first I/O queue pair
    input  logic [15:0] s_db_value,
    input  logic        s_late_valid,           // falls between two late commands
    input  logic [15:0] s_late_cid,
    input  logic [ 3:0] s_late_qid,             // queue identifier
    output logic        io_up,
    output logic        io_dead,
    output logic [31:0] nsid,
    output logic [ 3:0] lba_shift,
    output logic [63:0] blocks,
    output logic [31:0] max_blocks,
    output logic [15:0] sq_size,
    output logic [15:0] oncs,
    output logic        vwc,
    output logic        repeat_on_reset,
    output logic [31:0] cmd_timeout,            // cycles

    output logic tick,                          // each millisecond
    output logic ctl_idle,                      // nothing is under way here; the poll of CSTS goes on
    input  logic s_idle,                        // the rest of the host is idle; for STATUS
    input  logic s_io_done,                     // one cycle: the oldest I/O command was completed
    input  logic s_damaged,                     // one cycle: a write of the drive to the window was damaged
    input  logic stat_cqe,                      // one cycle: an I/O completion entry; a refused request
    input  logic stat_bad,
    output logic stat_doorbell                  // one cycle: a doorbell was rung
);
  if (MS_CYCLES < 4) begin : g_bad_ms
    $error("%m: MS_CYCLES must be at least 4, not %0d", MS_CYCLES);
  end

  // ------------------------------------------------------------------ time
  logic [$clog2(MS_CYCLES)-1:0] cycle_q;
  always_ff @(posedge clk) begin
    tick    <= cycle_q == '0 && !rst;
    cycle_q <= (cycle_q == '0 || rst) ? ($clog2(MS_CYCLES))'(MS_CYCLES - 1) : cycle_q - 1'b1;
  end

  logic start, reset, enable_q;
  always_ff @(posedge clk) enable_q <= rst ? AUTO_START : enable_q || start;

  // ------------------------------------------------------------------ requests
  logic        acc_free, acc_ready, acc_valid_q, ans_valid, raw_q, own_valid, rec_first, held_q;
  acc_t        acc, acc_q, raw_acc_q;
  logic [31:0] ans_rdata;
  acc_status_e ans_status;
  logic        pci_acc_valid, nvme_acc_valid, rec_acc_valid;
  acc_t        pci_acc, nvme_acc, rec_acc;
  assign rec_first    = rec_acc_valid && !nvme_acc_valid && !pci_acc_valid;
  assign own_valid    = pci_acc_valid || nvme_acc_valid || rec_acc_valid;
  assign acc_ready    = acc_free && !acc_valid_q;  // so no answer can be another's
  assign s_reg_ready  = !held_q;
  assign m_reg_valid  = ans_valid && raw_q;
  assign m_reg_rdata  = ans_rdata;
  assign m_reg_status = ans_status;
  // Bring-up's are zeros when they are not valid, and only one of the two ever is.
  assign acc = nvme_acc | pci_acc | (rec_first ? rec_acc : acc_t'('0)) | (own_valid ? acc_t'('0) : raw_acc_q);
  // A raw access waits in a register of its own, so that who is first is not the user's concern.
  always_ff @(posedge clk) begin
    if (!held_q) raw_acc_q <= '{op: s_reg_write ? ACC_MEM_WR : ACC_MEM_RD, addr: s_reg_addr, be: 4'hf,
                                wdata: s_reg_wdata};
    held_q <= held_q ? !acc_ready || own_valid : s_reg_valid;
    if (rst) held_q <= 1'b0;
  end
  always_ff @(posedge clk) begin
    if (acc_ready) begin
      acc_valid_q <= own_valid || held_q;
      acc_q       <= acc;
      raw_q       <= !own_valid;
    end else if (acc_free) begin
      acc_valid_q <= 1'b0;
    end
    if (rst) acc_valid_q <= 1'b0;
  end

  logic        db_valid, db_ready, adb_valid, adb_ready, adb_cq;
  logic [15:0] adb_value;
  logic [ 3:0] doorbell_stride;
  assign db_valid      = s_db_valid || adb_valid;
  assign s_db_ready    = db_ready;
  assign adb_ready     = db_ready && !s_db_valid;
  assign stat_doorbell = db_valid && db_ready;

  assign m_poke_valid = db_valid;
  assign db_ready     = m_poke_ready;
  assign m_poke.addr  = 24'h1000 +
                        (24'({s_db_valid ? s_db_qid : 4'd0, s_db_valid ? s_db_cq : adb_cq, 2'b00}) << doorbell_stride);
  assign m_poke.data  = 32'(s_db_valid ? s_db_value : adb_value);
  assign m_acc_valid  = acc_valid_q;
  assign acc_free     = m_acc_ready;
  assign m_acc        = acc_q;
  assign ans_valid    = s_answer_valid;
  assign ans_rdata    = s_answer.rdata;
  assign ans_status   = s_answer.status;

  // ------------------------------------------------------------------ admin engine
  logic        nvme_cmd_valid, rec_cmd_valid, pass_cmd_valid, cmd_valid, cmd_ready, clear;
  logic [31:0] nvme_cmd_data, rec_cmd_data, pass_cmd_data;
  logic [ 3:0] cmd_index;
  logic        rsp_valid, rsp_timeout;
  cqe_t        rsp_cqe;
  abuf_t       admin_abuf, nvme_abuf, axil_abuf, abuf;
  logic [15:0] admin_ms;
  logic        abort_q, abort;  // the command in process, the one on offer is recovery's
  assign abort     = (cmd_index != '0) ? abort_q : rec_cmd_valid;
  assign cmd_valid = nvme_cmd_valid || (abort ? rec_cmd_valid : pass_cmd_valid);
  always_ff @(posedge clk) begin
    if (cmd_valid && cmd_ready) abort_q <= abort;
  end

  db_host_admin u_admin (
      .clk,
      .rst,
      .tick,
      .clear,
      .timeout_ms   (admin_ms),
      .s_cmd_valid  (cmd_valid),
      .s_cmd_ready  (cmd_ready),
      .s_cmd_data   (nvme_cmd_valid ? nvme_cmd_data : abort ? rec_cmd_data : pass_cmd_data),
      .m_cmd_index  (cmd_index),
      .m_rsp_valid  (rsp_valid),
      .m_rsp_timeout(rsp_timeout),
      .m_rsp_cqe    (rsp_cqe),
      .m_abuf       (admin_abuf),
      .s_abuf_ready,
      .m_db_valid   (adb_valid),
      .m_db_ready   (adb_ready),
      .m_db_cq      (adb_cq),
      .m_db_value   (adb_value),
      .s_acqe_valid,
      .s_acqe_index,
      .s_acqe       (cqe_t'(s_acqe))
  );

  // The buffer: the engine, then Identify's reader, then the registers.
  assign abuf         = admin_abuf.en ? admin_abuf : nvme_abuf.en ? nvme_abuf : axil_abuf;
  assign m_abuf_en    = abuf.en;
  assign m_abuf_we    = abuf.we;
  assign m_abuf_addr  = abuf.addr;
  assign m_abuf_wdata = abuf.wdata;

  // ------------------------------------------------------------------ bring-up and recovery
  logic        stop, pci_start, pci_done, nvme_start, nvme_done;
  fail_e       pci_fail, nvme_fail, fail_reason;
  step_e       pci_step, nvme_step, fail_step, step;
  logic [14:0] fail_status;
  logic [15:0] abort_ms, poll_ms;
  logic        stat_abort, stat_reset, busy;

  db_host_pci #(
      .MRRS(MRRS)
  ) u_pci (
      .clk,
      .rst,
      .tick,
      .start       (pci_start),
      .stop,
      .done        (pci_done),
      .fail        (pci_fail),
      .step        (pci_step),
      .bar_base,
      .cfg_mps_cap,
      .set_mps,
      .set_mrrs,
      .m_acc_valid (pci_acc_valid),
      .m_acc_ready (acc_ready && !nvme_acc_valid),
      .m_acc       (pci_acc),
      .s_acc_valid (ans_valid && !raw_q),
      .s_acc_rdata (ans_rdata),
      .s_acc_status(ans_status)
  );

  db_host_nvme #(
      .NUM_CMDS (NUM_CMDS),
      .NUM_QP   (NUM_QP),
      .PART_LOG2(PART_LOG2),
      .HALF_MS  (HALF_MS)
  ) u_nvme (
      .clk,
      .rst,
      .tick,
      .start        (nvme_start),
      .stop,
      .done         (nvme_done),
      .fail         (nvme_fail),
      .fail_status,
      .step         (nvme_step),
      .window_base,
      .nsid,
      .doorbell_stride,
      .lba_shift,
      .blocks,
      .max_blocks,
      .sq_size,
      .oncs,
      .vwc,
      .m_acc_valid  (nvme_acc_valid),
      .m_acc_ready  (acc_ready),
      .m_acc        (nvme_acc),
      .s_acc_valid  (ans_valid && !raw_q),
      .s_acc_rdata  (ans_rdata),
      .s_acc_status (ans_status),
      .m_clear      (clear),
      .m_cmd_valid  (nvme_cmd_valid),
      .m_cmd_ready  (cmd_ready),
      .m_cmd_data   (nvme_cmd_data),
      .s_cmd_index  (cmd_index),
      .s_rsp_valid  (rsp_valid),
      .s_rsp_timeout(rsp_timeout),
      .s_rsp_cqe    (rsp_cqe),
      .m_abuf       (nvme_abuf),
      .s_abuf_ready (s_abuf_ready && !admin_abuf.en),
      .s_abuf_rdata
  );

  db_host_supervisor #(
      .ATTEMPTS(ATTEMPTS)
  ) u_recover (
      .clk,
      .rst,
      .tick,
      .enable      (enable_q),
      .start,
      .reset,
      .link_up,
      .abort_ms,
      .poll_ms,
      .s_late_valid,
      .s_late_cid,
      .s_late_qid,
      .io_done     (s_io_done),
      .damaged     (s_damaged),
      .admin_lost  (rsp_valid && rsp_timeout),
      .io_up,
      .io_dead,
      .fail_reason,
      .fail_step,
      .step,
      .busy,
      .stat_abort,
      .stat_reset,
      .stop,
      .pci_start,
      .pci_done,
      .pci_fail,
      .pci_step,
      .nvme_start,
      .nvme_done,
      .nvme_fail,
      .nvme_step,
      .m_acc_valid (rec_acc_valid),
      .m_acc_ready (acc_ready && !nvme_acc_valid && !pci_acc_valid),
      .m_acc       (rec_acc),
      .s_acc_valid (ans_valid && !raw_q),
      .s_acc_rdata (ans_rdata),
      .s_acc_status(ans_status),
      .m_cmd_valid (rec_cmd_valid),
      .m_cmd_ready (cmd_ready && abort),
      .m_cmd_data  (rec_cmd_data),
      .s_cmd_index (cmd_index)
  );

  // ------------------------------------------------------------------ the user's side
  logic        adm_go, adm_busy, adm_done;
  logic [ 3:0] adm_index;
  logic [31:0] adm_data;
  cqe_t        adm_cqe;
  assign m_adm_cqe = adm_cqe;

  db_host_admin_passthru u_pass (
      .clk,
      .rst,
      .io_up,
      .stop,
      .s_adm_valid,
      .s_adm_ready,
      .s_adm_data,
      .m_adm_valid,
      .m_adm_ready,
      .m_adm_cqe    (adm_cqe),
      .m_adm_timeout,
      .s_reg_go     (adm_go),
      .m_reg_index  (adm_index),
      .s_reg_data   (adm_data),
      .m_reg_busy   (adm_busy),
      .m_reg_done   (adm_done),
      .m_cmd_valid  (pass_cmd_valid),
      .m_cmd_ready  (cmd_ready && !abort && !nvme_cmd_valid),
      .m_cmd_data   (pass_cmd_data),
      .s_rsp_valid  (rsp_valid && !abort_q),
      .s_rsp_timeout(rsp_timeout),
      .s_rsp_cqe    (rsp_cqe)
  );

  assign ctl_idle = !busy && !acc_valid_q && !held_q && !s_reg_valid && !db_valid && !rq_busy &&
                    !adm_busy && cmd_index == '0 && !s_adm_valid && !m_adm_valid;

  if (REGS) begin : g_regs
    db_host_axil #(
        .DATA_W  (DATA_W),
        .NUM_CMDS(NUM_CMDS),
        .NUM_QP  (NUM_QP)
    ) u_axil (
        .clk,
        .rst,
        .s_axil_awvalid,
        .s_axil_awready,
        .s_axil_awaddr,
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
        .s_axil_araddr,
        .s_axil_arprot,
        .s_axil_rvalid,
        .s_axil_rready,
        .s_axil_rdata,
        .s_axil_rresp,
        .start,
        .reset,
        .nsid,
        .admin_ms,
        .abort_ms,
        .poll_ms,
        .repeat_on_reset,
        .cmd_timeout,
        .io_up,
        .io_dead,
        .link_up,
        .idle           (ctl_idle && s_idle),
        .step,
        .fail_reason,
        .fail_step,
        .fail_status,
        .blocks,
        .max_blocks,
        .lba_shift,
        .vwc,
        .doorbell_stride,
        .mps            (set_mps),
        .oncs,
        .sq_size,
        .stat_cqe,
        .stat_abort,
        .stat_reset,
        .stat_bad,
        .adm_go,
        .adm_index,
        .adm_data,
        .adm_busy,
        .adm_done,
        .adm_timeout    (m_adm_timeout),
        .adm_status     (adm_cqe.status),
        .adm_dw0        (adm_cqe.dw0),
        .adm_dw1        (adm_cqe.dw1),
        .m_abuf         (axil_abuf),
        .s_abuf_ready   (s_abuf_ready && !admin_abuf.en && !nvme_abuf.en),
        .s_abuf_rdata
    );
  end else begin : g_fixed
    assign nsid            = NSID;
    assign admin_ms        = ADMIN_MS;
    assign abort_ms        = ABORT_MS;
    assign poll_ms         = POLL_MS;
    assign repeat_on_reset = REPEAT;
    assign cmd_timeout     = CMD_TIMEOUT;
    assign start           = 1'b0;
    assign reset           = 1'b0;
    assign adm_go          = 1'b0;
    assign adm_data        = '0;
    assign axil_abuf       = '0;

    // Reads give 0, writes do nothing, both are OKAY.
    logic r_valid_q, b_valid_q, both;
    assign both           = s_axil_awvalid && s_axil_wvalid && !b_valid_q;
    assign s_axil_awready = both;
    assign s_axil_wready  = both;
    assign s_axil_bvalid  = b_valid_q;
    assign s_axil_bresp   = '0;
    assign s_axil_arready = !r_valid_q;
    assign s_axil_rvalid  = r_valid_q;
    assign s_axil_rdata   = '0;
    assign s_axil_rresp   = '0;
    always_ff @(posedge clk) begin
      r_valid_q <= r_valid_q ? !s_axil_rready : s_axil_arvalid;
      b_valid_q <= b_valid_q ? !s_axil_bready : both;
      if (rst) begin
        r_valid_q <= 1'b0;
        b_valid_q <= 1'b0;
      end
    end
    logic unused;
    assign unused = &{1'b0, s_axil_awaddr, s_axil_awprot, s_axil_wdata, s_axil_wstrb, s_axil_araddr, s_axil_arprot,
                      s_idle, stat_cqe, stat_abort, stat_reset, stat_bad, adm_busy, adm_done, adm_index, step,
                      fail_step, fail_reason, fail_status, oncs};
  end
endmodule
