// SPDX-License-Identifier: Apache-2.0
// AXI4-Lite of the recorder: one access at a time, decoded, to db_rec_regs or to the words of db_rec_control.
//
// wstrb is ignored, as in DUNE's core. A write is taken when address and data are both there. A write that sets
// DataEnable or ReadControl.Enable first has the chunk kept as it stands, so what is written later is the next one's.
// What counts reads as 0 from Enable on, also if the capture or read cannot begin yet.
// Latency: read 3 cycles from arvalid to rvalid for what lives in db_rec_regs, else until db_rec_control has time
// (some 50 cycles).
module db_rec_axil
  import db_rec_pkg::*, db_recorder_regs_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic        clk,
  input  logic        rst,
  input  axil_req_t   axil_req,
  output axil_rsp_t   axil_rsp,

  /// db_rec_regs: access is as it should be while `live`; a write takes effect then, a read is answered in the cycle.
  output logic        live,
  output access_t     access,
  input  logic [31:0] live_rdata,
  input  logic        live_pending,       ///< of the drive: its capture has not begun
  input  logic        live_read_pending,

  /// db_rec_control
  output logic        reg_valid,
  input  logic        reg_ready,
  output logic        reg_write,
  output logic        reg_latch,  ///< not a word: keep the chunk, of a read if the word is ReadControl
  output logic        reg_all,
  output logic [9:0]  reg_addr,
  output logic [31:0] reg_wdata,
  input  logic [31:0] reg_rdata
);
  localparam int DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  if (N_DRIVES < 1 || N_DRIVES > DRIVE_NUM) begin : g_bad
    $error("%m: N_DRIVES must be 1..8 (is %0d)", N_DRIVES);
  end
  // The decode below takes a set to be 256 bytes, and the RAM has words of its own where there must be no register.
  localparam int SET_LOG2 = 8;
  localparam logic [15-SET_LOG2:0] MAIN_SET = 8'(MAIN_ADDR >> SET_LOG2), DRIVE_SET = 8'(DRIVE_ADDR >> SET_LOG2);
  localparam logic [15-SET_LOG2:0] EXTENDED_SET = 8'(EXTENDED_ADDR >> SET_LOG2), OWN_SET = 8'(OWN_ADDR >> SET_LOG2);
  if (DRIVE_STRIDE != 1 << SET_LOG2 || EXTENDED_STRIDE != 1 << SET_LOG2 || MAIN_SET > DRIVE_SET ||
      DRIVE_SET > EXTENDED_SET || EXTENDED_SET > OWN_SET || SET_READABLE[W_RFIRST:W_RLIMIT] != '0 ||
      EXTENDED_READABLE[X_RUN_END] ||
      EXTENDED_HISTOGRAM_ADDR != 0 || EXTENDED_RUN_STRIDE != 8 || X_RUN != 6'h20) begin : g_map
    $error("%m: regs/db_recorder.rdl has changed in a way that needs changes here and in db_rec_counters");
  end

  typedef enum logic [2:0] {ST_IDLE, ST_DECODE, ST_LATCH, ST_LIVE, ST_RAM, ST_ANSWER} state_e;
  state_e        state_q;
  logic          write_q, main_q, extended_q, own_q, there_q, bvalid_q, rvalid_q, awready_q, arready_q;
  logic          hide_q;           // what counts is still the last capture's, or read's
  logic [DW-1:0] drive_q;
  logic [5:0]    word_q;
  logic [31:0]   wdata_q, rdata_q;
  logic [15:0]   addr_q;
  logic          in_ram, ram_write, to_ram;

  assign axil_rsp = '{awready: awready_q, wready: awready_q, bvalid: bvalid_q, arready: arready_q, rvalid: rvalid_q,
                      rdata: rdata_q};
  assign live     = state_q == ST_LIVE;
  assign access   = '{there: there_q, write: write_q, main: main_q, extended: extended_q, own: own_q,
                      drive: 3'(drive_q), word: word_q, wdata: wdata_q};
  assign reg_valid = state_q == ST_RAM || (state_q == ST_LATCH && there_q);
  assign reg_write = write_q;
  assign reg_latch = state_q == ST_LATCH;
  assign reg_all   = main_q;
  assign reg_addr  = {extended_q, 3'(drive_q), word_q};
  assign reg_wdata = wdata_q;

  logic [15-SET_LOG2:0] set;
  set_control_t         control_w;
  set_read_control_t    rcontrol_w;
  logic                 enables, counts, counts_read;
  assign set        = addr_q[15:SET_LOG2];
  assign control_w  = wdata_q;
  assign rcontrol_w = wdata_q;
  assign enables    = write_q && set < EXTENDED_SET && ((addr_q[SET_LOG2-1:2] == W_CONTROL && control_w.data_enable) ||
                                                        (addr_q[SET_LOG2-1:2] == W_RCONTROL && rcontrol_w.enable));
  assign counts      = extended_q ? word_q != X_BADREAD : word_q inside {W_ERROR, W_NUM, W_PEAK};
  assign counts_read = !extended_q && word_q inside {W_RERROR, W_RPROC, W_RDONE};
  always_comb begin
    in_ram    = extended_q ? EXTENDED_EXTERNAL[word_q] : SET_EXTERNAL[word_q];
    ram_write = extended_q ? EXTENDED_EXTERNAL[word_q] && EXTENDED_WRITABLE[word_q] :
                             SET_EXTERNAL[word_q] && SET_WRITABLE[word_q];
    to_ram    = there_q && !own_q && (write_q ? ram_write : in_ram);
  end

  always_ff @(posedge clk) begin
    awready_q <= 1'b0;
    arready_q <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        write_q <= axil_req.awvalid && axil_req.wvalid;
        if (axil_req.awvalid && axil_req.wvalid) begin
          awready_q <= 1'b1;
          addr_q    <= axil_req.awaddr;
          wdata_q   <= axil_req.wdata;
          state_q   <= ST_DECODE;
        end else if (axil_req.arvalid) begin
          arready_q <= 1'b1;
          addr_q    <= axil_req.araddr;
          state_q   <= ST_DECODE;
        end
      end
      ST_DECODE: begin
        main_q     <= set == MAIN_SET;
        extended_q <= set >= EXTENDED_SET;
        own_q      <= set == OWN_SET;
        drive_q    <= set >= EXTENDED_SET ? DW'(set - EXTENDED_SET) : set == MAIN_SET ? '0 : DW'(set - DRIVE_SET);
        word_q     <= addr_q[SET_LOG2-1:2];
        // a drive that is there
        there_q <= set == MAIN_SET || set == OWN_SET ||
                   (set >= DRIVE_SET && set < DRIVE_SET + 8'(N_DRIVES)) ||
                   (set >= EXTENDED_SET && set < EXTENDED_SET + 8'(N_DRIVES));
        state_q <= enables ? ST_LATCH : ST_LIVE;
      end
      ST_LATCH: if (reg_ready || !there_q) state_q <= ST_LIVE;
      ST_LIVE: begin
        rdata_q <= live_rdata;
        hide_q  <= (counts && live_pending) || (counts_read && live_read_pending);
        state_q <= to_ram ? ST_RAM : ST_ANSWER;
        if (!to_ram) begin
          bvalid_q <= write_q;
          rvalid_q <= !write_q;
        end
      end
      ST_RAM:
        if (reg_ready) begin
          rdata_q  <= hide_q ? '0 : reg_rdata;
          bvalid_q <= write_q;
          rvalid_q <= !write_q;
          state_q  <= ST_ANSWER;
        end
      default:
        if ((bvalid_q && axil_req.bready) || (rvalid_q && axil_req.rready)) begin
          bvalid_q <= 1'b0;
          rvalid_q <= 1'b0;
          state_q  <= ST_IDLE;
        end
    endcase
    if (rst) begin
      state_q   <= ST_IDLE;
      awready_q <= 1'b0;
      arready_q <= 1'b0;
      bvalid_q  <= 1'b0;
      rvalid_q  <= 1'b0;
    end
  end
endmodule
