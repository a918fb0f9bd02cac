// SPDX-License-Identifier: Apache-2.0
// Cuts a host read into chunks that one read request may ask for: at most min(MRRS, CHUNK_BYTES) bytes, cut at
// multiples of it, so that no chunk crosses a boundary that the root complex cares about.
//
// Latency: 1 cycle. Throughput: one chunk a cycle, and one cycle more for each request.
module db_pcie_read_split
  import db_mem_pkg::*;
#(
  parameter int NUM_FN      = 1,   ///< functions, 1..17
  parameter int USER_W      = 8,   ///< bits of the packet's user field
  parameter int CHUNK_BYTES = 512, ///< longest chunk: a power of two, 128..4096
  parameter bit OWNED       = 1'b1 ///< requests have owners
) (
  input  logic              clk,
  input  logic              rst,

  /// 0: 128 bytes ... 5: 4096
  input  logic [2:0]        cfg_mrrs,
  /// functions that ask nothing: what is left of their requests is dropped
  input  logic [NUM_FN-1:0] silent,

  input  logic              s_read_valid,
  output logic              s_read_ready,
  input  segment_t          s_read,
  input  logic [USER_W-1:0] s_read_user,
  input  logic [7:0]        s_read_owner,
  /// whose request is at work, or comes; void: what is left of it is dropped
  output logic [7:0]        m_owner,
  input  logic              s_owner_void,

  output logic              m_chunk_valid,
  input  logic              m_chunk_ready,
  /// first and last are of the packet, as those of s_read
  output segment_t          m_chunk,
  /// with first
  output logic [USER_W-1:0] m_chunk_user
);
  localparam int CHUNK_LOG2 = $clog2(CHUNK_BYTES);

  if (CHUNK_BYTES < 128 || CHUNK_BYTES > 4096 || CHUNK_BYTES != 2 ** CHUNK_LOG2) begin : g_bad_chunk
    $error("%m: CHUNK_BYTES must be a power of two, 128..4096, not %0d", CHUNK_BYTES);
  end

  // Dword offset inside a chunk: mask_q has ones in its bits.
  logic [9:0] mask_q, mask_d;
  always_comb begin
    for (int i = 0; i < 10; i++) mask_d[i] = (i < CHUNK_LOG2 - 2) && (4'(i) < 4'(cfg_mrrs) + 4'd5);
  end

  logic mute;
  db_pcie_mute #(.NUM_FN(NUM_FN)) i_mute (.clk, .silent, .fn(s_read_ready ? s_read.fn : m_chunk.fn), .mute);

  // The request is worked off in the output register: it holds a chunk, left_q what comes after it.
  logic        last_q;
  logic [7:0]  owner_q;
  logic [10:0] left_q;         // dwords
  logic [10:0] len;            // dwords of the request
  logic [10:0] room, rest;     // dwords to the first cut; from there on, in one chunk
  logic        all_in, more;   // the request, what is left, needs no other cut

  assign len          = s_read.len[12:2];
  assign room         = {1'b0, ~s_read.addr[11:2] & mask_q} + 11'd1;
  assign rest         = {1'b0, mask_q} + 11'd1;
  assign all_in       = len <= room;
  assign more         = left_q > rest;
  assign s_read_ready = !m_chunk_valid;
  assign m_owner      = !OWNED ? '0 : s_read_ready ? s_read_owner : owner_q;

  always_ff @(posedge clk) begin
    mask_q <= mask_d;
    if (s_read_ready) begin
      m_chunk_valid     <= s_read_valid;
      m_chunk           <= s_read;
      m_chunk.addr[1:0] <= 2'b00;
      m_chunk.len       <= {all_in ? len : room, 2'b00};
      m_chunk.last      <= s_read.last && all_in;
      m_chunk_user      <= s_read_user;
      owner_q           <= s_read_owner;
      last_q            <= s_read.last;
      left_q            <= all_in ? '0 : len - room;
    end else if (m_chunk_ready) begin
      m_chunk_valid      <= left_q != '0;
      m_chunk.addr[11:2] <= (m_chunk.addr[11:2] | mask_q) + 10'd1;  // a request stays inside a 4 KiB page
      m_chunk.len        <= {more ? rest : left_q, 2'b00};
      m_chunk.first      <= 1'b0;
      m_chunk.last       <= last_q && !more;
      left_q             <= more ? left_q - rest : '0;
    end
    m_chunk.drop <= (s_read_ready ? s_read.drop : m_chunk.drop) || (OWNED && s_owner_void) || mute;
    if (rst) m_chunk_valid <= 1'b0;
  end
endmodule
