// SPDX-License-Identifier: Apache-2.0
// Results of all reducers, one after the other, each with the command that it belongs to; and how commands ended.
//
// A command with a result leaves what a host can know it by under its tag; the result comes with the tag, perhaps long
// after the command has ended, or before it has. So its status is kept by tag, for as long as a result may be asked for.
// Latency: 1 cycle. Throughput: a result a cycle, in turn; an end a cycle. After a reset it takes a cycle a status to
// be empty, less than a controller needs to be enabled.
module db_csd_results
  import db_nvme_pkg::*, db_ssd_pkg::*, db_csd_pkg::*;
#(
  parameter int N         = 4,    ///< reducers, both directions together
  parameter int NUM_CMDS  = 128,  ///< commands inside
  parameter int SHA_CORES = 4     ///< SHA-256 cores a direction, 0..16
) (
  input  logic                 clk,
  input  logic                 rst,
  /// Commands that begin, with a result or without, in the cycle of s_cmd; and that end.
  input  logic                 s_begin,
  input  logic [SLOT_W-1:0]    s_begin_slot,
  input  logic                 s_end_valid,
  input  slot_completion_t     s_end,
  /// How the command of a tag ended: a cycle later.
  input  logic [CSD_TAG_W-1:0] ask_tag,
  output logic                 ended,
  output status_t              end_status,
  /// A command that has a result.
  input  logic                 s_cmd_valid,
  input  logic [CSD_TAG_W-1:0] s_cmd_tag,
  input  res_cmd_t             s_cmd,
  input  logic    [N-1:0]      s_res_valid,
  output logic    [N-1:0]      s_res_ready,
  input  result_t [N-1:0]      s_res,
  output logic                 m_res_valid,
  input  logic                 m_res_ready,
  output result_t              m_res,
  output res_cmd_t             m_res_cmd,
  output logic                 reducing      ///< a reducer may still be at work when its data are gone
);
  // Commands whose result may be under way: all that are inside, and what waits in the reducers behind them. A core of
  // SHA-256 has 8 of 512 bytes in its buffer, one under way and one that is done, in each direction.
  localparam int HELD  = 20 * SHA_CORES;
  localparam int AW    = $clog2(NUM_CMDS + (HELD > 64 ? HELD : 64));
  localparam int DEPTH = 2 ** AW;
  // Commands whose status may be asked for, at most: those, and 64 results behind this (db_csd_control).
  localparam int STATUSES = 2 ** $clog2(DEPTH + 64);
  localparam int SW       = $clog2(STATUSES);
  logic [N-1:0]         grant;
  logic [$clog2(N)-1:0] index;
  logic                 any, take, res_valid_q, mine, leaves;
  logic [CSD_TAG_W-AW-1:0] upper;
  result_t              res, res_q;
  logic [AW:0]          todo_q;
  db_arb_rr #(.N(N)) i_arb (
    .clk, .rst, .req(s_res_valid), .ack(take), .gnt_valid(any), .gnt(grant), .gnt_idx(index));
  assign take        = any && (!res_valid_q || leaves);
  assign s_res_ready = take ? grant : '0;
  assign res         = s_res[index];
  // A result that waits very long, as others' commands with results go on, may find its place taken: it is dropped.
  db_ram_sdp #(.WIDTH(CSD_TAG_W - AW + $bits(res_cmd_t)), .DEPTH(DEPTH)) i_whose (
    .clk, .we(s_cmd_valid), .waddr(s_cmd_tag[AW-1:0]), .wdata({s_cmd_tag[CSD_TAG_W-1:AW], s_cmd}), .re(take),
    .raddr(res.tag[AW-1:0]), .rdata({upper, m_res_cmd}));
  assign mine   = upper == res_q.tag[CSD_TAG_W-1:AW];
  assign leaves = res_valid_q && (m_res_ready || !mine);
  always_ff @(posedge clk) begin
    if (leaves) res_valid_q <= 1'b0;
    if (take) begin
      res_valid_q <= 1'b1;
      res_q       <= res;
    end
    todo_q <= todo_q + (AW + 1)'(s_cmd_valid) - (AW + 1)'(leaves);
    if (rst) begin
      res_valid_q <= 1'b0;
      todo_q      <= '0;
    end
  end

  // ---- tags of the commands in the slots, statuses by tag
  typedef struct packed {
    logic                 reduces;
    logic [CSD_TAG_W-1:0] tag;
  } slot_t;
  typedef struct packed {
    logic                 there;
    logic [CSD_TAG_W-1:0] tag;
    status_t              status;
  } end_t;
  logic          end_q, wipe_q;
  logic [SW-1:0] wipe_at_q;
  status_t       status_q;
  slot_t         begun, slot;
  end_t          write, found;
  logic [$bits(slot_t)-1:0] slot_rdata;
  logic [$bits(end_t)-1:0]  found_rdata;
  assign begun = '{reduces: s_cmd_valid, tag: s_cmd_tag};
  assign slot  = slot_t'(slot_rdata);
  assign found = end_t'(found_rdata);
  assign write = wipe_q ? '0 : '{there: 1'b1, tag: slot.tag, status: status_q};
  db_ram_sdp #(.WIDTH($bits(slot_t)), .DEPTH(2 ** SLOT_W)) i_slots (
    .clk, .we(s_begin), .waddr(s_begin_slot), .wdata(begun), .re(s_end_valid), .raddr(s_end.slot),
    .rdata(slot_rdata));
  db_ram_sdp #(.WIDTH($bits(end_t)), .DEPTH(STATUSES)) i_statuses (
    .clk, .we(wipe_q || (end_q && slot.reduces)), .waddr(wipe_q ? wipe_at_q : slot.tag[SW-1:0]), .wdata(write),
    .re(1'b1), .raddr(ask_tag[SW-1:0]), .rdata(found_rdata));
  assign ended      = found.there && found.tag == ask_tag;
  assign end_status = found.status;
  always_ff @(posedge clk) begin
    end_q     <= s_end_valid;
    status_q  <= s_end.status;
    if (wipe_q) wipe_at_q <= wipe_at_q + 1'b1;
    if (wipe_at_q == '1) wipe_q <= 1'b0;
    if (rst) begin
      end_q     <= 1'b0;
      wipe_q    <= 1'b1;
      wipe_at_q <= '0;
    end
  end

  assign m_res_valid = res_valid_q && mine;
  assign m_res       = res_q;
  assign reducing    = todo_q != '0;
endmodule
