// SPDX-License-Identifier: Apache-2.0
// The bookkeeper: one block RAM with all counters and chunk registers, and one sequencer that does everything slow.
//
// Why: a block takes each drive about 290 cycles, so counting, latencies, marked blocks, starting a chunk, and the
// commands of reads and trims need no logic of their own for each drive: drives are visited in turn, one job at a time.
// A job is a chain of steps of 2 cycles: read a word, write it back changed. A good write's status takes 8 cycles plus
// the division of its latency; 20 to 40 in all. Register accesses come first.
module db_rec_stats
  import db_rec_pkg::*;
#(
    parameter int unsigned N_DRIVES    = 2,     // 1..8
    parameter int unsigned CLK_MHZ     = 250,
    parameter int unsigned READ_BLOCKS = 8,     // blocks of 4 KiB of the largest read, a power of 2, at most 8192
    parameter int unsigned TRIM_BLOCKS = 4096   // ... trim
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic                    wipe,         // clear all words, then go on
    output logic                    wiping,

    // register words {extended, drive, word}; ready with the result
    input  logic                    reg_valid,
    output logic                    reg_ready,
    input  logic                    reg_write,
    input  logic                    reg_all,      // write: every drive's
    input  logic [9:0]              reg_addr,
    input  logic [31:0]             reg_wdata,
    output logic [31:0]             reg_rdata,

    // control, a bit a drive
    input  logic [N_DRIVES-1:0]     data_enable,
    input  logic [N_DRIVES-1:0]     read_enable,
    input  logic [N_DRIVES-1:0]     read_trims,
    input  logic                    trim_first,
    input  logic [N_DRIVES-1:0]     up,
    input  logic [N_DRIVES-1:0]     dead,
    input  logic [N_DRIVES-1:0]     flush,        // in reset
    input  logic [N_DRIVES*32-1:0]  total,        // blocks that may be used
    output logic [N_DRIVES-1:0]     run,          // takes part in the capture
    output logic                    hold,         // some drive of the capture is not ready to begin: no block yet
    output logic [N_DRIVES-1:0]     trimming,     // before it
    output logic [N_DRIVES-1:0]     capturing,    // from start to last status
    output logic [N_DRIVES-1:0]     captured,
    output logic [N_DRIVES-1:0]     reading,
    output logic [N_DRIVES-1:0]     read_done,
    output logic [N_DRIVES-1:0]     read_start,   // pulse
    input  logic [N_DRIVES-1:0]     read_busy,    // its data is on the way out

    // db_rec_capture
    input  logic [N_DRIVES-1:0]     quiet,
    input  logic                    ev_valid,
    output logic                    ev_ready,
    input  logic [2:0]              ev_drive,
    input  logic                    ev_format,
    input  logic [31:0]             ev_block,

    // db_rec_lane
    output logic [N_DRIVES-1:0]     ld,
    output logic [31:0]             ld_next,
    output logic [31:0]             ld_end,
    input  logic [N_DRIVES*32-1:0]  next,
    input  logic [N_DRIVES-1:0]     fin,
    input  logic [N_DRIVES*12-1:0]  out_blocks,
    output logic [N_DRIVES-1:0]     done_valid,
    output logic [2:0]              done_blocks,
    input  logic [N_DRIVES-1:0]     lost_valid,
    input  logic [N_DRIVES*12-1:0]  lost_blocks,
    output logic [N_DRIVES-1:0]     lost_ack,
    output logic [N_DRIVES-1:0]     m_seq_valid,
    input  logic [N_DRIVES-1:0]     m_seq_ready,
    output logic [1:0]              m_seq_kind,
    output logic [31:0]             m_seq_block,
    output logic [13:0]             m_seq_blocks,

    // db_host
    input  logic [N_DRIVES-1:0]     s_axis_status_tvalid,
    output logic [N_DRIVES-1:0]     s_axis_status_tready,
    input  logic [N_DRIVES*64-1:0]  s_axis_status_tdata
);
  localparam int unsigned VW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam int unsigned READ_LG = $clog2(READ_BLOCKS);
  localparam int unsigned TRIM_LG = $clog2(TRIM_BLOCKS);
  localparam int unsigned RUNS_MAX = db_rec_pkg::MAX_RUNS;
  if (N_DRIVES < 1 || N_DRIVES > 8 || READ_BLOCKS != (1 << READ_LG) || TRIM_BLOCKS != (1 << TRIM_LG) ||
      READ_LG > 13 || TRIM_LG > 13) begin : g_bad
    $error("%m: N_DRIVES must be 1..8, READ_BLOCKS and TRIM_BLOCKS powers of 2 up to 8192");
  end

  typedef enum logic [4:0] {
    IDLE, REG, WIPE,
    START, ROOM, SIZE, LIMIT, ZERO_E, ZERO_D, ZERO_P,       // a chunk begins
    BASE, LEFT, DONE, CUT, ISSUE,                           // its next trim or read
    BACK, NUM, PEAK, BUCKET, ERROR, COUNT,                  // a status, lost blocks
    RUNS, RUN_END, RUN_PICK, RUN_MORE, RUN_FIRST, RUN_WHY, RUN_ADD  // blocks are marked
  } state_e;
  state_e           state_q, state_d;
  logic             phase_q;                 // 0: word is read, 1: it is there
  logic [VW-1:0]    v_q;                     // the drive at hand
  logic [N_DRIVES-1:0] v1;                   // the same, one bit a drive
  logic [9:0]       wipe_q, wipe_end_q;
  logic             first_q;                 // never wiped since rst
  logic [31:0]      x_q, b_q, word, value, sum, b_sum;
  logic             read_q;                  // chunk of the read engine, not of the capture
  logic             bad_q, marks_q, timed_q, counts_q, adjacent_q, us_done;
  logic [31:0]      us;
  logic [4:0]       us_bucket;
  logic [3:0]       why_q;
  logic [14:0]      status_q;
  logic [4:0]       runs_q;
  kind_e            kind_q;

  // ------------------------------------------------------------------ per drive
  logic [N_DRIVES-1:0] cap_q, ctrim_q, cstarted_q, cload_q, cdone_q, stop_q, rd_q, rall_q, rstarted_q, rdone_q, busy_q;
  logic [N_DRIVES-1:0] want_q;               // a chunk of the capture is to begin, a cycle ago
  logic [8:0]          count_q[N_DRIVES];    // reads and trims without status
  assign capturing = cap_q;
  assign trimming  = ctrim_q;
  assign hold      = ((data_enable & ~cstarted_q & ~cap_q) | cload_q | ctrim_q) != '0;
  assign captured  = cdone_q;
  assign reading   = rd_q;
  assign read_done = rdone_q;
  assign run       = cap_q & ~ctrim_q & ~stop_q & ~fin;

  // What is seen of the drive at hand.
  db_host_pkg::block_status_t st;
  logic [31:0] v_next, v_total;
  logic [19:0] v_next_down;
  assign v_next_down = v_next[31:12] - 1'b1;
  logic [11:0] v_out, v_lost;
  always_comb begin
    v1 = '0;
    v1[v_q] = 1'b1;
    st      = s_axis_status_tdata[32'(v_q)*64+:64];
    v_next  = next[32'(v_q)*32+:32];
    v_total = total[32'(v_q)*32+:32];
    v_out   = out_blocks[32'(v_q)*12+:12];
    v_lost  = lost_blocks[32'(v_q)*12+:12];
  end
  logic [1:0] st_kind;
  assign st_kind = st.tag[15:14];

  // ------------------------------------------------------------------ which job
  logic idle, j_reg, j_wipe, j_event, j_lost, j_status, j_cap, j_trimmed, j_capend, j_read, j_readend, j_issue, j_any;
  logic own, look_q;  // at rest: a cycle to look for a job (high only in IDLE), one to go on to the next drive
  logic look_wipe_q;  // the same, the job is a wipe
  assign idle      = look_q || look_wipe_q;
  assign j_wipe    = look_wipe_q;
  assign j_reg     = look_q && reg_valid;
  assign j_event   = look_q && !reg_valid && ev_valid;
  assign own       = look_q && !reg_valid && !ev_valid;
  assign j_lost    = own && lost_valid[v_q];
  assign j_status  = own && !lost_valid[v_q] && s_axis_status_tvalid[v_q] && !flush[v_q];
  assign j_any     = own && !lost_valid[v_q] && !s_axis_status_tvalid[v_q] && !flush[v_q];
  assign j_cap     = j_any && want_q[v_q];
  assign j_trimmed = j_any && ctrim_q[v_q] && (!up[v_q] || (busy_q[v_q] && count_q[v_q] == '0));
  assign j_capend  = j_any && cap_q[v_q] && !ctrim_q[v_q] && (fin[v_q] || stop_q[v_q]) && quiet[v_q] &&
                     v_out == '0 && !j_cap;
  assign j_read    = j_any && read_enable[v_q] && !rstarted_q[v_q] && !rd_q[v_q] && !cap_q[v_q] && !j_cap && up[v_q];
  assign j_readend = j_any && rd_q[v_q] && rall_q[v_q] && count_q[v_q] == '0 && !read_busy[v_q];
  assign j_issue   = j_any && m_seq_ready[v_q] && up[v_q] && count_q[v_q] != '1 && !j_cap &&
                     (ctrim_q[v_q] ? !busy_q[v_q] : rd_q[v_q] && !rall_q[v_q] && read_enable[v_q] && !cap_q[v_q]);

  assign s_axis_status_tready = j_status ? v1 : '0;
  assign ev_ready             = j_event;
  assign lost_ack             = j_lost ? v1 : '0;
  assign done_valid           = j_status && st_kind == K_WRITE ? v1 : '0;
  assign done_blocks          = 3'(st.tag[13:12]) + 3'd1;
  assign read_start           = j_read ? v1 : '0;
  assign wiping               = state_q == WIPE || first_q;

  // ------------------------------------------------------------------ the RAM
  logic [9:0] addr;
  logic       re, we;
  logic [5:0] w;
  logic       ext;
  always_comb begin
    ext = 1'b0;
    w   = '0;
    unique case (state_q)
      START:     w = read_q ? W_RBLOCK : W_START;
      SIZE:      w = read_q ? W_RNUM : W_SIZE;
      LIMIT, LEFT: {ext, w} = read_q ? {1'b0, W_RLIMIT} : {1'b1, X_LIMIT};
      ZERO_E, ERROR: w = read_q ? W_RERROR : W_ERROR;
      ZERO_D, NUM: w = read_q ? W_RDONE : W_NUM;
      ZERO_P, DONE, ISSUE: {ext, w} = read_q ? {1'b0, W_RPROC} : {1'b1, X_TRIMMED};
      BASE:      w = read_q ? W_RBLOCK : W_START;
      PEAK:      w = W_PEAK;
      BUCKET:    {ext, w} = {2'b10, us_bucket > 5'(HIST_BUCKETS - 1) ? 5'(HIST_BUCKETS - 1) : us_bucket};
      COUNT:     {ext, w} = {1'b1, read_q ? X_BADREAD : X_LOST};
      RUNS, RUN_ADD: {ext, w} = {1'b1, X_RUNS};
      RUN_END:   {ext, w} = {1'b1, X_RUN_END};
      RUN_MORE:  {ext, w} = {2'b11, 4'(runs_q - 5'd1), 1'b1};
      RUN_FIRST: {ext, w} = {2'b11, runs_q[3:0], 1'b0};
      RUN_WHY:   {ext, w} = {2'b11, runs_q[3:0], 1'b1};
      default: ;
    endcase
    addr = {ext, 3'(v_q), w};
    if (state_q == REG) addr = {reg_addr[9], reg_all && reg_write ? 3'(v_q) : reg_addr[8:6], reg_addr[5:0]};
    if (state_q == WIPE) addr = wipe_q;
  end
  assign sum   = word + (state_q == RUN_ADD ? 32'd1 : x_q);
  assign b_sum = state_q == BACK ? b_q - x_q : b_q + (state_q == DONE ? word : x_q);
  always_comb begin
    unique case (state_q)
      REG:       value = reg_wdata;
      LIMIT:     value = x_q;
      PEAK:      value = us > word ? us : word;
      ERROR:     value = word == '0 ? db_recorder_regs_pkg::set_error_t'{reserved_15: '0, status: status_q} : word;
      RUN_END:   value = b_sum;
      RUN_FIRST: value = b_q;
      RUN_WHY:   value = db_recorder_regs_pkg::run_why_t'{why: why_q, blocks: x_q[27:0]};
      NUM, ISSUE, BUCKET, COUNT, RUN_MORE, RUN_ADD: value = sum;
      default:   value = '0;
    endcase
  end
  assign re = !phase_q;
  assign we = phase_q && (state_q inside {LIMIT, ZERO_E, ZERO_D, ZERO_P, ISSUE, NUM, BUCKET, ERROR, COUNT,
                                          RUN_END, RUN_MORE, RUN_FIRST, RUN_WHY, RUN_ADD, WIPE} ||
                          (state_q == PEAK && us_done) ||
                          (state_q == REG && reg_write));
  db_ram_sdp #(.WIDTH(32), .DEPTH(1024)) i_ram (
      .clk, .we, .waddr(addr), .wdata(value), .re, .raddr(addr), .rdata(word)
  );
  db_rec_timebase #(.CLK_MHZ(CLK_MHZ)) i_us (
      .clk, .rst, .start(j_status), .cycles(st.latency), .done(us_done), .us, .bucket(us_bucket)
  );
  assign reg_rdata = word;
  assign reg_ready = state_q == REG && phase_q && (!(reg_all && reg_write) || v_q == VW'(N_DRIVES - 1));

  // ------------------------------------------------------------------ the steps
  logic [31:0] most;
  assign most = read_q && kind_q == K_READ ? 32'(READ_BLOCKS) : 32'(TRIM_BLOCKS);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:
        unique case (1'b1)  // at most one job is there
          j_wipe, j_cap: state_d = WIPE;
          j_reg:         state_d = REG;
          j_event:       state_d = ev_format ? RUNS : NUM;
          j_lost:        state_d = BACK;
          j_status:      state_d = st_kind == K_TRIM ? (st.status != '0 ? ERROR : IDLE) : NUM;
          j_read:        state_d = START;
          j_issue:       state_d = BASE;
          default:       ;
        endcase
      REG:     if (reg_ready) state_d = IDLE;
      WIPE:    if (wipe_q == wipe_end_q) state_d = first_q ? IDLE : START;
      START:   state_d = ROOM;
      ROOM:    state_d = SIZE;
      SIZE:    state_d = LIMIT;
      LIMIT:   state_d = ZERO_E;
      ZERO_E:  state_d = ZERO_D;
      ZERO_D:  state_d = ZERO_P;
      ZERO_P:  state_d = IDLE;
      BASE:    state_d = LEFT;
      LEFT:    state_d = DONE;
      DONE:    state_d = CUT;
      CUT:     state_d = x_q == '0 ? IDLE : ISSUE;
      ISSUE:   state_d = IDLE;
      BACK:    state_d = NUM;
      NUM:     state_d = timed_q ? PEAK : bad_q ? ERROR : counts_q ? COUNT : IDLE;
      PEAK:    state_d = us_done ? BUCKET : PEAK;
      BUCKET:  state_d = bad_q ? ERROR : IDLE;
      ERROR:   state_d = counts_q ? COUNT : IDLE;
      COUNT:   state_d = marks_q ? RUNS : IDLE;
      RUNS:    state_d = RUN_END;
      RUN_END: state_d = RUN_PICK;
      RUN_PICK: state_d = adjacent_q ? (runs_q > 5'(RUNS_MAX) ? IDLE : RUN_MORE) :
                          runs_q < 5'(RUNS_MAX) ? RUN_FIRST : RUN_ADD;
      RUN_MORE: state_d = IDLE;
      RUN_FIRST: state_d = RUN_WHY;
      RUN_WHY: state_d = RUN_ADD;
      RUN_ADD: state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    if (state_q == RUN_END) adjacent_q <= word == b_q && runs_q != '0;
    look_q      <= state_q == IDLE && !idle && !wipe && !first_q;
    look_wipe_q <= state_q == IDLE && !idle && !wipe && first_q;
    if (state_q == IDLE) phase_q <= 1'b0;
    else phase_q <= !phase_q;
    if (idle || phase_q) state_q <= state_d;

    if (idle) begin
      marks_q  <= 1'b0;
      counts_q <= 1'b0;
      bad_q    <= 1'b0;
      timed_q  <= 1'b0;
      read_q   <= 1'b0;
      if (j_event) begin
        v_q      <= VW'(ev_drive);
        b_q      <= ev_block;
        x_q      <= 32'd1;
        why_q    <= ev_format ? WHY_FORMAT : WHY_DOWN;
        marks_q  <= 1'b1;
        counts_q <= 1'b1;
      end
      if (j_lost) begin
        b_q      <= v_next;
        x_q      <= 32'(v_lost);
        why_q    <= WHY_RESET;
        marks_q  <= 1'b1;
        counts_q <= 1'b1;
      end
      if (j_status) begin
        status_q <= st.status;
        why_q    <= WHY_STATUS;
        bad_q    <= st.status != '0;
        counts_q <= st.status != '0 && st_kind inside {K_WRITE, K_READ};
        marks_q  <= st_kind == K_WRITE;
        timed_q  <= st_kind == K_WRITE;
        read_q   <= st_kind inside {K_READ, K_RTRIM};
        x_q      <= st_kind == K_WRITE ? 32'(done_blocks) : 32'(st.tag[13:0]);
        b_q      <= {st.tag[11:0] >= v_next[11:0] ? v_next_down : v_next[31:12], st.tag[11:0]};
      end
      if (j_reg && reg_all) v_q <= '0;
      if (j_wipe) wipe_q <= '0;
      if (j_cap) wipe_q <= {1'b1, 3'(v_q), 6'd0};
      wipe_end_q <= j_wipe ? '1 : {1'b1, 3'(v_q), 6'h3f};
      if (j_read) read_q <= 1'b1;
      if (j_issue) begin
        read_q <= !ctrim_q[v_q];
        kind_q <= ctrim_q[v_q] ? K_TRIM : read_trims[v_q] ? K_RTRIM : K_READ;
      end
    end else if (state_q == IDLE) begin
      v_q <= v_q == VW'(N_DRIVES - 1) ? '0 : v_q + 1'b1;
    end else if (phase_q) begin
      unique case (state_q)
        REG:     if (reg_all && reg_write && !reg_ready) v_q <= v_q + 1'b1;
        WIPE:    wipe_q <= wipe_q + 10'd1;
        START: begin
          b_q <= word;
          x_q <= v_total;
        end
        ROOM:    x_q <= x_q > b_q ? x_q - b_q : '0;
        SIZE:    if (word < x_q) x_q <= word;
        BASE:    b_q <= word;
        LEFT:    x_q <= word;
        DONE: begin
          b_q <= b_sum;
          x_q <= x_q - word;
        end
        CUT:     if (x_q > most) x_q <= most;
        BACK:    b_q <= b_sum;
        RUNS:    runs_q <= word > 32'(RUNS_MAX) ? 5'(RUNS_MAX + 1) : word[4:0];
        default: ;
      endcase
    end
    if (j_wipe) first_q <= 1'b1;
    if (state_q == WIPE && phase_q && wipe_q == wipe_end_q) first_q <= 1'b0;
    if (rst) begin
      state_q <= IDLE;
      phase_q <= 1'b0;
      look_q  <= 1'b0;
      look_wipe_q <= 1'b0;
      v_q     <= '0;
      first_q <= 1'b1;
    end
    if (wipe) begin
      state_q <= IDLE;
      first_q <= 1'b1;
    end
  end

  // ------------------------------------------------------------------ chunks and commands
  assign m_seq_kind   = kind_q;
  assign m_seq_block  = b_q;
  assign m_seq_blocks = x_q[13:0];
  assign m_seq_valid  = state_q == ISSUE && phase_q ? v1 : '0;
  assign ld           = state_q == LIMIT && phase_q && !read_q ? v1 : '0;
  assign ld_next      = b_q;
  assign ld_end       = b_sum;

  always_ff @(posedge clk) begin
    for (int i = 0; i < int'(N_DRIVES); i++) begin
      want_q[i] <= data_enable[i] && !cstarted_q[i] && !cap_q[i] && (up[i] || dead[i]);
      if (!data_enable[i]) cstarted_q[i] <= 1'b0;
      if (!cap_q[i]) stop_q[i] <= 1'b0;
      else if (!data_enable[i]) stop_q[i] <= 1'b1;
      if (data_enable[i] && !cstarted_q[i] && !cap_q[i]) cdone_q[i] <= 1'b0;
      if (read_enable[i] && !rstarted_q[i] && !rd_q[i]) rdone_q[i] <= 1'b0;
      if (!read_enable[i]) rstarted_q[i] <= 1'b0;
      if (rd_q[i] && !read_enable[i]) rall_q[i] <= 1'b1;
      if (v1[i]) begin
        if (j_cap) begin
          cstarted_q[i] <= 1'b1;
          cload_q[i]    <= 1'b1;
        end
        if (state_q == ZERO_P && phase_q && !read_q) begin
          cap_q[i]   <= 1'b1;
          cload_q[i] <= 1'b0;
          ctrim_q[i] <= trim_first;
          busy_q[i]  <= 1'b0;
        end
        if (state_q == ZERO_P && phase_q && read_q) begin
          rd_q[i]   <= 1'b1;
          rall_q[i] <= 1'b0;
        end
        if (j_trimmed) ctrim_q[i] <= 1'b0;
        if (j_capend) begin
          cap_q[i]   <= 1'b0;
          cdone_q[i] <= 1'b1;
        end
        if (j_read) begin
          rstarted_q[i] <= 1'b1;
        end
        if (j_readend) begin
          rd_q[i]    <= 1'b0;
          rdone_q[i] <= 1'b1;
        end
        if (state_q == CUT && phase_q && x_q == '0) begin
          if (read_q) rall_q[i] <= 1'b1;
          else busy_q[i] <= 1'b1;
        end
      end
      count_q[i] <= count_q[i] + 9'(m_seq_valid[i]) - 9'(s_axis_status_tready[i] && st_kind != K_WRITE);
      if (rst || flush[i]) begin
        count_q[i] <= '0;
        rd_q[i]    <= 1'b0;
        ctrim_q[i] <= 1'b0;
      end
      if (rst || wipe) begin
        cap_q[i]      <= 1'b0;
        ctrim_q[i]    <= 1'b0;
        cstarted_q[i] <= 1'b0;
        cload_q[i]    <= 1'b0;
        cdone_q[i]    <= 1'b0;
        rstarted_q[i] <= 1'b0;
        rdone_q[i]    <= 1'b0;
      end
    end
  end
endmodule
