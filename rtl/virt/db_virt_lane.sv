// SPDX-License-Identifier: Apache-2.0
// One SSD's part of what is read ahead: its commands wait here, go to it as its ring has room, and have come when it says so.
//
// What an SSD reads stands in its ring in the order of its commands, and leaves in it. So it is counted alone: `owed` is
// what has been asked for and has not left, and a command goes when it fits beside that; then all that is asked for comes,
// whatever becomes of others.
// A command `alone` (Compare: another reader takes its rows) goes when the ring is empty, and nothing behind it until its
// rows have left.
// forget: what waits is dropped at once, what has been asked for when it comes: nobody waits for the SSD.
// Latency: put to m_cmd 3 cycles, the end of a command to m_come 2, rows none. Throughput: a command every 2 cycles, a
// row a cycle.
module db_virt_lane
  import db_host_pkg::*, db_ssd_pkg::SLOT_W, db_virt_pkg::*;
#(
  parameter int DATA_W     = 256,     ///< bits of a row: 128, 256, 512
  parameter int RING_BYTES = 524288,  ///< of the SSD's ring: power of two
  parameter int PARTS      = 1024,    ///< that wait: power of two
  parameter int NUM_CMDS   = 128      ///< commands: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              forget,
  output logic              idle,          ///< nothing waits, nothing is under way
  input  logic              fence,         ///< send nothing
  /// a part of a command; those of one command on this SSD follow each other
  input  logic              s_put_valid,
  output logic              s_put_ready,
  input  want_t             s_put,
  output logic              m_cmd_valid,
  input  logic              m_cmd_ready,
  output block_cmd_t        m_cmd,
  input  logic              s_end_valid,   ///< pulse: the SSD's oldest Read has ended, its rows come
  /// the oldest command whose rows are there
  output logic              m_come_valid,
  input  logic              m_come_ready,
  output logic [SLOT_W-1:0] m_come_slot,
  /// the SSD's rows, to whoever reads
  input  logic              s_row_valid,
  output logic              s_row_ready,
  output logic              m_row_valid,
  input  logic              m_row_ready
);
  localparam int RING   = RING_BYTES / 512;         // in units of 512 bytes, as all that is counted
  localparam int UNIT_W = $clog2(RING) + 1;
  localparam int SUB_W  = $clog2(512 / (DATA_W / 8));
  localparam int SENT   = 256;                      // parts that the SSD has: more than its queue and its slots hold
  localparam int SENT_W = $clog2(SENT) + 2;         // and as many that are to be forgotten

  // ---- what waits
  logic              head_valid, send;
  want_t             head;
  db_fifo #(.WIDTH($bits(want_t)), .DEPTH(PARTS)) i_wait (
    .clk, .rst(rst || forget), .s_valid(s_put_valid), .s_ready(s_put_ready), .s_data(s_put), .m_valid(head_valid),
    .m_ready(send), .m_data(head), .level());

  // ---- the ring
  logic [UNIT_W-1:0] owed_q, owed, drop_q;
  logic [SENT_W-1:0] out_q, out, ignore_q;
  logic              alone_q, fits, fits_q, unit, take, known_q, sent_room;
  logic              drops_q;                       // rows that come are not wanted
  logic [SLOT_W-1:0] alone_slot_q;
  logic [SUB_W-1:0]  row_q;
  assign m_cmd_valid = head_valid && known_q && fits_q && sent_room && !fence && !forget;
  assign m_cmd       = '{rsvd: '0, op: BLOCK_READ, tag: 16'(TAG_READ), blocks: 32'(head.blocks), lba: head.lba};
  assign send        = m_cmd_valid && m_cmd_ready;
  assign take        = s_row_valid && s_row_ready;
  assign unit        = take && row_q == '1;
  assign owed      = owed_q + (send ? UNIT_W'(head.len512) : '0) - UNIT_W'(unit);
  assign out         = out_q + SENT_W'(send) - SENT_W'(s_end_valid);
  always_comb begin
    fits = owed_q + UNIT_W'(head.len512) <= UNIT_W'(RING);
    if (head.alone && !(alone_q && alone_slot_q == head.slot)) fits = owed_q == '0;
    if (!head.alone && alone_q) fits = 1'b0;
  end
  always_ff @(posedge clk) begin
    known_q  <= head_valid && !send && !forget && !rst;  // fits_q is the head's, behind all that went
    fits_q   <= fits;
    owed_q <= owed;
    out_q    <= out;
    if (take) row_q <= row_q + 1'b1;
    if (send) begin
      alone_q      <= head.alone;
      alone_slot_q <= head.slot;
    end else if (owed_q == '0) alone_q <= 1'b0;
    if (unit && drops_q) drop_q <= drop_q - 1'b1;
    if (drop_q == '0 || (unit && drop_q == UNIT_W'(1))) drops_q <= 1'b0;
    if (s_end_valid && ignore_q != '0) ignore_q <= ignore_q - 1'b1;
    if (forget) begin
      drop_q   <= owed_q - UNIT_W'(unit);
      drops_q  <= 1'b1;
      ignore_q <= out_q - SENT_W'(s_end_valid);
    end
    if (rst) begin
      owed_q <= '0;
      out_q    <= '0;
      row_q    <= '0;
      drop_q   <= '0;
      drops_q  <= 1'b0;
      ignore_q <= '0;
      alone_q  <= 1'b0;
    end
  end
  assign m_row_valid = s_row_valid && !drops_q;
  assign s_row_ready = drops_q || m_row_ready;

  // ---- what has been asked for, and has come
  logic              ended, end_q, sent_valid, come_room;
  logic [SENT_W-1:0] ends_q;                  // that have not been looked at
  logic [SLOT_W-1:0] sent_slot;
  logic              sent_tells;
  db_fifo #(.WIDTH(SLOT_W + 1), .DEPTH(SENT)) i_sent (
    .clk, .rst(rst || forget), .s_valid(send), .s_ready(sent_room), .s_data({head.slot, head.tells}),
    .m_valid(sent_valid), .m_ready(ended), .m_data({sent_slot, sent_tells}), .level());
  assign end_q = s_end_valid && ignore_q == '0;
  assign ended = ends_q != '0 && sent_valid;
  always_ff @(posedge clk) begin
    ends_q <= ends_q + SENT_W'(end_q) - SENT_W'(ended);
    if (rst || forget) ends_q <= '0;
  end
  db_fifo #(.WIDTH(SLOT_W), .DEPTH(NUM_CMDS)) i_come (
    .clk, .rst(rst || forget), .s_valid(ended && sent_tells), .s_ready(come_room), .s_data(sent_slot),
    .m_valid(m_come_valid), .m_ready(m_come_ready), .m_data(m_come_slot), .level());
  assign idle = !head_valid && owed_q == '0 && out_q == '0 && ends_q == '0 && !m_come_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    assert (owed_q <= UNIT_W'(RING));
    if (ended && sent_tells && !forget) assert (come_room);
    if (s_end_valid) assert (out_q != '0 || send);
    if (unit) assert (owed_q != '0);
  end
`endif
endmodule
