// SPDX-License-Identifier: Apache-2.0
// Programs of near-storage commands: the firmware writes them (regs/db_csd_near.rdl), the operators get their
// words.
//
// A program is up to 256 words of RAM. Word 0 has the operator in bits 3:0 and how many words of it follow in bits
// 15:8, and the same of what comes behind it in bits 7:4 and 23:16 (0: nothing); operator 0: there is no program; a
// reset leaves the RAM as it is. What is loaded stays loaded; a write to it
// while it is, or is being loaded, makes it loaded anew.
// Latency: ask to loaded 3 cycles and a cycle a word; none, if it is loaded already. A register is read in its
// cycle.
module db_csd_near_programs
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*, db_csd_near_regs_pkg::*;
#(
  parameter int NUM_FN = 1,  ///< functions, 1..17
  parameter int CELLS  = 8   ///< of Grep, 1..32
) (
  input  logic                          clk,
  input  logic                          rst,
  /// The firmware's bus.
  input  ext_bus_t                      s_ext,
  output logic [31:0]                   m_ext_rdata,
  /// Pulse: a program's word is written.
  output logic                          m_written,
  output near_owner_t                   m_written_owner,
  /// Which program is wanted, until `loaded`; only while no packet is in an operator.
  input  logic                          ask,
  input  logic [PLACE_W-1:0]            ask_place,
  input  logic [NEAR_PROGRAMS_LOG2-1:0] ask_number,
  /// What is asked for is loaded. In the same cycle. Bit n: operator n gets the data; 0: there is no program; or gives
  /// the result.
  output logic                          loaded,
  output logic [NEAR_OPERATORS:1]       first,
  output logic [NEAR_OPERATORS:1]       last,
  /// Words for operator n.
  output logic [NEAR_OPERATORS:1]       m_param_valid,
  output near_param_t                   m_param
);
  localparam int FILTER      = 5 + 4 * NEAR_PREDICATES;  // words, with those of an Aggregate behind it
  localparam int WORDS_LOG2  = $clog2(2 + 5 * CELLS > FILTER ? 2 + 5 * CELLS : FILTER);
  localparam int PLACES_LOG2 = NUM_FN > 1 ? PLACE_W : 0;
  localparam int KEY_W       = PLACES_LOG2 + NEAR_PROGRAMS_LOG2;
  localparam int PROGRAMS    = NUM_FN << NEAR_PROGRAMS_LOG2;
  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad_fn
    $error("%m: NUM_FN must be 1..17 (is %0d)", NUM_FN);
  end
  if (CELLS < 1 || CELLS > 32) begin : g_bad_cells
    $error("%m: CELLS must be 1..32 (is %0d)", CELLS);
  end

  // ---- the firmware's side
  db_csd_near__in_t  hwif_in;
  db_csd_near__out_t hwif_out;
  logic              sel_q, at_valid_q, word_valid_q;
  logic [7:0]        at_q;
  always_ff @(posedge clk) sel_q <= s_ext.addr[11:8] == 4'd4;  // there a cycle before req
  db_csd_near_regs i_regs (
    .clk, .rst, .s_cpuif_req(s_ext.req && sel_q), .s_cpuif_req_is_wr(s_ext.wr), .s_cpuif_addr(s_ext.addr[3:0]),
    .s_cpuif_wr_data(s_ext.wdata), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(),
    .s_cpuif_rd_ack(), .s_cpuif_rd_err(), .s_cpuif_rd_data(m_ext_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(), .hwif_in,
    .hwif_out);
  always_comb begin
    hwif_in.CAPS.ops.next      = 16'd1 << NEAR_GREP | 16'd1 << NEAR_AGGREGATE | 16'd1 << NEAR_FILTER
                               | 16'd1 << NEAR_HASH | 16'd1 << NEAR_CRYPT | 16'd1 << NEAR_CSV;
    hwif_in.CAPS.cells.next    = 8'(CELLS);
    hwif_in.CAPS.programs.next = 8'd1 << NEAR_PROGRAMS_LOG2;
  end
  logic [KEY_W-1:0] key, put_key;
  logic             put;
  if (NUM_FN > 1) begin : g_places
    assign put_key = {hwif_out.PROGRAM.place.value, hwif_out.PROGRAM.which.value};
    assign key     = {ask_place, ask_number};
    assign m_written_owner = put_key;
  end else begin : g_one
    logic unused_ok;
    assign put_key   = hwif_out.PROGRAM.which.value;
    assign key       = ask_number;
    assign m_written_owner = '{place: '0, number: put_key};
    assign unused_ok = &{1'b0, ask_place, hwif_out.PROGRAM.place.value};
  end
  assign m_written = put;
  assign put = word_valid_q && (at_q >> WORDS_LOG2) == '0;
  always_ff @(posedge clk) begin
    at_valid_q   <= hwif_out.PROGRAM.word.swmod;
    word_valid_q <= hwif_out.WORD.V.swmod;
    if (at_valid_q) at_q <= hwif_out.PROGRAM.word.value;
    else if (word_valid_q) at_q <= at_q + 8'd1;
    if (rst) begin
      at_valid_q   <= 1'b0;
      word_valid_q <= 1'b0;
    end
  end

  // ---- the operators' side
  typedef enum logic [2:0] {NOTHING, HEAD, WORDS, WORDS_BEHIND, READY} state_e;
  state_e           state_q;
  logic [KEY_W-1:0] key_q;              // of what is, or is being loaded
  logic [7:0]       next_q, left_q;     // word to be read; words of the operator that have not come
  logic [7:0]       addr_q, behind_q;   // of the word that comes, for its operator; words of the one behind
  logic             come_q;             // a word comes from the RAM
  logic [31:0]      word;
  logic             hit;
  assign hit    = put && put_key == key_q;
  assign loaded = state_q == READY && key_q == key;
  db_ram_sdp #(.WIDTH(32), .DEPTH(PROGRAMS << WORDS_LOG2)) i_words (
    .clk, .we(put && 32'(put_key) < PROGRAMS),
    .waddr(($clog2(PROGRAMS) + WORDS_LOG2)'({put_key, at_q[WORDS_LOG2-1:0]})), .wdata(hwif_out.WORD.V.value), .re(1'b1),
    .raddr(($clog2(PROGRAMS) + WORDS_LOG2)'({key_q, next_q[WORDS_LOG2-1:0]})), .rdata(word));
  always_ff @(posedge clk) begin
    m_param_valid <= '0;
    m_param       <= '{addr: addr_q, data: word};
    next_q        <= next_q + 8'd1;
    come_q        <= 1'b1;
    unique case (state_q)
      HEAD: if (come_q) begin
        for (int n = 1; n <= NEAR_OPERATORS; n++) begin
          first[n] <= word[3:0] == 4'(n);
          last[n]  <= (word[7:4] == NEAR_NONE ? word[3:0] : word[7:4]) == 4'(n);
        end
        left_q    <= word[15:8];
        behind_q  <= word[23:16];
        addr_q    <= 8'd1;
        state_q   <= word[15:8] == '0 || word[3:0] == NEAR_NONE ? READY : WORDS;
      end
      WORDS: begin
        m_param_valid <= first;
        left_q <= left_q - 8'd1;
        addr_q <= addr_q + 8'd1;
        if (left_q == 8'd1) begin
          left_q  <= behind_q;
          addr_q  <= 8'd1;
          state_q <= behind_q == '0 ? READY : WORDS_BEHIND;
        end
      end
      WORDS_BEHIND: begin
        m_param_valid <= last;
        left_q <= left_q - 8'd1;
        addr_q <= addr_q + 8'd1;
        if (left_q == 8'd1) state_q <= READY;
      end
      default: ;
    endcase
    // The last word is on its way to the operator for a cycle; so is a packet.
    if (hit || (ask && key_q != key) || (ask && state_q == NOTHING)) begin
      key_q         <= key;
      state_q       <= ask ? HEAD : NOTHING;
      next_q        <= '0;
      come_q        <= 1'b0;
      m_param_valid <= '0;
    end
    if (rst) begin
      state_q       <= NOTHING;
      first         <= '0;
      last          <= '0;
      m_param_valid <= '0;
    end
  end
endmodule
