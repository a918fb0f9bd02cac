// SPDX-License-Identifier: Apache-2.0
// What the answer to each step of db_host_nvme must hold, as a table (`p_check`), and the drive's facts: they are
// kept as their step's answer goes by.
// Latency: 1 cycle from `look`, for facts.sq_size and facts.max_blocks 2.
module db_host_nvme_check
  import db_host_pkg::*;
  import db_host_control_pkg::*;
#(
  /// command slots, a power of two, 8..256
  parameter int NUM_CMDS  = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP    = 1,
  /// log2 of the largest data command in bytes, 12..20
  parameter int PART_LOG2 = 20,
  /// log2 of the bytes of BAR 0 in which the doorbells must lie, 13..31; 0: BAR 0 has them all
  parameter int BAR_LOG2  = 0
) (
  input  logic         clk,
  input  logic         rst,
  /// one cycle: the answer is there
  input  logic         look,
  input  step_e        step,
  input  logic [1:0]   qp,
  input  ask_kind_e    kind,
  input  logic         write,
  input  logic [31:0]  answer,
  /// there is none
  input  fail_e        answer_fail,
  /// out of time
  input  logic         over,

  /// what follows: the drive is not fit; look once more later; all is done; else the next step
  output fail_e        bad,
  output logic         again,
  output logic         last,
  output step_e        next,

  output drive_facts_t facts,
  /// LBA format in use
  output logic [5:0]   lba_format,
  /// CAP.TO, in half seconds
  output logic [7:0]   timeout
);
  localparam int SQ_LOG2_MAX = $clog2(2 * NUM_CMDS / NUM_QP);

  // The least CAP.DSTRD with which the last queue's doorbell is not there any more; 16: none.
  function automatic int stride_beyond();
    stride_beyond = 0;
    for (int d = 0; d < 16; d++)
      if (BAR_LOG2 == 0 || 4096 + ((2 * NUM_QP + 2) * 4 << d) <= 1 << BAR_LOG2) stride_beyond = d + 1;
  endfunction
  localparam logic [4:0] STRIDE_BEYOND = 5'(stride_beyond());

  // ---- table of steps
  fail_e      bad_new;
  logic       again_new;
  step_e      next_new;
  logic [7:0] mdts;
  logic [3:0] sq_log2_q, max_log2_q;
  assign mdts = answer[15:8];
  always_comb begin : p_check
    bad_new   = FAIL_NONE;
    again_new = 1'b0;
    next_new  = step_e'(step + 6'd1);
    unique case (step)
      STEP_CAP_HI: begin
        if (!answer[5]) bad_new = FAIL_COMMAND_SET;
        else if (answer[19:16] != '0) bad_new = FAIL_PAGE_SIZE;
        else if ({1'b0, answer[3:0]} >= STRIDE_BEYOND) bad_new = FAIL_BAR;
      end
      STEP_WAIT_OFF: again_new = answer[0];
      STEP_WAIT_ON: begin
        again_new = !answer[0];
        if (answer[1]) bad_new = FAIL_FATAL;
      end
      STEP_VWC:  next_new = STEP_SGLS;
      STEP_SGLS: next_new = STEP_ID_NS;
      STEP_NSZE_HI: if (facts.blocks[31:0] == '0 && answer == '0) bad_new = FAIL_NO_NAMESPACE;
      STEP_LBAF: begin
        if (answer[15:0] != '0) bad_new = FAIL_METADATA;
        else if (!(answer[23:16] inside {8'd9, 8'd10, 8'd11, 8'd12})) bad_new = FAIL_LBA_SIZE;
      end
      STEP_QUEUES: begin
        if (17'(answer[15:0]) + 1'b1 < 17'(NUM_QP) || 17'(answer[31:16]) + 1'b1 < 17'(NUM_QP)) begin
          bad_new = FAIL_FEW_QUEUES;
        end
      end
      STEP_CREATE_SQ: if (qp != 2'(NUM_QP - 1)) next_new = STEP_CREATE_CQ;
      default: ;
    endcase
    if (again_new && over) bad_new = FAIL_NOT_READY;
    if (kind == ASK_REGISTER && !write && answer == '1) bad_new = FAIL_REMOVED;
    if (answer_fail != FAIL_NONE) bad_new = answer_fail;
  end

  always_ff @(posedge clk) begin
    if (look) begin
      bad   <= bad_new;
      again <= again_new;
      next  <= next_new;
      last  <= step == STEP_CREATE_SQ && next_new != STEP_CREATE_CQ;
    end
  end

  // ---- facts
  always_ff @(posedge clk) begin
    if (look) begin
      unique case (step)
        STEP_CAP_LO: begin
          timeout   <= answer[31:24];
          sq_log2_q <= 4'd1;
          for (int k = 2; k <= SQ_LOG2_MAX; k++) if (answer[15:0] >= 16'(2 ** k - 1)) sq_log2_q <= 4'(k);
        end
        STEP_CAP_HI:  facts.doorbell_stride <= answer[3:0];
        STEP_MDTS:    max_log2_q <= (mdts != '0 && mdts < 8'(PART_LOG2 - 12)) ? 4'(mdts) : 4'(PART_LOG2 - 12);
        STEP_ONCS:    facts.oncs <= answer[15:0];
        STEP_VWC:     facts.vwc <= answer[8];
        STEP_SGLS:    facts.sgl <= answer[1:0] inside {2'b01, 2'b10};
        STEP_NSZE_LO: facts.blocks[31:0] <= answer;
        STEP_NSZE_HI: facts.blocks[63:32] <= answer;
        STEP_FLBAS:   lba_format <= {answer[22:21], answer[19:16]};
        // One that is refused is not kept: commands to a drive that is not up are cut by it, too, and end.
        STEP_LBAF:    if (answer[23:16] inside {8'd9, 8'd10, 8'd11, 8'd12}) facts.lba_shift <= answer[19:16];
        default: ;
      endcase
    end
    if (rst) begin  // not known: so that commands to a drive that was never up can end
      max_log2_q      <= '0;
      facts.lba_shift <= 4'd9;
      facts.blocks    <= '0;
    end
    facts.sq_size    <= 16'd1 << sq_log2_q;
    facts.max_blocks <= 32'((PART_LOG2 - 8)'(1) << (5'd12 + 5'(max_log2_q) - 5'(facts.lba_shift)));
  end
endmodule
