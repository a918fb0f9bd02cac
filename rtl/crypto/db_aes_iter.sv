// SPDX-License-Identifier: Apache-2.0
// AES encryption of one block at a time, a round a cycle: small, for the tweaks of XTS.
//
// Latency: 17 cycles from request to result, 13 with a 128-bit key. Throughput: a block every 15 cycles (11) while
// results are taken at once. Round keys (K2) come in by key_bus and lie in block RAM.
module db_aes_iter
  import db_aes_pkg::*;
#(
  parameter int KEY_SLOTS = 16,  // 2 to 64
  parameter int USER_W = 1       // bits that travel with a request, at least 1
) (
  input  logic                         clk,
  input  logic                         rst,
  input  key_bus_t                     key_bus,
  input  logic                         s_valid,
  output logic                         s_ready,
  input  logic                         s_short,  // the slot's key has 128 bits
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [127:0]                 s_data,
  input  logic [USER_W-1:0]            s_user,
  output logic                         m_valid,
  input  logic                         m_ready,
  output logic [127:0]                 m_data,
  output logic [USER_W-1:0]            m_user
);
  localparam int SLOT_W = $clog2(KEY_SLOTS);
  if (KEY_SLOTS < 2 || KEY_SLOTS > 64) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d)", KEY_SLOTS);
  end

  logic              busy_q;    // round_q is being made
  logic [3:0]        round_q;   // its key is at the RAM's output
  logic              short_q;
  logic [SLOT_W-1:0] slot_q;
  logic [127:0]      state_q;
  logic [USER_W-1:0] user_q;
  logic              m_valid_q;
  logic [127:0]      m_data_q;
  logic [USER_W-1:0] m_user_q;

  logic         take, last, finish, step;
  logic [3:0]   next_round;
  logic [127:0] key, sub, mixed;

  assign last       = round_q == 4'(AES_ROUNDS);
  assign step       = !last || !m_valid_q || m_ready;
  assign finish     = busy_q && last && step;
  assign s_ready    = !busy_q || (last && !m_valid_q);
  assign take       = s_valid && s_ready;
  assign next_round = round_q == 4'd0 && short_q ? 4'(AES_SKIPPED + 1) : round_q + 4'd1;

  db_ram_sdp #(.WIDTH(128), .DEPTH(16 << SLOT_W)) i_keys (
    .clk,
    .we(key_bus.valid && key_bus.kind == KEY_TWEAK), .waddr({key_bus.slot[SLOT_W-1:0], key_bus.stage}),
    .wdata(key_bus.data),
    .re(take || (busy_q && !last)), .raddr(take ? {s_slot, 4'd0} : {slot_q, next_round}), .rdata(key)
  );
  db_aes_sub #(.ENC(1'b1), .DEC(1'b0)) i_sub (.dec(1'b0), .x(state_q), .y(sub));
  db_aes_mix #(.ENC(1'b1), .DEC(1'b0)) i_mix (.dec(1'b0), .last, .x(sub), .key, .y(mixed));

  always_ff @(posedge clk) begin
    if (m_ready) m_valid_q <= 1'b0;
    if (busy_q) begin
      if (!last) begin
        round_q <= next_round;
        state_q <= round_q == 4'd0 ? state_q ^ key : mixed;
      end
      if (finish) begin
        m_valid_q <= 1'b1;
        m_data_q  <= mixed;
        m_user_q  <= user_q;
        busy_q    <= 1'b0;
      end
    end
    if (take) begin
      busy_q  <= 1'b1;
      round_q <= '0;
      short_q <= s_short;
      slot_q  <= s_slot;
      state_q <= s_data;
      user_q  <= s_user;
    end
    if (rst) begin
      busy_q    <= 1'b0;
      m_valid_q <= 1'b0;
    end
  end

  assign m_valid = m_valid_q;
  assign m_data  = m_data_q;
  assign m_user  = m_user_q;
endmodule
