// SPDX-License-Identifier: Apache-2.0
// DataEnable as captures see it, and what the recorder as a whole is at.
//
// When DataEnable is 0 everywhere, what is in the buffer in memory is still recorded, and the capture ends before
// another begins, also if DataEnable is 1 again meanwhile.
// Latency: none, but for the cycle after which it is known that a capture closes.
module db_rec_enable
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic                           clk,
  input  logic                           rst,
  input  drive_control_t  [N_DRIVES-1:0] control,
  input  drive_progress_t [N_DRIVES-1:0] progress,
  input  lane_state_t     [N_DRIVES-1:0] lanes,
  input  logic                           buffer_busy,
  output logic                           any_capturing,
  output logic                           any_enable,        ///< software wants blocks
  output logic            [N_DRIVES-1:0] data_enable,

  input  logic            [N_DRIVES-1:0] run,
  input  logic                           starting,          ///< a drive of the capture is not ready
  input  logic                           in_block,          ///< of db_rec_capture
  output logic                           data_enabled_out,

  /// Something is going on, each at its place.
  input  logic                           wiping,
  input  logic            [N_DRIVES-1:0] read_busy,
  input  logic                           event_valid,
  input  logic                           packet_valid,
  input  logic            [N_DRIVES-1:0] status_valid,
  output logic                           idle
);
  logic [N_DRIVES-1:0] want, capturing, reading, lane_hold, lane_idle;
  logic                closing_q;  // DataEnable was 0 with something in the buffer
  for (genvar i = 0; i < N_DRIVES; i++) begin : g_drive
    assign want[i]      = control[i].capture;
    assign capturing[i] = progress[i].capturing;
    assign reading[i]   = progress[i].reading;
    assign lane_hold[i] = lanes[i].hold;
    assign lane_idle[i] = lanes[i].idle;
  end
  assign any_capturing    = capturing != '0;
  assign any_enable       = want != '0 && !closing_q;
  assign data_enable      = any_enable ? want : buffer_busy ? capturing : '0;
  assign data_enabled_out = (run != '0 && lane_hold == '0 && !starting) || in_block;
  assign idle             = !wiping && capturing == '0 && reading == '0 && read_busy == '0 && !in_block && &lane_idle &&
                            !event_valid && !packet_valid && status_valid == '0;
  always_ff @(posedge clk) begin
    if (capturing == '0) closing_q <= 1'b0;
    else if (want == '0 && buffer_busy) closing_q <= 1'b1;
    if (rst) closing_q <= 1'b0;
  end
endmodule
