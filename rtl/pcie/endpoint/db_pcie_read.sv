// SPDX-License-Identifier: Apache-2.0
// One read client: host reads in, an in-order stream of packets out. Wiring only:
//
//   s_read -> _split (chunks) -> _alloc (tag, place in the ring) -> m_read
//   s_done -> _rest (tags of which completions may still come: not given again for a while)
//          -> _retire (tags end in order) -> _fence
//                                         -> _rows (which row may leave) -> _ring -> m_row
//                                        db_pcie_rc's ring writes -----------^
// What: each chunk takes the next tag of a circular range and the next dwords of a ring memory, and is sent. Completions
//   land in the ring in any order (db_pcie_rc); tags retire in order, and rows leave when all their dwords have arrived.
//   A chunk that fails, or was given with drop, or whose owner has become void, keeps its place; its packet has err from that row on (the data there is
//   arbitrary). A packet may be longer than the ring.
// Why its own ring and tags: no client waits behind another's data.
// Latency: 2 cycles from s_read to m_read; 2 cycles from s_done of the oldest tag to its first row on m_row.
// Throughput: a chunk every other cycle in, one retired tag and one row a cycle out.
module db_pcie_read
  import db_mem_pkg::*, db_pcie_block_pkg::*;
#(
  parameter int NUM_FN      = 1,    ///< functions, 1..17
  parameter int DATA_W      = 256,  ///< bits of a row: 128, 256 or 512
  parameter int TAG_BASE    = 0,    ///< first tag; TAG_BASE + NUM_TAGS <= 256
  parameter int NUM_TAGS    = 32,   ///< reads in flight, a power of two, 2..256
  parameter int RING_DW     = 4096, ///< ring size in dwords, a power of two, at least 2 chunks
  parameter int USER_W      = 8,    ///< bits of the packet's user field, at least 1
  parameter int CHUNK_BYTES = 512,  ///< longest read request: a power of two, 128..4096
  parameter int MAX_PKTS    = 32,   ///< packets inside at once, a power of two, at least 2
  parameter bit OWNED       = 1'b1, ///< requests have owners, and there is a fence
  parameter int RING_W      = $clog2(RING_DW),  ///< log2 of the dwords of the largest client's ring
  localparam int N          = DATA_W / 32,
  localparam int LANE_W     = $clog2(N),
  localparam int PORT_ROW_W = RING_W - LANE_W
) (
  input  logic                           clk,
  input  logic                           rst,

  /// 0: 128 bytes ... 5: 4096
  input  logic [2:0]                     cfg_mrrs,
  /// functions that ask nothing: what has no tag yet of their requests is dropped
  input  logic [NUM_FN-1:0]              silent,
  /// from this cycle on, no request is sent
  input  logic                           stop,
  /// no request is outstanding or about to leave; with stop it will stay so
  output logic                           idle,
  /// pulse; fenced, from the cycle after it on: every request that was given a tag before has ended
  input  logic                           fence,
  output logic                           fenced,
  /// a request waits for room, or for a tag
  output logic                           waiting,
  input  rest_now_t                      now,

  input  logic                           s_read_valid,
  output logic                           s_read_ready,
  input  segment_t                       s_read,
  /// the packet's, taken with first
  input  logic [USER_W-1:0]              s_read_user,
  /// whose request it is
  input  logic [7:0]                     s_read_owner,
  /// of the request at work, or that comes; void, in the same cycle: what has no tag yet is dropped
  output logic [7:0]                     m_owner,
  input  logic                           s_owner_void,

  output logic                           m_read_valid,
  input  logic                           m_read_ready,
  output read_tlp_t                      m_read,

  /// for this client only: lane k goes to its own row
  input  logic [N-1:0]                   s_ring_we,
  input  logic [N-1:0][PORT_ROW_W-1:0]   s_ring_row,
  input  logic [DATA_W-1:0]              s_ring_data,
  input  logic                           s_done_valid,
  input  read_done_t                     s_done,

  output logic                           m_row_valid,
  input  logic                           m_row_ready,
  output logic [DATA_W-1:0]              m_row_data,
  output row_info_t                      m_row_info,
  /// the packet's, in all its rows
  output logic [USER_W-1:0]              m_row_user
);
  localparam int OWN_RING_W = $clog2(RING_DW);
  localparam int ROW_W      = OWN_RING_W - LANE_W;
  localparam int TAG_W      = $clog2(NUM_TAGS);

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (NUM_TAGS < 2 || NUM_TAGS != 2 ** TAG_W || TAG_BASE < 0 || TAG_BASE + NUM_TAGS > 256) begin : g_bad_tags
    $error("%m: NUM_TAGS (%0d) must be a power of two >= 2 and TAG_BASE (%0d) + NUM_TAGS <= 256", NUM_TAGS, TAG_BASE);
  end
  if (RING_DW != 2 ** OWN_RING_W || RING_DW * 2 < CHUNK_BYTES || RING_DW < 4 * N) begin : g_bad_ring
    $error("%m: RING_DW (%0d) must be a power of two, at least 2 chunks and 4 rows", RING_DW);
  end
  if (RING_W < OWN_RING_W || RING_W > MAX_RING_W) begin : g_bad_ring_w
    $error("%m: RING_W (%0d) must be at least log2(RING_DW), at most %0d", RING_W, MAX_RING_W);
  end
  if (MAX_PKTS < 2 || MAX_PKTS != 2 ** $clog2(MAX_PKTS)) begin : g_bad_pkts
    $error("%m: MAX_PKTS must be a power of two, at least 2, not %0d", MAX_PKTS);
  end

  // ---- requests
  logic                chunk_valid, chunk_ready, take;
  segment_t            chunk;
  logic [USER_W-1:0]   chunk_user;
  logic [TAG_W:0]      take_tag, retire_tag;
  logic [OWN_RING_W:0] take_end, retire_end;
  logic [ROW_W:0]      gone_row;
  logic                retire_valid, retire_last, retire_err, resting, skip, lost_valid;
  logic [TAG_W-1:0]    lost_tag;

  logic [$clog2(MAX_PKTS):0] gone_packets;

  db_pcie_read_split #(.NUM_FN(NUM_FN), .USER_W(USER_W), .CHUNK_BYTES(CHUNK_BYTES), .OWNED(OWNED)) i_split (
    .clk, .rst, .cfg_mrrs, .silent, .s_read_valid, .s_read_ready, .s_read, .s_read_user, .s_read_owner, .m_owner,
    .s_owner_void,
    .m_chunk_valid(chunk_valid),
    .m_chunk_ready(chunk_ready), .m_chunk(chunk), .m_chunk_user(chunk_user)
  );
  db_pcie_read_alloc #(
    .DATA_W(DATA_W), .TAG_BASE(TAG_BASE), .NUM_TAGS(NUM_TAGS), .RING_DW(RING_DW), .CHUNK_BYTES(CHUNK_BYTES),
    .MAX_PKTS(MAX_PKTS)
  ) i_alloc (
    .clk, .rst, .stop, .s_chunk_valid(chunk_valid), .s_chunk_ready(chunk_ready), .s_chunk(chunk), .m_read_valid,
    .m_read_ready, .m_read, .take, .take_tag, .resting, .skip, .take_end, .retire_tag, .gone_row,
    .gone_packets
  );
  db_pcie_read_rest #(.NUM_TAGS(NUM_TAGS)) i_rest (
    .clk, .now, .s_lost_valid(lost_valid), .s_lost(lost_tag), .tag(take_tag[TAG_W-1:0]), .take, .resting
  );
  assign waiting = chunk_valid;

  // ---- answers
  db_pcie_read_retire #(.TAG_BASE(TAG_BASE), .NUM_TAGS(NUM_TAGS), .RING_W(OWN_RING_W)) i_retire (
    .clk, .rst, .take, .take_tag, .take_end, .take_last(chunk.last), .take_drop(chunk.drop), .skip,
    .sent(m_read_valid && m_read_ready), .waiting(m_read_valid), .idle, .s_done_valid, .s_done,
    .m_lost_valid(lost_valid), .m_lost(lost_tag), .retire_tag, .m_retire_valid(retire_valid),
    .m_retire_last(retire_last), .m_retire_err(retire_err), .m_retire_end(retire_end)
  );

  if (OWNED) begin : g_fence
    db_pcie_read_fence #(.NUM_TAGS(NUM_TAGS)) i_fence (.clk, .rst, .take_tag, .retire_tag, .fence, .fenced);
  end else begin : g_no_fence
    logic unused_ok;
    assign unused_ok = &{1'b0, fence};
    assign fenced    = 1'b1;
  end

  logic              row_valid, row_ready, row_last, row_err;
  logic [ROW_W-1:0]  row;
  logic [LANE_W:0]   row_dw, out_dw;
  logic [USER_W-1:0] row_user;

  db_pcie_read_rows #(.DATA_W(DATA_W), .RING_DW(RING_DW), .USER_W(USER_W), .MAX_PKTS(MAX_PKTS)) i_rows (
    .clk, .rst, .s_packet_valid(take && chunk.first), .s_packet_user(chunk_user), .s_retire_valid(retire_valid),
    .s_retire_last(retire_last), .s_retire_err(retire_err), .s_retire_end(retire_end), .m_row_valid(row_valid),
    .m_row_ready(row_ready), .m_row(row), .m_row_last(row_last), .m_row_err(row_err), .m_row_dw(row_dw),
    .m_row_user(row_user), .gone_row, .gone_packets
  );

  logic [N-1:0][ROW_W-1:0] ring_row;
  always_comb for (int k = 0; k < N; k++) ring_row[k] = s_ring_row[k][ROW_W-1:0];

  db_pcie_read_ring #(.DATA_W(DATA_W), .RING_DW(RING_DW), .META_W(USER_W + LANE_W + 3)) i_ring (
    .clk, .rst, .s_ring_we, .s_ring_row(ring_row), .s_ring_data, .s_row_valid(row_valid), .s_row_ready(row_ready),
    .s_row(row), .s_row_meta({row_user, row_err, row_last, row_dw}), .m_row_valid, .m_row_ready, .m_row_data,
    .m_row_meta({m_row_user, m_row_info.err, m_row_info.last, out_dw})
  );
  assign m_row_info.dw = 5'(out_dw);
endmodule
