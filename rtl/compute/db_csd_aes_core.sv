// SPDX-License-Identifier: Apache-2.0
// The part of db_csd_aes that never stalls: makes counters and tweaks, runs the AES pipeline, adds what comes out.
//
// Latency: 16 cycles + 2 with CTR + 14 with SPLIT, for whatever operator. Throughput: one row a cycle.
module db_csd_aes_core
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W = 256,      ///< bits: 128, 256, 512
  parameter bit DIR = 1'b1,        ///< 1: encrypt, 0: decrypt
  parameter bit CTR = 1'b1,        ///< has CTR
  parameter bit XTS = 1'b1,        ///< has XTS
  parameter int KEY_SLOTS = 16,    ///< 2 to 64
  parameter bit ZERO_RULE = 1'b1,  ///< decrypting, 16 bytes of zeros stay zeros
  parameter bit SPLIT = 1'b0       ///< two cycles a round
) (
  input  logic                        clk,
  input  logic                        rst,
  input  key_bus_t                    key_bus,
  input  key_slot_t [KEY_SLOTS-1:0]    key_slots,
  input  logic [127:0]                tweak,   ///< with the first row of a block in XTS
  input  logic                        s_valid,
  input  logic [DATA_W-1:0]           s_data,
  input  row_ctx_t                    s_user,
  output logic                        m_valid,
  output logic [DATA_W-1:0]           m_data
);
  localparam int LANES = DATA_W / 128;
  localparam int LANE_LOG = $clog2(LANES);
  localparam int SLOT_W = $clog2(KEY_SLOTS);
  localparam int PIPE_CYCLES = SPLIT ? 29 : 15;
  localparam bit ENC = DIR || CTR;
  localparam bit DEC = !DIR && XTS;

  typedef struct packed {
    logic              ctr;
    logic              xts;
    logic              turns;  // encrypts, on the way to the host
    logic              err;
    logic              is_short;
    logic [SLOT_W-1:0] slot;
    logic [LANES-1:0]  zero;   // blocks that stay zeros
  } ctl_t;

  row_ctx_t row;
  logic     row_clk;
  assign row = s_user;
  db_clock_gate i_row_clk (.clk, .awake(rst || key_bus.valid || s_valid), .m_clk(row_clk));

  // ---- cycle 0: tweaks of the row's blocks, block number within the namespace
  ctl_t              ctl, ctl0_q;
  logic              valid0_q;
  logic [DATA_W-1:0] data0_q, tweaks, tweaks0_q;
  always_comb begin
    ctl          = '0;
    ctl.ctr      = CTR && row.cmd.op == OP_AES_CTR;
    ctl.xts      = XTS && row.cmd.op == OP_AES_XTS;
    ctl.turns    = DEC && CTR && row.cmd.dir;
    ctl.err      = row.key_err;
    ctl.slot     = row.cmd.key_slot[SLOT_W-1:0];
    ctl.is_short = key_slots[ctl.slot].short_key;
    for (int l = 0; l < LANES; l++) ctl.zero[l] = ZERO_RULE && !DIR && !row.cmd.of_program && s_data[128*l+:128] == '0;
  end
  always_ff @(posedge row_clk) begin
    valid0_q <= s_valid && !rst;
    ctl0_q   <= ctl;
    data0_q  <= s_data;
  end
  if (XTS) begin : g_tweak
    logic [127:0] base, next_q;  // tweak of the row's first block, of the next row's
    assign base = row.lba_first ? tweak : next_q;
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      assign tweaks[128*l+:128] = xts_alpha_n(base, l);
    end
    always_ff @(posedge row_clk) begin
      tweaks0_q <= tweaks;
      if (s_valid && ctl.xts) next_q <= xts_alpha_n(base, LANES);
    end
  end else begin : g_no_tweak
    assign tweaks = '0;
    always_comb tweaks0_q = tweaks;
    logic unused;
    assign unused = |tweak;
  end

  // ---- with CTR cycles 1 and 2: IV + block number in two steps of a carry chain each
  ctl_t              ctl2;
  logic              valid2;
  logic [DATA_W-1:0] data2, tweaks2, into;
  if (CTR) begin : g_ctr
    localparam int PAIR_W = $bits(ctl_t) + 2 * DATA_W;
    logic [127:0]     iv_mem_q[1 << SLOT_W];
    logic [127:0]     iv, iv0_q;    // the IV as a number: its first byte is the most significant
    logic [71:0]      index0_q;     // of the row's first block
    logic [7:0]       ns0_q, ns1_q; // NSID - 1, added to the first byte: no two namespaces share a key stream
    logic [63:0]      iv_hi1_q;
    logic [7:0]       index_hi1_q;
    logic [64:0]      lo1_q[LANES];
    logic [127:0]     counter2_q[LANES];
    logic             valid1_q, valid2_q;
    logic [PAIR_W-1:0] pair1_q, pair2_q;
    always_ff @(posedge row_clk)
      if (key_bus.valid && key_bus.kind == KEY_IV) iv_mem_q[key_bus.slot[SLOT_W-1:0]] <= key_bus.data;
    for (genvar i = 0; i < 16; i++) begin : g_iv
      assign iv[8*i+:8] = iv_mem_q[ctl.slot][8*(15-i)+:8];
    end
    logic [71:0] lba_index;
    always_comb begin
      unique case (row.cmd.lbads)
        5'd9:    lba_index = {3'd0, row.cmd.lba, 5'd0};
        5'd10:   lba_index = {2'd0, row.cmd.lba, 6'd0};
        5'd11:   lba_index = {1'd0, row.cmd.lba, 7'd0};
        default: lba_index = {row.cmd.lba, 8'd0};
      endcase
    end
    always_ff @(posedge row_clk) begin
      iv0_q       <= iv;
      index0_q    <= lba_index | (72'(row.row) << LANE_LOG);
      ns0_q       <= row.cmd.of_program ? 8'd0 : row.cmd.nsid[7:0] - 8'd1;
      ns1_q       <= ns0_q;
      valid1_q    <= valid0_q && !rst;
      pair1_q     <= {ctl0_q, data0_q, tweaks0_q};
      iv_hi1_q    <= iv0_q[127:64];
      index_hi1_q <= index0_q[71:64];
      valid2_q    <= valid1_q && !rst;
      pair2_q     <= pair1_q;
      for (int l = 0; l < LANES; l++) begin
        lo1_q[l]      <= 65'(iv0_q[63:0]) + 65'(index0_q[63:0] | 64'(l));
        counter2_q[l] <= {iv_hi1_q + {ns1_q, 48'd0, index_hi1_q} + 64'(lo1_q[l][64]), lo1_q[l][63:0]};
      end
    end
    assign valid2 = valid2_q;
    assign {ctl2, data2, tweaks2} = pair2_q;
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      logic [127:0] counter;
      for (genvar i = 0; i < 16; i++) begin : g_byte
        assign counter[8*i+:8] = counter2_q[l][8*(15-i)+:8];
      end
      assign into[128*l+:128] = ctl2.xts ? data2[128*l+:128] ^ tweaks2[128*l+:128] : counter;
    end
  end else begin : g_no_ctr
    assign valid2  = valid0_q;
    assign ctl2    = ctl0_q;
    assign data2   = data0_q;
    assign tweaks2 = tweaks0_q;
    assign into    = data2 ^ tweaks2;
  end

  // ---- AES, and beside it what its result is added to
  ctl_t              ctl_out;
  logic [DATA_W-1:0] aside, aside_out, result;
  logic [PIPE_CYCLES-1:0] inside_q;  // rows, the newest on the right: of those of other operators AES knows nothing
  logic              ciphers, pipe_valid, pipe_clk;
  assign aside   = ctl2.xts ? tweaks2 : data2;
  assign ciphers = valid2 && (ctl2.ctr || ctl2.xts);
  assign m_valid = inside_q[PIPE_CYCLES-1];
  always_ff @(posedge row_clk) begin
    inside_q <= rst ? '0 : {inside_q[PIPE_CYCLES-2:0], valid2};
    assert (rst || pipe_valid == (m_valid && (ctl_out.ctr || ctl_out.xts)));
  end
  db_clock_gate i_pipe_clk (.clk, .awake(rst || key_bus.valid || ciphers), .m_clk(pipe_clk));
  db_aes_pipe #(.LANES(LANES), .ENC(ENC), .DEC(DEC), .KEY_SLOTS(KEY_SLOTS), .SPLIT(SPLIT)) i_pipe (
    .clk(pipe_clk), .rst, .key_bus, .s_valid(ciphers), .s_dec(DEC && ctl2.xts && !ctl2.turns), .s_short(ctl2.is_short),
    .s_slot(ctl2.slot), .s_data(into), .m_valid(pipe_valid), .m_data(result)
  );
  db_csd_delay #(.WIDTH($bits(ctl_t) + DATA_W), .CYCLES(PIPE_CYCLES)) i_aside (
    .clk(row_clk), .rst, .s_data({ctl2, aside}), .m_data({ctl_out, aside_out})
  );
  for (genvar l = 0; l < LANES; l++) begin : g_out
    logic zero, cipher;
    assign cipher = ctl_out.ctr || ctl_out.xts;
    assign zero   = (ctl_out.zero[l] && cipher) || ctl_out.err;
    assign m_data[128*l+:128] = zero ? '0 : aside_out[128*l+:128] ^ (cipher ? result[128*l+:128] : 128'd0);
  end
endmodule
