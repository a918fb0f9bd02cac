// SPDX-License-Identifier: Apache-2.0
// Packets from the host: accesses to a drive's registers, admin commands, I/O queue entries and their data.
//
// Stream 0: reads and writes of BAR 0, a dword at a time; a read gets a reply packet (dwords on m_reply). Stream 2, a
// write of 16 dwords to queue 0: an admin command. Its PRPs with stream number 1 lead to REGION_FORWARD in the drive's
// window, so the data comes out as packets; db_rec_to_host sends the completion. All else that wants an answer gets
// Unsupported Request; other writes are passed over. A packet that ends too early does nothing.
//
// Queues, CC and doorbells are db_host's. Software that sets a drive up by itself finds its own view of it: writes to
// CC, AQA, ASQ, ACQ, doorbells and configuration space are answered and dropped, as are Create and Delete Queue; after
// CC.EN = 0 the drive reads as not ready until EN = 1, which also asks for bring-up (Initialise). Asynchronous Event
// Request, which a drive may never end, is refused.
// Entries for other queues go to db_rec_io, as many as there is room for, and so do replies to what it has asked for.
// Latency: 2 cycles from a read's header to m_reg_valid. Throughput: 2 cycles a dword.
module db_rec_from_host
  import db_host_pkg::*;
  import db_rec_pkg::*;
  import db_nvme_pkg::*;
#(
  parameter int N_DRIVES = 2
) (
  input  logic                         clk,
  input  logic                         rst,
  input  host_state_t   [N_DRIVES-1:0] hosts,
  input  drive_state_t  [N_DRIVES-1:0] drives,         ///< in reset: nothing is answered

  input  logic                         s_packet_valid,
  output logic                         s_packet_ready,
  input  packet_t                      s_packet,       ///< keep: not looked at, the header counts dwords

  output logic                         m_reply_valid,
  input  logic                         m_reply_ready,
  output reply_t                       m_reply,

  output admin_t        [N_DRIVES-1:0] admin,
  input  logic          [N_DRIVES-1:0] admin_done,     ///< its completion packet is made
  output logic          [N_DRIVES-1:0] initialise,     ///< pulse: software has set CC.EN

  /// db_rec_io
  output logic                         m_entry_valid,  ///< 16 of them; m_admin_data, in the last one drive and queue
  output logic          [31:0]         m_entry_data,
  input  logic                         entry_room,     ///< for 16
  input  logic                         data_open,
  input  logic          [7:0]          data_tag,
  output logic                         m_data_valid,   ///< while data_open falls one more may come
  output logic          [31:0]         m_data,
  output logic                         m_data_error,

  /// db_host: accesses are for the drive whose valid is high
  output logic          [N_DRIVES-1:0] m_reg_valid,
  input  logic          [N_DRIVES-1:0] m_reg_ready,
  output drive_access_t                m_reg,
  input  logic          [N_DRIVES-1:0] s_reg_valid,
  input  drive_answer_t [N_DRIVES-1:0] s_reg,
  output logic          [N_DRIVES-1:0] m_admin_valid,
  input  logic          [N_DRIVES-1:0] m_admin_ready,
  output logic          [31:0]         m_admin_data    ///< a dword of the submission entry
);
  localparam int DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam logic [2:0] UR = 3'd1;
  localparam logic [23:0] DOORBELLS = 24'h1000;  // from here on
  localparam logic [3:0] ERROR_REFUSED = 4'd2, ERROR_TIMEOUT = 4'd9;  // error codes of a completion (PG213)
  localparam logic [4:0] REQ_READ = 5'd0, REQ_WRITE = 5'd1, REQ_CFG_WRITE = 5'd10, REQ_CFG_WRITE_1 = 5'd11;

  typedef enum logic [3:0] {
    ST_HEAD, ST_SKIP, ST_PAYLOAD, ST_DWORD, ST_ACCESS, ST_WAIT, ST_REPLY, ST_REPLY_DATA, ST_ADMIN_WAIT, ST_ADMIN,
    ST_ENTRY
  } state_e;
  state_e       state_q;
  logic [DW-1:0] d_q;
  logic [23:0]  addr_q;
  logic [10:0]  left_q, count_q;
  logic [3:0]   src_q, index_q, queue_q;
  logic [7:0]   tag_q;
  logic         write_q, is_admin_q, is_data_q, dropped_q, last_q, first_q, answers_q, there;
  logic         final_q;    // ST_ADMIN: index_q is 15
  logic         flushed_q;  // the drive was in reset a cycle ago: so in the last one of ST_ACCESS, too
  logic [127:0] beat_q;
  logic [1:0]   lane_q, head_q;
  logic [2:0]   status_q;
  logic [3:0]   error_q;
  logic [31:0]  data_q, dword;
  logic [31:0]  sqe_q[16];

  logic [31:0] h0, h1, h2;
  assign h0    = s_packet.data[31:0];
  assign h1    = s_packet.data[63:32];
  assign h2    = s_packet.data[95:64];
  assign there = 32'(h0[31:28]) < N_DRIVES;
  assign dword = beat_q[32*lane_q+:32];
  assign s_packet_ready = state_q inside {ST_HEAD, ST_SKIP, ST_PAYLOAD};

  // ---- admin commands
  logic [63:0] base;
  logic [31:0] entry;
  logic        forwards, forwards_q;
  admin_t      [N_DRIVES-1:0] admin_q;
  logic [7:0]  opcode_in_q;
  made_e       made;            // how the entry is answered here
  logic [15:0] cid_in_q;        // _in_q: of the entry that comes in
  logic        prp_bit23_in_q;
  assign base  = hosts[d_q].window_base;
  assign entry = sqe_q[index_q];
  assign forwards   = entry[27:24] == 4'd1;
  always_comb begin
    m_admin_data = entry;
    if (index_q inside {4'd6, 4'd8} && forwards) m_admin_data = {base[31:WIN_W], REGION_FORWARD, entry[REGION_W-1:0]};
    if (index_q inside {4'd7, 4'd9} && forwards_q) m_admin_data = base[63:32];
  end
  assign admin = admin_q;
  assign m_entry_valid = state_q == ST_ENTRY;
  assign m_entry_data  = index_q == '1 ? {4'(d_q), queue_q, entry[23:0]} : entry;
  assign m_data        = data_q;
  always_comb begin
    made = MADE_NOT;
    if (opcode_in_q inside {ADMIN_OPC_CREATE_SQ, ADMIN_OPC_DELETE_SQ, ADMIN_OPC_CREATE_CQ, ADMIN_OPC_DELETE_CQ})
      made = MADE_GOOD;
    if (opcode_in_q == ADMIN_OPC_ASYNC_EVENT) made = MADE_AER_LIMIT;
    if (queue_q != '0) made = MADE_ABORTED;  // no room
  end

  always_comb begin
    m_reg_valid = '0;
    m_admin_valid = '0;
    m_reg_valid[d_q] = state_q == ST_ACCESS && !dropped_q;
    m_admin_valid[d_q] = state_q == ST_ADMIN;
  end
  assign m_reg = '{write: write_q, addr: addr_q, wdata: data_q};

  // ---- the drive as software has set it
  logic                enables;
  logic [N_DRIVES-1:0] off_q, initialise_q;  // software has cleared CC.EN
  logic [31:0]         seen;                 // what is read
  assign enables = state_q == ST_WAIT && write_q && addr_q == NVME_REG_CC;
  assign initialise = initialise_q;
  always_comb begin
    seen = s_reg[d_q].rdata;
    if (off_q[d_q] && addr_q inside {NVME_REG_CC, NVME_REG_CSTS}) seen[0] = 1'b0;
  end
  always_ff @(posedge clk) begin
    initialise_q <= '0;
    if (enables) begin
      off_q[d_q]        <= !data_q[0];
      initialise_q[d_q] <= data_q[0];
    end
    for (int i = 0; i < N_DRIVES; i++) if (rst || drives[i].flush) off_q[i] <= 1'b0;
  end

  // ---- replies
  logic [31:0] reply_data;
  assign m_reply_valid = state_q inside {ST_REPLY, ST_REPLY_DATA};
  assign m_reply = '{last: state_q == ST_REPLY_DATA ? left_q == 11'd1 : head_q == 2'd2 && count_q == '0,
                     data: reply_data};
  always_comb begin
    reply_data = data_q;
    if (state_q == ST_REPLY)
      unique case (head_q)
        2'd0:    reply_data = {3'd0, count_q, 2'b00, error_q, addr_q[11:0]};
        2'd1:    reply_data = {12'd0, src_q, 2'b00, status_q, count_q};
        default: reply_data = {24'h80_0000, tag_q};
      endcase
  end

  always_ff @(posedge clk) begin
    if (state_q == ST_DWORD && is_admin_q && !is_data_q) begin
      sqe_q[index_q] <= dword;
      if (index_q == 4'd0) {cid_in_q, opcode_in_q} <= {dword[31:16], dword[7:0]};
      if (index_q == 4'd6) prp_bit23_in_q <= dword[23];
    end
    for (int i = 0; i < N_DRIVES; i++) begin
      if (admin_done[i]) admin_q[i].busy <= 1'b0;
      if (admin_q[i].busy && drives[i].flush) admin_q[i].gone <= 1'b1;
    end
    m_data_valid <= state_q == ST_DWORD && is_data_q && tag_q == data_tag;  // else its asker has given up
    m_data_error <= 1'b0;
    flushed_q <= drives[d_q].flush;
    unique case (state_q)
      ST_HEAD: begin
        is_data_q <= 1'b0;
        beat_q    <= s_packet.data;
        d_q      <= DW'(h0[31:28]);
        queue_q  <= h0[19:16];
        addr_q   <= {h0[23:2], 2'b00};
        src_q    <= h2[19:16];
        count_q  <= h2[10:0];
        left_q   <= h2[10:0];
        tag_q    <= h2[31] ? h2[7:0] : s_packet.data[103:96];
        write_q  <= h2[11];
        is_admin_q <= h0[27:24] == 4'd2;
        last_q   <= s_packet.last;
        status_q <= '0;
        error_q  <= '0;
        answers_q <= 1'b0;
        head_q   <= '0;
        lane_q   <= '0;
        index_q  <= '0;
        first_q  <= 1'b1;
        dropped_q <= 1'b0;
        if (s_packet_valid) begin
          state_q <= s_packet.last ? ST_HEAD : ST_SKIP;
          if (h2[31]) begin
            // a reply: its data begin in this beat; it may be to something that was not asked for
            if (data_open && h2[7:0] == data_tag) begin
              if (h0[15:12] != '0 || h1[13:11] != '0 || h1[10:0] == '0) begin
                m_data_error <= 1'b1;
              end else begin
                is_data_q <= 1'b1;
                left_q    <= h1[10:0];
                lane_q    <= 2'd3;
                state_q   <= ST_DWORD;
              end
            end
          end else if (h2[15:11] == REQ_WRITE) begin
            // memory write
            if (there && !s_packet.last && h2[10:0] != '0 &&
                (h0[27:24] == 4'd0 || (h0[27:24] == 4'd2 && h2[10:0] == 11'd16))) state_q <= ST_PAYLOAD;
          end else if (h2[15:11] == REQ_READ && there && h0[27:24] == 4'd0 && h2[10:0] != '0 && s_packet.last) begin
            state_q <= ST_ACCESS;
          end else if (!h2[15]) begin
            if (!(there && h0[27:24] == 4'd0 && h2[15:11] inside {REQ_CFG_WRITE, REQ_CFG_WRITE_1})) begin
              status_q <= UR;
              error_q  <= ERROR_REFUSED;
            end
            answers_q <= 1'b1;
            count_q   <= '0;
            state_q   <= s_packet.last ? ST_REPLY : ST_SKIP;
          end
        end
      end
      ST_SKIP: if (s_packet_valid && s_packet.last) state_q <= answers_q ? ST_REPLY : ST_HEAD;
      ST_PAYLOAD:
        if (s_packet_valid) begin
          beat_q  <= s_packet.data;
          last_q  <= s_packet.last;
          state_q <= ST_DWORD;
        end
      ST_DWORD: begin  // a dword of the payload
        data_q  <= dword;
        dropped_q <= addr_q == NVME_REG_CC || addr_q >= DOORBELLS ||
                     (addr_q >= NVME_REG_AQA && addr_q < NVME_REG_ACQ + 24'd8);
        lane_q  <= lane_q + 2'd1;
        left_q  <= left_q - 11'd1;
        index_q <= index_q + 4'd1;
        if (is_data_q) begin
          if (left_q == 11'd1) state_q <= last_q ? ST_HEAD : ST_SKIP;
          else if (lane_q == 2'd3) state_q <= last_q ? ST_HEAD : ST_PAYLOAD;
        end else if (!is_admin_q) state_q <= ST_ACCESS;
        else if (left_q == 11'd1) state_q <= last_q ? ST_ADMIN_WAIT : ST_SKIP;
        else if (lane_q == 2'd3) state_q <= last_q ? ST_HEAD : ST_PAYLOAD;
      end
      ST_ACCESS: if (m_reg_ready[d_q] || drives[d_q].flush || dropped_q) state_q <= ST_WAIT;
      ST_WAIT:
        if (s_reg_valid[d_q] || flushed_q || dropped_q) begin
          addr_q <= addr_q + 24'd4;
          if (write_q) begin
            if (left_q == '0) state_q <= last_q ? ST_HEAD : ST_SKIP;
            else if (lane_q != 2'd0) state_q <= ST_DWORD;
            else state_q <= last_q ? ST_HEAD : ST_PAYLOAD;
          end else begin
            data_q  <= seen;
            first_q <= 1'b0;
            state_q <= first_q ? ST_REPLY : ST_REPLY_DATA;
            if (first_q) begin
              addr_q   <= addr_q;
              status_q <= s_reg[d_q].status == 2'd0 && !flushed_q ? 3'd0 : UR;
              error_q  <= flushed_q ? ERROR_REFUSED : s_reg[d_q].status == 2'd3 ? ERROR_TIMEOUT :
                          s_reg[d_q].status != 2'd0 ? ERROR_REFUSED : 4'd0;
            end
          end
        end
      ST_REPLY:
        if (m_reply_ready) begin
          head_q <= head_q + 2'd1;
          if (head_q == 2'd2) begin
            addr_q  <= addr_q + 24'd4;
            state_q <= count_q == '0 ? ST_HEAD : ST_REPLY_DATA;
          end
        end
      ST_REPLY_DATA:
        if (m_reply_ready) begin
          left_q  <= left_q - 11'd1;
          state_q <= left_q == 11'd1 ? ST_HEAD : ST_ACCESS;
        end
      ST_ADMIN_WAIT:  // the drive's one before must be finished
        if (queue_q != '0 && entry_room) begin
          index_q <= '0;
          state_q <= ST_ENTRY;
        end else if (!admin_q[d_q].busy) begin
          index_q <= '0;
          final_q <= 1'b0;
          state_q <= made != MADE_NOT ? ST_HEAD : ST_ADMIN;
          for (int i = 0; i < N_DRIVES; i++)
            if (d_q == DW'(i))
              admin_q[i] <= '{busy: made != MADE_NOT, made: made, gone: 1'b0, qid: queue_q, cid: cid_in_q,
                              prp_bit23: prp_bit23_in_q};
        end
      ST_ADMIN: begin  // a reset ends it: the host drops what it has, and the rest would be no command
        if (m_admin_ready[d_q]) begin
          forwards_q <= forwards;
          index_q    <= index_q + 4'd1;
          final_q    <= index_q == 4'd14;
        end
        if ((m_admin_ready[d_q] && final_q) || drives[d_q].flush) begin
          for (int i = 0; i < N_DRIVES; i++)
            if (d_q == DW'(i)) {admin_q[i].busy, admin_q[i].gone} <= {1'b1, drives[i].flush};
          state_q <= ST_HEAD;
        end
      end
      ST_ENTRY: begin
        index_q <= index_q + 4'd1;
        if (index_q == '1) state_q <= ST_HEAD;
      end
      default: state_q <= ST_HEAD;
    endcase
    if (rst) begin
      state_q <= ST_HEAD;
      m_data_valid <= 1'b0;
      m_data_error <= 1'b0;
      for (int i = 0; i < N_DRIVES; i++) admin_q[i].busy <= 1'b0;
    end
  end
endmodule
