// SPDX-License-Identifier: Apache-2.0
// MSI-X of one function: table, pending bits, and the writes to the host that are the interrupts, which the function
// sends. Another function's accesses find nothing (reads 0, writes ignored), and its interrupts are dropped.
//
// Register window of 8 KiB: the table at 0x0000 (16 bytes a vector: address, upper address, data, control with the
// mask in bit 0), the pending bits at 0x1000; what lies outside reads 0 and ignores writes. The table is one RAM, a
// vector a word; a write reads, merges the enabled bytes and writes back. After rst every vector is masked (NUM_VEC
// cycles, in which nothing is taken).
// A request for a vector that is masked, by its own bit or by the function's, sets its pending bit. It goes out once
// when the mask goes: at once after a write to the vector's control, by a walk over all vectors (a cycle a vector)
// when the function's mask falls. A message that cannot leave becomes a pending one when an access comes: accesses, so
// the host's posted writes, never wait for RQ (PCIe 2.4.1). With MSI-X disabled requests are dropped and the pending bits are cleared.
//
// Latency: 2 cycles from s_irq_valid to m_post_valid. Throughput: an interrupt every 2 cycles. Register accesses go
// first: 2 cycles to s_reg_rvalid.
module db_pcie_msix
  import db_pcie_pkg::*;
#(
  parameter int NUM_VEC = 33, ///< vectors, 1..256
  parameter int FN      = 0   ///< the function that they belong to, 0..255
) (
  input  logic        clk,
  input  logic        rst,

  /// of addr, the 13 bits in the window
  input  logic        s_reg_valid,
  output logic        s_reg_ready,
  input  reg_access_t s_reg,
  output logic        s_reg_rvalid,
  output logic [31:0] s_reg_rdata,

  input  logic        s_irq_valid,
  output logic        s_irq_ready,
  input  logic [7:0]  s_irq_fn,
  /// one that does not exist is dropped
  input  logic [15:0] s_irq_vector,

  input  logic        cfg_msix_enable,
  input  logic        cfg_msix_mask,

  output logic        m_post_valid,
  input  logic        m_post_ready,
  output post_t       m_post
);
  localparam int VW = NUM_VEC > 1 ? $clog2(NUM_VEC) : 1;

  if (NUM_VEC < 1 || NUM_VEC > 256) begin : g_bad
    $error("%m: NUM_VEC must be 1..256 (is %0d)", NUM_VEC);
  end
  if (FN < 0 || FN > 255) begin : g_bad_fn
    $error("%m: FN must be 0..255 (is %0d)", FN);
  end

  typedef enum logic [2:0] {
    ST_INIT,   // masks every vector
    ST_IDLE,
    ST_ACCESS, // a register's word is read
    ST_CHECK,  // a vector was unmasked: read its word
    ST_SEND    // the word is there
  } state_e;

  state_e             state_q;
  logic [VW-1:0]      init_q;
  logic [NUM_VEC-1:0] pending_q;
  logic               allow, allow_q;       // the function may send
  logic               walk_q, walk_turn_q;  // walking over pending vectors; its turn before a request
  logic [VW-1:0]      walk_vec_q;

  logic [VW-1:0]      vec_q;       // under way
  logic               is_req_q;    // a new request; else a pending one
  logic [63:0]        post_addr_q;
  logic [31:0]        post_data_q;

  // ---- register access
  logic        acc_wr_q, acc_table_q, acc_pba_q;
  logic [12:0] acc_addr_q;
  logic [3:0]  acc_be_q;
  logic [31:0] acc_wdata_q;
  logic [31:0] old_dw, new_dw;
  logic [255:0] pba;

  // ---- the table
  logic          ram_we, ram_re;
  logic [VW-1:0] ram_waddr, ram_raddr;
  logic [127:0]  ram_wdata, ram_rdata;  // control, data, upper address, address

  db_ram_sdp #(.WIDTH(128), .DEPTH(2 ** VW)) i_table (
    .clk, .we(ram_we), .waddr(ram_waddr), .wdata(ram_wdata), .re(ram_re), .raddr(ram_raddr), .rdata(ram_rdata)
  );

  logic take_reg, take_irq, take_walk, post_free, masked, put_pending;

  assign allow       = cfg_msix_enable && !cfg_msix_mask;
  assign take_reg    = state_q == ST_IDLE && s_reg_valid;
  assign take_walk   = state_q == ST_IDLE && !s_reg_valid && walk_q && (walk_turn_q || !s_irq_valid);
  assign take_irq    = state_q == ST_IDLE && s_irq_valid && s_irq_ready;
  assign s_reg_ready = state_q == ST_IDLE;
  assign s_irq_ready = state_q == ST_IDLE && !s_reg_valid && !(walk_q && walk_turn_q);
  assign post_free   = !m_post_valid || m_post_ready;
  assign masked      = ram_rdata[96] || !allow;
  // in ST_SEND: a masked request waits, one that leaves does not wait any more, one that cannot leave makes way
  assign put_pending = masked ? is_req_q : (is_req_q || pending_q[vec_q]) && (post_free || s_reg_valid);

  always_comb begin
    ram_re    = state_q == ST_IDLE || state_q == ST_CHECK;
    ram_raddr = vec_q;
    if (state_q == ST_IDLE) begin
      if (s_reg_valid) ram_raddr = s_reg.addr[4 +: VW];
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
      ram_waddr = acc_addr_q[4 +: VW];
      ram_wdata = ram_rdata;
      ram_wdata[32*acc_addr_q[3:2] +: 32] = new_dw;
    end
  end

  assign pba = 256'(pending_q);

  // ---- state
  always_ff @(posedge clk) begin
    allow_q    <= allow;
    s_reg_rvalid <= 1'b0;
    if (m_post_ready) m_post_valid <= 1'b0;
    init_q <= init_q + 1'b1;

    unique case (state_q)
      ST_INIT: if (init_q == VW'(NUM_VEC - 1)) state_q <= ST_IDLE;
      ST_IDLE: begin
        acc_wr_q    <= s_reg.wr;
        acc_addr_q  <= s_reg.addr[12:0];
        acc_be_q    <= s_reg.be;
        acc_wdata_q <= s_reg.wdata;
        acc_table_q <= s_reg.fn == 8'(FN) && !s_reg.addr[12] && 9'(s_reg.addr[11:4]) < 9'(NUM_VEC);
        acc_pba_q   <= s_reg.fn == 8'(FN) && s_reg.addr[12] && s_reg.addr[11:5] == '0;
        is_req_q    <= take_irq;
        vec_q       <= take_irq ? s_irq_vector[VW-1:0] : walk_vec_q;
        if (take_reg) begin
          state_q <= ST_ACCESS;
        end else if (take_irq) begin
          walk_turn_q <= 1'b1;
          if (cfg_msix_enable && s_irq_fn == 8'(FN) && s_irq_vector < 16'(NUM_VEC)) state_q <= ST_SEND;
        end else if (take_walk) begin
          walk_turn_q <= 1'b0;
          walk_vec_q  <= walk_vec_q + 1'b1;
          if (walk_vec_q == VW'(NUM_VEC - 1)) walk_q <= 1'b0;
          if (pending_q[walk_vec_q]) state_q <= ST_SEND;
        end
      end
      ST_ACCESS: begin
        s_reg_rvalid <= !acc_wr_q;
        s_reg_rdata  <= acc_table_q ? old_dw : acc_pba_q ? pba[32*acc_addr_q[4:2] +: 32] : '0;
        vec_q      <= acc_addr_q[4 +: VW];
        is_req_q   <= 1'b0;
        state_q    <= ST_IDLE;
        if (acc_wr_q && acc_table_q && acc_addr_q[3:2] == 2'b11 && !new_dw[0] && pending_q[acc_addr_q[4 +: VW]]) begin
          state_q <= ST_CHECK;
        end
      end
      ST_CHECK: state_q <= ST_SEND;
      default: begin  // ST_SEND
        if (put_pending) pending_q[vec_q] <= masked || !post_free;
        if (masked) begin
          state_q <= ST_IDLE;
        end else if (!is_req_q && !pending_q[vec_q]) begin
          state_q <= ST_IDLE;
        end else if (post_free) begin
          m_post_valid     <= 1'b1;
          post_addr_q      <= {ram_rdata[63:2], 2'b00};
          state_q          <= ST_IDLE;
        end else if (s_reg_valid) begin
          walk_q     <= 1'b1;
          walk_vec_q <= '0;
          state_q    <= ST_IDLE;
        end
      end
    endcase

    if (allow && !allow_q) begin
      walk_q     <= 1'b1;
      walk_vec_q <= '0;
    end
    if (!cfg_msix_enable) pending_q <= '0;
    if (rst) begin
      state_q      <= ST_INIT;
      init_q       <= '0;
      pending_q    <= '0;
      allow_q      <= 1'b0;
      walk_q       <= 1'b0;
      walk_turn_q  <= 1'b0;
      s_reg_rvalid   <= 1'b0;
      m_post_valid <= 1'b0;
    end
  end

  always_ff @(posedge clk) if (state_q == ST_SEND && post_free) post_data_q <= ram_rdata[95:64];

  assign m_post = '{fn: 8'(FN), addr: post_addr_q, dwords: 3'd1, data: 128'(post_data_q)};
endmodule
