// SPDX-License-Identifier: Apache-2.0
// AES (FIPS-197) on LANES blocks a cycle, one key slot a cycle: another key every cycle costs nothing.
//
// Every round reads its round key from its own small RAM, by the slot that travels with the row; the lanes of a row
// share the key. A 128-bit key leaves out rounds 1 to 4, so both sizes have the same latency. With ENC and DEC the
// direction is chosen row by row too. Nothing stalls: what goes in comes out LATENCY cycles later. Constant time.
// Latency: 15 cycles, with SPLIT 29. Throughput: LANES blocks a cycle. Round keys come in by key_bus only.
module db_aes_pipe
  import db_aes_pkg::*;
#(
  parameter int LANES = 2,       ///< blocks a cycle, at least 1
  parameter bit ENC = 1'b1,      ///< can encrypt
  parameter bit DEC = 1'b0,      ///< can decrypt
  parameter int KEY_SLOTS = 16,  ///< 2 to 64
  parameter bit SPLIT = 1'b0     ///< registers in the middle of each round too
) (
  input  logic                         clk,
  input  logic                         rst,
  input  key_bus_t                     key_bus,
  input  logic                         s_valid,
  input  logic                         s_dec,    ///< decrypt; with ENC and DEC only
  input  logic                         s_short,  ///< the slot's key has 128 bits
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [128*LANES-1:0]         s_data,   ///< lane l in bits 128l+127:128l
  output logic                         m_valid,
  output logic [128*LANES-1:0]         m_data
);
  localparam int SLOT_W = $clog2(KEY_SLOTS);
  localparam int ADDR_W = SLOT_W + (ENC && DEC ? 1 : 0);
  typedef struct packed {
    logic              is_short;
    logic              dec;
    logic [SLOT_W-1:0] slot;
  } tag_t;

  if (KEY_SLOTS < 2 || KEY_SLOTS > 64 || LANES < 1) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d), LANES at least 1 (is %0d)", KEY_SLOTS, LANES);
  end

  logic bus_dec;
  assign bus_dec = key_bus.kind == KEY_DEC;

  // Index r: what goes into round r + 1; index 0 comes after the first key.
  logic                 valid_q[AES_ROUNDS+1];
  tag_t                 tag_q[AES_ROUNDS+1];
  logic [128*LANES-1:0] state_q[AES_ROUNDS+1];

  for (genvar r = 0; r <= AES_ROUNDS; r++) begin : g_round
    // ---- round keys of this stage
    logic [127:0]      key_mem_q[1 << ADDR_W];
    logic [127:0]      key;
    logic [ADDR_W-1:0] waddr, raddr;
    logic              mine;
    tag_t              tag;       // with the row that meets the key
    assign mine = key_bus.valid && key_bus.stage == 4'(r) && ((ENC && key_bus.kind == KEY_ENC) || (DEC && bus_dec));
    if (ENC && DEC) begin : g_addr
      assign waddr = {bus_dec, key_bus.slot[SLOT_W-1:0]};
      assign raddr = {tag.dec, tag.slot};
    end else begin : g_addr
      assign waddr = key_bus.slot[SLOT_W-1:0];
      assign raddr = tag.slot;
    end
    always_ff @(posedge clk) if (mine) key_mem_q[waddr] <= key_bus.data;
    assign key = key_mem_q[raddr];

    if (r == 0) begin : g_first
      assign tag = '{is_short: s_short, dec: s_dec && DEC, slot: s_slot};
      always_ff @(posedge clk) begin
        valid_q[0] <= s_valid && !rst;
        tag_q[0]   <= tag;
        state_q[0] <= s_data ^ {LANES{key}};
      end
    end else begin : g_rest
      logic                 half_valid;
      logic [128*LANES-1:0] sub, half, mixed, around;
      if (SPLIT) begin : g_split
        logic                 half_valid_q;
        tag_t                 half_tag_q;
        logic [128*LANES-1:0] half_q;
        // a round left out keeps the block as it is
        always_ff @(posedge clk) begin
          half_valid_q <= valid_q[r-1] && !rst;
          half_tag_q   <= tag_q[r-1];
          half_q       <= r <= AES_SKIPPED && tag_q[r-1].is_short ? state_q[r-1] : sub;
        end
        assign half_valid = half_valid_q;
        assign tag        = half_tag_q;
        assign half       = half_q;
        assign around     = half_q;
      end else begin : g_whole
        assign half_valid = valid_q[r-1];
        assign tag        = tag_q[r-1];
        assign half       = sub;
        assign around     = state_q[r-1];
      end
      for (genvar l = 0; l < LANES; l++) begin : g_lane
        db_aes_sub #(.ENC(ENC), .DEC(DEC)) i_sub (
          .dec(tag_q[r-1].dec), .x(state_q[r-1][128*l+:128]), .y(sub[128*l+:128])
        );
        db_aes_mix #(.ENC(ENC), .DEC(DEC)) i_mix (
          .dec(tag.dec), .last(r == AES_ROUNDS), .x(half[128*l+:128]), .key, .y(mixed[128*l+:128])
        );
      end
      always_ff @(posedge clk) begin
        valid_q[r] <= half_valid && !rst;
        tag_q[r]   <= tag;
        state_q[r] <= r <= AES_SKIPPED && tag.is_short ? around : mixed;
      end
    end
  end

  assign m_valid = valid_q[AES_ROUNDS];
  assign m_data  = state_q[AES_ROUNDS];
endmodule
