// SPDX-License-Identifier: Apache-2.0
// Packets to the host: replies, admin completions, what a drive writes to stream 1, and the blocks that are read.
//
// All but the blocks is rare and goes a dword at a time into one 128-bit register. Completion entries go to address
// {drive, 2, 1, queue, place} as writes, forwarded rows to {drive, 1, address}; a completion leaves after all rows of
// its drive that are there. A row of which not all bytes are written is sent as its dwords with any of them.
// Latency: blocks 1 cycle. Throughput: blocks a beat every cycle.
module db_rec_to_host #(
    parameter int unsigned N_DRIVES = 2,
    parameter int unsigned DATA_W   = 128
) (
    input  logic                         clk,
    input  logic                         rst,

    input  logic                         s_reply_valid,  // db_rec_from_host
    output logic                         s_reply_ready,
    input  logic [31:0]                  s_reply_data,
    input  logic                         s_reply_last,
    input  logic                         adm_busy,
    input  logic                         adm_refused,
    input  logic [3:0]                   adm_drive,
    input  logic [15:0]                  adm_cid,
    input  logic [3:0]                   adm_queue,
    input  logic                         adm_hi,
    output logic                         adm_done,
    input  logic                         adm_gone,       // there will be no answer

    input  logic [N_DRIVES-1:0]          s_adm_valid,    // db_host
    output logic [N_DRIVES-1:0]          s_adm_ready,
    input  logic [N_DRIVES*128-1:0]      s_adm_cqe,
    input  logic [N_DRIVES-1:0]          s_adm_timeout,
    input  logic [N_DRIVES-1:0]          s_fwd_valid,
    output logic [N_DRIVES-1:0]          s_fwd_ready,
    input  logic [N_DRIVES*23-1:0]       s_fwd_addr,
    input  logic [N_DRIVES*DATA_W-1:0]   s_fwd_data,
    input  logic [N_DRIVES*DATA_W/8-1:0] s_fwd_be,

    input  logic                         s_axis_tvalid,  // db_rec_read
    output logic                         s_axis_tready,
    input  logic [127:0]                 s_axis_tdata,
    input  logic                         s_axis_tlast,

    output logic                         m_axis_tvalid,
    input  logic                         m_axis_tready,
    output logic [127:0]                 m_axis_tdata,
    output logic [3:0]                   m_axis_tkeep,
    output logic                         m_axis_tlast
);
  localparam int unsigned DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam int unsigned L = DATA_W / 32;
  localparam int unsigned LW = $clog2(L);
  // Completions that are made here: SCT 0 Invalid Opcode, SCT 3 of the host (drive down, time-out).
  localparam logic [14:0] ST_REFUSED = 15'h0001;
  localparam logic [14:0] ST_TIMEOUT = {4'd0, db_nvme_pkg::SCT_PATH, db_host_pkg::SC_HOST_ABORTED};

  // ------------------------------------------------------------------ dwords of the rare packets
  typedef enum logic [2:0] {IDLE, REPLY, CQE, FWD_FIND, FWD, DONE} state_e;
  state_e          state_q;
  logic [DW-1:0]   v_q;
  logic [2:0]      index_q;  // header 0..3, then data
  logic [LW-1:0]   lane_q;
  logic [3:0]      place_q;
  logic            gone_q, drop_q;
  logic [DATA_W/8-1:0] be;
  logic [31:0]     row_dw, cqe_dw;  // of the drive at hand: drive and dword are chosen in one multiplexer
  logic            phase;
  logic [14:0]     status;
  logic            full, e_valid, e_ready, e_last, has;
  logic [31:0]     e_data;

  assign row_dw = s_fwd_data[32'({v_q, lane_q})*32+:32];
  assign cqe_dw = s_adm_cqe[32'({v_q, index_q[1:0]})*32+:32];
  assign {status, phase} = s_adm_cqe[32'(v_q)*128+112+:16];
  assign be   = s_fwd_be[32'(v_q)*DATA_W/8+:DATA_W/8];
  assign full = &be;
  assign has  = be[32'(lane_q)*4+:4] != '0;

  always_comb begin
    e_valid = state_q inside {CQE, FWD} || (state_q == REPLY && s_reply_valid);
    e_last  = state_q == REPLY ? s_reply_last :
              state_q == CQE ? index_q == 3'd7 : index_q[2] && (!full || lane_q == LW'(L - 1));
    e_data  = s_reply_data;
    if (state_q inside {CQE, FWD}) begin
      unique case (index_q)
        3'd0: e_data = state_q == CQE ? {4'(v_q), 8'h21, adm_queue, 8'd0, place_q, 4'd0} :
                                        {4'(v_q), 4'h1, adm_hi, s_fwd_addr[32'(v_q)*23+:23] | 23'({lane_q, 2'b00})};
        3'd1, 3'd3: e_data = '0;
        3'd2: e_data = 32'h800 + (state_q == CQE ? 32'd4 : full ? 32'(L) : 32'd1);
        default: begin
          e_data = row_dw;
          if (state_q == CQE) e_data = gone_q ? '0 : cqe_dw;
          if (state_q == CQE && index_q == 3'd7)
            e_data = {gone_q ? (adm_refused ? ST_REFUSED : ST_TIMEOUT) : status, !gone_q && phase, adm_cid};
        end
      endcase
    end
  end
  assign s_reply_ready = state_q == REPLY && e_ready;
  assign adm_done      = state_q == CQE && e_ready && index_q == 3'd7;
  always_comb begin
    s_adm_ready = '0;
    s_fwd_ready = '0;
    s_adm_ready[v_q] = adm_done && !drop_q;
    s_fwd_ready[v_q] = state_q == DONE;
  end

  always_ff @(posedge clk) begin
    unique case (state_q)
      IDLE: begin
        index_q <= '0;
        lane_q  <= '0;
        if (s_reply_valid) begin
          state_q <= REPLY;
        end else if (s_fwd_valid[v_q]) begin
          state_q <= FWD_FIND;
        end else if (adm_busy && 32'(adm_drive) == 32'(v_q) && (adm_refused || adm_gone || s_adm_valid[v_q])) begin
          state_q <= CQE;
          gone_q  <= adm_refused || adm_gone || s_adm_timeout[v_q];
          drop_q  <= adm_refused || adm_gone;  // no answer to take
        end else begin
          v_q <= v_q == DW'(N_DRIVES - 1) ? '0 : v_q + 1'b1;
        end
      end
      REPLY: if (e_valid && e_ready && e_last) state_q <= IDLE;
      CQE:
        if (e_ready) begin
          index_q <= index_q + 3'd1;
          if (e_last) begin
            state_q <= IDLE;
            place_q <= place_q + 4'd1;
          end
        end
      FWD_FIND: begin
        index_q <= '0;
        if (!full && !has) begin
          lane_q  <= lane_q + 1'b1;
          state_q <= lane_q == LW'(L - 1) ? DONE : FWD_FIND;
        end else begin
          state_q <= FWD;
        end
      end
      FWD:
        if (e_ready) begin
          if (index_q[2]) lane_q <= lane_q + 1'b1;
          else index_q <= index_q + 3'd1;
          if (e_last) state_q <= lane_q == LW'(L - 1) ? DONE : FWD_FIND;
        end
      default: state_q <= IDLE;
    endcase
    if (rst) begin
      state_q <= IDLE;
      v_q     <= '0;
      place_q <= '0;
    end
  end

  // ------------------------------------------------------------------ dwords to beats
  logic [127:0] beat_q;
  logic [1:0]   fill_q;
  logic [3:0]   keep_q;
  logic         beat_valid_q, beat_last_q, beat_taken;
  assign e_ready = !beat_valid_q;
  always_ff @(posedge clk) begin
    if (beat_taken) beat_valid_q <= 1'b0;
    if (e_valid && e_ready) begin
      for (int i = 0; i < 4; i++) if (fill_q == 2'(i)) beat_q[i*32+:32] <= e_data;
      keep_q       <= fill_q == 2'd0 ? 4'b0001 : keep_q | (4'b0001 << fill_q);
      fill_q       <= e_last ? 2'd0 : fill_q + 2'd1;
      beat_valid_q <= e_last || fill_q == 2'd3;
      beat_last_q  <= e_last;
    end
    if (rst) begin
      fill_q       <= '0;
      beat_valid_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ both to the host, whole packets
  logic         out_valid_q, out_last_q, free, inside_q, rare_q, rare;
  logic [127:0] out_q;
  logic [3:0]   out_keep_q;
  assign free          = !out_valid_q || m_axis_tready;
  assign rare          = inside_q ? rare_q : beat_valid_q;
  assign beat_taken    = free && rare && beat_valid_q;
  assign s_axis_tready = free && !rare;
  assign m_axis_tvalid = out_valid_q;
  assign m_axis_tdata  = out_q;
  assign m_axis_tkeep  = out_keep_q;
  assign m_axis_tlast  = out_last_q;
  always_ff @(posedge clk) begin
    if (free) begin
      out_valid_q <= rare ? beat_valid_q : s_axis_tvalid;
      out_last_q  <= rare ? beat_last_q : s_axis_tlast;
      out_q       <= rare ? beat_q : s_axis_tdata;
      out_keep_q  <= rare ? keep_q : '1;
      if (rare ? beat_valid_q : s_axis_tvalid) begin
        inside_q <= rare ? !beat_last_q : !s_axis_tlast;
        rare_q   <= rare;
      end
    end
    if (rst) begin
      out_valid_q <= 1'b0;
      inside_q    <= 1'b0;
    end
  end
endmodule
