// SPDX-License-Identifier: Apache-2.0
// Which core gets a message's data. A message has one core while data of it wait there; a function that finds none is
// remembered and gets the next that is free, before all that have one: in turn, and for at most TURN_CYCLES each.
//
// Latency: 2 cycles from ask to done. Throughput: an answer in 3 cycles.
module db_csd_near_hash_turns
  import db_pcie_fn_pkg::*, db_csd_near_pkg::*, db_csd_near_hash_pkg::*;
#(
  parameter int NUM_FN      = 1,      ///< functions, 1..17
  parameter int CORES       = 8,      ///< 1..16
  parameter int TURN_CYCLES = 65536   ///< that a core is kept for a function that does not come: 2..2^20
) (
  input  logic                             clk,
  input  logic                             rst,
  input  logic                             ask,       ///< pulse
  input  message_t                         message,   ///< until done
  input  logic [CORES-1:0]                 busy,      ///< core has data of a message
  input  message_t [CORES-1:0]             holds,     ///< ... of this one
  input  logic [CORES-1:0]                 room,      ///< core takes more
  output logic                             waiting,   ///< a core is kept for somebody
  output logic                             done,      ///< pulse; core holds until the next
  output logic [CORES-1:0]                 core       ///< one-hot; 0: none
);
  if (NUM_FN < 1 || NUM_FN > MAX_FN || CORES < 1 || CORES > 16 || TURN_CYCLES < 2 || TURN_CYCLES > 1 << 20)
  begin : g_bad
    $error("%m: NUM_FN must be 1..17 (is %0d), CORES 1..16 (is %0d), TURN_CYCLES 2..2^20 (is %0d)", NUM_FN, CORES,
           TURN_CYCLES);
  end

  // ---- cycle 0: cores that have this message, or none
  logic             ask_q;
  logic [CORES-1:0] same_q, free_q, first_free;
  always_ff @(posedge clk) begin
    ask_q <= ask && !rst;
    for (int c = 0; c < CORES; c++) same_q[c] <= busy[c] && holds[c] == message;
    free_q <= ~busy;
  end
  assign first_free = free_q & (~free_q + 1'b1);

  // ---- cycle 1: a core, unless the last free one is another function's, or all are busy and another waits
  logic another, lacks, lacks_q;  // another function is next; it is for want of a core, not of room in one
  always_comb begin
    if (same_q != '0) lacks = another && free_q == '0;
    else lacks = first_free == free_q && (another || free_q == '0);  // one is free, or none
  end
  always_ff @(posedge clk) begin
    done    <= ask_q && !rst;
    lacks_q <= lacks;
    if (ask_q) core <= lacks ? '0 : (same_q != '0 ? same_q : first_free) & room;
  end

  // ---- functions that wait, and the one that is next
  if (NUM_FN > 1) begin : g_turns
    localparam int PLACE_AT = $bits(near_owner_t) + MESSAGES_LOG2 - PLACE_W;
    localparam int TIME_W   = $clog2(TURN_CYCLES);
    logic [NUM_FN-1:0]   me, waits_q, picked, next_q;
    logic                picks;
    logic [TIME_W-1:0]   time_q;
    for (genvar n = 0; n < NUM_FN; n++) begin : g_me
      assign me[n] = message[PLACE_AT +: PLACE_W] == PLACE_W'(n);
    end
    assign waiting = next_q != '0;
    assign another = next_q != '0 && (next_q & me) == '0;
    assign picks   = next_q == '0 && waits_q != '0 && !done;
    db_arb_rr #(.N(NUM_FN)) i_next (
      .clk, .rst, .req(waits_q), .ack(picks), .gnt_valid(), .gnt(picked), .gnt_idx());
    logic [NUM_FN-1:0] waits, next;
    always_comb begin
      waits = waits_q;
      next  = picks ? picked : next_q;
      if (next_q != '0 && time_q == '0) begin
        waits = waits & ~next_q;
        next  = '0;
      end
      if (done && lacks_q) begin
        waits = waits | me;
      end else if (done && core != '0) begin
        waits = waits & ~me;
        next  = next & ~me;
      end
    end
    always_ff @(posedge clk) begin
      time_q  <= picks ? TIME_W'(TURN_CYCLES - 1) : time_q - 1'b1;
      waits_q <= rst ? '0 : waits;
      next_q  <= rst ? '0 : next;
    end
  end else begin : g_one
    logic unused_ok;
    assign waiting   = 1'b0;
    assign another   = 1'b0;
    assign unused_ok = &{1'b0, lacks_q};
  end
endmodule
