// SPDX-License-Identifier: Apache-2.0
// All of db_csd but the controller: registers, keys, bindings, a path of operators in each direction, results. Wiring.
//
//   firmware -> db_csd_control -> db_csd_selftest -> db_csd_keys -- key_bus, key_slots --> db_csd_path (AES)
//                     |  ^------- db_csd_results <-- results ---------- db_csd_path x 2
//                     +---------> db_csd_bindings -- contexts --------> db_csd_path x 2
//                     '---------------------- db_csd_crypt --^  with NEAR
//
// Latency and throughput: those of db_csd_path. Keys and results are gone after a controller reset, bindings stay.
module db_csd_compute
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_aes_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W    = 256,   ///< bits: 128, 256, 512
  parameter int NUM_CMDS  = 128,   ///< I/O commands inside
  parameter int NUM_NS    = 1,     ///< namespaces, 1..64
  parameter int KEY_SLOTS = 16,    ///< keys, 2..64
  parameter bit CRC32C    = 1'b1,  ///< has the reducer CRC-32C
  parameter int SHA_CORES = 4,     ///< SHA-256 cores a direction, 0..16
  parameter int NUM_FN    = 1,     ///< functions, 1..17
  parameter bit NEAR      = 1'b0   ///< has near-storage commands
) (
  input  logic                          clk,
  input  logic                          rst,          ///< power-on
  input  logic                          ctrl_rst,     ///< controller reset
  output logic                          idle,         ///< no row of the host is inside, and no key changes
  output logic [NUM_NS-1:0]             ns_locked,    ///< commands that move user data are refused

  input  ext_bus_t                      s_ext,        ///< of the firmware
  output logic [31:0]                   m_ext_rdata,
  input  tap_cmd_t                      s_tap_cmd,    ///< a command will send a packet
  input  logic                          s_tap_begin,  ///< pulse: a command begins, with or without a packet
  input  logic [SLOT_W-1:0]             s_tap_begin_slot,
  input  logic                          s_tap_end_valid,  ///< pulse: a command has ended
  input  slot_completion_t              s_tap_end,

  /// Rows in and out; [0] media to host, [1] host to media.
  input  logic      [1:0]               s_row_valid,
  output logic      [1:0]               s_row_ready,
  input  logic      [1:0][DATA_W-1:0]   s_row_data,
  input  row_info_t [1:0]               s_row_info,
  output logic      [1:0]               m_row_valid,
  input  logic      [1:0]               m_row_ready,
  output logic      [1:0][DATA_W-1:0]   m_row_data,
  output row_info_t [1:0]               m_row_info,
  output logic [1:0][DATA_W/128-1:0]    m_row_zero    ///< 16 bytes that compare equal to zeros on the media, too
);
  localparam int N_RES = 2 + db_csd_ops_pkg::REDUCERS;  // reducers a direction: CRC-32C, SHA-256, those in folders
  localparam logic [15:0] OPS = 16'h000f | db_csd_ops_pkg::OPS | (SHA_CORES > 0 ? 16'h0010 : 16'd0) |
                                (CRC32C ? 16'h0020 : 16'd0);

  // ---- registers and keys
  logic                      bind_valid, word_valid, key_valid, key_ready, key_busy;
  logic                      store_word_valid, store_valid, store_ready, store_busy, testing, test_go, test_failed;
  logic [1:0]                test_good;
  binding_t                  bind_to;
  key_word_t                 word, store_word;
  key_cmd_t                  key_cmd, store_cmd;
  key_bus_t                  key_bus;
  key_slot_t [KEY_SLOTS-1:0] key_slots, host_slots;
  logic                      res_valid, res_ready, reducing;
  result_t                   res;
  res_cmd_t                  res_cmd;
  logic [CSD_TAG_W-1:0]      res_tag;
  logic                      res_ended;
  status_t                   res_status;
  db_csd_control #(.KEY_SLOTS(KEY_SLOTS), .OPS(OPS)) i_control (
    .clk, .rst(ctrl_rst), .s_req(s_ext.req_first), .s_wr(s_ext.wr), .s_addr(s_ext.addr[7:0]),
    .s_wdata(s_ext.wdata), .s_rdata(m_ext_rdata), .m_bind_valid(bind_valid), .m_bind(bind_to),
    .m_word_valid(word_valid),
    .m_word(word), .m_cmd_valid(key_valid), .m_cmd_ready(key_ready), .m_cmd(key_cmd), .busy(key_busy), .test_failed,
    .key_slots(host_slots), .reducing,
    .s_res_valid(res_valid), .s_res_ready(res_ready), .s_res(res), .s_res_cmd(res_cmd),
    .res_tag, .res_ended, .res_status);
  db_csd_selftest i_selftest (
    .clk, .rst, .ctrl_rst, .busy(key_busy), .failed(test_failed), .s_word_valid(word_valid), .s_word(word),
    .s_cmd_valid(key_valid), .s_cmd_ready(key_ready), .s_cmd(key_cmd), .m_word_valid(store_word_valid),
    .m_word(store_word), .m_cmd_valid(store_valid), .m_cmd_ready(store_ready), .m_cmd(store_cmd),
    .keys_busy(store_busy), .testing, .go(test_go), .good(test_good));
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst(ctrl_rst), .s_word_valid(store_word_valid), .s_word(store_word), .s_cmd_valid(store_valid),
    .s_cmd_ready(store_ready), .s_cmd(store_cmd), .busy(store_busy), .key_bus, .key_slots);
  assign host_slots = testing ? '0 : key_slots;  // the vectors' keys are nobody's

  // ---- contexts
  logic [1:0]           ns_ctx_valid, ctx_valid, path_idle;
  op_ctx_t              ns_ctx, ctx;
  logic                 reduces;
  logic [CSD_TAG_W-1:0] tag;
  res_cmd_t             whose;
  db_csd_bindings #(.NUM_NS(NUM_NS), .KEY_SLOTS(KEY_SLOTS)) i_bindings (
    .clk, .rst, .ctrl_rst, .s_bind_valid(bind_valid), .s_bind(bind_to), .key_slots(host_slots), .ns_locked, .s_tap_cmd,
    .m_ctx_valid(ns_ctx_valid), .m_ctx(ns_ctx), .m_reduces(reduces), .m_tag(tag),
    .m_whose(whose));
  if (NEAR) begin : g_near
    db_csd_crypt #(.NUM_FN(NUM_FN)) i_crypt (
      .clk, .rst(ctrl_rst), .s_bind_valid(bind_valid), .s_bind(bind_to), .s_tap_cmd, .s_ctx_valid(ns_ctx_valid),
      .s_ctx(ns_ctx), .m_ctx_valid(ctx_valid), .m_ctx(ctx));
  end else begin : g_no_near
    assign ctx_valid = ns_ctx_valid;
    assign ctx       = ns_ctx;
  end

  // ---- rows
  logic    [2*N_RES-1:0] all_res_valid, all_res_ready;
  result_t [2*N_RES-1:0] all_res;
  for (genvar d = 0; d < 2; d++) begin : g_path
    // A packet a command; of several functions a list of ranges is more (db_ssd_order_pieces), of which a few are on the way
    // at once.
    localparam int PACKETS = d == 0 || NUM_FN == 1 ? NUM_CMDS : NUM_CMDS < 8 ? 16 : 2 * NUM_CMDS;
    db_csd_path #(
      .DATA_W(DATA_W), .DIR(d == 1), .PACKETS(PACKETS), .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C), .SHA_CORES(SHA_CORES)
    ) i_path (
      .clk, .rst(ctrl_rst), .idle(path_idle[d]), .key_bus, .key_slots, .testing, .test_go, .test_good(test_good[d]),
      .s_ctx_valid(ctx_valid[d]), .s_ctx(ctx),
      .s_row_valid(s_row_valid[d]), .s_row_ready(s_row_ready[d]), .s_row_data(s_row_data[d]),
      .s_row_info(s_row_info[d]), .m_row_valid(m_row_valid[d]), .m_row_ready(m_row_ready[d]),
      .m_row_data(m_row_data[d]), .m_row_info(m_row_info[d]), .m_row_zero(m_row_zero[d]),
      .m_res_valid(all_res_valid[N_RES*d +: N_RES]), .m_res_ready(all_res_ready[N_RES*d +: N_RES]),
      .m_res(all_res[N_RES*d +: N_RES]));
  end
  db_csd_results #(.N(2 * N_RES), .NUM_CMDS(NUM_CMDS), .SHA_CORES(SHA_CORES)) i_results (
    .clk, .rst(ctrl_rst), .s_begin(s_tap_begin), .s_begin_slot(s_tap_begin_slot), .s_end_valid(s_tap_end_valid),
    .s_end(s_tap_end), .ask_tag(res_tag), .ended(res_ended), .end_status(res_status), .s_cmd_valid(reduces),
    .s_cmd_tag(tag), .s_cmd(whose), .s_res_valid(all_res_valid),
    .s_res_ready(all_res_ready), .s_res(all_res), .m_res_valid(res_valid), .m_res_ready(res_ready), .m_res(res),
    .m_res_cmd(res_cmd), .reducing);
  // Rows on their way to the host do not count: when the controller stops nobody takes them, and what the media was
  // promised must come all the same. While it runs, their segments or requests keep the controller busy.
  assign idle = path_idle[1] && !key_busy && !key_valid && ns_ctx_valid == '0 && ctx_valid == '0 && !reducing;
endmodule
