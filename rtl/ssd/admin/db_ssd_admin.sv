// SPDX-License-Identifier: Apache-2.0
// Admin subsystem: a small processor (picorv32) with its RAM, its registers (regs/db_ssd_fw.rdl) and a copy engine. Its
// firmware (fw/) brings the controller up and down and executes the admin commands. It touches no I/O command.
//
// The processor sleeps when there is nothing to do (cpu_idle), and nothing here toggles then; wake_us tells a
// simulator when its next timer falls due.
// Resets, all driven by the firmware: ctl_stop asks for no new DMA; when dp_quiet, ctl_dp_rst resets the data path (and
// here the ring of commands and whatever waits on a port); ctl_fn_rst resets what only a function-level or subsystem
// reset does: the host's registers, the MSI-X table.
// A processor that traps shows as CSTS.CFS.
//
// Latency: some hundred cycles a simple command; Identify some 3000. Throughput: one command at a time, 15 more wait in
// the ring without holding up I/O.
module db_ssd_admin
  import db_nvme_pkg::*;
  import db_ssd_pkg::*;
#(
  parameter int DATA_W    = 256,       // bits of a row of host memory that was read: 128, 256, 512
  parameter     FW_HEX    = "fw.hex",  // $readmemh image of the firmware, 32-bit words
  parameter int NUM_QP    = 32,        // I/O queue pairs, 1..254
  parameter int NUM_VEC   = 33,        // interrupt vectors, 1..2048
  parameter int NUM_NS    = 1,         // namespaces, 1..64
  parameter int RAM_BYTES = 65536      // power of two, 32768..1048576
) (
  input  logic                 clk,
  input  logic                 rst,
  // host-visible controller state (db_ssd_regs)
  input  logic [31:0]          cc,
  input  logic [31:0]          aqa,
  input  logic [63:0]          asq,
  input  logic [63:0]          acq,
  input  logic                 ev_cc,          // pulse: CC was written
  input  logic                 ev_nssr,        // pulse: NSSR was written with "NVMe"
  input  logic                 ev_flr,         // level: function-level reset in process
  output logic                 csts_rdy,
  output logic                 csts_cfs,
  output logic [1:0]           csts_shst,
  output logic                 csts_nssro,     // pulse: set CSTS.NSSRO
  output logic                 flr_done,       // pulse
  // admin submission queue entries
  input  logic                 s_sqe_valid,
  output logic                 s_sqe_ready,
  input  logic [FN_W-1:0]      s_sqe_fn,
  input  logic [511:0]         s_sqe_data,
  // completions
  output logic                 m_cpl_valid,
  input  logic                 m_cpl_ready,
  output completion_t                 m_cpl,
  // host memory writes, 1..4 dwords inside a page, and reads of 64 bytes inside a page; the answer comes in rows
  output logic                 m_post_valid,
  input  logic                 m_post_ready,
  output logic [FN_W-1:0]      m_post_fn,
  output logic [63:0]          m_post_addr,
  output logic [2:0]           m_post_len_dw,
  output logic [127:0]         m_post_data,
  output logic                 m_rd_valid,
  input  logic                 m_rd_ready,
  output logic [FN_W-1:0]      m_rd_fn,
  output logic [63:0]          m_rd_addr,
  input  logic                 s_rd_tvalid,
  output logic                 s_rd_tready,
  input  logic [DATA_W-1:0]    s_rd_tdata,
  input  logic                 s_rd_tlast,
  input  logic                 s_rd_terr,
  // queue contexts; q_inflight belongs to q_sel, 2 cycles later
  output logic                 m_qc_valid,
  input  logic                 m_qc_ready,
  output queue_ctx_t                m_qc,
  output logic [QID_W-1:0]     q_sel,
  input  logic                 q_inflight,
  // arbitration: burst 2^n entries (7: no limit), weights - 1, weighted round robin on
  output logic [2:0]           arb_burst,
  output logic [7:0]           arb_lpw,
  output logic [7:0]           arb_mpw,
  output logic [7:0]           arb_hpw,
  output logic                 arb_wrr,
  // interrupt coalescing: threshold - 1, time in 100 us; a write of one vector's "coalescing disabled"
  output logic [7:0]           ic_thr,
  output logic [7:0]           ic_time,
  output logic                 icv_we,
  output logic [15:0]          icv_vector,
  output logic                 icv_cd,
  // namespaces: base in bytes, size in blocks of 512 or 4096 bytes
  output logic [NUM_NS-1:0]    ns_valid,
  output logic [64*NUM_NS-1:0] ns_base,
  output logic [64*NUM_NS-1:0] ns_blocks,
  output logic [NUM_NS-1:0]    ns_lba4k,
  input  logic [51:0]          media_pages,    // capacity in 4 KiB
  // control of the data path
  output logic                 ctl_run,        // submission queues may be fetched
  output logic                 ctl_stop,       // start no new DMA
  output logic                 ctl_dp_rst,     // pulse: reset all but processor and BAR
  output logic                 ctl_fn_rst,     // pulse: reset the host's registers and the MSI-X table
  input  logic                 dp_quiet,       // no DMA or media access outstanding
  input  logic [15:0]          cmds_inflight,  // I/O commands between fetch and completion
  // media commands of the firmware (Format, shutdown)
  output logic                 m_mc_valid,
  input  logic                 m_mc_ready,
  output media_op_e            m_mc_op,
  output logic [63:0]          m_mc_addr,      // bytes
  output logic [63:0]          m_mc_bytes,
  input  logic                 s_mc_done,      // pulse
  input  logic                 s_mc_err,       // with s_mc_done
  // errors of I/O commands for the log; bad doorbell writes
  input  logic                 s_err_valid,
  output logic                 s_err_ready,
  input  logic [QID_W-1:0]     s_err_sqid,
  input  logic [15:0]          s_err_cid,
  input  logic [14:0]          s_err_status,
  input  logic [31:0]          s_err_nsid,
  input  logic [63:0]          s_err_lba,
  input  logic                 s_dberr_valid,  // pulse
  input  logic                 s_dberr_kind,   // 0 no such register, 1 bad value
  input  logic [QID_W-1:0]     s_dberr_qid,
  // counters: 512-byte sectors, commands
  input  logic [63:0]          cnt_rd_sectors,
  input  logic [63:0]          cnt_wr_sectors,
  input  logic [63:0]          cnt_rd_cmds,
  input  logic [63:0]          cnt_wr_cmds,
  input  logic [63:0]          cnt_media_err,
  input  logic [63:0]          time_us,        // free running
  output logic                 cpu_idle,       // the processor sleeps and nothing is pending
  output logic [63:0]          wake_us,        // with cpu_idle: time_us at which it wants to run again; all ones: never
  // extension bus, 0x9000_0000: read data in the same cycle; zeros if there is nothing
  output logic                 ext_req,
  output logic                 ext_wr,
  output logic [11:0]          ext_addr,       // bytes
  output logic [31:0]          ext_wdata,
  input  logic [31:0]          ext_rdata
);
  import db_ssd_fw_regs_pkg::*;

  if (NUM_QP < 1 || NUM_QP > 254) begin : g_bad_qp
    $error("%m: NUM_QP must be 1..254");
  end
  if (NUM_VEC < 1 || NUM_VEC > 2048) begin : g_bad_vec
    $error("%m: NUM_VEC must be 1..2048");
  end
  if (NUM_NS < 1 || NUM_NS > 64) begin : g_bad_ns
    $error("%m: NUM_NS must be 1..64 (is %0d)", NUM_NS);
  end
  if (RAM_BYTES < 32768 || RAM_BYTES > 1048576) begin : g_bad_ram
    $error("%m: RAM_BYTES must be 32768..1048576");
  end

  localparam int RAM_AW = $clog2(RAM_BYTES / 4);
  localparam int EVENTS = 15;

  db_ssd_fw__in_t  hwif_in;
  db_ssd_fw__out_t hwif_out;

  logic        cpu_ram_en, cpy_ram_req, cpy_ram_we, asleep, trap;
  logic [3:0]  cpu_ram_we;
  logic [17:0] cpu_ram_addr, cpy_ram_addr;
  logic [31:0] cpu_ram_wdata, cpy_ram_wdata, ram_rdata;
  logic        reg_req, reg_wr;
  logic [8:0]  reg_addr;
  logic [31:0] reg_wdata, reg_rdata;

  logic              dp_rst, irq_q, due_q, en_q, en_fell_q, copy_idle, copy_err, mc_busy_q, mc_err_q, drained_q;
  logic              db_kind_q, cpl_valid_q, qc_valid_q, mc_valid_q, idle_q;
  logic [QID_W-1:0]  db_qid_q;
  logic [4:0]        ring_wr;
  logic [EVENTS-1:0] event_bits;

  // ------------------------------------------------------------------ processor, RAM, copy engine
  db_ssd_admin_cpu #(.RAM_BYTES(RAM_BYTES)) u_cpu (
    .clk       (clk),
    .rst       (rst),
    .irq       (irq_q),
    .sleep     (hwif_out.SLEEP.go.value),
    .asleep    (asleep),
    .trap      (trap),
    .ram_en    (cpu_ram_en),
    .ram_ready (!cpy_ram_req),
    .ram_we    (cpu_ram_we),
    .ram_addr  (cpu_ram_addr),
    .ram_wdata (cpu_ram_wdata),
    .ram_rdata (ram_rdata),
    .reg_req   (reg_req),
    .reg_wr    (reg_wr),
    .reg_addr  (reg_addr),
    .reg_wdata (reg_wdata),
    .reg_rdata (reg_rdata),
    .ext_req   (ext_req),
    .ext_addr  (ext_addr),
    .ext_rdata (ext_rdata)
  );
  assign ext_wr    = reg_wr;
  assign ext_wdata = reg_wdata;

  db_ssd_admin_ram #(.BYTES(RAM_BYTES), .HEX_FILE(FW_HEX)) u_ram (
    .clk   (clk),
    .en    (cpy_ram_req || cpu_ram_en),
    .we    (cpy_ram_req ? {4{cpy_ram_we}} : cpu_ram_we),
    .addr  (cpy_ram_req ? cpy_ram_addr[RAM_AW-1:0] : cpu_ram_addr[RAM_AW-1:0]),
    .wdata (cpy_ram_req ? cpy_ram_wdata : cpu_ram_wdata),
    .rdata (ram_rdata)
  );

  db_ssd_admin_copy #(.DATA_W(DATA_W)) u_copy (
    .clk           (clk),
    .rst           (dp_rst),
    .s_sqe_valid   (s_sqe_valid),
    .s_sqe_ready   (s_sqe_ready),
    .s_sqe_fn      (s_sqe_fn),
    .s_sqe_data    (s_sqe_data),
    .ring_base     (hwif_out.SQ_RING.base.value[19:11]),
    .ring_wr       (ring_wr),
    .ring_rd       (hwif_out.SQ_PTR.rd_ptr.value),
    .go            (hwif_out.COPY_CMD.go.value),
    .op            (hwif_out.COPY_CMD.op.value),
    .fn            (hwif_out.COPY_CMD.fn.value),
    .host          ({hwif_out.COPY_HOST_HI.V.value, hwif_out.COPY_HOST_LO.V.value}),
    .ram           (hwif_out.COPY_RAM.V.value[19:2]),
    .len_dw        (hwif_out.COPY_CMD.len.value),
    .idle          (copy_idle),
    .err           (copy_err),
    .m_post_valid  (m_post_valid),
    .m_post_ready  (m_post_ready),
    .m_post_fn     (m_post_fn),
    .m_post_addr   (m_post_addr),
    .m_post_len_dw (m_post_len_dw),
    .m_post_data   (m_post_data),
    .m_rd_valid    (m_rd_valid),
    .m_rd_ready    (m_rd_ready),
    .m_rd_fn       (m_rd_fn),
    .m_rd_addr     (m_rd_addr),
    .s_rd_tvalid   (s_rd_tvalid),
    .s_rd_tready   (s_rd_tready),
    .s_rd_tdata    (s_rd_tdata),
    .s_rd_tlast    (s_rd_tlast),
    .s_rd_terr     (s_rd_terr),
    .ram_req       (cpy_ram_req),
    .ram_we        (cpy_ram_we),
    .ram_addr      (cpy_ram_addr),
    .ram_wdata     (cpy_ram_wdata),
    .ram_rdata     (ram_rdata)
  );

  db_ssd_fw_regs u_regs (
    .clk                  (clk),
    .rst                  (rst),
    .s_cpuif_req          (reg_req),
    .s_cpuif_req_is_wr    (reg_wr),
    .s_cpuif_addr         (reg_addr),
    .s_cpuif_wr_data      (reg_wdata),
    .s_cpuif_wr_biten     ('1),
    .s_cpuif_req_stall_wr (),
    .s_cpuif_req_stall_rd (),
    .s_cpuif_rd_ack       (),
    .s_cpuif_rd_err       (),
    .s_cpuif_rd_data      (reg_rdata),
    .s_cpuif_wr_ack       (),
    .s_cpuif_wr_err       (),
    .hwif_in              (hwif_in),
    .hwif_out             (hwif_out)
  );

  // ------------------------------------------------------------------ events, sleep
  assign event_bits = {!q_inflight, drained_q, !qc_valid_q, !cpl_valid_q, dp_quiet, !mc_busy_q, copy_idle, due_q,
                       hwif_out.EVENT.dberr.value, s_err_valid, ev_flr, hwif_out.EVENT.nssr.value,
                       hwif_out.EVENT.en_fell.value, hwif_out.EVENT.cc.value,
                       ring_wr != hwif_out.SQ_PTR.rd_ptr.value};

  logic unused_ok;
  assign unused_ok = &{1'b0, cpu_ram_addr, cpy_ram_addr};  // a small RAM takes the low bits

  assign dp_rst   = rst || hwif_out.CTL.dp_rst.value;
  assign cpu_idle = idle_q && !irq_q;
  assign wake_us  = {hwif_out.WAKE_HI.V.value, hwif_out.WAKE_LO.V.value};

  always_ff @(posedge clk) begin
    irq_q     <= (event_bits & hwif_out.WAKE_ON.mask.value) != '0;
    due_q     <= time_us >= wake_us && wake_us != '1;
    en_q      <= cc[0];
    en_fell_q <= en_q && !cc[0];
    drained_q <= cmds_inflight == '0;
    idle_q    <= asleep && copy_idle && !s_sqe_valid && !cpl_valid_q && !qc_valid_q && !mc_valid_q;
    if (rst) begin
      irq_q     <= 1'b0;
      due_q     <= 1'b0;
      en_q      <= 1'b0;
      en_fell_q <= 1'b0;
      idle_q    <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ what the firmware starts
  assign m_cpl_valid = cpl_valid_q;
  assign m_cpl       = '{fn: hwif_out.CPL_ID.fn.value, sqid: hwif_out.CPL_ID.sqid.value,
                         cid: hwif_out.CPL_ID.cid.value, status: status_t'(hwif_out.CPL_STATUS.status.value),
                         dw0: hwif_out.CPL_DW0.V.value};
  assign m_qc_valid  = qc_valid_q;
  assign m_qc        = '{kind: queue_kind_e'(hwif_out.QC_CTL.cq.value), valid: hwif_out.QC_CTL.valid.value,
                         qid: hwif_out.QC_CTL.qid.value,
                         base: {hwif_out.QC_BASE_HI.V.value, hwif_out.QC_BASE_LO.V.value},
                         size: hwif_out.QC_SIZE.size.value, cqid: hwif_out.QC_CTL.cqid.value,
                         prio: hwif_out.QC_CTL.prio.value, vector: hwif_out.QC_SIZE.vector.value,
                         ien: hwif_out.QC_CTL.ien.value};
  assign m_mc_valid  = mc_valid_q;
  assign m_mc_op     = media_op_e'(hwif_out.MC_CMD.op.value);
  assign m_mc_addr   = {hwif_out.MC_ADDR_HI.V.value, hwif_out.MC_ADDR_LO.V.value};
  assign m_mc_bytes  = {hwif_out.MC_BYTES_HI.V.value, hwif_out.MC_BYTES_LO.V.value};

  always_ff @(posedge clk) begin
    if (m_cpl_ready) cpl_valid_q <= 1'b0;
    if (m_qc_ready) qc_valid_q <= 1'b0;
    if (m_mc_ready) mc_valid_q <= 1'b0;
    if (s_mc_done) begin
      mc_busy_q <= 1'b0;
      mc_err_q  <= s_mc_err;
    end
    if (hwif_out.CPL_STATUS.go.value) cpl_valid_q <= 1'b1;
    if (hwif_out.QC_CTL.go.value) qc_valid_q <= 1'b1;
    if (hwif_out.MC_CMD.go.value) begin
      mc_valid_q <= 1'b1;
      mc_busy_q  <= 1'b1;
    end
    if (dp_rst) begin
      cpl_valid_q <= 1'b0;
      qc_valid_q  <= 1'b0;
      mc_valid_q  <= 1'b0;
      mc_busy_q   <= 1'b0;
      mc_err_q    <= 1'b0;
    end
  end

  // First bad doorbell write since the firmware cleared the event.
  always_ff @(posedge clk) begin
    if (s_dberr_valid && !hwif_out.EVENT.dberr.value) begin
      db_kind_q <= s_dberr_kind;
      db_qid_q  <= s_dberr_qid;
    end
  end

  for (genvar i = 0; i < NUM_NS; i++) begin : g_ns
    always_ff @(posedge clk) begin
      if (hwif_out.NS_CTL.go.value && hwif_out.NS_CTL.index.value == 8'(i)) begin
        ns_valid[i]           <= hwif_out.NS_CTL.valid.value;
        ns_lba4k[i]           <= hwif_out.NS_CTL.lba4k.value;
        ns_base[64*i +: 64]   <= {hwif_out.NS_BASE_HI.V.value, hwif_out.NS_BASE_LO.V.value};
        ns_blocks[64*i +: 64] <= {hwif_out.NS_BLOCKS_HI.V.value, hwif_out.NS_BLOCKS_LO.V.value};
      end
      if (rst) ns_valid[i] <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ plain outputs
  assign csts_rdy    = hwif_out.CSTS.rdy.value;
  assign csts_cfs    = hwif_out.CSTS.cfs.value || trap;
  assign csts_shst   = hwif_out.CSTS.shst.value;
  assign csts_nssro  = hwif_out.CSTS.nssro.value;
  assign ctl_run     = hwif_out.CTL.run.value;
  assign ctl_stop    = hwif_out.CTL.stop.value;
  assign arb_wrr     = hwif_out.CTL.wrr.value;
  assign ctl_dp_rst  = hwif_out.CTL.dp_rst.value;
  assign ctl_fn_rst  = hwif_out.CTL.fn_rst.value;
  assign flr_done    = hwif_out.CTL.flr_done.value;
  assign q_sel       = hwif_out.QSEL.qid.value;
  assign arb_burst   = hwif_out.ARB.burst.value;
  assign arb_lpw     = hwif_out.ARB.lpw.value;
  assign arb_mpw     = hwif_out.ARB.mpw.value;
  assign arb_hpw     = hwif_out.ARB.hpw.value;
  assign ic_thr      = hwif_out.IC.thr.value;
  assign ic_time     = hwif_out.IC.tim.value;
  assign icv_we      = hwif_out.ICV.go.value;
  assign icv_vector  = hwif_out.ICV.vector.value;
  assign icv_cd      = hwif_out.ICV.cd.value;
  assign s_err_ready = hwif_out.ERR_STATUS.pop.value;

  // ------------------------------------------------------------------ what the firmware reads
  always_comb begin
    hwif_in.EVENT.sqe.next        = event_bits[0];
    hwif_in.EVENT.cc.hwset        = ev_cc;
    hwif_in.EVENT.en_fell.hwset   = en_fell_q;
    hwif_in.EVENT.nssr.hwset      = ev_nssr;
    hwif_in.EVENT.flr.next        = event_bits[4];
    hwif_in.EVENT.err.next        = event_bits[5];
    hwif_in.EVENT.dberr.hwset     = s_dberr_valid;
    hwif_in.EVENT.timer.next      = event_bits[7];
    hwif_in.EVENT.copy_idle.next  = event_bits[8];
    hwif_in.EVENT.media_idle.next = event_bits[9];
    hwif_in.EVENT.quiet.next      = event_bits[10];
    hwif_in.EVENT.cpl_idle.next   = event_bits[11];
    hwif_in.EVENT.qc_idle.next    = event_bits[12];
    hwif_in.EVENT.drained.next    = event_bits[13];
    hwif_in.EVENT.q_idle.next     = event_bits[14];
    hwif_in.TIME_LO.V.next        = time_us[31:0];
    hwif_in.TIME_HI.V.next        = time_us[63:32];
    hwif_in.CC.V.next             = cc;
    hwif_in.AQA.V.next            = aqa;
    hwif_in.ASQ_LO.V.next         = asq[31:0];
    hwif_in.ASQ_HI.V.next         = asq[63:32];
    hwif_in.ACQ_LO.V.next         = acq[31:0];
    hwif_in.ACQ_HI.V.next         = acq[63:32];
    hwif_in.CONFIG.num_qp.next    = 8'(NUM_QP);
    hwif_in.CONFIG.num_vec.next   = 16'(NUM_VEC);
    hwif_in.CONFIG.num_ns.next    = 8'(NUM_NS);
    hwif_in.SQ_PTR.wr_ptr.next    = ring_wr;
    hwif_in.SQ_PTR.rd_ptr.next    = '0;
    hwif_in.SQ_PTR.rd_ptr.we      = dp_rst;
    hwif_in.COPY_STAT.err.next    = copy_err;
    hwif_in.MEDIA_PAGES_LO.V.next = media_pages[31:0];
    hwif_in.MEDIA_PAGES_HI.V.next = {12'd0, media_pages[51:32]};
    hwif_in.MC_CMD.err.next       = mc_err_q;
    hwif_in.ERR_ID.cid.next       = s_err_cid;
    hwif_in.ERR_ID.sqid.next      = s_err_sqid;
    hwif_in.ERR_STATUS.status.next = s_err_status;
    hwif_in.ERR_NSID.V.next       = s_err_nsid;
    hwif_in.ERR_LBA_LO.V.next     = s_err_lba[31:0];
    hwif_in.ERR_LBA_HI.V.next     = s_err_lba[63:32];
    hwif_in.DBERR.kind.next       = db_kind_q;
    hwif_in.DBERR.qid.next        = db_qid_q;
    hwif_in.RD_SECTORS_LO.V.next  = cnt_rd_sectors[31:0];
    hwif_in.RD_SECTORS_HI.V.next  = cnt_rd_sectors[63:32];
    hwif_in.WR_SECTORS_LO.V.next  = cnt_wr_sectors[31:0];
    hwif_in.WR_SECTORS_HI.V.next  = cnt_wr_sectors[63:32];
    hwif_in.RD_CMDS_LO.V.next     = cnt_rd_cmds[31:0];
    hwif_in.RD_CMDS_HI.V.next     = cnt_rd_cmds[63:32];
    hwif_in.WR_CMDS_LO.V.next     = cnt_wr_cmds[31:0];
    hwif_in.WR_CMDS_HI.V.next     = cnt_wr_cmds[63:32];
    hwif_in.MEDIA_ERR_LO.V.next   = cnt_media_err[31:0];
    hwif_in.MEDIA_ERR_HI.V.next   = cnt_media_err[63:32];
  end

endmodule
