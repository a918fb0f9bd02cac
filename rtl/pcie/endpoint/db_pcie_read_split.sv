// SPDX-License-Identifier: Apache-2.0
// Cuts a host read into chunks that one read request may ask for: at most min(MRRS, CHUNK_BYTES) bytes, cut at
// multiples of it, so that no chunk crosses a boundary that the root complex cares about.
//
// Latency: 1 cycle. Throughput: one chunk a cycle, and one cycle more for each request.
module db_pcie_read_split #(
    parameter int USER_W      = 8,    // bits of the packet's user field
    parameter int CHUNK_BYTES = 512   // longest chunk, bytes: 128, 256, 512, 1024, 2048 or 4096
) (
    input logic clk,
    input logic rst,

    input logic [2:0] cfg_mrrs,  // PG213: 0 = 128 bytes ... 5 = 4096

    input  logic              s_req_valid,
    output logic              s_req_ready,
    input  logic [       7:0] s_req_fn,
    input  logic [      63:0] s_req_addr,
    input  logic [      12:0] s_req_len,
    input  logic              s_req_first,
    input  logic              s_req_last,
    input  logic              s_req_drop,
    input  logic [USER_W-1:0] s_req_user,

    output logic              m_chunk_valid,
    input  logic              m_chunk_ready,
    output logic [       7:0] m_chunk_fn,
    output logic [      63:0] m_chunk_addr,
    output logic [      10:0] m_chunk_len_dw,
    output logic              m_chunk_first,   // of the packet
    output logic              m_chunk_last,    // of the packet
    output logic              m_chunk_drop,
    output logic [USER_W-1:0] m_chunk_user     // with first
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

  // The request is worked off in the output register: it holds a chunk, left_q what comes after it.
  logic        req_last_q;
  logic [10:0] left_q;         // dwords
  logic [10:0] room, rest;     // dwords to the first cut; from there on, in one chunk
  logic        all_in, more;   // the request, what is left, needs no other cut

  assign room        = {1'b0, ~s_req_addr[11:2] & mask_q} + 11'd1;
  assign rest        = {1'b0, mask_q} + 11'd1;
  assign all_in      = s_req_len[12:2] <= room;
  assign more        = left_q > rest;
  assign s_req_ready = !m_chunk_valid;

  always_ff @(posedge clk) begin
    mask_q <= mask_d;
    if (s_req_ready) begin
      m_chunk_valid  <= s_req_valid;
      m_chunk_fn     <= s_req_fn;
      m_chunk_addr   <= {s_req_addr[63:2], 2'b00};
      m_chunk_len_dw <= all_in ? s_req_len[12:2] : room;
      m_chunk_first  <= s_req_first;
      m_chunk_last   <= s_req_last && all_in;
      m_chunk_drop   <= s_req_drop;
      m_chunk_user   <= s_req_user;
      req_last_q     <= s_req_last;
      left_q         <= all_in ? '0 : s_req_len[12:2] - room;
    end else if (m_chunk_ready) begin
      m_chunk_valid      <= left_q != '0;
      m_chunk_addr[11:2] <= (m_chunk_addr[11:2] | mask_q) + 10'd1;  // a request stays inside a 4 KiB page
      m_chunk_len_dw     <= more ? rest : left_q;
      m_chunk_first      <= 1'b0;
      m_chunk_last       <= req_last_q && !more;
      left_q             <= more ? left_q - rest : '0;
    end
    if (rst) m_chunk_valid <= 1'b0;
  end

endmodule
