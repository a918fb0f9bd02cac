// SPDX-License-Identifier: Apache-2.0
// What the headers of completions under way are made from: each request until its last completion has left, and a few
// bits for each completion.
//
// A request that is bad has an unsuccessful completion, with the copy of the request that PG213 wants behind it.
// Latency: a request is there 3 cycles after s_req; it is wanted 9 cycles after. m_* are combinational.
module db_pcie_root_header
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int STEPS = 16  ///< rows under way at most; so at most STEPS + 1 completions are
) (
  input  logic         clk,
  input  logic         rst,

  /// always taken: the sender goes by req_room of db_pcie_root_cut
  input  logic         s_req_valid,
  input  window_req_t  s_req,

  /// a completion begins; always taken
  input  logic         s_cut_valid,
  input  window_cpl_t  s_cut,

  /// a beat of the oldest completion is made
  input  logic         using,
  /// it was its last
  input  logic         cpl_done,
  /// the oldest completion, its header, and all of it if it is unsuccessful
  output window_cpl_t  m_cpl,
  output cc_desc_t     m_header,
  output logic [255:0] m_unsuccessful,
  /// the oldest request's last completion is done
  output logic         req_done
);
  typedef struct packed {
    logic [1:0]  skip;  // disabled bytes at the start
    logic [1:0]  tail;  // and at the end
    window_req_t req;
  } answer_t;

  // ---- completions
  localparam int STEP_W = $clog2(STEPS);
  localparam int CPL_W  = $bits(window_cpl_t) - 1;  // all but bad, which the request has
  logic [CPL_W-1:0] cpl_mem_q[2*STEPS];
  logic [STEP_W:0]  cpl_in_q, cpl_at_q;

  always_ff @(posedge clk) begin
    if (s_cut_valid) begin
      cpl_mem_q[cpl_in_q] <= s_cut[CPL_W-1:0];
      cpl_in_q            <= cpl_in_q + 1'b1;
    end
    if (cpl_done) cpl_at_q <= cpl_at_q + 1'b1;
    if (rst) begin
      cpl_in_q <= '0;
      cpl_at_q <= '0;
    end
  end

  // ---- requests
  answer_t    answer_in, answer;
  logic       answer_valid, answer_room;
  logic [3:0] end_be;

  always_comb begin
    end_be        = (s_req.last_be == '0) ? s_req.first_be : s_req.last_be;  // a single dword has no last enables
    answer_in.req = s_req;
    priority casez (s_req.first_be)
      4'b??10: answer_in.skip = 2'd1;
      4'b?100: answer_in.skip = 2'd2;
      4'b1000: answer_in.skip = 2'd3;
      default: answer_in.skip = 2'd0;
    endcase
    priority casez (end_be)
      4'b1???: answer_in.tail = 2'd0;
      4'b01??: answer_in.tail = 2'd1;
      4'b001?: answer_in.tail = 2'd2;
      default: answer_in.tail = 2'd3;  // zero length counts as one byte
    endcase
  end

  // Block RAM: what is needed only 9 cycles later may take 3 to come.
  db_fifo #(.WIDTH($bits(answer_t)), .DEPTH(128), .AROUND(1'b0)) i_answers (
    .clk, .rst, .s_valid(s_req_valid), .s_ready(answer_room), .s_data(answer_in), .m_valid(answer_valid),
    .m_ready(req_done), .m_data(answer), .level()
  );
  assign m_cpl    = {answer.req.bad, cpl_mem_q[cpl_at_q]};
  assign req_done = cpl_done && m_cpl.final_c;

  // ---- the header
  cq_desc_t   desc;
  logic       memory;
  logic [3:0] unused_bytes;  // 4 - bytes of the request from here on that are not enabled, signed

  assign memory = answer.req.req_type inside {REQ_MEM_RD, REQ_MEM_RD_LK};

  always_comb begin
    unused_bytes          = 4'd4 - 4'(answer.tail) - (m_cpl.first ? 4'(answer.skip) : 4'd0);
    m_header              = '0;
    m_header.attr         = answer.req.attr;
    m_header.tc           = answer.req.tc;
    m_header.tag          = answer.req.tag;
    m_header.requester_id = answer.req.requester_id;
    m_header.status       = answer.req.bad ? CPL_UR : CPL_SC;
    m_header.dword_count  = answer.req.bad ? '0 : 11'(m_cpl.size) + 11'd1;
    m_header.locked       = answer.req.req_type == REQ_MEM_RD_LK;
    m_header.byte_count   = 13'd4;
    if (memory) begin
      m_header.byte_count = {1'b0, m_cpl.more, 2'b00} + {{9{unused_bytes[3]}}, unused_bytes};
      m_header.lower_addr = {m_cpl.addr, m_cpl.first ? answer.skip : 2'd0};
    end
    desc              = '0;
    desc.attr         = answer.req.attr;
    desc.tc           = answer.req.tc;
    desc.tag          = answer.req.tag;
    desc.requester_id = answer.req.requester_id;
    desc.req_type     = answer.req.req_type;
    desc.dword_count  = answer.req.dwords;
    desc.addr_dw      = answer.req.addr_dw;
  end

  assign m_unsuccessful = {desc, 24'd0, answer.req.last_be, answer.req.first_be, m_header};

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert ((!using || answer_valid) && (!s_req_valid || answer_room));
`endif
endmodule
