// SPDX-License-Identifier: Apache-2.0
// Registers of the operators (regs/db_csd.rdl) for a processor: parameters, keys to db_csd_keys, results of the reducers.
//
// The host need not look at results: when RESULTS of them wait, a new one drops the oldest.
// Key words go straight through to the staging memory of db_csd_keys: no copy of a key stays in a register here.
// Latency: a read is answered in its cycle; a write takes effect in the next.
module db_csd_control
  import db_csd_pkg::*, db_csd_regs_pkg::*;
#(
  parameter int KEY_SLOTS = 16,  // 2 to 64
  parameter int RESULTS = 64,    // results that wait, a power of two, at least 2
  parameter logic [15:0] OPS = 16'h003f  // bit n: operator n (op_e) is built in
) (
  input  logic                  clk,
  input  logic                  rst,
  // processor
  input  logic                  s_req,
  input  logic                  s_wr,
  input  logic [7:0]            s_addr,
  input  logic [31:0]           s_wdata,
  output logic [31:0]           s_rdata,
  // parameters
  output logic                  bind_we,      // pulse: what is done in a namespace
  output logic [7:0]            bind_index,   // NSID - 1
  output logic [3:0]            bind_op,
  output logic [CSD_SLOT_W-1:0] bind_slot,
  output logic [CSD_PARAM_W-1:0] bind_param,
  // db_csd_keys
  output logic                  m_word_valid,
  output logic [4:0]            m_word_addr,
  output logic [31:0]           m_word_data,
  output logic                  m_cmd_valid,
  input  logic                  m_cmd_ready,
  output logic                  m_cmd_load,
  output logic [CSD_SLOT_W-1:0] m_cmd_slot,
  output logic                  m_cmd_long,
  output logic                  m_cmd_ctr,
  output logic                  m_cmd_xts,
  input  logic                  busy,
  input  logic [KEY_SLOTS-1:0]  slot_ctr,
  input  logic [KEY_SLOTS-1:0]  slot_xts,
  // results
  input  logic                  reducing,     // some are to come
  input  logic                  s_res_valid,
  output logic                  s_res_ready,
  input  logic [CSD_TAG_W-1:0]  s_res_tag,
  input  logic [255:0]          s_res_digest,
  input  res_cmd_t              s_res_cmd
);
  localparam int SW = $clog2(KEY_SLOTS);
  if (KEY_SLOTS < 2 || KEY_SLOTS > 64) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d)", KEY_SLOTS);
  end

  db_csd__in_t  hwif_in;
  db_csd__out_t hwif_out;
  logic                  res_valid, res_room;
  logic [CSD_TAG_W-1:0]  res_tag;
  logic [255:0]          res_digest;
  res_cmd_t              res_cmd;
  logic [CSD_SLOT_W-1:0] slot;
  logic                  asked_q;  // a key command waits for the store

  assign slot = hwif_out.KEY_CTL.slot.value;
  always_comb begin
    hwif_in.KEY_STATUS.busy.next  = busy || asked_q || hwif_out.KEY_CTL.go.value;
    hwif_in.KEY_STATUS.slots.next = 7'(KEY_SLOTS);
    hwif_in.KEY_STATUS.reducing.next = reducing;
    hwif_in.KEY_SLOT.ctr.next     = 32'(slot) < KEY_SLOTS && slot_ctr[slot[SW-1:0]];
    hwif_in.KEY_SLOT.xts.next     = 32'(slot) < KEY_SLOTS && slot_xts[slot[SW-1:0]];
    hwif_in.CAPS.ops.next         = OPS;
    hwif_in.RES.tag.next          = res_tag;
    hwif_in.RES.valid.next        = res_valid;
    hwif_in.RES_CMD.cid.next      = res_cmd.cid;
    hwif_in.RES_CMD.sqid.next     = res_cmd.sqid;
    hwif_in.RES_CMD.op.next       = res_cmd.op;
    hwif_in.RES_CMD.dir.next      = res_cmd.dir;
    hwif_in.RES_NSID.V.next       = res_cmd.nsid;
    hwif_in.RES_LBA_LO.V.next     = res_cmd.lba[31:0];
    hwif_in.RES_LBA_HI.V.next     = res_cmd.lba[63:32];
    hwif_in.RES_BYTES.V.next      = res_cmd.bytes;
    for (int i = 0; i < 8; i++) hwif_in.RES_DIGEST[i].V.next = res_digest[32*i+:32];
    hwif_in.KEY_WORD.wr_ack  = hwif_out.KEY_WORD.req && hwif_out.KEY_WORD.req_is_wr;
    hwif_in.KEY_WORD.rd_ack  = hwif_out.KEY_WORD.req && !hwif_out.KEY_WORD.req_is_wr;
    hwif_in.KEY_WORD.rd_data = '0;
  end

  assign bind_we      = hwif_out.BIND.go.value;
  assign bind_index   = hwif_out.BIND.index.value;
  assign bind_op      = hwif_out.BIND.op.value;
  assign bind_slot    = hwif_out.BIND.slot.value;
  for (genvar i = 0; i < 4; i++) begin : g_param
    assign bind_param[32*i +: 32] = hwif_out.PARAM[i].V.value;
  end
  assign m_word_valid = hwif_out.KEY_WORD.req && hwif_out.KEY_WORD.req_is_wr;
  assign m_word_addr  = hwif_out.KEY_WORD.addr[6:2];
  assign m_word_data  = hwif_out.KEY_WORD.wr_data;
  assign m_cmd_valid  = asked_q;
  assign m_cmd_slot   = slot;
  assign m_cmd_load   = hwif_out.KEY_CTL.load.value;
  assign m_cmd_long   = hwif_out.KEY_CTL.k256.value;
  assign m_cmd_ctr    = hwif_out.KEY_CTL.ctr.value;
  assign m_cmd_xts    = hwif_out.KEY_CTL.xts.value;
  always_ff @(posedge clk) begin
    if (m_cmd_ready) asked_q <= 1'b0;
    if (hwif_out.KEY_CTL.go.value && 32'(slot) < KEY_SLOTS) asked_q <= 1'b1;  // a slot that is not there: nothing
    if (rst) asked_q <= 1'b0;
  end

  assign s_res_ready = res_room;
  db_fifo #(.WIDTH(CSD_TAG_W + 256 + $bits(res_cmd_t)), .DEPTH(RESULTS)) i_results (
    .clk, .rst, .level(),
    .s_valid(s_res_valid), .s_ready(res_room), .s_data({s_res_cmd, s_res_tag, s_res_digest}),
    .m_valid(res_valid), .m_ready(hwif_out.RES_NEXT.go.value || (s_res_valid && !res_room)),
    .m_data({res_cmd, res_tag, res_digest})
  );

  db_csd_regs i_regs (
    .clk, .rst,
    .s_cpuif_req(s_req), .s_cpuif_req_is_wr(s_wr), .s_cpuif_addr(s_addr), .s_cpuif_wr_data(s_wdata),
    .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(), .s_cpuif_rd_ack(), .s_cpuif_rd_err(),
    .s_cpuif_rd_data(s_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(), .hwif_in, .hwif_out
  );
endmodule
