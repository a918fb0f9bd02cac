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
  // ---- words of a block; a block of padding follows a message's last
  logic             pad_q;          // this block is the padding
  logic             ended_q;        // the message's last word was in this block
  logic [31:0]      blocks_q;       // of the message, before this one
  logic [TAG_W-1:0] tag_q;
  logic [31:0]      word;
  logic [6:0]       step;
  logic             go, ready, sum, sum_pad, m_valid_q;
  logic [255:0]     total, state;
  assign go      = !pad_q ? s_valid : step != 7'd0 || !m_valid_q;
  assign s_ready = ready && !pad_q;
  always_comb begin
    word = {s_word[7:0], s_word[15:8], s_word[23:16], s_word[31:24]};
    if (pad_q) begin
      word = step == 7'd0 ? 32'h8000_0000 : step == 7'd14 ? 32'(blocks_q >> 23) : step == 7'd15 ? blocks_q << 9 : 32'd0;
    end
  end
  db_sha256_compress i_compress (
    .clk, .rst, .s_load(1'b0), .s_state('0), .s_valid(go), .s_ready(ready), .s_word(word), .s_final(pad_q), .step,
    .m_valid(sum), .m_final(sum_pad), .m_sum(total), .state);
  always_ff @(posedge clk) begin
    if (s_valid && s_ready && s_last) begin
      ended_q <= 1'b1;
      tag_q   <= s_tag;
      assert (step == 7'd15);  // whole blocks
    end
    if (step[6]) begin
      pad_q    <= ended_q && !pad_q;
      ended_q  <= 1'b0;
      blocks_q <= pad_q ? '0 : blocks_q + 32'd1;
    end
    if (m_ready) m_valid_q <= 1'b0;
    if (sum && sum_pad) begin
      m_valid_q <= 1'b1;
      m_tag     <= tag_q;
      for (int i = 0; i < 32; i++) m_digest[8*i+:8] <= total[32*(i/4)+8*(3-i%4)+:8];
    end
    if (rst) begin
      pad_q     <= 1'b0;
      ended_q   <= 1'b0;
      blocks_q  <= '0;
      m_valid_q <= 1'b0;
    end
  end
  assign m_valid = m_valid_q;

  logic unused_ok;
  assign unused_ok = &{1'b0, state};
endmodule
