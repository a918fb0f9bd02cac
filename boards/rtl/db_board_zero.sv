// SPDX-License-Identifier: Apache-2.0
// Commands of db_ssd's media port for a memory that knows only AXI4: flush is answered at once, as a DRAM keeps nothing
// back; zero writes zeros. Its bursts go between those of the controller, in turn; they have id 1, the controller's id 0.
//
// Bursts of at most 1 KiB, inside 1 KiB. W of a burst follows the order of the addresses.
// Latency: an address and a row of the controller 0 cycles; a flush 1 cycle. Throughput: a row a cycle.
`include "db_board_axi.svh"
module db_board_zero #(
  parameter int DATA_W = 256,  ///< 128, 256, 512
  parameter int ADDR_W = 40,   ///< bits of a media address, 20..64
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type write_req_t = `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type write_rsp_t = `DB_BOARD_WRITE_RSP_T
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_cmd_valid,
  output logic              s_cmd_ready,
  input  logic [1:0]        s_cmd_op,
  input  logic [ADDR_W-1:0] s_cmd_addr,
  input  logic [63:0]       s_cmd_bytes,  ///< a multiple of 512
  output logic              m_rsp_valid,
  output logic              m_rsp_err,
  input  axi_write_req_t    s_axi_write_req,  ///< the controller's writes
  output axi_write_rsp_t    s_axi_write_rsp,
  output write_req_t        m_write_req,      ///< all writes
  input  write_rsp_t        m_write_rsp
);
  localparam int ROW_LOG2   = $clog2(DATA_W / 8);
  localparam int BURST_LOG2 = 10 - ROW_LOG2;    // rows of 1 KiB
  localparam int UNDER_WAY  = 32;               // bursts of zeros
  localparam logic [1:0] OP_FLUSH = 2'd0, OP_ZERO = 2'd1;
  if ((DATA_W != 128 && DATA_W != 256 && DATA_W != 512) || ADDR_W < 20 || ADDR_W > 64) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), ADDR_W 20..64 (is %0d)", DATA_W, ADDR_W);
  end
  typedef enum logic [1:0] {ST_IDLE, ST_ISSUE, ST_WAIT, ST_DONE} state_e;

  // ---- zeros: rows that have no address yet, rows that have not been sent, bursts without a response
  state_e                   state_q;
  logic [ADDR_W-1:ROW_LOG2] row_q;
  logic [63-ROW_LOG2:0]     left_q;
  logic [BURST_LOG2:0]      to_edge, rows;
  logic [5:0]               owed_q;
  logic                     err_q, fill_awvalid, fill_aw, fill_w, fill_b;
  assign to_edge      = (BURST_LOG2+1)'(1 << BURST_LOG2) - {1'b0, row_q[ROW_LOG2+:BURST_LOG2]};
  assign rows         = left_q < (64-ROW_LOG2)'(to_edge) ? left_q[BURST_LOG2:0] : to_edge;
  assign fill_awvalid = state_q == ST_ISSUE && owed_q != 6'(UNDER_WAY);
  assign s_cmd_ready  = state_q == ST_IDLE;
  assign m_rsp_valid  = state_q == ST_DONE;
  assign m_rsp_err    = err_q;
  always_ff @(posedge clk) begin
    unique case (state_q)
      ST_IDLE: if (s_cmd_valid) begin
        row_q   <= s_cmd_addr[ADDR_W-1:ROW_LOG2];
        left_q  <= s_cmd_bytes[63:ROW_LOG2];
        err_q   <= s_cmd_op != OP_FLUSH && s_cmd_op != OP_ZERO;
        state_q <= s_cmd_op == OP_ZERO && s_cmd_bytes[63:ROW_LOG2] != '0 ? ST_ISSUE : ST_DONE;
      end
      ST_ISSUE: if (fill_aw) begin
        row_q  <= row_q + (ADDR_W-ROW_LOG2)'(rows);
        left_q <= left_q - (64-ROW_LOG2)'(rows);
        if (left_q == (64-ROW_LOG2)'(rows)) state_q <= ST_WAIT;
      end
      ST_WAIT: if (owed_q == '0) state_q <= ST_DONE;
      default: state_q <= ST_IDLE;
    endcase
    if (fill_b && m_write_rsp.axi.b[1]) err_q <= 1'b1;
    owed_q <= owed_q + 6'(fill_aw) - 6'(fill_b);
    if (rst) begin
      state_q <= ST_IDLE;
      owed_q  <= '0;
    end
  end

  // ---- addresses in turn; one on offer stays
  logic pick, pick_q, held_q, turn_q, owner_ready, owner_valid, owner_fill, aw_valid, aw_go, w_valid, w_last, w_go;
  assign pick     = held_q ? pick_q : fill_awvalid && (!s_axi_write_req.aw_valid || turn_q);
  assign aw_valid = owner_ready && (pick ? fill_awvalid : s_axi_write_req.aw_valid);
  assign aw_go    = aw_valid && m_write_rsp.axi.aw_ready;
  assign fill_aw  = aw_go && pick;
  always_ff @(posedge clk) begin
    pick_q <= pick;
    held_q <= aw_valid && !m_write_rsp.axi.aw_ready;
    if (aw_go) turn_q <= !pick;
    if (rst) begin
      held_q <= 1'b0;
      turn_q <= 1'b0;
    end
  end

  // ---- rows, in the order of the addresses
  logic [BURST_LOG2:0] sent_q, owner_rows;
  db_fifo #(.WIDTH(BURST_LOG2 + 2), .DEPTH(64)) i_owners (
    .clk, .rst, .s_valid(aw_go), .s_ready(owner_ready), .s_data({pick, rows}), .m_valid(owner_valid),
    .m_ready(w_go && w_last), .m_data({owner_fill, owner_rows}), .level());
  assign w_last  = owner_fill ? sent_q + 1'b1 == owner_rows : s_axi_write_req.w.last;
  assign w_valid = owner_valid && (owner_fill || s_axi_write_req.w_valid);
  assign w_go    = w_valid && m_write_rsp.axi.w_ready;
  assign fill_w  = w_go && owner_fill;
  always_ff @(posedge clk) begin
    if (fill_w) sent_q <= w_last ? '0 : sent_q + 1'b1;
    if (rst) sent_q <= '0;
  end

  // ---- both together
  // Responses are taken when the controller takes its own, whosever they are: no ready follows an input.
  assign fill_b = m_write_rsp.axi.b_valid && m_write_rsp.b_id && s_axi_write_req.b_ready;
  always_comb begin
    m_write_req.aw_id        = pick;
    m_write_req.axi          = s_axi_write_req;
    m_write_req.axi.aw_valid = aw_valid;
    m_write_req.axi.w_valid  = w_valid;
    m_write_req.axi.w.last   = w_last;
    if (pick) m_write_req.axi.aw = '{fua: 1'b0, addr: {row_q, ROW_LOG2'(0)}, len: 8'(rows - 1'b1)};
    if (owner_fill) {m_write_req.axi.w.strb, m_write_req.axi.w.data} = {{DATA_W / 8{1'b1}}, DATA_W'(0)};
  end
  assign s_axi_write_rsp = '{
    aw_held: 1'b0, aw_ready: m_write_rsp.axi.aw_ready && owner_ready && !pick,
    w_ready: m_write_rsp.axi.w_ready && owner_valid && !owner_fill,
    b_valid: m_write_rsp.axi.b_valid && !m_write_rsp.b_id, b: m_write_rsp.axi.b};
endmodule
