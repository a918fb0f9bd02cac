// SPDX-License-Identifier: Apache-2.0
// Proof of db_axi_page_lock: of a page that has bursts at the slave, all read or all write.
//
// One counter, any (watch_q), is followed; as it is any, this holds for all, and so for each page. What is at the slave is
// what stands in the FIFOs; they hold as many as the slave has taken and not answered. Answers come in any order but within
// an id.
module db_axi_page_lock_formal #(
  parameter int ENTRIES = 4,
  parameter bit COVER   = 1'b0         // only one course of events, to show that it can happen
) (
  input logic        clk,
  input logic        rst,
  input logic        ar_load,
  input logic [15:0] ar_load_addr,
  input logic        ar_load_id,
  input logic        ar_ready,
  input logic        r_end,
  input logic        r_id,
  input logic        aw_load,
  input logic [15:0] aw_load_addr,
  input logic        aw_ready,
  input logic        b_end
);
  localparam int INDEX_W = $clog2(ENTRIES);

  // ---- the masters: what is offered stays
  logic        ar_valid_q, ar_id_q, aw_valid_q, ar_may, aw_may, b_may;
  logic [15:0] ar_addr_q, aw_addr_q;
  always_ff @(posedge clk) begin
    if (ar_load) {ar_valid_q, ar_id_q, ar_addr_q} <= {1'b1, ar_load_id, ar_load_addr};
    else if (ar_may && ar_ready) ar_valid_q <= 1'b0;
    if (aw_load) {aw_valid_q, aw_addr_q} <= {1'b1, aw_load_addr};
    else if (aw_may && aw_ready) aw_valid_q <= 1'b0;
    if (rst) {ar_valid_q, aw_valid_q} <= 2'b00;
  end
  always_comb begin
    assume (!(ar_load && ar_valid_q));
    assume (!(aw_load && aw_valid_q));
  end

  db_axi_page_lock #(.ADDR_W(16), .ENTRIES(ENTRIES), .READS(2), .WRITES(2)) dut (
    .clk, .rst, .ar_load, .ar_load_addr, .ar_valid(ar_valid_q), .ar_addr(ar_addr_q), .ar_id(ar_id_q), .ar_may,
    .ar_ready, .r_end, .r_id, .aw_valid(aw_valid_q), .aw_addr(aw_addr_q), .aw_may, .aw_ready, .b_may, .b_end);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  // ---- what is at the slave, of the counter that is followed
  logic [INDEX_W-1:0] watch_q;
  always_ff @(posedge clk) watch_q <= watch_q;
  logic [2:0][1:0] held;             // read bursts of id 0, of id 1, write bursts
  logic [2:0][1:0] mine;
  assign held = {dut.i_writes.count_q, dut.g_reads[1].i_pages.count_q, dut.g_reads[0].i_pages.count_q};
  assign mine[0] = 2'(held[0] != '0 && dut.g_reads[0].i_pages.word_q[0] == watch_q) +
                   2'(held[0][1]    && dut.g_reads[0].i_pages.word_q[1] == watch_q);
  assign mine[1] = 2'(held[1] != '0 && dut.g_reads[1].i_pages.word_q[0] == watch_q) +
                   2'(held[1][1]    && dut.g_reads[1].i_pages.word_q[1] == watch_q);
  assign mine[2] = 2'(held[2] != '0 && dut.i_writes.word_q[0] == watch_q) +
                   2'(held[2][1]    && dut.i_writes.word_q[1] == watch_q);

  logic [2:0][INDEX_W-1:0] last;       // what came last
  assign last = {dut.i_writes.word_q[held[2][1]], dut.g_reads[1].i_pages.word_q[held[1][1]],
                 dut.g_reads[0].i_pages.word_q[held[0][1]]};

  // ---- the slave: it answers what it has taken
  logic [2:0][3:0] taken_q;            // without answer
  always_ff @(posedge clk) begin
    for (int i = 0; i < 2; i++)
      taken_q[i] <= taken_q[i] + 4'(ar_valid_q && ar_may && ar_ready && ar_id_q == 1'(i)) - 4'(r_end && r_id == 1'(i));
    taken_q[2] <= taken_q[2] + 4'(aw_valid_q && aw_may && aw_ready) - 4'(b_end);
    if (rst) taken_q <= '0;
  end
  always_comb if (!rst) begin
    assume (!r_end || taken_q[r_id] != '0);
    assume (!b_end || (b_may && taken_q[2] != '0));
  end

  // ---- what must hold
  logic       read_here, write_here, ending_here;
  logic [3:0] count;
  assign read_here   = mine[0] != '0 || mine[1] != '0;
  assign write_here  = mine[2] != '0;
  assign ending_here = dut.step_q.ending && dut.index_q == watch_q;
  assign count       = dut.entries_q[watch_q].count;
  always_comb if (started_q && !rst && !COVER) begin
    assert (!(read_here && write_here));
    assert (!(ar_may && ar_valid_q && ar_addr_q[12+:INDEX_W] == watch_q && write_here));
    assert (!(aw_may && aw_valid_q && aw_addr_q[12+:INDEX_W] == watch_q && read_here));
    // the counter counts them
    if (dut.step_q.clear) begin
      assert (held == '0 && (watch_q >= dut.index_q || count == '0));
    end else begin
      assert (count == 4'(mine[0]) + 4'(mine[1]) + 4'(mine[2]) + 4'(ending_here));
      assert (!write_here || dut.entries_q[watch_q].write);
      assert (!read_here || !dut.entries_q[watch_q].write);
    end
    for (int i = 0; i < 3; i++) assert (held[i] <= 2'd2 && taken_q[i] <= 4'd2);
    // one step at a time
    assert (3'(dut.step_q.clear) + 3'(dut.step_q.ending) + 3'(dut.step_q.read) + 3'(dut.step_q.write) <= 3'd1);
    assert (!dut.step_q.read || (ar_valid_q && !dut.ar_has_q && dut.index_q == dut.ar_index));
    assert (!dut.step_q.write || (aw_valid_q && !dut.aw_has_q && dut.index_q == dut.aw_index));
    assert (!dut.step_q.clear || (!dut.ar_has_q && !dut.aw_has_q && !dut.b_end_q));
    // leave is given for what is offered, and stands last
    assert (!dut.ar_has_q || (ar_valid_q && held[ar_id_q] != '0 && last[ar_id_q] == dut.ar_index));
    assert (!dut.aw_has_q || (aw_valid_q && held[2] != '0 && last[2] == dut.aw_index));
    // none is forgotten: what the slave has, what it may have, and what is about to be counted
    for (int i = 0; i < 2; i++) assert (4'(held[i]) == taken_q[i] + 4'(dut.ar_has_q && ar_id_q == 1'(i)));
    assert (4'(held[2]) == taken_q[2] + 4'(dut.aw_has_q) + 4'(dut.b_end_q));
  end

  // ---- a read that waits for a write, then a write that waits for that read
  logic [2:0] course_q;
  always_ff @(posedge clk) begin
    if (course_q == 3'd0 && write_here && ar_valid_q && dut.ar_waits_q) course_q <= 3'd1;
    if (course_q == 3'd1 && read_here) course_q <= 3'd2;
    if (course_q == 3'd2 && read_here && dut.aw_waits_q) course_q <= 3'd3;
    if (course_q == 3'd3 && write_here) course_q <= 3'd4;
    if (rst) course_q <= 3'd0;
  end
  always_comb if (COVER) cover (started_q && !rst && course_q == 3'd4);
endmodule
