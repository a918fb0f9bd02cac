// SPDX-License-Identifier: Apache-2.0
// Block commands of readers, writers and the command port to their SSDs, and how they end back to whose they are.
//
// A queue for each SSD: one that takes nothing keeps back what is for it, and what stands behind that in its own way. Into
// it go flushes and Write Zeroes first, then the command port, then writers: the first two are seldom. Reads
// come by SSD, in turn with what is in the queue.
// Latency: 1 cycle each way, of reads none to the SSD. Throughput: a command a cycle for all SSDs, an end a cycle from each.
module db_virt_issue
  import db_host_pkg::*, db_virt_pkg::*, db_ssd_pkg::SLOT_W;
#(
  parameter int NUM_SSD = 2,   ///< 1, 2, 4, 8
  parameter int DEPTH   = 512  ///< commands that wait for an SSD: power of two; as many as are let go at once
) (
  input  logic                           clk,
  input  logic                           rst,
  output logic                           idle,
  /// [0] TAG_WRITE, [1] TAG_MEDIA
  input  logic [1:0]                     s_cmd_valid,
  output logic [1:0]                     s_cmd_ready,
  input  logic [1:0][SSD_W-1:0]          s_cmd_ssd,
  input  block_cmd_t [1:0]               s_cmd,
  /// flushes and Write Zeroes of each SSD: TAG_WRITE, with the slot of their command; valid may fall
  input  logic [NUM_SSD-1:0]             s_alone_valid,
  output logic [NUM_SSD-1:0]             s_alone_ready,
  input  alone_t [NUM_SSD-1:0]           s_alone,
  /// TAG_READ, of each SSD; valid may fall
  input  logic [NUM_SSD-1:0]             s_read_valid,
  output logic [NUM_SSD-1:0]             s_read_ready,
  input  block_cmd_t [NUM_SSD-1:0]       s_read,
  output logic [NUM_SSD-1:0]             m_cmd_valid,
  input  logic [NUM_SSD-1:0]             m_cmd_ready,
  output block_cmd_t [NUM_SSD-1:0]       m_cmd,
  input  logic [NUM_SSD-1:0]             s_status_valid,
  input  block_status_t [NUM_SSD-1:0]    s_status,
  /// pulses: a Read, a Write, flush or Write Zeroes, a command of the port has ended
  output logic [NUM_SSD-1:0]             m_read_end,
  output logic [NUM_SSD-1:0]             m_write_end,
  output logic [NUM_SSD-1:0][SLOT_W-1:0] m_end_slot,
  output logic [NUM_SSD-1:0]             m_media_end,
  output logic [NUM_SSD-1:0]             m_end_err
);
  localparam int INDEX_W = NUM_SSD > 1 ? $clog2(NUM_SSD) : 1;
  localparam int WRITE = 0, MEDIA = 1;
  logic [NUM_SSD-1:0] room, free;         // of the queue; ... for others than flushes and Write Zeroes
  assign free               = room & ~s_alone_valid;
  assign s_cmd_ready[WRITE] = free[INDEX_W'(s_cmd_ssd[WRITE])] && !s_cmd_valid[MEDIA];
  assign s_cmd_ready[MEDIA] = free[INDEX_W'(s_cmd_ssd[MEDIA])];
  for (genvar i = 0; i < NUM_SSD; i++) begin : g_ssd
    logic [1:0] put;                      // into its queue
    for (genvar k = 0; k < 2; k++) begin : g_client
      assign put[k] = s_cmd_valid[k] && s_cmd_ready[k] && INDEX_W'(s_cmd_ssd[k]) == INDEX_W'(i);
    end
    logic       queued, read_turn_q;      // whose turn it is, if both have one
    block_cmd_t queue, alone;
    logic       read;
    assign alone            = '{rsvd: '0, op: s_alone[i].zero ? BLOCK_ZEROES : BLOCK_FLUSH,
                                tag: write_tag(s_alone[i].slot), blocks: s_alone[i].blocks, lba: s_alone[i].lba};
    assign s_alone_ready[i] = room[i];
    db_fifo #(.WIDTH($bits(block_cmd_t)), .DEPTH(DEPTH)) i_queue (
      .clk, .rst, .s_valid(put != '0 || s_alone_valid[i]), .s_ready(room[i]),
      .s_data(s_alone_valid[i] ? alone : s_cmd_valid[MEDIA] ? s_cmd[MEDIA] : s_cmd[WRITE]), .m_valid(queued),
      .m_ready(m_cmd_ready[i] && !read), .m_data(queue), .level());
    assign read            = s_read_valid[i] && (read_turn_q || !queued);
    assign m_cmd_valid[i]  = queued || s_read_valid[i];
    assign m_cmd[i]        = read ? s_read[i] : queue;
    assign s_read_ready[i] = m_cmd_ready[i] && read;
    always_ff @(posedge clk) begin
      if (m_cmd_valid[i] && m_cmd_ready[i]) read_turn_q <= !read;
      if (rst) read_turn_q <= 1'b0;
      m_read_end[i]  <= !rst && s_status_valid[i] && s_status[i].tag[1:0] == TAG_READ;
      m_write_end[i] <= !rst && s_status_valid[i] && s_status[i].tag[1:0] == TAG_WRITE;
      m_media_end[i] <= !rst && s_status_valid[i] && s_status[i].tag[1:0] == TAG_MEDIA;
      m_end_slot[i]  <= s_status[i].tag[SLOT_W+1:2];
      m_end_err[i]   <= s_status[i].status != '0;
    end
  end
`ifndef SYNTHESIS
  // There is room for all that can be let go: what waits here for room would hold up other SSDs.
  always_ff @(posedge clk)
    for (int k = 0; k < 2; k++) if (!rst && s_cmd_valid[k]) assert (room[INDEX_W'(s_cmd_ssd[k])]);
`endif
  assign idle = s_cmd_valid == '0 && m_cmd_valid == '0 && m_read_end == '0 && m_write_end == '0 && m_media_end == '0;
endmodule
