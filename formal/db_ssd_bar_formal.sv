// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_bar with several functions: an access goes on as that of the function that made it, and its doorbell rings
// a queue of that function or none. One function, any one, is followed (mark). Accesses, shares and the owners' readiness are
// free; but the firmware gives no queue to two, and none of the admin queues, which come first.
module db_ssd_bar_formal
  import db_pcie_block_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN = 3,
  parameter int NUM_QP = 8,
  parameter bit COVER  = 1'b0
) (
  input logic                clk,
  input logic                rst,
  input logic                s_fn_queues_valid,
  input fn_queues_t          s_fn_queues,
  input logic                s_reg_valid,
  input reg_access_t         s_reg,
  input logic [1:0]          m_reg_ready,
  input logic [1:0]          m_reg_rvalid,
  input logic [1:0][31:0]    m_reg_rdata,
  input logic [1:0]          m_doorbell_ready,
  input logic [1:0]          s_doorbell_err_valid,
  input doorbell_err_t [1:0] s_doorbell_err,
  input logic [PLACE_W-1:0]  any_place
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  logic [PLACE_W-1:0] mark_q;
  always_ff @(posedge clk) mark_q <= started_q ? mark_q : any_place;
  always_comb assume (mark_q < PLACE_W'(NUM_FN));

  // ---- the block
  logic          s_reg_ready, s_reg_rvalid, m_doorbell_err_valid;
  logic [31:0]   s_reg_rdata;
  logic [1:0]    m_reg_valid, m_doorbell_valid;
  reg_access_t   m_reg;
  doorbell_t     m_doorbell;
  doorbell_err_t m_doorbell_err;
  db_ssd_bar #(.NUM_FN(NUM_FN), .NUM_QP(NUM_QP)) dut (.*);

  // ---- which queues the functions have, as the firmware said it: numbers above first[i], up to last[i]
  logic [9:0] first [NUM_FN];
  logic [9:0] last  [NUM_FN];
  logic [9:0] new_first, new_last;
  assign new_first = 10'(s_fn_queues.before_first);
  assign new_last  = new_first + 10'(s_fn_queues.count);
  always_comb if (!rst && s_fn_queues_valid) begin
    assume (s_fn_queues.place < PLACE_W'(NUM_FN));
    assume (new_first >= 10'(NUM_FN - 1) && new_last < 10'(NUM_FN + NUM_QP));
    for (int i = 0; i < NUM_FN; i++) begin
      if (PLACE_W'(i) != s_fn_queues.place) assume (new_last <= first[i] || last[i] <= new_first);
    end
  end
  always_ff @(posedge clk) for (int i = 0; i < NUM_FN; i++) begin
    if (s_fn_queues_valid && s_fn_queues.place == PLACE_W'(i)) begin
      first[i] <= new_first;
      last[i]  <= new_last;
    end
  end
  // They are told of all before a host is heard.
  logic [NUM_FN-1:0] told_q;
  always_ff @(posedge clk) for (int i = 0; i < NUM_FN; i++) begin
    told_q[i] <= !rst && (told_q[i] || (s_fn_queues_valid && s_fn_queues.place == PLACE_W'(i)));
  end
  always_comb if (told_q != '1) assume (!s_reg_valid);
  always_comb if (!rst) for (int i = 0; i < NUM_FN; i++) begin
    if (told_q[i]) begin
      assert (10'(dut.g_many.shares[i].before_first) == first[i]);
      assert (first[i] + 10'(dut.g_many.shares[i].count) == last[i]);
    end
  end

  // ---- the access that is under way, and what its function had then
  logic [FN_W-1:0]   fn_q;
  logic [9:0]        first_q, last_q;    // of mark
  logic              mine_q;
  always_ff @(posedge clk) if (s_reg_valid && s_reg_ready) begin
    fn_q    <= s_reg.fn;
    mine_q  <= s_reg.fn == fn_number(mark_q);
    first_q <= first[mark_q];
    last_q  <= last[mark_q];
  end

  // ---- what is relied on
  logic rings, rings_mine;
  logic [9:0] number;
  assign rings      = m_doorbell_valid != 2'b00 && m_doorbell.exists;
  assign number     = 10'(m_doorbell.number);
  assign rings_mine = number == 10'(mark_q) || (number > first_q && number <= last_q);
  always_comb if (started_q && !rst) begin
    assert (!(m_reg_valid != 2'b00 && m_doorbell_valid != 2'b00));
    if (m_reg_valid != 2'b00)      assert (m_reg.fn == fn_q);
    if (m_doorbell_valid != 2'b00) assert (m_doorbell.fn == fn_q);
    // mark's rings its own queues, the others' none of them
    if (rings) assert (mine_q == rings_mine);
    // a function that is not there rings none
    if (rings) assert (fn_place(fn_q) < PLACE_W'(NUM_FN));
  end

  // ---- how it hangs together
  always_comb if (started_q && !rst) begin
    if (m_doorbell_valid != 2'b00 || m_reg_valid != 2'b00) assert (dut.state_q == 2'd1);
    for (int i = 0; i < NUM_FN; i++) for (int j = 0; j < NUM_FN; j++) begin
      if (i != j && told_q[i] && told_q[j]) assert (last[i] <= first[j] || last[j] <= first[i]);
    end
    for (int i = 0; i < NUM_FN; i++) begin
      if (told_q[i]) assert (first[i] >= 10'(NUM_FN - 1) && first[i] <= last[i] && last[i] < 10'(NUM_FN + NUM_QP));
    end
    if (dut.state_q != 2'd0) assert (told_q == '1);
  end

  if (COVER) begin : g_cover
    always_comb cover (started_q && rings && mine_q && mark_q == PLACE_W'(2) && number == 10'(NUM_FN + NUM_QP - 1));
  end
endmodule
