// SPDX-License-Identifier: Apache-2.0
// Packets to the host: replies, admin completions, what a drive writes to stream 1, and the blocks that are read.
//
// All but the blocks is rare and goes a dword at a time into one 128-bit register. Completion entries go to address
// {drive, 2, 1, queue, place} as writes, forwarded rows to {drive, 1, address}; a completion leaves after all rows of
// its drive that are there. A row of which not all bytes are written is sent as its dwords with any of them. Drives
// take turns, a row or a completion each.
// Latency: blocks 1 cycle, a dword of the rest 3. Throughput: blocks a beat every cycle.
module db_rec_to_host
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2,
  parameter int DATA_W   = 128
) (
  input  logic                                      clk,
  input  logic                                      rst,
  input  logic                                      wipe,  ///< rst is by Control.Reset: an open packet is ended

  /// db_rec_from_host
  input  logic                                      s_reply_valid,
  output logic                                      s_reply_ready,
  input  reply_t                                    s_reply,
  input  admin_t        [N_DRIVES-1:0]               admin,
  output logic          [N_DRIVES-1:0]               admin_done,

  /// db_rec_io: ends of I/O entries, and dwords that it wants
  input  logic                                      s_done_valid,
  output logic                                      s_done_ready,
  input  io_done_t                                  s_done,
  input  logic                                      s_fetch_valid,
  output logic                                      s_fetch_ready,
  input  fetch_t                                    s_fetch,

  /// db_host: ends of admin commands, and rows that a drive writes to stream 1
  input  logic          [N_DRIVES-1:0]               s_admin_valid,
  output logic          [N_DRIVES-1:0]               s_admin_ready,
  input  admin_answer_t [N_DRIVES-1:0]               s_admin,
  input  logic          [N_DRIVES-1:0]               s_forward_valid,
  output logic          [N_DRIVES-1:0]               s_forward_ready,
  input  logic          [N_DRIVES-1:0][22:0]         s_forward_addr,
  input  logic          [N_DRIVES-1:0][DATA_W-1:0]   s_forward_data,
  input  logic          [N_DRIVES-1:0][DATA_W/8-1:0] s_forward_be,

  /// db_rec_read
  input  logic                                      s_block_valid,
  output logic                                      s_block_ready,
  input  packet_t                                   s_block,

  output logic                                      m_packet_valid,
  input  logic                                      m_packet_ready,
  output packet_t                                   m_packet
);
  localparam int DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam int L = DATA_W / 32;
  localparam int LW = $clog2(L);
  // Of completions that are made here: the drive gave none (down, or timed out), or was not asked.
  localparam logic [14:0] STATUS_ABORTED = {4'd0, db_nvme_pkg::SCT_PATH, db_host_pkg::SC_HOST_ABORTED};
  localparam logic [14:0] STATUS_AER_LIMIT = {4'd0, db_nvme_pkg::SCT_SPECIFIC, db_nvme_pkg::SC_AER_LIMIT};

  // ---- dwords of the rare packets
  typedef enum logic [2:0] {
    ST_IDLE, ST_REPLY, ST_CQE, ST_FORWARD_FIND, ST_FORWARD, ST_DONE, ST_FETCH, ST_IO
  } state_e;
  state_e          state_q;
  logic [DW-1:0]   v_q, v_next;  // the drive at hand, in turn
  logic [2:0]      index_q;  // header 0..3, then data
  logic [LW-1:0]   lane_q;
  logic [3:0]      place_q;
  logic            gone_q, drop_q;
  logic [DATA_W/8-1:0] be;
  admin_t          mine;
  logic            made;     // the drive has not been asked
  logic [14:0]     made_status;
  logic            ends;
  logic            full, e_valid, e_ready, e_last, has;
  logic [31:0]     head;     // the dword, but for rows and completion entries

  assign v_next = v_q == DW'(N_DRIVES - 1) ? '0 : v_q + 1'b1;
  assign mine = admin[v_q];
  assign be   = s_forward_be[v_q];
  assign made = mine.made != MADE_NOT;
  assign made_status = mine.made == MADE_GOOD ? '0 : mine.made == MADE_AER_LIMIT ? STATUS_AER_LIMIT : STATUS_ABORTED;
  assign full = &be;
  assign has  = be[32'(lane_q)*4+:4] != '0;

  always_comb begin
    e_valid = state_q inside {ST_CQE, ST_FORWARD, ST_FETCH, ST_IO} || (state_q == ST_REPLY && s_reply_valid);
    e_last  = state_q == ST_REPLY ? s_reply.last :
              state_q == ST_FETCH ? index_q == 3'd3 : state_q inside {ST_CQE, ST_IO} ? index_q == 3'd7 :
              index_q[2] && (!full || lane_q == LW'(L - 1));
  end

  // A dword is chosen into one register a source, each zero when the dword is another's, and is their OR a cycle later.
  logic [31:0]               held_head_q, held;
  logic [N_DRIVES-1:0][31:0] held_row_q, held_cqe_q;
  logic                      in_data;  // behind the header
  assign in_data = index_q[2];
  always_comb begin
    held = held_head_q;
    for (int i = 0; i < N_DRIVES; i++) held |= held_row_q[i] | held_cqe_q[i];
  end
  always_comb begin
    head = '0;
    unique case (state_q)
      ST_REPLY: head = s_reply.data;
      ST_FETCH:
        unique case (index_q)
          3'd0:    head = {s_fetch.drive, 4'h1, s_fetch.addr};
          3'd2:    head = 32'(s_fetch.dwords);
          3'd3:    head = 32'(s_fetch.tag);
          default: ;
        endcase
      ST_IO:
        unique case (index_q)
          3'd0:    head = {s_done.drive, 8'h21, s_done.qid, 8'd0, place_q, 4'd0};
          3'd2:    head = 32'h804;
          3'd6:    head = {12'd0, s_done.qid, 16'd0};
          3'd7:    head = {s_done.status, 1'b0, s_done.cid};
          default: ;
        endcase
      ST_CQE:
        unique case (index_q)
          3'd0:    head = {4'(v_q), 8'h21, mine.qid, 8'd0, place_q, 4'd0};
          3'd2:    head = 32'h804;
          3'd7:    head = {!gone_q ? 15'd0 : made_status, 1'b0, mine.cid};
          default: ;
        endcase
      default:
        unique case (index_q)
          3'd0:    head = {4'(v_q), 4'h1, mine.prp_bit23, s_forward_addr[v_q] | 23'({lane_q, 2'b00})};
          3'd2:    head = 32'h800 + (full ? 32'(L) : 32'd1);
          default: ;
        endcase
    endcase
  end
  always_ff @(posedge clk) begin
    if (e_ready) begin
      held_head_q <= head;
      for (int i = 0; i < N_DRIVES; i++) begin
        held_row_q[i] <= state_q == ST_FORWARD && in_data && v_q == DW'(i) ?
                         s_forward_data[i][32'(lane_q)*32+:32] : '0;
        held_cqe_q[i] <= state_q == ST_CQE && in_data && v_q == DW'(i) && !gone_q ?
                         s_admin[i].cqe[32'(index_q[1:0])*32+:32] : '0;
        // the identifier that the host has given
        if (index_q[1:0] == 2'd3) held_cqe_q[i][15:0] <= '0;
      end
    end
  end
  assign s_reply_ready = state_q == ST_REPLY && e_ready;
  assign s_fetch_ready = state_q == ST_FETCH && e_ready && index_q == 3'd3;
  assign s_done_ready  = state_q == ST_IO && e_ready && index_q == 3'd7;
  assign ends = state_q == ST_CQE && e_ready && index_q == 3'd7;
  always_comb begin
    s_admin_ready = '0;
    s_forward_ready = '0;
    admin_done = '0;
    admin_done[v_q] = ends;
    s_admin_ready[v_q] = ends && !drop_q;
    s_forward_ready[v_q] = state_q == ST_DONE;
  end

  always_ff @(posedge clk) begin
    unique case (state_q)
      ST_IDLE: begin
        index_q <= '0;
        lane_q  <= '0;
        if (s_reply_valid) begin
          state_q <= ST_REPLY;
        end else if (s_fetch_valid) begin
          state_q <= ST_FETCH;
        end else if (s_done_valid) begin
          state_q <= ST_IO;
        end else if (s_forward_valid[v_q]) begin
          state_q <= ST_FORWARD_FIND;
        end else if (mine.busy && (made || mine.gone || s_admin_valid[v_q])) begin
          state_q <= ST_CQE;
          gone_q  <= made || mine.gone || s_admin[v_q].timeout;
          drop_q  <= made || mine.gone;  // no answer to take
        end else begin
          v_q <= v_next;
        end
      end
      ST_REPLY: if (e_valid && e_ready && e_last) state_q <= ST_IDLE;
      ST_FETCH: if (e_ready) begin
        index_q <= index_q + 3'd1;
        if (e_last) state_q <= ST_IDLE;
      end
      ST_CQE, ST_IO:
        if (e_ready) begin
          index_q <= index_q + 3'd1;
          if (e_last) begin
            state_q <= ST_IDLE;
            place_q <= place_q + 4'd1;
          end
        end
      ST_FORWARD_FIND: begin
        index_q <= '0;
        if (!full && !has) begin
          lane_q  <= lane_q + 1'b1;
          state_q <= lane_q == LW'(L - 1) ? ST_DONE : ST_FORWARD_FIND;
        end else begin
          state_q <= ST_FORWARD;
        end
      end
      ST_FORWARD:
        if (e_ready) begin
          if (index_q[2]) lane_q <= lane_q + 1'b1;
          else index_q <= index_q + 3'd1;
          if (e_last) state_q <= lane_q == LW'(L - 1) ? ST_DONE : ST_FORWARD_FIND;
        end
      default: begin
        state_q <= ST_IDLE;
        v_q     <= v_next;  // others first: a drive that writes without end is not alone
      end
    endcase
    if (rst) begin
      state_q <= ST_IDLE;
      v_q     <= '0;
      place_q <= '0;
    end
  end

  // ---- dwords to beats
  logic [127:0] beat_q;
  logic [1:0]   fill_q;
  logic [3:0]   keep_q;
  logic         beat_valid_q, beat_last_q, beat_taken;
  logic         held_q, held_last_q;  // a dword that is to go into the beat
  assign e_ready = !held_q || !beat_valid_q;
  always_ff @(posedge clk) begin
    if (beat_taken) beat_valid_q <= 1'b0;
    if (e_ready) begin
      held_q      <= e_valid;
      held_last_q <= e_last;
    end
    if (held_q && !beat_valid_q) begin
      for (int i = 0; i < 4; i++) if (fill_q == 2'(i)) beat_q[i*32+:32] <= held;
      keep_q       <= fill_q == 2'd0 ? 4'b0001 : keep_q | (4'b0001 << fill_q);
      fill_q       <= held_last_q ? 2'd0 : fill_q + 2'd1;
      beat_valid_q <= held_last_q || fill_q == 2'd3;
      beat_last_q  <= held_last_q;
    end
    if (rst) begin
      held_q       <= 1'b0;
      fill_q       <= '0;
      beat_valid_q <= 1'b0;
    end
  end

  // ---- both to the host, whole packets; one that is open when all is reset ends with a dword of anything
  logic    out_valid_q, free, inside_q, rare_q, rare, wiped_q, cut;
  packet_t out_q;
  assign free           = !out_valid_q || m_packet_ready;
  assign cut            = wiped_q && inside_q;
  assign rare           = inside_q ? rare_q : beat_valid_q;
  assign beat_taken     = free && rare && beat_valid_q && !cut;
  assign s_block_ready  = free && !rare && !cut;
  assign m_packet_valid = out_valid_q;
  assign m_packet       = out_q;
  always_ff @(posedge clk) begin
    wiped_q <= wipe || cut;
    if (free) begin
      out_valid_q <= cut || (rare ? beat_valid_q : s_block_valid);
      out_q       <= rare ? '{last: beat_last_q, keep: keep_q, data: beat_q} : s_block;
      if (cut) {out_q.last, out_q.keep} <= 5'b1_0001;
      if (cut || (rare ? beat_valid_q : s_block_valid)) begin
        inside_q <= !cut && (rare ? !beat_last_q : !s_block.last);
        rare_q   <= rare;
      end
    end
    if (rst && !wipe) begin
      out_valid_q <= 1'b0;
      inside_q    <= 1'b0;
      wiped_q     <= 1'b0;
    end
  end
endmodule
