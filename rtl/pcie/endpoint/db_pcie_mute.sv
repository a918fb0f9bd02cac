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
    logic [2**PLACE_W-1:0] silent_q;
    always_ff @(posedge clk) silent_q <= (2 ** PLACE_W)'(silent);
    always_comb for (int i = 0; i < ASKERS; i++) mute[i] = silent_q[fn_place(fn[i])];
  end
endmodule
