// SPDX-License-Identifier: Apache-2.0
// First tweak of each block (LBA) of XTS: E_K2(LBA number, 128 bits little-endian), in the order of the requests.
//
// CORES small AES cores take turns. Latency: 19 cycles from request to result, 15 with a 128-bit key. Throughput:
// CORES tweaks every 15 cycles; blocks of 512 bytes need one every 32, 16 or 8 cycles at 128, 256 or 512 bit.
module db_csd_tweak
  import db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int CORES = 1,       ///< 1 or 2
  parameter int KEY_SLOTS = 16,  ///< 2 to 64
  parameter int DEPTH = 4        ///< requests and results that wait, each; a power of two
) (
  input  logic                         clk,
  input  logic                         rst,
  input  key_bus_t                     key_bus,
  input  key_slot_t [KEY_SLOTS-1:0]    key_slots,
  input  logic                         s_valid,
  output logic                         s_ready,
  input  logic [$clog2(KEY_SLOTS)-1:0] s_slot,
  input  logic [63:0]                  s_lba,
  output logic                         m_valid,
  input  logic                         m_ready,
  output logic [127:0]                 m_tweak,
  output logic                         m_ok       ///< the slot was valid for XTS when the tweak was begun
);
  localparam int SLOT_W = $clog2(KEY_SLOTS);
  if (CORES != 1 && CORES != 2) begin : g_bad
    $error("%m: CORES must be 1 or 2 (is %0d)", CORES);
  end

  logic              req_valid, req_ready;
  logic [SLOT_W-1:0] req_slot;
  logic [63:0]       req_lba;
  db_fifo #(.WIDTH(SLOT_W + 64), .DEPTH(DEPTH)) i_req (
    .clk, .rst, .level(), .s_valid, .s_ready, .s_data({s_slot, s_lba}),
    .m_valid(req_valid), .m_ready(req_ready), .m_data({req_slot, req_lba})
  );

  logic [CORES-1:0] core_valid, core_ready, res_valid, res_ready, res_ok;
  logic [127:0]     res_data[CORES];
  logic [0:0]       give_q, get_q;  // whose turn it is
  logic             out_valid, out_ready;
  for (genvar c = 0; c < CORES; c++) begin : g_core
    assign core_valid[c] = req_valid && give_q == 1'(c);
    db_aes_iter #(.KEY_SLOTS(KEY_SLOTS)) i_core (
      .clk, .rst, .key_bus,
      .s_valid(core_valid[c]), .s_ready(core_ready[c]), .s_short(key_slots[req_slot].short_key), .s_slot(req_slot),
      .s_data({64'd0, req_lba}), .s_user(key_slots[req_slot].xts),
      .m_valid(res_valid[c]), .m_ready(res_ready[c]), .m_data(res_data[c]), .m_user(res_ok[c])
    );
    assign res_ready[c] = get_q == 1'(c) && out_ready;
  end
  assign req_ready = core_ready[give_q];

  assign out_valid = res_valid[get_q];
  db_fifo #(.WIDTH(129), .DEPTH(DEPTH)) i_res (
    .clk, .rst, .level(), .s_valid(out_valid), .s_ready(out_ready), .s_data({res_ok[get_q], res_data[get_q]}),
    .m_valid, .m_ready, .m_data({m_ok, m_tweak})
  );

  always_ff @(posedge clk) begin
    if (CORES == 2 && req_valid && req_ready) give_q <= ~give_q;
    if (CORES == 2 && out_valid && out_ready) get_q <= ~get_q;
    if (rst) begin
      give_q <= '0;
      get_q  <= '0;
    end
  end
endmodule
