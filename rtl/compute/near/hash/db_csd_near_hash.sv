// SPDX-License-Identifier: Apache-2.0
// Operator of near-storage commands: SHA-256 of messages, or the CRC-32C of a packet (docs/csd/near-storage.md).
//
//   rows --+--> db_csd_near_hash_crc ----------------------------------+
//          +--> buffers of CORES db_csd_near_hash_core --- digests ----+--> words
//                 ^ which one: db_csd_near_hash_turns     |
//                 '------- db_csd_near_hash_states -------'
//
// SHA-256 takes its time: a packet's data are taken into a core's buffer, as far as it has room for blocks of 64 bytes,
// and the result says how many of the message were taken, with the digest as soon as that is there. No row waits for
// a core. A message is its function's, its program's and one of four; what is known of it is forgotten when the program
// is written.
// Latency: the first word 5 cycles after a packet's last row, with a digest 2 to CORES + 2 more; of CRC-32C 7, and one
// for each byte that the row lacks; then a word a cycle. Throughput: a row a cycle, 11 cycles less a packet; of CRC-32C
// 12 and one for each byte that its last row lacks.
module db_csd_near_hash
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*, db_csd_near_hash_pkg::*;
#(
  parameter int DATA_W      = 256,   ///< bits: 128, 256, 512
  parameter int NUM_FN      = 1,     ///< functions, 1..17
  parameter int CORES       = 8,     ///< 1..16
  parameter int BYTES       = 16384, ///< of a core's buffer: a power of two, at least 16 rows
  parameter int TURN_CYCLES = 65536  ///< that a core is kept for a function that does not come: 2..2^20
) (
  input  logic              clk,
  input  logic              rst,
  output logic              working,        ///< on messages, also when no packet is inside
  input  logic              s_forget,       ///< pulse: a program is written
  input  near_owner_t       s_forget_owner,
  input  logic              s_param_valid,  ///< not while a packet is inside
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,          ///< phase: what becomes of the data
  output logic              m_word_valid,
  input  logic              m_word_ready,
  output near_word_t        m_word
);
  localparam int MESSAGES = 1 << ($clog2(NUM_FN) + NEAR_PROGRAMS_LOG2 + MESSAGES_LOG2);
  localparam int AW       = $clog2(MESSAGES);
  localparam int BLOCK_ROWS = 8 * BLOCK_BYTES / DATA_W;
  localparam int OPEN     = NUM_FN << (NEAR_PROGRAMS_LOG2 + MESSAGES_LOG2);

  // PHASE of a command of SHA-256.
  typedef struct packed {
    logic [9:0]               skip;     // blocks of 64 bytes at its begin that are not of the message
    logic [MESSAGES_LOG2-1:0] message;
    logic                     none;
    logic                     asks;     // no data are taken
    logic                     ends;
    logic                     starts;
  } step_t;

  // ---- while it rests its clock stands still, in simulation, but for db_csd_near_hash_states, which looks around always
  logic work_clk, works;
  db_clock_gate #(.AFTER(256)) i_clk (
    .clk, .awake(rst || works || s_param_valid || s_row_valid || s_forget), .m_clk(work_clk));

  // ---- the program
  logic crc32c_q;
  always_ff @(posedge work_clk) if (s_param_valid && s_param.addr == 8'd1) crc32c_q <= s_param.data[0];

  // ---- the row that has come
  logic              row_valid_q;
  logic [DATA_W-1:0] row_data_q;
  near_row_t         row_info_q;
  always_ff @(posedge work_clk) begin
    if (s_row_ready) begin
      row_valid_q <= s_row_valid;
      row_data_q  <= s_row_data;
      row_info_q  <= s_row;
    end
    if (rst) row_valid_q <= 1'b0;
  end

  // ---- a packet: what is known of its message, a core, its rows, the words of its result
  typedef enum logic [2:0] {FIRST, LOOK, CORE, ROWS, JOB, ANSWER, DIGEST, WORDS} state_e;
  typedef struct packed {
    logic               ended;
    logic [TOTAL_W-1:0] total;
  } known_t;
  state_e                  state_q;
  message_t                message_q;
  step_t                   step, step_q;       // skip: that are left
  known_t                  known, known_q;     // before the packet; then behind it
  logic [OPEN-1:0]         open_q;             // the message has begun
  logic                    open, forgot_q;     // ... this one; its program was written meanwhile
  logic                    takes_q;            // its data go to the core
  logic                    take, stops, row_go, waiting, turn_done, forgets, there_q, loaded;
  logic [CORES-1:0]        core, room, busy, same;
  message_t [CORES-1:0]    holds_q;
  logic [NEAR_BYTES_W-1:0] bytes_q, taken;     // of the packet: in the core's buffer; to be hashed
  logic [16:0]             rows_q;
  logic [1:0]              row_q;              // of those of a block
  logic [1:0]              word_q;
  logic [255:0]            digest_q, state;
  logic [AW-MESSAGES_LOG2-1:0] forget_at;    // the program, among all
  logic                    crc_valid;
  logic [31:0]             crc;
  assign open        = open_q[message_q[AW-1:0]];
  assign row_go      = row_valid_q && state_q == ROWS;
  assign s_row_ready = !row_valid_q || state_q == ROWS;
  assign stops       = bytes_q[BLOCK_LOG-1:0] == '0 && (core & room) == '0;
  assign step        = row_info_q.phase;
  assign take        = row_go && takes_q && !stops && step_q.skip == '0;
  assign taken       = step_q.ends && takes_q ? bytes_q : {bytes_q[NEAR_BYTES_W-1:BLOCK_LOG], BLOCK_LOG'(0)};
  assign forget_at   = (AW - MESSAGES_LOG2)'(s_forget_owner);
  assign forgets     = s_forget && message_q[MESSAGE_W-1:MESSAGES_LOG2] == s_forget_owner;
  for (genvar c = 0; c < CORES; c++) begin : g_same
    assign same[c] = busy[c] && holds_q[c] == message_q;
  end
  db_ram_sdp #(.WIDTH($bits(known_t)), .DEPTH(MESSAGES)) i_known (
    .clk(work_clk), .we(state_q == ANSWER && !crc32c_q), .waddr(message_q[AW-1:0]), .wdata(known_q), .re(1'b1),
    .raddr(message_q[AW-1:0]), .rdata(known));
  db_csd_near_hash_turns #(.NUM_FN(NUM_FN), .CORES(CORES), .TURN_CYCLES(TURN_CYCLES)) i_turns (
    .clk(work_clk), .rst, .ask(state_q == LOOK && !crc32c_q && !step_q.asks), .message(message_q), .busy,
    .holds(holds_q), .room, .waiting, .done(turn_done), .core);
  db_csd_near_hash_crc #(.DATA_W(DATA_W)) i_crc (
    .clk(work_clk), .rst, .s_valid(row_go && crc32c_q), .s_data(row_data_q), .s_row(row_info_q),
    .m_valid(crc_valid), .m_crc(crc));

  always_ff @(posedge work_clk) begin
    unique case (state_q)
      FIRST: begin
        message_q <= {row_info_q.owner, step.message};
        step_q    <= step;
        row_q     <= '0;
        bytes_q   <= '0;
        rows_q    <= '0;
        word_q    <= '0;
        digest_q  <= '0;
        takes_q   <= 1'b0;
        if (row_valid_q) state_q <= LOOK;
      end
      LOOK: state_q <= CORE;
      CORE: begin
        known_q <= (step_q.starts && !step_q.asks) || !open ? '0 : known;
        takes_q <= core != '0 && (step_q.starts || (open && !known.ended));
        if (turn_done) state_q <= ROWS;
        if (crc32c_q || step_q.asks) begin
          takes_q <= 1'b0;
          state_q <= ROWS;
        end
      end
      ROWS: if (row_go) begin
        row_q <= row_q == 2'(BLOCK_ROWS - 1) ? '0 : row_q + 2'd1;
        if (step_q.skip != '0 && row_q == 2'(BLOCK_ROWS - 1)) step_q.skip <= step_q.skip - 10'd1;
        if (takes_q && stops && step_q.skip == '0) takes_q <= 1'b0;
        if (take) rows_q <= rows_q + 17'd1;
        if (take || crc32c_q) bytes_q <= bytes_q + NEAR_BYTES_W'(row_info_q.bytes);
        if (row_info_q.last) state_q <= JOB;
      end
      JOB: begin
        if (taken != '0 && !crc32c_q) begin
          known_q <= '{ended: step_q.ends && takes_q, total: known_q.total + TOTAL_W'(taken)};
        end
        state_q <= ANSWER;
      end
      ANSWER: begin
        there_q <= known_q.ended && open && same == '0;
        state_q <= DIGEST;
      end
      DIGEST: begin
        if (crc32c_q ? crc_valid : loaded || !there_q) state_q <= WORDS;
        for (int i = 0; i < 32; i++) if (loaded) digest_q[8*i +: 8] <= state[32*(i/4) + 8*(3-i%4) +: 8];
        if (crc_valid) digest_q[31:0] <= crc;
      end
      default: if (m_word_ready) begin
        word_q <= word_q + 2'd1;
        if (word_q == 2'd3) state_q <= FIRST;
      end
    endcase
    if (rst) state_q <= FIRST;
  end

  // A message is open with its first data. Who writes its program forgets it, also while it gets data.
  always_ff @(posedge work_clk) begin
    if (state_q == FIRST) forgot_q <= 1'b0;
    else if (forgets) forgot_q <= 1'b1;
    if (state_q == JOB && !crc32c_q && !step_q.asks && (step_q.starts || taken != '0)) begin
      open_q[message_q[AW-1:0]] <= taken != '0 && !forgot_q;
    end
    for (int i = 0; i < OPEN; i++) begin
      if (s_forget && (AW - MESSAGES_LOG2)'(i >> MESSAGES_LOG2) == forget_at) open_q[i] <= 1'b0;
    end
    if (rst) open_q <= '0;
  end

  always_comb begin
    m_word = '{last: word_q == 2'd3, data: '0};
    unique case (word_q)
      2'd0: m_word.data = {62'd0, crc32c_q || known_q.ended, crc32c_q || there_q,
                           crc32c_q ? 64'(bytes_q) : 64'(known_q.total)};
      2'd2: m_word.data = digest_q[127:0];
      2'd3: m_word.data = digest_q[255:128];
      default: ;
    endcase
  end
  assign m_word_valid = state_q == WORDS;

  // ---- cores
  logic [CORES-1:0]        store_valid, store_ready;
  logic [CORES:0]          load, load_done;
  message_t [CORES-1:0]    core_message;
  logic [CORES-1:0][255:0] core_state;
  hash_job_t               job;
  assign job = '{message: message_q, starts: step_q.starts, ends: step_q.ends && takes_q, bytes: taken, rows: rows_q,
                 total: known_q.total + TOTAL_W'(taken)};
  for (genvar c = 0; c < CORES; c++) begin : g_core
    logic gets;
    assign gets = state_q == JOB && core[c] && rows_q != '0;
    always_ff @(posedge work_clk) if (gets) holds_q[c] <= message_q;
    db_csd_near_hash_core #(.DATA_W(DATA_W), .BYTES(BYTES)) i_core (
      .clk(work_clk), .rst, .busy(busy[c]), .room(room[c]), .s_row_valid(take && core[c]), .s_row_data(row_data_q),
      .s_job_valid(gets),
      .s_job(job), .m_load(load[c]), .m_store_valid(store_valid[c]), .m_store_ready(store_ready[c]),
      .m_message(core_message[c]), .m_state(core_state[c]), .m_load_done(load_done[c]), .m_load_state(state));
  end
  assign working     = busy != '0 || waiting;
  assign works       = working || row_valid_q || state_q != FIRST;
  assign load[CORES] = state_q == DIGEST && there_q && !crc32c_q;
  assign loaded      = load_done[CORES];
  db_csd_near_hash_states #(.CORES(CORES), .MESSAGES(MESSAGES)) i_states (
    .clk, .rst, .s_store_valid(store_valid), .s_store_ready(store_ready), .s_store_message(core_message),
    .s_store_state(core_state), .s_load(load), .s_load_message({message_q, core_message}), .m_load_done(load_done),
    .m_load_state(state));

  logic unused_ok;
  assign unused_ok = &{1'b0, s_param, row_info_q.first, step_q.message, step_q.none};
endmodule
