// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_near_crossbar: a row that is taken is in that cycle taken by one slot or as a result, unchanged,
// and nothing else is taken; it is of the owner whose program the slot has, or whose result it is; what is offered
// stays.
//
// Whose a row is says the media's row, or the slot that gives it (`holds`). Which slots commands are in, and where
// rows of these go, is any that db_csd_near_rename_formal proves: a command's first slot has its owner's program
// and gets rows of no other; rows of a slot in which a command is go to one that has the same program, or to none;
// to a slot come those of one other; those of the slot that gives the oldest command's result go to none; none of
// these change while a row waits.
module db_csd_near_crossbar_formal
  import db_pcie_fn_pkg::*, db_csd_near_pkg::*;
#(
  parameter int SLOTS  = 4,
  parameter int DATA_W = 16,            // two bytes: one more or one less may count
  parameter bit COVER  = 1'b0          // only that it can happen
) (
  input logic                         clk,
  input logic [SLOTS-1:0][SLOTS-1:0]  route,
  input logic                         s_valid,
  input logic [DATA_W-1:0]            s_data,
  input near_row_t                    s_row,
  input logic [SLOTS-1:0]             s_to,
  input logic [SLOTS-1:0]             slot_ready,
  input logic [SLOTS-1:0]             gives_valid,
  input logic [SLOTS-1:0][DATA_W-1:0] gives_data,
  input near_row_t [SLOTS-1:0]        gives_row,
  input logic                         from_valid,
  input logic [SLOTS-1:0]             from_last,
  input logic                         m_ready,
  input logic [SLOTS-1:0]             busy,         // commands are in these
  input near_owner_t [SLOTS-1:0]      holds,        // ... whose
  input near_owner_t                  oldest        // whose the oldest command is
);
  logic                         s_ready, m_valid;
  logic [SLOTS-1:0]             slot_valid, gives_ready;
  logic [SLOTS-1:0][DATA_W-1:0] slot_data;
  near_row_t [SLOTS-1:0]        slot_row;
  logic [DATA_W-1:0]            m_data;
  near_row_t                    m_row;
  db_csd_near_crossbar #(.SLOTS(SLOTS), .DATA_W(DATA_W)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;

  function automatic logic most_one(input logic [SLOTS-1:0] of);
    return (of & (of - 1'b1)) == '0;
  endfunction

  // ---- what db_csd_near_rename gives
  logic [SLOTS-1:0] fed;
  logic [SLOTS-1:0] fed_by;                         // slots that get rows of others
  always_comb begin
    fed_by = '0;
    for (int s = 0; s < SLOTS; s++) fed_by |= route[s];
  end
  always_comb begin
    fed = '0;
    for (int s = 0; s < SLOTS; s++) begin
      assume (most_one(route[s]) && !route[s][s] && (route[s] & fed) == '0);
      fed |= route[s];
      assume (!gives_valid[s] || busy[s]);
      for (int t = 0; t < SLOTS; t++) if (busy[s] && route[s][t]) assume (busy[t] && holds[t] == holds[s]);
      // of the command whose rows of the media come
      if (s_valid && s_to[s]) assume (busy[s] && holds[s] == s_row.owner && !fed_by[s]);
      // of the oldest one
      if (from_valid && from_last[s]) assume (busy[s] && holds[s] == oldest && route[s] == '0);
    end
    if (s_valid) assume (most_one(s_to));
    if (from_valid) assume (most_one(from_last));
    // rows that are their own result come while their command is the oldest
    if (s_valid && s_to == '0 && from_valid && from_last == '0) assume (s_row.owner == oldest);
  end

  // ---- what waits stays, and so does where it goes
  logic                         s_waits_q, from_waits_q;
  logic [SLOTS-1:0]             gives_wait_q, s_to_q, from_last_q;
  logic [SLOTS-1:0][SLOTS-1:0]  route_q;
  logic [DATA_W-1:0]            s_data_q;
  near_row_t                    s_row_q;
  logic [SLOTS-1:0][DATA_W-1:0] gives_data_q;
  near_row_t [SLOTS-1:0]        gives_row_q;
  always_ff @(posedge clk) begin
    s_waits_q    <= s_valid && !s_ready;
    gives_wait_q <= gives_valid & ~gives_ready;
    from_waits_q <= from_valid && !(m_valid && m_ready);
    {s_to_q, s_data_q, s_row_q}           <= {s_to, s_data, s_row};
    {route_q, gives_data_q, gives_row_q}  <= {route, gives_data, gives_row};
    from_last_q                           <= from_last;
  end
  always_comb if (started_q) begin
    if (s_waits_q) assume (s_valid && {s_to, s_data, s_row} == {s_to_q, s_data_q, s_row_q});
    if (from_waits_q) assume (from_valid && from_last == from_last_q);
    for (int s = 0; s < SLOTS; s++) begin
      if (gives_wait_q[s]) begin
        assume (gives_valid[s] && gives_data[s] == gives_data_q[s] && gives_row[s] == gives_row_q[s]);
        assume (route[s] == route_q[s]);
      end
    end
  end

  // ---- what must hold
  logic             s_taken, m_taken;
  logic [SLOTS-1:0] gives_taken, slot_taken;
  logic [3:0]       sources, takers, to_result;
  assign s_taken     = s_valid && s_ready;
  assign gives_taken = gives_valid & gives_ready;
  assign slot_taken  = slot_valid & slot_ready;
  assign m_taken     = m_valid && m_ready;
  always_comb begin
    sources   = 4'(s_taken);
    takers    = 4'(m_taken);
    to_result = 4'(s_taken && s_to == '0);
    for (int s = 0; s < SLOTS; s++) begin
      sources   = sources + 4'(gives_taken[s]);
      takers    = takers + 4'(slot_taken[s]);
      to_result = to_result + 4'(gives_taken[s] && route[s] == '0);
    end
  end
  logic [SLOTS-1:0]             slot_waits_q;
  logic                         m_waits_q;
  logic [SLOTS-1:0][DATA_W-1:0] slot_data_q;
  near_row_t [SLOTS-1:0]        slot_row_q;
  logic [DATA_W-1:0]            m_data_q;
  near_row_t                    m_row_q;
  always_ff @(posedge clk) begin
    slot_waits_q <= slot_valid & ~slot_ready;
    m_waits_q    <= m_valid && !m_ready;
    {slot_data_q, slot_row_q, m_data_q, m_row_q} <= {slot_data, slot_row, m_data, m_row};
  end
  always_comb if (!COVER) begin
    // as many are taken as are given; each place takes what is for it, and that alone
    assert (sources == takers && to_result == 4'(m_taken));
    if (s_taken) begin
      assert (s_to == '0 ? m_taken && m_row == s_row : (slot_taken & s_to) != '0);
      for (int i = 0; i < DATA_W / 8; i++) begin
        if (s_to == '0) assert (m_data[8*i +: 8] == (7'(i) < s_row.bytes ? s_data[8*i +: 8] : 8'd0));
      end
    end
    for (int s = 0; s < SLOTS; s++) begin
      if (s_taken && s_to[s]) assert (slot_taken[s] && slot_data[s] == s_data && slot_row[s] == s_row);
      if (gives_taken[s] && route[s] == '0) begin
        assert (m_taken && from_last[s] && m_data == gives_data[s] && m_row == gives_row[s]);
      end
      for (int t = 0; t < SLOTS; t++) begin
        if (gives_taken[s] && route[s][t]) begin
          assert (slot_taken[t] && slot_data[t] == gives_data[s] && slot_row[t] == gives_row[s]);
        end
      end
      // whose it is
      if (slot_valid[s]) begin
        assert (busy[s]);
        assert (fed_by[s] || s_row.owner == holds[s]);
        for (int t = 0; t < SLOTS; t++) if (route[t][s]) assert (gives_valid[t] && holds[t] == holds[s]);
      end
      if (m_valid && from_last[s]) assert (gives_valid[s] && holds[s] == oldest && route[s] == '0);
    end
    if (m_valid) assert (from_valid && (from_last != '0 || (s_valid && s_to == '0 && s_row.owner == oldest)));
    // what is offered stays
    if (started_q) begin
      for (int s = 0; s < SLOTS; s++) begin
        if (slot_waits_q[s]) assert (slot_valid[s] && slot_data[s] == slot_data_q[s] && slot_row[s] == slot_row_q[s]);
      end
      if (m_waits_q) assert (m_valid && m_data == m_data_q && m_row == m_row_q);
    end
    // what can be taken is: nobody waits for a place that is ready
    for (int s = 0; s < SLOTS; s++) begin
      for (int t = 0; t < SLOTS; t++) if (gives_valid[s] && route[s][t] && slot_ready[t]) assert (gives_taken[s]);
      if (s_valid && s_to[s] && slot_ready[s]) assert (s_taken);
      if (from_valid && from_last[s] && gives_valid[s] && m_ready) assert (gives_taken[s]);
    end
  end

  // ---- rows of the media to a slot, of this to another, of a third one to the result, all in a cycle
  always_comb if (COVER) cover (started_q && s_taken && (s_to & ~fed_by) != '0 && m_taken && sources == 4'd3);
endmodule
