// SPDX-License-Identifier: Apache-2.0
// Cuts Dataset Management into pieces of a few ranges, so that commands of others go to the engine between them.
//
// A piece is a command with a part of the range list: its PRPs are of that part, which lies in two pages at most. How far
// the first command of a function's list is, is in RAM; a command that goes whole is a piece that is first and last.
// A PRP2 with an offset, which the part of a list alone would not show, makes the part's PRP1 one that cannot be.
// Of an SGL it cuts the one data block that the command holds. What is not there of a block that is too short is not
// there of the part either. A list in more pieces than one does not come here (db_ssd_decode).
// Latency: none. Throughput: a piece every other cycle.
module db_ssd_order_pieces
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*, db_ssd_order_pkg::*;
#(
  parameter bit SGL = 1'b0           ///< takes SGLs
) (
  input  logic               clk,
  input  logic               rst,      ///< no function has begun one; 32 cycles
  input  logic               s_go,     ///< pulse: a command goes to the write engine in the next cycle
  input  logic [PLACE_W-1:0] s_place,  ///< ... of this function
  input  cmd_t               s_cmd,    ///< a cycle later: as it came
  output cmd_t               m_cmd,    ///< ... as it goes
  output piece_t             m_piece   ///< ... which piece that is; 0 if none went
);
  localparam int COUNT_W = 12 - PIECE_W;      // 256 ranges are 4 KiB

  logic [COUNT_W-1:0] gone_mem_q [2 ** PLACE_W];  // pieces of the function's first; else 0
  logic [COUNT_W-1:0] gone, gone_q;
  logic [COUNT_W:0]   next, next_q;
  logic [PLACE_W-1:0] place_q, init_q;
  logic               init_busy_q, go_q, more;
  logic [12:0]        from;                   // in the page of PRP1, or beyond it
  logic [COUNT_W:0]   rest;                   // SGL: pieces of the block that are left, if it is no longer than a list
  assign gone    = gone_mem_q[s_place];
  assign next    = (COUNT_W + 1)'(gone) + 1'b1;
  assign more    = go_q && s_cmd.desc.ranges && {next_q, PIECE_W'(0)} < s_cmd.bytes[12:0];
  assign from    = 13'(s_cmd.prp1[11:0]) + {1'b0, gone_q, PIECE_W'(0)};
  assign rest    = {1'b0, s_cmd.prp2[11:PIECE_W]} - {1'b0, gone_q};
  assign m_piece = '{place: place_q, later: gone_q != '0, more: more};

  always_comb begin
    m_cmd            = s_cmd;
    m_cmd.prp1[11:0] = from[11:0];
    if (SGL && s_cmd.sgl) begin
      m_cmd.prp1[63:12] = s_cmd.prp1[63:12] + 52'(from[12]);
      if (s_cmd.prp2[31:12] == '0) m_cmd.prp2[11:0] = rest[COUNT_W] ? '0 : {rest[COUNT_W-1:0], s_cmd.prp2[PIECE_W-1:0]};
    end else if (from[12]) begin
      m_cmd.prp1[63:12] = s_cmd.prp2[63:12];
      m_cmd.prp1[0]     = from[0] || s_cmd.prp2[11:0] != '0;
    end
    if (s_cmd.desc.ranges) begin  // the last has what the others leave
      m_cmd.bytes[12:PIECE_W]  = (13 - PIECE_W)'(more || s_cmd.bytes[PIECE_W-1:0] == '0);
      m_cmd.bytes[PIECE_W-1:0] = more ? '0 : s_cmd.bytes[PIECE_W-1:0];
    end
  end

  always_ff @(posedge clk) begin
    go_q    <= s_go && !rst;
    place_q <= s_place;
    gone_q  <= s_go ? gone : '0;
    next_q  <= next;
    if (init_busy_q || go_q)
      gone_mem_q[init_busy_q ? init_q : place_q] <= init_busy_q || !more ? '0 : next_q[COUNT_W-1:0];
    if (init_busy_q) init_q <= init_q + 1'b1;
    if (init_q == '1) init_busy_q <= 1'b0;
    if (rst) begin
      init_q      <= '0;
      init_busy_q <= 1'b1;
    end
  end
endmodule
