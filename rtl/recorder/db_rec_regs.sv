// SPDX-License-Identifier: Apache-2.0
// The recorder's registers that have an effect or change by themselves: the DUNE NvmeStorage map, and beyond it from
// 0x1000 on (docs/recorder/registers.md).
//
// Addresses, fields, accesses and values after reset are those of regs/db_recorder.rdl, by the package made of it; a
// generated register block takes too much area (docs/decisions.md). Main set (a write goes to all drives, a read is
// drive 0's), a set and an extended set a drive, the recorder's own. Registers that are `external` live in
// db_rec_counters' RAM; db_rec_axil knows which. What is not described reads as zero.
// Latency: a read none, a write takes effect in the next cycle.
module db_rec_regs
  import db_rec_pkg::*, db_recorder_regs_pkg::*;
#(
  parameter int N_DRIVES      = 2,
  parameter int STREAM_W      = 256,
  parameter int CLK_MHZ       = 250,
  parameter int RESET_US      = 100_000,   ///< length of the reset pulse, 1..1000000
  parameter bit USE_CONFIGURE = 1'b1,      ///< drives are brought up without Initialise
  parameter bit TRIM_FIRST    = OWN_TRIM_FIRST_INIT.trim  ///< value of TrimFirst after reset
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic                           live,         ///< an access is there, one cycle
  input  access_t                        access,
  output logic            [31:0]         rdata,
  output logic                           pending,      ///< of the access's drive: its capture has not begun
  output logic                           read_pending,

  output logic                           wipe,         ///< pulse: everything is reset
  output logic                           all_rst,      ///< with rst
  input  logic            [N_DRIVES-1:0] initialise,   ///< pulse: as Control.Initialise
  output logic            [N_DRIVES-1:0] drive_rst,    ///< pulse of RESET_US, and until Initialise
  output logic            [N_DRIVES-1:0] shutdown,     ///< pulse: shut the drive down
  output drive_control_t  [N_DRIVES-1:0] control,
  output logic                           trim_first,

  input  host_state_t     [N_DRIVES-1:0] hosts,
  input  lane_state_t     [N_DRIVES-1:0] lanes,
  input  drive_progress_t [N_DRIVES-1:0] progress,
  input  logic                           stat_drop,    ///< pulse: a block of the stream was dropped
  input  logic                           stat_format,  ///< pulse: one was malformed
  input  buffer_state_t                  buffer
);
  localparam int DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  if (RESET_US < 1 || RESET_US > 1_000_000) begin : g_bad
    $error("%m: RESET_US must be 1..1000000 (is %0d)", RESET_US);
  end
  logic [N_DRIVES-1:0] sel;  // drives of the access
  logic [DW-1:0]       drive;
  assign drive = DW'(access.drive);
  always_comb for (int i = 0; i < N_DRIVES; i++) sel[i] = access.main || access.drive == 3'(i);

  // ---- what lives here: writes
  set_control_t             control_w;  // what is written, if it is for that register
  set_read_control_t        rcontrol_w;
  own_trim_first_t          trim_w;
  own_shutdown_t            shutdown_w;
  logic                     wr, wr_set, wipe_q, trim_q;
  logic [N_DRIVES-1:0]      reset_q, init_q, enable_q, renable_q, rtrim_q, want_rst, drive_rst_q;
  logic [N_DRIVES-1:0]      rises_q, rrises_q, trims_q;  // Enable has just been set; PerformTrim as it was then
  logic [$clog2(CLK_MHZ+1)-1:0] tick_q;
  logic [19:0]              reset_us_q;
  logic                     tick;
  assign control_w  = access.wdata;
  assign rcontrol_w = access.wdata;
  assign trim_w     = access.wdata;
  assign shutdown_w = access.wdata;
  assign wr       = live && access.write && access.there;
  assign wr_set   = wr && !access.extended;
  assign want_rst = wr_set && access.word == W_CONTROL && control_w.reset ? sel : '0;
  assign tick     = tick_q == '0;
  assign wipe        = wipe_q;
  assign all_rst     = rst || wipe_q;
  assign drive_rst   = drive_rst_q;
  for (genvar i = 0; i < N_DRIVES; i++) begin : g_control
    assign control[i] = '{capture: enable_q[i], capture_rises: rises_q[i], read: renable_q[i],
                          read_rises: rrises_q[i], read_trims: trims_q[i]};
  end
  assign trim_first  = trim_q;

  always_ff @(posedge clk) begin
    tick_q <= tick ? ($clog2(CLK_MHZ + 1))'(CLK_MHZ - 1) : tick_q - 1'b1;
    wipe_q <= want_rst != '0 && access.main;
    rises_q  <= '0;
    rrises_q <= '0;
    for (int i = 0; i < N_DRIVES; i++) begin
      if (wr_set && sel[i] && access.word == W_CONTROL) begin
        enable_q[i] <= control_w.data_enable;
        rises_q[i]  <= control_w.data_enable && !enable_q[i];
        if (control_w.initialise) init_q[i] <= 1'b1;
      end
      if (initialise[i]) init_q[i] <= 1'b1;
      if (wr_set && sel[i] && access.word == W_RCONTROL) begin
        rtrim_q[i]   <= rcontrol_w.perform_trim;
        renable_q[i] <= rcontrol_w.enable;
        rrises_q[i]  <= rcontrol_w.enable && !renable_q[i];
        if (!renable_q[i]) trims_q[i] <= rcontrol_w.perform_trim;
      end
      // A drive's own reset leaves a capture that is on: the drive takes part again when it is up.
      if (want_rst[i]) begin
        init_q[i]    <= 1'b0;
        renable_q[i] <= 1'b0;
        enable_q[i]  <= !access.main && progress[i].capturing && enable_q[i];
        rises_q[i]   <= 1'b0;
      end
    end
    if (wr && access.own && access.word == 6'(OWN_TRIM_FIRST_ADDR / 4)) trim_q <= trim_w.trim;
    shutdown <= (wr && access.own && access.word == 6'(OWN_SHUTDOWN_ADDR / 4)) ? shutdown_w.ask[N_DRIVES-1:0] : '0;
    reset_q     <= reset_q | want_rst;
    drive_rst_q <= reset_q | ~(init_q | {N_DRIVES{USE_CONFIGURE}});
    if (want_rst != '0) reset_us_q <= 20'(RESET_US + 1);  // the first tick may be near
    else if (tick && reset_us_q != '0) reset_us_q <= reset_us_q - 20'd1;
    else if (reset_us_q == '0) reset_q <= '0;
    if (rst || wipe_q) trim_q <= TRIM_FIRST;
    if (rst) begin
      tick_q      <= '0;
      wipe_q      <= 1'b0;
      reset_q     <= '0;
      drive_rst_q <= '1;
      init_q      <= '0;
      enable_q    <= '0;
      renable_q   <= '0;
      rtrim_q     <= '0;
      trims_q     <= '0;
      reset_us_q  <= '0;
      shutdown    <= '0;
    end
  end

  // ---- counters that are live
  logic [31:0] time_q, lost_q, format_q;
  logic        was_q, now;
  always_comb begin
    now = 1'b0;
    for (int i = 0; i < N_DRIVES; i++) now |= progress[i].capturing && !progress[i].trimming && !progress[i].closing;
  end
  always_ff @(posedge clk) begin
    was_q <= now;
    if (now && !was_q) time_q <= '0;
    else if (now && tick) time_q <= time_q + 32'd1;
    if (now && !was_q) begin
      lost_q   <= '0;
      format_q <= '0;
    end else begin
      if (stat_drop) lost_q <= lost_q + 32'd1;
      if (stat_format) format_q <= format_q + 32'd1;
    end
    if (rst || wipe_q) begin
      time_q   <= '0;
      lost_q   <= '0;
      format_q <= '0;
    end
  end

  // ---- what lives here: reads
  logic any_pending;
  assign pending      = progress[drive].pending;
  assign read_pending = progress[drive].read_pending;
  always_comb begin
    any_pending = 1'b0;
    for (int i = 0; i < N_DRIVES; i++) any_pending |= progress[i].pending;
  end
  set_control_t      control_r;
  set_status_t       status;
  set_read_control_t rcontrol;
  set_read_status_t  rstatus;
  own_shape_t        shape;
  own_drives_t       drives;
  own_trim_first_t   trim;
  own_buffer_t       buffer_r;
  own_shutdown_t     shutdown_r;
  logic              set, own;
  logic [31:0]       few;
  always_comb begin
    {control_r, status, rcontrol, rstatus, shape, drives, trim, buffer_r, shutdown_r} = '0;
    control_r.reset         = reset_q[drive];
    control_r.initialise    = init_q[drive] | hosts[drive].up;
    control_r.data_enable   = enable_q[drive];
    status.reset          = reset_q[drive];
    status.initialised    = hosts[drive].up;
    status.data_enabled   = progress[drive].capturing || (pending && enable_q[drive]);
    status.completed      = progress[drive].captured && !pending;
    status.pcie_phy_ready = hosts[drive].phy_ready;
    status.pcie_link_up   = hosts[drive].link_up;
    rcontrol.enable       = renable_q[drive];
    rcontrol.perform_trim = rtrim_q[drive];
    rstatus.enabled       = progress[drive].reading || (read_pending && renable_q[drive]);
    rstatus.complete      = progress[drive].read_done && !read_pending;
    shape.drives          = 16'(N_DRIVES);
    shape.width           = 16'(STREAM_W);
    for (int i = 0; i < N_DRIVES; i++) begin
      drives.up[i]   = hosts[i].up;
      drives.dead[i] = hosts[i].dead;
      shutdown_r.down[i]   = hosts[i].shut_down;
      shutdown_r.failed[i] = hosts[i].shutdown_failed;
    end
    trim.trim             = trim_q;
    buffer_r.blocks       = buffer.blocks;
    buffer_r.bad_last     = buffer.bad_last;
    buffer_r.error        = buffer.error;

    // One OR of what the access is for: words that are wide one by one, words of a few bits together.
    set  = access.there && !access.extended;
    few  = '0;
    own  = access.there && access.extended && access.own;
    if (set) begin
      unique case (access.word)
        W_ID:       few = SET_ID_INIT;
        W_CONTROL:  few = control_r;
        W_STATUS:   few = status;
        W_RCONTROL: few = rcontrol;
        W_RSTATUS:  few = rstatus;
        default: ;
      endcase
    end
    if (own) begin
      unique case (access.word)
        6'(OWN_SHAPE_ADDR / 4):      few = shape;
        6'(OWN_DRIVES_ADDR / 4):     few = drives;
        6'(OWN_TRIM_FIRST_ADDR / 4): few = trim;
        6'(OWN_BUFFER_ADDR / 4):     few = buffer_r;
        6'(OWN_SHUTDOWN_ADDR / 4):   few = shutdown_r;
        default: ;
      endcase
    end
    rdata = few;
    for (int i = 0; i < N_DRIVES; i++) begin
      if (set && access.word == W_TOTAL && drive == DW'(i)) rdata |= lanes[i].total;
    end
    if (set && access.word == W_LOST && !pending) rdata |= lost_q;
    if (set && access.word == W_TIME && !pending) rdata |= time_q;
    if (own && access.word == 6'(OWN_MALFORMED_ADDR / 4) && !any_pending) rdata |= format_q;
  end
endmodule
