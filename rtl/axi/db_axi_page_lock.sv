// SPDX-License-Identifier: Apache-2.0
// Keeps reads and writes of a page of 4 KiB apart: while a write burst of it is at the slave no read burst of it is, and
// the other way round. So what a burst reads is as before or as after each burst that writes.
//
// Beside two address channels: an address may go to the slave when ar_may, aw_may say so, and holds its page until the
// burst's last answer. W of a burst must not go before its address. Pages share ENTRIES counters, by their lowest bits:
// pages 2^k apart may wait for each other without need.
// Nobody starves: who waits for the other kind is not overtaken by more of it. Only the slave is ever waited for.
// Latency: none, or until what is under way has its answer. Throughput: an address a cycle, a B every other.
module db_axi_page_lock #(
  parameter int ADDR_W  = 40,   ///< bits of an address
  parameter int ENTRIES = 256,  ///< counters: power of two, at least 2
  parameter int READS   = 32,   ///< read bursts of id 0 at the slave: power of two; of id 1 at most 8
  parameter int WRITES  = 64    ///< write bursts at the slave: power of two
) (
  input  logic              clk,
  input  logic              rst,          ///< of the slave too; for ENTRIES cycles after it nothing goes
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
  entry_t             entries_q [ENTRIES];
  entry_t             entry, next;
  logic [INDEX_W-1:0] ar_index, aw_index, index, r_index_q, b_index_q, b_index;
  logic [INDEX_W-1:0] read_index [2];
  logic               clear_q, r_end_q, b_end_q, ending, ar_wants, aw_wants, pick_read, read_q, none, read_ok, write_ok,
                      ar_go, aw_go, ar_has_q, aw_has_q, ar_waits_q, aw_waits_q, same, write_room;
  logic [1:0]         read_room;

  assign ar_index = ar_addr[12+:INDEX_W];
  assign aw_index = aw_addr[12+:INDEX_W];

  // ---- one counter a cycle: ends first, then addresses, in turn while both want
  assign ending    = clear_q || r_end_q || b_end_q;
  assign ar_wants  = ar_valid && !ar_has_q && read_room[ar_id];
  assign aw_wants  = aw_valid && !aw_has_q && write_room;
  assign pick_read = ar_wants && !(aw_wants && read_q);
  assign index     = (clear_q || r_end_q) ? r_index_q : b_end_q ? b_index_q : pick_read ? ar_index : aw_index;
  assign entry     = entries_q[index];
  assign none      = entry.count == '0;
  assign same      = ar_index == aw_index;
  assign read_ok   = (none || (!entry.write && entry.count != '1)) && !(aw_waits_q && same);
  assign write_ok  = (none || (entry.write && entry.count != '1)) && !(ar_waits_q && same);
  assign ar_go     = !ending && pick_read && read_ok;
  assign aw_go     = !ending && !pick_read && aw_wants && write_ok;
  assign ar_may    = ar_has_q || ar_go;
  assign aw_may    = aw_has_q || aw_go;
  assign b_may     = !b_end_q;

  always_comb begin
    next.write = ending ? entry.write : !pick_read;
    next.count = clear_q ? '0 : ending ? entry.count - 1'b1 : entry.count + 1'b1;
  end

  always_ff @(posedge clk) begin
    if (ending || ar_go || aw_go) entries_q[index] <= next;
    ar_has_q <= ar_may && ar_valid && !ar_ready;
    aw_has_q <= aw_may && aw_valid && !aw_ready;
    if (!ending && (ar_wants || aw_wants)) begin
      read_q <= pick_read;
      if (pick_read) ar_waits_q <= !none && entry.write;
      else           aw_waits_q <= !none && !entry.write;
    end
    // an end goes at once, unless both come together
    r_end_q <= r_end;
    if (!clear_q) r_index_q <= read_index[r_id];
    else          r_index_q <= r_index_q + 1'b1;
    if (!b_end_q) b_index_q <= b_index;
    b_end_q <= b_end || (b_end_q && r_end_q);
    if (clear_q && r_index_q == '1) clear_q <= 1'b0;
    if (rst) begin
      clear_q    <= 1'b1;
      r_index_q  <= '0;
      r_end_q    <= 1'b0;
      b_end_q    <= 1'b0;
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
    .clk, .rst, .s_valid(aw_go), .s_ready(write_room), .s_data(aw_index), .m_valid(write_valid), .m_ready(b_end),
    .m_data(b_index), .level());

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (r_end) assert (read_valid[r_id]);
    if (b_end) assert (write_valid && b_may);
    if (r_end_q || (b_end_q && !clear_q)) assert (!none);
  end
`endif
endmodule
