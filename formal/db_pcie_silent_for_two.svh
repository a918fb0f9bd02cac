// SPDX-License-Identifier: Apache-2.0
// For a harness with several functions: `quiet` has those, by place, that have been silent for two cycles; silent_1_q is what
// db_pcie_mute keeps. `include it inside a generate block.
    logic [NUM_FN-1:0] silent_1_q, silent_2_q;
    logic [31:0]       quiet;
    always_ff @(posedge clk) begin
      silent_1_q <= silent;
      silent_2_q <= silent_1_q;
    end
    assign quiet = 32'(silent_2_q);
