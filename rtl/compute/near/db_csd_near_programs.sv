// SPDX-License-Identifier: Apache-2.0
// Programs of near-storage commands: the firmware writes them (regs/db_csd_near.rdl), db_csd_near_rename reads their
// words.
//
// A program is up to 256 words of RAM, a head for each of its operators and then the operator's words. A head has the
// operator in bits 3:0, in bit 4 whether another one is behind it, and in bits 15:8 how many words it has; the first one
// in bit 24 whether a command looks at NEAR_LINES_MOST bytes at most, and operator 0, if there is no program. A reset
// leaves the RAM as it is.
// Latency: a word 1 cycle behind its address. A register is read in its cycle.
module db_csd_near_programs
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_csd_near_pkg::*, db_csd_near_regs_pkg::*;
#(
  parameter int NUM_FN = 1,  ///< functions, 1..17
  parameter int CELLS  = 8,  ///< of Grep, 1..32
  parameter logic [15:0] OPERATORS = 16'h3e,  ///< that there are, by number
  parameter int WORDS_LOG2 = near_words_log2(CELLS)  ///< words of a program
) (
  input  logic                          clk,
  input  logic                          rst,
  /// The firmware's bus.
  input  ext_bus_t                      s_ext,
  output logic [31:0]                   m_ext_rdata,
  /// Pulse: a program's word is written.
  output logic                          m_written,
  output near_owner_t                   m_written_owner,
  /// Which word of which program; it, a cycle later.
  input  near_owner_t                   owner,
  input  logic [WORDS_LOG2-1:0]         addr,
  output logic [31:0]                   word
);
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
    hwif_in.CAPS.ops.next      = OPERATORS;
    hwif_in.CAPS.cells.next    = 8'(CELLS);
    hwif_in.CAPS.programs.next = 4'd1 << NEAR_PROGRAMS_LOG2;
    hwif_in.CAPS.words.next    = 4'(WORDS_LOG2);
  end
  logic [KEY_W-1:0] key, put_key;
  logic             put;
  if (NUM_FN > 1) begin : g_places
    assign put_key = {hwif_out.PROGRAM.place.value, hwif_out.PROGRAM.which.value};
    assign key     = owner;
    assign m_written_owner = put_key;
  end else begin : g_one
    logic unused_ok;
    assign put_key   = hwif_out.PROGRAM.which.value;
    assign key       = owner.number;
    assign m_written_owner = '{place: '0, number: put_key};
    assign unused_ok = &{1'b0, owner.place, hwif_out.PROGRAM.place.value};
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
  db_ram_sdp #(.WIDTH(32), .DEPTH(PROGRAMS << WORDS_LOG2)) i_words (
    .clk, .we(put && 32'(put_key) < PROGRAMS),
    .waddr(($clog2(PROGRAMS) + WORDS_LOG2)'({put_key, at_q[WORDS_LOG2-1:0]})), .wdata(hwif_out.WORD.V.value), .re(1'b1),
    .raddr(($clog2(PROGRAMS) + WORDS_LOG2)'({key, addr})), .rdata(word));
endmodule
