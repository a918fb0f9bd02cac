// SPDX-License-Identifier: Apache-2.0
// Registers of the firmware (regs/db_ssd_fw.rdl) as the blocks know them: what it reads comes in as structs, what it
// sets or starts goes out as structs. Nothing is kept here but what the firmware has written, and the first bad
// doorbell write since it looked. With one function what is by function goes out as a constant, so that no register is
// left of it.
// Latency: read data in the cycle of the access, that of a VF's register when it has been looked up (s_wait); what is
// written shows a cycle later.
module db_ssd_admin_regs
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_admin_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic            clk,
  input  logic            rst,
  input  logic            ctrl_rst,           ///< controller reset: the ring is empty
  // the processor's accesses
  input  logic            s_req,
  input  fw_access_t      s,
  output logic [31:0]     s_rdata,
  output logic            s_wait,             ///< not yet: the access is to stay
  // what it reads
  input  instance_t       has,
  input  logic            dead,               ///< the processor is: shows as CSTS.CFS, and nothing runs
  input  host_regs_t      host_regs,          ///< of the PF
  output logic            vf_look_valid,      ///< a look at a word of a VF's, until vf_look_answer
  output vf_look_t        vf_look,
  input  logic            vf_look_answer,     ///< pulse
  input  logic [31:0]     vf_look_data,
  input  logic [63:0]     time_us,
  input  event_t          events,
  input  event_set_t      event_set,
  input  fn_event_t [NUM_FN-1:0] fn_events,
  input  logic [4:0]      ring_wr,
  input  logic [8:0]      io_wr,
  input  logic            copy_err,
  input  logic            media_err,
  input  logic            store_err,
  input  logic [31:0]     store_data,         ///< the word that was read last
  input  error_log_t      err,                ///< while an error record waits
  input  logic            doorbell_err_valid, ///< pulse
  input  doorbell_err_t   doorbell_err,
  input  smart_counters_t counters,
  input  logic [31:0]     media_health,       ///< the word that is asked for
  input  abort_found_t    abort_found,
  input  logic [ABORT_WATCHES-1:0] abort_watching,
  input  logic [ABORT_WATCHES-1:0] abort_caught,
  // what it starts, with what
  output start_t          start,
  output copy_cmd_t       copy,
  output completion_t     completion,
  output queue_ctx_t      queue_ctx,
  output media_cmd_t      media,
  output store_cmd_t      store,
  output abort_cmd_t      abort_cmd,
  output namespace_t      ns,                 ///< for the entry ns_index of the table
  output logic [7:0]      ns_index,
  output logic            err_pop,            ///< pulse: done with the error record
  // what it sets
  output event_set_t      event_seen,
  output event_t          wake_on,
  output logic [63:0]     wake_us,
  output logic [9:0]      ring_base,          ///< 1 KiB
  output logic [4:0]      ring_rd,
  output logic [8:0]      io_base,            ///< 2 KiB
  output logic [8:0]      io_rd,
  output csts_t [NUM_FN-1:0] csts,
  output control_t        control,
  output logic [NUM_FN-1:0] flr_done,         ///< pulses
  output logic            fn_queues_valid,    ///< pulse
  output fn_queues_t      fn_queues,
  output logic            admin_taken,        ///< pulse: a command was taken out of the ring
  output logic [QID_W-1:0] sq_select,
  output arb_cfg_t        arb_cfg,
  output fn_set_t         fn_set,            ///< what functions may have
  output programs_set_t   programs,          ///< what they have of programs and memory ranges
  output logic [MAX_FN-1:0] cache_off, ///< of which functions every write is as one with FUA
  output logic [3:0]      media_health_word,
  output coalesce_cfg_t   coalesce_cfg,
  output logic            int_vec_cfg_valid,  ///< pulse
  output int_vec_cfg_t    int_vec_cfg
);
  import db_ssd_fw_regs_pkg::*;

  localparam bit MANY = NUM_FN > 1;
  localparam logic [MAX_FN-1:0] FUNCTIONS = '1 >> (MAX_FN - NUM_FN);
  db_ssd_fw__in_t  in;
  db_ssd_fw__out_t out;
  logic [31:0]     regs_rdata;

  db_ssd_fw_regs i_regs (
    .clk, .rst, .s_cpuif_req(s_req), .s_cpuif_req_is_wr(s.wr), .s_cpuif_addr(s.addr), .s_cpuif_wr_data(s.wdata),
    .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(), .s_cpuif_rd_ack(), .s_cpuif_rd_err(),
    .s_cpuif_rd_data(regs_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(), .hwif_in(in), .hwif_out(out));

  doorbell_err_t doorbell_err_q;
  always_ff @(posedge clk) if (doorbell_err_valid && !out.EVENT.doorbell_err.value) doorbell_err_q <= doorbell_err;

  // ---- functions
  logic [PLACE_W-1:0] place;
  logic [NUM_FN-1:0]  here;              // the function that is selected
  csts_t              csts_now;
  logic [4:0]         taken_q;
  assign place    = NUM_FN == 1 ? '0 : out.FN_SELECT.place.value;
  always_comb for (int i = 0; i < NUM_FN; i++) here[i] = NUM_FN == 1 || place == PLACE_W'(i);
  assign csts_now = '{rdy: out.CSTS.rdy.value, cfs: out.CSTS.cfs.value || dead, shst: out.CSTS.shst.value,
                      nssro: out.CSTS.nssro.value};
  if (NUM_FN == 1) begin : g_one
    assign csts = csts_now;
  end else begin : g_many
    csts_t [NUM_FN-1:0] csts_q;
    logic               written_q;
    always_ff @(posedge clk) begin
      written_q <= out.CSTS.rdy.swmod;
      for (int i = 0; i < NUM_FN; i++) if (written_q && here[i]) csts_q[i] <= csts_now;
      if (rst) begin
        written_q <= 1'b0;
        csts_q    <= '0;
        for (int i = 1; i < NUM_FN; i++) csts_q[i].cfs <= 1'b1;  // a VF is offline
      end
    end
    always_comb begin
      csts = csts_q;
      for (int i = 0; i < NUM_FN; i++) begin
        csts[i].cfs  |= dead;
        csts[i].nssro = csts_now.nssro;
      end
    end
  end
  always_ff @(posedge clk) taken_q <= out.SQ_PTR.rd_ptr.value;
  assign admin_taken     = NUM_FN > 1 && out.SQ_PTR.rd_ptr.value != taken_q && !ctrl_rst;
  assign fn_queues_valid = MANY && out.FN_QUEUES.go.value;
  assign fn_queues       = !MANY ? '0 :
    '{place: out.FN_QUEUES.place.value, before_first: out.FN_QUEUES.before_first.value,
      count: out.FN_QUEUES.count.value};

  // Registers of a VF's host, CC at 20h to the upper half of ACQ at 34h: what stands there is the PF's.
  if (NUM_FN == 1) begin : g_no_look
    logic unused_ok;
    assign unused_ok     = &{1'b0, vf_look_answer, vf_look_data};
    assign vf_look_valid = 1'b0;
    assign vf_look       = '0;
    assign s_wait        = 1'b0;
    assign s_rdata       = regs_rdata;
  end else begin : g_look
    logic of_vf;
    assign of_vf         = !s.wr && place != '0 && s.addr[8:5] == 4'd1 && s.addr[4:2] < 3'd6;
    assign vf_look_valid = s_req && of_vf;
    assign vf_look       = '{place: place, word: s.addr[4:2]};
    assign s_wait        = of_vf && !vf_look_answer;
    assign s_rdata       = of_vf ? vf_look_data : regs_rdata;
  end

  // ---- what the firmware reads
  always_comb begin
    in.FN_CONFIG.num_fn.next     = has.num_fn;
    in.FN_CONFIG.vf_vec.next     = has.vf_vec;
    in.FN_CONFIG.num_cmds.next   = has.num_cmds;
    in.FN_PENDING.places.next    = '0;
    for (int i = 0; i < MAX_FN; i++) begin
      in.FN_EVENT[i].cc.hwset      = 1'b0;
      in.FN_EVENT[i].en_fell.hwset = 1'b0;
      in.FN_EVENT[i].cc.hwclr      = i >= NUM_FN || !MANY;
      in.FN_EVENT[i].en_fell.hwclr = i >= NUM_FN || !MANY;
      in.FN_EVENT[i].flr.next      = 1'b0;
      in.FN_EVENT[i].enable.next   = 1'b0;
    end
    if (NUM_FN > 1) begin
      for (int i = 0; i < NUM_FN; i++) begin
        in.FN_EVENT[i].cc.hwset      = fn_events[i].cc;
        in.FN_EVENT[i].en_fell.hwset = fn_events[i].en_fell;
        in.FN_EVENT[i].flr.next      = fn_events[i].flr;
        in.FN_EVENT[i].enable.next   = fn_events[i].enable;
        in.FN_PENDING.places.next[i] = out.FN_EVENT[i].cc.value || out.FN_EVENT[i].en_fell.value || fn_events[i].flr;
      end
    end
    in.EVENT.sqe.next             = events.sqe;
    in.EVENT.cc.hwset             = event_set.cc;
    in.EVENT.en_fell.hwset        = event_set.en_fell;
    in.EVENT.nssr.hwset           = event_set.nssr;
    in.EVENT.flr.next             = events.flr;
    in.EVENT.err.next             = events.err;
    in.EVENT.doorbell_err.hwset   = event_set.doorbell_err;
    in.EVENT.media_warning.hwset  = event_set.media_warning;
    in.MEDIA_HEALTH.V.next        = media_health;
    in.EVENT.timer.next           = events.timer;
    in.EVENT.copy_idle.next       = events.copy_idle;
    in.EVENT.media_idle.next      = events.media_idle;
    in.EVENT.quiet.next           = events.quiet;
    in.EVENT.completion_idle.next = events.completion_idle;
    in.EVENT.queue_ctx_idle.next  = events.queue_ctx_idle;
    in.EVENT.drained.next         = events.drained;
    in.EVENT.sq_idle.next         = events.sq_idle;
    in.EVENT.host_quiet.next      = events.host_quiet;
    in.EVENT.abort_idle.next      = events.abort_idle;
    in.ABORT.found.next           = abort_found.found;
    in.ABORT_FOUND.cid.next       = abort_found.cid;
    in.ABORT_FOUND.sqid.next      = abort_found.sqid;
    in.ABORT_WATCH.watching.next  = abort_watching;
    in.ABORT_WATCH.caught.next    = abort_caught;
    in.TIME_LO.V.next             = time_us[31:0];
    in.TIME_HI.V.next             = time_us[63:32];
    in.CC.V.next                  = host_regs.cc;
    in.AQA.V.next                 = host_regs.aqa;
    in.ASQ_LO.V.next              = host_regs.asq[31:0];
    in.ASQ_HI.V.next              = host_regs.asq[63:32];
    in.ACQ_LO.V.next              = host_regs.acq[31:0];
    in.ACQ_HI.V.next              = host_regs.acq[63:32];
    in.CONFIG.num_qp.next         = has.num_qp;
    in.CONFIG.num_vec.next        = has.num_vec;
    in.CONFIG.uncorrectable.next  = has.uncorrectable;
    in.CONFIG.restarted.next      = has.restarted;
    in.CONFIG.sgl.next            = has.sgl;
    in.CONFIG.num_ns.next         = has.num_ns;
    in.MEMORY.log2_bytes.next     = has.memory;
    in.MEDIA_PAGES_LO.V.next      = has.media_pages[31:0];
    in.MEDIA_PAGES_HI.V.next      = {12'd0, has.media_pages[51:32]};
    in.SQ_PTR.wr_ptr.next         = ring_wr;
    in.SQ_PTR.rd_ptr.next         = '0;
    in.SQ_PTR.rd_ptr.we           = ctrl_rst;
    in.IO_WRITTEN.wr_ptr.next     = NUM_FN > 1 ? io_wr : '0;
    in.COPY_STAT.err.next         = copy_err;
    in.MEDIA_CMD.err.next         = media_err;
    in.STORE_CMD.err.next         = store_err;
    in.STORE_IN.V.next            = store_data;
    in.ERR_ID.cid.next            = err.cid;
    in.ERR_ID.sqid.next           = err.sqid;
    in.ERR_STATUS.status.next     = err.status;
    in.ERR_NSID.V.next            = err.nsid;
    in.ERR_LBA_LO.V.next          = err.lba[31:0];
    in.ERR_LBA_HI.V.next          = err.lba[63:32];
    in.DOORBELL_ERR.kind.next     = doorbell_err_q.kind;
    in.DOORBELL_ERR.qid.next      = doorbell_err_q.qid;
    in.DOORBELL_ERR.fn.next       = doorbell_err_q.fn;
    in.RD_SECTORS_LO.V.next       = counters.read_sectors[31:0];
    in.RD_SECTORS_HI.V.next       = counters.read_sectors[SMART_W-1:32];
    in.WR_SECTORS_LO.V.next       = counters.write_sectors[31:0];
    in.WR_SECTORS_HI.V.next       = counters.write_sectors[SMART_W-1:32];
    in.RD_CMDS_LO.V.next          = counters.read_cmds[31:0];
    in.RD_CMDS_HI.V.next          = counters.read_cmds[SMART_W-1:32];
    in.WR_CMDS_LO.V.next          = counters.write_cmds[31:0];
    in.WR_CMDS_HI.V.next          = counters.write_cmds[SMART_W-1:32];
    in.MEDIA_ERR_LO.V.next        = counters.media_errors[31:0];
    in.MEDIA_ERR_HI.V.next        = counters.media_errors[SMART_W-1:32];
  end

  // ---- what it starts
  assign start = '{sleep: out.SLEEP.go.value, turn: out.SLEEP.turn.value, copy: out.COPY_CMD.go.value,
                   completion: out.COMPLETION_STATUS.go.value, queue_ctx: out.QUEUE_CTX_CTL.go.value,
                   media: out.MEDIA_CMD.go.value, store: out.STORE_CMD.go.value, abort_cmd: out.ABORT.go.value,
                   write_namespace: out.NS_CTL.go.value};
  assign copy = '{op: copy_op_e'(out.COPY_CMD.op.value), fn: out.COPY_CMD.fn.value,
                  host: {out.COPY_HOST_HI.V.value, out.COPY_HOST_LO.V.value}, ram: out.COPY_RAM.V.value[19:2],
                  dwords: out.COPY_CMD.len.value};
  assign completion = '{io: MANY && out.COMPLETION_STATUS.io.value,
                        fn: MANY ? out.COMPLETION_ID.fn.value : '0, sqid: out.COMPLETION_ID.sqid.value,
                        cid: out.COMPLETION_ID.cid.value, status: status_t'(out.COMPLETION_STATUS.status.value),
                        dw0: out.COMPLETION_DW0.V.value};
  assign queue_ctx = '{kind: queue_kind_e'(out.QUEUE_CTX_CTL.cq.value), valid: out.QUEUE_CTX_CTL.valid.value,
                       watch: out.QUEUE_CTX_CTL.watch.value,
                       qid: out.QUEUE_CTX_CTL.qid.value,
                       base: {out.QUEUE_CTX_BASE_HI.V.value, out.QUEUE_CTX_BASE_LO.V.value},
                       size: out.QUEUE_CTX_SIZE.size.value, cqid: out.QUEUE_CTX_CTL.cqid.value,
                       prio: out.QUEUE_CTX_CTL.prio.value, vector: out.QUEUE_CTX_SIZE.vector.value,
                       ien: out.QUEUE_CTX_CTL.ien.value, fn: MANY ? out.QUEUE_CTX_FN.fn.value : '0,
                       host_qid: MANY ? out.QUEUE_CTX_FN.host_qid.value : '0};
  assign media = '{op: media_op_e'({1'b0, out.MEDIA_CMD.op.value}),
                   addr: {out.MEDIA_ADDR_HI.V.value, out.MEDIA_ADDR_LO.V.value},
                   bytes: {out.MEDIA_BYTES_HI.V.value, out.MEDIA_BYTES_LO.V.value}};
  assign store = '{write: out.STORE_CMD.write.value, addr: media.addr, data: out.STORE_OUT.V.value};
  assign abort_cmd = '{find: out.ABORT.search.value, by_fn: MANY && out.ABORT.by_fn.value,
                       by_ns: MANY && out.ABORT.by_ns.value, by_cid: out.ABORT.by_cid.value,
                       sqid: out.ABORT.sqid.value, key: out.ABORT.key.value};
  assign ns = '{valid: out.NS_CTL.valid.value, attached: MANY ? out.NS_ATTACHED.places.value : '0,
                barred: MANY ? out.NS_BARRED.places.value : '0,
                exclusive: MANY && out.NS_BARRED.exclusive.value,
                lba4k: out.NS_CTL.lba4k.value, gate: ns_gate_e'(out.NS_CTL.gate.value),
                read_only: out.NS_CTL.read_only.value,
                set: has.memory == '0 ? SET_NVM : ns_set_e'(out.NS_CTL.set.value),
                base: {out.NS_BASE_HI.V.value, out.NS_BASE_LO.V.value},
                blocks: {out.NS_BLOCKS_HI.V.value, out.NS_BLOCKS_LO.V.value}};
  assign ns_index = out.NS_CTL.index.value;
  assign err_pop  = out.ERR_STATUS.pop.value;

  // ---- what it sets
  assign event_seen = '{media_warning: out.EVENT.media_warning.value,
                        doorbell_err: out.EVENT.doorbell_err.value, nssr: out.EVENT.nssr.value,
                        en_fell: out.EVENT.en_fell.value, cc: out.EVENT.cc.value};
  assign wake_on   = event_t'(out.WAKE_ON.mask.value);
  assign wake_us   = {out.WAKE_HI.V.value, out.WAKE_LO.V.value};
  assign ring_base = out.SQ_RING.base.value[19:10];
  assign ring_rd   = out.SQ_PTR.rd_ptr.value;
  assign io_base   = out.IO_RING.base.value[19:11];
  assign io_rd     = out.IO_DONE.rd_ptr.value;
  assign sq_select = out.SQ_SELECT.qid.value;
  assign control   = '{run: out.CTL.run.value && !dead, stop: out.CTL.stop.value, ctrl_rst: out.CTL.ctrl_rst.value,
                       flr_rst: out.CTL.flr_rst.value ? MAX_FN'(here) : '0, off: out.FN_OFF.places.value & FUNCTIONS};
  assign flr_done  = out.CTL.flr_done.value ? here : '0;
  assign arb_cfg   = '{wrr: out.CTL.wrr.value, burst: out.ARB.burst.value, weight_low: out.ARB.lpw.value,
                       weight_medium: out.ARB.mpw.value, weight_high: out.ARB.hpw.value};
  assign fn_set.share_valid = MANY && out.FN_SHARE.go.value;
  assign fn_set.share       = !MANY ? '0 :
                              '{place: out.FN_SHARE.place.value, weight: out.FN_SHARE.weight.value,
                                least: out.FN_SHARE.least.value, most: out.FN_SHARE.most.value,
                                deadline: out.FN_DEADLINE.us.value};
  assign fn_set.limit_valid = MANY && out.FN_LIMIT.go.value;
  assign fn_set.limit       = !MANY ? '0 :
                              '{place: out.FN_LIMIT.place.value, bytes: out.FN_LIMIT.bytes.value,
                                rate: out.FN_LIMIT_RATE.rate.value, burst: out.FN_LIMIT_BURST.burst.value};
  assign programs = has.memory == '0 ? '0 :
    '{range_valid: out.RANGE_CTL.go.value, place: out.RANGE_CTL.place.value, number: out.RANGE_CTL.set.value,
      result: out.RANGE_CTL.which.value, start: out.RANGE_START.V.value[29:0],
      bytes: out.RANGE_BYTES.V.value[NEAR_BYTES_W-1:0], state_valid: out.PROGRAM_STATE.go.value,
      state_place: out.PROGRAM_STATE.place.value, there: out.PROGRAM_STATE.there.value,
      active: out.PROGRAM_STATE.active.value};
  assign cache_off         = out.CACHE.off.value & FUNCTIONS;
  assign media_health_word = out.MEDIA_HEALTH_WORD.word.value;
  assign coalesce_cfg      = '{threshold: out.COALESCE.threshold.value, time_100us: out.COALESCE.time_100us.value};
  assign int_vec_cfg_valid = out.INT_VEC_CFG.go.value;
  assign int_vec_cfg       = '{vector: out.INT_VEC_CFG.vector.value, exempt: out.INT_VEC_CFG.cd.value};

endmodule
