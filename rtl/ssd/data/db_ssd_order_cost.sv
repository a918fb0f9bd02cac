// SPDX-License-Identifier: Apache-2.0
// What a command costs its function: stretches of 512 bytes of link and media, and those by the function's weight.
//
// A command that moves data or looks at the media costs its bytes, a range of Dataset Management as much as 4 KiB,
// any command at least one stretch and at most MOST. A near-storage command costs at least 4 KiB: its program may
// have to be loaded, which takes the path for as long. With a list of an SGL it costs LIST stretches or more, so
// that no list is waited for, and beside them what its descriptors take the walker: 4 cycles each, in which the link
// moves DATA_W / 2 bytes. A list that goes beyond a page, or on in another segment, counts as all that the walker's
// budget is (db_nvme_sgl_walk), and so does one that says where data lie (from_sgl). What goes in pieces
// (db_ssd_order_pieces) costs so much for each. Divided by the weight, as a fraction with 16 bits, that is how far the
// function's turn moves (db_ssd_order_turn). Beside it goes the function's deadline.
// Latency: 3 cycles. Throughput: one a cycle.
module db_ssd_order_cost
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int DATA_W = 256,   ///< bits of a row: 128, 256, 512
  parameter bit SGL    = 1'b0,  ///< takes SGLs
  /// what the media does alone is marked as what moves user data; else a near-storage command is not: its segments do not
  /// say what the media has given
  parameter bit AHEAD = 1'b0,
  parameter bit DEADLINES = 1'b0 ///< functions may have deadlines
) (
  input  logic         clk,
  input  logic         rst,            ///< all have weight 1 and no deadline; 32 cycles
  /// Pulse: a function's weight, 1..255, and deadline.
  input  logic         s_share_valid,
  input  fn_share_t    s_share,
  input  logic [1:0]   s_valid,        ///< a command for [0] the read engine, [1] the write engine
  input  cmd_t         s_cmd,
  output logic [1:0]   m_valid,
  output order_entry_t m_entry
);
  localparam logic [COST_W-1:0] MOST = '1;
  localparam logic [COST_W-1:0] LIST = COST_W'(4);
  localparam int DESC_LOG2 = 10 - $clog2(DATA_W);  // descriptors in the time of a stretch

  // 1 / weight, of 16 bits
  typedef logic [255:0][15:0] reciprocals_t;
  function automatic reciprocals_t reciprocals();
    reciprocals[0] = '1;
    for (int w = 1; w < 256; w++) reciprocals[w] = 16'(65535 / w);
  endfunction
  localparam reciprocals_t RECIPROCAL = reciprocals();

  logic [15:0]        share_mem_q [2 ** PLACE_W];
  logic               set_q;
  logic [PLACE_W-1:0] set_place_q, init_q;
  logic               init_busy_q;
  logic [15:0]        set_share_q;
  logic [DEADLINE_W-1:0] deadline_mem_q [2 ** PLACE_W];
  logic [DEADLINE_W-1:0] set_deadline_q, deadline_q;
  always_ff @(posedge clk) begin
    set_q       <= s_share_valid;
    set_place_q <= s_share.place;
    set_share_q <= RECIPROCAL[s_share.weight];
    set_deadline_q <= s_share.deadline;
    if (init_busy_q || set_q) deadline_mem_q[init_busy_q ? init_q : set_place_q] <= init_busy_q ? '0 : set_deadline_q;
    if (init_busy_q || set_q) share_mem_q[init_busy_q ? init_q : set_place_q] <= init_busy_q ? '1 : set_share_q;
    if (init_busy_q) init_q <= init_q + 1'b1;
    if (init_q == '1) init_busy_q <= 1'b0;
    if (rst) begin
      init_q      <= '0;
      init_busy_q <= 1'b1;
    end
  end

  logic [1:0]        valid_q, valid2_q;
  logic              computes_q, points, lists_q, one_piece, far;  // far: of the media's, with AHEAD
  sgl_desc_t         desc;
  logic [COST_W:0]   count_q, most, sum;  // descriptors; ... that a list has at most; cost with them
  logic [COST_W-1:0] own;
  order_entry_t      entry_q, entry2_q, entry3_q;
  logic [31:0]       stretches;
  logic [15:0]       share_q;
  always_comb begin
    stretches = s_cmd.bytes >> 9;
    if (s_cmd.desc.ranges) stretches = s_cmd.bytes[12:PIECE_W] != '0 ? 32'(8 * PIECE_RANGES) : s_cmd.bytes >> 1;
  end
  assign far       = (s_cmd.desc.user_data && !s_cmd.desc.memory) || s_cmd.desc.flush || s_cmd.desc.zero;
  assign desc      = {s_cmd.prp2, s_cmd.prp1};
  assign points    = SGL && s_cmd.sgl && !s_cmd.desc.fills &&
                     (s_cmd.desc.to_host || s_cmd.desc.from_host || s_cmd.desc.copies) &&
                     desc.kind[3:1] == 3'b001;
  assign one_piece = desc.kind == SGL_LAST_SEGMENT && desc.bytes[31:13] == '0 &&
                     11'(desc.addr[11:3]) + 11'(desc.bytes[12:3]) <= 11'd512;
  assign most      = (COST_W + 1)'(256) + (COST_W + 1)'(stretches[COST_W-1:0]);
  assign sum       = (COST_W + 1)'(own) + (count_q >> DESC_LOG2);
  assign own       = computes_q && entry_q.cost[COST_W-1:3] == '0 ? COST_W'(8) : entry_q.cost;
  always_ff @(posedge clk) begin
    entry_q       <= '{place: fn_place(s_cmd.fn), slot: s_cmd.slot,
                       user_data: AHEAD ? far : s_cmd.desc.user_data && !s_cmd.desc.computes,
                       cost: stretches[COST_W-1:0], step: '0, deadline: '0};
    if ((points || s_cmd.desc.from_sgl) && stretches < 32'(LIST)) entry_q.cost <= LIST;
    else if (stretches == '0)          entry_q.cost <= COST_W'(1);
    else if (stretches >= 32'd1 << COST_W) entry_q.cost <= MOST;
    computes_q    <= s_cmd.desc.computes;
    entry2_q      <= entry_q;
    lists_q       <= points || s_cmd.desc.from_sgl;
    count_q       <= (points ? (one_piece ? (COST_W + 1)'(desc.bytes[12:4]) : most) : '0) +
                     (s_cmd.desc.from_sgl ? most : '0);
    if (computes_q && entry_q.cost[COST_W-1:3] == '0) entry2_q.cost <= COST_W'(8);
    if (SGL && lists_q) entry2_q.cost <= sum[COST_W] ? MOST : sum[COST_W-1:0];
    share_q       <= share_mem_q[entry_q.place];
    deadline_q    <= DEADLINES ? deadline_mem_q[entry_q.place] : '0;
    entry3_q      <= entry2_q;
    entry3_q.step <= STEP_W'(entry2_q.cost) * STEP_W'(share_q);
    entry3_q.deadline <= deadline_q;
    valid_q       <= rst ? '0 : s_valid;
    valid2_q      <= rst ? '0 : valid_q;
    m_valid       <= rst ? '0 : valid2_q;
  end
  assign m_entry = entry3_q;
endmodule
