// SPDX-License-Identifier: Apache-2.0
// First-word-fall-through FIFO, one clock.
//
// Why: the one queue used everywhere. DEPTH up to 64 is distributed RAM read straight into the output register;
// deeper ones are block RAM (db_ram_sdp) with one word prefetched behind the output register.
// Latency: 1 cycle (s_valid to m_valid) when empty: a word that finds the FIFO empty goes around the RAM. With AROUND 0
// every word goes through the RAM: 2 cycles, 3 with block RAM, and a LUT a bit less.
// Throughput: one word a cycle. The block RAM version can insert up to two empty cycles after it ran down to one
// word and the consumer stalled; never while two or more words wait inside.
// m_valid and m_data are registers; s_ready is a bit of the level register.
module db_fifo #(
  parameter int unsigned WIDTH = 8,  ///< bits in a word, at least 1
  parameter int unsigned DEPTH = 16, ///< words it holds in all, output register included; a power of two, at least 2
  parameter bit AROUND = 1'b1        ///< the shortest latency
) (
  input  logic                   clk,
  input  logic                   rst,

  input  logic                   s_valid,
  output logic                   s_ready,
  input  logic [WIDTH-1:0]       s_data,

  output logic                   m_valid,
  input  logic                   m_ready,
  output logic [WIDTH-1:0]       m_data,

  output logic [$clog2(DEPTH):0] level    ///< words inside, 0..DEPTH
);
  localparam int unsigned AW = $clog2(DEPTH);
  localparam bit BLOCK_RAM = DEPTH > 64;

  if (WIDTH < 1 || DEPTH < 2 || DEPTH != (1 << AW)) begin : g_bad
    $error("%m: WIDTH must be at least 1 (is %0d), DEPTH a power of two of at least 2 (is %0d)", WIDTH, DEPTH);
  end

  logic [AW:0]      level_q, level_up, level_down;
  logic [AW-1:0]    wptr_q, rptr_q;
  logic             m_valid_q;
  logic [WIDTH-1:0] m_data_q;

  logic push, pop, out_free, around, ram_we, ram_re;
  logic stored;                // a word is in the RAM itself: more are inside than in front of it
  logic behind_valid;          // a word read from the RAM, behind the output register
  logic [WIDTH-1:0] behind_data;

  assign s_ready  = !level_q[AW];
  assign level    = level_q;
  assign m_valid  = m_valid_q;
  assign m_data   = m_data_q;
  assign push     = s_valid && s_ready;
  assign pop      = m_valid_q && m_ready;
  assign out_free = !m_valid_q || m_ready;

  if (BLOCK_RAM) begin : g_bram
    logic behind_q;
    assign behind_valid = behind_q;
    assign stored       = level_q[AW:2] != '0 || level_q[1:0] > {m_valid_q && behind_q, m_valid_q ^ behind_q};
    assign ram_re       = stored && (!behind_q || out_free);
    assign around       = AROUND && !stored && !behind_q && out_free;
    db_ram_sdp #(.WIDTH(WIDTH), .DEPTH(DEPTH), .BLOCK(1'b1), .APART(1'b1)) i_ram (
        .clk, .we(ram_we), .waddr(wptr_q), .wdata(s_data), .re(ram_re), .raddr(rptr_q), .rdata(behind_data)
    );
    assert property (@(posedge clk) disable iff (rst) !(ram_we && ram_re && wptr_q == rptr_q));
    always_ff @(posedge clk) begin
      if (rst) behind_q <= 1'b0;
      else if (ram_re) behind_q <= 1'b1;
      else if (out_free) behind_q <= 1'b0;
    end
  end else begin : g_lutram
    (* ram_style = DEPTH > 16 ? "distributed" : "auto" *) logic [WIDTH-1:0] mem_q[DEPTH];
    // What finds the FIFO empty goes around the RAM, so with AROUND the output register has the only word.
    assign stored       = level_q[AW:1] != '0 || (!AROUND && level_q[0] && !m_valid_q);
    assign behind_valid = stored;
    assign behind_data  = mem_q[rptr_q];
    assign ram_re       = behind_valid && out_free;
    assign around       = AROUND && !behind_valid && out_free;
    always_ff @(posedge clk) if (ram_we) mem_q[wptr_q] <= s_data;
  end

  assign ram_we = push && !around;

  // Valid and ready come late: both neighbours of the level are there before, so that no adder follows them. Said with
  // AND and OR, as of a multiplexer of two sums yosys makes one adder behind the choice.
  assign level_up   = level_q + 1'b1;
  assign level_down = level_q - 1'b1;

  always_ff @(posedge clk) begin
    if (ram_we) wptr_q <= wptr_q + 1'b1;
    if (ram_re) rptr_q <= rptr_q + 1'b1;
    if (push != pop) level_q <= ({(AW + 1){push}} & level_up) | ({(AW + 1){!push}} & level_down);
    if (out_free) begin
      m_valid_q <= behind_valid || (push && around);
      m_data_q  <= (behind_valid || !AROUND) ? behind_data : s_data;
    end
    if (rst) begin
      wptr_q    <= '0;
      rptr_q    <= '0;
      level_q   <= '0;
      m_valid_q <= 1'b0;
    end
  end
endmodule
