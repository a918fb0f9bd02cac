// SPDX-License-Identifier: Apache-2.0
// Packs completions onto a straddled CC of 512 bits: one may start in the beat in which the one before it ends.
//
// PG213: a completion starts at lane 0, or at lane 8 if another ends at lane 7 or before in the same beat; two starts
// and two ends a beat at most. So one takes its dwords rounded up to 8: 256 bytes (67 dwords) 4.5 beats, one without
// payload half a beat. tlast is 0 and tkeep all ones, as the hard block ignores them when it straddles.
//
// In: rows of payload from lane 0 with the descriptor beside them (cc_side_t), so 256 bytes come in 4 rows. This block
// puts 3 dwords of descriptor in front: payload moves up by 3 lanes, or by 11 behind another completion, and what is
// beyond lane 15 waits in `carry`. That holds nothing; or 3 or 11 dwords of a completion that goes on; or the end of
// one (1..11); or a whole one of at most 8 dwords, which waits a cycle for company.
// An end of up to 8 dwords leaves with the completion behind it, if that is there by then, else alone. The only half
// beat given away in a full stream: a completion that starts at lane 0 and whose last row has 1..5 dwords leaves its
// end at once, since a pause inside a packet is forbidden.
// Latency: 1 cycle (2 for a completion of at most 8 dwords). Throughput: a full beat every cycle. Outputs are registers.
`include "db_pcie_types.svh"
module db_pcie_cc_straddle
  import db_pcie_pkg::*, db_pcie_straddle_pkg::*;
#(
  localparam type cc_t = `DB_PCIE_CC_T(512)
) (
  input  logic         clk,
  input  logic         rst,
  /// no completion inside
  output logic         idle,

  /// does not pause inside a completion
  input  logic         s_valid,
  output logic         s_ready,
  input  logic         s_last,
  input  cc_side_t     s_side,
  input  logic [511:0] s_data,

  output logic         m_cc_valid,
  input  logic         m_cc_ready,
  output cc_t          m_cc
);
  logic [4:0] n;      // dwords of payload in this row
  logic       brief;  // the whole completion is no more than half a beat
  assign n     = s_side.dwords;
  assign brief = s_side.sop && s_last && n <= 5'd5;

  // ---- carry
  logic [351:0] carry_q;
  logic [  3:0] carry_n_q;             // dwords, 1..11
  logic         carry_valid_q;
  logic         carry_open_q;          // its completion goes on
  logic         carry_sop_q;           // it holds a whole one

  logic ended;                         // the carry holds the end of a completion
  logic room;                          // and the other half of its beat is free
  logic at_11;                         // payload of the row that comes in goes to lanes 11 on, else to 3 on
  logic out_free, emit, take, join_in; // emit: a beat goes out. join_in: the incoming row is part of it
  logic over;                          // part of the incoming row stays
  logic [4:0] fits;                    // dwords of payload that this beat takes

  assign ended    = carry_valid_q && !carry_open_q;
  assign room     = carry_n_q <= 4'd8;
  assign at_11    = carry_valid_q && (ended || carry_n_q[3]);
  assign fits     = at_11 ? 5'd5 : 5'd13;
  assign over     = !s_last || n > fits;
  assign out_free = !m_cc_valid || m_cc_ready;

  always_comb begin
    if (!carry_valid_q) begin          // one starts at lane 0
      take    = s_valid;
      join_in = s_valid && !brief;
      emit    = join_in;
    end else if (carry_open_q) begin   // it goes on
      take    = s_valid;
      join_in = s_valid;
      emit    = s_valid;
    end else if (room) begin           // the next one starts at lane 8
      take    = s_valid;
      join_in = s_valid;
      emit    = 1'b1;
    end else begin
      take    = s_valid && brief;      // into the carry
      join_in = 1'b0;
      emit    = 1'b1;
    end
  end
  assign s_ready = out_free && (!ended || room || brief);

  // ---- the beat
  logic [511:0] beat;
  logic [  1:0] sop, eop;
  logic         half, end_in, sop_in;
  logic [  3:0] lane0, lane_in, lane_carry;

  assign beat[95:0]    = carry_valid_q ? carry_q[95:0] : s_side.desc;
  assign beat[255:96]  = at_11 ? carry_q[255:96] : s_data[159:0];
  assign beat[351:256] = (ended && room) ? s_side.desc : at_11 ? carry_q[351:256] : s_data[255:160];
  assign beat[511:352] = at_11 ? s_data[159:0] : s_data[415:256];

  assign end_in     = join_in && s_last && n <= fits;
  assign sop_in     = join_in && s_side.sop;
  assign lane_in    = (at_11 ? 4'd10 : 4'd2) + n[3:0];  // n is not 16 where this counts
  assign lane_carry = carry_n_q - 1'b1;
  // What is in the carry comes first.
  assign sop        = carry_sop_q ? {sop_in, 1'b1} : {1'b0, sop_in};
  assign half       = ended && !carry_sop_q;
  assign eop        = ended ? {end_in, 1'b1} : {1'b0, end_in};
  assign lane0      = ended ? lane_carry : lane_in;

  always_ff @(posedge clk) begin
    if (out_free) begin
      m_cc_valid <= emit;
      m_cc.tdata <= beat;
      m_cc.tuser <= cc_tuser_straddle(sop, half, eop, lane0, lane_in);
      if (emit || take) begin
        carry_valid_q <= take && (join_in ? over : 1'b1);
        carry_open_q  <= !s_last;
        carry_sop_q   <= take && !join_in;
        if (!join_in) begin            // a short completion, if any
          carry_q[255:0] <= {s_data[159:0], s_side.desc};
          carry_n_q      <= n[3:0] + 4'd3;
        end else if (at_11) begin
          carry_q   <= s_data[511:160];
          carry_n_q <= s_last ? 4'(n - 5'd5) : 4'd11;
        end else begin
          carry_q[95:0] <= s_data[511:416];
          carry_n_q     <= s_last ? 4'(n - 5'd13) : 4'd3;
        end
      end
    end
    if (rst) begin
      m_cc_valid    <= 1'b0;
      carry_valid_q <= 1'b0;
      carry_sop_q   <= 1'b0;
    end
  end

  assign m_cc.tkeep = '1;
  assign m_cc.tlast = 1'b0;
  assign idle       = !carry_valid_q && !m_cc_valid;

  // ---- what must hold
  logic begun_q;         // after the first reset
  logic open;            // inside a completion
  always_ff @(posedge clk) if (rst) begun_q <= 1'b1;
  assign open = carry_valid_q && carry_open_q;
  assert property (@(posedge clk) disable iff (rst || !begun_q) !(s_valid && s_ready) || s_side.sop == !open);
  assert property (@(posedge clk) disable iff (rst || !begun_q) !open || s_valid);
  assert property (@(posedge clk) disable iff (rst || !begun_q) !(s_valid && !s_last) || n == 5'd16);
endmodule
