// SPDX-License-Identifier: Apache-2.0
// Proof of what a second try does to slots and places of the queue (db_host_slot_state, db_host_slot_retry, db_host_doorbells;
// the rest of db_host_slots is free): what the drive finds at each place, when it reads it, is the command that got the place,
// by the identifier of that try. Each command gets one place, and one more at most, and that only after it has ended with "not
// now" and was not late; it does not end between its tries; it ends once. Entries that are not read are never more than slots in
// use, so the queue never runs over. The drive comes and goes meanwhile.
// Assumed: a command ends after its entry has been read, the drive reads a queue in order, and is down for two cycles at least.
module db_host_slot_retry_formal
  import db_host_pkg::*;
#(
  parameter bit COVER = 1'b0
) (
  input logic clk,
  input logic rst,
  input logic io_up,
  input logic io_dead,
  input logic repeat_on_reset,
  input logic wants,      // a part is there
  input logic is_done,    // the oldest slot has ended
  input logic not_now,
  input logic late,
  input logic free,       // its status can leave
  input logic reads       // the drive reads an entry
);
  localparam int N = 8;
  typedef logic [2:0] slot_n;
  typedef logic [3:0] place_n;

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // ---- the blocks
  slot_state_e          state;
  logic                 drained, empty, below_limit, odd, take, room, retire, again, second, keep, hold, cqe_start,
                        valid;
  logic [3:0]           count;
  slot_n                issue_slot, retire_slot, sweep_slot;
  logic [GEN_W-1:0]     issue_gen, retire_gen, next_gen;
  logic [1:0]           retire_qp;
  logic [CID_W-1:0]     map_base, map_mask;
  place_n               next_place, place;
  doorbell_t            doorbell;
  db_host_slot_state #(.NUM_CMDS(N)) i_state (.*, .sq_size(16'd16));
  db_host_slot_retry #(.RETRY(1'b1), .PLACE_W(4)) i_retry (.*);
  db_host_doorbells #(.NUM_CMDS(N)) i_doorbells (
    .*, .sq_size(16'd16), .cq_head('0), .m_doorbell_valid(valid), .m_doorbell_ready(1'b1), .m_doorbell(doorbell));

  // as db_host_slot_alloc and db_host_retire have it
  logic room_q;
  always_ff @(posedge clk) room_q <= wants && below_limit && !take && !hold && !rst && state == SLOTS_RUN;
  assign room   = room_q;
  assign take   = room_q;
  assign retire = !empty && !take && free && !keep && ((state == SLOTS_RUN && is_done) || state == SLOTS_DRAIN);

  // ---- what the queue holds, as who submits knows it
  logic [15:0][2:0] given_q;   // the slot that got a place
  logic [15:0]      second_q;  // ... for its second try
  place_n           read_q;    // next one that the drive reads
  logic [7:0]       unread_q;  // slots whose last entry it has not read
  logic             reading;
  assign reading = reads && state == SLOTS_RUN && read_q != next_place;
  always_ff @(posedge clk) begin
    if (reading) begin
      read_q                    <= read_q + 4'd1;
      unread_q[given_q[read_q]] <= 1'b0;
    end
    if (take || again) begin
      given_q[next_place]                       <= again ? retire_slot : issue_slot;
      second_q[next_place]                      <= again;
      unread_q[again ? retire_slot : issue_slot] <= 1'b1;
    end
    if (state != SLOTS_RUN) begin  // what is in use is there anew, from place 0 on
      read_q <= '0;
      for (int i = 0; i < N; i++) begin
        given_q[i]                        <= retire_slot + 3'(i);
        second_q[i]                       <= 1'b0;
        unread_q[retire_slot + 3'(i)] <= 4'(i) < count;
      end
    end
  end
  always_comb begin
    if (empty || (state == SLOTS_RUN && unread_q[retire_slot])) assume (!is_done);
    if (state == SLOTS_WAIT && take) assume (!io_up);
    if (again || i_retry.g_retry.wanted_q) assume (!late);  // it has ended: db_host_timeouts
  end

  // ---- tries of the oldest slot
  logic [1:0] tries_q;          // its second ones
  logic       said_q;           // it has ended with "not now"
  logic       late_q, early_q;  // it was late, before it ended
  always_ff @(posedge clk) begin
    if (again) tries_q <= tries_q + 2'd1;
    said_q <= state == SLOTS_RUN && !retire && !again && (said_q || (is_done && not_now));
    if (late) late_q <= 1'b1;
    if (late && !is_done) early_q <= 1'b1;
    if (retire || rst) {tries_q, late_q, early_q} <= '0;
    if (rst) said_q <= 1'b0;
  end

  function automatic slot_n found(input place_n at);
    return (second && at == place) ? retire_slot : slot_n'(map_base[2:0] + at[2:0]);
  endfunction

  place_n unread;
  assign unread = next_place - read_q;
  always_comb if (started_q && !rst) begin
    // of the blocks alone
    assert (i_state.wrap_q == 4'd8 && i_state.mask_q == 3'd7 && count <= 4'd8);
    assert (i_retry.g_retry.spent_q == (tries_q != '0 || late_q) && tries_q <= 2'd1);
    assert (!i_retry.g_retry.wanted_q || (said_q && !early_q && tries_q == '0 && !second));
    assert ((!second || tries_q == 2'd1) && (late_q || !early_q));
    assert (!(second || i_retry.g_retry.wanted_q) || !empty || state == SLOTS_SWEEP);
    assert (i_state.limit_q <= 4'd8 && (!take || count < 4'd8));
    if (state == SLOTS_SWEEP) assert (next_place == count && map_base[2:0] == retire_slot && !take);
    // claims
    if (again) assert (!take && said_q && tries_q == '0 && !early_q && state == SLOTS_RUN);
    if (retire && state == SLOTS_RUN)
      assert (is_done && !unread_q[retire_slot] && (!not_now || late_q || tries_q == 2'd1));
    if (state == SLOTS_RUN) begin
      assert (unread <= count && unread == 4'($countones(unread_q)));
      for (int i = 0; i < N; i++) begin
        if (unread_q[i]) assert (4'(slot_n'(3'(i) - retire_slot)) < count);
        if (4'(i) < unread) begin  // also of what it reads next
          assert (found(read_q + 4'(i)) == given_q[read_q + 4'(i)]);
          assert ((second && read_q + 4'(i) == place) == second_q[read_q + 4'(i)]);
          assert (unread_q[given_q[read_q + 4'(i)]]);
        end
      end
      if (second) begin
        assert (next_place == place + 4'd1 && !take && slot_n'(map_base[2:0] + place[2:0]) == issue_slot);
        assert (unread_q[retire_slot] == (unread != '0));
      end else begin
        assert (slot_n'(map_base[2:0] + next_place[2:0]) == issue_slot);
      end
      if (i_retry.g_retry.wanted_q) assert (!unread_q[retire_slot]);
    end
  end

  if (COVER) begin : g_cover
    logic [1:0] seconds_q;
    always_ff @(posedge clk)
      seconds_q <= rst ? '0 : seconds_q + 2'(retire && second && state == SLOTS_RUN && seconds_q != '1);
    always_comb cover (started_q && seconds_q == 2'd2 && second && unread > 4'd1);
  end
endmodule
