// SPDX-License-Identifier: Apache-2.0
// Packs packets onto a straddled RQ of 512 bits: a packet may start in the beat in which the one before it ends.
//
// PG213: a packet starts at lane 0, or at lane 8 if another ends at lane 7 or before in the same beat; two starts and
// two ends a beat at most. So a packet takes its dwords rounded up to 8: 256 bytes (68 dwords) 4.5 beats, a read or a
// CQE half a beat. tlast is 0 and tkeep all ones, as the hard block ignores them when it straddles.
//
// In: payload beats from lane 0 with the descriptor beside them (rq_side_t), so 256 bytes come in 4 beats and this
// block never waits for its source. It puts 4 dwords of descriptor in front: payload moves up by 4 lanes, or by 12
// behind another packet, and what is beyond lane 15 waits in `carry` for the next beat. The carry holds
//   nothing; or up to 12 dwords of a packet that goes on (exactly 4 or 12); or the end of one (1..12); or a whole
//   packet of at most 8 dwords, which waits a cycle for company.
// An end of up to 8 dwords leaves with the packet behind it, if that is there by then, else alone. The only half
// beat given away in a full stream: a packet that starts at lane 0 and whose last beat of payload has 1..4 dwords
// leaves its end at once, since a pause inside a packet is forbidden.
// Latency: 1 cycle (2 for a packet of at most 8 dwords). Throughput: a full beat every cycle. Outputs are registers.
`include "db_pcie_types.svh"
module db_pcie_rq_straddle
  import db_pcie_pkg::*, db_pcie_straddle_pkg::*;
#(
  parameter bit PEERS = 1'b0,  ///< packets with tags from 128 on are others': their writes are not reported
  localparam type rq_t = `DB_PCIE_RQ_T(512)
) (
  input  logic clk,
  input  logic rst,
  /// no packet inside
  output logic idle,

  /// does not pause inside a packet; tuser is rq_side_t, tkeep is not looked at
  input  logic s_rq_valid,
  output logic s_rq_ready,
  input  rq_t  s_rq,

  output logic m_rq_valid,
  input  logic m_rq_ready,
  output rq_t  m_rq
);
  rq_side_t   side;
  logic [4:0] n;      // dwords of payload in this beat
  logic       brief;  // the whole packet is no more than half a beat
  assign side  = rq_side_t'(s_rq.tuser[$bits(rq_side_t)-1:0]);
  assign n     = side.dwords;
  assign brief = side.sop && s_rq.tlast && n <= 5'd4;

  // ---- carry
  logic [383:0] carry_q;
  logic [  3:0] carry_n_q;             // dwords, 1..12
  logic         carry_valid_q;
  logic         carry_open_q;          // its packet goes on
  logic         carry_sop_q;           // it holds a whole packet
  logic [  3:0] carry_be_q;            // and these are its last byte enables
  logic         carry_post_q;          // and it is a posted write

  logic ended;                         // the carry holds the end of a packet
  logic room;                          // and the other half of its beat is free
  logic at_12;                         // payload of the beat that comes in goes to lanes 12 on, else to 4 on
  logic out_free, emit, take, join_in; // emit: a beat goes out. join_in: the incoming beat is part of it
  logic over;                          // part of the incoming beat stays
  logic [4:0] fits;                    // dwords of payload that this beat takes

  assign ended    = carry_valid_q && !carry_open_q;
  assign room     = carry_n_q <= 4'd8;
  assign at_12    = carry_valid_q && (ended || carry_n_q[3]);
  assign fits     = at_12 ? 5'd4 : 5'd12;
  assign over     = !s_rq.tlast || n > fits;
  assign out_free = !m_rq_valid || m_rq_ready;

  always_comb begin
    if (!carry_valid_q) begin          // a packet starts at lane 0
      take    = s_rq_valid;
      join_in = s_rq_valid && !brief;
      emit    = join_in;
    end else if (carry_open_q) begin   // it goes on
      take    = s_rq_valid;
      join_in = s_rq_valid;
      emit    = s_rq_valid;
    end else if (room) begin           // the next one starts at lane 8
      take    = s_rq_valid;
      join_in = s_rq_valid;
      emit    = 1'b1;
    end else begin
      take    = s_rq_valid && brief;      // into the carry
      join_in = 1'b0;
      emit    = 1'b1;
    end
  end
  assign s_rq_ready = out_free && (!ended || room || brief);

  // ---- the beat
  logic [511:0] beat;
  logic [  1:0] sop, eop;
  logic         half, end_in, sop_in;
  logic [  3:0] lane0, lane1, lane_in, lane_carry, be_in;
  logic         post_in;

  assign beat[127:0]   = carry_valid_q ? carry_q[127:0] : side.desc;
  assign beat[255:128] = at_12 ? carry_q[255:128] : s_rq.tdata[127:0];
  assign beat[383:256] = (ended && room) ? side.desc : at_12 ? carry_q[383:256] : s_rq.tdata[255:128];
  assign beat[511:384] = at_12 ? s_rq.tdata[127:0] : s_rq.tdata[383:256];

  assign end_in     = join_in && s_rq.tlast && n <= fits;
  assign sop_in     = join_in && side.sop;
  assign lane_in    = (at_12 ? 4'd11 : 4'd3) + n[3:0];  // n is not 16 where this counts
  assign lane_carry = carry_n_q - 1'b1;
  assign be_in      = rq_last_be(side.desc);
  assign post_in    = side.desc.req_type == REQ_MEM_WR && !(PEERS && side.desc.tag[7]);
  // What is in the carry comes first.
  assign sop        = carry_sop_q ? {sop_in, 1'b1} : {1'b0, sop_in};
  assign half       = ended && !carry_sop_q;
  assign eop        = ended ? {end_in, 1'b1} : {1'b0, end_in};
  assign lane0      = ended ? lane_carry : lane_in;
  assign lane1      = lane_in;

  always_ff @(posedge clk) begin
    if (out_free) begin
      m_rq_valid <= emit;
      m_rq.tdata  <= beat;
      m_rq.tuser  <= rq_tuser_straddle(sop, half, {post_in, carry_sop_q ? carry_post_q : post_in},
                                      carry_sop_q ? carry_be_q : be_in, be_in, eop, lane0, lane1);
      if (emit || take) begin
        carry_valid_q <= take && (join_in ? over : 1'b1);
        carry_open_q  <= !s_rq.tlast;
        carry_sop_q   <= take && !join_in;
        carry_be_q    <= be_in;
        carry_post_q  <= post_in;
        if (!join_in) begin            // a short packet, if any
          carry_q[255:0] <= {s_rq.tdata[127:0], side.desc};
          carry_n_q      <= n[3:0] + 4'd4;
        end else if (at_12) begin
          carry_q   <= s_rq.tdata[511:128];
          carry_n_q <= s_rq.tlast ? 4'(n - 5'd4) : 4'd12;
        end else begin
          carry_q[127:0] <= s_rq.tdata[511:384];
          carry_n_q      <= s_rq.tlast ? 4'(n - 5'd12) : 4'd4;
        end
      end
    end
    if (rst) begin
      m_rq_valid <= 1'b0;
      carry_valid_q    <= 1'b0;
      carry_sop_q      <= 1'b0;
    end
  end

  assign m_rq.tkeep = '1;
  assign m_rq.tlast = 1'b0;
  assign idle            = !carry_valid_q && !m_rq_valid;

  // ---- what must hold
  logic begun_q;         // after the first reset
  logic open;            // inside a packet
  always_ff @(posedge clk) if (rst) begun_q <= 1'b1;
  assign open = carry_valid_q && carry_open_q;
  assert property (@(posedge clk) disable iff (rst || !begun_q) !(s_rq_valid && s_rq_ready) || side.sop == !open);
  assert property (@(posedge clk) disable iff (rst || !begun_q) !open || s_rq_valid);
  assert property (@(posedge clk) disable iff (rst || !begun_q) !(s_rq_valid && !s_rq.tlast) || n == 5'd16);
endmodule
