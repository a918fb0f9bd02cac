// SPDX-License-Identifier: Apache-2.0
// Key store: takes keys in, expands them and hands the round keys to those who use them. Nothing can be read back.
//
// A key is written word by word into a staging memory, then loaded into a slot. A load or erase first makes the slot
// invalid, waits until rows that use it have left the AES pipelines (DRAIN), writes zeros over all its round keys, and
// then, for a load, expands the new key. The staging memory is zeros after each load. Reset erases all slots and the
// staging memory; `busy` is high and nothing else is taken meanwhile.
// Time: erase 1 + DRAIN + 64 cycles, load 70 or 90 more for K1, as much for K2, 7 for the IV; reset 64 x KEY_SLOTS +
// 32.
module db_csd_keys
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int KEY_SLOTS = 16,  ///< 2 to 64
  parameter int DRAIN = 64       ///< cycles from the check of a slot to the last use of its key, at most
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic                      s_word_valid,  ///< taken while not busy, dropped else
  input  key_word_t                 s_word,
  input  logic                      s_cmd_valid,
  output logic                      s_cmd_ready,
  input  key_cmd_t                  s_cmd,
  output logic                      busy,
  /// To the operators.
  output key_bus_t                  key_bus,
  output key_slot_t [KEY_SLOTS-1:0] key_slots
);
  if (KEY_SLOTS < 2 || KEY_SLOTS > 64 || DRAIN < 1 || DRAIN > 255) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d), DRAIN 1 to 255 (is %0d)", KEY_SLOTS, DRAIN);
  end
  localparam int SW = $clog2(KEY_SLOTS);

  typedef enum logic [3:0] {
    ST_WIPE_STAGING, ST_WIPE_SLOT, ST_IDLE, ST_WAIT, ST_READ, ST_EXPAND, ST_LAST, ST_IV, ST_VALID
  } state_e;
  state_e state_q;
  logic   all_q;                  // wiping all slots, then idle
  logic   load_q, long_q, ctr_q, xts_q;
  logic   second_q;               // expanding K2
  logic [KEY_SLOT_W-1:0] slot_q;
  logic [7:0] count_q;            // of the state's own
  key_slot_t [KEY_SLOTS-1:0] key_slots_q;

  // ---- staging memory, one cycle to read
  logic        stage_we;
  logic [4:0]  stage_waddr, stage_raddr;
  logic [31:0] stage_wdata, stage_rdata;
  db_ram_sdp #(.WIDTH(32), .DEPTH(32)) i_staging (
    .clk, .we(stage_we), .waddr(stage_waddr), .wdata(stage_wdata), .re(1'b1), .raddr(stage_raddr), .rdata(stage_rdata)
  );
  assign stage_we    = state_q == ST_WIPE_STAGING || (s_word_valid && !busy);
  assign stage_waddr = state_q == ST_WIPE_STAGING ? count_q[4:0] : s_word.addr;
  assign stage_wdata = state_q == ST_WIPE_STAGING ? 32'd0 : s_word.data;

  // ---- expansion, one word a cycle: w_q holds the last eight, the newest in w_q[0]
  logic [31:0] w_q[8];
  logic [31:0] sub_in, sub_out, next_word, old_word;
  logic [7:0]  rcon_q;
  logic [5:0]  word_q;            // number of the word that is made now
  logic [5:0]  word_d;
  logic        turn_q, half_turn_q;  // it goes through the S-box
  logic        from_key_q;        // it is a word of the key itself
  assign word_d    = state_q == ST_EXPAND ? word_q + 6'd1 : 6'd0;
  assign sub_in    = turn_q ? {w_q[0][7:0], w_q[0][31:8]} : w_q[0];
  for (genvar b = 0; b < 4; b++) begin : g_sub
    db_aes_sbox #(.TABLE(0)) i_sbox (.x(sub_in[8*b+:8]), .y(sub_out[8*b+:8]));
  end
  assign old_word  = long_q ? w_q[7] : w_q[3];
  assign next_word = from_key_q ? stage_rdata
                   : old_word ^ (turn_q ? sub_out ^ {24'd0, rcon_q} : half_turn_q ? sub_out : w_q[0]);

  // ---- words to round keys; a round key for each direction
  logic [95:0]  enc_q, dec_q;     // the first three words of the round key that is being made
  logic [127:0] dec_key_q;
  logic [3:0]   round, rounds, dec_round;
  logic         dec_due_q;
  logic [3:0]   dec_stage_q;
  logic         whole;            // this word completes a round key
  key_bus_t     bus_q;
  function automatic logic [3:0] stage_of(input logic [3:0] r, input logic is_long);
    return is_long || r == 4'd0 ? r : r + 4'(AES_SKIPPED);
  endfunction
  assign rounds    = long_q ? 4'(AES_ROUNDS) : 4'(AES_ROUNDS - AES_SKIPPED);
  assign round     = word_q[5:2];
  assign dec_round = rounds - round;
  assign whole     = state_q == ST_EXPAND && word_q[1:0] == 2'd3;

  // what the equivalent inverse cipher adds, a cycle later; its first and last key are as they are
  logic        dec_step_q, dec_plain_q, dec_whole_q;
  logic [31:0] dec_word;
  assign dec_word = dec_plain_q ? w_q[0] : aes_inv_mix(w_q[0]);

  always_comb begin
    unique case (state_q)
      ST_READ:    stage_raddr = {1'b0, second_q, 3'd0};
      ST_EXPAND:  stage_raddr = {1'b0, second_q, word_q[2:0] + 3'd1};
      default: stage_raddr = {2'b10, count_q[2:0]};
    endcase
  end

  assign busy        = state_q != ST_IDLE;
  assign s_cmd_ready = state_q == ST_IDLE;
  assign key_bus     = bus_q;
  assign key_slots   = key_slots_q;

  always_ff @(posedge clk) begin
    count_q   <= count_q + 8'd1;
    bus_q     <= '0;
    dec_due_q <= dec_whole_q && !second_q;
    if (dec_due_q) bus_q <= '{valid: 1'b1, kind: KEY_DEC, slot: slot_q, stage: dec_stage_q, data: dec_key_q};
    unique case (state_q)
      ST_WIPE_SLOT: begin
        bus_q <= '{valid: 1'b1, kind: key_kind_e'(count_q[5:4]), slot: slot_q, stage: count_q[3:0], data: '0};
        if (count_q[5:0] == 6'd63) begin
          count_q <= '0;
          slot_q  <= all_q ? slot_q + 1'b1 : slot_q;
          if (!all_q) state_q <= load_q ? ST_READ : ST_IDLE;
          else if (slot_q == KEY_SLOT_W'(KEY_SLOTS - 1)) state_q <= ST_WIPE_STAGING;
        end
      end
      ST_WIPE_STAGING: if (count_q[4:0] == 5'd31) state_q <= ST_IDLE;
      ST_IDLE: begin
        count_q  <= '0;
        all_q    <= 1'b0;
        slot_q   <= s_cmd.slot;
        load_q   <= s_cmd.load;
        long_q   <= s_cmd.long_key;
        ctr_q    <= s_cmd.ctr;
        xts_q    <= s_cmd.xts;
        second_q <= 1'b0;
        if (s_cmd_valid) begin
          state_q <= ST_WAIT;
          key_slots_q[s_cmd.slot[SW-1:0]].ctr <= 1'b0;
          key_slots_q[s_cmd.slot[SW-1:0]].xts <= 1'b0;
          assert (32'(s_cmd.slot) < KEY_SLOTS);
        end
      end
      ST_WAIT:
        if (count_q == 8'(DRAIN - 1)) begin
          state_q <= ST_WIPE_SLOT;
          count_q <= '0;
        end
      ST_READ: state_q <= ST_EXPAND;
      ST_EXPAND: begin
        if (whole) begin
          bus_q <= '{valid: 1'b1, kind: second_q ? KEY_TWEAK : KEY_ENC, slot: slot_q, stage: stage_of(round, long_q),
                     data: {next_word, enc_q}};
        end
        if (whole && round == rounds) state_q <= ST_LAST;
      end
      ST_LAST: begin  // the last round key of the inverse cipher goes out
        second_q <= 1'b1;
        count_q  <= '0;
        state_q  <= xts_q && !second_q ? ST_READ : ST_IV;
      end
      ST_IV: begin
        if (count_q == 8'd5) begin
          bus_q <= '{valid: ctr_q, kind: KEY_IV, slot: slot_q, stage: '0, data: {w_q[0], w_q[1], w_q[2], w_q[3]}};
          state_q <= ST_VALID;
        end
      end
      ST_VALID: begin
        key_slots_q[slot_q[SW-1:0]] <= '{ctr: ctr_q, xts: xts_q, short_key: !long_q};
        state_q <= ST_WIPE_STAGING;
        count_q <= '0;
      end
      default: state_q <= ST_WIPE_SLOT;
    endcase
    if (rst) begin
      state_q      <= ST_WIPE_SLOT;
      all_q        <= 1'b1;
      load_q       <= 1'b0;
      slot_q       <= '0;
      count_q      <= '0;
      key_slots_q  <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (state_q == ST_READ || state_q == ST_EXPAND) begin
      word_q      <= word_d;
      from_key_q  <= word_d < (long_q ? 6'd8 : 6'd4);
      turn_q      <= long_q ? word_d[2:0] == 3'd0 : word_d[1:0] == 2'd0;
      half_turn_q <= long_q && word_d[2:0] == 3'd4;
    end
    if (state_q == ST_READ) rcon_q <= 8'h01;
    dec_step_q  <= state_q == ST_EXPAND;
    dec_whole_q <= whole;
    dec_plain_q <= round == 4'd0 || round == rounds;
    if (state_q == ST_EXPAND) begin
      if (turn_q && !from_key_q) rcon_q <= aes_xtime(rcon_q);
      enc_q <= {next_word, enc_q[95:32]};
      if (whole) dec_stage_q <= stage_of(dec_round, long_q);
    end
    if (dec_step_q) dec_q <= {dec_word, dec_q[95:32]};
    if (dec_whole_q) dec_key_q <= {dec_word, dec_q};
    if (state_q == ST_EXPAND || state_q == ST_IV) begin
      w_q[0] <= state_q == ST_IV ? stage_rdata : next_word;
      for (int i = 1; i < 8; i++) w_q[i] <= w_q[i-1];
    end
    // nothing of a key is left behind in registers
    if (rst || state_q == ST_VALID) begin
      for (int i = 0; i < 8; i++) w_q[i] <= '0;
      enc_q     <= '0;
      dec_q     <= '0;
      dec_key_q <= '0;
    end
  end
endmodule
