// SPDX-License-Identifier: Apache-2.0
// Operator that reduces: SHA-256 of all data of a command. The data pass unchanged, a copy goes to one of CORES cores.
//
// A digest is serial by nature, so commands are dealt out to the cores in turn, each with a buffer of BUF_BYTES before
// it. While buffers have room the stream runs at one row a cycle; sustained, it waits for the cores. Rated: CORES x 64
// bytes in 65 cycles, less 65 cycles a command (4 KiB: 0.97 bytes a cycle a core, 512 bytes: 0.88); reached if
// BUF_BYTES holds a command. Results come in the order in which cores finish; the tag says whose.
// Latency: data 1 cycle. Commands of other operators pass at one row a cycle, but not past one that waits.
module db_csd_sha256
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 256,             ///< bits: 128, 256, 512
  parameter int CORES = 4,                ///< 1 to 16
  parameter int BUF_BYTES = 4096,         ///< a core's buffer: a power of two, at least 8 rows
  parameter bit FORMAT_PRESERVING = 1'b1  ///< declares: one row out for each row in
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic                     s_axis_tvalid,
  output logic                     s_axis_tready,
  input  logic [DATA_W-1:0]        s_axis_tdata,
  input  logic                     s_axis_tlast,
  input  row_ctx_t                 s_axis_tuser,
  output logic                     m_axis_tvalid,
  input  logic                     m_axis_tready,
  output logic [DATA_W-1:0]        m_axis_tdata,
  output logic                     m_axis_tlast,
  output row_ctx_t                 m_axis_tuser,
  /// results, one a command
  output logic                     m_res_valid,
  input  logic                     m_res_ready,
  output result_t                  m_res         ///< byte k in bits 8k+7:8k
);
  localparam int ROWS = BUF_BYTES * 8 / DATA_W;
  localparam int WORDS = DATA_W / 32;
  localparam int CW = CORES > 1 ? $clog2(CORES) : 1;
  if (CORES < 1 || CORES > 16 || ROWS < 8 || ROWS != (1 << $clog2(ROWS)) || !FORMAT_PRESERVING) begin : g_bad
    $error("%m: CORES must be 1 to 16 (is %0d), BUF_BYTES a power of two of 8 rows or more (is %0d)", CORES, BUF_BYTES);
  end

  logic             mine, skid_ready, room;
  logic [CW-1:0]    turn_q;      // the core that gets this command
  logic [CORES-1:0] buf_ready;
  assign mine          = s_axis_tuser.cmd.op == OP_SHA256;
  assign room          = !mine || buf_ready[turn_q];
  assign s_axis_tready = skid_ready && room;
  db_skid #(.WIDTH($bits(row_ctx_t) + 1 + DATA_W)) i_out (
    .clk, .rst,
    .s_valid(s_axis_tvalid && room), .s_ready(skid_ready), .s_data({s_axis_tuser, s_axis_tlast, s_axis_tdata}),
    .m_valid(m_axis_tvalid), .m_ready(m_axis_tready), .m_data({m_axis_tuser, m_axis_tlast, m_axis_tdata})
  );
  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready && mine && s_axis_tlast) turn_q <= 32'(turn_q) == CORES - 1 ? '0 : turn_q + 1'b1;
    if (rst) turn_q <= '0;
  end

  logic [CORES-1:0]     res_valid, res_take;
  logic [255:0]         res_digest[CORES];
  logic [CSD_TAG_W-1:0] res_tag[CORES];
  for (genvar c = 0; c < CORES; c++) begin : g_core
    logic                     row_valid, row_ready, row_last, word_ready, last_word;
    logic [DATA_W-1:0]        row;
    logic [CSD_TAG_W-1:0]     row_tag;
    logic [$clog2(WORDS)-1:0] word_q;
    logic                     core_clk;  // a digest's last rounds take 117 cycles
    db_clock_gate #(.AFTER(256)) i_clk (
      .clk, .awake(rst || (s_axis_tvalid && mine && turn_q == CW'(c)) || row_valid || res_valid[c]), .m_clk(core_clk));
    db_fifo #(.WIDTH(CSD_TAG_W + 1 + DATA_W), .DEPTH(ROWS)) i_buf (
      .clk(core_clk), .rst, .level(),
      .s_valid(s_axis_tvalid && skid_ready && mine && turn_q == CW'(c)), .s_ready(buf_ready[c]),
      .s_data({s_axis_tuser.cmd.tag, s_axis_tlast, s_axis_tdata}),
      .m_valid(row_valid), .m_ready(row_ready), .m_data({row_tag, row_last, row})
    );
    assign last_word = 32'(word_q) == WORDS - 1;
    assign row_ready = word_ready && last_word;
    always_ff @(posedge core_clk) begin
      if (row_valid && word_ready) word_q <= word_q + 1'b1;
      if (rst) word_q <= '0;
    end
    db_sha256_core #(.TAG_W(CSD_TAG_W)) i_sha (
      .clk(core_clk), .rst,
      .s_valid(row_valid), .s_ready(word_ready), .s_word(row[32*word_q+:32]), .s_last(row_last && last_word),
      .s_tag(row_tag),
      .m_valid(res_valid[c]), .m_ready(res_take[c]), .m_digest(res_digest[c]), .m_tag(res_tag[c])
    );
  end

  // ---- one result at a time into the output register, from whoever has one, in turn
  logic                 out_valid_q;
  logic [CW-1:0]        look_q;   // the core looked at
  result_t              out_q;
  always_comb begin
    res_take = '0;
    res_take[look_q] = !out_valid_q;
  end
  always_ff @(posedge clk) begin
    if (m_res_ready) out_valid_q <= 1'b0;
    if (!out_valid_q) begin
      if (res_valid != '0) look_q <= 32'(look_q) == CORES - 1 ? '0 : look_q + 1'b1;
      out_valid_q  <= res_valid[look_q];
      out_q        <= '{tag: res_tag[look_q], digest: res_digest[look_q]};
    end
    if (rst) begin
      out_valid_q <= 1'b0;
      look_q      <= '0;
    end
  end
  assign m_res_valid = out_valid_q;
  assign m_res       = out_q;
endmodule
