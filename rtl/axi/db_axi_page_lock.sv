// SPDX-License-Identifier: Apache-2.0
// Keeps reads and writes of a page of 4 KiB apart: while a write burst of it is at the slave no read burst of it is, and
// the other way round. So what a burst reads is as before or as after each burst that writes.
//
// Beside two address channels: an address may go to the slave when ar_may, aw_may say so, and holds its page until the
// burst's last answer. Rows of a burst must not go before its address may. Pages share ENTRIES counters, by their lowest bits:
// pages that are a multiple of ENTRIES apart may wait for each other without need.
// Nobody starves: who waits for the other kind is not overtaken by more of it. Only the slave is ever waited for.
// A counter is chosen in one cycle and changed in the next; ends come first, then addresses, in turn.
// Latency: a read none, a write 2 cycles, or until what is under way has its answer. Throughput: an address every other
// cycle, a B every other.
module db_axi_page_lock #(
  parameter int ADDR_W  = 40,   ///< bits of an address
  parameter int ENTRIES = 256,  ///< counters: power of two, at least 2
  parameter int READS   = 32,   ///< read bursts of id 0 at the slave: power of two; of id 1 at most 8
  parameter int WRITES  = 64    ///< write bursts at the slave: power of two
) (
  input  logic              clk,
  input  logic              rst,          ///< of the slave too; for ENTRIES cycles after it nothing goes
  input  logic              ar_load,      ///< pulse: ar_valid in the next cycle, with this address
  input  logic [ADDR_W-1:0] ar_load_addr,
  input  logic              ar_valid,     ///< stays until it is taken
  input  logic [ADDR_W-1:0] ar_addr,
  input  logic              ar_id,
  output logic              ar_may,
  input  logic              ar_ready,     ///< of the slave
  input  logic              r_end,        ///< pulse: the last row of a read burst
  input  logic              r_id,         ///< ... of this id; within an id they come in order
  input  logic              aw_valid,     ///< stays until it is taken
  input  logic [ADDR_W-1:0] aw_addr,
  output logic              aw_may,
  input  logic              aw_ready,     ///< of the slave
  output logic              b_may,        ///< a B may be taken
  input  logic              b_end         ///< pulse: a B has been taken; in order
);
  localparam int INDEX_W = $clog2(ENTRIES);

  if (ENTRIES < 2 || ENTRIES != 2 ** INDEX_W) begin : g_bad_entries
    $error("%m: ENTRIES must be a power of two, at least 2");
  end

  typedef struct packed {
    logic       write;   // if count is not 0: bursts of this kind
    logic [3:0] count;
  } entry_t;
  typedef struct packed {
    logic clear;         // after reset: all counters, one after the other
    logic ending;
    logic read;
    logic write;
  } step_t;
  (* ram_style = "distributed" *) entry_t entries_q [ENTRIES];
  entry_t             entry, next;
  logic [INDEX_W-1:0] ar_index, aw_index, b_index, index_q;
  logic [INDEX_W-1:0] read_index [2];
  step_t              step, step_q;
  logic               b_end_q, b_pop, ar_wants, aw_wants, read_first_q, same, none, ar_go, aw_go, ar_has_q, aw_has_q,
                      ar_waits_q, aw_waits_q, write_room;
  logic [1:0]         read_room;

  assign ar_index = ar_addr[12+:INDEX_W];
  assign aw_index = aw_addr[12+:INDEX_W];

  // ---- which counter is next. Who is at work on one now does not ask for it again: it may just have succeeded.
  assign ar_wants = ar_load || (ar_valid && !ar_has_q && !step_q.read);
  assign aw_wants = aw_valid && !aw_has_q && !step_q.write;
  always_comb begin
    step = '0;
    if (step_q.clear && index_q != '1)                        step.clear  = 1'b1;
    else if (r_end || b_end_q)                                step.ending = 1'b1;
    else if (ar_wants && (ar_load || !aw_wants || read_first_q)) step.read = 1'b1;
    else                                                      step.write  = aw_wants;
  end
  assign b_pop = b_end_q && step.ending && !r_end;
  assign b_may = !b_end_q;

  always_ff @(posedge clk) begin
    step_q <= step;
    if (step.clear)    index_q <= index_q + 1'b1;
    else if (r_end)    index_q <= read_index[r_id];
    else if (b_end_q)  index_q <= b_index;
    else if (step.read) index_q <= ar_load ? ar_load_addr[12+:INDEX_W] : ar_index;
    else               index_q <= aw_index;
    b_end_q <= b_end || (b_end_q && !b_pop);
    if (rst) begin
      step_q  <= '{clear: 1'b1, default: 1'b0};
      index_q <= '0;
      b_end_q <= 1'b0;
    end
  end

  // ---- its change
  assign entry  = entries_q[index_q];
  assign none   = entry.count == '0;
  assign same   = ar_index == aw_index;
  assign ar_go  = step_q.read && read_room[ar_id] && (none || (!entry.write && entry.count != '1)) &&
                  !(aw_waits_q && same);
  assign aw_go  = step_q.write && write_room && (none || (entry.write && entry.count != '1)) && !(ar_waits_q && same);
  assign ar_may = ar_has_q || ar_go;
  assign aw_may = aw_has_q;
  always_comb begin
    next.write = step_q.ending ? entry.write : step_q.write;
    next.count = step_q.clear ? '0 : step_q.ending ? entry.count - 1'b1 : entry.count + 1'b1;
  end
  always_ff @(posedge clk) begin
    if (step_q.clear || step_q.ending || ar_go || aw_go) entries_q[index_q] <= next;
    ar_has_q <= ar_may && !ar_ready;
    aw_has_q <= aw_go || (aw_has_q && !aw_ready);
    if (step_q.read)  {read_first_q, ar_waits_q} <= {1'b0, !none && entry.write};
    if (step_q.write) {read_first_q, aw_waits_q} <= {1'b1, !none && !entry.write};
    if (rst) begin
      ar_has_q   <= 1'b0;
      aw_has_q   <= 1'b0;
      ar_waits_q <= 1'b0;
      aw_waits_q <= 1'b0;
    end
  end

  // ---- the pages of what is at the slave
  logic [1:0] read_valid;
  logic       write_valid;
  for (genvar i = 0; i < 2; i++) begin : g_reads
    db_fifo #(.WIDTH(INDEX_W), .DEPTH(i == 0 ? READS : 8)) i_pages (
      .clk, .rst, .s_valid(ar_go && ar_id == 1'(i)), .s_ready(read_room[i]), .s_data(ar_index),
      .m_valid(read_valid[i]), .m_ready(r_end && r_id == 1'(i)), .m_data(read_index[i]), .level());
  end
  db_fifo #(.WIDTH(INDEX_W), .DEPTH(WRITES)) i_writes (
    .clk, .rst, .s_valid(aw_go), .s_ready(write_room), .s_data(aw_index), .m_valid(write_valid), .m_ready(b_pop),
    .m_data(b_index), .level());

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (ar_load) assert (!ar_valid && !ar_has_q);
    if (r_end) assert (read_valid[r_id] && !step_q.clear);
    if (b_end) assert (write_valid && b_may);
    if (step_q.ending) assert (!none);
  end
`endif
endmodule
