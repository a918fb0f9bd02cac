// SPDX-License-Identifier: Apache-2.0
// A slot of the operators of near-storage commands: whatever is in it has the same ports.
//
// One of which the operator can be exchanged is a reconfigurable partition on an FPGA, with whatever bitstream says `operator`.
// In simulation, and where nothing is reconfigured, it has all operators, and takes on the one that is named; the others,
// and with 0 all of them, are in reset: nothing goes in or out.
// Latency, throughput: the operator's.
module db_csd_near_slot
  import db_csd_near_pkg::*;
#(
  parameter int         DATA_W   = 256,        ///< bits: 128, 256, 512
  parameter int         CELLS    = 8,          ///< pieces of strings of a Grep, 1..32
  parameter logic [3:0] OPERATOR = NEAR_GREP   ///< one of NEAR_IN_SLOTS, or NEAR_EXCHANGED
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              in_use,         ///< there are words of a program, rows or a result, or are to come
  input  logic [3:0]        operator,       ///< that is in it: OPERATOR, or what it has been exchanged for; 0: nothing
  input  logic              s_param_valid,  ///< a word of the program; only while no packet is inside
  input  near_param_t       s_param,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  near_row_t         s_row,
  output logic              m_word_valid,   ///< of an operator that makes words
  input  logic              m_word_ready,
  output near_word_t        m_word,
  output logic              m_row_valid,    ///< ... that gives rows
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row_data,
  output near_row_t         m_row
);
  localparam logic [3:0] KINDS [4] = '{NEAR_GREP, NEAR_AGGREGATE, NEAR_CSV, NEAR_FILTER};
  if ((NEAR_IN_SLOTS >> OPERATOR & 16'd1) == '0 && OPERATOR != NEAR_EXCHANGED) begin : g_bad
    $error("%m: OPERATOR must be one of NEAR_IN_SLOTS or NEAR_EXCHANGED (is %0d)", OPERATOR);
  end

  logic       [3:0]             kind_clk, off, param_valid, row_valid, row_ready, word_valid;
  near_word_t [3:0]             word;
  logic       [1:0]             gives_valid;  // rows: of Grep, of Filter
  logic       [1:0][DATA_W-1:0] gives_data;
  near_row_t  [1:0]             gives;
  logic                         gives_ready;
  logic       [3:0]             operator_q;   // an exchange is a reset, for which there is a clock
  always_ff @(posedge clk) operator_q <= operator;
  for (genvar k = 0; k < 4; k++) begin : g_kind
    db_clock_gate i_clk (
      .clk, .awake(rst || operator != operator_q || (in_use && operator == KINDS[k])), .m_clk(kind_clk[k]));
    assign off[k]         = rst || operator != KINDS[k];
    assign param_valid[k] = s_param_valid && operator == KINDS[k];
    assign row_valid[k]   = s_row_valid && operator == KINDS[k];
  end
  if (OPERATOR == NEAR_GREP || OPERATOR == NEAR_EXCHANGED) begin : g_grep
    db_csd_near_grep #(.DATA_W(DATA_W), .CELLS(CELLS)) i_grep (
      .clk(kind_clk[0]), .rst(off[0]), .s_param_valid(param_valid[0]), .s_param, .s_row_valid(row_valid[0]),
      .s_row_ready(row_ready[0]), .s_row_data, .s_row, .m_word_valid(word_valid[0]), .m_word_ready, .m_word(word[0]),
      .m_row_valid(gives_valid[0]), .m_row_ready(gives_ready), .m_row_data(gives_data[0]), .m_row(gives[0]));
  end else begin : g_no_grep
    assign {row_ready[0], word_valid[0], word[0], gives_valid[0], gives_data[0], gives[0]} = '0;
  end
  if (OPERATOR == NEAR_AGGREGATE || OPERATOR == NEAR_EXCHANGED) begin : g_aggregate
    db_csd_near_aggregate #(.DATA_W(DATA_W)) i_aggregate (
      .clk(kind_clk[1]), .rst(off[1]), .s_param_valid(param_valid[1]), .s_param, .s_row_valid(row_valid[1]),
      .s_row_ready(row_ready[1]), .s_row_data, .s_row, .m_word_valid(word_valid[1]), .m_word_ready, .m_word(word[1]));
  end else begin : g_no_aggregate
    assign {row_ready[1], word_valid[1], word[1]} = '0;
  end
  if (OPERATOR == NEAR_CSV || OPERATOR == NEAR_EXCHANGED) begin : g_csv
    db_csd_near_csv #(.DATA_W(DATA_W)) i_csv (
      .clk(kind_clk[2]), .rst(off[2]), .s_param_valid(param_valid[2]), .s_param, .s_row_valid(row_valid[2]),
      .s_row_ready(row_ready[2]), .s_row_data, .s_row, .m_word_valid(word_valid[2]), .m_word_ready, .m_word(word[2]));
  end else begin : g_no_csv
    assign {row_ready[2], word_valid[2], word[2]} = '0;
  end
  if (OPERATOR == NEAR_FILTER || OPERATOR == NEAR_EXCHANGED) begin : g_filter
    db_csd_near_filter #(.DATA_W(DATA_W)) i_filter (
      .clk(kind_clk[3]), .rst(off[3]), .s_param_valid(param_valid[3]), .s_param, .s_row_valid(row_valid[3]),
      .s_row_ready(row_ready[3]), .s_row_data, .s_row, .m_row_valid(gives_valid[1]), .m_row_ready(gives_ready),
      .m_row_data(gives_data[1]), .m_row(gives[1]));
  end else begin : g_no_filter
    assign {row_ready[3], gives_valid[1], gives_data[1], gives[1]} = '0;
  end
  assign {word_valid[3], word[3]} = '0;

  // Decoupled from what is not there.
  always_comb begin
    s_row_ready  = 1'b0;
    m_word_valid = 1'b0;
    m_word       = '0;
    for (int k = 0; k < 4; k++) begin
      if (operator == KINDS[k]) begin
        s_row_ready  = row_ready[k];
        m_word_valid = word_valid[k];
        m_word       = word[k];
      end
    end
  end
  // One of the two is in it, or neither.
  if ((NEAR_ROWS >> OPERATOR & 16'd1) != '0 || OPERATOR == NEAR_EXCHANGED) begin : g_rows
    logic filters;
    assign filters = operator == NEAR_FILTER;
    db_csd_near_whole #(.DATA_W(DATA_W)) i_whole (
      .clk, .rst(off[0] && off[3]), .s_valid(gives_valid[filters]), .s_ready(gives_ready), .s_data(gives_data[filters]),
      .s_row(gives[filters]), .m_valid(m_row_valid), .m_ready(m_row_ready), .m_data(m_row_data), .m_row);
  end else begin : g_no_rows
    assign {gives_ready, m_row_valid, m_row_data, m_row} = '0;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, off, param_valid, row_valid, m_word_ready, m_row_ready, gives_valid, gives_data, gives,
                       gives_ready};
endmodule
