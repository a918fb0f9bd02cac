// SPDX-License-Identifier: Apache-2.0
// Ranges of Dataset Management, for a media that is far away: the write engine gives them as it finds them in the host's
// list and does not keep them; here they wait by slot, until the media is told of one after the other.
//
// RANGES_KEPT of a command are kept; `look_over` says that there were more.
// Latency: 3 cycles from s_next to m_ask. Throughput: a range every 2 cycles.
module db_ssd_ahead_ranges
  import db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int ADDR_W   = 40,   ///< bits of a media address
  parameter int NUM_CMDS = 128   ///< command slots: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_begin_valid,   ///< pulse: a command begins in this slot
  input  logic [SLOT_W-1:0] s_begin_slot,
  /// a range, as a command to zero it; the answer is a pulse
  input  logic              s_media_valid,
  output logic              s_media_ready,
  input  media_cmd_t        s_media,
  input  logic [SLOT_W-1:0] s_media_slot,
  output logic              m_media_done,
  /// in the same cycle: of this slot there is a range of which the media has not been told; there were too many
  input  logic [SLOT_W-1:0] look_slot,
  output logic              look_left,
  output logic              look_over,
  input  logic              s_next_valid,    ///< pulse: tell the media of this slot's next one
  input  logic [SLOT_W-1:0] s_next_slot,
  output logic              m_ask_valid,
  input  logic              m_ask_ready,
  output ahead_t            m_ask
);
  localparam int CMD_W   = $clog2(NUM_CMDS);
  localparam int INDEX_W = $clog2(RANGES_KEPT);
  typedef struct packed {
    logic [ADDR_W-1:9] addr;
    logic [ADDR_W-1:9] blocks;   // of 512 bytes
  } range_t;
  logic [INDEX_W:0] count_mem_q [NUM_CMDS];  // of those that are kept
  logic [NUM_CMDS-1:0] over_q;
  logic [INDEX_W:0] next_mem_q [NUM_CMDS];   // the next of which the media is told

  // ---- in
  logic [CMD_W-1:0] at;
  logic [INDEX_W:0] count;
  logic             put, full;
  assign at            = s_media_slot[CMD_W-1:0];
  assign count         = count_mem_q[at];
  assign full          = count == (INDEX_W + 1)'(RANGES_KEPT);
  assign s_media_ready = !s_begin_valid && !m_media_done;
  assign put           = s_media_valid && s_media_ready;
  always_ff @(posedge clk) begin
    if (s_begin_valid)     count_mem_q[s_begin_slot[CMD_W-1:0]] <= '0;
    else if (put && !full) count_mem_q[at] <= count + 1'b1;
    if (s_begin_valid) over_q[s_begin_slot[CMD_W-1:0]] <= 1'b0;
    else if (put && full) over_q[at] <= 1'b1;
    m_media_done <= put && !rst;
  end
  assign look_left = next_mem_q[look_slot[CMD_W-1:0]] != count_mem_q[look_slot[CMD_W-1:0]];
  assign look_over = over_q[look_slot[CMD_W-1:0]];

  // ---- out
  logic              wanted, take, read_q;
  logic [SLOT_W-1:0] slot, slot_q;
  logic [INDEX_W:0]  index;
  range_t            range;
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_next (
    .clk, .rst, .s_valid(s_next_valid), .s_ready(), .s_data(s_next_slot), .m_valid(wanted), .m_ready(take),
    .m_data(slot), .level());
  assign take  = wanted && !read_q && !s_begin_valid;
  assign index = next_mem_q[slot[CMD_W-1:0]];
  db_ram_sdp #(.WIDTH($bits(range_t)), .DEPTH(NUM_CMDS * RANGES_KEPT), .BLOCK(1'b1)) i_ranges (
    .clk, .we(put && !full), .waddr({at, count[INDEX_W-1:0]}),
    .wdata({s_media.addr[ADDR_W-1:9], s_media.bytes[ADDR_W-1:9]}), .re(take),
    .raddr({slot[CMD_W-1:0], index[INDEX_W-1:0]}), .rdata(range));
  always_ff @(posedge clk) begin
    if (s_begin_valid) next_mem_q[s_begin_slot[CMD_W-1:0]] <= '0;
    else if (take)     next_mem_q[slot[CMD_W-1:0]] <= index + 1'b1;
    read_q <= !rst && (take || (read_q && !m_ask_ready));
    if (take) slot_q <= slot;
  end
  assign m_ask_valid = read_q;
  assign m_ask       = '{slot: slot_q, kind: AHEAD_ZERO, fua: 1'b0, addr: 64'({range.addr, 9'd0}),
                         bytes: 64'({range.blocks, 9'd0})};

  logic unused_ok;
  assign unused_ok = &{1'b0, s_media, s_begin_slot, s_media_slot, look_slot};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && put) assert (s_media.op == MEDIA_ZERO);
`endif
endmodule
