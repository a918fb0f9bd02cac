// SPDX-License-Identifier: Apache-2.0
// The table of namespaces that decode looks in: written by the firmware, an entry at a time.
//
// Why RAM: an entry has 150 bits, and each would be a register behind a multiplexer. Only whether a namespace is there
// is a register, as rst takes it back; with several functions the entry says to which it is attached, and nobody asks
// until the firmware has written it. A single namespace is registers.
// Latency: what is looked at is there in the same cycle, what is written from the next one on.
module db_ssd_namespaces
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int  NUM_FN = 1,                                   ///< functions, 1..17
  parameter int  NUM_NS = 1,                                   ///< namespaces of all command sets, 1..98
  localparam int IW     = NUM_NS > 1 ? $clog2(NUM_NS + 1) : 1
) (
  input  logic          clk,
  input  logic          rst,      ///< no namespace is there
  input  logic          s_valid,  ///< pulse
  input  ns_entry_t     s_entry,  ///< ignored if its index is not below NUM_NS
  input  logic [IW-1:0] nsid,     ///< 1..NUM_NS
  output namespace_t    ns,       ///< of nsid; undefined for any other
  /// Several functions: which one a reservation bars from a namespace it is attached to, a cycle later.
  output logic [MAX_FN-1:0] bars
);
  if (NUM_FN == 1) begin : g_nobody
    assign bars = '0;
  end else begin : g_bars
    logic [NUM_NS-1:0][NUM_FN-1:0] barred_q;
    logic [NUM_FN-1:0]             bars_q, some;
    always_comb begin
      some = '0;
      for (int i = 0; i < NUM_NS; i++) some |= barred_q[i];
    end
    always_ff @(posedge clk) begin
      bars_q <= some;
      for (int i = 0; i < NUM_NS; i++)
        if (s_valid && s_entry.index == 8'(i)) barred_q[i] <= NUM_FN'(s_entry.ns.attached & s_entry.ns.barred);
      if (rst) barred_q <= '0;
    end
    assign bars = MAX_FN'(bars_q);
  end

  if (NUM_NS == 1) begin : g_one
    logic unused_ok;
    assign unused_ok = &{1'b0, nsid};
    namespace_t ns_q;
    always_ff @(posedge clk) begin
      if (s_valid && s_entry.index == '0) ns_q <= s_entry.ns;
      if (rst) ns_q.valid <= 1'b0;
    end
    always_comb begin
      ns = ns_q;
      if (NUM_FN == 1) {ns.attached, ns.barred, ns.exclusive} = '0;
    end
  end else begin : g_many
    localparam int W = $bits(namespace_t);
    logic [IW-1:0]    at;
    logic [W-1:0]     mem_q [2 ** IW];
    logic [2**IW-1:0] valid_q;
    assign at = IW'(s_entry.index + 1'b1);
    always_ff @(posedge clk) begin
      if (s_valid && s_entry.index < 8'(NUM_NS)) begin
        mem_q[at]   <= s_entry.ns;
        valid_q[at] <= s_entry.ns.valid;
      end
      if (rst) valid_q <= '0;
    end
    always_comb begin
      ns       = namespace_t'(mem_q[nsid]);
      ns.valid = valid_q[nsid];
    end
  end

endmodule
