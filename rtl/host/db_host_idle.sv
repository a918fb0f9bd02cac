// SPDX-License-Identifier: Apache-2.0
// When only time passes in the host: nothing is under way, and nothing has been for 31 cycles. A simulator may then go
// straight to the next event; a user sees it in STATUS.
// Latency: `quiet` none, `idle` 31 cycles.
module db_host_idle
  import db_host_pkg::*;
#(
  /// streams that are looked at
  parameter int NUM_ACTIVE = 8
) (
  input  logic                  clk,
  input  logic                  rst,
  /// the control side
  input  control_busy_t         control,
  /// a request to the drive is on RQ
  input  logic                  requesting,
  /// commands are under way: slots in use, a part that waits for one
  input  logic                  slots_empty,
  input  logic                  part_valid,
  /// something else moves
  input  logic [NUM_ACTIVE-1:0] active,
  /// no command and no access is under way
  output logic                  quiet,
  /// nothing changes until an input does, or a tick comes
  output logic                  idle
);
  logic       control_busy;
  logic [4:0] calm_q;
  assign control_busy = control != '0 || requesting;
  assign quiet        = !control_busy && slots_empty && !part_valid;
  always_ff @(posedge clk) begin
    if (rst || control_busy || part_valid || active != '0) calm_q <= '0;
    else if (!(&calm_q)) calm_q <= calm_q + 5'd1;
  end
  assign idle = &calm_q;
endmodule
