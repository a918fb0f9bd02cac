// SPDX-License-Identifier: Apache-2.0
// The recorder's registers on AXI4-Lite: the DUNE NvmeStorage map, and beyond it from 0x1000 on (docs/recorder.md).
//
// Addresses, fields, accesses and values after reset are those of regs/db_recorder.rdl, by the package made of it; a
// generated register block takes too much area (docs/decisions.md). Main set (a write goes to all drives, a read is drive
// 0's), a set and an extended set a drive, the recorder's own. Bits with an effect live here; registers that are
// `external` live in db_rec_stats' RAM. wstrb is ignored, as in the original; what is not described reads as zero.
// Latency: read 3 cycles from arvalid to rvalid for what lives here, else until db_rec_stats has time (some 50 cycles).
// One access at a time.
module db_rec_regs
  import db_rec_pkg::*, db_recorder_regs_pkg::*;
#(
    parameter int unsigned N_DRIVES      = 2,
    parameter int unsigned STREAM_W      = 256,
    parameter int unsigned CLK_MHZ       = 250,
    parameter int unsigned RESET_US      = 100_000,   // length of the reset pulse, 1..1000000
    parameter bit          USE_CONFIGURE = 1'b1,      // drives are brought up without Initialise
    parameter bit          TRIM_FIRST    = OWN_TRIM_FIRST_INIT.trim  // value of TrimFirst after reset
) (
    input  logic                   clk,
    input  logic                   rst,

    input  logic                   s_axil_awvalid,
    output logic                   s_axil_awready,
    input  logic [15:0]            s_axil_awaddr,
    input  logic                   s_axil_wvalid,
    output logic                   s_axil_wready,
    input  logic [31:0]            s_axil_wdata,
    input  logic [3:0]             s_axil_wstrb,
    output logic                   s_axil_bvalid,
    input  logic                   s_axil_bready,
    output logic [1:0]             s_axil_bresp,
    input  logic                   s_axil_arvalid,
    output logic                   s_axil_arready,
    input  logic [15:0]            s_axil_araddr,
    output logic                   s_axil_rvalid,
    input  logic                   s_axil_rready,
    output logic [31:0]            s_axil_rdata,
    output logic [1:0]             s_axil_rresp,

    // db_rec_stats' RAM
    output logic                   reg_valid,
    input  logic                   reg_ready,
    output logic                   reg_write,
    output logic                   reg_all,
    output logic [9:0]             reg_addr,
    output logic [31:0]            reg_wdata,
    input  logic [31:0]            reg_rdata,

    // control
    output logic                   wipe,          // pulse: everything is reset
    output logic [N_DRIVES-1:0]    drive_rst,     // pulse of RESET_US, and until Initialise
    output logic [N_DRIVES-1:0]    data_enable,
    output logic [N_DRIVES-1:0]    read_enable,
    output logic [N_DRIVES-1:0]    read_trims,
    output logic                   trim_first,

    // status
    input  logic [N_DRIVES-1:0]    up,
    input  logic [N_DRIVES-1:0]    dead,
    input  logic [N_DRIVES-1:0]    phy_ready,
    input  logic [N_DRIVES-1:0]    link_up,
    input  logic [N_DRIVES*32-1:0] total,
    input  logic [N_DRIVES-1:0]    trimming,
    input  logic [N_DRIVES-1:0]    capturing,
    input  logic [N_DRIVES-1:0]    captured,
    input  logic [N_DRIVES-1:0]    reading,
    input  logic [N_DRIVES-1:0]    read_done,
    input  logic                   stat_drop,
    input  logic                   stat_format,
    input  logic [28:0]            buffer_blocks,
    input  logic                   buffer_bad_last,
    input  logic                   buffer_error
);
  localparam int unsigned DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  if (N_DRIVES < 1 || N_DRIVES > DRIVE_NUM || RESET_US < 1 || RESET_US > 1_000_000) begin : g_bad
    $error("%m: N_DRIVES must be 1..8, RESET_US 1..1000000");
  end
  // The decode below takes a set to be 256 bytes, and the RAM has words of its own where there must be no register.
  localparam int unsigned SET_LG = 8;
  localparam logic [15-SET_LG:0] MAIN_SET = 8'(MAIN_ADDR >> SET_LG), DRIVE_SET = 8'(DRIVE_ADDR >> SET_LG);
  localparam logic [15-SET_LG:0] EXTENDED_SET = 8'(EXTENDED_ADDR >> SET_LG), OWN_SET = 8'(OWN_ADDR >> SET_LG);
  if (DRIVE_STRIDE != 1 << SET_LG || EXTENDED_STRIDE != 1 << SET_LG || MAIN_SET > DRIVE_SET ||
      DRIVE_SET > EXTENDED_SET || EXTENDED_SET > OWN_SET || SET_READABLE[W_RLIMIT] || EXTENDED_READABLE[X_RUN_END] ||
      EXTENDED_HISTOGRAM_ADDR != 0 || EXTENDED_RUN_STRIDE != 8 || X_RUN != 6'h20) begin : g_map
    $error("%m: regs/db_recorder.rdl has changed in a way that needs changes here and in db_rec_stats");
  end

  // ------------------------------------------------------------------ AXI4-Lite: one access at a time
  typedef enum logic [2:0] {IDLE, DECODE, LIVE, RAM, ANSWER} state_e;
  state_e      state_q;
  logic        write_q, main_q, ext_q, own_q, valid_q, bvalid_q, rvalid_q, awready_q, arready_q;
  logic [DW-1:0] d_q;
  logic [5:0]  w_q;
  logic [31:0] wdata_q, rdata_q, live;
  logic [15:0] addr_q;
  logic        in_ram, ram_write;
  logic [N_DRIVES-1:0] sel;  // drives of the access

  assign s_axil_awready = awready_q;
  assign s_axil_wready  = awready_q;
  assign s_axil_arready = arready_q;
  assign s_axil_bvalid  = bvalid_q;
  assign s_axil_rvalid  = rvalid_q;
  assign s_axil_rdata   = rdata_q;
  assign s_axil_bresp   = 2'b00;
  assign s_axil_rresp   = 2'b00;
  assign reg_valid = state_q == RAM;
  assign reg_write = write_q;
  assign reg_all   = main_q;
  assign reg_addr  = {ext_q, 3'(d_q), w_q};
  assign reg_wdata = wdata_q;

  logic [15-SET_LG:0] slot;  // which set
  assign slot = addr_q[15:SET_LG];
  always_comb begin
    in_ram    = ext_q ? EXTENDED_EXTERNAL[w_q] : SET_EXTERNAL[w_q];
    ram_write = ext_q ? EXTENDED_EXTERNAL[w_q] && EXTENDED_WRITABLE[w_q] : SET_EXTERNAL[w_q] && SET_WRITABLE[w_q];
    for (int i = 0; i < int'(N_DRIVES); i++) sel[i] = main_q || d_q == DW'(i);
  end

  always_ff @(posedge clk) begin
    awready_q <= 1'b0;
    arready_q <= 1'b0;
    unique case (state_q)
      IDLE: begin
        write_q <= s_axil_awvalid && s_axil_wvalid;
        if (s_axil_awvalid && s_axil_wvalid) begin
          awready_q <= 1'b1;
          addr_q    <= s_axil_awaddr;
          wdata_q   <= s_axil_wdata;
          state_q   <= DECODE;
        end else if (s_axil_arvalid) begin
          arready_q <= 1'b1;
          addr_q    <= s_axil_araddr;
          state_q   <= DECODE;
        end
      end
      DECODE: begin
        main_q <= slot == MAIN_SET;
        ext_q  <= slot >= EXTENDED_SET;
        own_q  <= slot == OWN_SET;
        d_q    <= slot >= EXTENDED_SET ? DW'(slot - EXTENDED_SET) : slot == MAIN_SET ? '0 : DW'(slot - DRIVE_SET);
        w_q    <= addr_q[SET_LG-1:2];
        // a drive that is there
        valid_q <= slot == MAIN_SET || slot == OWN_SET ||
                   (slot >= DRIVE_SET && slot < DRIVE_SET + 8'(N_DRIVES)) ||
                   (slot >= EXTENDED_SET && slot < EXTENDED_SET + 8'(N_DRIVES));
        state_q <= LIVE;
      end
      LIVE: begin
        rdata_q <= live;
        state_q <= valid_q && !own_q && (write_q ? ram_write : in_ram) ? RAM : ANSWER;
        if (!(valid_q && !own_q && (write_q ? ram_write : in_ram))) begin
          bvalid_q <= write_q;
          rvalid_q <= !write_q;
        end
      end
      RAM:
        if (reg_ready) begin
          rdata_q  <= reg_rdata;
          bvalid_q <= write_q;
          rvalid_q <= !write_q;
          state_q  <= ANSWER;
        end
      default:
        if ((bvalid_q && s_axil_bready) || (rvalid_q && s_axil_rready)) begin
          bvalid_q <= 1'b0;
          rvalid_q <= 1'b0;
          state_q  <= IDLE;
        end
    endcase
    if (rst) begin
      state_q   <= IDLE;
      awready_q <= 1'b0;
      arready_q <= 1'b0;
      bvalid_q  <= 1'b0;
      rvalid_q  <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ what lives here: writes
  set_control_t             control_w;  // what is written, if it is for that register
  set_read_control_t        rcontrol_w;
  own_trim_first_t          trim_w;
  logic                     wr, wr_set, wipe_q, trim_q;
  logic [N_DRIVES-1:0]      reset_q, init_q, enable_q, renable_q, rtrim_q, want_rst, drive_rst_q;
  logic [$clog2(CLK_MHZ+1)-1:0] tick_q;
  logic [19:0]              reset_us_q;
  logic                     tick;
  assign control_w  = wdata_q;
  assign rcontrol_w = wdata_q;
  assign trim_w     = wdata_q;
  assign wr       = state_q == LIVE && write_q && valid_q;
  assign wr_set   = wr && !ext_q;
  assign want_rst = wr_set && w_q == W_CONTROL && control_w.reset ? sel : '0;
  assign tick     = tick_q == '0;
  assign wipe        = wipe_q;
  assign drive_rst   = drive_rst_q;
  assign data_enable = enable_q;
  assign read_enable = renable_q;
  assign read_trims  = rtrim_q;
  assign trim_first  = trim_q;

  always_ff @(posedge clk) begin
    tick_q <= tick ? ($clog2(CLK_MHZ + 1))'(CLK_MHZ - 1) : tick_q - 1'b1;
    wipe_q <= want_rst != '0 && main_q;
    for (int i = 0; i < int'(N_DRIVES); i++) begin
      if (wr_set && sel[i] && w_q == W_CONTROL) begin
        enable_q[i] <= control_w.data_enable;
        if (control_w.initialise) init_q[i] <= 1'b1;
      end
      if (wr_set && sel[i] && w_q == W_RCONTROL) begin
        rtrim_q[i]   <= rcontrol_w.perform_trim;
        renable_q[i] <= rcontrol_w.enable;
      end
      // A drive's own reset leaves a capture that is on: the drive takes part again when it is up.
      if (want_rst[i]) begin
        init_q[i]    <= 1'b0;
        renable_q[i] <= 1'b0;
        enable_q[i]  <= !main_q && capturing[i] && enable_q[i];
      end
    end
    if (wr && own_q && w_q == 6'(OWN_TRIM_FIRST_ADDR / 4)) trim_q <= trim_w.trim;
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
      reset_us_q  <= '0;
    end
  end

  // ------------------------------------------------------------------ counters that are live
  logic [31:0] time_q, lost_q, format_q;
  logic        was_q, now;
  assign now = (capturing & ~trimming) != '0;
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

  // ------------------------------------------------------------------ what lives here: reads
  set_control_t      control;
  set_status_t       status;
  set_read_control_t rcontrol;
  set_read_status_t  rstatus;
  own_shape_t        shape;
  own_drives_t       drives;
  own_trim_first_t   trim;
  own_buffer_t       buffer;
  always_comb begin
    {control, status, rcontrol, rstatus, shape, drives, trim, buffer} = '0;
    control.reset         = reset_q[d_q];
    control.initialise    = init_q[d_q] | up[d_q];
    control.data_enable   = enable_q[d_q];
    status.reset          = reset_q[d_q];
    status.initialised    = up[d_q];
    status.data_enabled   = capturing[d_q];
    status.completed      = captured[d_q];
    status.pcie_phy_ready = phy_ready[d_q];
    status.pcie_link_up   = link_up[d_q];
    rcontrol.enable       = renable_q[d_q];
    rcontrol.perform_trim = rtrim_q[d_q];
    rstatus.enabled       = reading[d_q];
    rstatus.complete      = read_done[d_q];
    shape.drives          = 16'(N_DRIVES);
    shape.width           = 16'(STREAM_W);
    drives.up             = 8'(up);
    drives.dead           = 8'(dead);
    trim.trim             = trim_q;
    buffer.blocks         = buffer_blocks;
    buffer.bad_last       = buffer_bad_last;
    buffer.error          = buffer_error;

    live = '0;
    if (!ext_q) begin
      unique case (w_q)
        W_ID:       live = SET_ID_INIT;
        W_CONTROL:  live = control;
        W_STATUS:   live = status;
        W_TOTAL:    live = total[32'(d_q)*32+:32];
        W_LOST:     live = lost_q;
        W_TIME:     live = time_q;
        W_RCONTROL: live = rcontrol;
        W_RSTATUS:  live = rstatus;
        default: ;
      endcase
    end else if (own_q) begin
      unique case (w_q)
        6'(OWN_SHAPE_ADDR / 4):      live = shape;
        6'(OWN_DRIVES_ADDR / 4):     live = drives;
        6'(OWN_MALFORMED_ADDR / 4):  live = format_q;
        6'(OWN_TRIM_FIRST_ADDR / 4): live = trim;
        6'(OWN_BUFFER_ADDR / 4):     live = buffer;
        default: ;
      endcase
    end
    if (!valid_q) live = '0;
  end
endmodule
