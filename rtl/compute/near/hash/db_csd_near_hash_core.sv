// SPDX-License-Identifier: Apache-2.0
// A core of SHA-256: rows of a message's data wait in its buffer, and are hashed a job at a time. The hash value before
// a job comes from db_csd_near_hash_states, and the one behind it goes there.
//
// Latency: a job of B bytes takes 65 cycles for each block of 64 bytes, with the padding of a message's last one, some
// 55 for the last block's rounds, and what db_csd_near_hash_states takes. Throughput: 64 bytes in 65 cycles.
module db_csd_near_hash_core
  import db_ssd_near_pkg::*, db_csd_near_hash_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits: 128, 256, 512
  parameter int BYTES  = 16384  ///< of the buffer: a power of two, at least 16 rows
) (
  input  logic              clk,
  input  logic              rst,
  output logic              busy,         ///< has a job
  output logic              room,         ///< for another block's rows, and for a job
  input  logic              s_row_valid,  ///< only where there is room for its block
  input  logic [DATA_W-1:0] s_row_data,
  input  logic              s_job_valid,  ///< in the cycle behind its last row, or later
  input  hash_job_t         s_job,
  output logic              m_load,       ///< until m_load_done
  output logic              m_store_valid,
  input  logic              m_store_ready,
  output message_t          m_message,
  output logic [255:0]      m_state,      ///< word i of the hash value in bits 32i+31:32i; at the end the digest
  input  logic              m_load_done,
  input  logic [255:0]      m_load_state
);
  localparam int ROWS       = BYTES * 8 / DATA_W;
  localparam int BLOCK_ROWS = 8 * BLOCK_BYTES / DATA_W;
  localparam int WORDS      = DATA_W / 32;
  localparam int WORD_W     = $clog2(WORDS);
  localparam int JOBS       = 8;
  if (ROWS < 16 || ROWS != 1 << $clog2(ROWS)) begin : g_bad
    $error("%m: BYTES must be a power of two of at least 16 rows (is %0d)", BYTES);
  end

  // ---- rows and jobs that wait
  logic                  row_valid, row_ready, row_room, job_valid, job_room, done;
  logic [DATA_W-1:0]     row;
  logic [$clog2(ROWS):0] level;
  hash_job_t             job;
  db_fifo #(.WIDTH(DATA_W), .DEPTH(ROWS)) i_rows (
    .clk, .rst, .s_valid(s_row_valid), .s_ready(row_room), .s_data(s_row_data), .m_valid(row_valid),
    .m_ready(row_ready), .m_data(row), .level);
  db_fifo #(.WIDTH($bits(hash_job_t)), .DEPTH(JOBS)) i_jobs (
    .clk, .rst, .s_valid(s_job_valid), .s_ready(job_room), .s_data(s_job), .m_valid(job_valid), .m_ready(done),
    .m_data(job), .level());
  always_ff @(posedge clk) begin
    room <= (s_row_valid ? 32'(level) < ROWS - BLOCK_ROWS : 32'(level) <= ROWS - BLOCK_ROWS) && job_room;
  end

  // ---- words of blocks: data, a one bit behind them, zeros, the length
  typedef enum logic [2:0] {NEXT, LOAD, FEED, ROUNDS, STORE, DROP} state_e;
  state_e                  state_q;
  logic [NEAR_BYTES_W-1:0] left_q;    // bytes
  logic [16:0]             rows_q;
  logic [WORD_W-1:0]       word_q;    // of the row
  logic                    marked_q;  // the one bit is there
  logic                    sized_q;   // the length's first word is there
  logic                    marks, of_data, ready, feeds, sum, restarts, row_ends;
  logic [6:0]              step;
  logic [31:0]             data, word;
  assign of_data  = left_q != '0;
  assign marks    = left_q < NEAR_BYTES_W'(4) && !marked_q;
  assign data     = row[32*word_q+:32];
  assign restarts = state_q == NEXT && job_valid && job.starts;
  always_comb begin
    word = {data[7:0], data[15:8], data[23:16], data[31:24]};
    if (marks) begin
      unique case (left_q[1:0])
        2'd0: word = 32'h8000_0000;
        2'd1: word = {word[31:24], 24'h80_0000};
        2'd2: word = {word[31:16], 16'h8000};
        default: word = {word[31:8], 8'h80};
      endcase
    end else if (!of_data) begin
      word = '0;
      if (step == 7'd14 && marked_q) word = 32'(job.total >> 29);
      if (step == 7'd15 && sized_q) word = {job.total[28:0], 3'd0};
    end
  end
  assign feeds    = state_q == FEED && ready && (!of_data || row_valid);
  assign row_ends = word_q == WORD_W'(WORDS - 1) || left_q <= NEAR_BYTES_W'(4);
  assign row_ready = (feeds && of_data && row_ends) || (state_q == DROP && rows_q != '0);
  assign done     = state_q == DROP && rows_q == '0;
  always_ff @(posedge clk) begin
    unique case (state_q)
      NEXT: begin
        left_q   <= job.bytes;
        rows_q   <= job.rows;
        word_q   <= '0;
        marked_q <= 1'b0;
        sized_q  <= 1'b0;
        if (job_valid) state_q <= job.bytes == '0 ? DROP : job.starts ? FEED : LOAD;
      end
      LOAD: if (m_load_done) state_q <= FEED;
      FEED: if (feeds) begin
        if (of_data) begin
          left_q <= left_q < NEAR_BYTES_W'(4) ? '0 : left_q - NEAR_BYTES_W'(4);
          word_q <= row_ends ? '0 : word_q + 1'b1;
        end
        if (marks && job.ends) marked_q <= 1'b1;
        if (step == 7'd14) sized_q <= marked_q;
        if (step == 7'd15 && (job.ends ? sized_q : left_q == NEAR_BYTES_W'(4))) state_q <= ROUNDS;
      end
      ROUNDS: if (sum) state_q <= STORE;
      STORE: if (m_store_ready) state_q <= DROP;
      default: if (rows_q == '0) state_q <= NEXT;
    endcase
    if (row_valid && row_ready) rows_q <= rows_q - 17'd1;
    if (rst) state_q <= NEXT;
  end
  assign m_load        = state_q == LOAD;
  assign m_store_valid = state_q == STORE;
  assign m_message     = job.message;
  assign busy          = job_valid;

  db_sha256_compress i_compress (
    .clk, .rst(rst || restarts), .s_load(m_load && m_load_done), .s_state(m_load_state), .s_valid(feeds),
    .s_ready(ready), .s_word(word), .s_final(1'b0), .step, .m_valid(sum), .m_final(), .m_sum(), .state(m_state));

  logic unused_ok;
  assign unused_ok = &{1'b0, job};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    assert (!s_row_valid || row_room);
    assert (!s_job_valid || job_room);
  end
`endif
endmodule
