// SPDX-License-Identifier: Apache-2.0
// One SSD's part of what is written: commands wait here until its ring has room for them, flushes and Write Zeroes until they can be sent.
//
// `used` is what commands that were let go take of the SSD's ring, or will: so their rows never wait. It is given back
// when the SSD has ended a burst, or a burst turns out to be void. As many bursts as the SSD's queue has places are let
// go at once. A command larger than the ring is let go with its first part.
// forget: what waits is dropped at once. What the SSD has is waited for by what comes to it later, reads too (`fence`), as
// it might be written after that.
// Latency: 3 cycles to m_call, 3 to m_alone. Throughput: a part every 2 cycles.
module db_virt_write_lane
  import db_ssd_pkg::SLOT_W, db_virt_pkg::*;
#(
  parameter int RING_BYTES = 262144,  ///< of the SSD's ring: power of two
  parameter int PARTS      = 1024,    ///< that wait: power of two
  parameter int NUM_CMDS   = 128      ///< commands at once: power of two, 2..256
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              forget,
  output logic              idle,          ///< nothing waits, nothing is under way
  output logic              quiet,         ///< ... and nothing that was let go is still to come
  output logic              fence,         ///< the SSD has Writes of before the last forget
  input  logic              s_put_valid,
  output logic              s_put_ready,
  input  room_t             s_put,
  input  alone_t            s_put_alone,   ///< a Write Zeroes
  /// pulse: a command has its room here
  output logic              m_call_valid,
  output logic [SLOT_W-1:0] m_call_slot,
  output logic              m_alone_valid,
  input  logic              m_alone_ready,
  output alone_t            m_alone,
  /// pulses: a burst goes to the SSD, or none in its place; of so many units of 512 bytes
  input  logic              s_burst_valid,
  input  logic              s_void_valid,
  input  logic [3:0]        s_burst_len,
  /// pulse: the SSD has ended the oldest of bursts, flushes, Write Zeroes; m_end: ... which is not forgotten
  input  logic              s_end_valid,
  output logic              m_end_valid
);
  localparam int RING   = RING_BYTES / 512;
  // what fits, all of one command that is larger (1 MiB) behind it, and a part that asks
  localparam int USED_W = $clog2(RING + 2048 + 256 + 1);
  localparam int OUT_W  = $clog2(BURSTS_OUT) + 2;

  logic              head_valid, take, known_q, fits_q, flush, flush_q;  // flush_q: a cycle later, as bursts
  room_t             head;
  db_fifo #(.WIDTH($bits(room_t)), .DEPTH(PARTS)) i_wait (
    .clk, .rst(rst || forget), .s_valid(s_put_valid), .s_ready(s_put_ready), .s_data(s_put), .m_valid(head_valid),
    .m_ready(take), .m_data(head), .level());

  logic   zero_valid;
  alone_t zero;
  db_fifo #(.WIDTH($bits(alone_t)), .DEPTH(NUM_CMDS)) i_zeroes (
    .clk, .rst(rst || forget), .s_valid(s_put_valid && s_put_ready && s_put.zero), .s_ready(), .s_data(s_put_alone),
    .m_valid(zero_valid), .m_ready(flush && head.zero), .m_data(zero), .level());

  // ---- what the SSD has: lengths in its order, a flush's or Write Zeroes' is 0
  logic [3:0]         ended_len;
  logic [USED_W-1:0]  used_q, kept, out512_q, out512, less, back_q;  // back: what is given back, a cycle later
  logic [OUT_W-1:0]   bursts_q, bursts, out_q, out, ignore_q, ignore;
  logic lens_room, lens_valid;
  db_fifo #(.WIDTH(4), .DEPTH(1024)) i_lens (
    .clk, .rst, .s_valid(s_burst_valid || flush_q), .s_ready(lens_room), .s_data(flush_q ? 4'd0 : s_burst_len),
    .m_valid(lens_valid), .m_ready(s_end_valid), .m_data(ended_len), .level());
  assign flush         = m_alone_valid && m_alone_ready;
  assign less          = s_end_valid ? USED_W'(ended_len) : '0;
  assign kept          = used_q - back_q;
  assign bursts        = bursts_q - (OUT_W'(s_end_valid) + OUT_W'(s_void_valid));
  assign out           = out_q + OUT_W'(s_burst_valid || flush_q) - OUT_W'(s_end_valid);
  assign out512        = out512_q + (s_burst_valid ? USED_W'(s_burst_len) : '0) - less;
  assign ignore        = ignore_q - OUT_W'(s_end_valid && ignore_q != '0);
  assign m_alone_valid = head_valid && head.flush && known_q && !fence && !forget && (zero_valid || !head.zero);
  assign m_alone       = head.zero ? zero : '{slot: head.slot, zero: 1'b0, lba: '0, blocks: 32'd1};
  assign take          = head.flush ? flush : head_valid && known_q && fits_q && !fence;
  assign m_end_valid   = s_end_valid && ignore_q == '0;
  always_ff @(posedge clk) begin
    known_q <= head_valid && !take && !forget && !rst;
    fits_q  <= head.over || (used_q + USED_W'(head.len512) <= USED_W'(RING) &&
                             bursts_q + OUT_W'(head.bursts) <= OUT_W'(BURSTS_OUT));
    used_q   <= take && !head.flush ? kept + USED_W'(head.len512) : kept;
    back_q   <= less + (s_void_valid ? USED_W'(s_burst_len) : '0);
    bursts_q <= take ? bursts + (head.flush ? OUT_W'(1) : OUT_W'(head.bursts)) : bursts;
    out_q    <= out;
    out512_q <= out512;
    ignore_q <= ignore;
    flush_q  <= flush && !rst;
    fence    <= ignore_q != '0;             // a cycle late; until then nothing can have come
    m_call_valid <= take && !head.flush && head.tells && !forget && !rst;
    m_call_slot  <= head.slot;
    if (forget) begin
      used_q   <= out512;
      back_q   <= '0;
      bursts_q <= out;
      ignore_q <= out;
    end
    if (rst) begin
      used_q   <= '0;
      back_q   <= '0;
      bursts_q <= '0;
      out_q    <= '0;
      out512_q <= '0;
      ignore_q <= '0;
      fence    <= 1'b0;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (s_end_valid) assert (lens_valid);
    if (s_burst_valid || flush_q) assert (lens_room && !(s_burst_valid && flush_q));
    if (s_void_valid || s_burst_valid) assert (bursts_q != '0);
  end
`endif
  assign idle  = !head_valid && out_q == '0 && !m_call_valid;
  assign quiet = idle && bursts_q == '0;
endmodule
