// SPDX-License-Identifier: Apache-2.0
// The compression function of SHA-256 (FIPS 180-4, 6.2.2) and the hash value that it changes: a round a cycle.
//
// Latency: the hash value behind a block 51 cycles after its last word. Throughput: a block of 64 bytes in 65 cycles.
module db_sha256_compress (
  input  logic         clk,
  input  logic         rst,         ///< the hash value is that of a message's begin
  /// Between blocks: another hash value, word i of it in bits 32i+31:32i.
  input  logic         s_load,
  input  logic [255:0] s_state,
  /// 16 words of a block, as numbers; s_final, of the whole block: the next one is of another message.
  input  logic         s_valid,
  output logic         s_ready,
  input  logic [31:0]  s_word,
  input  logic         s_final,
  output logic [6:0]   step,        ///< of the block: 0 to 15 its words, to 63 rounds, 64 a pause
  output logic         m_valid,     ///< pulse: the hash value behind a block
  output logic         m_final,
  output logic [255:0] m_sum,       ///< ... with m_valid
  output logic [255:0] state        ///< ... a cycle later, until the next one; with m_final that of a message's begin
);
  localparam logic [31:0] K[64] = '{
    32'h428a2f98, 32'h71374491, 32'hb5c0fbcf, 32'he9b5dba5, 32'h3956c25b, 32'h59f111f1, 32'h923f82a4, 32'hab1c5ed5,
    32'hd807aa98, 32'h12835b01, 32'h243185be, 32'h550c7dc3, 32'h72be5d74, 32'h80deb1fe, 32'h9bdc06a7, 32'hc19bf174,
    32'he49b69c1, 32'hefbe4786, 32'h0fc19dc6, 32'h240ca1cc, 32'h2de92c6f, 32'h4a7484aa, 32'h5cb0a9dc, 32'h76f988da,
    32'h983e5152, 32'ha831c66d, 32'hb00327c8, 32'hbf597fc7, 32'hc6e00bf3, 32'hd5a79147, 32'h06ca6351, 32'h14292967,
    32'h27b70a85, 32'h2e1b2138, 32'h4d2c6dfc, 32'h53380d13, 32'h650a7354, 32'h766a0abb, 32'h81c2c92e, 32'h92722c85,
    32'ha2bfe8a1, 32'ha81a664b, 32'hc24b8b70, 32'hc76c51a3, 32'hd192e819, 32'hd6990624, 32'hf40e3585, 32'h106aa070,
    32'h19a4c116, 32'h1e376c08, 32'h2748774c, 32'h34b0bcb5, 32'h391c0cb3, 32'h4ed8aa4a, 32'h5b9cca4f, 32'h682e6ff3,
    32'h748f82ee, 32'h78a5636f, 32'h84c87814, 32'h8cc70208, 32'h90befffa, 32'ha4506ceb, 32'hbef9a3f7, 32'hc67178f2
  };
  localparam logic [31:0] START[8] = '{
    32'h6a09e667, 32'hbb67ae85, 32'h3c6ef372, 32'ha54ff53a, 32'h510e527f, 32'h9b05688c, 32'h1f83d9ab, 32'h5be0cd19
  };

  function automatic logic [31:0] rotr(input logic [31:0] x, input int n);
    return (x >> n) | (x << (32 - n));
  endfunction

  // ---- cycle 0: words of the block's schedule; t 0 to 63, then a cycle's pause for the sum at the end of a block
  logic [6:0]  t_q;
  logic [31:0] w_q[16];        // the last 16 words, the newest in w_q[15]
  logic        w_valid_q, w_last_q, w_final_q;
  logic [5:0]  w_t_q;
  logic [31:0] mixed;
  logic        go;
  assign mixed = (rotr(w_q[14], 17) ^ rotr(w_q[14], 19) ^ (w_q[14] >> 10)) + w_q[9]
               + ((rotr(w_q[1], 7) ^ rotr(w_q[1], 18) ^ (w_q[1] >> 3)) + w_q[0]);
  assign s_ready = t_q < 7'd16;
  assign go      = s_ready ? s_valid : !t_q[6];
  assign step    = t_q;
  always_ff @(posedge clk) begin
    w_valid_q <= go && !rst;
    w_last_q  <= t_q == 7'd63;
    w_final_q <= s_final;
    w_t_q     <= t_q[5:0];
    if (go) begin
      t_q     <= t_q + 7'd1;
      w_q[15] <= s_ready ? s_word : mixed;
      for (int i = 0; i < 15; i++) w_q[i] <= w_q[i+1];
    end
    if (rst || t_q[6]) t_q <= '0;
  end

  // ---- cycle 1: word + constant; cycle 2: round; a cycle after the last round: sum
  logic        kw_valid_q, kw_last_q, kw_final_q, sum_q, sum_final_q;
  logic [31:0] kw_q;
  logic [31:0] s_q[8], hash_q[8], total[8];  // a to h; the hash so far
  logic [31:0] p, q, t2;                     // T1 of the standard is p + q
  assign p  = s_q[7] + kw_q;
  assign q  = (rotr(s_q[4], 6) ^ rotr(s_q[4], 11) ^ rotr(s_q[4], 25)) + ((s_q[4] & s_q[5]) ^ (~s_q[4] & s_q[6]));
  assign t2 = (rotr(s_q[0], 2) ^ rotr(s_q[0], 13) ^ rotr(s_q[0], 22))
            + ((s_q[0] & s_q[1]) ^ (s_q[0] & s_q[2]) ^ (s_q[1] & s_q[2]));
  // three numbers with one carry chain
  function automatic logic [31:0] add3(input logic [31:0] x, input logic [31:0] y, input logic [31:0] z);
    return (x ^ y ^ z) + {(x[30:0] & y[30:0]) | (x[30:0] & z[30:0]) | (y[30:0] & z[30:0]), 1'b0};
  endfunction
  always_comb for (int i = 0; i < 8; i++) total[i] = hash_q[i] + s_q[i];
  always_ff @(posedge clk) begin
    kw_valid_q  <= w_valid_q && !rst;
    kw_last_q   <= w_last_q;
    kw_final_q  <= w_final_q;
    kw_q        <= w_q[15] + K[w_t_q];
    sum_q       <= kw_valid_q && kw_last_q && !rst;
    sum_final_q <= kw_final_q;
    if (kw_valid_q) begin
      for (int i = 1; i < 8; i++) s_q[i] <= s_q[i-1];
      s_q[0] <= add3(p, q, t2);
      s_q[4] <= add3(p, q, s_q[3]);
    end
    for (int i = 0; i < 8; i++) begin
      if (rst || (sum_q && sum_final_q)) begin
        hash_q[i] <= START[i];
        s_q[i]    <= START[i];
      end else if (sum_q) begin
        hash_q[i] <= total[i];
        s_q[i]    <= total[i];
      end else if (s_load) begin
        hash_q[i] <= s_state[32*i+:32];
        s_q[i]    <= s_state[32*i+:32];
      end
    end
  end
  assign m_valid = sum_q;
  assign m_final = sum_final_q;
  for (genvar i = 0; i < 8; i++) begin : g_out
    assign m_sum[32*i+:32] = total[i];
    assign state[32*i+:32] = hash_q[i];
  end
endmodule
