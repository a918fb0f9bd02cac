// SPDX-License-Identifier: Apache-2.0
// Computational storage drive: the NVMe SSD controller db_ssd with operators in its data path, one chain a direction.
//
// Which operator, with which key, is a table by namespace that the firmware writes (fw/state/operators.c); a command takes its entry
// along when it is decoded. Commands of different namespaces, operators and keys follow each other without a gap.
// A namespace whose key is not there is locked: Read, Write and Compare end with Access Denied before anything moves.
// Controller reset erases all keys and keeps the table, so nothing is ever written plain in between.
// Latency: that of db_ssd + db_csd_path's. Throughput: db_ssd's; SHA-256 its own (db_csd_sha256).
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_csd
  import db_mem_pkg::*, db_pcie_pkg::*, db_ssd_pkg::*, db_csd_pkg::*;
#(
  parameter int DATA_W       = 256,        // bits: 128, 256, 512
  parameter int NUM_QP       = 32,         // I/O queue pairs, 1..254
  parameter int NUM_CMDS     = 128,        // I/O commands inside: power of two, 2..256
  parameter int NUM_NS       = 1,          // namespaces, 1..64
  parameter int NUM_VEC      = NUM_QP + 1, // MSI-X vectors, 1..256
  parameter int MEDIA_ADDR_W = 40,         // bits of a media address, 20..64
  parameter int KEY_SLOTS    = 16,         // keys, 2..64; slot 0 is that of the features C0h to CDh
  parameter bit CRC32C       = 1'b1,       // has the reducer CRC-32C
  parameter int SHA_CORES    = 4,          // SHA-256 cores a direction, 0..16
  parameter int RAM_BYTES    = 65536,      // the processor's memory, bytes: power of two, 32768..1048576
  parameter     FW_HEX       = "fw.hex"    // its firmware, $readmemh image
) (
`include "db_ssd_ports.svh"
  ,
`include "db_ssd_stat_ports.svh"
);
`include "db_ssd_connect.svh"

  // Commands whose result may be under way: all that are inside, and what waits in the reducers behind them.
  localparam int SEQ   = NUM_CMDS > 64 ? 2 * NUM_CMDS : 128;
  localparam int TDW_W = $clog2(DATA_W / 32) + 1;
  localparam int N_RES = 2 + db_csd_ops_pkg::REDUCERS;  // reducers a direction: CRC-32C, SHA-256, those in folders
  localparam logic [15:0] OPS = 16'h000f | db_csd_ops_pkg::OPS | (SHA_CORES > 0 ? 16'h0010 : 16'd0) |
                                (CRC32C ? 16'h0020 : 16'd0);

  // ---- the controller; rows on their way: [0] media to host, [1] host to media
  logic [1:0]            in_valid, in_ready, in_last, in_err, out_valid, out_ready, out_last, out_err;
  logic [DATA_W-1:0]     in_data[2], out_data[2];
  logic [TDW_W-1:0]      in_dw, out_dw[2];
  logic [DATA_W/128-1:0] out_zero[2];
  row_info_t             in_info[2], out_info[2];
  logic                  tap_rst, tap_idle;
  tap_cmd_t              tap_cmd;
  logic [NUM_NS-1:0]     ns_locked;
  ext_bus_t              ext;
  logic [31:0]           ext_rdata;
  for (genvar d = 0; d < 2; d++) begin : g_info
    assign in_last[d]  = in_info[d].last;
    assign in_err[d]   = in_info[d].err;
    assign out_info[d] = '{last: out_last[d], dw: 5'(out_dw[d]), err: out_err[d]};
  end
  assign in_dw = in_info[1].dw[TDW_W-1:0];
  db_ssd_core #(
    .DATA_W(DATA_W), .NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .NUM_NS(NUM_NS), .NUM_VEC(NUM_VEC),
    .MEDIA_ADDR_W(MEDIA_ADDR_W), .RAM_BYTES(RAM_BYTES), .FW_HEX(FW_HEX)
  ) i_core (
    .*, .m_tap_cmd(tap_cmd), .m_ext(ext), .s_ext_rdata(ext_rdata),
    .m_tap_read_valid(in_valid[0]), .m_tap_read_ready(in_ready[0]), .m_tap_read_data(in_data[0]),
    .m_tap_read_info(in_info[0]), .s_tap_read_valid(out_valid[0]), .s_tap_read_ready(out_ready[0]),
    .s_tap_read_data(out_data[0]), .s_tap_read_info(out_info[0]),
    .m_tap_write_valid(in_valid[1]), .m_tap_write_ready(in_ready[1]), .m_tap_write_data(in_data[1]),
    .m_tap_write_info(in_info[1]), .s_tap_write_valid(out_valid[1]), .s_tap_write_ready(out_ready[1]),
    .s_tap_write_data(out_data[1]), .s_tap_write_info(out_info[1]), .s_tap_write_zero(out_zero[1]));

  // ---- registers and keys
  logic                        word_valid, key_valid, key_ready, key_load, key_long, key_ctr, key_xts, key_busy;
  logic                        bind_we;
  logic [4:0]                  word_addr;
  logic [31:0]                 word_data;
  logic [CSD_SLOT_W-1:0]       key_slot, bind_slot;
  logic [7:0]                  bind_index;
  logic [3:0]                  bind_op;
  logic [CSD_PARAM_W-1:0]      bind_param;
  logic [KEY_SLOTS-1:0]        slot_ctr, slot_xts, slot_short;
  logic [$bits(key_bus_t)-1:0] key_bus;
  logic                        res_valid_q, res_ready;
  logic [CSD_TAG_W-1:0]        res_tag_q;
  logic [255:0]                res_digest_q;
  res_cmd_t                    res_cmd;
  logic [31:0]                 ctl_rdata;
  logic                        reducing;
  logic                        ctl_sel_q;  // ext_addr is there a cycle before ext_req
  always_ff @(posedge clk) ctl_sel_q <= ext.addr[11:8] == '0;
  assign ext_rdata = ctl_rdata;            // 0 if not asked
  db_csd_control #(.KEY_SLOTS(KEY_SLOTS), .OPS(OPS)) i_ctl (
    .clk, .rst(tap_rst), .s_req(ext.req && ctl_sel_q), .s_wr(ext.wr), .s_addr(ext.addr[7:0]), .s_wdata(ext.wdata),
    .s_rdata(ctl_rdata), .bind_we, .bind_index, .bind_op, .bind_slot, .bind_param, .m_word_valid(word_valid),
    .m_word_addr(word_addr), .m_word_data(word_data), .m_cmd_valid(key_valid), .m_cmd_ready(key_ready),
    .m_cmd_load(key_load),
    .m_cmd_slot(key_slot), .m_cmd_long(key_long), .m_cmd_ctr(key_ctr), .m_cmd_xts(key_xts), .busy(key_busy), .slot_ctr,
    .slot_xts, .reducing, .s_res_valid(res_valid_q), .s_res_ready(res_ready), .s_res_tag(res_tag_q),
    .s_res_digest(res_digest_q), .s_res_cmd(res_cmd));
  db_csd_keys #(.KEY_SLOTS(KEY_SLOTS)) i_keys (
    .clk, .rst(tap_rst), .s_word_valid(word_valid), .s_word_addr(word_addr), .s_word_data(word_data),
    .s_cmd_valid(key_valid), .s_cmd_ready(key_ready), .s_cmd_load(key_load), .s_cmd_slot(key_slot),
    .s_cmd_long(key_long), .s_cmd_ctr(key_ctr), .s_cmd_xts(key_xts), .busy(key_busy), .key_bus, .slot_ctr, .slot_xts,
    .slot_short);

  // ---- what is done in a namespace
  localparam int SW = $clog2(KEY_SLOTS);
  localparam int NW = NUM_NS > 1 ? $clog2(NUM_NS) : 1;
  logic [3:0]            ns_op_q[NUM_NS];
  logic [CSD_SLOT_W-1:0] ns_slot_q[NUM_NS];
  logic [CSD_PARAM_W-1:0] ns_param_q[NUM_NS];
  for (genvar i = 0; i < NUM_NS; i++) begin : g_ns
    always_ff @(posedge clk) begin
      if (bind_we && 32'(bind_index) == i) begin
        ns_op_q[i]   <= bind_op;
        ns_slot_q[i] <= bind_slot;
      end
      ns_locked[i] <= (ns_op_q[i] == OP_AES_CTR && !slot_ctr[ns_slot_q[i][SW-1:0]]) ||
                      (ns_op_q[i] == OP_AES_XTS && !slot_xts[ns_slot_q[i][SW-1:0]]);
      if (rst) ns_op_q[i] <= OP_PASS;
    end
  end

  always_ff @(posedge clk) if (bind_we && 32'(bind_index) < NUM_NS) ns_param_q[NW'(bind_index)] <= bind_param;

  op_ctx_t    ctx, ctx_q;
  res_cmd_t   whose;
  logic [CSD_TAG_W-1:0] seq_q;  // counts the commands that have a result
  logic       reduces;
  logic [1:0] ctx_valid_q;
  always_comb begin
    ctx       = '0;
    ctx.param = ns_param_q[NW'(tap_cmd.ctx.nsid - 32'd1)];
    ctx.fn    = tap_cmd.ctx.fn;
    ctx.nsid  = tap_cmd.ctx.nsid;
    ctx.lba   = tap_cmd.ctx.slba;
    ctx.lbads = tap_cmd.lba4k ? 5'd12 : 5'd9;
    ctx.dir   = tap_cmd.write;
    ctx.tag   = seq_q;
    for (int i = 0; i < NUM_NS; i++) begin
      if (tap_cmd.ctx.nsid == 32'(i + 1) && tap_cmd.ctx.desc.user_data) begin  // a list of ranges is nobody's data
        ctx.op       = ns_op_q[i];
        ctx.key_slot = ns_slot_q[i];
      end
    end
  end
  assign reduces = (tap_cmd.read || tap_cmd.write) &&
                   (ctx.op == OP_SHA256 || ctx.op == OP_CRC32C || db_csd_ops_pkg::REDUCES[ctx.op]);
  assign whose   = '{bytes: tap_cmd.ctx.bytes, lba: tap_cmd.ctx.slba, nsid: tap_cmd.ctx.nsid, dir: ctx.dir, op: ctx.op,
                     sqid: tap_cmd.ctx.sqid, cid: tap_cmd.ctx.cid};
  always_ff @(posedge clk) begin
    ctx_q       <= ctx;
    ctx_valid_q <= {tap_cmd.write, tap_cmd.read};
    if (reduces) seq_q <= seq_q + 1'b1;
    if (tap_rst) begin
      ctx_valid_q <= '0;
      seq_q       <= '0;
    end
  end

  // ---- the two chains
  logic [1:0]                     path_idle;
  logic [2*N_RES-1:0]             rv, rr;
  logic [2*N_RES*CSD_TAG_W-1:0]   rt;
  logic [2*N_RES*256-1:0]         rd;
  for (genvar d = 0; d < 2; d++) begin : g_path
    db_csd_path #(
      .DATA_W(DATA_W), .DIR(d == 1), .NUM_CMDS(NUM_CMDS), .KEY_SLOTS(KEY_SLOTS), .CRC32C(CRC32C), .SHA_CORES(SHA_CORES)
    ) i_path (
      .clk, .rst(tap_rst), .idle(path_idle[d]), .key_bus, .slot_ctr, .slot_xts, .slot_short,
      .s_ctx_valid(ctx_valid_q[d]), .s_ctx(ctx_q),
      .s_axis_tvalid(in_valid[d]), .s_axis_tready(in_ready[d]), .s_axis_tdata(in_data[d]), .s_axis_tlast(in_last[d]),
      .s_axis_tdw(d == 1 ? in_dw : '0), .s_axis_terr(in_err[d]),
      .m_axis_tvalid(out_valid[d]), .m_axis_tready(out_ready[d]), .m_axis_tdata(out_data[d]),
      .m_axis_tlast(out_last[d]), .m_axis_tdw(out_dw[d]), .m_axis_terr(out_err[d]), .m_axis_tzero(out_zero[d]),
      .m_res_valid(rv[N_RES*d +: N_RES]), .m_res_ready(rr[N_RES*d +: N_RES]),
      .m_res_tag(rt[N_RES*d*CSD_TAG_W +: N_RES*CSD_TAG_W]), .m_res_digest(rd[N_RES*d*256 +: N_RES*256]));
  end

  // ---- results of all reducers, one after the other, each with the command it belongs to
  logic [2*N_RES-1:0]   gnt;
  logic [$clog2(2*N_RES)-1:0] idx;
  logic                 any, take;
  logic [CSD_TAG_W-1:0] tag;
  logic [8:0]           todo_q;     // a reducer may still be at work when its data are gone
  db_arb_rr #(.N(2 * N_RES)) i_arb (.clk, .rst(tap_rst), .req(rv), .ack(take), .gnt_valid(any), .gnt, .gnt_idx(idx));
  assign take = any && (!res_valid_q || res_ready);
  assign rr   = take ? gnt : '0;
  assign tag  = rt[32'(idx)*CSD_TAG_W +: CSD_TAG_W];
  db_ram_sdp #(.WIDTH($bits(res_cmd_t)), .DEPTH(SEQ)) i_whose (
    .clk, .we(reduces), .waddr(seq_q[$clog2(SEQ)-1:0]), .wdata(whose), .re(take), .raddr(tag[$clog2(SEQ)-1:0]),
    .rdata(res_cmd));
  always_ff @(posedge clk) begin
    if (res_ready) res_valid_q <= 1'b0;
    if (take) begin
      res_valid_q  <= 1'b1;
      res_tag_q    <= tag;
      res_digest_q <= rd[32'(idx)*256 +: 256];
    end
    todo_q <= todo_q + 9'(reduces) - 9'(res_valid_q && res_ready);
    if (tap_rst) begin
      res_valid_q <= 1'b0;
      todo_q      <= '0;
    end
  end
  assign reducing = todo_q != '0;
  assign tap_idle = path_idle == '1 && !key_busy && !key_valid && ctx_valid_q == '0 && !reducing;

  logic unused_ok;
  assign unused_ok = &{1'b0, out_dw[0], out_zero[0]};
endmodule
