// SPDX-License-Identifier: Apache-2.0
// Data read from the drives to packets for the host: header and 4096 or 128 bytes, as write requests.
//
// Rows of a Read of the host (`user`) go out in packets of 128 bytes to its address.
// Header: address {drive[3:0], 8'h1F, byte address[19:0] since the read began}, 0, {request 1 (write), dwords}, tag 0.
// Drives take turns by packets; each drive's blocks are in order, a drive without data is passed over.
// Latency: 3 cycles to the header. Throughput: 16 bytes every cycle, 2 empty ones between packets.
module db_rec_read
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES   = 2,
  parameter int DATA_W     = 128,
  parameter bit FULL_BLOCK = 1'b1,  ///< 4096 bytes a packet, else 128
  parameter int READ_BLOCKS = 8     ///< blocks of the largest read
) (
  input  logic                                  clk,
  input  logic                                  rst,
  input  logic         [N_DRIVES-1:0]           restart,  ///< byte address 0 is next
  output logic         [N_DRIVES-1:0]           busy,     ///< rows of the drive are here
  input  logic         [N_DRIVES-1:0]           issued,   ///< pulse: the recorder has issued m_issue
  input  issue_t                                issue,
  output logic         [N_DRIVES-1:0]           owed,     ///< data of such commands is still to come or to leave
  input  logic         [N_DRIVES-1:0]           user,
  input  logic         [23:0]                   user_addr,
  output logic                                  user_done,  ///< pulse: such a packet has left, whole (a cycle ago)
  input  drive_state_t [N_DRIVES-1:0]           drives,   ///< in reset: a packet that is open ends with anything

  input  logic         [N_DRIVES-1:0]             s_row_valid,
  output logic         [N_DRIVES-1:0]             s_row_ready,
  input  logic         [N_DRIVES-1:0][DATA_W-1:0] s_row_data,

  output logic                                  m_packet_valid,
  input  logic                                  m_packet_ready,
  output packet_t                               m_packet
);
  localparam int BYTES = FULL_BLOCK ? 4096 : 128;
  localparam int BEATS = BYTES / 16;
  localparam int SUBS = DATA_W / 128;
  localparam int SEQ_W = 20 - $clog2(BYTES);
  localparam int DW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  if (!(DATA_W inside {128, 256, 512}) || N_DRIVES < 1 || N_DRIVES > 8) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512, N_DRIVES 1..8");
  end

  typedef enum logic [1:0] {ST_PICK, ST_HEAD, ST_DATA} state_e;
  state_e                   state_q;
  logic [DW-1:0]            d_q;
  logic [$clog2(BEATS)-1:0] beat_q;
  logic [$clog2(BEATS)-1:0] sub;
  logic [SEQ_W-1:0]         seq_q[N_DRIVES];
  logic                     out_valid_q, out_last_q, gone_q, user_q, free, take, row_ends, last;
  logic [127:0]             out_q, head;
  logic [DATA_W-1:0]        row;

  localparam int OWED_W = 10 + $clog2(READ_BLOCKS);  // at most 511 commands are without status
  logic [OWED_W-1:0] owed_q[N_DRIVES];
  logic [N_DRIVES-1:0] left_q;  // a block has left that is still counted
  logic              block_ends;  // with this packet
  if (FULL_BLOCK) begin : g_full
    assign block_ends = 1'b1;
  end else begin : g_parts
    assign block_ends = seq_q[d_q][4:0] == '1;
  end
  always_comb for (int i = 0; i < N_DRIVES; i++) owed[i] = owed_q[i] != '0;

  assign sub      = beat_q & ($clog2(BEATS))'(SUBS - 1);
  assign row      = s_row_data[d_q];
  assign free     = !out_valid_q || m_packet_ready;
  assign take     = state_q == ST_DATA && free && (s_row_valid[d_q] || gone_q);
  assign last     = user_q ? (beat_q & ($clog2(BEATS))'(7)) == ($clog2(BEATS))'(7) : beat_q == '1;
  assign row_ends = sub == ($clog2(BEATS))'(SUBS - 1);
  assign head     = user_q ? {32'd0, 32'h0000_0820, 32'd0, 4'(d_q), 4'h1, user_addr} :
                    {32'd0, 32'h0000_0800 + 32'(BYTES / 4), 32'd0, 4'(d_q), 8'h1f, seq_q[d_q], ($clog2(BYTES))'(0)};
  always_comb begin
    busy = s_row_valid;
    if (state_q != ST_PICK || out_valid_q) busy[d_q] = 1'b1;
    s_row_ready = '0;
    s_row_ready[d_q] = state_q == ST_DATA && free && row_ends && !gone_q;
  end
  assign m_packet_valid = out_valid_q;
  assign m_packet       = '{last: out_last_q, keep: '1, data: out_q};

  always_ff @(posedge clk) begin
    user_done <= take && last && user_q && !gone_q && !rst;
    gone_q <= state_q != ST_PICK && (gone_q || drives[d_q].flush);
    unique case (state_q)
      ST_PICK:
        if (s_row_valid[d_q] && !drives[d_q].flush) begin
          state_q <= ST_HEAD;
          user_q  <= user[d_q];
        end else d_q <= d_q == DW'(N_DRIVES - 1) ? '0 : d_q + 1'b1;
      ST_HEAD:
        if (gone_q) state_q <= ST_PICK;
        else if (free) state_q <= ST_DATA;
      default:
        if (take && last) begin
          state_q <= ST_PICK;
          d_q     <= d_q == DW'(N_DRIVES - 1) ? '0 : d_q + 1'b1;
        end
    endcase
    if (take) beat_q <= last ? '0 : beat_q + 1'b1;
    if (free) begin
      out_valid_q <= take || (state_q == ST_HEAD && !gone_q);
      out_last_q  <= take && last;
      out_q       <= state_q == ST_HEAD ? head : row[32'(sub)*128+:128];
    end
    for (int i = 0; i < N_DRIVES; i++) begin
      left_q[i] <= (take && last && !user_q && !gone_q && d_q == DW'(i) && block_ends) || (left_q[i] && issued[i]);
      if (issued[i] ? issue.kind == KIND_READ : left_q[i])
        owed_q[i] <= owed_q[i] + (issued[i] ? OWED_W'(issue.blocks) : '1);
      if (rst || drives[i].flush) begin
        owed_q[i] <= '0;
        left_q[i] <= 1'b0;
      end
    end
    for (int i = 0; i < N_DRIVES; i++)
      if (restart[i]) seq_q[i] <= '0;
      else if (take && last && !user_q && d_q == DW'(i)) seq_q[i] <= seq_q[i] + 1'b1;
    if (rst) begin
      state_q     <= ST_PICK;
      d_q         <= '0;
      beat_q      <= '0;
      user_q      <= 1'b0;
      out_valid_q <= 1'b0;
    end
  end
endmodule
