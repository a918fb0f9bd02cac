// SPDX-License-Identifier: Apache-2.0
// Near-storage commands on the way from the media to the host (docs/csd/near-storage.md): their packets go to an
// operator and come out as results, all others pass. Packets keep their order.
//
//   s_row -> skid --- a Read's -----------------------------------------------------------> skid -> m_row
//                 '-- a near-storage command's -> slots ---> db_csd_near_gather -> db_csd_near_pack --^
//                                                 |  ^                              ^
//                                                 +--'  one's rows to another       |
//                                                 '---------------------------------+
//   s_packet, firmware -> db_csd_near_pool -- which slots, words for them --^
//
// Hash, which keeps messages, is a slot of its own; of a Crypt with nothing behind it the rows as they are are the result.
// Latency: a Read's row 2 cycles; a result that of the operator and of db_csd_near_pack behind its command's last
// row. Throughput: a row a cycle.
`include "db_axi_types.svh"
module db_csd_near
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int DATA_W   = 256,  ///< bits: 128, 256, 512
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_CMDS = 128,  ///< I/O commands inside: power of two, 2..256
  parameter int CELLS    = 8,    ///< pieces of strings of a Grep, 1..32
  /// the operator of each slot, a digit each from the right: 1 Grep, 2 Aggregate, 3 Filter, 6 Csv, f one that is
  /// exchanged; 1 to 7
  parameter logic [27:0] SLOTS = 28'h6321,
  parameter logic [15:0] SHELL = 16'd0,  ///< of this design, that bitstreams are for
  parameter int CMB_LOG2 = 0,    ///< card memory of a function, log2 of bytes; 0: none, and nothing can be exchanged
  parameter int HASHES   = 8,    ///< cores of SHA-256 of a Hash, 1..16
  parameter int HASH_BYTES = 16384, ///< buffer of each: a power of two, at least 16 rows
  localparam int ADDR_W = cmb_addr_w(CMB_LOG2, NUM_FN),
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic              clk,
  input  logic              rst,            ///< controller reset
  input  logic              power_rst,
  output logic              busy,           ///< a packet is to come, or its rows are inside, or a message is hashed
  output logic              exchanging,     ///< what is in a slot is being exchanged
  input  ext_bus_t          s_ext,          ///< of the firmware
  output logic [31:0]       m_ext_rdata,
  input  logic              s_packet_valid, ///< pulse: the next packet of s_row
  input  near_packet_t      s_packet,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  output logic              m_row_valid,
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output row_info_t         m_row_info,
  output logic              m_result_valid, ///< pulse: what a command came to, before the last row of its result
  output near_result_t      m_result,
  /// bitstreams: from card memory, to the configuration port (ICAP)
  output axi_read_req_t     m_axi_read_req,
  input  axi_read_rsp_t     m_axi_read_rsp,
  output logic              m_icap_valid,
  input  logic              m_icap_ready,
  output logic [31:0]       m_icap_data
);
  localparam int ROW_BYTES = DATA_W / 8;
  localparam int INSIDE    = 8;             // near-storage commands that have begun, at most
  localparam int POOL      = near_slot_count(32'(SLOTS));
  localparam int ALL       = POOL + 1;      // Hash is the last
  localparam int ROW_W     = $bits(row_info_t) + DATA_W;

  // ---- while no packet is inside the clock stands still, in simulation
  logic near_clk, works;
  db_clock_gate i_near_clk (.clk, .awake(rst || works || s_packet_valid || s_row_valid), .m_clk(near_clk));

  // ---- packets, rows
  near_packet_t      told, packet;
  logic              told_valid, told_ready, packet_valid, packet_room, packet_end, row_valid, row_ready, out_valid,
                     out_ready;
  logic [DATA_W-1:0] row_data, out_data;
  row_info_t         row_info, out_info;
  db_fifo #(.WIDTH($bits(near_packet_t)), .DEPTH(NUM_CMDS)) i_packets (
    .clk(near_clk), .rst, .s_valid(s_packet_valid), .s_ready(packet_room), .s_data(s_packet), .m_valid(told_valid),
    .m_ready(told_ready), .m_data(told), .level());
  db_skid #(.WIDTH(ROW_W)) i_in (
    .clk(near_clk), .rst, .s_valid(s_row_valid), .s_ready(s_row_ready), .s_data({s_row_info, s_row_data}),
    .m_valid(row_valid), .m_ready(row_ready), .m_data({row_info, row_data}));
  db_skid #(.WIDTH(ROW_W)) i_out (
    .clk(near_clk), .rst, .s_valid(out_valid), .s_ready(out_ready), .s_data({out_info, out_data}),
    .m_valid(m_row_valid), .m_ready(m_row_ready), .m_data({m_row_info, m_row_data}));

  // ---- programs, and the slots for them
  logic                      written, renaming;
  near_owner_t               written_owner;
  logic [ALL-1:0][3:0]       operators;
  logic [ALL-1:0]            leave, param_valid;
  logic [ALL-1:0][ALL-1:0]   route;
  near_param_t               param;
  near_chain_t               chain;
  db_csd_near_pool #(
    .DATA_W(DATA_W), .NUM_FN(NUM_FN), .CELLS(CELLS), .SLOTS(SLOTS), .SHELL(SHELL), .CMB_LOG2(CMB_LOG2)
  ) i_pool (
    .clk, .rst, .power_rst, .busy(renaming), .exchanging, .s_ext, .m_ext_rdata, .s_packet_valid(told_valid),
    .s_packet_ready(told_ready), .s_packet(told), .m_packet_valid(packet_valid), .m_packet_ready(packet_end),
    .m_packet(packet), .m_chain(chain), .operators, .s_done(leave), .route, .written, .written_owner,
    .m_param_valid(param_valid), .m_param(param), .m_axi_read_req, .m_axi_read_rsp, .m_icap_valid, .m_icap_ready,
    .m_icap_data);

  // ---- a near-storage command's rows, as far as they are to be looked at
  logic                    begun_q, begins, takes, gives, near_ready, op_ready, err_q, first_q;
  logic                    ended_q;        // pulse: all of a command's data has come
  logic                    some_q, last_q; // there are such bytes; what comes has the last of them
  logic [6:0]              bytes_q;        // of the next row
  logic [NEAR_BYTES_W-1:0] left_q, left;   // bytes that are to be looked at
  logic [$clog2(INSIDE):0] inside_q;
  near_row_t               near_row;
  logic                    nowhere;        // no program, or no slot for it
  assign nowhere = chain.none || chain.absent;
  assign begins  = packet_valid && packet.computes && !begun_q && !inside_q[$clog2(INSIDE)];
  assign takes   = begun_q && row_valid && near_ready;
  assign gives   = begun_q && some_q && !nowhere;
  assign near_row   = '{first: first_q, last: last_q, bytes: bytes_q, phase: packet.args.phase,
                        owner: '{place: packet.place, number: packet.args.number}};
  assign near_ready = begun_q && (!gives || op_ready);
  always_comb begin
    left = packet.args.data;
    if (begun_q) left = last_q ? '0 : left_q - NEAR_BYTES_W'(ROW_BYTES);
  end
  always_ff @(posedge near_clk) begin
    if (begins || takes) begin
      left_q  <= left;
      some_q  <= left != '0;
      last_q  <= left <= NEAR_BYTES_W'(ROW_BYTES);
      bytes_q <= left <= NEAR_BYTES_W'(ROW_BYTES) ? left[6:0] : 7'(ROW_BYTES);
    end
    if (begins) begin
      begun_q <= 1'b1;
      first_q <= 1'b1;
    end
    if (takes) begin
      first_q <= 1'b0;
      err_q   <= (!first_q && err_q) || row_info.err;
      begun_q <= !row_info.last;
    end
    ended_q  <= takes && row_info.last;
    inside_q <= inside_q + ($clog2(INSIDE) + 1)'(begins) - ($clog2(INSIDE) + 1)'(m_result_valid);
    if (rst) begin
      begun_q  <= 1'b0;
      ended_q  <= 1'b0;
      inside_q <= '0;
    end
  end

  // ---- results in the order of their commands: where the next one comes from
  typedef struct packed {
    logic [ALL-1:0] slots;  // that it leaves
    logic [ALL-1:0] last;   // that gives it; none: its rows are it
  } from_t;
  from_t from;
  logic  from_valid, from_end, found_last;
  db_fifo #(.WIDTH($bits(from_t)), .DEPTH(INSIDE)) i_from (
    .clk(near_clk), .rst, .s_valid(begins && !nowhere), .s_ready(),
    .s_data({ALL'(chain.slots), ALL'(chain.last)}), .m_valid(from_valid), .m_ready(from_end),
    .m_data(from), .level());
  always_ff @(posedge near_clk) leave <= from_end && !rst ? from.slots : '0;

  // ---- slots, and the rows from one to the other
  logic in_use;  // the next packet is such a command's, or one is inside
  assign in_use = (told_valid && told.computes) || (packet_valid && packet.computes) || param_valid != '0 ||
                  inside_q != '0;
  logic [ALL-1:0]             slot_valid, slot_ready, word_valid, gives_valid, gives_ready;
  logic [ALL-1:0][DATA_W-1:0] slot_data, gives_data;
  near_row_t [ALL-1:0]        slot_row, gives_row;
  near_word_t [ALL-1:0]       words;
  logic                       hashes, words_ready, found_ready, rows_valid;
  logic [DATA_W-1:0]          rows_data;
  near_row_t                  rows_row;
  db_csd_near_crossbar #(.DATA_W(DATA_W), .SLOTS(ALL)) i_crossbar (
    .route, .s_valid(gives && row_valid), .s_ready(op_ready), .s_data(row_data), .s_row(near_row),
    .s_to(chain.first[ALL-1:0]), .slot_valid, .slot_ready, .slot_data, .slot_row, .gives_valid, .gives_ready,
    .gives_data, .gives_row, .from_valid, .from_last(from.last), .m_valid(rows_valid), .m_ready(found_ready),
    .m_data(rows_data), .m_row(rows_row));
  for (genvar s = 0; s < POOL; s++) begin : g_slot
    db_csd_near_slot #(.DATA_W(DATA_W), .CELLS(CELLS), .OPERATOR(SLOTS[4*s +: 4])) i_slot (
      .clk, .rst, .in_use, .operator(operators[s]), .s_param_valid(param_valid[s]), .s_param(param),
      .s_row_valid(slot_valid[s]), .s_row_ready(slot_ready[s]), .s_row_data(slot_data[s]), .s_row(slot_row[s]),
      .m_word_valid(word_valid[s]), .m_word_ready(words_ready && from_valid && from.last[s]), .m_word(words[s]),
      .m_row_valid(gives_valid[s]), .m_row_ready(gives_ready[s]), .m_row_data(gives_data[s]), .m_row(gives_row[s]));
  end
  assign {gives_valid[POOL], gives_data[POOL], gives_row[POOL]} = '0;
  db_csd_near_hash #(.DATA_W(DATA_W), .NUM_FN(NUM_FN), .CORES(HASHES), .BYTES(HASH_BYTES)) i_hash (
    .clk, .rst, .working(hashes), .s_forget(written), .s_forget_owner(written_owner),
    .s_param_valid(param_valid[POOL]), .s_param(param), .s_row_valid(slot_valid[POOL]), .s_row_ready(slot_ready[POOL]),
    .s_row_data(slot_data[POOL]), .s_row(slot_row[POOL]), .m_word_valid(word_valid[POOL]),
    .m_word_ready(words_ready && from_valid && from.last[POOL]), .m_word(words[POOL]));

  // ---- the result's rows: words that are gathered, or a slot's rows, or those of the media
  logic              found_valid, gathered_valid, gathered_ready, pack_ready, any_valid;
  logic [DATA_W-1:0] gathered_data, found_data;
  near_row_t         gathered, found;
  near_word_t        word;
  always_comb begin
    word = '0;
    for (int s = 0; s < ALL; s++) if (from.last[s]) word |= words[s];
  end
  db_csd_near_gather #(.DATA_W(DATA_W), .WORD_W(128)) i_gather (
    .clk(near_clk), .rst, .s_valid(from_valid && (word_valid & from.last) != '0), .s_ready(words_ready),
    .s_data(word.data), .s_bytes(7'd16), .s_last(word.last), .m_valid(gathered_valid), .m_ready(gathered_ready),
    .m_data(gathered_data), .m_row(gathered));
  assign gathered_ready = found_ready;
  assign any_valid      = rows_valid || gathered_valid;
  assign found_last     = gathered_valid ? gathered.last : rows_row.last;
  assign from_end       = any_valid && found_ready && found_last;
  db_skid #(.WIDTH($bits(near_row_t) + DATA_W)) i_found (
    .clk(near_clk), .rst, .s_valid(any_valid), .s_ready(found_ready),
    .s_data(gathered_valid ? {gathered, gathered_data} : {rows_row, rows_data}), .m_valid(found_valid),
    .m_ready(pack_ready), .m_data({found, found_data}));

  // ---- results
  logic              pack_valid;
  logic [DATA_W-1:0] pack_data;
  row_info_t         pack_info;
  db_csd_near_pack #(.DATA_W(DATA_W), .DEPTH(INSIDE)) i_pack (
    .clk(near_clk), .rst, .s_begin(begins), .s_packet(packet), .s_none(chain.none), .s_absent(chain.absent),
    .s_end(ended_q), .s_err(err_q),
    .s_row_valid(found_valid), .s_row_ready(pack_ready), .s_row_data(found_data), .s_row(found),
    .m_row_valid(pack_valid), .m_row_ready(out_ready), .m_row_data(pack_data), .m_row_info(pack_info), .m_result_valid,
    .m_result);

  // ---- out: a Read's rows while no result is to come
  logic passes;
  assign passes     = packet_valid && !packet.computes && inside_q == '0 && !pack_valid;
  assign row_ready  = passes ? out_ready : near_ready;
  assign packet_end = row_valid && row_ready && row_info.last;
  assign out_valid  = pack_valid || (passes && row_valid);
  assign out_data   = pack_valid ? pack_data : row_data;
  assign out_info   = pack_valid ? pack_info : row_info;

  assign busy = hashes || told_valid || renaming || row_valid || inside_q != '0 || m_row_valid;

  assign works = busy || in_use || pack_valid;

  logic unused_ok;
  assign unused_ok = &{1'b0, packet_room, gives_ready[POOL], chain};
`ifndef SYNTHESIS
  always_ff @(posedge near_clk) if (!rst && s_packet_valid) assert (packet_room);
`endif
endmodule
