// SPDX-License-Identifier: Apache-2.0
// Proof of db_virt_place: whatever is asked of it, two granules of the medium never have an eighth of a granule of an SSD
// in common, and none is where no SSD has anything. A table of 4 granules, 2 SSDs with 2 granules each; commands are free.
// The memories are here, as db_ram_sdp is.
module db_virt_place_formal
  import db_virt_pkg::*;
#(
  localparam int EXTENTS = 4, localparam int NUM_SSD = 2, localparam int TAKEN_W = 8 * NUM_SSD
) (
  input logic       clk,
  input logic       rst,
  input logic       go,
  input logic [1:0] op,
  input logic [2:0] granule,
  input logic [1:0] log2,
  input logic [2:0] part,
  input logic [2:0] ssd,
  input logic [1:0] place,
  input logic       any_ssd,
  input logic       any_place,
  input logic [2:0] any_eighth
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // ---- a command stays until it is done
  logic       busy, refused;
  logic [1:0] op_q, log2_q, place_q;
  logic [2:0] granule_q, part_q, ssd_q;
  logic       go_q;
  always_ff @(posedge clk) begin
    go_q <= go && !busy && !go_q && !rst;
    if (!busy && !go_q) begin
      op_q      <= op;
      granule_q <= granule;
      log2_q    <= log2;
      part_q    <= part;
      ssd_q     <= ssd;
      place_q   <= place;
    end
  end
  extent_t wanted, found;
  assign wanted = '{valid: 1'b1, log2: log2_q, part: part_q, ssd: ssd_q, place: 16'(place_q)};

  logic               table_re, table_we, taken_re, taken_we;
  logic [1:0]         table_addr, taken_addr;
  extent_t            table_wdata, table_rdata_q;
  logic [TAKEN_W-1:0] taken_wdata, taken_rdata_q;
  db_virt_place #(.NUM_SSD(NUM_SSD), .EXTENTS(EXTENTS)) dut (
    .clk, .rst, .each(16'd2), .s_go(go_q), .s_op(op_q), .s_granule(16'(granule_q)), .s_extent(wanted), .busy, .refused,
    .m_found(found), .table_re, .table_addr, .table_rdata(table_rdata_q), .table_we, .table_wdata, .taken_re,
    .taken_addr, .taken_rdata(taken_rdata_q), .taken_we, .taken_wdata);

  extent_t [EXTENTS-1:0]              table_q;
  logic [EXTENTS-1:0][TAKEN_W-1:0]    taken_q;
  always_ff @(posedge clk) begin
    if (table_we) table_q[table_addr] <= table_wdata;
    if (table_re) table_rdata_q <= table_q[table_addr];
    if (taken_we) taken_q[taken_addr] <= taken_wdata;
    if (taken_re) taken_rdata_q <= taken_q[taken_addr];
  end

  // ---- what an entry has: written anew, not as the block has it
  function automatic logic has(input extent_t e, input logic [2:0] which, input logic [15:0] where,
                               input logic [2:0] eighth);
    logic on_it;
    on_it = e.log2 == 2'd0 ? which == e.ssd : which[2:1] == e.ssd[2:1];
    return e.valid && e.place == where && on_it && (e.log2 == 2'd0 || eighth[2] == e.part[0]);
  endfunction

  // ---- any eighth
  logic       ssd_any_q, place_any_q;
  logic [2:0] eighth_q;
  always_ff @(posedge clk) begin
    ssd_any_q   <= started_q ? ssd_any_q : any_ssd;
    place_any_q <= started_q ? place_any_q : any_place;
    eighth_q    <= started_q ? eighth_q : any_eighth;
  end
  logic ready_q;  // the memories have been cleared
  always_ff @(posedge clk) begin
    if (!busy) ready_q <= 1'b1;
    if (rst) ready_q <= 1'b0;
  end
  logic [EXTENTS-1:0] holds;
  for (genvar g = 0; g < EXTENTS; g++) begin : g_holds
    assign holds[g] = has(table_q[g], {2'd0, ssd_any_q}, 16'(place_any_q), eighth_q);
  end
  logic    clearing;
  logic    taken;
  assign clearing = dut.state_q == 3'd0;
  assign taken    = taken_q[{1'b0, place_any_q}][{ssd_any_q, eighth_q}];
  always_ff @(posedge clk) begin
    if (started_q && !rst && !clearing) begin
      // the claim: of this eighth, which is any
      assert ((holds & (holds - 4'd1)) == '0);
      // what is held is taken: for the induction
      if (holds != '0) assert (taken);
      for (int g = 0; g < EXTENTS; g++) begin
        if (table_q[g].valid) begin
          assert (table_q[g].log2 <= 2'd1 && table_q[g].ssd < 3'd2 && table_q[g].place < 16'd2);
          assert (table_q[g].log2 == 2'd0 ? table_q[g].part == '0 : table_q[g].part < 3'd2 && !table_q[g].ssd[0]);
        end
      end
    end
    if (started_q && !rst) begin
      // while it clears: what is below its counter is clear
      for (int g = 0; g < EXTENTS; g++) if (clearing && 2'(g) < dut.at_q) assert (table_q[g] == '0);
      if (clearing && {1'b0, place_any_q} < dut.at_q) assert (!taken);
      // what it remembers of the memories is what they hold
      if (!clearing && dut.state_q != 3'd1) assert (granule_q < 3'd4 && !go_q);
      if (dut.state_q == 3'd2) assert (table_rdata_q == table_q[granule_q[1:0]]);
      if (dut.state_q == 3'd3) begin
        assert (dut.old_q == table_q[granule_q[1:0]] && dut.old_q.valid);
        assert (taken_rdata_q == taken_q[dut.old_q.place[1:0]]);
      end
      if (dut.state_q inside {3'd4, 3'd5, 3'd6}) assert (!table_q[granule_q[1:0]].valid && op_q != 2'd0);
      if (dut.state_q inside {3'd5, 3'd6}) begin
        assert (taken_rdata_q == taken_q[dut.at_q] && op_q != 2'd1 && dut.at_q < 2'd2);
        assert (dut.fits);
      end
      if (dut.state_q inside {3'd3, 3'd4, 3'd5, 3'd6} && op_q == 2'd2) assert (dut.at_q == place_q);
      if (dut.state_q == 3'd4 && op_q == 2'd3) assert (dut.at_q < 2'd2);
      if (dut.state_q == 3'd3 && op_q != 2'd2) assert (dut.at_q == '0);
      if (dut.state_q == 3'd6) assert (dut.free[dut.part_q] && (op_q != 2'd2 || dut.part_q == part_q));
    end
  end
  always_ff @(posedge clk) begin
    if (started_q && !rst)
      cover (ready_q && table_q[0].valid && table_q[1].valid && table_q[0].log2 == 2'd1 && refused);
  end
endmodule
