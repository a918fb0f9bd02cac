// SPDX-License-Identifier: Apache-2.0
// AXI4-Stream FIFO whose memory is outside, on AXI4 (DDR, HBM): for seconds of buffering before a recorder or a host.
//
// Rows are collected in a block RAM FIFO, written in bursts to a ring, read as soon as the write has its response, and
// leave through a second such FIFO. A burst that is not whole goes when no row came for FLUSH_CYCLES. With BYPASS
// rows take the short way from FIFO to FIFO while the memory is empty, and leave their places of the ring out, so that
// bursts and blocks stay aligned. tlast is not stored: it leaves with each BLOCK_BYTES, and must come so.
// Throughput: a row in and a row out every cycle, if the memory takes and gives one. Latency: on the short way 6 cycles
// (FAST: 2). Through the memory 4 from a burst's last row to AW, 3 more to W, 5 from B to AR, 3 (FAST: 1) from R to
// the output.
// Reset only together with the memory's port: bursts under way are forgotten.
module db_axi_fifo #(
  parameter int unsigned     DATA_W            = 256,        ///< bits of a row: 128, 256, 512, 1024
  parameter int unsigned     ADDR_W            = 40,         ///< bits of an address: 16..64
  parameter longint unsigned BYTES             = 1 << 30,    ///< ring: power of two, 2 bursts .. 2^40
  parameter longint unsigned BASE              = 0,          ///< its address: multiple of BYTES
  parameter int unsigned     BURST_BYTES       = 4096,       ///< power of two, 16..256 rows, at most 4096
  parameter int unsigned     BLOCK_BYTES       = 4096,       ///< tlast each so many: power of two, 16 rows ..; 0: never
  parameter bit              BYPASS            = 1'b1,       ///< the short way while the memory is empty
  parameter bit              FAST              = 1'b0,       ///< 4 cycles less, for DATA_W LUTs twice
  parameter int unsigned     FLUSH_CYCLES      = 256,        ///< pause after which a partial burst goes: 8..65535
  parameter int unsigned     IN_ROWS           = 512,        ///< FIFOs: powers of two, at least 2 bursts, 128..65536
  parameter int unsigned     OUT_ROWS          = 512,
  parameter longint unsigned ALMOST_FULL_BYTES = BYTES / 2   ///< level from which almost_full is high
) (
  input  logic                clk,
  input  logic                rst,

  input  logic                s_axis_tvalid,
  output logic                s_axis_tready,
  input  logic [DATA_W-1:0]   s_axis_tdata,
  input  logic                s_axis_tlast,
  output logic                m_axis_tvalid,
  input  logic                m_axis_tready,
  output logic [DATA_W-1:0]   m_axis_tdata,
  output logic                m_axis_tlast,

  output logic [40:0]         level,        ///< bytes inside, FIFOs included
  output logic                almost_full,  ///< a cycle after level
  output logic                error,        ///< stays: the memory answered SLVERR or DECERR; data is wrong
  output logic                bad_last,     ///< stays: tlast came where none leaves, or not where one does

  output logic                m_axi_awid,
  output logic [ADDR_W-1:0]   m_axi_awaddr,
  output logic [7:0]          m_axi_awlen,
  output logic [2:0]          m_axi_awsize,
  output logic [1:0]          m_axi_awburst,
  output logic                m_axi_awvalid,
  input  logic                m_axi_awready,
  output logic [DATA_W-1:0]   m_axi_wdata,
  output logic [DATA_W/8-1:0] m_axi_wstrb,
  output logic                m_axi_wlast,
  output logic                m_axi_wvalid,
  input  logic                m_axi_wready,
  input  logic                m_axi_bid,
  input  logic [1:0]          m_axi_bresp,
  input  logic                m_axi_bvalid,
  output logic                m_axi_bready,
  output logic                m_axi_arid,
  output logic [ADDR_W-1:0]   m_axi_araddr,
  output logic [7:0]          m_axi_arlen,
  output logic [2:0]          m_axi_arsize,
  output logic [1:0]          m_axi_arburst,
  output logic                m_axi_arvalid,
  input  logic                m_axi_arready,
  input  logic                m_axi_rid,
  input  logic [DATA_W-1:0]   m_axi_rdata,
  input  logic [1:0]          m_axi_rresp,
  input  logic                m_axi_rlast,
  input  logic                m_axi_rvalid,
  output logic                m_axi_rready
);
  localparam int unsigned     ROW_LOG2  = $clog2(DATA_W / 8);
  localparam longint unsigned ROWS      = BYTES >> ROW_LOG2;
  localparam int unsigned     ROW_W     = $clog2(ROWS);
  localparam int unsigned     CUT_BYTES = (BLOCK_BYTES != 0 && BLOCK_BYTES < BURST_BYTES) ? BLOCK_BYTES : BURST_BYTES;
  localparam int unsigned     BURST     = CUT_BYTES >> ROW_LOG2;  // rows: a block's end is a burst's end
  localparam int unsigned     LEVEL_W   = 41 - ROW_LOG2;
  localparam int unsigned     BURSTS    = 16;                   // writes without their response

  if (!(DATA_W inside {128, 256, 512, 1024}) || ADDR_W < 16 || ADDR_W > 64) begin : g_bad_width
    $error("%m: DATA_W must be 128, 256, 512 or 1024 (is %0d), ADDR_W 16..64 (is %0d)", DATA_W, ADDR_W);
  end
  if (BURST_BYTES != (1 << $clog2(BURST_BYTES)) || BURST_BYTES > 4096 || (BURST_BYTES >> ROW_LOG2) > 256 ||
      BURST < 16 || (BLOCK_BYTES != 0 && BLOCK_BYTES != (1 << $clog2(BLOCK_BYTES)))) begin : g_bad_burst
    $error("%m: BURST_BYTES, BLOCK_BYTES: powers of two, 16 rows or more; a burst at most 256 rows, 4096 bytes");
  end
  if (BYTES != (64'd1 << $clog2(BYTES)) || ROWS < 64'(2 * BURST) || BYTES > (64'd1 << 40) || $clog2(BYTES) > ADDR_W ||
      (BASE & (BYTES - 64'd1)) != 64'd0) begin : g_bad_ring
    $error("%m: BYTES must be a power of two, 2 bursts .. 2^40 and within ADDR_W, BASE a multiple of BYTES");
  end
  if (IN_ROWS < 2 * BURST || IN_ROWS < 128 || IN_ROWS > 65536 || OUT_ROWS < 2 * BURST || OUT_ROWS < 128 ||
      OUT_ROWS > 65536 || FLUSH_CYCLES < 8 || FLUSH_CYCLES > 65535) begin : g_bad_fifo
    $error("%m: IN_ROWS and OUT_ROWS must be 128..65536, at least 2 bursts; FLUSH_CYCLES 8..65535");
  end

  logic              in_valid, in_ready, out_valid, out_ready, push, pop, direct, pass, w_take, w_last;
  logic [DATA_W-1:0] in_data;
  logic              aw_whole, ring_empty, aw_cut, aw_enable, leave;
  logic [8:0]        aw_rows, len_data, w_rows, done_rows_q;
  logic [ROW_W-1:0]  aw_row, ar_row;
  logic              len_valid, w_len_valid, b_ready, through_q, paused_q, w_on_q;
  logic [7:0]        w_left_q;
  logic [15:0]       pause_q;
  logic [LEVEL_W-1:0] level_q;

  // The FIFOs at both ends. Which way: memory (through_q) once the output is stopped and a whole burst waits, until
  // the ring is empty. `pass`: a row on the short way.
  db_fifo #(.WIDTH(DATA_W), .DEPTH(IN_ROWS), .AROUND(FAST)) i_in (
    .clk, .rst, .s_valid(s_axis_tvalid), .s_ready(s_axis_tready), .s_data(s_axis_tdata),
    .m_valid(in_valid), .m_ready(in_ready), .m_data(in_data), .level());
  db_fifo #(.WIDTH(DATA_W), .DEPTH(OUT_ROWS), .AROUND(FAST)) i_out (
    .clk, .rst, .s_valid(out_valid), .s_ready(out_ready), .s_data(through_q ? m_axi_rdata : in_data),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data(m_axis_tdata), .level());

  assign push      = s_axis_tvalid && s_axis_tready;
  assign pop       = m_axis_tvalid && m_axis_tready;
  assign direct    = !through_q && out_ready;
  assign pass      = direct && in_valid;
  assign in_ready  = direct || w_take;
  assign out_valid = pass || m_axi_rvalid;

  if (BYPASS) begin : g_bypass
    assign leave = through_q && ring_empty && out_ready;
    always_ff @(posedge clk) begin
      if (leave) through_q <= 1'b0;
      else if (!out_ready && aw_whole) through_q <= 1'b1;
      if (rst) through_q <= 1'b0;
    end
  end else begin : g_memory
    assign leave     = 1'b0;
    assign through_q = 1'b1;
  end

  // Bursts each way. A row can be read when its burst's response is here, and its place written when it was read.
  assign aw_enable = through_q && !leave && len_valid;
  db_axi_fifo_burst #(.ROW_W(ROW_W), .WAIT_W($clog2(IN_ROWS) + 1), .LIMIT(ROWS), .BURST(BURST), .READ(1'b0)) i_aw (
    .clk, .rst, .enable(aw_enable), .partial(paused_q), .s_rows(9'(push)), .s_pass(pass), .s_free(m_axi_rvalid),
    .m_whole(aw_whole), .m_empty(ring_empty), .m_cut(aw_cut), .m_rows(aw_rows),
    .m_valid(m_axi_awvalid), .m_ready(m_axi_awready), .m_row(aw_row), .m_len(m_axi_awlen));
  db_axi_fifo_burst #(.ROW_W(ROW_W), .WAIT_W(ROW_W + 1), .LIMIT(64'(OUT_ROWS)), .BURST(BURST), .READ(1'b1)) i_ar (
    .clk, .rst, .enable(1'b1), .partial(1'b1), .s_rows(done_rows_q), .s_pass(pass), .s_free(pop),
    .m_whole(), .m_empty(), .m_cut(), .m_rows(),
    .m_valid(m_axi_arvalid), .m_ready(m_axi_arready), .m_row(ar_row), .m_len(m_axi_arlen));

  // Extents of the bursts written: until their last row leaves, and until their response.
  db_fifo #(.WIDTH(9), .DEPTH(BURSTS)) i_w_len (
    .clk, .rst, .s_valid(aw_cut), .s_ready(), .s_data(aw_rows),
    .m_valid(w_len_valid), .m_ready(!w_on_q || w_last), .m_data(w_rows), .level());
  db_fifo #(.WIDTH(9), .DEPTH(BURSTS)) i_b_len (
    .clk, .rst, .s_valid(aw_cut), .s_ready(len_valid), .s_data(aw_rows),
    .m_valid(b_ready), .m_ready(m_axi_bvalid), .m_data(len_data), .level());

  assign w_take = w_on_q && in_valid && (!m_axi_wvalid || m_axi_wready);
  assign w_last = w_take && w_left_q == '0;

  always_ff @(posedge clk) begin
    done_rows_q <= (m_axi_bvalid && b_ready) ? len_data : '0;
    if (!w_on_q || w_last) begin
      w_on_q   <= w_len_valid;
      w_left_q <= 8'(w_rows - 1'b1);
    end else if (w_take) begin
      w_left_q <= w_left_q - 1'b1;
    end
    if (!m_axi_wvalid || m_axi_wready) begin
      m_axi_wvalid <= w_take;
      m_axi_wlast  <= w_left_q == '0;
      m_axi_wdata  <= in_data;
    end
    paused_q <= !push && pause_q == '0;
    if (push) pause_q <= 16'(FLUSH_CYCLES - 1);
    else if (pause_q != '0) pause_q <= pause_q - 1'b1;
    level_q     <= level_q + LEVEL_W'(push) - LEVEL_W'(pop);
    almost_full <= level_q >= LEVEL_W'(ALMOST_FULL_BYTES >> ROW_LOG2);
    if ((m_axi_bvalid && m_axi_bresp[1]) || (m_axi_rvalid && m_axi_rresp[1])) error <= 1'b1;
    if (rst) begin
      done_rows_q  <= '0;
      w_on_q       <= 1'b0;
      m_axi_wvalid <= 1'b0;
      pause_q      <= '0;
      level_q      <= '0;
      almost_full  <= 1'b0;
      error        <= 1'b0;
    end
  end
  assign level = {level_q, ROW_LOG2'(0)};

  if (BLOCK_BYTES != 0) begin : g_last
    localparam int unsigned BW = $clog2(BLOCK_BYTES >> ROW_LOG2);
    logic [BW-1:0] in_q, out_q;   // rows of the block
    logic          last_q;        // the row on offer, or the next one, is a block's last
    assign m_axis_tlast = last_q;
    always_ff @(posedge clk) begin
      if (push) in_q <= in_q + 1'b1;
      if (push && s_axis_tlast != (&in_q)) bad_last <= 1'b1;
      if (pop) begin
        out_q  <= out_q + 1'b1;
        last_q <= out_q == BW'((BLOCK_BYTES >> ROW_LOG2) - 2);
      end
      if (rst) begin
        in_q     <= '0;
        out_q    <= '0;
        last_q   <= 1'b0;
        bad_last <= 1'b0;
      end
    end
  end else begin : g_no_last
    assign m_axis_tlast = 1'b0;
    assign bad_last     = 1'b0;
  end

  assign m_axi_awid    = 1'b0;
  assign m_axi_awaddr  = ADDR_W'(BASE) | ADDR_W'({aw_row, ROW_LOG2'(0)});
  assign m_axi_awsize  = 3'(ROW_LOG2);
  assign m_axi_awburst = 2'b01;
  assign m_axi_wstrb   = '1;
  assign m_axi_bready  = 1'b1;
  assign m_axi_arid    = 1'b0;
  assign m_axi_araddr  = ADDR_W'(BASE) | ADDR_W'({ar_row, ROW_LOG2'(0)});
  assign m_axi_arsize  = 3'(ROW_LOG2);
  assign m_axi_arburst = 2'b01;
  assign m_axi_rready  = 1'b1;   // only what there is room for is read

  logic unused;
  assign unused = &{1'b0, aw_whole, ring_empty, m_axi_bid, m_axi_rid, m_axi_rlast};

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (m_axi_rvalid) assert (out_ready && through_q);
    if (m_axi_bvalid) assert (b_ready);
    if (w_on_q && through_q) assert (!pass);
  end
`endif
endmodule
