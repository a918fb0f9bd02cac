// SPDX-License-Identifier: Apache-2.0
// Commands of namespaces that have no blocks (docs/csd/programs.md), as part of decode: those of memory, and Execute
// Program, for which it keeps what functions have of programs and memory ranges.
//
// A function has four programs, and four sets of two ranges of its memory: what a program looks at, and where its result
// goes. The firmware writes both, checked, and takes them back when the function is reset.
// Latency: what an entry says, none; 2 cycles from look to what its program comes to, which stays until the next look.
// Throughput: a look in 2 cycles.
module db_ssd_programs
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int NUM_FN    = 1,   ///< functions, 1..17
  parameter int MOST_LOG2 = 20   ///< log2 of the most bytes of a command, 10..20
) (
  input  logic               clk,
  input  logic               rst,
  input  programs_set_t      s_set,
  input  logic               look,
  input  logic [PLACE_W-1:0] s_place,    ///< of the entry's function
  input  sqe_t               s_sqe,
  input  logic               s_programs, ///< its namespace is one of programs, else of memory
  output bytewise_t          m_bytewise,
  output executed_t          m_executed
);
  localparam int PROGRAMS = 2 ** NEAR_PROGRAMS_LOG2;
  localparam int SETS     = 2 ** RANGE_SETS_LOG2;
  localparam int FN_LOG2  = NUM_FN == 1 ? 1 : $clog2(NUM_FN);
  localparam int AW       = FN_LOG2 + RANGE_SETS_LOG2;
  localparam status_t NO_INDEX   = status(1'b1, SCT_SPECIFIC, SC_INVALID_PROGRAM_INDEX);
  localparam status_t NO_PROGRAM = status(1'b1, SCT_SPECIFIC, SC_NO_PROGRAM);
  localparam status_t NOT_ACTIVE = status(1'b1, SCT_SPECIFIC, SC_PROGRAM_NOT_ACTIVATED);
  localparam status_t NO_SET     = status(1'b1, SCT_SPECIFIC, SC_INVALID_RANGE_SET_ID);
  localparam status_t TOO_LONG   = status(1'b1, SCT_GENERIC, SC_INVALID_FIELD);
  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad_fn
    $error("%m: NUM_FN must be 1..17 (is %0d)", NUM_FN);
  end

  typedef struct packed {
    logic [29:0]             start;
    logic [NEAR_BYTES_W-1:0] bytes;
  } range_t;

  // ---- what the entry says
  localparam int BLOCK_LOG2 = 9;
  localparam int RANGE_LOG2 = 5;         // bytes of a range in the list of a Memory Copy
  localparam logic [3:0] OF_BLOCKS = 4'd2, OF_MEMORY = 4'd4;  // formats of these ranges
  bytewise_t  read_write, copy, execute;
  copy_args_t copy_args;
  assign copy_args  = '{memory: s_sqe.cdw12[11:8] == OF_MEMORY, last: s_sqe.cdw12[COPY_RANGES_LOG2-1:0],
                        length: s_sqe.cdw2};
  assign copy       = '{first: {s_sqe.cdw11, s_sqe.cdw10}, last: 65'({s_sqe.cdw11, s_sqe.cdw10}) + 65'(s_sqe.cdw2),
                        bytes: (NEAR_BYTES_W'(s_sqe.cdw12[COPY_RANGES_LOG2-1:0]) + 1'b1) << RANGE_LOG2,
                        args: near_args_t'($bits(near_args_t)'(copy_args)),
                        bad: s_sqe.cdw2 == '0 || s_sqe.cdw2[1:0] != '0 || s_sqe.cdw3 != '0 || s_sqe.cdw10[1:0] != '0 ||
                             !(s_sqe.cdw12[11:8] inside {OF_BLOCKS, OF_MEMORY}),
                        too_many: s_sqe.cdw12[7:COPY_RANGES_LOG2] != '0};
  assign read_write = '{first: {s_sqe.cdw11, s_sqe.cdw10}, last: 65'({s_sqe.cdw11, s_sqe.cdw10}) + 65'(s_sqe.cdw12),
                        bytes: s_sqe.cdw12[NEAR_BYTES_W-1:0], args: '0,
                        bad: s_sqe.cdw12 == '0 || s_sqe.cdw12 > 32'(2 ** MOST_LOG2) || s_sqe.cdw12[1:0] != '0 ||
                             s_sqe.cdw10[1:0] != '0, too_many: 1'b0};
  assign execute    = '{first: {s_sqe.cdw13, s_sqe.cdw12}, last: '0,
                        bytes: {s_sqe.cdw10[NEAR_BYTES_W-1:BLOCK_LOG2] +
                                (NEAR_BYTES_W - BLOCK_LOG2)'(s_sqe.cdw10[BLOCK_LOG2-1:0] != '0), BLOCK_LOG2'(0)},
                        args: '{data: s_sqe.cdw10[NEAR_BYTES_W-1:0], result: '0,
                                number: s_sqe.cdw2[NEAR_PROGRAMS_LOG2-1:0], phase: s_sqe.cdw11[15:0]},
                        bad: s_sqe.cdw10 == '0 || s_sqe.cdw10 > 32'(2 ** MOST_LOG2) || s_sqe.cdw11[31:16] != '0 ||
                             s_sqe.cdw3 != '0 || s_sqe.mptr[31:0] != '0, too_many: 1'b0};
  assign m_bytewise = s_programs ? execute : s_sqe.opc == SLM_OPC_COPY ? copy : read_write;
  logic [15:0] pind, rsid;
  assign {rsid, pind} = s_sqe.cdw2;

  // ---- ranges: in RAM, and whether they are there
  logic [AW-1:0]                     at, set_at;
  logic [15:0]                       number;
  logic [1:0][$bits(range_t)-1:0]    found;
  logic [1:0][2**AW-1:0]             there_q;     // [1] a result's
  assign number = rsid - 16'd1;
  assign at     = {s_place[FN_LOG2-1:0], number[RANGE_SETS_LOG2-1:0]};
  assign set_at = {s_set.place[FN_LOG2-1:0], s_set.number};
  for (genvar i = 0; i < 2; i++) begin : g_range
    db_ram_sdp #(.WIDTH($bits(range_t)), .DEPTH(2 ** AW)) i_ranges (
      .clk, .we(s_set.range_valid && s_set.result == 1'(i)), .waddr(set_at), .wdata({s_set.start, s_set.bytes}),
      .re(look), .raddr(at), .rdata(found[i]));
    always_ff @(posedge clk) begin
      if (s_set.range_valid && s_set.result == 1'(i)) there_q[i][set_at] <= s_set.bytes != '0;
      if (rst) there_q[i] <= '0;
    end
  end

  // ---- programs, and what is wrong with a command whatever its ranges
  logic [NUM_FN-1:0][PROGRAMS-1:0] programs_q, active_q;
  logic [PROGRAMS-1:0]             programs, active;
  logic [NEAR_PROGRAMS_LOG2-1:0]   index;
  logic [NEAR_BYTES_W-1:0]         bytes_q;
  status_t                         status_q;
  assign index   = pind[NEAR_PROGRAMS_LOG2-1:0];
  always_comb begin
    {programs, active} = '0;
    for (int i = 0; i < NUM_FN; i++)
      if (NUM_FN == 1 || s_place == PLACE_W'(i)) {programs, active} = {programs_q[i], active_q[i]};
  end
  always_ff @(posedge clk) begin
    for (int i = 0; i < NUM_FN; i++)
      if (s_set.state_valid && (NUM_FN == 1 || s_set.state_place == PLACE_W'(i)))
        {programs_q[i], active_q[i]} <= {s_set.there, s_set.active};
    if (look) begin
      bytes_q  <= execute.bytes;
      status_q <= '0;
      if (pind >= 16'(PROGRAMS))                                          status_q <= NO_INDEX;
      else if (!programs[index])                                        status_q <= NO_PROGRAM;
      else if (!active[index])                                          status_q <= NOT_ACTIVE;
      else if (number >= 16'(SETS) || !there_q[0][at] || !there_q[1][at]) status_q <= NO_SET;
    end
    if (rst) {programs_q, active_q} <= '0;
  end

  // ---- what it comes to
  range_t from, to;
  assign from       = range_t'(found[0]);
  assign to         = range_t'(found[1]);
  always_ff @(posedge clk)
    m_executed <= '{failed: status_q != '0 || bytes_q > from.bytes, status: status_q != '0 ? status_q : TOO_LONG,
                    from: from.start, to: to.start, result: to.bytes < bytes_q ? to.bytes : bytes_q};
  logic unused_ok;
  assign unused_ok = &{1'b0, s_sqe, s_place};
endmodule
