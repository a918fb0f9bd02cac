// SPDX-License-Identifier: Apache-2.0
// First half of db_nvme_prp: measures a command in pages, checks its pointers and requests its PRP list, or the first
// segment of its SGL.
//
// Why apart: a list is a host round trip away, so it is requested when the command arrives and walked later.
// Latency: 2 cycles from s_cmd to m_cmd, 3 to m_req. Throughput: one command in two cycles; each of the two stages
// takes one only when it is empty, so no ready passes through.
// While a command's list chains, the next list's address comes back from the walker (chain_*); until then nothing
// else is requested, so that list packets arrive in the order in which the walker wants them.
module db_nvme_prp_fetch
  import db_mem_pkg::*, db_nvme_pkg::*;
#(
  parameter int unsigned USER_W = 8,   ///< bits of user data
  parameter bit          SGL    = 1'b0 ///< takes SGLs
) (
  input  logic              clk,
  input  logic              rst,

  input  logic              s_cmd_valid,
  output logic              s_cmd_ready,
  input  prp_t              s_cmd,
  input  logic [USER_W-1:0] s_cmd_user,

  /// list reads: a packet of one request each
  output logic              m_req_valid,
  input  logic              m_req_ready,
  output segment_t          m_req,
  output logic [USER_W-1:0] m_req_user,  ///< of its command

  output logic              m_cmd_valid,
  input  logic              m_cmd_ready,
  output prp_extent_t       m_cmd,
  output logic [USER_W-1:0] m_cmd_user,

  input  logic              chain_valid,  ///< pulse: the walker has reached the end of a list that chains
  input  logic              chain_ok,     ///< 0: the command has failed, give its list up
  input  logic [63:0]       chain_addr,   ///< of the next list
  input  logic [9:0]        chain_n,      ///< SGL: its qwords, as far as they lie in its first page
  input  logic              chain_more    ///< SGL: it will chain, too
);
  localparam int unsigned PAGE_ENTRIES = 512;
  localparam int unsigned PAGES_W      = PRP_PAGES_W;

  typedef enum logic [1:0] {ST_CMD, ST_WAIT, ST_NEXT} state_e;

  // Stage A: a command and its extent. An unaligned PRP1 counts as offset 0: its data is dropped page by page.
  logic                a_valid_q;
  logic [USER_W-1:0]   a_user_q;
  logic [7:0]          a_fn_q;
  logic                a_sgl_q;
  logic [63:0]         a_prp1_q, a_prp2_q;
  logic [32:0]         a_end_q;    // offset + bytes
  logic [12:0]         a_first_q;  // bytes in the first page, if the command goes beyond it
  logic [12:0]         a_bytes_q;  // low bits of the bytes

  // Stage B: the command as the walker wants it, and its list.
  logic                b_valid_q;
  logic [USER_W-1:0]   b_user_q;
  prp_extent_t         b_q;
  logic                b_need_q;   // a list
  logic [9:0]          b_want_q;   // entries of its first list page
  logic [PAGES_W-1:0]  b_left_q;   // entries still to come after that, and the pointer

  // List requests.
  state_e              state_q;
  logic [PAGES_W-1:0]  left_q;     // entries still to come after the lists requested; SGL: of the one to request
  logic                sgl_q;      // they are an SGL's
  logic                sgl_more_q; // ... and the list to request chains
  logic                m_req_valid_q;
  logic [7:0]          m_req_fn_q;
  logic [USER_W-1:0]   m_req_user_q;
  logic [63:0]         m_req_addr_q;
  logic [9:0]          m_req_n_q;
  logic                more;

  logic [11:0]         off;
  assign off = s_cmd.prp1[1:0] == 2'b00 && !(SGL && s_cmd.sgl) ? s_cmd.prp1[11:0] : 12'd0;

  logic [PAGES_W-1:0]  pages, entries;
  logic [12:0]         first_len, last_len;
  logic                one, two, bad1, bad2, need_list, chains, fire;
  logic [9:0]          room;       // entries from PRP2 to the end of its page, 1..512
  logic [9:0]          want;
  sgl_desc_t           desc;
  logic                segment, beyond;  // SGL: a list is needed, and goes beyond its first page
  logic [9:0]          sgl_room;

  assign pages     = PAGES_W'(a_end_q[32:12]) + PAGES_W'(a_end_q[11:0] != '0);
  assign entries   = PAGES_W'(a_end_q[32:12]) - PAGES_W'(a_end_q[11:0] == '0);  // pages - 1
  assign one       = a_end_q <= 33'd4096;
  assign two       = !one && a_end_q <= 33'd8192;
  assign first_len = one ? a_bytes_q : a_first_q;
  assign last_len  = a_end_q[11:0] == '0 ? 13'd4096 : {1'b0, a_end_q[11:0]};
  assign bad1      = a_prp1_q[1:0] != '0;
  assign bad2      = !one && (two ? a_prp2_q[11:0] != '0 : a_prp2_q[2:0] != '0);
  assign room      = 10'(PAGE_ENTRIES) - {1'b0, a_prp2_q[11:3]};
  assign desc      = {a_prp2_q, a_prp1_q};
  assign segment   = sgl_segment_ok(desc);
  assign sgl_room  = 10'(PAGE_ENTRIES) - {1'b0, desc.addr[11:3]};
  assign beyond    = desc.bytes[31:13] != '0 || desc.bytes[12:3] > sgl_room;
  always_comb begin
    if (a_sgl_q) begin
      need_list = segment;
      chains    = segment && (beyond || desc.kind == SGL_SEGMENT);
      want      = beyond ? sgl_room : desc.bytes[12:3];
    end else begin
      need_list = !one && !two && !bad1 && !bad2;
      chains    = need_list && entries > PAGES_W'(room);
      want      = chains ? room : entries[9:0];
    end
  end

  assign m_cmd_valid = b_valid_q && state_q == ST_CMD && (!b_need_q || !m_req_valid_q);
  assign m_cmd       = b_q;
  assign m_cmd_user  = b_user_q;
  assign fire        = m_cmd_valid && m_cmd_ready;
  assign s_cmd_ready = !a_valid_q;

  always_ff @(posedge clk) begin
    if (!b_valid_q) begin
      a_valid_q  <= 1'b0;
      b_valid_q  <= a_valid_q;
      b_user_q   <= a_user_q;
      b_q        <= '{fn: a_fn_q, sgl: a_sgl_q, prp1: a_prp1_q, prp2: a_prp2_q, pages: pages, first_len: first_len,
                      last_len: last_len, bad1: bad1, bad2: bad2, chains: chains};
      b_need_q   <= need_list;
      b_want_q   <= want;
      b_left_q   <= entries - PAGES_W'(room) + 1'b1;
    end else if (fire) begin
      b_valid_q  <= 1'b0;
    end
    if (s_cmd_ready) begin
      a_valid_q <= s_cmd_valid;
      a_user_q  <= s_cmd_user;
      a_fn_q    <= s_cmd.fn;
      a_sgl_q   <= SGL && s_cmd.sgl;
      a_prp1_q  <= s_cmd.prp1;
      a_prp2_q  <= s_cmd.prp2;
      a_end_q   <= {1'b0, s_cmd.bytes} + {21'd0, off};
      a_first_q <= 13'd4096 - {1'b0, off};
      a_bytes_q <= s_cmd.bytes[12:0];
    end
    if (rst) begin
      a_valid_q <= 1'b0;
      b_valid_q <= 1'b0;
    end
  end

  assign more        = left_q > PAGES_W'(PAGE_ENTRIES);
  assign m_req_valid = m_req_valid_q;
  assign m_req_user  = m_req_user_q;
  assign m_req       = '{fn: m_req_fn_q, addr: m_req_addr_q, len: {m_req_n_q, 3'b000}, first: 1'b1, last: 1'b1,
                         drop: 1'b0};

  always_ff @(posedge clk) begin
    if (m_req_ready) m_req_valid_q <= 1'b0;
    unique case (state_q)
      ST_CMD: if (fire && b_need_q) begin
        m_req_valid_q <= 1'b1;
        m_req_fn_q    <= b_q.fn;
        m_req_user_q  <= b_user_q;
        m_req_addr_q  <= b_q.sgl ? b_q.prp1 : b_q.prp2;
        m_req_n_q     <= b_want_q;
        sgl_q         <= b_q.sgl;
        left_q        <= b_left_q;
        if (b_q.chains) state_q <= ST_WAIT;
      end
      ST_WAIT: if (chain_valid) begin
        // The request before this one has been answered, so its register is free. Function and user stay.
        m_req_addr_q <= chain_addr;
        state_q      <= chain_ok ? ST_NEXT : ST_CMD;
        if (sgl_q) left_q <= PAGES_W'(chain_n);
        sgl_more_q   <= sgl_q && chain_more;
      end
      ST_NEXT: begin
        m_req_valid_q <= 1'b1;
        m_req_n_q     <= more ? 10'(PAGE_ENTRIES) : left_q[9:0];
        left_q        <= left_q - PAGES_W'(PAGE_ENTRIES - 1);
        state_q       <= more || sgl_more_q ? ST_WAIT : ST_CMD;
      end
      default: state_q <= ST_CMD;
    endcase
    if (rst) begin
      state_q       <= ST_CMD;
      m_req_valid_q <= 1'b0;
    end
  end

  // A chain pointer comes only while one is waited for, when the request for its list has long left.
  assert property (@(posedge clk) disable iff (rst) !chain_valid || (state_q == ST_WAIT && !m_req_valid_q));
  // The next command's list must not overtake.
  assert property (@(posedge clk) disable iff (rst) state_q == ST_CMD || !fire);
endmodule
