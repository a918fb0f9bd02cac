// SPDX-License-Identifier: Apache-2.0
// Slots are retired in order: data of a Read is released, ring space of a Write given back, and with the last part of a
// block command its status leaves: the first error of its parts.
//
// Latency: the oldest slot's completion in db_host_slot_match to the status 1 cycle. Throughput: a slot every 2 cycles.
module db_host_retire
  import db_nvme_pkg::*, db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS      = 128,
  /// bytes of the larger ring
  parameter int RING_BYTES    = 524288,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic                 clk,
  input  logic                 rst,
  /// a part gets issue_slot, its data the place buf512 in its ring
  input  logic                 take,
  input  logic [SLOT_LOG2-1:0] issue_slot,
  input  part_t                s_part,
  input  logic [13:0]          buf512,
  /// the part on offer has no slot: it is answered with its own status
  input  logic                 bad_now,

  input  logic                 io_dead,
  input  slot_state_e          state,
  input  logic                 drained,
  input  logic                 sweeping,
  input  logic                 empty,
  input  logic [SLOT_LOG2-1:0] retire_slot,
  input  logic                 odd,
  /// it is tried a second time; it must not end
  input  logic                 second,
  input  logic                 keep,
  /// of the slot that was retire_slot a cycle ago
  input  slot_done_t           done,

  /// the oldest slot ends; it has ended as the drive says
  output logic                 retire,
  output logic                 is_done,
  /// units of 512 bytes of the write ring ever given back
  output logic [31:0]          wr_freed,
  /// block_status_t, in the order of the commands
  output logic [63:0]          m_axis_status_tdata,
  output logic                 m_axis_status_tvalid,
  input  logic                 m_axis_status_tready,
  output logic                 m_out_valid,
  input  logic                 m_out_ready,
  output out_cmd_t             m_out,
  /// one cycle: a command has ended as the drive says
  output logic                 stat_retire
);
  localparam int PLACE_W = $clog2(RING_BYTES / 512);  // of a place in a ring; of a length one more

  typedef struct packed {
    logic               read, write, last;
    logic [15:0]        tag;
    logic [PLACE_W-1:0] buf512;
    logic [PLACE_W:0]   len512;
  } meta_t;
  meta_t meta_new, meta;
  assign meta_new = '{read: s_part.slot.op == BLOCK_READ, write: s_part.slot.op == BLOCK_WRITE, last: s_part.last,
                      tag: s_part.tag, buf512: PLACE_W'(buf512), len512: (PLACE_W + 1)'(s_part.slot.len512)};

  db_ram_sdp #(
    .WIDTH($bits(meta_t)),
    .DEPTH(NUM_CMDS)
  ) i_meta (
    .clk,
    .we(take), .waddr(issue_slot), .wdata(meta_new),
    .re(1'b1), .raddr(retire_slot), .rdata(meta)
  );

  logic          look_q, ending;  // look_q: meta and done are those of the oldest slot
  status_t       result, worst_q;
  block_status_t status_new, status_bad;
  assign is_done = look_q && !drained && done.odd == odd && done.second == second;
  assign ending  = state == SLOTS_DRAIN;
  assign result  = is_done ? done.status : status(1'b0, SCT_PATH, io_dead ? SC_PATH_ERROR : SC_HOST_ABORTED);
  assign retire  = look_q && !empty && (is_done || ending) && (state == SLOTS_RUN || ending) && !m_out_valid &&
                   !m_axis_status_tvalid && !keep;

  assign status_new = '{rsvd: 1'b0, status: (worst_q == '0) ? result : worst_q, tag: meta.tag,
                        latency: is_done ? done.latency : 32'd0};
  assign status_bad = '{rsvd: 1'b0, status: s_part.status, tag: s_part.tag, latency: '0};

  always_ff @(posedge clk) begin
    // a slot's words are there two cycles after it is
    look_q      <= !retire && !rst && state != SLOTS_SWEEP && !sweeping && !take;
    stat_retire <= retire && is_done && !rst;
    if (m_axis_status_tready) m_axis_status_tvalid <= 1'b0;
    if (m_out_ready) m_out_valid <= 1'b0;
    if (retire) begin
      m_out_valid          <= meta.read;
      m_out                <= '{buf512: 14'(meta.buf512), len512: 14'(meta.len512), last: meta.last,
                                error: result != '0};
      wr_freed             <= wr_freed + (meta.write ? 32'(meta.len512) : 32'd0);
      worst_q              <= meta.last ? '0 : (worst_q == '0) ? result : worst_q;
      m_axis_status_tvalid <= meta.last;
      m_axis_status_tdata  <= status_new;
    end else if (bad_now) begin
      m_axis_status_tvalid <= 1'b1;
      m_axis_status_tdata  <= status_bad;
    end
    if (rst) begin
      m_axis_status_tvalid <= 1'b0;
      m_out_valid          <= 1'b0;
      wr_freed             <= '0;
      worst_q              <= '0;
    end
  end
endmodule
