// SPDX-License-Identifier: Apache-2.0
// Second half of db_nvme_prp: walks commands in order and emits their segments. Commands with an SGL are walked by
// db_nvme_sgl_walk, which has the row register of the list and the way out for that time.
//
// Why apart: see db_nvme_prp. List packets arrive in the order of the commands, so a packet needs no name: an entry
// is the chain pointer exactly when it is its packet's last and the command's list chains there.
// Latency: 1 cycle from a command (or a list row in the row register) to its segment. Throughput: one a cycle.
module db_nvme_prp_walk
  import db_mem_pkg::*, db_nvme_pkg::*;
#(
  parameter int unsigned DATA_W = 256,  ///< bits of a list row: 128, 256 or 512
  parameter int unsigned USER_W = 8,    ///< bits of user data
  parameter bit          SGL    = 1'b0, ///< takes SGLs
  parameter bit          TO_HOST = 1'b1, ///< SGL: data goes to the host
  parameter bit          BUDGET  = 1'b0  ///< SGL: lists have a limit that grows with the data
) (
  input  logic               clk,
  input  logic               rst,

  input  logic               s_cmd_valid,
  output logic               s_cmd_ready,
  input  prp_extent_t        s_cmd,
  input  logic [USER_W-1:0]  s_cmd_user,

  /// list data: a packet a list page, in the order of the commands
  input  logic               s_list_valid,
  output logic               s_list_ready,
  input  logic [DATA_W-1:0]  s_list_data,
  input  row_info_t          s_list_info,

  output logic               chain_valid,  ///< pulse: end of a list that chains
  output logic               chain_ok,     ///< 0: the command has failed
  output logic [63:0]        chain_addr,   ///< of the next list
  output logic [9:0]         chain_n,      ///< SGL: its qwords, as far as they lie in its first page
  output logic               chain_more,   ///< SGL: it will chain, too

  output logic               m_seg_valid,
  input  logic               m_seg_ready,
  output segment_t           m_seg,
  output logic [USER_W-1:0]  m_seg_user,
  output status_t            m_seg_status  ///< counts with the last segment
);
  localparam int unsigned PAGES_W = PRP_PAGES_W;
  localparam int unsigned ENTRIES = DATA_W / 64;
  localparam int unsigned CNT_W   = $clog2(ENTRIES) + 1;
  localparam int unsigned SEG_W   = $bits(segment_t) + USER_W + $bits(status_t);
  localparam status_t OK     = status(1'b0, SCT_GENERIC, SC_SUCCESS);
  localparam status_t OFFSET = status(1'b1, SCT_GENERIC, SC_INVALID_PRP_OFFSET);
  localparam status_t FAILED = status(1'b0, SCT_GENERIC, SC_DATA_TRANSFER_ERROR);

  typedef enum logic [2:0] {
    ST_FIRST,   // PRP1's segment of the command at the head
    ST_SECOND,  // PRP2's, of a command of two pages
    ST_LIST,    // list entries
    ST_DRAIN,   // an error: throw the rest of the list packet away
    ST_DROP,    // an error: drop segments for the pages that are left
    ST_SGL      // the SGL walker's
  } state_e;

  state_e             state_q, state_d;
  logic [PAGES_W-1:0] left_q;         // pages left, this one included (not in ST_FIRST)
  status_t            status_q;
  logic               chains_q;       // the list packet that is walked ends in a chain pointer

  // Row register: the next entry is at the bottom.
  logic               row_valid_q, row_last_q, row_err_q;
  logic [DATA_W-1:0]  row_q;
  logic [CNT_W-1:0]   row_left_q;     // entries in it
  logic               row_one_q;      // 1 entry
  logic [ENTRIES-1:0] row_bad_q;      // an entry has a page offset; the next at the bottom
  logic               take_entry, take_row, row_done;

  logic [63:0]        entry;
  logic               packet_end, is_chain, entry_bad, emit, last, seg_ready, left_one, end_chain;
  logic [63:0]        addr;
  logic [12:0]        len;
  logic               drop;
  segment_t           seg;
  status_t            seg_status;
  logic               chain_valid_q, chain_ok_q;
  logic [51:0]        chain_page_q;

  logic               is_sgl, sgl_done, sgl_take_entry, sgl_take_row, sgl_ask, sgl_ok, sgl_emit, sgl_first, sgl_last,
                      sgl_drop;
  logic [63:0]        sgl_ask_addr, sgl_addr;
  logic [12:0]        sgl_len;
  status_t            sgl_status;
  logic               first;

  assign entry      = row_q[63:0];
  assign packet_end = row_last_q && row_one_q;
  assign is_chain   = packet_end && chains_q;
  assign entry_bad  = row_err_q || row_bad_q[0];
  assign left_one   = left_q == PAGES_W'(1);

  assign row_done     = take_row || (take_entry && row_one_q);
  assign s_list_ready = !row_valid_q || row_done;

  // What to do with the head. One segment at most leaves a cycle; seg_ready is a register.
  always_comb begin
    state_d    = state_q;
    emit       = 1'b0;
    addr       = '0;
    len        = 13'd4096;
    drop       = 1'b0;
    last       = left_one;
    seg_status = status_q;
    take_entry = 1'b0;
    take_row   = 1'b0;
    end_chain  = 1'b0;
    first      = state_q == ST_FIRST;
    unique case (state_q)
      ST_FIRST: begin
        emit       = s_cmd_valid && !is_sgl;
        addr       = s_cmd.prp1;
        len        = s_cmd.first_len;
        drop       = s_cmd.bad1;
        last       = s_cmd.pages == PAGES_W'(1);
        seg_status = s_cmd.bad1 ? OFFSET : OK;
        if (emit && seg_ready && !last) begin
          if (s_cmd.bad1 || s_cmd.bad2) state_d = ST_DROP;
          else if (s_cmd.pages == PAGES_W'(2)) state_d = ST_SECOND;
          else state_d = ST_LIST;
        end
        if (s_cmd_valid && is_sgl) state_d = ST_SGL;
      end
      ST_SECOND: begin
        emit = 1'b1;
        addr = s_cmd.prp2;
      end
      ST_LIST: begin
        addr = entry;
        if (row_valid_q) begin
          if (entry_bad) begin
            state_d = ST_DRAIN;
          end else if (is_chain) begin
            take_entry = 1'b1;
            end_chain  = 1'b1;
          end else begin
            emit       = 1'b1;
            take_entry = seg_ready;
          end
        end
      end
      ST_DRAIN: if (row_valid_q) begin
        take_row = 1'b1;
        if (row_last_q) begin
          state_d   = ST_DROP;
          end_chain = chains_q;
        end
      end
      ST_DROP: begin
        emit = 1'b1;
        drop = 1'b1;
      end
      ST_SGL: begin
        emit       = sgl_emit;
        addr       = sgl_addr;
        len        = sgl_len;
        drop       = sgl_drop;
        first      = sgl_first;
        seg_status = sgl_status;
        take_entry = sgl_take_entry;
        take_row   = sgl_take_row;
        if (sgl_done) state_d = ST_FIRST;
      end
      default: state_d = ST_FIRST;
    endcase
    if (state_q != ST_FIRST && state_q != ST_SGL) begin
      if (last) len = s_cmd.last_len;
      if (emit && seg_ready && last) state_d = ST_FIRST;
    end
    if (drop) addr = '0;
  end

  assign seg = '{fn: s_cmd.fn, addr: addr, len: len, first: first,
                 last: state_q == ST_SGL ? sgl_last : last, drop: drop};
  assign s_cmd_ready = state_q == ST_SGL ? sgl_done : emit && seg_ready && last;

  assign is_sgl = SGL && s_cmd.sgl;
  if (SGL) begin : g_sgl
    db_nvme_sgl_walk #(.TO_HOST(TO_HOST), .BUDGET(BUDGET)) i_walk (
      .clk, .rst, .start(state_q == ST_FIRST && s_cmd_valid && is_sgl), .s_cmd, .done(sgl_done),
      .entry_valid(row_valid_q), .entry, .entry_err(row_err_q), .packet_end, .row_last(row_last_q),
      .take_entry(sgl_take_entry), .take_row(sgl_take_row),
      .ask(sgl_ask), .ask_ok(sgl_ok), .ask_addr(sgl_ask_addr), .ask_n(chain_n), .ask_more(chain_more),
      .m_seg_valid(sgl_emit), .m_seg_ready(seg_ready), .m_seg_addr(sgl_addr), .m_seg_len(sgl_len),
      .m_seg_first(sgl_first), .m_seg_last(sgl_last), .m_seg_drop(sgl_drop), .m_seg_status(sgl_status));
  end else begin : g_no_sgl
    assign {sgl_done, sgl_take_entry, sgl_take_row, sgl_ask, sgl_ok, sgl_emit, sgl_first, sgl_last, sgl_drop} = '0;
    assign {chain_n, chain_more, sgl_ask_addr, sgl_addr, sgl_len, sgl_status} = '0;
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (state_q == ST_FIRST) begin
      left_q   <= s_cmd.pages - 1'b1;
      status_q <= s_cmd.bad1 || s_cmd.bad2 ? OFFSET : OK;
      chains_q <= s_cmd.chains;
    end else if (emit && seg_ready) begin
      left_q   <= left_q - 1'b1;
    end
    if (state_q == ST_LIST && row_valid_q) begin
      if (entry_bad) status_q <= row_err_q ? FAILED : OFFSET;
      // The next list page holds left_q entries, or is full and chains again.
      else if (is_chain) chains_q <= left_q > PAGES_W'(512);
    end

    chain_valid_q <= end_chain;
    chain_ok_q    <= state_q == ST_LIST;
    chain_page_q  <= entry[63:12];

    if (s_list_ready) begin
      row_valid_q <= s_list_valid;
      row_last_q  <= s_list_info.last;
      row_err_q   <= s_list_info.err;
      row_q       <= s_list_data;
      row_left_q  <= s_list_info.dw[CNT_W:1];
      row_one_q   <= s_list_info.dw[CNT_W:1] == CNT_W'(1);
      for (int i = 0; i < int'(ENTRIES); i++) row_bad_q[i] <= s_list_data[64*i+:12] != '0;
    end else if (take_entry) begin
      row_q       <= row_q >> 64;
      row_left_q  <= row_left_q - 1'b1;
      row_one_q   <= row_left_q == CNT_W'(2);
      row_bad_q   <= row_bad_q >> 1;
    end
    if (rst) begin
      state_q       <= ST_FIRST;
      chain_valid_q <= 1'b0;
      row_valid_q   <= 1'b0;
    end
  end

  assign chain_valid = chain_valid_q || sgl_ask;
  assign chain_ok    = sgl_ask ? sgl_ok : chain_ok_q;
  assign chain_addr  = sgl_ask ? sgl_ask_addr : {chain_page_q, 12'd0};

  db_skid #(.WIDTH(SEG_W)) i_out (
    .clk, .rst,
    .s_valid(emit), .s_ready(seg_ready),
    .s_data({seg, s_cmd_user, seg_status}),
    .m_valid(m_seg_valid), .m_ready(m_seg_ready), .m_data({m_seg, m_seg_user, m_seg_status})
  );

  // A command's head stays while it is walked; the list ends where the command does.
  assert property (@(posedge clk) disable iff (rst) state_q == ST_FIRST || s_cmd_valid);
  assert property (@(posedge clk) disable iff (rst)
                   !(state_q == ST_LIST && take_entry && !is_chain) || (packet_end == left_one));
endmodule
