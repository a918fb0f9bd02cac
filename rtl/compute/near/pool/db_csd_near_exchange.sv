// SPDX-License-Identifier: Apache-2.0
// Exchanges the operator in a slot: a bitstream from card memory, through the configuration port (ICAP).
//
//   CHECK   the whole bitstream is read and its CRC-32C compared; a bad one, or one for another design, slot or operator,
//           or not all in the region, changes nothing
//   RETIRE  the slot takes no more commands (`off`) until those inside have left
//   WRITE   it is read again and goes out, a word at a time; the slot is decoupled: its operator is 0
//   then the slot has the operator that the header names, if this time too all was right
//
// Bitstream: a header of 64 bytes, then words for the port. Dword 0 of the header is 504F4244h ("DBOP"), dword 1 has in
// bits 7:0 the version 1, in 11:8 the operator, in 15:12 the slot, in 31:16 SHELL; dword 2 bytes of the words, a multiple of
// 64, at least 64; dword 3 the CRC-32C of all, with zeros in its place. A controller reset does not end it.
// Time: two readings of the bitstream, of which the second takes as long as the port does.
`include "db_axi_types.svh"
module db_csd_near_exchange
  import db_csd_near_pkg::*;
#(
  parameter int          DATA_W = 256,   ///< bits: 128, 256, 512
  parameter int          ADDR_W = 40,    ///< bits of an address of card memory
  parameter int          SLOTS  = 4,     ///< 1..7
  parameter logic [15:0] SHELL  = 16'd0, ///< of this design; its bitstreams are for no other
  parameter logic [SLOTS-1:0][3:0] BUILT_IN = '0,  ///< operators of slots at power-on
  parameter logic [15:0] OPERATORS = NEAR_IN_SLOTS,  ///< that a slot can have, by number
  parameter int          REGION_LOG2 = 20,   ///< bytes of card memory that it may lie in, from 0 on
  localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,          ///< power-on
  input  logic                  s_go,         ///< pulse
  input  logic [2:0]            s_slot,       ///< one that can be exchanged
  input  logic [SLOT_ADDR_W-1:0] s_addr,      ///< a multiple of 64
  input  logic [3:0]            s_operator,   ///< that it must have; 0: whichever
  input  logic                  s_may,        ///< the slot is there, and can be exchanged
  output logic                  busy,
  output logic [3:0]              m_error,      ///< of the last one
  output axi_read_req_t         m_axi_read_req,
  input  axi_read_rsp_t         m_axi_read_rsp,
  output logic [SLOTS-1:0][3:0] operators,    ///< 0: nothing, or it is being exchanged
  output logic [SLOTS-1:0]      off,          ///< no command may begin in it
  input  logic [SLOTS-1:0]      idle,         ///< none is inside
  output logic                  m_icap_valid,
  input  logic                  m_icap_ready,
  output logic [31:0]           m_icap_data
);
  localparam int          ROW_BYTES = DATA_W / 8;
  localparam int          WORDS     = DATA_W / 32;
  localparam int          HEADS     = 64 / ROW_BYTES;     // rows of the header
  localparam int          BYTES_W   = 25;
  localparam logic [31:0] MAGIC     = 32'h504f_4244;
  localparam logic [7:0]  VERSION   = 8'd1;

  typedef struct packed {
    logic [31:0] crc;
    logic [31:0] bytes;
    logic [15:0] shell;
    logic [3:0]  slot;
    logic [3:0]  operator;
    logic [7:0]  version;
    logic [31:0] magic;
  } head_t;
  typedef enum logic [3:0] {IDLE, BEGIN, HEAD, LOOK, JUDGE, START, ROWS, LAST, SUM, VERDICT, RETIRE} state_e;

  state_e             state_q;
  logic               write_q;              // the second reading
  logic [2:0]         slot_q, row_q;        // row: of the header
  logic [3:0]         operator_q;           // that was asked for, or 0
  logic               beyond;               // it does not begin in the region
  logic [3:0]         settle_q;             // cycles in RETIRE: who chooses slots knows that this one is off
  logic [ADDR_W-1:0]  addr_q;
  head_t              head, head_q;
  logic [3:0]         error_q, verdict;     // of this one, so far; and what the header adds
  logic               row_valid, row_ready, row_err, none, take, more, word_valid, word_ready, is_head, same;
  logic [DATA_W-1:0]  row, summed;
  logic [31:0]        crc;
  logic [15:0]        known;                // operators
  assign head    = row[127:0];
  assign is_head = state_q == HEAD;
  assign more    = state_q == BEGIN || (state_q == START && error_q == SLOT_OK);
  assign known   = OPERATORS >> head_q.operator;
  assign same    = ~crc == head_q.crc;
  assign beyond  = s_addr >> REGION_LOG2 != '0;
  db_csd_near_bitstream #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .BYTES_W(BYTES_W)) i_bitstream (
    .clk, .rst, .s_begin(state_q == IDLE && s_go || state_q == RETIRE),
    .s_addr(state_q == IDLE ? ADDR_W'(s_addr) : addr_q), .s_more(more),
    .s_bytes(state_q == BEGIN ? BYTES_W'(64) : head_q.bytes[BYTES_W-1:0]), .m_axi_read_req, .m_axi_read_rsp,
    .m_valid(row_valid), .m_ready(row_ready), .m_data(row), .m_err(row_err), .none);

  // ---- rows: all are summed, those behind the header go to the port at the second reading
  assign row_ready = is_head || (state_q == ROWS && (!write_q || word_ready));
  assign take      = row_valid && row_ready;
  always_comb begin
    summed = row;
    if (is_head && row_q == '0) summed[127:96] = '0;
  end
  db_crc32c #(.DATA_W(DATA_W)) i_crc (.clk, .s_valid(take), .s_first(is_head && row_q == '0), .s_data(summed), .crc);
  assign word_valid = row_valid && state_q == ROWS && write_q;
  logic [DATA_W-1:0]          words_q;
  logic [$clog2(WORDS+1)-1:0] words_left_q;
  assign word_ready   = words_left_q == '0 || (words_left_q == 1 && m_icap_ready);
  assign m_icap_valid = words_left_q != '0;
  assign m_icap_data  = words_q[31:0];
  always_ff @(posedge clk) begin
    if (m_icap_valid && m_icap_ready) begin
      words_q      <= words_q >> 32;
      words_left_q <= words_left_q - 1'b1;
    end
    if (word_valid && word_ready) begin
      words_q      <= row;
      words_left_q <= ($clog2(WORDS + 1))'(WORDS);
    end
    if (rst) words_left_q <= '0;
  end

  // ---- what the header says
  logic fits_q;                              // it lies in the region
  logic other_q;                             // it is for another slot, or not what was asked for
  always_ff @(posedge clk) begin
    other_q <= head_q.slot != 4'(slot_q) || (operator_q != NEAR_NONE && head_q.operator != operator_q);
    fits_q <= head_q.bytes != '0 && head_q.bytes <= 32'd1 << (BYTES_W - 1) &&
              33'(head_q.bytes) + 33'(addr_q) + 33'd64 <= 33'd1 << REGION_LOG2;
  end
  always_comb begin
    verdict = error_q;
    if (error_q == SLOT_OK && !write_q) begin
      if (head_q.magic != MAGIC || head_q.version != VERSION || head_q.bytes[5:0] != '0 || !fits_q)
        verdict = SLOT_NOT_ONE;
      else if (head_q.shell != SHELL) verdict = SLOT_FOREIGN;
      else if (other_q) verdict = SLOT_OTHER;
      else if (!known[0]) verdict = SLOT_UNKNOWN;
    end
  end

  // ---- steps
  always_ff @(posedge clk) begin
    unique case (state_q)
      IDLE: begin
        slot_q  <= s_slot;
        addr_q  <= ADDR_W'(s_addr);
        operator_q <= s_operator;
        write_q  <= 1'b0;
        settle_q <= '0;
        error_q  <= SLOT_OK;
        if (s_go) begin
          state_q <= s_may && !beyond ? BEGIN : IDLE;
          m_error <= !s_may ? SLOT_FIXED : beyond ? SLOT_NOT_ONE : m_error;
        end
      end
      BEGIN: begin
        row_q   <= '0;
        state_q <= HEAD;
      end
      HEAD: if (take) begin
        row_q <= row_q + 3'd1;
        if (row_q == '0) head_q <= head;
        if (row_err) error_q <= SLOT_MEMORY;
        if (row_q == 3'(HEADS - 1)) state_q <= LOOK;
        // At the second reading it must be what was looked at.
        if (write_q && row_q == '0 && head != head_q) error_q <= SLOT_CHANGED;
      end
      LOOK: state_q <= JUDGE;
      JUDGE: begin
        error_q <= verdict;
        state_q <= START;
      end
      START: state_q <= error_q == SLOT_OK ? ROWS : LAST;
      ROWS: begin
        if (take && row_err) error_q <= SLOT_MEMORY;
        if (none) state_q <= LAST;
      end
      LAST: if (!m_icap_valid) state_q <= SUM;   // the CRC's last row is on its way
      SUM: begin
        if (error_q == SLOT_OK && !same) error_q <= write_q ? SLOT_CHANGED : SLOT_DAMAGED;
        state_q <= VERDICT;
      end
      VERDICT: begin
        m_error <= error_q;
        state_q <= IDLE;
        if (error_q == SLOT_OK && !write_q) state_q <= RETIRE;
        if (error_q == SLOT_OK && write_q) begin
          for (int s = 0; s < SLOTS; s++) if (slot_q == 3'(s)) operators[s] <= head_q.operator;
        end
        if (error_q != SLOT_OK || write_q) off <= '0;
      end
      default: begin                              // RETIRE
        write_q <= 1'b1;
        for (int s = 0; s < SLOTS; s++) if (slot_q == 3'(s)) off[s] <= 1'b1;
        settle_q <= {settle_q[2:0], 1'b1};
        if (settle_q[3] && (off & idle) != '0) begin
          for (int s = 0; s < SLOTS; s++) if (off[s]) operators[s] <= '0;
          state_q <= BEGIN;
        end
      end
    endcase
    if (rst) begin
      state_q   <= IDLE;
      m_error   <= SLOT_OK;
      operators <= BUILT_IN;
      off       <= '0;
    end
  end
  assign busy = state_q != IDLE;
endmodule
