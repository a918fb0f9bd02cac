// SPDX-License-Identifier: Apache-2.0
// MSI-X of all functions: table, pending bits, and the writes to the host that are the interrupts, which the function
// sends whose vector it is. A function's accesses find its own vectors alone; one that is not there finds nothing (reads 0,
// writes ignored).
//
// Vectors are numbered through: first the PF's, from a multiple of VF_VEC on the VFs' (first_vector).
// Register window of 8 KiB: the table at 0x0000 (16 bytes a vector: address, upper address, data, control with the
// mask in bit 0), the pending bits at 0x1000; what lies outside reads 0 and ignores writes. The table is one RAM, a
// vector a word; a write reads, merges the enabled bytes and writes back. After rst every vector is masked (a cycle a
// vector, in which nothing is taken), after fn_rst every one of the function.
// Pending bits are in RAM too, VF_VEC a word; a bit a word says whether it means anything. So all of a function's go in a
// cycle.
// A request for a vector that is masked, by its own bit or by the function's, sets its pending bit. It goes out once
// when the mask goes: at once after a write to the vector's control, by a walk over all vectors (a cycle a vector)
// when the function's mask falls. A message that cannot leave becomes a pending one when an access comes: accesses, so
// the host's posted writes, never wait for RQ (PCIe 2.4.1). With MSI-X disabled requests are dropped and the pending bits are cleared.
//
// Latency: 2 cycles from s_irq_valid to m_post_valid. Throughput: an interrupt every 2 cycles. Register accesses go
// first: 2 cycles to s_reg_rvalid.
module db_pcie_msix
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN  = 1,  ///< functions, 1..17
  parameter int NUM_VEC = 33, ///< vectors of the PF, 1..256
  parameter int VF_VEC  = 8,  ///< of each VF: a power of two, 1..32; 256 of all functions
  /// number of a function's first vector
  localparam int PF_PART = (NUM_VEC + VF_VEC - 1) / VF_VEC * VF_VEC,
  localparam int VECTORS = NUM_FN == 1 ? NUM_VEC : PF_PART + (NUM_FN - 1) * VF_VEC
) (
  input  logic        clk,
  input  logic        rst,
  /// pulse: forget what is known of a function; with one function use rst
  input  logic [NUM_FN-1:0] fn_rst,

  /// of addr, the 13 bits in the window
  input  logic        s_reg_valid,
  output logic        s_reg_ready,
  input  reg_access_t s_reg,
  output logic        s_reg_rvalid,
  output logic [31:0] s_reg_rdata,

  input  logic        s_irq_valid,
  output logic        s_irq_ready,
  /// numbered through; one that does not exist is dropped
  input  logic [15:0] s_irq_vector,

  input  logic [NUM_FN-1:0] cfg_msix_enable,
  input  logic [NUM_FN-1:0] cfg_msix_mask,

  output logic        m_post_valid,
  input  logic        m_post_ready,
  output post_t       m_post
);
  localparam int VW      = VECTORS > 1 ? $clog2(VECTORS) : 1;
  localparam int VF_LOG2 = $clog2(VF_VEC);

  if (NUM_VEC < 1 || VECTORS > 256) begin : g_bad
    $error("%m: NUM_VEC must be at least 1 (is %0d), all vectors at most 256 (are %0d)", NUM_VEC, VECTORS);
  end
  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad_fn
    $error("%m: NUM_FN must be 1..17 (is %0d)", NUM_FN);
  end
  if (VF_VEC < 1 || VF_VEC > 32 || VF_VEC != 2 ** VF_LOG2) begin : g_bad_vf_vec
    $error("%m: VF_VEC must be a power of two, 1..32 (is %0d)", VF_VEC);
  end

  // The place of the function that has a vector; a function's first vector.
  function automatic logic [PLACE_W-1:0] owner(input logic [VW-1:0] vector);
    if (NUM_FN == 1 || 9'(vector) < 9'(PF_PART)) return '0;
    return PLACE_W'((9'(vector) - 9'(PF_PART)) >> VF_LOG2) + 1'b1;
  endfunction
  function automatic logic [VW-1:0] first_vector(input logic [PLACE_W-1:0] place);
    return place == '0 ? '0 : VW'(PF_PART) + (VW'(place - 1'b1) << VF_LOG2);
  endfunction

  typedef enum logic [2:0] {
    ST_INIT,   // masks every vector
    ST_IDLE,
    ST_ACCESS, // a register's word is read
    ST_CHECK,  // a vector was unmasked: read its word
    ST_SEND    // the word is there
  } state_e;

  state_e             state_q;
  logic [VW-1:0]      init_q, init_last_q;
  logic [VW-1:0]      at;                   // the vector whose pending bit is looked at
  logic               pending;
  logic [NUM_FN-1:0]  allow, allow_q;       // the function may send
  logic [NUM_FN-1:0]  forget_q;             // the function is to be reset
  logic [PLACE_W-1:0] forget;               // ... the first of them
  logic               walk_q, walk_turn_q;  // walking over pending vectors; its turn before a request
  logic [VW-1:0]      walk_vec_q;

  logic [VW-1:0]      vec_q;       // under way; of the access
  logic               is_req_q;    // a new request; else a pending one
  logic [63:0]        post_addr_q;
  logic [PLACE_W-1:0] post_place_q;
  logic [31:0]        post_data_q;

  // ---- register access
  logic        acc_wr_q, acc_table_q, acc_pba_q;
  logic [PLACE_W-1:0] reg_place, acc_place_q;
  logic [8:0]  reg_vectors;           // that the function has
  logic [VW-1:0] reg_vec;  // numbered through
  logic [12:0] acc_addr_q;
  logic [3:0]  acc_be_q;
  logic [31:0] acc_wdata_q;
  logic [31:0] old_dw, new_dw, pba;

  // ---- the table
  logic          ram_we, ram_re;
  logic [VW-1:0] ram_waddr, ram_raddr;
  logic [127:0]  ram_wdata, ram_rdata;  // control, data, upper address, address

  // Of control there is only the mask.
  assign ram_rdata[127:97] = '0;
  db_ram_sdp #(.WIDTH(97), .DEPTH(2 ** VW)) i_table (
    .clk, .we(ram_we), .waddr(ram_waddr), .wdata(ram_wdata[96:0]), .re(ram_re), .raddr(ram_raddr),
    .rdata(ram_rdata[96:0])
  );

  logic [31:0] may, enabled;              // by place
  logic forgetting_q, forgetting, free;                 // a function's part is next to be reset; something may begin
  logic take_reg, take_irq, take_walk, post_free, masked, put_pending;

  assign allow       = cfg_msix_enable & ~cfg_msix_mask;
  assign may         = 32'(allow);
  assign enabled     = 32'(cfg_msix_enable);
  assign reg_place   = NUM_FN == 1 ? '0 : fn_place(s_reg.fn);
  assign reg_vectors = (NUM_FN == 1 ? s_reg.fn != '0 : reg_place >= PLACE_W'(NUM_FN)) ? '0
                     : reg_place == '0 ? 9'(NUM_VEC) : 9'(VF_VEC);
  if (NUM_FN == 1) begin : g_reg_vec
    assign reg_vec = s_reg.addr[4 +: VW];
  end else begin : g_reg_vec_by_fn
    // A VF's vectors begin at a multiple of VF_VEC: beyond them it has none, so nothing is carried.
    always_comb begin
      reg_vec = VW'(s_reg.addr[11:4]);
      if (s_reg.fn != '0) begin
        reg_vec = VW'(s_reg.fn + FN_W'(PF_PART / VF_VEC - FIRST_VF)) << VF_LOG2 |
                  VW'(s_reg.addr[11:4] & 8'(VF_VEC - 1));
      end
    end
  end
  assign forgetting  = NUM_FN > 1 && forgetting_q;
  assign free        = state_q == ST_IDLE && !forgetting;
  assign take_reg    = free && s_reg_valid;
  assign take_walk   = free && !s_reg_valid && walk_q && (walk_turn_q || !s_irq_valid);
  assign take_irq    = free && s_irq_valid && s_irq_ready;
  assign s_reg_ready = free;
  assign s_irq_ready = free && !s_reg_valid && !(walk_q && walk_turn_q);
  assign post_free   = !m_post_valid || m_post_ready;
  assign masked      = ram_rdata[96] || !may[owner(vec_q)];
  // in ST_SEND: a masked request waits, one that leaves does not wait any more, one that cannot leave makes way
  assign put_pending = masked ? is_req_q : (is_req_q || pending) && (post_free || s_reg_valid);

  always_comb begin
    ram_re    = state_q == ST_IDLE || state_q == ST_CHECK;
    ram_raddr = vec_q;
    if (state_q == ST_IDLE) begin
      if (s_reg_valid) ram_raddr = reg_vec;
      else if (take_irq) ram_raddr = s_irq_vector[VW-1:0];
      else ram_raddr = walk_vec_q;
    end
  end

  assign old_dw = ram_rdata[32*acc_addr_q[3:2] +: 32];
  always_comb begin
    for (int i = 0; i < 4; i++) new_dw[8*i +: 8] = acc_be_q[i] ? acc_wdata_q[8*i +: 8] : old_dw[8*i +: 8];
    if (acc_addr_q[3:2] == 2'b11) new_dw[31:1] = '0;
  end

  always_comb begin
    if (state_q == ST_INIT) begin
      ram_we    = 1'b1;
      ram_waddr = init_q;
      ram_wdata = {31'd0, 1'b1, 96'd0};  // control: masked
    end else begin
      ram_we    = state_q == ST_ACCESS && acc_wr_q && acc_table_q;
      ram_waddr = vec_q;
      ram_wdata = ram_rdata;
      ram_wdata[32*acc_addr_q[3:2] +: 32] = new_dw;
    end
  end

  // ---- pending bits: rows of 32 as the window has them, in parts of VF_VEC, each of one function
  localparam int PARTS  = (VECTORS + VF_VEC - 1) / VF_VEC;
  localparam int LANES  = 32 / VF_VEC;                    // parts of a row
  localparam int LANE_W = LANES > 1 ? $clog2(LANES) : 1;
  localparam int BIT_W  = VF_VEC > 1 ? VF_LOG2 : 1;
  logic [PARTS-1:0]             fresh_q;                  // the part has been written since it was forgotten
  logic [255:0]                 fresh_all;
  logic [LANES-1:0][VF_VEC-1:0] raw, row;                 // the row in which the vector is; what of it means anything
  logic [VF_VEC-1:0]            raw_part, part, part_w;   // ... the part; with the vector
  logic                         fresh;
  logic [7:0]                   at_part;
  logic [2:0]                   at_row;
  logic [LANE_W-1:0]            at_lane;
  logic [BIT_W-1:0]             at_bit;
  assign at_part   = 8'(at) >> VF_LOG2;
  assign at_row    = 3'(8'(at) >> 5);
  assign at_lane   = LANE_W'(at_part & 8'(LANES - 1));
  assign at_bit    = BIT_W'(8'(at) & 8'(VF_VEC - 1));
  assign fresh_all = 256'(fresh_q);
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [VF_VEC-1:0] mem_q [8];
    always_ff @(posedge clk)
      if (state_q == ST_SEND && put_pending && at_lane == LANE_W'(l)) mem_q[at_row] <= part_w;
    assign raw[l] = mem_q[at_row];
    assign row[l] = fresh_all[({at_row, 5'd0} >> VF_LOG2) | 8'(l)] ? raw[l] : '0;
  end
  assign fresh    = fresh_all[at_part];
  assign raw_part = raw[at_lane];
  assign part     = fresh ? raw_part : '0;
  assign pending  = fresh && raw_part[at_bit];
  assign at       = state_q == ST_IDLE ? walk_vec_q : vec_q;
  always_comb begin
    part_w         = part;
    part_w[at_bit] = masked || !post_free;
    pba            = row;                                 // the PF's, without what follows them in the last row
    for (int i = 0; i < 32; i++) if ({1'b0, at_row, 5'(i)} >= 9'(NUM_VEC)) pba[i] = 1'b0;
    if (acc_place_q != '0) pba = 32'(part);
  end

  always_comb begin
    forget = '0;
    for (int i = NUM_FN - 1; i >= 0; i--) if (forget_q[i]) forget = PLACE_W'(i);
  end

  // ---- state
  always_ff @(posedge clk) begin
    allow_q    <= allow;
    forget_q   <= forget_q | fn_rst;
    forgetting_q <= (forget_q | fn_rst) != '0;
    s_reg_rvalid <= 1'b0;
    if (m_post_ready) m_post_valid <= 1'b0;

    unique case (state_q)
      ST_INIT: begin
        init_q <= init_q + 1'b1;
        if (init_q == init_last_q) state_q <= ST_IDLE;
      end
      ST_IDLE: begin
        acc_wr_q    <= s_reg.wr;
        acc_addr_q  <= s_reg.addr[12:0];
        acc_be_q    <= s_reg.be;
        acc_wdata_q <= s_reg.wdata;
        acc_place_q <= reg_place;
        acc_table_q <= !s_reg.addr[12] && 9'(s_reg.addr[11:4]) < reg_vectors;
        acc_pba_q   <= s_reg.addr[12] && s_reg.addr[11:5] == '0 && {1'b0, s_reg.addr[4:2], 5'd0} < reg_vectors;
        is_req_q    <= take_irq;
        vec_q       <= s_reg_valid ? (s_reg.addr[12] && reg_place == '0 ? VW'({s_reg.addr[4:2], 5'd0}) : reg_vec)
                     : take_irq ? s_irq_vector[VW-1:0] : walk_vec_q;
        if (take_reg) begin
          state_q <= ST_ACCESS;
        end else if (take_irq) begin
          walk_turn_q <= 1'b1;
          // With several functions one that is not enabled is found masked in ST_SEND, and nothing of it is pending.
          if (s_irq_vector < 16'(VECTORS) && (NUM_FN > 1 || enabled[0])) state_q <= ST_SEND;
        end else if (take_walk) begin
          walk_turn_q <= 1'b0;
          walk_vec_q  <= walk_vec_q + 1'b1;
          if (walk_vec_q == VW'(VECTORS - 1)) walk_q <= 1'b0;
          if (pending) state_q <= ST_SEND;
        end
        if (forgetting && forget_q != '0) begin
          forget_q         <= forget_q & ~NUM_FN'(32'd1 << forget) | fn_rst;
          init_q           <= first_vector(forget);
          init_last_q      <= forget == '0 ? VW'(NUM_VEC - 1) : first_vector(forget) + VW'(VF_VEC - 1);
          state_q          <= ST_INIT;
        end
      end
      ST_ACCESS: begin
        s_reg_rvalid <= !acc_wr_q;
        s_reg_rdata  <= acc_table_q ? old_dw : acc_pba_q ? pba : '0;
        is_req_q   <= 1'b0;
        state_q    <= ST_IDLE;
        if (acc_wr_q && acc_table_q && acc_addr_q[3:2] == 2'b11 && !new_dw[0] && pending) begin
          state_q <= ST_CHECK;
        end
      end
      ST_CHECK: state_q <= ST_SEND;
      default: begin  // ST_SEND
        if (masked) begin
          state_q <= ST_IDLE;
        end else if (!is_req_q && !pending) begin
          state_q <= ST_IDLE;
        end else if (post_free) begin
          m_post_valid     <= 1'b1;
          post_addr_q      <= {ram_rdata[63:2], 2'b00};
          post_place_q     <= owner(vec_q);
          state_q          <= ST_IDLE;
        end else if (s_reg_valid) begin
          walk_q     <= 1'b1;
          walk_vec_q <= '0;
          state_q    <= ST_IDLE;
        end
      end
    endcase

    if ((allow & ~allow_q) != '0) begin
      walk_q     <= 1'b1;
      walk_vec_q <= '0;
    end
    for (int p = 0; p < PARTS; p++) begin
      if (state_q == ST_SEND && put_pending && at_part == 8'(p)) fresh_q[p] <= 1'b1;
      if (NUM_FN > 1 && state_q == ST_INIT && 8'(init_q) >> VF_LOG2 == 8'(p)) fresh_q[p] <= 1'b0;
      if (!enabled[owner(VW'(p << VF_LOG2))]) fresh_q[p] <= 1'b0;
    end
    if (rst) begin
      state_q      <= ST_INIT;
      init_q       <= '0;
      init_last_q  <= VW'(VECTORS - 1);
      fresh_q      <= '0;
      allow_q      <= '0;
      forget_q     <= '0;
      forgetting_q <= 1'b0;
      walk_q       <= 1'b0;
      walk_turn_q  <= 1'b0;
      s_reg_rvalid   <= 1'b0;
      m_post_valid <= 1'b0;
    end
  end

  always_ff @(posedge clk) if (state_q == ST_SEND && post_free) post_data_q <= ram_rdata[95:64];

  assign m_post = '{fn: NUM_FN == 1 ? '0 : fn_number(post_place_q), addr: post_addr_q, dwords: 3'd1,
                    data: 128'(post_data_q)};
endmodule
