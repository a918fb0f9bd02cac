// SPDX-License-Identifier: Apache-2.0
// Admin subsystem: a small processor (picorv32) with its RAM, its registers (regs/db_ssd_fw.rdl) and a copy engine. Its
// firmware (fw/) brings the controller up and down and executes the admin commands. It touches no I/O command.
//
//   db_ssd_admin_cpu         processor and bus          db_ssd_admin_events      what it waits for, when it sleeps
//   db_ssd_admin_mem         RAM                        db_ssd_admin_offer       completions and queue contexts out
//   db_ssd_admin_copy        entries in, data out       db_ssd_admin_media       media commands, and words on the media
//   db_ssd_admin_regs        registers <-> structs      db_ssd_admin_watchdog    is the processor alive
//
// The processor sleeps when there is nothing to do (cpu_idle), and nothing here toggles then; wake_us tells a
// simulator when its next timer falls due. Its clock and that of the registers stand still then, in simulation alone.
// Resets, all driven by the firmware: control.stop asks for no new DMA; when quiet, control.ctrl_rst resets the data path
// (and here the ring of commands and whatever waits on a port); control.flr_rst resets what only a function-level or
// subsystem reset does: the host's registers, the MSI-X table.
// A processor that traps or hangs shows as CSTS.CFS, and a reset by the host starts it again (db_ssd_admin_watchdog).
//
// Latency: about a thousand cycles a simple command; Identify some 5500. Throughput: one command at a time, 15 more wait
// in the ring without holding up I/O.
module db_ssd_admin
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_admin_pkg::*;
#(
  parameter int NUM_FN    = 1,         ///< functions, 1..17
  parameter int DATA_W    = 256,       ///< bits of a row of host memory that was read: 128, 256, 512
  parameter     FW_HEX    = "fw.hex",  ///< $readmemh image of the firmware, 32-bit words
  parameter int NUM_QP    = 32,        ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS  = 128,       ///< command slots, 2..256
  parameter int NUM_VEC   = 33,        ///< interrupt vectors of the PF, 1..2048
  parameter int VF_VEC    = 8,         ///< of each VF, 1..32
  parameter bit UNCORRECTABLE = 1'b0,  ///< has Write Uncorrectable
  parameter bit SGL      = 1'b0,  ///< I/O commands may have SGLs
  parameter int NUM_NS    = 1,         ///< namespaces, 1..64
  parameter int MEMORY_LOG2 = 0,       ///< log2 of the bytes of a function's memory that is a namespace; 0: none
  parameter int RAM_BYTES = 65536      ///< multiple of 4096, 32768..1048576
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    por_rst,           ///< with rst: power was off
  // controller state that the host sees (db_ssd_regs)
  input  host_regs_t              host_regs,         ///< of the PF
  output logic                    vf_look_valid,     ///< a look at a word of a VF's, until vf_look_answer
  output vf_look_t                vf_look,
  input  logic                    vf_look_answer,    ///< pulse
  input  logic [31:0]             vf_look_data,
  /// Of all functions, where there are several.
  input  logic [NUM_FN-1:0]       cc_en,
  input  logic [NUM_FN-1:0]       cc_written,        ///< pulses
  input  logic [NUM_FN-1:0]       flr,               ///< level: function-level reset in process
  input  logic [NUM_FN-1:0]       fn_enable,         ///< the function is there
  output logic [NUM_FN-1:0]       flr_done,          ///< pulse
  output csts_t [NUM_FN-1:0]      csts,
  output logic                    fn_queues_valid,   ///< pulse: which queues a function has
  output fn_queues_t              fn_queues,
  // admin submission queue entries
  input  logic                    s_sqe_valid,
  output logic                    s_sqe_ready,
  input  admin_sqe_t              s_sqe,
  output logic                    admin_taken,       ///< pulse: the firmware has taken one
  // completions
  output logic                    m_completion_valid,
  input  logic                    m_completion_ready,
  output completion_t             m_completion,
  // host memory: writes inside a page, and reads of up to 64 bytes inside a page; the answer comes in rows
  output logic                    m_post_valid,
  input  logic                    m_post_ready,
  output post_t                   m_post,
  output logic                    m_read_valid,
  input  logic                    m_read_ready,
  output segment_t                m_read,
  input  logic                    s_row_valid,
  output logic                    s_row_ready,
  input  logic [DATA_W-1:0]       s_row_data,
  input  row_info_t               s_row_info,
  // queues
  output logic                    m_queue_ctx_valid,
  input  logic                    m_queue_ctx_ready,
  output queue_ctx_t              m_queue_ctx,
  output logic [QID_W-1:0]        sq_select,
  input  logic                    sq_inflight,       ///< queue sq_select has commands in flight, 2 cycles later
  // I/O commands to abort, or to look for
  output logic                    m_abort_start,     ///< pulse
  output abort_cmd_t              m_abort,
  input  logic                    abort_busy,
  input  abort_found_t            abort_found,       ///< when not busy any more
  input  logic [ABORT_WATCHES-1:0] abort_watching,   ///< ... nor this: the command has come from its queue, or has not
  input  logic [ABORT_WATCHES-1:0] abort_caught,
  // settings
  output arb_cfg_t                arb_cfg,
  output fn_set_t                 fn_set,            ///< what functions may have
  output programs_set_t           programs,          ///< pulses: what they have of programs and memory ranges
  output logic [MAX_FN-1:0] cache_off, ///< of which functions every write is as one with FUA
  output coalesce_cfg_t           coalesce_cfg,
  output logic                    int_vec_cfg_valid, ///< pulse
  output int_vec_cfg_t            int_vec_cfg,
  /// Pulse: an entry of decode's table of namespaces.
  output logic                    ns_valid,
  output ns_entry_t               ns_entry,
  input  logic [51:0]             media_pages,       ///< capacity in 4 KiB
  output logic [3:0]              m_media_health_word,
  input  logic [31:0]             s_media_health,    ///< that word, at most 3 cycles later
  input  logic                    s_media_warning,   ///< pulse: a warning of it is new
  // control of the whole controller
  output control_t                control,
  input  logic                    quiet,             ///< no DMA or media access outstanding
  input  logic                    host_quiet,        ///< no DMA
  input  logic [15:0]             cmds_inflight,     ///< I/O commands between fetch and completion
  input  logic [15:0]             cmds_unread,       ///< ... of them done
  // media commands of the firmware (Format, shutdown)
  output logic                    m_media_valid,
  input  logic                    m_media_ready,
  output media_cmd_t              m_media,
  input  logic                    s_media_done,      ///< pulse
  input  logic                    s_media_err,       ///< with s_media_done
  // words of the firmware's own on the media
  output logic                    m_store_valid,
  input  logic                    m_store_ready,
  output store_cmd_t              m_store,
  input  logic                    s_store_done,      ///< pulse
  input  logic                    s_store_err,       ///< with s_store_done
  input  logic [31:0]             s_store_data,      ///< what was read last
  // what I/O commands leave
  input  logic                    s_err_valid,
  output logic                    s_err_ready,
  input  error_log_t              s_err,
  input  logic                    s_doorbell_err_valid, ///< pulse
  input  doorbell_err_t           s_doorbell_err,
  input  smart_counters_t         counters,
  // time and sleep
  input  logic [63:0]             time_us,           ///< free running
  output logic                    cpu_idle,          ///< the processor sleeps and nothing is pending
  output logic [63:0]             wake_us,           ///< with cpu_idle: when it wants to run again; all ones: never
  // extension bus
  output ext_bus_t                ext,
  input  logic [31:0]             ext_rdata
);
  if (NUM_QP < 1 || NUM_QP > 254) begin : g_bad_qp
    $error("%m: NUM_QP must be 1..254");
  end
  if (NUM_VEC < 1 || NUM_VEC > 2048) begin : g_bad_vec
    $error("%m: NUM_VEC must be 1..2048");
  end
  if (NUM_NS < 1 || NUM_NS > 64) begin : g_bad_ns
    $error("%m: NUM_NS must be 1..64 (is %0d)", NUM_NS);
  end
  if (RAM_BYTES < 32768 || RAM_BYTES > 1048576 || RAM_BYTES % 4096 != 0) begin : g_bad_ram
    $error("%m: RAM_BYTES must be a multiple of 4096, 32768..1048576");
  end

  start_t      start;
  copy_cmd_t   copy;
  event_t      events, wake_on;
  event_set_t  event_set, event_seen;
  fn_event_t [NUM_FN-1:0] fn_events;
  instance_t   has;
  ram_access_t cpu_ram, copy_ram;
  fw_access_t  fw_reg;
  logic        ctrl_rst, irq, sleeping, asleep, trap, dead, restart, restarted;
  logic        copy_idle, copy_err, media_idle, media_err, store_idle, store_err;
  logic        cpu_ram_valid, cpu_ram_ready, copy_ram_valid, fw_reg_valid, fw_reg_wait;
  logic [4:0]  ring_wr, ring_rd;
  logic [9:0]  ring_base;
  logic [8:0]  io_base, io_wr, io_rd;
  logic        io_waits_q;
  logic [31:0] ram_rdata, fw_reg_rdata;

  always_ff @(posedge clk) io_waits_q <= NUM_FN > 1 && io_wr != io_rd;

  // ---- clocks: the processor's while it does not sleep, the registers' while there is something for them to keep
  logic cpu_clk, reg_clk;
  db_clock_gate #(.AFTER(1)) i_cpu_clk (.clk, .awake(rst || restart || irq || !asleep), .m_clk(cpu_clk));
  db_clock_gate #(.AFTER(4)) i_reg_clk (
    .clk, .awake(ctrl_rst || fw_reg_valid || event_set != '0), .m_clk(reg_clk));

  // ---- processor, RAM, registers, copy engine
  db_ssd_admin_cpu #(.RAM_BYTES(RAM_BYTES)) i_cpu (
    .clk(cpu_clk), .rst, .irq, .sleep(start.sleep), .asleep, .sleeping, .trap, .restart, .m_ram_valid(cpu_ram_valid),
    .m_ram_ready(cpu_ram_ready), .m_ram(cpu_ram), .ram_rdata, .m_reg_valid(fw_reg_valid), .m_reg(fw_reg),
    .reg_rdata(fw_reg_rdata), .reg_wait(fw_reg_wait), .ext, .ext_rdata);

  db_ssd_admin_watchdog i_watchdog (
    .clk, .rst, .por_rst, .time_us, .trap, .turn(sleeping || start.turn),
    .s_reset(!(NUM_FN == 1 ? host_regs.cc[0] : cc_en[0]) || flr[0] || event_seen.nssr), .dead,
    .restart,
    .restarted);

  db_ssd_admin_mem #(.BYTES(RAM_BYTES), .HEX_FILE(FW_HEX)) i_mem (
    .clk, .s_copy_req(copy_ram_valid), .s_copy(copy_ram), .s_cpu_req(cpu_ram_valid), .s_cpu_ready(cpu_ram_ready),
    .s_cpu(cpu_ram), .rdata(ram_rdata));

  db_ssd_admin_copy #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .DATA_W(DATA_W)) i_copy (
    .clk, .rst(ctrl_rst), .s_sqe_valid, .s_sqe_ready, .s_sqe, .ring_base, .ring_wr, .ring_rd, .io_base, .io_wr,
    .start(start.copy),
    .cmd(copy), .idle(copy_idle), .err(copy_err), .m_post_valid, .m_post_ready, .m_post, .m_read_valid, .m_read_ready,
    .m_read, .s_row_valid, .s_row_ready, .s_row_data, .s_row_info, .m_ram_valid(copy_ram_valid), .m_ram(copy_ram),
    .ram_rdata);

  assign has = '{num_qp: 8'(NUM_QP), num_vec: 12'(NUM_VEC), num_ns: 8'(NUM_NS), media_pages: media_pages,
                 uncorrectable: UNCORRECTABLE, sgl: SGL, memory: 5'(MEMORY_LOG2), restarted: restarted,
                 num_fn: 5'(NUM_FN), vf_vec: 8'(VF_VEC), num_cmds: NUM_FN > 1 ? 9'(NUM_CMDS) : '0};

  db_ssd_admin_regs #(.NUM_FN(NUM_FN)) i_regs (
    .clk(reg_clk), .rst, .ctrl_rst, .s_req(fw_reg_valid), .s(fw_reg), .s_rdata(fw_reg_rdata), .s_wait(fw_reg_wait),
    .has, .dead, .host_regs, .vf_look_valid, .vf_look, .vf_look_answer, .vf_look_data, .time_us,
    .events, .event_set, .fn_events, .ring_wr, .io_wr, .copy_err, .media_err, .store_err, .store_data(s_store_data),
    .err(s_err),
    .doorbell_err_valid(s_doorbell_err_valid), .doorbell_err(s_doorbell_err), .counters,
    .media_health(s_media_health), .media_health_word(m_media_health_word), .abort_found,
    .abort_watching, .abort_caught, .start, .copy, .abort_cmd(m_abort), .completion(m_completion),
    .queue_ctx(m_queue_ctx), .media(m_media), .store(m_store), .ns(ns_entry.ns),
    .ns_index(ns_entry.index),
    .err_pop(s_err_ready), .event_seen, .wake_on, .wake_us, .ring_base, .ring_rd, .io_base, .io_rd, .csts,
    .control,
    .flr_done, .fn_queues_valid, .fn_queues, .admin_taken, .sq_select, .arb_cfg, .fn_set, .programs,
    .cache_off, .coalesce_cfg,
    .int_vec_cfg_valid, .int_vec_cfg);

  // ---- events and sleep
  db_ssd_admin_events #(.NUM_FN(NUM_FN)) i_events (
    .clk, .rst, .host_regs, .cc_en, .cc_written, .flr, .fn_enable, .of_fn(fn_events),
    .err(s_err_valid), .doorbell_err(s_doorbell_err_valid), .media_warning(s_media_warning),
    .ring_wr, .ring_rd,
    .io_waits(io_waits_q), .copy_idle, .media_idle(media_idle && store_idle),
    .completion_idle(!m_completion_valid), .queue_ctx_idle(!m_queue_ctx_valid),
    .quiet, .host_quiet, .cmds_inflight, .cmds_unread, .sq_inflight, .abort_busy, .time_us, .sqe_waits(s_sqe_valid),
    .media_waits(m_media_valid || m_store_valid), .asleep, .set(event_set), .seen(event_seen),
    .events, .wake_on, .wake_us, .irq, .cpu_idle);

  // ---- what the firmware starts and sets
  db_ssd_admin_offer i_completion (
    .clk, .rst(ctrl_rst), .start(start.completion), .valid(m_completion_valid), .ready(m_completion_ready));

  db_ssd_admin_offer i_queue_ctx (
    .clk, .rst(ctrl_rst), .start(start.queue_ctx), .valid(m_queue_ctx_valid), .ready(m_queue_ctx_ready));

  db_ssd_admin_media i_media (
    .clk, .rst(ctrl_rst), .start(start.media), .idle(media_idle), .err(media_err), .m_valid(m_media_valid),
    .m_ready(m_media_ready), .s_done(s_media_done), .s_err(s_media_err));

  db_ssd_admin_media i_store (
    .clk, .rst(ctrl_rst), .start(start.store), .idle(store_idle), .err(store_err), .m_valid(m_store_valid),
    .m_ready(m_store_ready), .s_done(s_store_done), .s_err(s_store_err));

  assign ns_valid = start.write_namespace;

  assign m_abort_start = start.abort_cmd;
  assign ctrl_rst = rst || control.ctrl_rst;

endmodule
