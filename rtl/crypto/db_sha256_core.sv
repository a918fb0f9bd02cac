// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) of a stream of words: a round a cycle, padding added. Messages are whole multiples of 64 bytes.
//
// Latency: digest 117 cycles after a message's last word (its last rounds and the block of padding).
// Throughput: 64 bytes in 65 cycles, and 65 cycles more a message.
module db_sha256_core #(
  parameter int TAG_W = 16  // bits that come back with the digest
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             s_valid,
  output logic             s_ready,
  input  logic [31:0]      s_word,   // byte k of the word in bits 8k+7:8k
  input  logic             s_last,   // last word of the message
  input  logic [TAG_W-1:0] s_tag,    // taken with the last word
  output logic             m_valid,
  input  logic             m_ready,
  output logic [255:0]     m_digest, // byte k of the digest in bits 8k+7:8k
  output logic [TAG_W-1:0] m_tag
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
  logic [6:0]       t_q;
  logic             pad_q;          // this block is the padding
  logic             ended_q;        // the message's last word was in this block
  logic [31:0]      blocks_q;       // of the message, before this one
  logic [31:0]      w_q[16];        // the last 16 words, the newest in w_q[15]
  logic             w_valid_q, w_last_q, w_pad_q;
  logic [5:0]       w_t_q;
  logic [TAG_W-1:0] tag_q;
  logic [31:0]      w, fresh, mixed;
  logic             go;
  logic             m_valid_q;

  assign fresh = {s_word[7:0], s_word[15:8], s_word[23:16], s_word[31:24]};
  assign mixed = (rotr(w_q[14], 17) ^ rotr(w_q[14], 19) ^ (w_q[14] >> 10)) + w_q[9]
               + ((rotr(w_q[1], 7) ^ rotr(w_q[1], 18) ^ (w_q[1] >> 3)) + w_q[0]);
  always_comb begin
    go      = !t_q[6];
    s_ready = 1'b0;
    w       = mixed;
    if (t_q < 7'd16) begin
      if (!pad_q) begin
        w       = fresh;
        go      = s_valid;
        s_ready = 1'b1;
      end else begin
        w  = t_q == 7'd0 ? 32'h8000_0000 : t_q == 7'd14 ? 32'(blocks_q >> 23) : t_q == 7'd15 ? blocks_q << 9 : 32'd0;
        go = t_q != 7'd0 || !m_valid_q;
      end
    end
  end

  always_ff @(posedge clk) begin
    w_valid_q <= go && !rst;
    w_last_q  <= t_q == 7'd63;
    w_pad_q   <= pad_q;
    w_t_q     <= t_q[5:0];
    if (go) begin
      t_q     <= t_q + 7'd1;
      w_q[15] <= w;
      for (int i = 0; i < 15; i++) w_q[i] <= w_q[i+1];
      if (!pad_q && s_ready && s_last) begin
        ended_q <= 1'b1;
        tag_q   <= s_tag;
        assert (t_q == 7'd15);  // whole blocks
      end
    end
    if (t_q[6]) begin
      t_q      <= '0;
      pad_q    <= ended_q && !pad_q;
      ended_q  <= 1'b0;
      blocks_q <= pad_q ? '0 : blocks_q + 32'd1;
    end
    if (rst) begin
      t_q      <= '0;
      pad_q    <= 1'b0;
      ended_q  <= 1'b0;
      blocks_q <= '0;
    end
  end

  // ---- cycle 1: word + constant; cycle 2: round; a cycle after the last round: sum
  logic        kw_valid_q, kw_last_q, kw_pad_q, sum_q, sum_pad_q;
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
    kw_valid_q <= w_valid_q && !rst;
    kw_last_q  <= w_last_q;
    kw_pad_q   <= w_pad_q;
    kw_q       <= w_q[15] + K[w_t_q];
    sum_q      <= kw_valid_q && kw_last_q && !rst;
    sum_pad_q  <= kw_pad_q;
    if (kw_valid_q) begin
      for (int i = 1; i < 8; i++) s_q[i] <= s_q[i-1];
      s_q[0] <= add3(p, q, t2);
      s_q[4] <= add3(p, q, s_q[3]);
    end
    if (m_ready) m_valid_q <= 1'b0;
    if (sum_q) begin
      hash_q <= sum_pad_q ? START : total;
      s_q    <= sum_pad_q ? START : total;
      if (sum_pad_q) begin
        m_valid_q <= 1'b1;
        for (int i = 0; i < 32; i++) m_digest[8*i+:8] <= total[i/4][8*(3-i%4)+:8];
        m_tag <= tag_q;
      end
    end
    if (rst) begin
      hash_q    <= START;
      s_q       <= START;
      m_valid_q <= 1'b0;
    end
  end
  assign m_valid = m_valid_q;
endmodule
