// SPDX-License-Identifier: Apache-2.0
// Answers of the root port (CC): requests from db_pcie_root_rx to completions, their rows asked from db_host_window_rows.
//
// A request is cut into completions of at most MPS that end at multiples of it; each is a run of steps, one a cycle,
// and each step asks for the next row. ROW_LATENCY cycles later the row comes back into a small memory (as many steps
// are under way as it has places, so nothing is ever lost), from which the beats are put together: a beat takes its
// lanes from a row and the one before. A payload that begins in the upper part of a row (dword 4 and more of it; 256
// and 512 bits only) costs a step without a beat. Bad requests are answered with UR and the copy of the request. What
// the completion's header needs waits beside: the request itself until its last completion has left, and a few bits
// for each completion under way.
// Latency: 9 cycles from s_req_valid to the first beat. Throughput: a beat every cycle, no gap inside a packet, none
// between packets but for that step. m_row_* come from registers through one gate.
module db_pcie_root_tx
  import db_pcie_pkg::*;
  import db_host_pkg::*;
#(
    parameter int unsigned DATA_W = 128  // bits in a beat and a row: 128, 256 or 512
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic [2:0]                         cfg_mps,      // 0: 128 bytes .. 5: 4096

    input  logic                               s_req_valid,  // always taken: the sender goes by req_room
    input  read_req_t                          s_req,
    output logic                               req_room,     // there is room for 2 more; 32 in all
    output logic                               m_req_done,   // pulse: a request has been answered

    output logic                               m_row_valid,
    output logic [WIN_W-1:0]                   m_row_addr,
    input  logic [DATA_W-1:0]                  s_row_data,   // ROW_LATENCY cycles after m_row_valid

    output logic [DATA_W-1:0]                  m_axis_cc_tdata,
    output logic [DATA_W/32-1:0]               m_axis_cc_tkeep,
    output logic                               m_axis_cc_tlast,
    output logic [cc_user_w(int'(DATA_W))-1:0] m_axis_cc_tuser,
    output logic                               m_axis_cc_tvalid,
    input  logic                               m_axis_cc_tready,

    output logic                               idle          // no request inside, nothing on CC
);
  localparam int unsigned N         = DATA_W / 32;
  localparam int unsigned LN        = $clog2(N);
  localparam int unsigned LSB       = LN + 2;
  localparam int unsigned REQS      = 32;
  localparam int unsigned REQ_W     = $clog2(REQS);
  localparam int unsigned STEPS     = 16;  // under way at most, so at most 17 completions are
  localparam int unsigned STEP_W    = $clog2(STEPS);
  localparam int unsigned UR_DW     = 8;   // dwords of an unsuccessful completion
  localparam int unsigned CC_USER_W = cc_user_w(int'(DATA_W));

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  // ---- requests
  typedef struct packed {  // for the cutting
    logic        bad;
    logic [23:0] addr;     // dwords
    logic [9:0]  more;     // dwords - 1
  } cut_t;
  typedef struct packed {  // for the answer
    logic [1:0] skip;      // disabled bytes at the start
    logic [1:0] tail;      // and at the end
    read_req_t  req;
  } answer_t;

  logic [$bits(cut_t)-1:0] cut_mem_q[REQS];
  logic [REQ_W-1:0]        in_q, cut_at_q;
  logic [REQ_W:0]          level_q;
  logic                    req_done;
  cut_t                    cut_in;
  answer_t                 answer_in;
  logic [3:0]              end_be;

  always_comb begin
    cut_in.bad    = s_req.bad;
    cut_in.addr   = s_req.addr_dw[23:0];
    cut_in.more   = s_req.dw[9:0] - 10'd1;
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

  always_ff @(posedge clk) begin
    if (s_req_valid) begin
      cut_mem_q[in_q] <= cut_in;
      in_q            <= in_q + 1'b1;
    end
    if (s_req_valid != req_done) level_q <= s_req_valid ? level_q + 1'b1 : level_q - 1'b1;
    if (rst) begin
      in_q    <= '0;
      level_q <= '0;
    end
  end

  assign req_room   = !level_q[REQ_W] && level_q[REQ_W-1:1] != '1;
  assign m_req_done = req_done;

  // ---- cut into completions
  cut_t       next_cut, cut_q;
  logic       cut_valid_q, cut_first_q;
  logic [9:0] mask_q;              // dwords of MPS - 1
  logic [9:0] room;                // dwords up to the next multiple of MPS, less 1
  logic [9:0] size;                // dwords of the completion, less 1
  logic       final_cut, cut_take, cut_load;
  logic       act_q;               // steps under way
  logic       step, step_last;

  assign next_cut  = cut_mem_q[cut_at_q];
  assign room      = ~cut_q.addr[9:0] & mask_q;
  assign final_cut = cut_q.more <= room || cut_q.bad;
  assign size      = final_cut ? cut_q.more : room;
  assign cut_take  = cut_valid_q && (!act_q || (step && step_last));
  assign cut_load  = cut_at_q != in_q && (!cut_valid_q || (cut_take && final_cut));

  always_ff @(posedge clk) begin
    mask_q <= 10'((16'd32 << cfg_mps) - 16'd1);
    if (cut_load) begin
      cut_q       <= next_cut;
      cut_first_q <= 1'b1;
      cut_valid_q <= 1'b1;
      cut_at_q    <= cut_at_q + 1'b1;
    end else if (cut_take) begin
      cut_q.addr[9:0] <= (cut_q.addr[9:0] | mask_q) + 1'b1;  // a request never leaves its page
      cut_q.more      <= cut_q.more - room - 1'b1;
      cut_first_q     <= 1'b0;
      cut_valid_q     <= !final_cut;
    end
    if (rst) begin
      cut_valid_q <= 1'b0;
      cut_at_q    <= '0;
    end
  end

  // ---- steps
  typedef struct packed {  // of each completion under way
    logic       first;     // of its request
    logic       final_c;   // and last
    logic [4:0] addr;      // dwords
    logic [9:0] more;      // dwords of the request from here on, less 1
    logic [9:0] size;      // dwords of it, less 1
  } completion_t;

  logic [$bits(completion_t)-1:0] cpl_mem_q [2*STEPS];
  logic [STEP_W:0]         cpl_in_q, cpl_at_q;
  logic [WIN_W-1:LSB]      row_q;
  logic [8:0]              left_q;    // steps after this one
  logic [STEP_W:0]         under_q;   // steps under way
  logic [ROW_LATENCY-1:0]  way_q, way_last_q;
  logic                    pop, preload;
  completion_t                    cpl_in;

  assign preload   = N > 4 && cut_q.addr[LN-1:0] >= LN'(4) && !cut_q.bad;
  assign step      = act_q && !under_q[STEP_W];
  assign step_last = left_q == '0;
  assign cpl_in    = '{first: cut_first_q, final_c: final_cut, addr: cut_q.addr[4:0], more: cut_q.more, size: size};

  always_ff @(posedge clk) begin
    if (step) begin
      row_q[11:LSB] <= row_q[11:LSB] + 1'b1;
      left_q        <= left_q - 1'b1;
      if (step_last) act_q <= 1'b0;
    end
    if (cut_take) begin
      cpl_mem_q[cpl_in_q] <= cpl_in;
      cpl_in_q            <= cpl_in_q + 1'b1;
      act_q               <= 1'b1;
      row_q               <= cut_q.addr[23:LN];
      left_q              <= cut_q.bad ? 9'(UR_DW / N > 1 ? 1 : 0)
                                       : 9'((11'(size) + (preload ? 11'(CC_DW + N) : 11'(CC_DW))) >> LN);
    end
    way_q      <= {way_q[ROW_LATENCY-2:0], step};
    way_last_q <= {way_last_q[ROW_LATENCY-2:0], step_last};
    if (step != pop) under_q <= step ? under_q + 1'b1 : under_q - 1'b1;
    if (rst) begin
      act_q    <= 1'b0;
      cpl_in_q <= '0;
      way_q    <= '0;
      under_q  <= '0;
    end
  end

  assign m_row_valid = step;
  assign m_row_addr  = {row_q, LSB'(0)};

  // ---- rows that came back
  logic [DATA_W:0]   back_mem_q [2*STEPS];  // twice the places, so that the pointers tell full from empty
  logic [STEP_W:0]   back_in_q, back_at_q;
  logic [DATA_W-1:0] back;
  logic              back_last, out_free;

  assign {back_last, back} = back_mem_q[back_at_q];
  assign pop               = back_in_q != back_at_q && out_free;

  always_ff @(posedge clk) begin
    if (way_q[ROW_LATENCY-1]) begin
      back_mem_q[back_in_q] <= {way_last_q[ROW_LATENCY-1], s_row_data};
      back_in_q             <= back_in_q + 1'b1;
    end
    if (pop) back_at_q <= back_at_q + 1'b1;
    if (rst) begin
      back_in_q <= '0;
      back_at_q <= '0;
    end
  end

  // ---- the header
  completion_t     cpl;
  answer_t  answer;
  logic     answer_valid, answer_room;
  cc_desc_t hdr;
  cq_desc_t desc;
  logic     memory;
  logic [3:0] unused_bytes;  // 4 - bytes of the request from here on that are not enabled, signed
  logic [32*UR_DW-1:0] ur;

  assign cpl    = cpl_mem_q[cpl_at_q];
  assign memory = answer.req.req_type inside {REQ_MEM_RD, REQ_MEM_RD_LK};

  // Block RAM: what is needed only 9 cycles later may take 3 to come.
  db_fifo #(.WIDTH($bits(answer_t)), .DEPTH(128), .AROUND(1'b0)) u_answers (
      .clk, .rst, .s_valid(s_req_valid), .s_ready(answer_room), .s_data(answer_in), .m_valid(answer_valid),
      .m_ready(req_done), .m_data(answer), .level()
  );
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) assert ((!pop || answer_valid) && (!s_req_valid || answer_room));
`endif

  always_comb begin
    unused_bytes     = 4'd4 - 4'(answer.tail) - (cpl.first ? 4'(answer.skip) : 4'd0);
    hdr              = '0;
    hdr.attr         = answer.req.attr;
    hdr.tc           = answer.req.tc;
    hdr.tag          = answer.req.tag;
    hdr.requester_id = answer.req.requester_id;
    hdr.status       = answer.req.bad ? CPL_UR : CPL_SC;
    hdr.dword_count  = answer.req.bad ? '0 : 11'(cpl.size) + 11'd1;
    hdr.locked       = answer.req.req_type == REQ_MEM_RD_LK;
    hdr.byte_count   = 13'd4;
    if (memory) begin
      hdr.byte_count = {1'b0, cpl.more, 2'b00} + {{9{unused_bytes[3]}}, unused_bytes};
      hdr.lower_addr = {cpl.addr, cpl.first ? answer.skip : 2'd0};
    end
    desc              = '0;
    desc.attr         = answer.req.attr;
    desc.tc           = answer.req.tc;
    desc.tag          = answer.req.tag;
    desc.requester_id = answer.req.requester_id;
    desc.req_type     = answer.req.req_type;
    desc.dword_count  = answer.req.dw;
    desc.addr_dw      = answer.req.addr_dw;
  end

  assign ur = {desc, 24'd0, answer.req.last_be, answer.req.first_be, hdr};

  // ---- beats
  // Lane l of a beat is dword 1 + l + turn of {this row, the one before}; turned by whole fours, then by the rest.
  logic [N-1:1][31:0] prev_q;
  logic [LN-1:0]      turn, last_lane;
  logic [31:0]        both   [2*N];
  logic [31:0]        coarse [N+3];
  logic [DATA_W-1:0]  beat;
  logic               first_q, ahead_q, ahead;

  assign turn      = cpl.addr[LN-1:0] - LN'(4);
  assign ahead     = N > 4 && first_q && !ahead_q && cpl.addr[LN-1:0] >= LN'(4) && !answer.req.bad;
  assign last_lane = answer.req.bad ? LN'(UR_DW - 1) : cpl.size[LN-1:0] + LN'(CC_DW);

  always_comb begin
    both[0] = '0;
    for (int l = 1; l < int'(N); l++) both[l] = prev_q[l];
    for (int l = 0; l < int'(N); l++) both[int'(N)+l] = back[32*l +: 32];
    for (int j = 0; j < int'(N) + 3; j++) begin
      coarse[j] = '0;
      for (int c = 0; c < int'(N) / 4; c++) begin
        if (int'(turn) >> 2 == c && 1 + j + 4*c < 2*int'(N)) coarse[j] = both[1 + j + 4*c];
      end
    end
    for (int l = 0; l < int'(N); l++) beat[32*l +: 32] = coarse[l + int'(turn[1:0])];
  end

  logic [DATA_W-1:0] out;
  if (N == 4) begin : g_out_narrow
    always_comb begin
      out = beat;
      if (answer.req.bad) out = first_q ? ur[127:0] : ur[255:128];
      if (first_q) out[95:0] = hdr;
    end
  end else begin : g_out_wide
    always_comb begin
      out = beat;
      if (answer.req.bad) out[255:96] = ur[255:96];
      if (first_q) out[95:0] = hdr;
    end
  end

  logic                 out_valid_q, out_last_q;
  logic [DATA_W-1:0]    out_data_q;
  logic [N-1:0]         out_keep_q;
  logic [CC_USER_W-1:0] out_user_q;

  assign out_free = !out_valid_q || m_axis_cc_tready;
  assign req_done = pop && back_last && cpl.final_c;

  always_ff @(posedge clk) begin
    if (out_free) begin
      out_valid_q <= pop && !ahead;
      out_last_q  <= back_last;
      out_data_q  <= out;
      out_user_q  <= CC_USER_W'(cc_tuser(int'(DATA_W), first_q, back_last, 4'(last_lane)));
      for (int l = 0; l < int'(N); l++) out_keep_q[l] <= !back_last || LN'(l) <= last_lane;
    end
    if (pop) begin
      for (int l = 1; l < int'(N); l++) prev_q[l] <= back[32*l +: 32];
      ahead_q <= ahead;
      if (!ahead) first_q <= back_last;
      if (back_last) cpl_at_q <= cpl_at_q + 1'b1;
    end
    if (rst) begin
      out_valid_q <= 1'b0;
      first_q     <= 1'b1;
      ahead_q     <= 1'b0;
      cpl_at_q    <= '0;
    end
  end

  assign m_axis_cc_tdata  = out_data_q;
  assign m_axis_cc_tkeep  = out_keep_q;
  assign m_axis_cc_tlast  = out_last_q;
  assign m_axis_cc_tuser  = out_user_q;
  assign m_axis_cc_tvalid = out_valid_q;
  assign idle             = level_q == '0 && !out_valid_q;
endmodule
