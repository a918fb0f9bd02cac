// SPDX-License-Identifier: Apache-2.0
// Target side of the endpoint: turns memory requests to BAR 0 (CQ) into register accesses of one dword, answers on CC.
//
// One request at a time, a dword at a time, in address order; a read of up to 16 dwords gives one completion. An 8-byte
// access is two accesses, low dword first. Dwords without an enabled byte are not accessed: a read of zero length
// is answered with one dword of 0. Requests that are not supported (other BARs, over 16 dwords, I/O, atomic, locked)
// get a UR completion if they are non-posted (with the five dwords that PG213 wants behind the descriptor, for the
// error log; TPH fields 0) and vanish if they are posted; one that the hard block throws away (discontinue) is not answered,
// and of a write what came in beats before that is done. The address is the offset in the BAR: the bits above its
// aperture are cut off.
//
// Posted requests are taken whatever becomes of the answers (PCIe 2.4.1): an answer leaves by itself from a copy of its
// request's descriptor, and the hard block is given a credit for the next request that wants one (cq_np_req, PG213) when it
// has. Were it to bring one nevertheless, CQ would wait for the answer before.
// Latency: CQ to m_reg_valid 1 cycle; last m_reg_rvalid to CC 2 cycles. Throughput: a doorbell (write of 1 dword) every 2
// cycles with 256 or 512 bits and m_reg_ready high, every 3 with 128 bits.
`include "db_pcie_types.svh"
module db_pcie_bar
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W)
) (
  input  logic        clk,
  input  logic        rst,

  /// pulse: one request that wants an answer may come; of PG213's pcie_cq_np_req
  output logic        cq_np_req,
  input  logic        s_cq_valid,
  output logic        s_cq_ready,
  input  cq_t         s_cq,

  output logic        m_cc_valid,
  input  logic        m_cc_ready,
  output cc_t         m_cc,

  /// held until m_reg_ready
  output logic        m_reg_valid,
  input  logic        m_reg_ready,
  output reg_access_t m_reg,
  /// answer to a read, in a later cycle than it was taken in
  input  logic        m_reg_rvalid,
  input  logic [31:0] m_reg_rdata
);
  localparam int N = DATA_W / 32;
  localparam int LN = $clog2(N);
  localparam int MAX_DW = 16;
  localparam int BEATS = (MAX_DW + CC_DW + N - 1) / N;  // of the longest completion
  localparam int BEAT_W = $clog2(BEATS);
  localparam int UR_DW = 8;
  localparam int CC_USER_W = cc_user_w(DATA_W);

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  typedef enum logic [2:0] {
    ST_IDLE,
    ST_WAIT,    // a request that wants an answer waits for the one before, or is not supported
    ST_WRITE, ST_READ,
    ST_ANSWER,  // of a register
    ST_SKIP
  } state_e;

  state_e             state_q;
  cq_desc_t           desc_in;
  logic [7:0]         fn_q;
  logic [3:0]         last_be_q;
  logic [DATA_W-1:0]  beat_q;       // of a write
  logic               have_q;       // beat_q holds payload that was not used yet
  logic               ended_q;      // the packet's last beat was taken
  logic [LN-1:0]      lane_q;       // next payload dword in beat_q
  logic [15:0]        addr_q;
  logic [4:0]         left_q;       // dwords to do
  logic               last_dw_q;    // left_q is 1
  logic [3:0]         be_q;         // of the dword at hand
  logic               none_q;       // be_q is 0
  logic [4:0]         put_q;        // dwords done, plus those of the answer's descriptor
  logic               ur_q;
  logic               np_q;         // the request wants an answer
  logic               fresh_q;      // its descriptor, in beat_q, is not copied yet

  // ---- the answer's copy
  logic               cpl_q;        // an answer leaves
  cq_desc_t           desc_q;
  logic [3:0]         desc_first_be_q, desc_last_be_q;
  logic               desc_ur_q;

  // ---- the request
  logic [182:0] user_in;
  logic         cq_take, is_read, is_write, supported, discard, posted;
  logic [15:0]  addr_in;

  assign desc_in    = s_cq.tdata[127:0];
  assign user_in    = 183'(s_cq.tuser);
  assign discard    = cq_discontinue(DATA_W, user_in);
  assign is_read    = desc_in.req_type == REQ_MEM_RD;
  assign is_write   = desc_in.req_type == REQ_MEM_WR;
  assign posted     = is_write || desc_in.req_type[3:2] == REQ_MSG[3:2];
  assign supported  = desc_in.bar_id == 3'd0 && desc_in.dword_count != '0 && desc_in.dword_count <= 11'(MAX_DW);
  assign s_cq_ready = state_q == ST_IDLE || state_q == ST_SKIP || (state_q == ST_WRITE && !have_q);
  assign cq_take    = s_cq_valid && s_cq_ready;

  always_comb begin
    addr_in = '0;
    for (int i = 2; i < 16; i++) addr_in[i] = desc_in.addr_dw[i-2] && desc_in.bar_aperture > 6'(i);
  end

  // ---- the access
  logic next;

  assign next        = (state_q == ST_WRITE && have_q && (none_q || m_reg_ready)) || (state_q == ST_READ && none_q) ||
                       (state_q == ST_ANSWER && m_reg_rvalid);
  assign m_reg_valid = !none_q && ((state_q == ST_WRITE && have_q) || state_q == ST_READ);
  assign m_reg       = '{wr: state_q == ST_WRITE, fn: fn_q, addr: addr_q, be: be_q,
                         wdata: beat_q[32*lane_q +: 32]};

  // ---- the answer
  // Dword i of a completion goes to lane i % N of row i / N; the descriptor is added on the way out.
  logic [DATA_W-1:0]      row;
  logic [BEAT_W-1:0]      out_beat_q;
  logic [4:0]             out_left;      // dwords from this beat on
  logic                   out_end, out_free, out_load;
  cc_desc_t               hdr;
  logic [32*UR_DW-1:0]    ur_pkt;
  logic [DATA_W-1:0]      out;
  logic [4:0]             total;

  for (genvar l = 0; l < N; l++) begin : g_lane
    logic [31:0] mem_q[1 << BEAT_W];
    always_ff @(posedge clk) begin
      if (next && state_q != ST_WRITE && put_q[LN-1:0] == LN'(l)) begin
        mem_q[BEAT_W'(put_q >> LN)] <= none_q ? '0 : m_reg_rdata;
      end
    end
    assign row[32*l +: 32] = mem_q[out_beat_q];
  end

  logic [1:0]  first_byte;  // first enabled byte
  logic [1:0]  tail_bytes;  // disabled bytes at the end
  logic [3:0]  end_be;
  always_comb begin
    priority casez (desc_first_be_q)
      4'b???1: first_byte = 2'd0;
      4'b??10: first_byte = 2'd1;
      4'b?100: first_byte = 2'd2;
      4'b1000: first_byte = 2'd3;
      default: first_byte = 2'd0;
    endcase
    end_be = (desc_q.dword_count == 11'd1) ? desc_first_be_q : desc_last_be_q;
    priority casez (end_be)
      4'b1???: tail_bytes = 2'd0;
      4'b01??: tail_bytes = 2'd1;
      4'b001?: tail_bytes = 2'd2;
      default: tail_bytes = 2'd3;  // zero length counts as one byte
    endcase
    hdr              = '0;
    hdr.attr         = desc_q.attr;
    hdr.tc           = desc_q.tc;
    hdr.completer_fn = desc_q.target_fn;
    hdr.tag          = desc_q.tag;
    hdr.requester_id = desc_q.requester_id;
    hdr.status       = desc_ur_q ? CPL_UR : CPL_SC;
    hdr.dword_count  = desc_ur_q ? '0 : desc_q.dword_count;
    hdr.locked       = desc_q.req_type == REQ_MEM_RD_LK;
    hdr.byte_count   = 13'd4;
    hdr.at           = desc_q.at;
    if (desc_q.req_type inside {REQ_MEM_RD, REQ_MEM_RD_LK}) begin
      hdr.byte_count = {desc_q.dword_count, 2'b00} - 13'(first_byte) - 13'(tail_bytes);
      hdr.lower_addr = {desc_q.addr_dw[4:0], first_byte};
    end
  end

  assign ur_pkt   = {desc_q, 24'd0, desc_last_be_q, desc_first_be_q, hdr};
  assign total    = desc_ur_q ? 5'(UR_DW) : desc_q.dword_count[4:0] + 5'(CC_DW);
  assign out_left = total - (5'(out_beat_q) << LN);
  assign out_end  = out_left <= 5'(N);
  assign out_load = cpl_q && out_free;

  if (N == 4) begin : g_out_narrow
    always_comb begin
      out = row;
      if (desc_ur_q) out = out_beat_q[0] ? ur_pkt[255:128] : ur_pkt[127:0];
      else if (out_beat_q == '0) out[95:0] = hdr;
    end
  end else begin : g_out_wide
    always_comb begin
      out = row;
      if (desc_ur_q) out[255:0] = ur_pkt;
      else if (out_beat_q == '0) out[95:0] = hdr;
    end
  end

  // ---- state
  logic first_q, np_gone;  // np_gone: a request that would have wanted an answer ends without
  assign np_gone = cq_take && s_cq.tlast &&
                   (state_q == ST_IDLE ? discard && !posted : state_q == ST_SKIP && np_q && (!ur_q || discard));

  always_ff @(posedge clk) begin
    if (cq_take) begin
      beat_q  <= s_cq.tdata;
      ended_q <= s_cq.tlast;
    end
    if (next) begin
      left_q    <= left_q - 1'b1;
      last_dw_q <= left_q == 5'd2;
      be_q      <= (left_q == 5'd2) ? last_be_q : 4'hf;
      none_q    <= left_q == 5'd2 && last_be_q == '0;
      put_q     <= put_q + 1'b1;
      addr_q    <= addr_q + 16'd4;
      lane_q    <= lane_q + 1'b1;
    end
    if (fresh_q && !cpl_q) begin
      fresh_q         <= 1'b0;
      desc_q          <= beat_q[127:0];
      desc_first_be_q <= be_q;
      desc_last_be_q  <= last_be_q;
      desc_ur_q       <= ur_q;
    end
    if (!cpl_q) out_beat_q <= '0;
    if (out_load) begin
      out_beat_q <= out_beat_q + 1'b1;
      if (out_end) cpl_q <= 1'b0;
    end
    // one at the start, then one for each answer that has left, or will not be given
    cq_np_req <= first_q || (out_load && out_end) || np_gone;
    first_q   <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        fn_q       <= desc_in.target_fn;
        last_be_q  <= cq_last_be(DATA_W, user_in);
        addr_q     <= addr_in;
        left_q     <= desc_in.dword_count[4:0];
        last_dw_q  <= desc_in.dword_count == 11'd1;
        be_q       <= cq_first_be(user_in);
        none_q     <= cq_first_be(user_in) == '0;
        put_q      <= 5'(CC_DW);
        lane_q     <= LN'(CQ_DW);
        have_q     <= N > CQ_DW;
        ur_q       <= !discard && !posted && !(is_read && supported);
        np_q       <= !posted;
        if (cq_take) begin
          fresh_q <= !posted && !discard;
          if (discard) state_q <= s_cq.tlast ? ST_IDLE : ST_SKIP;
          else if (is_read && supported && !cpl_q) state_q <= ST_READ;
          else if (!posted) state_q <= ST_WAIT;
          else if (is_write && supported && !(N <= CQ_DW && s_cq.tlast)) state_q <= ST_WRITE;
          else if (!s_cq.tlast) state_q <= ST_SKIP;
        end
      end
      ST_WAIT: if (!cpl_q) begin
        state_q <= !ur_q ? ST_READ : ended_q ? ST_IDLE : ST_SKIP;
        cpl_q   <= ur_q && ended_q;
      end
      ST_WRITE: begin
        if (cq_take) begin
          have_q <= 1'b1;
          if (discard) state_q <= s_cq.tlast ? ST_IDLE : ST_SKIP;
        end
        if (next) begin
          if (lane_q == '1) have_q <= 1'b0;
          if (last_dw_q || (lane_q == '1 && ended_q)) state_q <= ended_q ? ST_IDLE : ST_SKIP;
        end
      end
      ST_READ: begin
        if (none_q) begin
          if (last_dw_q) begin
            state_q <= ST_IDLE;
            cpl_q   <= 1'b1;
          end
        end else if (m_reg_ready) begin
          state_q <= ST_ANSWER;
        end
      end
      ST_ANSWER: if (m_reg_rvalid) begin
        state_q <= last_dw_q ? ST_IDLE : ST_READ;
        cpl_q   <= last_dw_q;
      end
      default: begin  // ST_SKIP
        if (cq_take && s_cq.tlast) begin
          state_q <= ST_IDLE;
          if (ur_q && !discard) cpl_q <= 1'b1;
        end
      end
    endcase
    if (rst) begin
      state_q   <= ST_IDLE;
      cpl_q     <= 1'b0;
      fresh_q   <= 1'b0;
      first_q   <= 1'b1;
      cq_np_req <= 1'b0;
    end
  end

  // ---- output register
  logic out_valid_q;
  cc_t  out_q;

  assign out_free = !out_valid_q || m_cc_ready;

  always_ff @(posedge clk) begin
    if (out_free) begin
      out_valid_q <= out_load;
      out_q.tlast <= out_end;
      out_q.tdata <= out;
      out_q.tuser <= CC_USER_W'(cc_tuser(DATA_W, out_beat_q == '0, out_end, 4'(out_left - 1'b1)));
      for (int l = 0; l < N; l++) out_q.tkeep[l] <= 5'(l) < out_left;
    end
    if (rst) out_valid_q <= 1'b0;
  end

  assign m_cc_valid = out_valid_q;
  assign m_cc       = out_q;
endmodule
