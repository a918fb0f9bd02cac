// SPDX-License-Identifier: Apache-2.0
// Near-storage commands on the way from the media to the host (docs/csd/near-storage.md): their packets go to an
// operator and come out as results, all others pass. Packets keep their order.
//
//   s_row -> skid --- a Read's ------------------------------------------------------------------> skid -> m_row
//                 '-- a near-storage command's -> db_csd_near_grep ------> db_csd_near_gather -> db_csd_near_pack --^
//                                              |> db_csd_near_aggregate -^                       ^
//                                              |       ^                                         |
//                                              |> db_csd_near_filter ------------------------------'
//                                              |> db_csd_near_hash ----> (words)
//                                              |> db_csd_near_csv -----> (words)
//                                              '> what db_csd_crypt had changed: its result as it is
//   firmware -> db_csd_near_programs -- words --^
//
// Commands with the same program follow each other without a gap; another program is loaded when no packet is
// inside.
// Latency: a Read's row 2 cycles; a result that of the operator and of db_csd_near_pack behind its command's last
// row. Throughput: a row a cycle.
module db_csd_near
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*;
#(
  parameter int DATA_W   = 256,  ///< bits: 128, 256, 512
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_CMDS = 128,  ///< I/O commands inside: power of two, 2..256
  parameter int CELLS    = 8,    ///< pieces of strings of a Grep, 1..32
  parameter int HASHES   = 8,    ///< cores of SHA-256 of a Hash, 1..16
  parameter int HASH_BYTES = 16384  ///< buffer of each: a power of two, at least 16 rows
) (
  input  logic              clk,
  input  logic              rst,
  output logic              busy,           ///< a packet is to come, or its rows are inside, or a message is hashed
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
  output near_result_t      m_result
);
  localparam int ROW_BYTES = DATA_W / 8;
  localparam int ROW_LOG   = $clog2(ROW_BYTES);
  localparam int INSIDE    = 4;             // near-storage commands that have begun, at most
  localparam int ROW_W     = $bits(row_info_t) + DATA_W;

  // ---- packets, rows
  near_packet_t      packet;
  logic              packet_valid, packet_room, packet_end, row_valid, row_ready, out_valid, out_ready;
  logic [DATA_W-1:0] row_data, out_data;
  row_info_t         row_info, out_info;
  db_fifo #(.WIDTH($bits(near_packet_t)), .DEPTH(NUM_CMDS)) i_packets (
    .clk, .rst, .s_valid(s_packet_valid), .s_ready(packet_room), .s_data(s_packet), .m_valid(packet_valid),
    .m_ready(packet_end), .m_data(packet), .level());
  db_skid #(.WIDTH(ROW_W)) i_in (
    .clk, .rst, .s_valid(s_row_valid), .s_ready(s_row_ready), .s_data({s_row_info, s_row_data}), .m_valid(row_valid),
    .m_ready(row_ready), .m_data({row_info, row_data}));
  db_skid #(.WIDTH(ROW_W)) i_out (
    .clk, .rst, .s_valid(out_valid), .s_ready(out_ready), .s_data({out_info, out_data}), .m_valid(m_row_valid),
    .m_ready(m_row_ready), .m_data({m_row_info, m_row_data}));

  // ---- programs
  logic        ask, loaded;
  logic [NEAR_OPERATORS:1] first_op, last_op, param_valid;
  near_param_t param;
  logic        written;
  near_owner_t written_owner;
  db_csd_near_programs #(.NUM_FN(NUM_FN), .CELLS(CELLS)) i_programs (
    .clk, .rst, .s_ext, .m_ext_rdata, .m_written(written), .m_written_owner(written_owner), .ask,
    .ask_place(packet.place), .ask_number(packet.args.number), .loaded,
    .first(first_op), .last(last_op), .m_param_valid(param_valid), .m_param(param));

  // ---- a near-storage command's rows, as far as they are to be looked at
  logic                    begun_q, begins, gives, near_ready, op_ready, err_q, first_q, last;
  logic [NEAR_BYTES_W-1:0] left_q;         // bytes that are to be looked at
  logic [$clog2(INSIDE):0] inside_q;
  near_row_t               near_row;
  assign ask    = packet_valid && packet.computes && !begun_q && inside_q == '0;
  assign begins = packet_valid && packet.computes && !begun_q && loaded && !inside_q[$clog2(INSIDE)];
  assign last   = left_q[NEAR_BYTES_W-1:ROW_LOG] == '0 || left_q == NEAR_BYTES_W'(ROW_BYTES);
  assign gives  = begun_q && left_q != '0 && first_op != '0;
  assign near_row   = '{first: first_q, last: last, bytes: last ? left_q[6:0] : 7'(ROW_BYTES),
                        phase: packet.args.phase,
                        owner: '{place: packet.place, number: packet.args.number}};
  assign near_ready = begun_q && (!gives || op_ready);
  always_ff @(posedge clk) begin
    if (begins) begin
      begun_q <= 1'b1;
      left_q  <= packet.args.data;
      first_q <= 1'b1;
      err_q   <= 1'b0;
    end
    if (begun_q && row_valid && near_ready) begin
      first_q <= 1'b0;
      left_q  <= last ? '0 : left_q - NEAR_BYTES_W'(ROW_BYTES);
      err_q   <= err_q || row_info.err;
      begun_q <= !row_info.last;
    end
    inside_q <= inside_q + ($clog2(INSIDE) + 1)'(begins) - ($clog2(INSIDE) + 1)'(m_result_valid);
    if (rst) begin
      begun_q  <= 1'b0;
      inside_q <= '0;
    end
  end

  // ---- operators: a Filter gives rows, to an Aggregate or as the result; so does, of a Crypt with nothing behind it, the
  // path itself; the others give words
  localparam int GREP = int'(NEAR_GREP), AGGREGATE = int'(NEAR_AGGREGATE), FILTER = int'(NEAR_FILTER),
                 HASH = int'(NEAR_HASH), CRYPT = int'(NEAR_CRYPT), CSV = int'(NEAR_CSV);
  logic       [NEAR_OPERATORS:1] op_valid, ops_ready, word_valid, word_ready;  // by operator
  near_word_t [NEAR_OPERATORS:1] words;
  near_word_t                    word;
  logic                          hashes, behind, filtered_valid, filtered_ready, gathered_valid, gathered_ready,
                                 words_ready, found_valid, found_ready, pack_ready;
  logic [DATA_W-1:0]             filtered_data, gathered_data, aggregate_data, found_data;
  near_row_t                     filtered, gathered, aggregate_row, found;
  assign behind = first_op[FILTER] && last_op[AGGREGATE];
  for (genvar n = 1; n <= NEAR_OPERATORS; n++) begin : g_op
    if (n == AGGREGATE) begin : g_aggregate
      assign op_valid[n] = behind ? filtered_valid : gives && row_valid && first_op[n];
    end else begin : g_other
      assign op_valid[n] = gives && row_valid && first_op[n];
    end
  end
  assign op_ready       = (first_op & ops_ready) != '0;
  assign aggregate_data = behind ? filtered_data : row_data;
  assign aggregate_row  = behind ? filtered : near_row;
  db_csd_near_grep #(.DATA_W(DATA_W), .CELLS(CELLS)) i_grep (
    .clk, .rst, .s_param_valid(param_valid[GREP]), .s_param(param), .s_row_valid(op_valid[GREP]),
    .s_row_ready(ops_ready[GREP]), .s_row_data(row_data), .s_row(near_row), .m_word_valid(word_valid[GREP]),
    .m_word_ready(word_ready[GREP]), .m_word(words[GREP]));
  db_csd_near_aggregate #(.DATA_W(DATA_W)) i_aggregate (
    .clk, .rst, .s_param_valid(param_valid[AGGREGATE]), .s_param(param), .s_row_valid(op_valid[AGGREGATE]),
    .s_row_ready(ops_ready[AGGREGATE]), .s_row_data(aggregate_data), .s_row(aggregate_row),
    .m_word_valid(word_valid[AGGREGATE]), .m_word_ready(word_ready[AGGREGATE]), .m_word(words[AGGREGATE]));
  db_csd_near_filter #(.DATA_W(DATA_W)) i_filter (
    .clk, .rst, .s_param_valid(param_valid[FILTER]), .s_param(param), .s_row_valid(op_valid[FILTER]),
    .s_row_ready(ops_ready[FILTER]), .s_row_data(row_data), .s_row(near_row), .m_row_valid(filtered_valid),
    .m_row_ready(filtered_ready), .m_row_data(filtered_data), .m_row(filtered));
  db_csd_near_hash #(.DATA_W(DATA_W), .NUM_FN(NUM_FN), .CORES(HASHES), .BYTES(HASH_BYTES)) i_hash (
    .clk, .rst, .working(hashes), .s_forget(written), .s_forget_owner(written_owner),
    .s_param_valid(param_valid[HASH]), .s_param(param), .s_row_valid(op_valid[HASH]), .s_row_ready(ops_ready[HASH]),
    .s_row_data(row_data), .s_row(near_row), .m_word_valid(word_valid[HASH]), .m_word_ready(word_ready[HASH]),
    .m_word(words[HASH]));
  db_csd_near_csv #(.DATA_W(DATA_W)) i_csv (
    .clk, .rst, .s_param_valid(param_valid[CSV]), .s_param(param), .s_row_valid(op_valid[CSV]),
    .s_row_ready(ops_ready[CSV]), .s_row_data(row_data), .s_row(near_row), .m_word_valid(word_valid[CSV]),
    .m_word_ready(word_ready[CSV]), .m_word(words[CSV]));

  // ---- the result's rows
  logic              whole, whole_valid;  // they are rows of an operator, not words
  logic [DATA_W-1:0] crypt_data, whole_data;
  near_row_t         whole_row;
  for (genvar i = 0; i < ROW_BYTES; i++) begin : g_crypt
    assign crypt_data[8*i +: 8] = 7'(i) < near_row.bytes ? row_data[8*i +: 8] : '0;
  end
  assign whole            = last_op[FILTER] || last_op[CRYPT];
  assign whole_valid      = last_op[FILTER] ? filtered_valid : op_valid[CRYPT];
  assign whole_data       = last_op[FILTER] ? filtered_data : crypt_data;
  assign whole_row        = last_op[FILTER] ? filtered : near_row;
  assign ops_ready[CRYPT] = found_ready;
  assign {word_valid[CRYPT], word_valid[FILTER]} = '0;
  assign {words[CRYPT], words[FILTER]}           = '0;
  assign word_ready         = {NEAR_OPERATORS{words_ready}} & last_op;
  always_comb begin
    word = '0;
    for (int n = 1; n <= NEAR_OPERATORS; n++) if (last_op[n]) word |= words[n];
  end
  db_csd_near_gather #(.DATA_W(DATA_W), .WORD_W(128)) i_gather (
    .clk, .rst, .s_valid((word_valid & last_op) != '0), .s_ready(words_ready), .s_data(word.data), .s_bytes(7'd16),
    .s_last(word.last), .m_valid(gathered_valid), .m_ready(gathered_ready), .m_data(gathered_data), .m_row(gathered));
  assign filtered_ready = behind ? ops_ready[AGGREGATE] : found_ready;
  assign gathered_ready = found_ready && !whole;
  db_skid #(.WIDTH($bits(near_row_t) + DATA_W)) i_found (
    .clk, .rst, .s_valid(whole ? whole_valid : gathered_valid), .s_ready(found_ready),
    .s_data(whole ? {whole_row, whole_data} : {gathered, gathered_data}), .m_valid(found_valid),
    .m_ready(pack_ready), .m_data({found, found_data}));

  // ---- results
  logic              pack_valid;
  logic [DATA_W-1:0] pack_data;
  row_info_t         pack_info;
  db_csd_near_pack #(.DATA_W(DATA_W), .DEPTH(INSIDE)) i_pack (
    .clk, .rst, .s_begin(begins), .s_packet(packet), .s_none(first_op == '0),
    .s_end(begun_q && row_valid && near_ready && row_info.last), .s_err(err_q || row_info.err),
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

  assign busy = hashes || packet_valid || row_valid || inside_q != '0 || m_row_valid;

  logic unused_ok;
  assign unused_ok = &{1'b0, packet_room, word_ready[FILTER], word_ready[CRYPT]};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && s_packet_valid) assert (packet_room);
`endif
endmodule
