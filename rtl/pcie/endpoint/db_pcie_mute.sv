// SPDX-License-Identifier: Apache-2.0
// Whether a function sends nothing now, for those who would send for it. With one function none asks: its `stop` and `hold`
// are the endpoint's. Latency: 1 cycle from silent; fn in the same cycle.
module db_pcie_mute
  import db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN = 1,  ///< functions, 1..17
  parameter int ASKERS = 1   ///< 1..4
) (
  input  logic                         clk,
  input  logic [NUM_FN-1:0]            silent,  ///< functions that send nothing
  input  logic [ASKERS-1:0][FN_W-1:0]  fn,
  output logic [ASKERS-1:0]            mute
);
  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok = &{1'b0, clk, silent, fn};
    assign mute      = '0;
  end else begin : g_many
    localparam int W = $clog2(FIRST_VF + MAX_FN - 1);
    logic [2**W-1:0] silent_q;              // by number: nobody need find a place
    always_ff @(posedge clk) begin
      silent_q <= '0;
      for (int f = 0; f < NUM_FN; f++) silent_q[W'(fn_number(PLACE_W'(f)))] <= silent[f];
    end
    always_comb for (int i = 0; i < ASKERS; i++) mute[i] = fn[i][FN_W-1:W] == '0 && silent_q[fn[i][W-1:0]];
  end
endmodule
