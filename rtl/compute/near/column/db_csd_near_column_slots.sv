// SPDX-License-Identifier: Apache-2.0
// Moves the values of a row to where those behind look for them: into slots of their size.
//
// A record is not shorter than its value, so at most one value ends in each aligned piece of the value's size. That
// piece is its slot: the value moves up by the bytes between its end and the piece's. So eight bytes have one slot
// of eight bytes, two of four, four of two or eight of one, whatever the records are.
// The highest bit of a signed value is turned: then it orders, and adds, as an unsigned one.
// Latency: 2 cycles. Throughput: a row a cycle.
module db_csd_near_column_slots #(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic [1:0]             size_log2,
  input  logic                   is_signed,
  input  logic                   s_valid,
  input  logic                   s_first,
  input  logic                   s_last,
  input  logic [DATA_W-1:0]      s_data,
  input  logic [DATA_W/8-1:0]    s_ends,    ///< byte n is the last one of a value; none without s_valid
  output logic                   m_first,
  output logic                   m_last,
  output logic [DATA_W/8-1:0]    m_filled,  ///< byte n belongs to a value
  output logic [DATA_W-1:0]      m_values,  ///< 0 where none is
  output logic [DATA_W/64*4-1:0] m_counts   ///< values in each eight bytes
);
  localparam int BYTES  = DATA_W / 8;
  localparam int EIGHTS = BYTES / 8;

  typedef logic [15:0][2:0] ones_t;
  function automatic ones_t make_ones();
    ones_t made;
    for (int i = 0; i < 16; i++) made[i] = 3'($countones(4'(i)));
    return made;
  endfunction
  localparam ones_t ONES = make_ones();

  logic                valid_q, first_q, last_q;
  logic [DATA_W-1:0]   data_q;
  logic [55:0]         before_q;             // seven bytes before the row
  logic [BYTES-1:0]    filled_q;
  logic [DATA_W+55:0]  both;
  assign both = {data_q, before_q};

  always_ff @(posedge clk) begin
    valid_q  <= s_valid;
    first_q  <= s_first;
    last_q   <= s_last;
    data_q   <= s_data;
    if (valid_q) before_q <= data_q[DATA_W-1 -: 56];
    m_first  <= first_q;
    m_last   <= last_q;
    m_filled <= filled_q;
    if (rst) begin
      valid_q <= 1'b0;
      first_q <= 1'b0;
      last_q  <= 1'b0;
      m_first <= 1'b0;
      m_last  <= 1'b0;
    end
  end

  for (genvar g = 0; g < EIGHTS; g++) begin : g_eight
    // ---- how many, and how far each moves
    logic [7:0]      ends, filled;
    logic [1:0][2:0] count_q;                // in each four bytes
    logic [3:0]      two, by_one, by_one_q;  // of each two
    logic [1:0]      four, by_two, by_two_q; // of each four
    logic            by_four_q;
    assign ends = s_ends[8*g +: 8];
    always_comb begin
      for (int p = 0; p < 4; p++) two[p] = |ends[2*p +: 2];
      for (int q = 0; q < 2; q++) four[q] = |ends[4*q +: 4];
      for (int k = 0; k < 8; k++) begin
        unique case (size_log2)
          2'd0:    filled[k] = ends[k];
          2'd1:    filled[k] = two[k/2];
          2'd2:    filled[k] = four[k/4];
          default: filled[k] = |four;
        endcase
      end
      for (int p = 0; p < 4; p++) begin
        unique case (size_log2)
          2'd0:    by_one[p] = 1'b0;
          2'd1:    by_one[p] = ends[2*p];
          2'd2:    by_one[p] = ends[p/2*4] || ends[p/2*4+2];
          default: by_one[p] = ends[0] || ends[2] || ends[4] || ends[6];
        endcase
      end
      for (int q = 0; q < 2; q++) by_two[q] = size_log2[1] && (size_log2[0] ? two[0] || two[2] : two[2*q]);
    end

    // ---- moved
    logic [119:0] near;          // byte 7 is the first of the eight
    logic [87:0]  moved;         // byte 3 is
    logic [63:0]  value;
    logic [63:0]  value_q;
    assign near  = both[64*g +: 120];
    assign moved = by_four_q ? near[87:0] : near[119:32];
    always_comb begin
      for (int k = 0; k < 8; k++) begin
        unique case ({by_two_q[k/4], by_one_q[k/2]})
          2'd0:    value[8*k +: 8] = moved[8*(k+3) +: 8];
          2'd1:    value[8*k +: 8] = moved[8*(k+2) +: 8];
          2'd2:    value[8*k +: 8] = moved[8*(k+1) +: 8];
          default: value[8*k +: 8] = moved[8*k +: 8];
        endcase
        if (is_signed && ((k + 1) & ((32'd1 << size_log2) - 1)) == 0) value[8*k+7] = !value[8*k+7];
      end
    end
    always_ff @(posedge clk) begin
      filled_q[8*g +: 8] <= filled;
      for (int q = 0; q < 2; q++) count_q[q] <= ONES[ends[4*q +: 4]];
      m_counts[4*g +: 4] <= 4'(count_q[0]) + 4'(count_q[1]);
      by_one_q           <= by_one;
      by_two_q           <= by_two;
      by_four_q          <= size_log2 == 2'd3 && four[0];
      value_q            <= value;
      for (int k = 0; k < 8; k++) if (!filled_q[8*g+k]) value_q[8*k +: 8] <= '0;
    end
    assign m_values[64*g +: 64] = value_q;
  end
endmodule
