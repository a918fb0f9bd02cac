// SPDX-License-Identifier: Apache-2.0
// One read client: host reads in, an in-order stream of packets out.
//
// What: requests are cut into chunks (db_pcie_read_split); each chunk takes the next tag of a circular range and the next
//   dwords of a ring memory, and is sent. Completions land in the ring in any order (db_pcie_rc); tags retire in
//   order, and rows leave when all their dwords have arrived. Chunks of a packet are packed without gaps and a packet
//   starts a row. A chunk that fails, or was given with s_req_drop, keeps its place; its packet has terr from that
//   row on (the data there is arbitrary). A packet may be longer than the ring.
// Why its own ring and tags: no client waits behind another's data.
// Latency: 2 cycles from s_req to m_rd; 2 cycles from done_valid of the oldest tag to its first row on m_axis.
// A chunk is taken when the ring has room for the longest one.
// Throughput: a chunk every other cycle in, one retired tag and one row a cycle out.
module db_pcie_read #(
    parameter int DATA_W      = 256,   // bits of a beat: 128, 256 or 512
    parameter int TAG_BASE    = 0,     // first tag; TAG_BASE + NUM_TAGS <= 256
    parameter int NUM_TAGS    = 32,    // reads in flight, a power of two, 2..256
    parameter int RING_DW     = 4096,  // ring size in dwords, a power of two, at least 2 chunks
    parameter int USER_W      = 8,     // bits of the packet's user field, at least 1
    parameter int CHUNK_BYTES = 512,   // longest read request, bytes: a power of two, 128..4096
    parameter int MAX_PKTS    = 32,    // packets inside at once, a power of two, at least 2
    parameter int RING_DW_W   = $clog2(RING_DW),  // bits of ring addresses on ports (of the largest client's ring)
    localparam int N          = DATA_W / 32,
    localparam int LANE_W     = $clog2(N),
    localparam int PORT_ROW_W = RING_DW_W - LANE_W
) (
    input logic clk,
    input logic rst,

    input  logic [2:0] cfg_mrrs,  // PG213: 0 = 128 bytes ... 5 = 4096
    input  logic       stop,      // from this cycle on, no request is sent
    output logic       idle,      // no request is outstanding or about to leave; with stop it will stay so

    input  logic              s_req_valid,
    output logic              s_req_ready,
    input  logic [       7:0] s_req_fn,
    input  logic [      63:0] s_req_addr,   // dword aligned
    input  logic [      12:0] s_req_len,    // bytes, 4..4096, a multiple of 4, inside one 4 KiB page
    input  logic              s_req_first,  // of a packet
    input  logic              s_req_last,   // of a packet
    input  logic              s_req_drop,   // send nothing: take its place as if it had failed
    input  logic [USER_W-1:0] s_req_user,   // the packet's, taken with first

    output logic                 m_rd_valid,
    input  logic                 m_rd_ready,
    output logic [          7:0] m_rd_fn,
    output logic [         63:0] m_rd_addr,
    output logic [         10:0] m_rd_len_dw,
    output logic [          7:0] m_rd_tag,
    output logic [RING_DW_W-1:0] m_rd_ring_dw,

    input logic [           N-1:0] rc_we,  // for this client only
    input logic [N*PORT_ROW_W-1:0] rc_row,
    input logic [      DATA_W-1:0] rc_data,
    input logic                    done_valid,
    input logic [             7:0] done_tag,
    input logic                    done_err,

    output logic              m_axis_tvalid,
    input  logic              m_axis_tready,
    output logic [DATA_W-1:0] m_axis_tdata,
    output logic              m_axis_tlast,
    output logic [  LANE_W:0] m_axis_tdw,     // valid dwords: N except in a packet's last row
    output logic [USER_W-1:0] m_axis_tuser,   // the packet's, in all its rows
    output logic              m_axis_terr     // a chunk of the packet, in this row or before, failed
);

  localparam int W       = $clog2(RING_DW);
  localparam int ROW_W   = W - LANE_W;
  localparam int TI_W    = $clog2(NUM_TAGS);
  localparam int PC_W    = $clog2(MAX_PKTS) + 1;
  localparam int RING_ROWS = RING_DW / N;

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (NUM_TAGS < 2 || NUM_TAGS != 2 ** TI_W || TAG_BASE < 0 || TAG_BASE + NUM_TAGS > 256) begin : g_bad_tags
    $error("%m: NUM_TAGS (%0d) must be a power of two >= 2 and TAG_BASE (%0d) + NUM_TAGS <= 256", NUM_TAGS, TAG_BASE);
  end
  if (RING_DW != 2 ** W || RING_DW * 2 < CHUNK_BYTES || RING_ROWS < 4) begin : g_bad_ring
    $error("%m: RING_DW (%0d) must be a power of two, at least 2 chunks and 4 rows", RING_DW);
  end
  if (RING_DW_W < W) begin : g_bad_ring_w
    $error("%m: RING_DW_W (%0d) must be at least log2(RING_DW)", RING_DW_W);
  end
  if (MAX_PKTS < 2 || MAX_PKTS != 2 ** (PC_W - 1)) begin : g_bad_pkts
    $error("%m: MAX_PKTS must be a power of two, at least 2, not %0d", MAX_PKTS);
  end

  // ------------------------------------------------------------------ chunks
  logic              chunk_valid, chunk_ready, chunk_first, chunk_last, chunk_drop;
  logic [       7:0] chunk_fn;
  logic [      63:0] chunk_addr;
  logic [      10:0] chunk_len_dw;
  logic [USER_W-1:0] chunk_user;

  db_pcie_read_split #(
      .USER_W     (USER_W),
      .CHUNK_BYTES(CHUNK_BYTES)
  ) u_split (
      .clk           (clk),
      .rst           (rst),
      .cfg_mrrs      (cfg_mrrs),
      .s_req_valid   (s_req_valid),
      .s_req_ready   (s_req_ready),
      .s_req_fn      (s_req_fn),
      .s_req_addr    (s_req_addr),
      .s_req_len     (s_req_len),
      .s_req_first   (s_req_first),
      .s_req_last    (s_req_last),
      .s_req_drop    (s_req_drop),
      .s_req_user    (s_req_user),
      .m_chunk_valid (chunk_valid),
      .m_chunk_ready (chunk_ready),
      .m_chunk_fn    (chunk_fn),
      .m_chunk_addr  (chunk_addr),
      .m_chunk_len_dw(chunk_len_dw),
      .m_chunk_first (chunk_first),
      .m_chunk_last  (chunk_last),
      .m_chunk_drop  (chunk_drop),
      .m_chunk_user  (chunk_user)
  );

  // ------------------------------------------------------------------ allocation: ring space, tag, packet slot
  // Pointers count dwords (or rows) modulo twice the ring, so that full and empty differ.
  logic [     W:0] alloc_q;     // next free dword
  logic [TI_W:0]   tag_alloc_q, tag_retire_q;
  logic [ROW_W:0]  row_q;       // next row to leave
  logic [PC_W-1:0] pkts_q;      // packets inside
  logic [ROW_W:0]  gone_q;      // rows before this one have been read
  logic [     W:0] alloc_end, alloc_used;
  logic [ROW_W:0]  alloc_end_row;
  logic            room_q, send_ok, take, row_take, row_last, row_end;
  logic            rd_valid_q;

  assign alloc_end     = alloc_q + (W + 1)'(chunk_len_dw);
  assign alloc_used    = alloc_q - {gone_q, LANE_W'(0)};
  assign alloc_end_row = alloc_end[W:LANE_W] + (ROW_W + 1)'(alloc_end[LANE_W-1:0] != '0);
  // A request every other cycle is more than the link takes. So ready from the arbiter stays out of what follows, and
  // there is a cycle to see whether tag and ring have room for another chunk, as long as any may be.
  assign send_ok       = chunk_drop || !rd_valid_q;
  assign take          = chunk_valid && room_q && send_ok && !(chunk_first && pkts_q[PC_W-1]);
  assign chunk_ready   = take;

  assign m_rd_valid = rd_valid_q && !stop;

  always_ff @(posedge clk) begin
    room_q <= !take && alloc_used <= (W + 1)'(RING_DW - CHUNK_BYTES / 4)
              && tag_alloc_q != {~tag_retire_q[TI_W], tag_retire_q[TI_W-1:0]};
    if (take) begin
      alloc_q     <= chunk_last ? {alloc_end_row, LANE_W'(0)} : alloc_end;
      tag_alloc_q <= tag_alloc_q + 1'b1;
    end
    if (m_rd_ready && !stop) rd_valid_q <= 1'b0;
    if (take && !chunk_drop) begin
      rd_valid_q   <= 1'b1;
      m_rd_fn      <= chunk_fn;
      m_rd_addr    <= chunk_addr;
      m_rd_len_dw  <= chunk_len_dw;
      m_rd_tag     <= 8'(TAG_BASE) + 8'(tag_alloc_q[TI_W-1:0]);
      m_rd_ring_dw <= RING_DW_W'(alloc_q[W-1:0]);
    end
    pkts_q <= pkts_q + PC_W'(take && chunk_first) - PC_W'(row_end);
    if (rst) begin
      room_q      <= 1'b0;
      alloc_q     <= '0;
      tag_alloc_q <= '0;
      rd_valid_q  <= 1'b0;
      pkts_q      <= '0;
    end
  end

  // What retirement needs to know of a chunk: where it ends, and whether its packet does.
  logic [W+1:0] chunk_mem[NUM_TAGS];
  always_ff @(posedge clk) if (take) chunk_mem[tag_alloc_q[TI_W-1:0]] <= {chunk_last, alloc_end};

  // ------------------------------------------------------------------ tags: done, failed, outstanding
  logic [NUM_TAGS-1:0] done_q, err_q;
  logic [         7:0] done_off;
  logic                done_here;
  logic [      TI_W:0] out_q, out_d;   // sent and not ended, not counting sent_q
  logic                sent_q;         // in the cycle before

  assign done_off  = done_tag - 8'(TAG_BASE);
  assign done_here = done_valid && 9'(done_off) < 9'(NUM_TAGS);
  assign out_d     = out_q + (TI_W + 1)'(sent_q) - (TI_W + 1)'(done_here);

  always_ff @(posedge clk) begin
    if (take) begin
      done_q[tag_alloc_q[TI_W-1:0]] <= chunk_drop;
      err_q[tag_alloc_q[TI_W-1:0]]  <= chunk_drop;
    end
    if (done_here) begin
      done_q[done_off[TI_W-1:0]] <= 1'b1;
      err_q[done_off[TI_W-1:0]]  <= done_err;
    end
    sent_q <= m_rd_valid && m_rd_ready;
    out_q  <= out_d;
    idle   <= out_d == '0 && !m_rd_valid;
    if (rst) begin
      sent_q <= 1'b0;
      out_q  <= '0;
      idle   <= 1'b1;
    end
  end

  // ------------------------------------------------------------------ retirement, in order, one tag a cycle
  logic       ret, ret_last, ret_err;  // of the oldest tag, done before or in this cycle
  logic [W:0] ret_end;
  logic [7:0] ret_tag_q;               // TAG_BASE + tag_retire_q
  logic       ret_now;

  assign ret_now             = done_valid && done_tag == ret_tag_q;
  assign ret                 = tag_retire_q != tag_alloc_q && (ret_now || done_q[tag_retire_q[TI_W-1:0]]);
  assign ret_err             = ret_now ? done_err : err_q[tag_retire_q[TI_W-1:0]];
  assign {ret_last, ret_end} = chunk_mem[tag_retire_q[TI_W-1:0]];

  always_ff @(posedge clk) begin
    if (ret) begin
      tag_retire_q <= tag_retire_q + 1'b1;
      ret_tag_q    <= (&tag_retire_q[TI_W-1:0]) ? 8'(TAG_BASE) : ret_tag_q + 1'b1;
    end
    if (rst) begin
      tag_retire_q <= '0;
      ret_tag_q    <= 8'(TAG_BASE);
    end
  end

  // State of the packet that is being retired. Its last chunk moves it to end_fifo: rows of the last chunk leave
  // only when the packet's end is known.
  logic [     W:0] arrived_q;    // dwords before this one are in the ring
  logic            fail_q;       // a chunk has failed, the first one in row fail_row_q
  logic [ROW_W:0]  fail_row_q;
  logic [PC_W-1:0] pkt_ret_q;    // packets retired, modulo 2 * MAX_PKTS
  logic            fail_d;
  logic [ROW_W:0]  fail_row_d, last_row;
  logic [LANE_W:0] last_dw;

  assign fail_d     = fail_q || ret_err;
  assign fail_row_d = fail_q ? fail_row_q : arrived_q[W:LANE_W];
  assign last_row   = ret_end[W:LANE_W] - (ROW_W + 1)'(ret_end[LANE_W-1:0] == '0);
  assign last_dw    = {ret_end[LANE_W-1:0] == '0, ret_end[LANE_W-1:0]};

  always_ff @(posedge clk) begin
    if (ret) begin
      arrived_q  <= ret_last ? {last_row + 1'b1, LANE_W'(0)} : ret_end;
      fail_q     <= fail_d && !ret_last;
      fail_row_q <= fail_row_d;
      if (ret_last) pkt_ret_q <= pkt_ret_q + 1'b1;
    end
    if (rst) begin
      arrived_q <= '0;
      fail_q    <= 1'b0;
      pkt_ret_q <= '0;
    end
  end

  // ------------------------------------------------------------------ rows out
  localparam int END_W = 2 * (ROW_W + 1) + LANE_W + 2;

  logic              end_valid, end_fail, user_valid;
  logic [  ROW_W:0]  end_row, end_fail_row;
  logic [  LANE_W:0] end_dw;
  logic [USER_W-1:0] user;
  logic [PC_W-1:0]   pkt_out_q;   // packets that have left, modulo 2 * MAX_PKTS
  logic              sent_fail_q; // an earlier row of this packet had terr
  logic              row_valid, row_ready, row_err, current, fail, fail_here;

  db_fifo #(
      .WIDTH(END_W),
      .DEPTH(MAX_PKTS)
  ) u_ends (
      .clk    (clk),
      .rst    (rst),
      .s_valid(ret && ret_last),
      .s_ready(),  // never full: MAX_PKTS packets at most are inside
      .s_data ({fail_d, fail_row_d, last_row, last_dw}),
      .m_valid(end_valid),
      .m_ready(row_end),
      .m_data ({end_fail, end_fail_row, end_row, end_dw}),
      .level  ()
  );

  db_fifo #(
      .WIDTH (USER_W),
      .DEPTH (MAX_PKTS),
      .AROUND(1'b0)
  ) u_users (
      .clk    (clk),
      .rst    (rst),
      .s_valid(take && chunk_first),
      .s_ready(),  // never full, as above
      .s_data (chunk_user),
      .m_valid(user_valid),
      .m_ready(row_end),
      .m_data (user),
      .level  ()
  );

  // The packet that leaves is either retired (its end is known), or the one that is being retired (current), or
  // between the two for the time that the end takes through the FIFO.
  assign current   = pkt_ret_q == pkt_out_q;
  assign row_valid = user_valid && (end_valid || (current && row_q != arrived_q[W:LANE_W]));
  assign row_last  = end_valid && row_q == end_row;
  assign fail      = end_valid ? end_fail : fail_q;
  assign fail_here = row_q == (end_valid ? end_fail_row : fail_row_q);
  assign row_err   = sent_fail_q || (fail && fail_here);
  assign row_take  = row_valid && row_ready;
  assign row_end   = row_ready && row_last;  // row_take && row_last, as a packet with an end has its user

  always_ff @(posedge clk) begin
    if (row_take) begin
      row_q       <= row_q + 1'b1;
      sent_fail_q <= row_err && !row_last;
    end
    if (row_end) pkt_out_q <= pkt_out_q + 1'b1;
    if (row_ready) gone_q <= row_q;  // a row is read when it is taken, or before the next one is
    if (rst) begin
      row_q       <= '0;
      gone_q      <= '0;
      sent_fail_q <= 1'b0;
      pkt_out_q   <= '0;
    end
  end

  assert property (@(posedge clk) disable iff (rst) !end_valid || user_valid);

  logic [N*ROW_W-1:0] bank_row;
  always_comb for (int k = 0; k < N; k++) bank_row[k*ROW_W+:ROW_W] = rc_row[k*PORT_ROW_W+:ROW_W];

  db_pcie_read_ring #(
      .DATA_W (DATA_W),
      .RING_DW(RING_DW),
      .META_W (USER_W + LANE_W + 3)
  ) u_ring (
      .clk          (clk),
      .rst          (rst),
      .wr_we        (rc_we),
      .wr_row       (bank_row),
      .wr_data      (rc_data),
      .s_row_valid  (row_valid),
      .s_row_ready  (row_ready),
      .s_row        (row_q[ROW_W-1:0]),
      .s_row_meta   ({user, row_err, row_last, row_last ? end_dw : (LANE_W + 1)'(N)}),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata (m_axis_tdata),
      .m_axis_tmeta ({m_axis_tuser, m_axis_terr, m_axis_tlast, m_axis_tdw})
  );

endmodule
