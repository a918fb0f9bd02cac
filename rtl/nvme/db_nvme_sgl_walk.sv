// SPDX-License-Identifier: Apache-2.0
// Part of db_nvme_prp_walk: walks the SGL of the command at its head and makes segments of it.
//
// An SGL is a descriptor in the command; if that points to a segment, the descriptors in it, of which the last may point
// to the next one. Descriptors come as two qwords from the walker's row register. The list of a command is requested in
// pieces of a page: the first by db_nvme_prp_fetch, each further one when the one before it has been taken (ask).
// Lengths always sum to the command's bytes: what lies beyond them is not looked at, and what is missing, or follows a
// fault, comes with drop. The statuses and what they stand for: rtl/nvme/README.md.
// With BUDGET the walk of a list takes no longer than what it costs its owner (db_ssd_order_cost): a command has units,
// each descriptor of a list takes one, each piece as many as a round trip has time for, unless it is the only piece.
// Latency: 2 cycles from start to the first segment of a data block. Throughput: a segment a cycle inside a block, and
// 3 cycles more for each descriptor of a list.
module db_nvme_sgl_walk
  import db_nvme_pkg::*;
#(
  parameter bit TO_HOST = 1'b1, ///< data goes to the host, so bit buckets swallow it; else they are nothing
  parameter bit BUDGET  = 1'b0  ///< lists have a limit that grows with the data
) (
  input  logic        clk,
  input  logic        rst,

  input  logic        start,         ///< s_cmd is to be walked
  input  prp_extent_t s_cmd,
  output logic        done,          ///< pulse: it is over, after its last segment

  /// qwords of the list; packet_end: the last one of a piece, and row_last: it is in this row
  input  logic        entry_valid,
  input  logic [63:0] entry,
  input  logic        entry_err,
  input  logic        packet_end,
  input  logic        row_last,
  output logic        take_entry,
  output logic        take_row,

  output logic        ask,           ///< pulse: there is nothing left of a piece that is not the last
  output logic        ask_ok,        ///< 0: the next one is not needed
  output logic [63:0] ask_addr,
  output logic [9:0]  ask_n,         ///< qwords
  output logic        ask_more,      ///< it is not the last piece either

  output logic        m_seg_valid,
  input  logic        m_seg_ready,
  output logic [63:0] m_seg_addr,
  output logic [12:0] m_seg_len,
  output logic        m_seg_first,
  output logic        m_seg_last,
  output logic        m_seg_drop,    ///< its address means nothing
  output status_t     m_seg_status   ///< counts with the last segment
);
  localparam int EMPTY_MAX = 32;     // descriptors without data, one after another: so that no list is endless
  localparam int EMPTY_W   = $clog2(EMPTY_MAX) + 1;
  localparam int PAGE_LOG2  = 3;     // units for each page of data
  localparam int START      = 256;   // ... beside those: what a page of descriptors takes
  localparam int PIECE_LOG2 = 6;     // of the units of a piece
  localparam int PAGES_MAX  = 511;   // that count
  localparam int UNITS_W    = 13;
  localparam status_t OK          = status(1'b0, SCT_GENERIC, SC_SUCCESS);
  localparam status_t FAILED      = status(1'b0, SCT_GENERIC, SC_DATA_TRANSFER_ERROR);
  localparam status_t BAD_SEGMENT = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_LAST);
  localparam status_t BAD_COUNT   = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_COUNT);
  localparam status_t TOO_SHORT   = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_DATA);
  localparam status_t BAD_TYPE    = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_TYPE);
  localparam status_t NOT_DWORDS  = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_GRANULARITY);

  typedef enum logic [2:0] {
    ST_IDLE,
    ST_LOOK,    // at the descriptor
    ST_MOVE,    // segments of a block, or of what is dropped
    ST_READ,    // the next descriptor, or the next piece
    ST_END      // the rest of the list is thrown away, then that of the data is dropped
  } state_e;

  state_e      state_q;
  sgl_desc_t   desc_q;
  logic        in_cmd_q;             // it stood in the command
  logic        final_q;              // it is the last of its segment
  logic        in_last_q;            // ... which is the last
  logic        half_q;               // its address is here already
  logic        open_q;               // a piece of the list is coming, or here
  logic        owes_q;               // db_nvme_prp_fetch waits for ask when that has been taken
  logic [28:0] rest_q;               // qwords of the segment beyond that piece
  logic [EMPTY_W-1:0] empty_q;       // descriptors without data up to here
  logic [29:0] left_q;               // dwords of the command that have no segment yet; not when it is over
  logic        over_q;               // all have one
  status_t     status_q;
  logic [UNITS_W-1:0] units_q;       // left, with BUDGET
  logic        poor_q, none_q;       // ... not enough for a piece, for a descriptor

  // ---- looking at a descriptor
  logic        block, bucket, segment, no_data, fault, all, beyond, goes_on;
  logic [29:0] dwords;
  logic [9:0]  room;                 // qwords to the end of the page
  status_t     verdict;
  assign block   = desc_q.kind == SGL_BLOCK && desc_q.subtype == '0;
  assign bucket  = desc_q.kind == SGL_BUCKET && desc_q.subtype == '0;
  assign segment = desc_q.kind[3:1] == 3'b001 && desc_q.subtype == '0;
  assign dwords  = desc_q.bytes[31:2];
  assign no_data = dwords == '0 || (bucket && !TO_HOST);
  assign all     = dwords >= left_q;
  assign room    = 10'd512 - {1'b0, desc_q.addr[11:3]};
  assign beyond  = desc_q.bytes[31:13] != '0 || desc_q.bytes[12:3] > room;
  assign goes_on = desc_q.kind == SGL_SEGMENT || beyond;

  always_comb begin
    fault   = 1'b1;
    verdict = BAD_TYPE;
    if (!block && !bucket && !segment)                                        verdict = BAD_TYPE;
    else if (segment && !final_q)                                             verdict = BAD_COUNT;
    else if (segment && (in_last_q || !sgl_segment_ok(desc_q)))               verdict = BAD_SEGMENT;
    else if (block && (desc_q.addr[1:0] != '0 || desc_q.bytes[1:0] != '0))    verdict = NOT_DWORDS;
    else if (bucket && TO_HOST && desc_q.bytes[1:0] != '0)                    verdict = NOT_DWORDS;
    else if (((segment || no_data) && empty_q == EMPTY_W'(EMPTY_MAX)) || (segment && poor_q)) verdict = BAD_COUNT;
    else if (!segment && no_data && final_q)                                  verdict = TOO_SHORT;
    else                                                                      fault   = 1'b0;
  end

  // ---- the budget
  if (BUDGET) begin : g_budget
    localparam int HIGH_W = UNITS_W - PAGE_LOG2;
    logic [UNITS_W-1:0] units_d;
    logic               piece, descriptor;
    assign piece      = state_q == ST_LOOK ? segment && !in_cmd_q : state_q == ST_READ && !open_q;
    assign descriptor = take_entry && !half_q;
    always_comb begin
      units_d = units_q - (piece ? UNITS_W'(1 << PIECE_LOG2) : UNITS_W'(descriptor));
      if (state_q == ST_IDLE)  // the first piece is paid for, unless it is the only one
        units_d = {(s_cmd.pages > PRP_PAGES_W'(PAGES_MAX) ? HIGH_W'(PAGES_MAX) : s_cmd.pages[HIGH_W-1:0]) +
                 (s_cmd.chains ? HIGH_W'((START - (1 << PIECE_LOG2)) >> PAGE_LOG2) : HIGH_W'(START >> PAGE_LOG2)),
                 PAGE_LOG2'(0)};
    end
    always_ff @(posedge clk) begin
      units_q <= units_d;
      poor_q  <= units_d[UNITS_W-1:PIECE_LOG2] == '0;
      none_q  <= units_d == '0;
    end
  end else begin : g_no_budget
    logic unused_ok;
    assign {units_q, poor_q, none_q} = '0;
    assign unused_ok = &{1'b0, units_q};
  end

  // ---- segments of a block
  logic [61:0] addr_q;               // dwords
  logic [29:0] block_q;              // dwords of it that have no segment yet
  logic [29:0] after_q;              // ... of the command, behind it
  logic [10:0] page_q;               // dwords to the end of the page
  logic        all_q, drop_q, first_q, fits;
  assign fits         = block_q <= 30'(page_q);
  assign m_seg_valid  = state_q == ST_MOVE;
  assign m_seg_addr   = {addr_q, 2'b00};
  assign m_seg_len    = {fits ? block_q[10:0] : page_q, 2'b00};
  assign m_seg_first  = first_q;
  assign m_seg_last   = fits && all_q;
  assign m_seg_drop   = drop_q;
  assign m_seg_status = status_q;

  assign take_entry = state_q == ST_READ && open_q && entry_valid && !entry_err && (half_q || !none_q);
  assign take_row   = state_q == ST_END && open_q && entry_valid;
  assign done       = state_q == ST_END && !open_q && !owes_q && over_q;

  always_ff @(posedge clk) begin
    ask <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        desc_q    <= {s_cmd.prp2, s_cmd.prp1};
        left_q    <= s_cmd.last_len[12] ? {s_cmd.pages[19:0], 10'd0}
                                        : {s_cmd.pages[19:0] - 20'd1, s_cmd.last_len[11:2]};
        in_cmd_q  <= 1'b1;
        final_q   <= 1'b1;
        in_last_q <= 1'b0;
        half_q    <= 1'b0;
        open_q    <= 1'b0;
        owes_q    <= 1'b0;
        rest_q    <= '0;
        empty_q   <= '0;
        first_q   <= 1'b1;
        over_q    <= 1'b0;
        status_q  <= OK;
        if (start) state_q <= ST_LOOK;
      end
      ST_LOOK: begin
        in_cmd_q <= 1'b0;
        empty_q  <= segment || no_data ? empty_q + 1'b1 : '0;
        addr_q   <= desc_q.addr[63:2];
        block_q  <= all ? left_q : dwords;
        after_q  <= left_q - dwords;
        page_q   <= bucket ? 11'd1024 : 11'd1024 - {1'b0, desc_q.addr[11:2]};
        all_q    <= all;
        drop_q   <= bucket;
        if (fault) begin
          status_q <= verdict;
          state_q  <= ST_END;
        end else if (segment) begin
          // Its first piece. db_nvme_prp_fetch has asked for it by itself if it was in the command.
          in_last_q <= desc_q.kind == SGL_LAST_SEGMENT;
          open_q    <= 1'b1;
          owes_q    <= goes_on;
          rest_q    <= beyond ? desc_q.bytes[31:3] - 29'(room) : '0;
          ask       <= !in_cmd_q;
          ask_ok    <= 1'b1;
          ask_addr  <= desc_q.addr;
          ask_n     <= beyond ? room : desc_q.bytes[12:3];
          ask_more  <= goes_on;
          state_q   <= ST_READ;
        end else begin
          state_q   <= no_data ? ST_READ : ST_MOVE;
        end
      end
      ST_MOVE: if (m_seg_ready) begin
        first_q <= 1'b0;
        addr_q  <= {addr_q[61:10] + 52'd1, 10'd0};
        block_q <= block_q - 30'(page_q);
        page_q  <= 11'd1024;
        if (fits) begin
          left_q  <= after_q;
          over_q  <= all_q;
          state_q <= all_q || final_q ? ST_END : ST_READ;
          if (!all_q && final_q) status_q <= TOO_SHORT;
        end
      end
      ST_READ: if (open_q ? none_q && !half_q : poor_q) begin
        status_q <= BAD_COUNT;
        state_q  <= ST_END;
      end else if (!open_q) begin
        open_q   <= 1'b1;
        owes_q   <= !in_last_q || rest_q > 29'd512;
        rest_q   <= rest_q > 29'd512 ? rest_q - 29'd512 : '0;
        ask      <= 1'b1;
        ask_addr <= {ask_addr[63:12] + 52'd1, 12'd0};
        ask_n    <= rest_q > 29'd512 ? 10'd512 : rest_q[9:0];
        ask_more <= !in_last_q || rest_q > 29'd512;
      end else if (entry_valid && entry_err) begin
        status_q <= FAILED;
        state_q  <= ST_END;
      end else if (entry_valid) begin
        open_q  <= !packet_end;
        half_q  <= !half_q;
        final_q <= packet_end && rest_q == '0;
        if (!half_q) desc_q.addr <= entry;
        else begin
          {desc_q.kind, desc_q.subtype, desc_q.rsvd, desc_q.bytes} <= entry;
          state_q <= ST_LOOK;
        end
      end
      ST_END: begin
        block_q <= left_q;
        page_q  <= 11'd1024;
        all_q   <= 1'b1;
        drop_q  <= 1'b1;
        if (open_q) open_q <= !(entry_valid && row_last);
        else if (owes_q) begin
          owes_q  <= 1'b0;
          ask     <= 1'b1;
          ask_ok  <= 1'b0;
        end else begin
          state_q <= over_q ? ST_IDLE : ST_MOVE;
        end
      end
      default: state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q <= ST_IDLE;
      ask     <= 1'b0;
    end
  end

  // A segment has whole descriptors, so its last qword ends one, and no piece is missing when it has been looked at.
  assert property (@(posedge clk) disable iff (rst) state_q != ST_READ || open_q || rest_q != '0);
  assert property (@(posedge clk) disable iff (rst) state_q != ST_LOOK || !half_q);
endmodule
