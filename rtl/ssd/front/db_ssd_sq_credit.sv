// SPDX-License-Identifier: Apache-2.0
// Command slots: taken when entries are requested, given back when their commands are over; and from them the most
// entries that a turn may take: request size, arbitration burst, free slots, the class's credit.
//
// What is free when a turn begins may be more than two cycles before, when the first of the registers behind limit was
// loaded, but never less: no turn has ended since. Latency: limit is that of the turn from ST_COUNT on.
module db_ssd_sq_credit
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_CMDS   = 128,  ///< command slots, 2..256
  parameter int ADMIN_CMDS = 16,   ///< admin commands inside at most, 1..64
  parameter int FETCH_MAX  = 8     ///< entries a read request, 1..64
) (
  input  logic             clk,
  input  logic             rst,
  input  arb_cfg_t         arb_cfg,
  input  sq_state_e        state,
  input  logic             admin_turn,    ///< the queue at work is the admin queue
  input  logic [1:0]       list,          ///< its ready list
  input  logic [8:0]       class_credit,  ///< ... and that class's credit
  input  logic [6:0]       count,         ///< ST_GO: entries requested
  input  logic             s_retired_valid,
  input  logic [QID_W-1:0] s_retired_sqid,
  output logic             io_free,       ///< there is a slot for an I/O command
  output logic             admin_free,    ///< there is room for an admin command
  output logic [6:0]       limit,         ///< the most entries of this turn
  output logic [15:0]      cmds_inflight  ///< I/O commands requested and not over
);
  logic [8:0] free_q;
  logic [6:0] admin_free_q, burst_q, io_most_q, admin_most_q, limit_q;
  logic       issue, io_done;

  assign io_free       = free_q != 9'd0;
  assign admin_free    = admin_free_q != 7'd0;
  assign limit         = limit_q;
  assign cmds_inflight = 16'(NUM_CMDS) - 16'(free_q);

  always_ff @(posedge clk) begin
    logic [6:0] most;
    burst_q      <= (arb_cfg.burst >= 3'd6 || (7'd1 << arb_cfg.burst) > 7'(FETCH_MAX)) ? 7'(FETCH_MAX)
                                                                                       : 7'd1 << arb_cfg.burst;
    io_most_q    <= (free_q < 9'(burst_q)) ? free_q[6:0] : burst_q;
    admin_most_q <= (admin_free_q < burst_q) ? admin_free_q : burst_q;
    most = admin_turn ? admin_most_q : io_most_q;
    if (!admin_turn && arb_cfg.wrr && list != 2'd0 && class_credit < 9'(most)) most = class_credit[6:0];
    limit_q <= most;
  end

  assign issue   = state == ST_GO;
  assign io_done = s_retired_valid && s_retired_sqid != '0;
  always_ff @(posedge clk) begin
    free_q       <= free_q - (issue && !admin_turn ? 9'(count) : 9'd0) + 9'(io_done);
    admin_free_q <= admin_free_q - (issue && admin_turn ? count : 7'd0) + 7'(s_retired_valid && !io_done);
    if (rst) begin
      free_q       <= 9'(NUM_CMDS);
      admin_free_q <= 7'(ADMIN_CMDS);
    end
  end

endmodule
