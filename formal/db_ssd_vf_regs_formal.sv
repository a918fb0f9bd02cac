// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_vf_regs: registers of a VF change in its own accesses, when CC.EN falls in one, and when it is reset; a read
// is answered with them or with CSTS of the function that reads, and with zeros for one that is no VF here; the firmware's look
// at a word of a VF with that word. One VF, any one, is followed (mark). Accesses and resets are free.
module db_ssd_vf_regs_formal
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_VF = 3,
  parameter bit COVER  = 1'b0
) (
  input logic               clk,
  input logic               rst,
  input logic [NUM_VF-1:0]  flr_rst,
  input logic               s_reg_valid,
  input reg_access_t        s_reg,
  input csts_t [NUM_VF-1:0] csts,
  input logic               look_valid,
  input vf_look_t           look,
  input logic [3:0]         any_vf
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  logic [3:0] mark_q;
  always_ff @(posedge clk) mark_q <= started_q ? mark_q : any_vf;
  always_comb assume (mark_q < 4'(NUM_VF));

  // ---- the block
  logic              s_reg_ready, s_reg_rvalid;
  logic [31:0]       s_reg_rdata;
  logic [NUM_VF-1:0] cc_en, cc_written;
  logic              look_answer;
  logic [31:0]       look_data;
  db_ssd_vf_regs #(.NUM_VF(NUM_VF)) dut (.*);
  logic [5:0][31:0] now, before_q;       // what mark has: CC, AQA, ASQ, ACQ
  for (genvar w = 0; w < 6; w++) begin : g_now
    assign now[w] = dut.i_ram.mem_q[$clog2(8 * NUM_VF)'({mark_q, 3'(w)})];
  end

  // ---- a look stays until it is answered
  logic     look_waits_q;
  vf_look_t look_q;
  always_ff @(posedge clk) begin
    look_waits_q <= started_q && !rst && look_valid && !look_answer;
    look_q       <= look;
  end
  always_comb if (started_q && look_waits_q) assume (look_valid && look == look_q);
  always_comb if (look_valid) assume (look.word < 3'd6);

  // ---- whose access is under way
  logic [FN_W-1:0]   fn_q;
  logic [1:0]        age_q;              // cycles since it was taken, 3: none
  logic              mine, known_q, en_q;
  csts_t             csts_q;
  always_ff @(posedge clk) begin
    age_q    <= rst ? 2'd3 : (s_reg_valid && s_reg_ready) ? 2'd1 : age_q == 2'd1 ? 2'd2 : 2'd3;
    if (s_reg_valid && s_reg_ready) fn_q <= s_reg.fn;
    before_q <= now;
    csts_q   <= csts[mark_q];
    en_q     <= cc_en[mark_q];
    known_q  <= started_q && !rst;
  end
  assign mine = fn_q == fn_number(PLACE_W'(mark_q) + 1'b1);

  // ---- what may have changed mark's in the cycle before
  logic may_q;
  always_ff @(posedge clk) may_q <= (age_q != 2'd3 && mine) || (dut.forgetting_q && dut.forget_vf_q == mark_q) ||
                             (dut.state_q == 2'd0 && dut.forget_q != '0 && !dut.forgetting_q && dut.forget == mark_q);

  // ---- what is relied on
  always_comb if (started_q && !rst && known_q) begin
    if (!may_q) assert (now == before_q && cc_en[mark_q] == en_q);
    if (cc_written[mark_q]) assert (mine && age_q == 2'd2);
    if (look_answer && look_q.place == PLACE_W'(mark_q) + 1'b1) assert (look_data == before_q[look_q.word]);
    if (s_reg_rvalid) begin
      assert (age_q == 2'd2);
      if (mine) assert (s_reg_rdata == 32'd0 || s_reg_rdata == before_q[dut.word_q] ||
                        s_reg_rdata == 32'({csts_q.shst, csts_q.cfs, csts_q.rdy}));
      if (fn_place(fn_q) == '0 || fn_place(fn_q) > PLACE_W'(NUM_VF)) assert (s_reg_rdata == 32'd0);
    end
  end

  // ---- how it hangs together
  always_comb if (started_q && !rst) begin
    assert (dut.state_q == (age_q == 2'd3 ? 2'd0 : age_q));
    if (dut.en_fell_q) assert (age_q == 2'd2 && dut.mine_q);
    if (dut.forgetting_q) assert (age_q == 2'd3 && dut.forget_vf_q < 4'(NUM_VF) && dut.forget_word_q < 3'd6);
    if (age_q == 2'd1 && dut.mine_q && mine) assert (dut.old == now[dut.word_q]);
    if (age_q != 2'd3 && dut.mine_q) assert (fn_q == fn_number(PLACE_W'(dut.vf_q) + 1'b1) && dut.vf_q < 4'(NUM_VF));
    if (age_q != 2'd3 && !dut.mine_q) assert (!dut.en_fell_q);
    if (age_q != 2'd3) assert (dut.word_q < 3'd6);
    if (s_reg_rvalid || cc_written != '0) assert (age_q == 2'd2);
    if (cc_written != '0) assert (dut.mine_q);
  end

  if (COVER) begin : g_cover
    always_comb cover (known_q && s_reg_rvalid && mine && s_reg_rdata == 32'h00ff_fff1 && mark_q == 4'd2);
  end
endmodule
