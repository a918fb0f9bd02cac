// SPDX-License-Identifier: Apache-2.0
// Cuts segments into what one write TLP may hold: at most MPS, ending at MPS-aligned host addresses.
//
// Latency: 2 cycles. Throughput: a TLP a cycle, and a cycle more for each segment; both are hidden behind the beats of
// other TLPs.
module db_pcie_write_split
  import db_mem_pkg::*, db_pcie_block_pkg::*;
#(
  parameter int USER_W = 8  ///< bits of s_seg_user
) (
  input  logic              clk,
  input  logic              rst,

  /// 0: 128 bytes ... 3 and above: 1024 bytes; constant in use
  input  logic [2:0]        cfg_mps,

  input  logic              s_seg_valid,
  output logic              s_seg_ready,
  input  segment_t          s_seg,
  input  logic [USER_W-1:0] s_seg_user,

  output logic              m_cut_valid,
  input  logic              m_cut_ready,
  output write_cut_t        m_cut,
  output logic [USER_W-1:0] m_cut_user
);
  segment_t          seg_q;
  logic [USER_W-1:0] user_q;
  logic              seg_valid_q;
  logic [10:0]       left_q;    // dwords
  logic [8:0]        room_q;    // dwords up to the next MPS boundary
  logic [7:0]        mps_m1_q;  // MPS in dwords - 1
  logic              all_in, cut_free;

  assign all_in      = left_q <= {2'b00, room_q};
  assign s_seg_ready = !seg_valid_q;
  assign cut_free    = !m_cut_valid || m_cut_ready;

  always_ff @(posedge clk) begin
    unique case (cfg_mps)
      3'd0:    mps_m1_q <= 8'd31;
      3'd1:    mps_m1_q <= 8'd63;
      3'd2:    mps_m1_q <= 8'd127;
      default: mps_m1_q <= 8'd255;
    endcase
    if (s_seg_ready) begin
      seg_valid_q <= s_seg_valid;
      seg_q       <= s_seg;
      user_q      <= s_seg_user;
      left_q      <= s_seg.len[12:2];
      room_q      <= {1'b0, ~s_seg.addr[9:2] & mps_m1_q} + 1'b1;
    end else if (cut_free) begin
      seg_valid_q       <= !all_in;
      seg_q.addr[11:2]  <= seg_q.addr[11:2] + {1'b0, room_q};  // stays inside its page
      left_q            <= left_q - {2'b00, room_q};
      room_q            <= {1'b0, mps_m1_q} + 1'b1;
    end
    if (cut_free) begin
      m_cut_valid <= seg_valid_q;
      m_cut       <= '{fn: seg_q.fn, addr_dw: seg_q.addr[63:2], drop: seg_q.drop, last: seg_q.last && all_in,
                       dwords: all_in ? left_q[8:0] : room_q};
      m_cut_user  <= user_q;
    end
    if (rst) begin
      seg_valid_q <= 1'b0;
      m_cut_valid <= 1'b0;
    end
  end
endmodule
