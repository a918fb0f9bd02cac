// SPDX-License-Identifier: Apache-2.0
// CRC-32C of a packet of any number of bytes. Its last row counts whole, with zeros behind its end, which are then
// taken back from the CRC, a byte a cycle.
//
// Latency: 5 cycles from the last row, and one for each byte that it lacks. Throughput: a row a cycle.
module db_csd_near_hash_crc
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,
  input  logic [DATA_W-1:0] s_data,
  input  near_row_t         s_row,
  output logic              m_valid,  ///< pulse
  output logic [31:0]       m_crc
);
  localparam logic [31:0] POLY  = 32'h82f6_3b78;  // least significant bit first
  localparam int          BYTES = DATA_W / 8;

  logic [DATA_W-1:0] masked, row_q;
  logic              valid_q, first_q, last_q, ended_q, load_q, takes_q;
  logic [6:0]        lacks_q;
  logic [31:0]       crc, crc_q;
  for (genvar i = 0; i < BYTES; i++) begin : g_byte
    assign masked[8*i +: 8] = 7'(i) < s_row.bytes ? s_data[8*i +: 8] : '0;
  end
  db_crc32c #(.DATA_W(DATA_W)) i_crc (.clk, .s_valid(valid_q), .s_first(first_q), .s_data(row_q), .crc);

  // The CRC that, eight zero bits later, is this one.
  function automatic logic [31:0] taken_back(input logic [31:0] now);
    taken_back = now;
    for (int i = 0; i < 8; i++) begin
      taken_back = taken_back[31] ? {taken_back[30:0] ^ POLY[30:0], 1'b1} : {taken_back[30:0], 1'b0};
    end
  endfunction

  always_ff @(posedge clk) begin
    valid_q <= s_valid && !rst;
    first_q <= s_row.first;
    last_q  <= s_row.last;
    row_q   <= masked;
    if (s_valid && s_row.last) lacks_q <= 7'(BYTES) - s_row.bytes;
    ended_q <= valid_q && last_q && !rst;
    load_q  <= ended_q && !rst;
    m_valid <= takes_q && lacks_q == '0 && !rst;
    if (load_q) begin
      crc_q   <= crc;
      takes_q <= 1'b1;
    end else if (takes_q) begin
      takes_q <= lacks_q != '0;
      if (lacks_q != '0) begin
        lacks_q <= lacks_q - 7'd1;
        crc_q   <= taken_back(crc_q);
      end
    end
    if (rst) takes_q <= 1'b0;
  end
  assign m_crc = ~crc_q;
endmodule
