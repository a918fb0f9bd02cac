// SPDX-License-Identifier: Apache-2.0
// Target side of the root port (CQ): writes of the drive become row writes, what wants an answer becomes a request.
//
// A packet's payload starts at any lane of a row, so it is turned: a row takes its lanes from this beat and the one
// before. What is left after the last beat goes out as a row of its own; it costs a cycle of CQ at 256 and 512 bits,
// none at 128, where the next packet starts with a beat of descriptor alone.
// With SIDE payload comes alone, from lane 0 on (db_pcie_cq_straddle): what begins with a row is not turned.
// Byte enables are those of tuser (byte_en), so a row write may enable any bytes, or none. Writes outside the window
// are dropped (m_bad); a damaged one (discontinue, in its last beat) loses its last row, but rows before it have been
// written: m_damaged says that something in the window is not what the drive meant.
// Latency: 1 cycle, both ways. Throughput: a beat every cycle but for that bubble. tready is a register: after
// stall rose up to 3 row writes follow, the one of that cycle included; after req_room fell up to 2 requests.
`include "db_pcie_types.svh"
module db_pcie_root_rx
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int         DATA_W      = 128,    ///< bits of a beat and of a row: 128, 256 or 512
  parameter int         WINDOW_LOG2 = 26,     ///< log2 of the window's bytes
  /// the window is that of several drives, side by side: log2 of the bytes of each, at most WINDOW_LOG2
  parameter int         DRIVE_LOG2  = WINDOW_LOG2,
  parameter logic [7:0] READABLE    = 8'h3f,  ///< eighths of a drive's window, lowest first, that answer reads
  parameter bit         SIDE        = 1'b0,   ///< 512 bits: the descriptor stands beside the payload (cq_side_t)
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W)
) (
  input  logic                   clk,
  input  logic                   rst,
  /// a multiple of the window's size
  input  logic [63:0]            window_base,

  input  logic                   s_cq_valid,
  output logic                   s_cq_ready,
  input  cq_t                    s_cq,
  /// in a packet's first beat: who asks may touch this place of the window; else it is outside for him
  input  logic                   s_own,

  /// a row of the window is written; always taken
  output logic                   m_wr_valid,
  output logic [WINDOW_LOG2-1:0] m_wr_addr,
  output logic [DATA_W-1:0]      m_wr_data,
  output logic [DATA_W/8-1:0]    m_wr_be,
  /// no further beat for now
  input  logic                   stall,

  /// always taken; not a register: goes straight into a memory
  output logic                   m_req_valid,
  output window_req_t            m_req,
  /// 2 more can be taken
  input  logic                   req_room,
  /// pulse: a request came damaged, and goes nowhere
  output logic                   m_req_drop,

  /// pulse: a request outside the window or not supported
  output logic                   m_bad,
  /// pulse: a write to the window was damaged
  output logic                   m_damaged
);
  localparam int N   = DATA_W / 32;
  localparam int LN  = $clog2(N);
  localparam int LSB = LN + 2;
  localparam int BE0 = (DATA_W == 512) ? 16 : 8;  // where byte_en stands in tuser
  localparam int HEAD_DW = SIDE ? 0 : CQ_DW;

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  logic              ready_q, mid_q, store_q, spill_q;
  logic [LN-1:0]     turn_q;
  logic [WINDOW_LOG2-1:LSB] row_q;                 // the next row to be written

  // ---- the request
  cq_desc_t       desc;
  logic [182:0]   user;
  logic           take, first, in_window, is_write, posted, damaged, store;
  logic [LN-1:0]  turn;                       // row lane of a beat's lane 0
  logic [4*N-1:0] be_in;                      // of the beat
  logic [3:0]     first_be, last_be;

  assign user      = 183'(s_cq.tuser);
  if (SIDE) begin : g_side
    cq_side_t side;
    assign side     = cq_side_t'(user[$bits(cq_side_t)-1:0]);
    assign desc     = side.desc;
    assign damaged  = side.damaged && s_cq.tlast;
    assign first_be = side.first_be;
    assign last_be  = side.last_be;
    assign be_in    = cq_row_be(first, s_cq.tlast, s_cq.tkeep, first_be, last_be);
  end else begin : g_packet
    assign desc     = s_cq.tdata[127:0];
    assign damaged  = cq_discontinue(DATA_W, user);
    assign first_be = cq_first_be(user);
    assign last_be  = cq_last_be(DATA_W, user);
    assign be_in    = user[BE0+:4*N];
  end
  assign take      = s_cq_valid && ready_q;
  assign first     = !mid_q;
  assign in_window = s_own && desc.addr_dw[61:WINDOW_LOG2-2] == window_base[63:WINDOW_LOG2];
  assign is_write  = desc.req_type == REQ_MEM_WR;
  assign posted    = is_write || desc.req_type[3:2] == REQ_MSG[3:2];
  assign store     = first ? is_write && in_window : store_q;

  assign m_req_valid = take && first && !posted && !damaged;
  always_comb begin
    m_req              = '0;
    m_req.bad          = desc.req_type != REQ_MEM_RD || !in_window ||
                         !READABLE[desc.addr_dw[DRIVE_LOG2-3-:3]];
    m_req.attr         = desc.attr;
    m_req.tc           = desc.tc;
    m_req.tag          = desc.tag;
    m_req.requester_id = desc.requester_id;
    m_req.req_type     = desc.req_type;
    m_req.dwords       = desc.dword_count;
    m_req.addr_dw      = desc.addr_dw;
    m_req.last_be      = last_be;
    m_req.first_be     = first_be;
  end

  // ---- rows
  logic          own;                         // the first beat has something for a row of its own
  logic          write, spill, after;
  logic [4:0]    lanes_in [N];                // dwords of the beat as {something, byte enables}

  if (N == 4) begin : g_first_narrow
    assign turn = turn_q;
    assign own  = 1'b0;
  end else begin : g_first_wide
    assign turn = (first && !spill_q) ? desc.addr_dw[LN-1:0] - LN'(HEAD_DW) : turn_q;
    assign own  = SIDE || desc.addr_dw[LN-1:2] != '0;
  end

  always_comb begin
    after = 1'b0;
    for (int l = 0; l < N; l++) begin
      lanes_in[l] = {s_cq.tkeep[l], be_in[4*l +: 4]};
      if (!take || (first && l < HEAD_DW)) lanes_in[l] = '0;
      if (s_cq.tkeep[l] && (LN+1)'(l) + (LN+1)'(turn) >= (LN+1)'(N)) after = 1'b1;
    end
  end

  assign write = take && store && !damaged && (first ? own : 1'b1);
  assign spill = take && store && !damaged && s_cq.tlast && after && !(first && N == 4);

  // Lane o of a row is dword N + o - turn of {this beat, the one before}; turned by whole fours, then by the rest.
  logic [N-1:1][31:0] prev_data_q;
  logic [N-1:1][3:0]  prev_be_q;
  logic [35:0]        both   [2*N];
  logic [35:0]        coarse [N+3];            // [3 + o]
  logic [35:0]        row    [N];

  // As in db_pcie_root_beats: another order for each lane.
  function automatic logic [35:0] turned(input int o, input logic [1:0] t, input logic [35:0] c0, input logic [35:0] c1,
                                         input logic [35:0] c2, input logic [35:0] c3);
    if (N == 8 || o % 4 == 0) return t[1] ? (t[0] ? c3 : c2) : t[0] ? c1 : c0;
    if (o % 4 == 2) return t[1] ^ t[0] ? (t[1] ? c2 : c1) : t[1] ? c3 : c0;
    return t[0] ? (t[1] ? c3 : c1) : t[1] ? c2 : c0;
  endfunction

  always_comb begin
    both[0] = '0;
    for (int l = 1; l < N; l++) both[l] = {prev_be_q[l] & {4{!(take && first && N > 4)}}, prev_data_q[l]};
    for (int l = 0; l < N; l++) both[N+l] = {lanes_in[l][3:0], s_cq.tdata[32*l +: 32]};
    for (int j = 0; j < N + 3; j++) begin
      coarse[j] = '0;
      for (int c = 0; c < N / 4; c++) begin
        if (int'(turn) >> 2 == c && N + j - 3 - 4*c >= 0) coarse[j] = both[N + j - 3 - 4*c];
      end
    end
    for (int o = 0; o < N; o++) begin
      row[o] = turned(o, turn[1:0], coarse[o+3], coarse[o+2], coarse[o+1], coarse[o]);
    end
  end

  // ---- state
  logic [WINDOW_LOG2-1:LSB] row_at;
  assign row_at = (take && first && N > 4) ? desc.addr_dw[WINDOW_LOG2-3:LN] : row_q;

  always_ff @(posedge clk) begin
    ready_q <= req_room && !stall && !(spill && N > 4);
    spill_q <= spill;
    if (take) begin
      mid_q   <= !s_cq.tlast;
      store_q <= store && !damaged;
      turn_q  <= first ? desc.addr_dw[LN-1:0] - LN'(HEAD_DW) : turn_q;
      for (int l = 1; l < N; l++) begin
        prev_data_q[l] <= s_cq.tdata[32*l +: 32];
        prev_be_q[l]   <= lanes_in[l][3:0];
      end
      row_q <= first ? desc.addr_dw[WINDOW_LOG2-3:LN] : row_q;
      if (first ? own : 1'b1) row_q[11:LSB] <= row_at[11:LSB] + 1'b1;  // a write never leaves its page
    end
    m_wr_valid <= write || spill_q;
    m_wr_addr  <= {row_at, LSB'(0)};
    if (spill_q) m_wr_addr <= {row_q, LSB'(0)};
    for (int o = 0; o < N; o++) begin
      m_wr_data[32*o +: 32] <= row[o][31:0];
      m_wr_be[4*o +: 4]     <= row[o][35:32];
    end
    m_bad      <= take && first && (is_write ? !in_window : m_req_valid && m_req.bad);
    m_damaged  <= take && store && damaged;
    m_req_drop <= take && first && !posted && damaged;
    if (rst) begin
      ready_q    <= 1'b0;
      mid_q      <= 1'b0;
      spill_q    <= 1'b0;
      m_wr_valid <= 1'b0;
      m_bad      <= 1'b0;
      m_damaged  <= 1'b0;
      m_req_drop <= 1'b0;
    end
  end

  assign s_cq_ready = ready_q;
endmodule
