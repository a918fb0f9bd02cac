// SPDX-License-Identifier: Apache-2.0
// All traffic that a controller starts itself: RQ and RC on one side, read clients, one data writer and one poster of
// short writes on the other. Wiring, and the way to rest:
//
//   s_seg, s_row -> _write --.  -> m_done
//   s_post -> _post ---------+-> _rq_mux (-> _rq_straddle) -> m_rq
//   s_read -> _read -> _read_mux
//   m_row <-- rings <-- _rc <-- s_rc            a _read and a ring for each client; _read_clock for all
//
// Every read client has its own tags and its own ring, so SQEs, PRP lists and write data never queue behind each
// other; write data, posts and read requests share RQ a packet at a time.
// Latency and throughput: of db_pcie_read, db_pcie_write, db_pcie_post, plus 1 cycle of db_pcie_rq_mux
// and, at 512 bits, 1 or 2 of db_pcie_rq_straddle.
`include "db_pcie_types.svh"
module db_pcie_dma
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN       = 1,    ///< functions, 1..17
  parameter int DATA_W       = 256,  ///< bits of a beat and of a row: 128, 256, 512
  parameter int NUM_CLIENTS  = 5,    ///< read clients, 1..8
  /// their shares; tags are given out from 0, client after client: at most 128 in all
  parameter client_cfg_t [NUM_CLIENTS-1:0] CLIENTS =
      {NUM_CLIENTS{client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd10, chunk_bytes: 16'd512, has_user: 1'b1}}},
  parameter bit [NUM_CLIENTS-1:0] OWNED = '1,  ///< clients whose requests have owners
  parameter int READ_USER_W  = 48,   ///< bits of user data with each read packet
  parameter int WRITE_USER_W = 24,   ///< bits of user data with each written packet
  parameter int EPOCH_LOG2   = 17,   ///< how long tags rest (db_pcie_read_clock)
  parameter bit PEERS        = 1'b0, ///< there is s_peer
  parameter int CMB_LOG2     = 0,    ///< log2 of the bytes of a function's region of card memory; 0: there is none
  parameter bit CMB_TOP      = 1'b0, ///< ... which lies at the end of all addresses, too (db_pcie_cmb_window)
  parameter int PATIENCE_LOG2 = 10,  ///< how long a report is waited for (db_pcie_landed_fence)
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic                                     clk,
  input  logic                                     rst,
  /// after it no completion comes for a request from before; of tags that rest
  input  logic                                     link_rst,
  input  logic [63:0]                              time_us,
  /// 0: 128 bytes ... 5: 4096
  input  logic [2:0]                               cfg_mps,
  input  logic [2:0]                               cfg_mrrs,
  /// no read request is sent from the next cycle on; when the last outstanding one has ended, RQ takes no packet any more
  input  logic                                     stop,
  /// the function must not be a bus master now: nothing new is sent, but for the read request on its way to RQ
  input  logic                                     hold,
  /// functions that send nothing: what is theirs and has not begun is dropped
  input  logic [NUM_FN-1:0]                        silent,
  /// after stop: nothing is on its way, a reset is safe
  output logic                                     quiet,
  /// nothing waits inside
  output logic                                     idle,
  /// Pulse; fenced, from the cycle after it on: what had been sent or begun for clients and writer has come to its
  /// end. With several functions what had been posted, too, and no completion of ours passes it any more.
  input  logic                                     fence,
  output logic                                     fenced,
  /// pulse: a completion came that no request waits for; it was dropped
  output logic                                     late_completion,

  output logic                                     m_rq_valid,
  input  logic                                     m_rq_ready,
  output rq_t                                      m_rq,
  /// requests that no completion of ours can pass any more
  input  rq_seq_t                                  s_rq_seq,
  input  logic                                     s_rc_valid,
  output logic                                     s_rc_ready,
  input  rc_t                                      s_rc,

  /// reads, client 0 lowest (db_pcie_read); the user data is the packet's, taken with first
  input  logic      [NUM_CLIENTS-1:0]              s_read_valid,
  output logic      [NUM_CLIENTS-1:0]              s_read_ready,
  input  segment_t  [NUM_CLIENTS-1:0]              s_read,
  input  logic [NUM_CLIENTS-1:0][READ_USER_W-1:0]  s_read_user,
  /// whose request it is; of whose requests what has not been sent is dropped
  input  logic [NUM_CLIENTS-1:0][7:0]              s_read_owner,
  output logic [NUM_CLIENTS-1:0][7:0]              m_read_owner,
  input  logic      [NUM_CLIENTS-1:0]              s_read_void,
  output logic      [NUM_CLIENTS-1:0]              m_row_valid,
  input  logic      [NUM_CLIENTS-1:0]              m_row_ready,
  output logic [NUM_CLIENTS-1:0][DATA_W-1:0]       m_row_data,
  output row_info_t [NUM_CLIENTS-1:0]              m_row_info,
  output logic [NUM_CLIENTS-1:0][READ_USER_W-1:0]  m_row_user,

  /// data writer (db_pcie_write): where to, the rows, and a report for each packet
  input  logic                                     s_seg_valid,
  output logic                                     s_seg_ready,
  input  segment_t                                 s_seg,
  input  logic [WRITE_USER_W-1:0]                  s_seg_user,
  input  logic                                     s_row_valid,
  output logic                                     s_row_ready,
  input  logic [DATA_W-1:0]                        s_row_data,
  input  row_info_t                                s_row_info,
  output logic                                     m_done_valid,
  input  logic                                     m_done_ready,
  /// user data of the TLPs that come next; of whose TLPs what has not begun is dropped
  output logic [1:0][WRITE_USER_W-1:0]             m_write_user,
  input  logic [1:0]                               s_write_void,
  output logic [WRITE_USER_W-1:0]                  m_done_user,
  output logic                                     m_done_err,

  /// short writes (db_pcie_post)
  input  logic                                     s_post_valid,
  output logic                                     s_post_ready,
  input  post_t                                    s_post,

  /// packets of db_pcie_peers: they pass whatever becomes of ours
  input  logic                                     peer_stop,
  input  logic                                     s_peer_valid,
  output logic                                     s_peer_ready,
  input  rq_t                                      s_peer,

  /// card memory: windows (db_pcie_cmb_window), requests to it (db_pcie_cmb_rq) and its completions; a pulse for each write
  /// that goes to the link
  input  logic                                     cmb_set_valid,
  input  logic [PLACE_W-1:0]                       cmb_set_place,
  input  cmb_window_t                              cmb_set,
  input  logic [NUM_FN-1:0]                        cmb_clear,
  output logic [NUM_FN-1:0]                        cmb_base_invalid,
  output logic                                     cmb_link_write,
  output logic                                     m_cmb_valid,
  input  logic                                     m_cmb_ready,
  output cq_t                                      m_cmb,
  input  logic                                     s_cmb_valid,
  output logic                                     s_cmb_ready,
  input  cc_t                                      s_cmb
);
  localparam int TAG_W    = 7;
  localparam int N        = DATA_W / 32;
  localparam int CLIENT_W = (NUM_CLIENTS > 1) ? $clog2(NUM_CLIENTS) : 1;

  // First tag of client i: after those of the clients before it.
  function automatic int tag_base(input int i);
    int base;
    base = 0;
    for (int k = 0; k < i; k++) base += 1 << CLIENTS[k].tags_log2;
    return base;
  endfunction
  function automatic int largest_ring();
    int m;
    m = 0;
    for (int k = 0; k < NUM_CLIENTS; k++) if (int'(CLIENTS[k].ring_dw_log2) > m) m = int'(CLIENTS[k].ring_dw_log2);
    return m;
  endfunction
  localparam int RING_W = largest_ring();
  localparam int ROW_W  = RING_W - $clog2(N);

  if (tag_base(NUM_CLIENTS) > (1 << TAG_W)) begin : g_bad_tags
    $error("%m: the clients' tags must be at most 128 in all, are %0d", tag_base(NUM_CLIENTS));
  end

  logic write_fenced, write_idle;

  // ---- reads
  logic      [NUM_CLIENTS-1:0] tlp_valid, tlp_ready, client_idle, client_waiting, client_fenced;
  read_tlp_t [NUM_CLIENTS-1:0] tlp;
  logic [CLIENT_W-1:0]         ring_client;
  logic [N-1:0]                ring_we;
  logic [N-1:0][ROW_W-1:0]     ring_row;
  logic [DATA_W-1:0]           ring_data;
  logic                        done_valid, ctx_valid;
  read_done_t                  done;
  read_ctx_t                   ctx;
  rest_now_t                   now;

  // No read request is given to RQ any more: a cycle after stop and hold, so that the choice between clients waits for
  // neither the hard block's wires nor a register far away.
  logic stopped_q, still_q;
  always_ff @(posedge clk) begin
    stopped_q <= stop;
    still_q   <= stop || hold;
  end

  // A client's clock stands still while it rests, in simulation. Settings reach it when they change.
  logic [NUM_CLIENTS-1:0] client_clk;
  logic [NUM_FN+4:0]      settings, settings_q;
  logic                   moved;
  assign settings = {silent, cfg_mrrs, stop, hold};
  assign moved    = settings != settings_q;
  always_ff @(posedge clk) settings_q <= settings;

  for (genvar i = 0; i < NUM_CLIENTS; i++) begin : g_client
    localparam int USER_W = CLIENTS[i].has_user ? READ_USER_W : 1;
    logic [N-1:0]      we;
    logic [USER_W-1:0] user, row_user;
    assign we            = (ring_client == CLIENT_W'(i)) ? ring_we : '0;
    assign user          = CLIENTS[i].has_user ? USER_W'(s_read_user[i]) : '0;
    assign m_row_user[i] = CLIENTS[i].has_user ? READ_USER_W'(row_user) : '0;
    db_clock_gate i_clk (
      .clk, .awake(rst || moved || fence || !client_fenced[i] || s_read_valid[i] || !client_idle[i] ||
                   client_waiting[i] || m_row_valid[i] || we != '0 || (done_valid && done.client == 3'(i))),
      .m_clk(client_clk[i]));
    db_pcie_read #(
      .NUM_FN(NUM_FN), .DATA_W(DATA_W), .TAG_BASE(tag_base(i)), .NUM_TAGS(1 << CLIENTS[i].tags_log2),
      .RING_DW(1 << CLIENTS[i].ring_dw_log2), .USER_W(USER_W), .CHUNK_BYTES(int'(CLIENTS[i].chunk_bytes)),
      .RING_W(RING_W), .OWNED(OWNED[i])
    ) i_read (
      .clk(client_clk[i]), .rst, .cfg_mrrs, .silent, .stop(still_q), .idle(client_idle[i]), .waiting(client_waiting[i]),
      .fence, .fenced(client_fenced[i]), .now,
      .s_read_valid(s_read_valid[i]), .s_read_ready(s_read_ready[i]), .s_read(s_read[i]), .s_read_user(user),
      .s_read_owner(s_read_owner[i]), .m_owner(m_read_owner[i]), .s_owner_void(s_read_void[i]),
      .m_read_valid(tlp_valid[i]), .m_read_ready(tlp_ready[i]), .m_read(tlp[i]),
      .s_ring_we(we), .s_ring_row(ring_row), .s_ring_data(ring_data),
      .s_done_valid(done_valid && done.client == 3'(i)), .s_done(done),
      .m_row_valid(m_row_valid[i]), .m_row_ready(m_row_ready[i]), .m_row_data(m_row_data[i]),
      .m_row_info(m_row_info[i]), .m_row_user(row_user)
    );
  end

  db_pcie_rc #(
    .DATA_W(DATA_W), .NUM_CLIENTS(NUM_CLIENTS), .TAG_W(TAG_W), .RING_W(RING_W), .PEERS(PEERS),
    .CMB(CMB_LOG2 != 0)
  ) i_rc (
    .clk, .rst, .s_rc_valid, .s_rc_ready, .s_rc, .link_rst, .s_cmb_valid, .s_cmb_ready, .s_cmb,
    .s_ctx_valid(ctx_valid), .s_ctx(ctx), .m_ring_client(ring_client),
    .m_ring_we(ring_we), .m_ring_row(ring_row), .m_ring_data(ring_data), .m_done_valid(done_valid), .m_done(done),
    .m_late(late_completion)
  );
  db_pcie_read_clock #(.EPOCH_LOG2(EPOCH_LOG2)) i_read_clock (
    .clk, .rst(link_rst), .time_us, .lost(done_valid && done.lost), .now
  );

  // ---- RQ: 0 data, 1 posts, 2 read requests, 3 peers'. What is ours is at rest when the controller is reset, what is the
  // peers' is not: with them the way of RQ is reset with the link alone.
  localparam int SOURCES = PEERS ? 4 : 3;
  logic       way_rst;
  logic [3:0] source_valid, source_ready;
  rq_t  [3:0] source;
  assign way_rst         = PEERS ? link_rst : rst;
  assign source_valid[3] = PEERS && s_peer_valid;
  assign source[3]       = s_peer;
  assign s_peer_ready    = source_ready[3];
  if (!PEERS) begin : g_no_peers
    assign source_ready[3] = 1'b0;
  end

  db_pcie_write #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .USER_W(WRITE_USER_W)) i_write (
    .clk, .rst, .idle(write_idle), .cfg_mps, .silent, .s_seg_valid, .s_seg_ready, .s_seg, .s_seg_user, .s_row_valid,
    .s_row_ready, .s_row_data, .s_row_info, .m_rq_valid(source_valid[0]), .m_rq_ready(source_ready[0]),
    .m_rq(source[0]), .m_user(m_write_user), .s_user_void(s_write_void), .fence, .fenced(write_fenced), .m_done_valid,
    .m_done_ready, .m_done_user, .m_done_err
  );
  db_pcie_post #(.NUM_FN(NUM_FN), .DATA_W(DATA_W)) i_post (
    .clk, .rst, .silent, .s_post_valid, .s_post_ready, .s_post, .m_rq_valid(source_valid[1]),
    .m_rq_ready(source_ready[1]),
    .m_rq(source[1])
  );
  db_pcie_read_mux #(.DATA_W(DATA_W), .NUM_CLIENTS(NUM_CLIENTS)) i_read_mux (
    .clk, .rst, .s_read_valid(tlp_valid), .s_read_ready(tlp_ready), .s_read(tlp), .m_rq_valid(source_valid[2]),
    .m_rq_ready(source_ready[2]), .m_rq(source[2]), .m_ctx_valid(ctx_valid), .m_ctx(ctx)
  );

  logic       hold_reads, hold_writes, rq_idle, mux_idle, mux_valid, mux_ready, part_idle, link_valid, link_ready;
  logic [SOURCES-1:0] begun;
  rq_t                mux, link;

  db_pcie_rq_mux #(.DATA_W(DATA_W), .N(SOURCES)) i_rq_mux (
    .clk, .rst(way_rst), .stop(SOURCES'({peer_stop, hold_reads, {2{hold_writes}}})), .idle(mux_idle), .begun,
    .s_rq_valid(source_valid[SOURCES-1:0]), .s_rq_ready(source_ready[SOURCES-1:0]), .s_rq(source[SOURCES-1:0]),
    .m_rq_valid(mux_valid), .m_rq_ready(mux_ready), .m_rq(mux)
  );
  // What is for card memory goes there.
  logic posted, part_pop;
  if (CMB_LOG2 != 0) begin : g_cmb
    db_pcie_cmb_rq #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .REGION_LOG2(CMB_LOG2), .TOP(CMB_TOP)) i_part (
      .clk, .rst(link_rst), .set_valid(cmb_set_valid), .set_place(cmb_set_place), .set(cmb_set), .clear(cmb_clear),
      .base_invalid(cmb_base_invalid), .idle(part_idle), .link_write(cmb_link_write), .pop(part_pop),
      .s_rq_valid(mux_valid), .s_rq_ready(mux_ready), .s_rq(mux), .m_rq_valid(link_valid), .m_rq_ready(link_ready),
      .m_rq(link), .m_cq_valid(m_cmb_valid), .m_cq_ready(m_cmb_ready), .m_cq(m_cmb));
    logic unused_ok;
    assign unused_ok = &{1'b0, begun};
    assign posted    = cmb_link_write;
  end else begin : g_no_cmb
    logic unused_ok;
    assign unused_ok        = &{1'b0, cmb_set_valid, cmb_set_place, cmb_set, cmb_clear, m_cmb_ready};
    assign cmb_base_invalid = '0;
    assign cmb_link_write   = 1'b0;
    assign m_cmb_valid      = 1'b0;
    assign m_cmb            = '0;
    assign link_valid       = mux_valid;
    assign link             = mux;
    assign mux_ready        = link_ready;
    assign part_idle        = 1'b1;
    assign part_pop         = 1'b0;
    assign posted           = begun[0] || begun[1];
  end
  if (DATA_W == 512) begin : g_straddle
    logic straddle_idle;
    db_pcie_rq_straddle #(.PEERS(PEERS)) i_rq_straddle (
      .clk, .rst(way_rst), .idle(straddle_idle), .s_rq_valid(link_valid), .s_rq_ready(link_ready), .s_rq(link),
      .m_rq_valid,
      .m_rq_ready, .m_rq
    );
    assign rq_idle = mux_idle && part_idle && straddle_idle;
  end else begin : g_plain
    assign m_rq       = link;
    assign m_rq_valid = link_valid;
    assign link_ready = m_rq_ready;
    assign rq_idle    = mux_idle && part_idle;
  end

  logic landed;
  db_pcie_rq_landed i_rq_landed (
    .clk, .rst, .s_write(posted), .s_seq(s_rq_seq), .forget(hold && rq_idle), .landed
  );

  // ---- a fence: with one function a reset waits for quiet
  logic landed_fenced;
  assign fenced = client_fenced == '1 && landed_fenced;
  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok     = &{1'b0, part_pop};
    assign landed_fenced = write_fenced;
  end else begin : g_many
    db_pcie_landed_fence #(.BEATS(CMB_LOG2 != 0 ? 18 : 0), .PATIENCE_LOG2(PATIENCE_LOG2)) i_landed_fence (
      .clk, .rst, .time_us, .fence, .fenced(landed_fenced), .sent(write_fenced), .s_post_valid(source_valid[1]),
      .s_post_end(source_valid[1] && source_ready[1] && source[1].tlast), .s_beat(part_pop),
      .s_rest(mux_idle && part_idle), .s_write(posted), .s_stall(m_rq_valid && !m_rq_ready), .s_seq(s_rq_seq)
    );
  end

  // ---- rest
  logic reads_ended;
  assign reads_ended = client_idle == '1;
  db_pcie_quiet #(.PEERS(PEERS)) i_quiet (
    .clk, .rst, .stop(stop && stopped_q), .hold, .reads_ended, .rq_idle, .landed, .hold_reads, .hold_writes, .quiet
  );

  assign idle = reads_ended && client_waiting == '0 && write_idle && rq_idle && source_valid[SOURCES-1:0] == '0 &&
                m_row_valid == '0 &&
                s_read_valid == '0 && !s_seg_valid && !s_row_valid && !m_done_valid;
endmodule
