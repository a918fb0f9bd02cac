// SPDX-License-Identifier: Apache-2.0
// Straddled streams of the hard block at 512 bits (PG213): where the fields of tuser are, by which several packets share
// a beat.
package db_pcie_straddle_pkg;
  import db_pcie_pkg::*;

  // ---- builders
  // One straddled beat of RQ (512 bits). sop[0]: a packet starts at lane 0 or, if `half`, at lane 8; sop[1]: a second
  // one starts at lane 8. eop[0], [1]: the first and second end, with the lanes of their last dwords. post: the packet
  // that starts is a posted write whose report counts.
  function automatic logic [136:0] rq_tuser_straddle(
      input logic [1:0] sop, input logic half, input logic [1:0] post, input logic [3:0] last_be0,
      input logic [3:0] last_be1, input logic [1:0] eop, input logic [3:0] lane0, input logic [3:0] lane1);
    logic [136:0] u;
    u        = '0;
    u[3:0]   = {4{sop[0]}};
    u[7:4]   = {4{sop[1]}};
    u[11:8]  = last_be0 & {4{sop[0]}};
    u[15:12] = last_be1 & {4{sop[1]}};
    u[21:20] = sop;
    u[23:22] = {half && sop[0], 1'b0};
    u[25:24] = {sop[1], 1'b0};
    u[27:26] = eop;
    u[31:28] = lane0 & {4{eop[0]}};
    u[35:32] = lane1 & {4{eop[1]}};
    u[66:61] = RQ_SEQ_WRITE & {6{post[0] && sop[0]}};
    u[72:67] = RQ_SEQ_WRITE & {6{post[1] && sop[1]}};
    return u;
  endfunction

  // One straddled beat of CC (512 bits). sop[0]: a completion starts at lane 0 or, if `half`, at lane 8; sop[1]: a second
  // one starts at lane 8. eop[0], [1]: the first and second end, with the lanes of their last dwords.
  function automatic logic [80:0] cc_tuser_straddle(input logic [1:0] sop, input logic half, input logic [1:0] eop,
                                                    input logic [3:0] lane0, input logic [3:0] lane1);
    logic [80:0] u;
    u        = '0;
    u[1:0]   = sop;
    u[3:2]   = {half && sop[0], 1'b0};
    u[5:4]   = {sop[1], 1'b0};
    u[7:6]   = eop;
    u[11:8]  = lane0 & {4{eop[0]}};
    u[15:12] = lane1 & {4{eop[1]}};
    return u;
  endfunction

  // ---- readers
  // Pass the port's tuser, zero-extended.
  // Straddled CQ (512 bits): halves of the beat where a request starts.
  function automatic logic [1:0] cq_starts(input logic [182:0] u);
    return {u[81] || (u[80] && u[83]), u[80] && !u[83]};
  endfunction
  // {last, first} byte enables of the request that starts in half 1 and of that in half 0. Enables stand in the order of
  // the starts: those of one that starts alone in half 1 are the first.
  function automatic logic [1:0][7:0] cq_start_be(input logic [182:0] u);
    return {u[81] ? {u[15:12], u[7:4]} : {u[11:8], u[3:0]}, {u[11:8], u[3:0]}};
  endfunction
  // Halves where one ends, and the lane in the half that holds its last dword: {lane of 1, lane of 0, ends}.
  function automatic logic [7:0] cq_ends(input logic [182:0] u);
    logic [1:0]      m;
    logic [1:0][2:0] l;
    m = '0;
    l = '0;
    for (int k = 0; k < 2; k++) begin
      if (u[86+k]) begin
        m[u[91+4*k]] = 1'b1;
        l[u[91+4*k]] = u[88+4*k+:3];
      end
    end
    return {l, m};
  endfunction

  // Straddled RC (512 bits): quarter q of the beat (lanes 4q to 4q+3) is where a completion starts.
  function automatic logic [3:0] rc_starts(input logic [160:0] u);
    logic [3:0] m;
    m = '0;
    for (int k = 0; k < 4; k++) if (u[64+k]) m[u[68+2*k+:2]] = 1'b1;
    return m;
  endfunction
  // Quarter q is where one ends, and the lane in the quarter that holds its last dword: {lane of 3, .. of 0, ends}.
  // Completions start at quarters, so a quarter has one end at most.
  function automatic logic [11:0] rc_ends(input logic [160:0] u);
    logic [3:0]      m;
    logic [3:0][1:0] l;
    m = '0;
    l = '0;
    for (int k = 0; k < 4; k++) begin
      if (u[76+k]) begin
        m[u[82+4*k+:2]] = 1'b1;
        l[u[82+4*k+:2]] = u[80+4*k+:2];
      end
    end
    return {l, m};
  endfunction

endpackage
