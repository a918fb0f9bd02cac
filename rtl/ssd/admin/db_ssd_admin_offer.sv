// SPDX-License-Identifier: Apache-2.0
// valid of something that the firmware starts: from the start until it is taken. What is offered stays in registers of
// the firmware meanwhile. Used for completions and queue contexts.
module db_ssd_admin_offer (
  input  logic clk,
  input  logic rst,
  input  logic start,  ///< pulse; only when nothing is on offer
  output logic valid,
  input  logic ready
);
  always_ff @(posedge clk) begin
    if (ready) valid <= 1'b0;
    if (start) valid <= 1'b1;
    if (rst) valid <= 1'b0;
  end

endmodule
