// SPDX-License-Identifier: Apache-2.0
// The hash values of messages that no core works on now. Cores and the operator come in turn, one a cycle while any asks.
//
// Latency: a store is taken within CORES + 1 cycles; a load is answered within CORES + 3. What is stored, a load that
// begins a cycle later gets. Throughput: a store and a load a cycle.
module db_csd_near_hash_states
  import db_csd_near_hash_pkg::*;
#(
  parameter int CORES    = 8,  ///< 1..16
  parameter int MESSAGES = 16  ///< a power of two
) (
  input  logic                    clk,
  input  logic                    rst,
  input  logic [CORES-1:0]        s_store_valid,
  output logic [CORES-1:0]        s_store_ready,
  input  message_t [CORES-1:0]    s_store_message,
  input  logic [CORES-1:0][255:0] s_store_state,
  /// CORES: the operator. Until its bit of m_load_done.
  input  logic [CORES:0]          s_load,
  input  message_t [CORES:0]      s_load_message,
  output logic [CORES:0]          m_load_done,
  output logic [255:0]            m_load_state
);
  localparam int AW = $clog2(MESSAGES);
  localparam int TW = $clog2(CORES + 1);
  if (CORES < 1 || CORES > 16 || MESSAGES != 1 << AW) begin : g_bad
    $error("%m: CORES must be 1..16 (is %0d), MESSAGES a power of two (is %0d)", CORES, MESSAGES);
  end

  logic [TW-1:0]  turn_q;
  logic [CORES:0] turn, load_q;
  logic           store, store_q;
  logic [AW-1:0]  store_at, store_at_q, load_at, load_at_q;
  logic [255:0]   store_state, store_state_q;
  for (genvar c = 0; c <= CORES; c++) begin : g_turn
    assign turn[c] = turn_q == TW'(c);
  end
  assign s_store_ready = turn[CORES-1:0];
  assign store         = (s_store_valid & s_store_ready) != '0;
  always_comb begin
    store_at    = '0;
    store_state = '0;
    load_at     = '0;
    for (int c = 0; c < CORES; c++) begin
      store_at    |= {AW{turn[c]}} & s_store_message[c][AW-1:0];
      store_state |= {256{turn[c]}} & s_store_state[c];
    end
    for (int c = 0; c <= CORES; c++) load_at |= {AW{turn[c]}} & s_load_message[c][AW-1:0];
  end
  always_ff @(posedge clk) begin
    if (s_store_valid != '0 || s_load != '0) turn_q <= turn_q == TW'(CORES) ? '0 : turn_q + 1'b1;
    store_q       <= store;
    store_at_q    <= store_at;
    store_state_q <= store_state;
    load_q        <= s_load & turn;
    load_at_q     <= load_at;
    m_load_done   <= load_q;
    if (rst) begin
      turn_q      <= '0;
      store_q     <= 1'b0;
      load_q      <= '0;
      m_load_done <= '0;
    end
  end
  db_ram_sdp #(.WIDTH(256), .DEPTH(MESSAGES)) i_ram (
    .clk, .we(store_q), .waddr(store_at_q), .wdata(store_state_q), .re(1'b1), .raddr(load_at_q), .rdata(m_load_state));

  logic unused_ok;
  assign unused_ok = &{1'b0, s_store_message, s_load_message};
endmodule
