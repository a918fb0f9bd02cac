// SPDX-License-Identifier: Apache-2.0
// Packets from the host: accesses to a drive's registers, and admin commands.
//
// Stream 0: reads and writes of BAR 0, a dword at a time; a read gets a reply packet (dwords on m_reply_*). Stream 2, a
// write of 16 dwords to queue 0: an admin command. Its PRPs with stream number 1 lead to REGION_FORWARD in the drive's
// window, so the data comes out as packets; db_rec_to_host sends the completion. All else that wants an answer gets
// Unsupported Request; other writes are passed over. A packet that ends too early does nothing.
// Latency: 2 cycles from a read's header to s_reg_valid. Throughput: 2 cycles a dword.
module db_rec_from_host
  import db_host_pkg::*;
#(
    parameter int unsigned N_DRIVES = 2
) (
    input  logic                     clk,
    input  logic                     rst,
    input  logic [N_DRIVES*64-1:0]   window_base,
    input  logic [N_DRIVES-1:0]      flush,         // in reset: nothing is answered

    input  logic                     s_axis_tvalid,
    output logic                     s_axis_tready,
    input  logic [127:0]             s_axis_tdata,
    input  logic [3:0]               s_axis_tkeep,
    input  logic                     s_axis_tlast,

    output logic                     m_reply_valid,
    input  logic                     m_reply_ready,
    output logic [31:0]              m_reply_data,
    output logic                     m_reply_last,

    // an admin command: to its completion packet one is under way
    output logic                     adm_busy,
    output logic                     adm_refused,   // queue not served: nothing was sent to the drive
    output logic                     adm_gone,      // the drive was reset: there will be no answer
    output logic [3:0]               adm_drive,
    output logic [15:0]              adm_cid,
    output logic [3:0]               adm_queue,
    output logic                     adm_hi,        // bit 23 of its first PRP
    input  logic                     adm_done,

    // db_host
    output logic [N_DRIVES-1:0]      m_reg_valid,
    input  logic [N_DRIVES-1:0]      m_reg_ready,
    output logic                     m_reg_write,
    output logic [23:0]              m_reg_addr,
    output logic [31:0]              m_reg_wdata,
    input  logic [N_DRIVES-1:0]      s_reg_valid,
    input  logic [N_DRIVES*32-1:0]   s_reg_rdata,
    input  logic [N_DRIVES*2-1:0]    s_reg_status,
    output logic [N_DRIVES-1:0]      m_adm_valid,
    input  logic [N_DRIVES-1:0]      m_adm_ready,
    output logic [31:0]              m_adm_data
);
  localparam int unsigned DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam logic [2:0] UR = 3'd1;

  typedef enum logic [3:0] {
    HEAD, SKIP, BEAT, LANE, ACCESS, WAIT, REPLY, REPLY_DATA, ADM_WAIT, ADM, REFUSE
  } state_e;
  state_e       state_q;
  logic [DW-1:0] d_q;
  logic [23:0]  addr_q;
  logic [10:0]  left_q, count_q;
  logic [3:0]   src_q, index_q, queue_q;
  logic [7:0]   tag_q;
  logic         write_q, admin_q, last_q, first_q, there;
  logic [127:0] beat_q;
  logic [1:0]   lane_q, head_q;
  logic [2:0]   status_q;
  logic [3:0]   error_q;
  logic [31:0]  data_q, dword;
  logic [31:0]  sqe_q[16];

  logic [31:0] h0, h2;
  assign h0    = s_axis_tdata[31:0];
  assign h2    = s_axis_tdata[95:64];
  assign there = 32'(h0[31:28]) < N_DRIVES;
  assign dword = beat_q[32*lane_q+:32];
  assign s_axis_tready = state_q inside {HEAD, SKIP, BEAT};

  // ------------------------------------------------------------------ admin commands
  logic [63:0] base;
  logic [31:0] entry;
  logic        fwd, fwd_q, hi_q, busy_q, refused_q, gone_q;
  logic [3:0]  adm_d_q, adm_queue_q;
  logic [15:0] cid_q, cid_in_q;  // _in_q: of the entry that comes in
  logic        hi_in_q;
  assign base  = window_base[32'(d_q)*64+:64];
  assign entry = sqe_q[index_q];
  assign fwd   = entry[27:24] == 4'd1;
  always_comb begin
    m_adm_data = entry;
    if (index_q inside {4'd6, 4'd8} && fwd) m_adm_data = {base[31:WIN_W], REGION_FORWARD, entry[REGION_W-1:0]};
    if (index_q inside {4'd7, 4'd9} && fwd_q) m_adm_data = base[63:32];
  end
  assign adm_busy    = busy_q;
  assign adm_refused = refused_q;
  assign adm_gone    = gone_q;
  assign adm_drive   = adm_d_q;
  assign adm_queue   = adm_queue_q;
  assign adm_cid     = cid_q;
  assign adm_hi      = hi_q;

  always_comb begin
    m_reg_valid = '0;
    m_adm_valid = '0;
    m_reg_valid[d_q] = state_q == ACCESS;
    m_adm_valid[d_q] = state_q == ADM;
  end
  assign m_reg_write = write_q;
  assign m_reg_addr  = addr_q;
  assign m_reg_wdata = data_q;

  // ------------------------------------------------------------------ replies
  assign m_reply_valid = state_q inside {REPLY, REPLY_DATA};
  assign m_reply_last  = state_q == REPLY_DATA ? left_q == 11'd1 : head_q == 2'd2 && count_q == '0;
  always_comb begin
    m_reply_data = data_q;
    if (state_q == REPLY)
      unique case (head_q)
        2'd0:    m_reply_data = {3'd0, count_q, 2'b00, error_q, addr_q[11:0]};
        2'd1:    m_reply_data = {12'd0, src_q, 2'b00, status_q, count_q};
        default: m_reply_data = {24'h80_0000, tag_q};
      endcase
  end

  always_ff @(posedge clk) begin
    if (state_q == LANE && admin_q) begin
      sqe_q[index_q] <= dword;
      if (index_q == 4'd0) cid_in_q <= dword[31:16];
      if (index_q == 4'd6) hi_in_q <= dword[23];
    end
    if (adm_done) busy_q <= 1'b0;
    if (busy_q && flush[DW'(adm_d_q)]) gone_q <= 1'b1;
    unique case (state_q)
      HEAD: begin
        d_q      <= DW'(h0[31:28]);
        queue_q  <= h0[19:16];
        addr_q   <= {h0[23:2], 2'b00};
        src_q    <= h2[19:16];
        count_q  <= h2[10:0];
        left_q   <= h2[10:0];
        tag_q    <= s_axis_tdata[103:96];
        write_q  <= h2[11];
        admin_q  <= h0[27:24] == 4'd2;
        last_q   <= s_axis_tlast;
        status_q <= '0;
        error_q  <= '0;
        head_q   <= '0;
        lane_q   <= '0;
        index_q  <= '0;
        first_q  <= 1'b1;
        if (s_axis_tvalid) begin
          state_q <= s_axis_tlast ? HEAD : SKIP;
          if (h2[15:11] == 5'd1) begin
            // memory write
            if (there && !s_axis_tlast && h2[10:0] != '0 &&
                (h0[27:24] == 4'd0 || (h0[27:24] == 4'd2 && h2[10:0] == 11'd16))) state_q <= BEAT;
          end else if (h2[15:11] == 5'd0 && there && h0[27:24] == 4'd0 && h2[10:0] != '0 && s_axis_tlast) begin
            state_q <= ACCESS;
          end else if (!h2[15]) begin
            status_q <= UR;
            count_q  <= '0;
            state_q  <= s_axis_tlast ? REPLY : SKIP;
          end
        end
      end
      SKIP: if (s_axis_tvalid && s_axis_tlast) state_q <= status_q == UR ? REPLY : HEAD;
      BEAT:
        if (s_axis_tvalid) begin
          beat_q  <= s_axis_tdata;
          last_q  <= s_axis_tlast;
          state_q <= LANE;
        end
      LANE: begin  // a dword of the payload
        data_q  <= dword;
        lane_q  <= lane_q + 2'd1;
        left_q  <= left_q - 11'd1;
        index_q <= index_q + 4'd1;
        if (!admin_q) state_q <= ACCESS;
        else if (left_q == 11'd1) state_q <= last_q ? (queue_q == '0 ? ADM_WAIT : REFUSE) : SKIP;
        else if (lane_q == 2'd3) state_q <= last_q ? HEAD : BEAT;
      end
      ACCESS: if (m_reg_ready[d_q] || flush[d_q]) state_q <= WAIT;
      WAIT:
        if (s_reg_valid[d_q] || flush[d_q]) begin
          addr_q <= addr_q + 24'd4;
          if (write_q) begin
            if (left_q == '0) state_q <= last_q ? HEAD : SKIP;
            else if (lane_q != 2'd0) state_q <= LANE;
            else state_q <= last_q ? HEAD : BEAT;
          end else begin
            data_q  <= s_reg_rdata[32'(d_q)*32+:32];
            first_q <= 1'b0;
            state_q <= first_q ? REPLY : REPLY_DATA;
            if (first_q) begin
              addr_q   <= addr_q;
              status_q <= s_reg_status[32'(d_q)*2+:2] == 2'd0 && !flush[d_q] ? 3'd0 : UR;
              error_q  <= s_reg_status[32'(d_q)*2+:2] == 2'd3 ? 4'h9 : 4'h0;
            end
          end
        end
      REPLY:
        if (m_reply_ready) begin
          head_q <= head_q + 2'd1;
          if (head_q == 2'd2) begin
            addr_q  <= addr_q + 24'd4;
            state_q <= count_q == '0 ? HEAD : REPLY_DATA;
          end
        end
      REPLY_DATA:
        if (m_reply_ready) begin
          left_q  <= left_q - 11'd1;
          state_q <= left_q == 11'd1 ? HEAD : ACCESS;
        end
      ADM_WAIT, REFUSE:  // the one before must be finished
        if (!busy_q) begin
          index_q <= '0;
          state_q <= state_q == ADM_WAIT ? ADM : HEAD;
          if (state_q == REFUSE) busy_q <= 1'b1;
          refused_q   <= state_q == REFUSE;
          gone_q      <= 1'b0;
          adm_d_q     <= 4'(d_q);
          adm_queue_q <= queue_q;
          cid_q       <= cid_in_q;
          hi_q        <= hi_in_q;
        end
      ADM: begin
        gone_q <= gone_q || flush[d_q];
        if (m_adm_ready[d_q] || flush[d_q]) begin
          fwd_q   <= fwd;
          index_q <= index_q + 4'd1;
          if (index_q == '1) begin
            busy_q  <= 1'b1;
            state_q <= HEAD;
          end
        end
      end
      default: state_q <= HEAD;
    endcase
    if (rst) begin
      state_q <= HEAD;
      busy_q  <= 1'b0;
    end
  end
endmodule
