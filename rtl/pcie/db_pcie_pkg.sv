// SPDX-License-Identifier: Apache-2.0
// Descriptors and tuser layouts of the four AXI4-Streams of the UltraScale+ integrated block for PCI Express (PG213),
// dword-aligned mode, client-managed tags; at 512 bits RQ and RC are straddled, beside drives CQ and CC, too. Parity is not
// used (its bits are 0).
//
// Descriptor: the first dwords of a packet's tdata (CQ, RQ 4, CC, RC 3), payload follows at the next dword.
// tuser: the width depends on DATA_W (128 and 256 share one layout, 512 has its own). The *_tuser functions
// build the 512-bit superset; assign the result, cut to the *_user_w(DATA_W) bits that the port has.
package db_pcie_pkg;

  // ---- tuser widths, bits
  function automatic int cq_user_w(input int data_w);
    return (data_w == 512) ? 183 : 88;
  endfunction
  function automatic int cc_user_w(input int data_w);
    return (data_w == 512) ? 81 : 33;
  endfunction
  function automatic int rq_user_w(input int data_w);
    return (data_w == 512) ? 137 : 62;
  endfunction
  function automatic int rc_user_w(input int data_w);
    return (data_w == 512) ? 161 : 75;
  endfunction

  // ---- field values
  // Request type (CQ, RQ). Not named, as nobody makes them or treats them in a way of their own: I/O 2 and 3, atomics 4..6,
  // configuration of type 1 9 and b. Messages are c..f.
  localparam logic [3:0] REQ_MEM_RD    = 4'h0;
  localparam logic [3:0] REQ_MEM_WR    = 4'h1;
  localparam logic [3:0] REQ_MEM_RD_LK = 4'h7;
  localparam logic [3:0] REQ_CFG_RD0   = 4'h8;  // RQ alone
  localparam logic [3:0] REQ_CFG_WR0   = 4'ha;
  localparam logic [3:0] REQ_MSG       = 4'hc;

  // Completion status (CC, RC); 4 is CA.
  localparam logic [2:0] CPL_SC  = 3'd0;
  localparam logic [2:0] CPL_UR  = 3'd1;
  localparam logic [2:0] CPL_CRS = 3'd2;

  // Error code of an RC descriptor.
  localparam logic [3:0] RC_OK           = 4'h0;
  localparam logic [3:0] RC_POISONED     = 4'h1;
  localparam logic [3:0] RC_BAD_STATUS   = 4'h2;  // UR, CA or CRS
  localparam logic [3:0] RC_BAD_LENGTH   = 4'h3;
  localparam logic [3:0] RC_MISMATCH     = 4'h4;
  localparam logic [3:0] RC_BAD_ADDRESS  = 4'h5;
  localparam logic [3:0] RC_INVALID_TAG  = 4'h6;  // no request with this tag is outstanding: ignore
  localparam logic [3:0] RC_FLR          = 4'h8;  // request ended by a function-level reset
  localparam logic [3:0] RC_TIMEOUT      = 4'h9;

  // ---- descriptors (first member = most significant)
  localparam int CQ_DW = 4;  // dwords of descriptor
  localparam int RQ_DW = 4;
  localparam int CC_DW = 3;
  localparam int RC_DW = 3;

  typedef struct packed {
    logic        rsvd1;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic [5:0]  bar_aperture;  // log2 of the BAR's size in bytes
    logic [2:0]  bar_id;
    logic [7:0]  target_fn;
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic        rsvd0;
    logic [3:0]  req_type;
    logic [10:0] dword_count;
    logic [61:0] addr_dw;       // byte address / 4
    logic [1:0]  at;
  } cq_desc_t;  // 128 bits

  typedef struct packed {
    logic        force_ecrc;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        completer_id_en;
    logic [7:0]  completer_bus;
    logic [7:0]  completer_fn;  // device and function, or function alone (ARI)
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic        rsvd2;
    logic        poisoned;
    logic [2:0]  status;
    logic [10:0] dword_count;   // payload of this completion
    logic [1:0]  rsvd1;
    logic        locked;
    logic [12:0] byte_count;    // bytes left to complete the request, this completion's included
    logic [5:0]  rsvd0;
    logic [1:0]  at;
    logic        rsvd3;
    logic [6:0]  lower_addr;
  } cc_desc_t;  // 96 bits

  typedef struct packed {
    logic        force_ecrc;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        requester_id_en;
    logic [15:0] completer_id;  // only for requests routed by ID
    logic [7:0]  tag;
    logic [7:0]  requester_bus; // used only with requester_id_en
    logic [7:0]  requester_fn;
    logic        poisoned;
    logic [3:0]  req_type;
    logic [10:0] dword_count;
    logic [61:0] addr_dw;       // byte address / 4
    logic [1:0]  at;
  } rq_desc_t;  // 128 bits

  typedef struct packed {
    logic        rsvd3;
    logic [2:0]  attr;
    logic [2:0]  tc;
    logic        rsvd2;
    logic [15:0] completer_id;
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic        rsvd1;
    logic        poisoned;
    logic [2:0]  status;
    logic [10:0] dword_count;   // payload of this completion
    logic        rsvd0;
    logic        req_completed; // no further completion of this request will come
    logic        locked;
    logic [12:0] byte_count;    // bytes left to complete the request, this completion's included
    logic [3:0]  error_code;
    logic [11:0] lower_addr;
  } rc_desc_t;  // 96 bits

  // A memory read or write request of function fn; no relaxed ordering, no snoop, traffic class 0.
  function automatic rq_desc_t rq_desc_mem(input logic wr, input logic [7:0] fn, input logic [63:0] addr,
                                           input logic [10:0] dwords, input logic [7:0] tag);
    rq_desc_t d;
    d              = '0;
    d.req_type     = wr ? REQ_MEM_WR : REQ_MEM_RD;
    d.requester_fn = fn;
    d.addr_dw      = addr[63:2];
    d.dword_count  = dwords;
    d.tag          = tag;
    return d;
  endfunction

  // The header of a completion that has not crossed the link (CC, RC).
  function automatic rc_desc_t rc_desc_of(input cc_desc_t c);
    rc_desc_t d;
    d               = '0;
    d.tag           = c.tag;
    d.poisoned      = c.poisoned;
    d.status        = c.status;
    d.dword_count   = c.dword_count;
    d.byte_count    = c.byte_count;
    d.lower_addr    = 12'(c.lower_addr);
    d.req_completed = c.status != CPL_SC || c.byte_count <= {c.dword_count, 2'b00};
    d.error_code    = c.status != CPL_SC ? RC_BAD_STATUS : c.poisoned ? RC_POISONED : RC_OK;
    return d;
  endfunction

  // ---- tuser builders
  // RQ packets inside rtl/pcie, on their way to db_pcie_rq_mux. At 128 and 256 bits they are what RQ wants: descriptor
  // dwords, then payload. At 512 bits tdata is payload alone from lane 0 on, and the descriptor travels beside it, so
  // that db_pcie_rq_straddle can put it at lane 0 or 8.
  function automatic int rq_head_dw(input int data_w);  // dwords of tdata before the payload
    return (data_w == 512) ? 0 : RQ_DW;
  endfunction

  typedef struct packed {
    logic       sop;
    logic [4:0] dwords;         // of payload in this beat, 0..16
    rq_desc_t   desc;           // counts in the first beat
  } rq_side_t;                  // tuser at 512 bits

  // Where CQ and CC are straddled, requests and completions inside rtl/pcie have that form, too: tdata is a row of payload
  // from lane 0 on, tuser this.
  typedef struct packed {
    logic       damaged;        // counts in the last row
    logic [3:0] last_be;
    logic [3:0] first_be;
    cq_desc_t   desc;           // counts in the first row
  } cq_side_t;                  // behind db_pcie_cq_straddle; tkeep has the lanes of payload

  typedef struct packed {
    logic       sop;
    logic [4:0] dwords;         // of payload in this row, 0..16
    cc_desc_t   desc;           // counts in the first row
  } cc_side_t;                  // on their way to db_pcie_cc_straddle, which needs no tkeep

  // Bits of tuser of completions, and dwords of tdata before the payload; side: in that form.
  function automatic int cc_form_w(input int data_w, input bit side);
    return side ? $bits(cc_side_t) : cc_user_w(data_w);
  endfunction
  function automatic int cc_head_dw(input bit side);
    return side ? 0 : CC_DW;
  endfunction

  // Byte enables of a row of payload with so many lanes.
  function automatic logic [15:0][3:0] cq_row_be(input logic first, input logic last, input logic [15:0] lanes,
                                                 input logic [3:0] first_be, input logic [3:0] last_be);
    logic [15:0][3:0] be;
    for (int l = 0; l < 16; l++) begin
      be[l] = {4{lanes[l]}};
      if (last && lanes[l] && (l == 15 || !lanes[(l+1)%16])) be[l] = last_be;
    end
    if (first) be[0] = first_be & {4{lanes[0]}};
    return be;
  endfunction

  // Last byte enables: a single dword has its enables in the first ones alone.
  function automatic logic [3:0] rq_last_be(input rq_desc_t desc);
    return (desc.dword_count == 11'd1) ? 4'h0 : 4'hf;
  endfunction

  // Sequence numbers of requests, which the hard block reports when no completion can pass them any more: posted writes
  // have this one, all others 0 (db_pcie_rq_landed).
  localparam logic [5:0] RQ_SEQ_WRITE = 6'd1;
  typedef struct packed {
    logic [1:0]      valid;
    logic [1:0][5:0] num;
  } rq_seq_t;

  // tuser of one beat of a memory request: every byte of the request is wanted.
  function automatic logic [136:0] rq_user(input int data_w, input logic sop, input rq_desc_t desc,
                                           input logic [4:0] dwords);
    rq_side_t s;
    s.sop    = sop;
    s.dwords = dwords;
    s.desc   = desc;
    return (data_w == 512) ? 137'(s) :
           137'({(desc.req_type == REQ_MEM_WR) ? RQ_SEQ_WRITE[3:0] : 4'h0, 16'd0, rq_last_be(desc), 4'hf});
  endfunction

  // One beat of a CC packet.
  function automatic logic [80:0] cc_tuser(input int data_w, input logic sop, input logic eop,
                                           input logic [3:0] last_lane);
    logic [80:0] u;
    u = '0;
    if (data_w == 512) begin
      u[0]    = sop;
      u[6]    = eop;
      u[11:8] = eop ? last_lane : 4'd0;
    end
    return u;
  endfunction

  // ---- tuser readers
  // Pass the port's tuser, zero-extended.
  function automatic logic [3:0] cq_first_be(input logic [182:0] u);
    return u[3:0];
  endfunction
  function automatic logic [3:0] cq_last_be(input int data_w, input logic [182:0] u);
    return (data_w == 512) ? u[11:8] : u[7:4];
  endfunction
  // The packet was damaged inside the hard block: throw it away.
  function automatic logic cq_discontinue(input int data_w, input logic [182:0] u);
    return (data_w == 512) ? u[96] : u[41];
  endfunction
  function automatic logic rc_discontinue(input int data_w, input logic [160:0] u);
    return (data_w == 512) ? u[96] : u[42];
  endfunction

endpackage
