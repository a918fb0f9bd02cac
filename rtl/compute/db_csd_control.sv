// SPDX-License-Identifier: Apache-2.0
// Registers of the operators (regs/db_csd.rdl) for a processor: parameters, keys to db_csd_keys, results of the
// reducers.
//
// The host need not look at results: when RESULTS of them wait, a new one drops the oldest; while the oldest is being
// read, from RES to RES_NEXT, the new one is dropped instead. Key words go straight through to the staging memory of db_csd_keys: no copy of a key stays in a register here.
// Latency: a read is answered in its cycle; a write takes effect in the next.
module db_csd_control
  import db_nvme_pkg::*, db_aes_pkg::*, db_csd_pkg::*, db_csd_regs_pkg::*;
#(
  parameter int KEY_SLOTS = 16,  ///< 2 to 64
  parameter int RESULTS = 64,    ///< results that wait, a power of two, at least 2
  parameter logic [15:0] OPS = 16'h003f  ///< bit n: operator n (op_e) is built in
) (
  input  logic                      clk,
  input  logic                      rst,
  /// The processor's bus; zeros are read when nothing is asked.
  input  logic                      s_req,
  input  logic                      s_wr,
  input  logic [7:0]                s_addr,
  input  logic [31:0]               s_wdata,
  output logic [31:0]               s_rdata,
  output logic                      m_bind_valid,  ///< pulse: what a namespace does from now on
  output binding_t                  m_bind,
  /// db_csd_keys
  output logic                      m_word_valid,
  output key_word_t                 m_word,
  output logic                      m_cmd_valid,
  input  logic                      m_cmd_ready,
  output key_cmd_t                  m_cmd,
  input  logic                      busy,
  input  logic                      test_failed,   ///< no key can be loaded until power-on
  input  key_slot_t [KEY_SLOTS-1:0] key_slots,
  /// db_csd_results
  input  logic                      reducing,      ///< some are to come
  input  logic                      s_res_valid,
  output logic                      s_res_ready,
  input  result_t                   s_res,
  input  res_cmd_t                  s_res_cmd,
  output logic [CSD_TAG_W-1:0]      res_tag,       ///< of the oldest
  input  logic                      res_ended,     ///< its command has ended; a cycle later
  input  status_t                   res_status
);
  localparam int SW = $clog2(KEY_SLOTS);
  if (KEY_SLOTS < 2 || KEY_SLOTS > 64) begin : g_bad
    $error("%m: KEY_SLOTS must be 2 to 64 (is %0d)", KEY_SLOTS);
  end

  db_csd__in_t  hwif_in;
  db_csd__out_t hwif_out;
  logic                  res_valid, res_room;
  result_t               res;
  res_cmd_t              res_cmd;
  logic [KEY_SLOT_W-1:0] slot;
  logic                  asked_q;  // a key command waits for the store
  logic                  back;                    // before the last one
  logic [15:0]           high, res_high;          // of the number of a result
  logic [31:0]           number_q;                // of the last one that came
  logic                  reading_q, drop;  // the oldest result is being read; a result is dropped for want of a place

  assign slot = hwif_out.KEY_CTL.slot.value;
  always_comb begin
    hwif_in.KEY_STATUS.busy.next  = busy || asked_q || hwif_out.KEY_CTL.go.value;
    hwif_in.KEY_STATUS.failed.next = test_failed;
    hwif_in.KEY_STATUS.slots.next = 7'(KEY_SLOTS);
    hwif_in.KEY_STATUS.reducing.next = reducing;
    hwif_in.KEY_SLOT.ctr.next     = 32'(slot) < KEY_SLOTS && key_slots[slot[SW-1:0]].ctr;
    hwif_in.KEY_SLOT.xts.next     = 32'(slot) < KEY_SLOTS && key_slots[slot[SW-1:0]].xts;
    hwif_in.CAPS.ops.next         = OPS;
    hwif_in.RES.tag.next          = res.tag;
    hwif_in.RES.valid.next        = res_valid && res_ended;
    hwif_in.RES_STATUS.status.next = res_status;
    hwif_in.RES_STATUS.high.next  = res_high;
    hwif_in.RES_CMD.cid.next      = res_cmd.cid;
    hwif_in.RES_CMD.sqid.next     = res_cmd.sqid;
    hwif_in.RES_CMD.op.next       = res_cmd.op;
    hwif_in.RES_CMD.dir.next      = res_cmd.dir;
    hwif_in.RES_CMD.compare.next  = res_cmd.compare;
    hwif_in.RES_NSID.V.next       = res_cmd.nsid;
    hwif_in.RES_LBA_LO.V.next     = res_cmd.lba[31:0];
    hwif_in.RES_LBA_HI.V.next     = res_cmd.lba[63:32];
    hwif_in.RES_BYTES.V.next      = res_cmd.bytes;
    for (int i = 0; i < 8; i++) hwif_in.RES_DIGEST[i].V.next = res.digest[32*i+:32];
    hwif_in.KEY_WORD.wr_ack  = hwif_out.KEY_WORD.req && hwif_out.KEY_WORD.req_is_wr;
    hwif_in.KEY_WORD.rd_ack  = hwif_out.KEY_WORD.req && !hwif_out.KEY_WORD.req_is_wr;
    hwif_in.KEY_WORD.rd_data = '0;
  end

  assign m_bind_valid = hwif_out.BIND.go.value;
  assign m_bind.of_program = hwif_out.BIND.of_program.value;
  assign m_bind.index = hwif_out.BIND.index.value;
  assign m_bind.op    = hwif_out.BIND.op.value;
  assign m_bind.slot  = hwif_out.BIND.slot.value;
  for (genvar i = 0; i < 4; i++) begin : g_param
    assign m_bind.param[32*i +: 32] = hwif_out.PARAM[i].V.value;
  end
  assign m_word_valid = hwif_out.KEY_WORD.req && hwif_out.KEY_WORD.req_is_wr;
  assign m_word       = '{addr: hwif_out.KEY_WORD.addr[6:2], data: hwif_out.KEY_WORD.wr_data};
  assign m_cmd_valid  = asked_q;
  assign m_cmd        = '{load: hwif_out.KEY_CTL.load.value, slot: slot, long_key: hwif_out.KEY_CTL.k256.value,
                          ctr: hwif_out.KEY_CTL.ctr.value, xts: hwif_out.KEY_CTL.xts.value};
  always_ff @(posedge clk) begin
    if (m_cmd_ready) asked_q <= 1'b0;
    if (hwif_out.KEY_CTL.go.value && 32'(slot) < KEY_SLOTS) asked_q <= 1'b1;  // a slot that is not there: nothing
    if (hwif_out.RES_NEXT.go.value)      reading_q <= 1'b0;
    else if (hwif_out.RES.valid.swacc)   reading_q <= res_valid && res_ended;
    if (rst) begin
      asked_q   <= 1'b0;
      reading_q <= 1'b0;
    end
  end

  // Tags have 16 bits, and results come nearly in order: what is above them is the last one's, or beside it.
  assign back    = s_res.tag - number_q[15:0] >= 16'h8000;
  assign high    = number_q[31:16] + 16'(!back && s_res.tag < number_q[15:0])
                 - 16'(back && s_res.tag > number_q[15:0]);
  assign res_tag = res.tag;
  always_ff @(posedge clk) begin
    if (s_res_valid && s_res_ready) number_q <= {high, s_res.tag};
    if (rst) number_q <= '0;
  end

  // Not in the cycle in which the firmware begins to read the oldest.
  assign drop        = s_res_valid && !res_room && !reading_q && !hwif_out.RES.valid.swacc;
  assign s_res_ready = res_room || reading_q;
  db_fifo #(.WIDTH(16 + $bits(result_t) + $bits(res_cmd_t)), .DEPTH(RESULTS)) i_results (
    .clk, .rst, .level(),
    .s_valid(s_res_valid), .s_ready(res_room), .s_data({high, s_res_cmd, s_res}),
    .m_valid(res_valid), .m_ready(hwif_out.RES_NEXT.go.value || drop),
    .m_data({res_high, res_cmd, res})
  );

  db_csd_regs i_regs (
    .clk, .rst,
    .s_cpuif_req(s_req), .s_cpuif_req_is_wr(s_wr), .s_cpuif_addr(s_addr), .s_cpuif_wr_data(s_wdata),
    .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(), .s_cpuif_req_stall_rd(), .s_cpuif_rd_ack(), .s_cpuif_rd_err(),
    .s_cpuif_rd_data(s_rdata), .s_cpuif_wr_ack(), .s_cpuif_wr_err(), .hwif_in, .hwif_out
  );
endmodule
