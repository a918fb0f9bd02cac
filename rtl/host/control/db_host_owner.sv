// SPDX-License-Identifier: Apache-2.0
// Who has the drive: we, who bring it up by the control side; nobody (as far as we go); or somebody who owns its admin
// queue and hands over one I/O queue pair, which is used as it is: then its registers are never touched.
//
//   take_back   from us: the drive is shut down. Of a queue pair: no new commands; those under way end, or shutdown_ms is
//               over. Then nothing of it is under way anywhere (s_quiet), and it is nobody's.
//   hand        nobody's drive: up at once
//   bring_up    nobody's drive: ours
// A late command, a damaged write or a link that goes end what was handed over: without an admin queue there is no Abort and
// no reset. All commands end with errors until it is taken back. While it is not up its window is closed
// (`open`): what it still writes is dropped.
// Latency: 8 cycles from `hand` to io_up, 64 from the last command to OWNER_NOBODY; what passes through: none.
module db_host_owner
  import db_host_pkg::*;
#(
  /// log2 of the largest data command in bytes, 12..20
  parameter int PART_LOG2 = 20
) (
  input  logic         clk,
  input  logic         rst,
  /// each millisecond
  input  logic         tick,
  input  logic         link_up,
  /// constant: after rst it is nobody's
  input  logic         left_alone,
  /// pulses; one that does not fit `owner` is ignored
  input  logic         s_hand_valid,
  input  handed_t      s_hand,
  input  logic         take_back,
  input  logic         bring_up,
  output owner_e       owner,
  /// it may use its window
  output logic         open,

  /// the control side: whether it has a link, and is to shut the drive down; what it says
  output logic         m_link_up,
  output logic         m_shutdown,
  input  logic         s_up,
  input  logic         s_dead,
  input  logic         s_open,
  input  logic         s_shut,        ///< the shutdown is over, well or not
  input  drive_facts_t s_facts,
  input  settings_t    settings,

  /// commands: what holds, whoever has it
  output logic         io_up,
  output logic         io_dead,
  output logic         io_open,
  output drive_facts_t facts,
  output logic [31:0]  nsid,
  /// doorbells are not the control side's: the one that is rung stands here
  output logic         handed,
  input  logic         doorbell_cq,
  output logic [23:0]  doorbell,
  /// the oldest command is late; one cycle: a damaged write
  input  logic         late,
  input  logic         damaged,
  /// no command has a slot or waits for one; nothing of this drive is under way anywhere
  input  logic         s_drained,
  input  logic         s_quiet,
  output logic         busy
);
  typedef enum logic [2:0] {
    ST_OWN, ST_SHUT, ST_SETTLE, ST_NOBODY, ST_ARM, ST_UP, ST_LEAVE, ST_LOST
  } state_e;
  state_e       state_q;
  logic [5:0]   calm_q;    // cycles for which it has been calm
  logic [15:0]  left_q;    // milliseconds
  logic         own, over, bad;
  handed_t      hand_q;
  logic [31:0]  nsid_q;
  drive_facts_t facts_q;
  logic [4:0]   most;
  assign own  = state_q inside {ST_OWN, ST_SHUT};
  assign over = left_q == '0;
  assign bad  = late || damaged || !link_up;
  assign most = s_hand.transfer_log2 < 5'(PART_LOG2) ? s_hand.transfer_log2 : 5'(PART_LOG2);

  always_ff @(posedge clk) begin
    m_shutdown <= 1'b0;
    calm_q     <= '0;
    if (state_q != ST_LEAVE) left_q <= settings.shutdown_ms;
    else if (tick && !over) left_q <= left_q - 1'b1;
    unique case (state_q)
      ST_OWN: if (take_back) begin
        state_q    <= ST_SHUT;
        m_shutdown <= 1'b1;
      end
      ST_SHUT: if (s_shut && !m_shutdown) state_q <= ST_SETTLE;
      ST_SETTLE: begin
        if (s_quiet) calm_q <= calm_q + 1'b1;
        if (calm_q == '1) state_q <= ST_NOBODY;
      end
      ST_NOBODY: begin
        if (s_hand_valid && link_up) state_q <= ST_ARM;
        else if (bring_up) state_q <= ST_OWN;
      end
      ST_ARM: begin
        calm_q <= calm_q + 1'b1;
        if (damaged || !link_up) state_q <= ST_LOST;
        else if (calm_q == 6'd7) state_q <= ST_UP;
      end
      ST_UP: begin
        if (bad) state_q <= ST_LOST;
        else if (take_back) state_q <= ST_LEAVE;
      end
      ST_LEAVE: begin
        if (s_drained) calm_q <= calm_q + 1'b1;
        if (bad || over || calm_q == '1) state_q <= ST_SETTLE;
      end
      default: if (take_back) state_q <= ST_SETTLE;
    endcase
    if (rst) state_q <= left_alone ? ST_NOBODY : ST_OWN;
  end

  // What holds of the drive's blocks holds until another is there: commands that end with errors have their lengths, too.
  always_ff @(posedge clk) begin
    if (own) begin
      facts_q <= s_facts;
      nsid_q  <= settings.nsid;
    end else if (state_q == ST_NOBODY && s_hand_valid) begin
      hand_q             <= s_hand;
      nsid_q             <= s_hand.nsid;
      facts_q.sq_size    <= 16'd1 << s_hand.sq_log2;
      facts_q.lba_shift  <= s_hand.lba_shift;
      facts_q.sgl        <= 1'b0;  // not known
      facts_q.max_blocks <= 32'd1 << (most - 5'(s_hand.lba_shift));
    end
    if (rst) begin
      facts_q.lba_shift  <= 4'd9;
      facts_q.max_blocks <= 32'd8;
    end
  end

  assign m_link_up = own && link_up;
  assign io_up     = own ? s_up : state_q inside {ST_UP, ST_LEAVE};
  assign io_dead   = own ? s_dead : state_q inside {ST_SETTLE, ST_NOBODY, ST_LOST};
  assign io_open   = own ? s_open : state_q == ST_UP;
  assign open      = !(state_q inside {ST_SETTLE, ST_NOBODY, ST_LOST});
  assign facts     = facts_q;
  assign nsid      = nsid_q;
  assign handed    = !own;
  assign doorbell  = doorbell_cq ? hand_q.cq_doorbell : hand_q.sq_doorbell;
  assign busy      = state_q inside {ST_SHUT, ST_SETTLE, ST_ARM, ST_LEAVE} || (state_q == ST_UP && late);

  always_comb begin
    unique case (state_q)
      ST_OWN:         owner = OWNER_CARD;
      ST_NOBODY:      owner = OWNER_NOBODY;
      ST_ARM, ST_UP:  owner = OWNER_HANDED;
      ST_LOST:        owner = OWNER_LOST;
      default:        owner = OWNER_LEAVING;
    endcase
  end
endmodule
