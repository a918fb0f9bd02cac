// SPDX-License-Identifier: Apache-2.0
// Controller registers of VFs that a host can write, in RAM: CC, AQA, ASQ, ACQ; and CSTS, which the firmware says (NVMe Base
// 2.0, 3.1.3). What is constant db_ssd_regs answers for all functions. A VF has no interrupt mask, as it has no INTx, and
// cannot reset the subsystem.
//
// Why RAM: 16 VFs would have 2,500 registers. Eight words a VF, of which six are used, read by the host's accesses and,
// when there is none, by the firmware. flr_rst, and rst for all, clear the words of a VF, a cycle each, before anything else.
// CC.EN going from 1 to 0 clears CC.
// Latency: as db_ssd_regs: a read is answered 2 cycles after it was taken; ready again 3 cycles after, 7 cycles later for
// each VF that is cleared. The firmware's look is answered a cycle later, 2 beside an access.
module db_ssd_vf_regs
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_VF = 1  ///< 1..16
) (
  input  logic               clk,
  input  logic               rst,
  input  logic [NUM_VF-1:0]  flr_rst,      ///< pulse: clear the registers of a VF
  /// Accesses of all functions, from db_ssd_bar; reads of others are answered with zeros.
  input  logic               s_reg_valid,
  output logic               s_reg_ready,
  input  reg_access_t        s_reg,
  output logic               s_reg_rvalid,
  output logic [31:0]        s_reg_rdata,
  input  csts_t [NUM_VF-1:0] csts,
  output logic [NUM_VF-1:0]  cc_en,
  output logic [NUM_VF-1:0]  cc_written,   ///< pulse
  /// The firmware's look, held until it is answered by a pulse.
  input  logic               look_valid,
  input  vf_look_t           look,
  output logic               look_answer,
  output logic [31:0]        look_data
);
  localparam int WORDS = 6;
  localparam int CC = 0, AQA = 1, ASQ = 2, ACQ = 4;           // places of the words (vf_look_t)
  localparam int DEPTH = 8 * NUM_VF, AW = $clog2(DEPTH);
  localparam logic [6:0] ADDR_CC = 7'h14, ADDR_CSTS = 7'h1c, ADDR_AQA = 7'h24;
  localparam logic [WORDS-1:0][31:0] WRITABLE =
      {32'hffff_ffff, 32'hffff_f000, 32'hffff_ffff, 32'hffff_f000, 32'h0fff_0fff, 32'h00ff_fff1};

  if (NUM_VF < 1 || NUM_VF > 16) begin : g_bad
    $error("%m: NUM_VF must be 1..16 (is %0d)", NUM_VF);
  end

  typedef enum logic [1:0] {ST_IDLE, ST_ACCESS, ST_SETTLE} state_e;
  state_e             state_q;
  logic [NUM_VF-1:0]  forget_q;              // to be cleared
  logic [3:0]         forget, forget_vf_q, vf, vf_q;
  logic               forgetting_q, wr_q, mine_q, csts_q, en_fell_q, write, known, calm;
  logic [2:0]         forget_word_q, word_q, word;
  logic [3:0]         be_q;
  logic [31:0]        wdata_q, old, merged, enable;
  logic [15:0]        en_q;
  logic [PLACE_W-1:0] place;

  // ---- memory
  logic          we, take;
  logic [AW-1:0] waddr;
  logic [31:0]   data;
  assign look_data = old;
  assign take      = look_valid && !look_answer && calm && !(state_q == ST_IDLE && s_reg_valid);
  db_ram_sdp #(.WIDTH(32), .DEPTH(DEPTH), .BLOCK(1'b1)) i_ram (
    .clk, .we, .waddr, .wdata(data), .re(1'b1),
    .raddr(take ? AW'({4'(look.place - 1'b1), look.word}) : AW'({vf, word})), .rdata(old));

  // ---- the access
  assign place = fn_place(s_reg.fn);
  assign vf    = 4'(place - 1'b1);
  always_comb begin
    known = 1'b1;
    unique case (s_reg.addr[6:0] & 7'h7c)
      ADDR_CC:  word = 3'(CC);
      ADDR_AQA: word = 3'(AQA);
      7'h28:    word = 3'(ASQ);
      7'h2c:    word = 3'(ASQ + 1);
      7'h30:    word = 3'(ACQ);
      7'h34:    word = 3'(ACQ + 1);
      default: begin
        word  = 3'(CC);
        known = 1'b0;
      end
    endcase
    forget = '0;
    for (int i = NUM_VF - 1; i >= 0; i--) if (forget_q[i]) forget = 4'(i);
  end
  assign calm        = forget_q == '0 && !forgetting_q;
  assign s_reg_ready = state_q == ST_IDLE && calm;
  assign enable      = {{8{be_q[3]}}, {8{be_q[2]}}, {8{be_q[1]}}, {8{be_q[0]}}} & WRITABLE[word_q];
  assign merged      = (wdata_q & enable) | (old & ~enable);
  assign write       = state_q == ST_ACCESS && wr_q && mine_q && !csts_q;
  assign data        = write ? merged : '0;
  assign we          = write || en_fell_q || forgetting_q;
  assign waddr       = forgetting_q ? AW'({forget_vf_q, forget_word_q}) : AW'({vf_q, en_fell_q ? 3'(CC) : word_q});
  assign cc_en = en_q[NUM_VF-1:0];

  always_ff @(posedge clk) begin
    s_reg_rvalid <= 1'b0;
    cc_written   <= '0;
    unique case (state_q)
      ST_IDLE: begin
        vf_q    <= vf;
        wr_q    <= s_reg.wr;
        word_q  <= word;
        csts_q  <= (s_reg.addr[6:0] & 7'h7c) == ADDR_CSTS;
        mine_q  <= place != '0 && place <= PLACE_W'(NUM_VF) && s_reg.addr[11:7] == '0 &&
                   (known || (s_reg.addr[6:0] & 7'h7c) == ADDR_CSTS);
        be_q    <= s_reg.be;
        wdata_q <= s_reg.wdata;
        if (s_reg_valid && s_reg_ready) state_q <= ST_ACCESS;
        if (forget_q != '0 && !forgetting_q) begin
          forgetting_q  <= 1'b1;
          forget_vf_q   <= forget;
          forget_word_q <= '0;
          en_q[forget]  <= 1'b0;
        end
      end
      ST_ACCESS: begin
        s_reg_rvalid <= !wr_q;
        s_reg_rdata  <= '0;
        if (mine_q) s_reg_rdata <= csts_q ? 32'({csts[vf_q].shst, csts[vf_q].cfs, csts[vf_q].rdy}) : old;
        en_fell_q <= write && word_q == 3'(CC) && en_q[vf_q] && !merged[0];
        if (write && word_q == 3'(CC)) begin
          en_q[vf_q] <= merged[0];
          for (int i = 0; i < NUM_VF; i++) cc_written[i] <= vf_q == 4'(i);
        end
        state_q <= ST_SETTLE;
      end
      default: begin  // ST_SETTLE
        en_fell_q <= 1'b0;
        state_q   <= ST_IDLE;
      end
    endcase
    if (forgetting_q) begin
      forget_word_q <= forget_word_q + 1'b1;
      if (forget_word_q == 3'(WORDS - 1)) forgetting_q <= 1'b0;
    end
    forget_q    <= forget_q | flr_rst;
    if (state_q == ST_IDLE && !forgetting_q) forget_q <= (forget_q & (forget_q - 1'b1)) | flr_rst;
    look_answer <= take;
    if (rst) begin
      state_q      <= ST_IDLE;
      forget_q     <= '1;
      en_q         <= '0;
      en_fell_q    <= 1'b0;
      forgetting_q <= 1'b0;
      look_answer  <= 1'b0;
      s_reg_rvalid <= 1'b0;
      cc_written   <= '0;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, s_reg.addr[15:12], csts};
endmodule
