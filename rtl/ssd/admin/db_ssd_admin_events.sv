// SPDX-License-Identifier: Apache-2.0
// Events of the firmware: the levels it may wait for, its interrupt, and whether it has anything to do at all.
// The interrupt is a level made from what is pending, so nothing is lost between a look and the sleep.
// Latency: an event shows in irq a cycle later.
module db_ssd_admin_events
  import db_ssd_pkg::*, db_ssd_admin_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic        clk,
  input  logic        rst,
  // causes
  input  host_regs_t  host_regs,      ///< one function: writes to CC, whose EN is watched
  input  logic [NUM_FN-1:0] cc_en,     ///< several: of each
  input  logic [NUM_FN-1:0] cc_written,
  input  logic [NUM_FN-1:0] flr,       ///< level: function-level reset in process
  input  logic [NUM_FN-1:0] fn_enable, ///< the function is there
  input  logic        err,            ///< level: an error record waits
  input  logic        doorbell_err,   ///< pulse
  input  logic        media_warning,  ///< pulse
  input  logic [4:0]  ring_wr,        ///< of the ring of entries: it has some where they differ
  input  logic [4:0]  ring_rd,
  input  logic        io_waits,       ///< level: so has the ring of I/O commands
  input  logic        copy_idle,
  input  logic        media_idle,
  input  logic        completion_idle,
  input  logic        queue_ctx_idle,
  input  logic        quiet,
  input  logic        host_quiet,
  input  logic [15:0] cmds_inflight,  ///< I/O commands between fetch and completion
  input  logic [15:0] cmds_unread,    ///< ... of them done
  input  logic        sq_inflight,    ///< the selected submission queue has commands in flight
  input  logic        abort_busy,     ///< commands are being aborted or looked for
  input  logic [63:0] time_us,
  // what else keeps the processor's surroundings busy
  input  logic        sqe_waits,      ///< an entry is offered
  input  logic        media_waits,    ///< a media command is offered
  input  logic        asleep,         ///< the processor has stopped
  // registers
  output fn_event_t [NUM_FN-1:0] of_fn, ///< events of each function
  output event_set_t  set,            ///< events that stay, to their register
  input  event_set_t  seen,           ///< what of them stays
  output event_t      events,
  input  event_t      wake_on,        ///< events that interrupt
  input  logic [63:0] wake_us,        ///< time that does; all ones: never
  output logic        irq,
  output logic        cpu_idle        ///< nothing here changes until an input does or wake_us is reached
);
  logic              due_q, drained_q, idle_q, nssr;
  logic [NUM_FN-1:0] written, en, en_q, en_fell_q, gone, gone_q;

  always_comb begin
    nssr    = host_regs.subsystem_reset;
    en      = NUM_FN == 1 ? NUM_FN'(host_regs.cc[0]) : cc_en;
    written = NUM_FN == 1 ? NUM_FN'(host_regs.cc_written) : cc_written;
    for (int i = 0; i < NUM_FN; i++) begin
      gone[i]  = NUM_FN > 1 && !fn_enable[i];
      of_fn[i] = '{en_fell: en_fell_q[i], cc: written[i], flr: flr[i], enable: fn_enable[i]};
    end
  end
  assign set = '{media_warning: media_warning,
                 doorbell_err: doorbell_err, nssr: nssr, en_fell: en_fell_q != '0, cc: written != '0};

  assign events = '{
    media_warning: seen.media_warning,
    abort_idle: !abort_busy, host_quiet: host_quiet, sq_idle: !sq_inflight, drained: drained_q,
    queue_ctx_idle: queue_ctx_idle,
    completion_idle: completion_idle,
    quiet: quiet, media_idle: media_idle, copy_idle: copy_idle, timer: due_q, doorbell_err: seen.doorbell_err,
    err: err, flr: flr != '0, nssr: seen.nssr, en_fell: seen.en_fell, cc: seen.cc,
    sqe: ring_wr != ring_rd || io_waits
  };

  assign cpu_idle = idle_q && !irq;

  logic unused_ok;
  assign unused_ok = &{1'b0, host_regs};

  always_ff @(posedge clk) begin
    irq       <= (events & wake_on) != '0;
    due_q     <= time_us >= wake_us && wake_us != '1;
    for (int i = 0; i < NUM_FN; i++) begin
      gone_q[i]    <= gone[i];
      en_q[i]      <= en[i] && !gone[i];
      en_fell_q[i] <= (en_q[i] && !en[i]) || (gone[i] && !gone_q[i]);  // nobody need have enabled it
    end
    drained_q <= cmds_inflight == cmds_unread;
    idle_q    <= asleep && copy_idle && completion_idle && queue_ctx_idle && !sqe_waits && !media_waits &&
                 !media_warning;
    if (rst) begin
      irq       <= 1'b0;
      due_q     <= 1'b0;
      gone_q    <= '1;
      en_q      <= '0;
      en_fell_q <= '0;
      idle_q    <= 1'b0;
    end
  end

endmodule
