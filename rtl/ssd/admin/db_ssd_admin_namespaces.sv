// SPDX-License-Identifier: Apache-2.0
// The table of namespaces that decode reads: written by the firmware, an entry at a time.
module db_ssd_admin_namespaces
  import db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1,             // 1..17
  parameter int NUM_NS = 1              // 1..64
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic                    we,
  input  logic [7:0]              index,
  input  namespace_t              entry,
  output namespace_t [NUM_NS-1:0] namespaces
);
  for (genvar i = 0; i < NUM_NS; i++) begin : g_ns
    always_ff @(posedge clk) begin
      if (we && index == 8'(i)) namespaces[i] <= entry;
      if (NUM_FN == 1) begin
        namespaces[i].attached  <= '0;
        namespaces[i].barred    <= '0;
        namespaces[i].exclusive <= 1'b0;
      end
      if (rst) namespaces[i].valid <= 1'b0;
    end
  end

endmodule
