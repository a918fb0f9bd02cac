// SPDX-License-Identifier: Apache-2.0
// First half of bring-up: the drive's configuration space. Steps are step_e of db_host_control_pkg,
// docs/host/theory.md lists them.
//
// Checks that an NVMe controller is there, sizes BAR 0 and puts it at bar_base, finds the PCI Express capability, sets
// payload and request sizes, turns memory space and bus master on and INTx off. A function that answers CRS is asked
// again each millisecond, for RETRY_MS at most. `start` while it runs starts anew.
// Every step is one access; `p_step` is the table of accesses and of what their answers must hold.
module db_host_pci
  import db_pcie_block_pkg::*;
  import db_host_control_pkg::*;
#(
  /// maximum read request size, encoded: 128 << MRRS bytes, 0..5
  parameter int MRRS = 2
) (
  input  logic        clk,
  input  logic        rst,
  /// each millisecond
  input  logic        tick,
  input  logic        start,
  input  logic        stop,
  /// one cycle
  output logic        done,
  /// together with done; FAIL_NONE: good
  output fail_e       fail,
  /// STEP_OFF while idle
  output step_e       step,

  /// a multiple of BAR 0's size
  input  logic [63:0] bar_base,
  /// largest maximum payload size of our port, encoded
  input  logic [2:0]  cfg_mps_cap,
  /// both ends' Device Control
  output logic [2:0]  set_mps,
  output logic [2:0]  set_mrrs,

  output logic        m_acc_valid,
  input  logic        m_acc_ready,
  output acc_t        m_acc,
  input  logic        s_answer_valid,
  input  acc_answer_t s_answer
);
  if (MRRS < 0 || MRRS > 5) begin : g_bad_mrrs
    $error("%m: MRRS must be 0..5, not %0d", MRRS);
  end
  localparam int RETRY_MS = 1000;  // how long CRS is put up with, at most 1023

  typedef enum logic [1:0] {
    ST_ASK, ST_ANSWER, ST_LATER  // later: CRS, until the next tick
  } state_e;
  state_e     state_q;
  step_e      step_q, next;
  logic [7:2] cap_q;     // where the capability in question stands
  logic       bar64_q, ext_tag_q;
  logic [2:0] mps_q;
  logic [5:0] links_q;   // capabilities looked at, so that a ring ends
  logic [9:0] left_q;    // milliseconds

  // ---- table of steps
  logic [11:0] addr;
  logic        wr;
  logic [ 3:0] be;
  logic [31:0] wdata;
  fail_e       bad;      // what the answer says
  always_comb begin : p_step
    addr  = 12'h000;
    wr    = 1'b0;
    be    = 4'hf;
    wdata = '0;
    bad   = FAIL_NONE;
    next  = step_e'(step_q + 6'd1);
    unique case (step_q)
      STEP_VENDOR: if (s_answer.rdata[15:0] == '1) bad = FAIL_NO_ANSWER;
      STEP_CLASS: begin
        addr = 12'h008;
        if (s_answer.rdata[31:8] != 24'h010802) bad = FAIL_CLASS;
      end
      STEP_HEADER: begin
        addr = 12'h00c;
        if (s_answer.rdata[22:16] != '0) bad = FAIL_HEADER;
      end
      STEP_DECODE_OFF: begin  // while the BAR moves
        addr = 12'h004;
        wr   = 1'b1;
        be   = 4'h3;
      end
      STEP_BAR_ONES: begin
        addr  = 12'h010;
        wr    = 1'b1;
        wdata = '1;
      end
      STEP_BAR_SIZE: begin    // memory, 32 or 64 bit, any size
        addr = 12'h010;
        if (s_answer.rdata[1:0] != 2'b00 || s_answer.rdata[31:4] == '0) bad = FAIL_BAR;
        else if (!s_answer.rdata[2] && bar_base[63:32] != '0) bad = FAIL_BAR_PLACE;
      end
      STEP_BAR_LOW: begin
        addr  = 12'h010;
        wr    = 1'b1;
        wdata = bar_base[31:0];
        if (!bar64_q) next = STEP_BAR_CHECK;
      end
      STEP_BAR_HIGH: begin
        addr  = 12'h014;
        wr    = 1'b1;
        wdata = bar_base[63:32];
      end
      STEP_BAR_CHECK: begin   // bits below its size stay 0
        addr = 12'h010;
        if (s_answer.rdata[31:4] != bar_base[31:4]) bad = FAIL_BAR_PLACE;
      end
      STEP_CAP_FIRST: begin
        addr = 12'h034;
        if (s_answer.rdata[7:2] == '0) bad = FAIL_NO_PCIE_CAP;
      end
      STEP_CAP_NEXT: begin
        addr = {4'd0, cap_q, 2'b00};
        if (s_answer.rdata[7:0] != 8'h10) begin
          next = STEP_CAP_NEXT;
          if (s_answer.rdata[15:10] == '0 || links_q == '1) bad = FAIL_NO_PCIE_CAP;
        end
      end
      STEP_DEV_CAP: addr = {4'd0, cap_q, 2'b00} + 12'h004;
      STEP_DEV_CTL: begin     // no relaxed ordering, no snoop off
        addr  = {4'd0, cap_q, 2'b00} + 12'h008;
        wr    = 1'b1;
        be    = 4'h3;
        wdata = {17'd0, 3'(MRRS), 3'd0, ext_tag_q, mps_q, 5'd0};
      end
      default: begin          // STEP_COMMAND: INTx off, bus master, memory space
        addr  = 12'h004;
        wr    = 1'b1;
        be    = 4'h3;
        wdata = 32'h0000_0406;
      end
    endcase
    if (wr) bad = FAIL_NONE;
    if (s_answer.status != ACC_GOOD) bad = acc_fail(s_answer.status);
  end

  logic retry;  // CRS, or what a root port with CRS software visibility makes of it
  assign retry       = s_answer.status == ACC_RETRY ||
                       (step_q == STEP_VENDOR && s_answer.status == ACC_GOOD && s_answer.rdata[15:0] == 16'h0001);

  // The question is put a cycle after the step began, so that the table ends in registers.
  logic ask_q;
  always_ff @(posedge clk) begin
    ask_q <= 1'b1;
    m_acc <= '{op: wr ? ACC_CFG_WR : ACC_CFG_RD, addr: 24'(addr), be: be, wdata: wdata};
    if (rst || start || stop || state_q != ST_ASK || step_q == STEP_OFF) begin
      ask_q <= 1'b0;
      m_acc <= acc_t'('0);
    end
  end
  assign m_acc_valid = state_q == ST_ASK && ask_q;
  assign step        = step_q;
  assign set_mps     = mps_q;
  assign set_mrrs    = 3'(MRRS);

  // ---- one after the other
  always_ff @(posedge clk) begin
    done <= 1'b0;
    fail <= FAIL_NONE;
    if (tick && left_q != '0) left_q <= left_q - 1'b1;
    unique case (state_q)
      ST_ASK: if (m_acc_valid && m_acc_ready) state_q <= ST_ANSWER;
      ST_ANSWER: begin
        if (s_answer_valid) begin
          state_q <= ST_ASK;
          if (retry && left_q != '0) begin
            state_q <= ST_LATER;
          end else if (retry || bad != FAIL_NONE || step_q == STEP_COMMAND) begin
            done   <= 1'b1;
            fail   <= retry ? FAIL_RETRY : bad;
            step_q <= STEP_OFF;
          end else begin
            step_q <= next;
          end
          if (step_q == STEP_BAR_SIZE) bar64_q <= s_answer.rdata[2];
          if (step_q == STEP_CAP_FIRST) cap_q <= s_answer.rdata[7:2];
          if (step_q == STEP_CAP_NEXT) begin
            links_q <= links_q + 1'b1;
            if (next == STEP_CAP_NEXT) cap_q <= s_answer.rdata[15:10];
          end
          if (step_q == STEP_DEV_CAP) begin
            ext_tag_q <= s_answer.rdata[5];
            mps_q     <= (s_answer.rdata[2:0] < cfg_mps_cap) ? s_answer.rdata[2:0] : cfg_mps_cap;
          end
        end
      end
      default: if (tick) state_q <= ST_ASK;
    endcase
    if (start) begin
      state_q <= ST_ASK;
      step_q  <= STEP_VENDOR;
      links_q <= '0;
      left_q  <= 10'(RETRY_MS);
    end
    if (rst || stop) begin
      state_q <= ST_ASK;
      step_q  <= STEP_OFF;
      done    <= 1'b0;
    end
    if (rst) mps_q <= '0;
  end
endmodule
