// SPDX-License-Identifier: Apache-2.0
// Data read from the drives to packets for the host: header and 4096 or 128 bytes, as write requests.
//
// Header: address {drive[3:0], 8'h1F, byte address[19:0] since the read began}, 0, {request 1 (write), dwords}, tag 0.
// Drives take turns by packets; each drive's blocks are in order, a drive without data is passed over.
// Latency: 3 cycles to the header. Throughput: 16 bytes every cycle, 2 empty ones between packets.
module db_rec_read
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES   = 2,
  parameter int DATA_W     = 128,
  parameter bit FULL_BLOCK = 1'b1  ///< 4096 bytes a packet, else 128
) (
  input  logic                                  clk,
  input  logic                                  rst,
  input  logic         [N_DRIVES-1:0]           restart,  ///< byte address 0 is next
  output logic         [N_DRIVES-1:0]           busy,     ///< rows of the drive are here
  input  drive_state_t [N_DRIVES-1:0]           drives,   ///< in reset: what is open ends with anything

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
  logic                     out_valid_q, out_last_q, gone_q, free, take, row_ends;
  logic [127:0]             out_q, head;
  logic [DATA_W-1:0]        row;

  assign sub      = beat_q & ($clog2(BEATS))'(SUBS - 1);
  assign row      = s_row_data[d_q];
  assign free     = !out_valid_q || m_packet_ready;
  assign take     = state_q == ST_DATA && free && (s_row_valid[d_q] || gone_q);
  assign row_ends = sub == ($clog2(BEATS))'(SUBS - 1);
  assign head     = {32'd0, 32'h0000_0800 + 32'(BYTES / 4), 32'd0, 4'(d_q), 8'h1f, seq_q[d_q], ($clog2(BYTES))'(0)};
  always_comb begin
    busy = s_row_valid;
    if (state_q != ST_PICK || out_valid_q) busy[d_q] = 1'b1;
    s_row_ready = '0;
    s_row_ready[d_q] = state_q == ST_DATA && free && row_ends && !gone_q;
  end
  assign m_packet_valid = out_valid_q;
  assign m_packet       = '{last: out_last_q, keep: '1, data: out_q};

  always_ff @(posedge clk) begin
    gone_q <= state_q != ST_PICK && (gone_q || drives[d_q].flush);
    unique case (state_q)
      ST_PICK:
        if (s_row_valid[d_q] && !drives[d_q].flush) state_q <= ST_HEAD;
        else d_q <= d_q == DW'(N_DRIVES - 1) ? '0 : d_q + 1'b1;
      ST_HEAD:
        if (free) state_q <= ST_DATA;
      default:
        if (take && beat_q == '1) begin
          state_q <= ST_PICK;
          d_q     <= d_q == DW'(N_DRIVES - 1) ? '0 : d_q + 1'b1;
        end
    endcase
    if (take) beat_q <= beat_q + 1'b1;
    if (free) begin
      out_valid_q <= take || state_q == ST_HEAD;
      out_last_q  <= take && beat_q == '1;
      out_q       <= state_q == ST_HEAD ? head : row[32'(sub)*128+:128];
    end
    for (int i = 0; i < N_DRIVES; i++)
      if (restart[i]) seq_q[i] <= '0;
      else if (take && beat_q == '1 && d_q == DW'(i)) seq_q[i] <= seq_q[i] + 1'b1;
    if (rst) begin
      state_q     <= ST_PICK;
      d_q         <= '0;
      beat_q      <= '0;
      out_valid_q <= 1'b0;
    end
  end
endmodule
