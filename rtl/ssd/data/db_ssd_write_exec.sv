// SPDX-License-Identifier: Apache-2.0
// Media side of the write pipe: takes commands in order with their data stream and does them on the media.
//
// Write: AXI bursts; the address side runs ahead of the data by a few bursts. A row whose read from the host failed
// is written with no strobe. A command is over with its last write response; with FUA, after a flush of the media
// behind that.
// Compare: its data is read from the media (second AXI id, requested ahead) and set against the stream.
// Flush, Write Zeroes, Dataset Management: wait until every earlier write has its response, then db_ssd_media_cmd.
// stop (until rst): issues nothing new. A burst whose address is out is filled with rows of no strobe if its data does
// not come, and its command fails; Compare's rows are thrown away, and completions that nobody takes are lost.
// Addresses and sizes are multiples of 512 bytes.
// Latency: first row to W and last response to completion 1 cycle. Throughput: a row a cycle, also across commands; a
// burst, and a command, every other cycle.
module db_ssd_write_exec
  import db_nvme_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W      = 256,   // bits: 128, 256, 512
  parameter int ADDR_W      = 40,    // bits of a media address
  parameter int BURST_BYTES = 1024,  // of a write burst: power of two, 512..4096, at most 256 rows
  parameter int CMP_BYTES   = 4096   // buffer for media data of Compare
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                stop,
  input  logic                no_more_rows,   // with stop: the host's data that was asked for has all come
  output logic                quiet,          // nothing is outstanding at the media
  output logic                idle,
  input  logic                s_cmd_valid,
  output logic                s_cmd_ready,
  input  cmd_t                s_cmd,
  // data of Write, Compare, Dataset Management: a packet a command
  input  logic                s_axis_tvalid,
  output logic                s_axis_tready,
  input  logic [DATA_W-1:0]   s_axis_tdata,
  input  logic                s_axis_tlast,
  input  logic [$clog2(DATA_W/32):0] s_axis_tdw,
  input  logic                s_axis_terr,
  input  logic [DATA_W/128-1:0] s_axis_tzero, // Compare: 16 bytes that zeros on the media are equal to, too
  // result of the PRP walk of the packet, there before its last row; taken the cycle after it
  input  logic                s_prp_valid,
  output logic                s_prp_ready,
  input  status_t             s_prp_status,
  // AXI4 writes
  output logic                m_aw_valid,
  input  logic                m_aw_ready,
  output logic [ADDR_W-1:0]   m_aw_addr,
  output logic [7:0]          m_aw_len,
  output logic                m_w_valid,
  input  logic                m_w_ready,
  output logic [DATA_W-1:0]   m_w_data,
  output logic [DATA_W/8-1:0] m_w_strb,
  output logic                m_w_last,
  input  logic                s_b_valid,
  output logic                s_b_ready,
  input  logic [1:0]          s_b_resp,
  // AXI4 reads of Compare
  output logic                m_ar_valid,
  input  logic                m_ar_ready,
  output logic [ADDR_W-1:0]   m_ar_addr,
  output logic [7:0]          m_ar_len,
  input  logic                s_r_valid,
  output logic                s_r_ready,
  input  logic [DATA_W-1:0]   s_r_data,
  input  logic [1:0]          s_r_resp,
  input  logic                s_r_last,
  // media commands
  output logic                m_media_valid,
  input  logic                m_media_ready,
  output media_op_e           m_media_op,
  output logic [ADDR_W-1:0]   m_media_addr,
  output logic [63:0]         m_media_bytes,
  input  logic                s_media_done,
  input  logic                s_media_err,
  // completions
  output logic                m_cpl_valid,
  input  logic                m_cpl_ready,
  output slot_completion_t           m_cpl,
  output logic                media_err
);
  localparam int ROW_LG   = $clog2(DATA_W / 8);
  localparam int BURST_LG = $clog2(BURST_BYTES);

  if (BURST_BYTES < 512 || BURST_BYTES > 4096 || BURST_BYTES * 8 / DATA_W > 256) begin : g_bad_burst
    $error("%m: BURST_BYTES must be 512..4096 and at most 256 rows");
  end

  typedef struct packed {
    logic              last;         // of the command
    logic              fua;          // Write: its flush follows and completes it
    logic              compare;
    logic              media;        // Flush, Write Zeroes, Dataset Management, end of FUA: the command is in cmd_q
    logic [7:0]        rows;         // of the burst, less 1 (Write)
    logic [SLOT_W-1:0] slot;
  } item_t;
  typedef struct packed {
    logic              last;
    logic              fua;
    logic [SLOT_W-1:0] slot;
    status_t           status;
  } burst_t;

  // between the parts below
  logic       direct_valid_q, direct_free, direct_take;  // Compare and media commands: their completion
  logic [6:0] burst_level;                               // write bursts without response
  logic [2:0] writes_q;                                  // bursts whose address is out and whose data is not

  // ---- command to items: bursts of a Write with their address, anything else in one
  logic               busy_q;        // a Write is being cut
  logic               fua_q;         // ... with FUA
  logic               flush_q;       // its flush is the next item
  logic               held_q;        // a media command waits for its end
  cmd_t               cmd_q;         // the media command
  logic [ADDR_W-1:0]  addr_q;
  logic [31:0]        left_q;
  logic [SLOT_W-1:0]  slot_q;
  logic [BURST_LG-1:0] off_d;
  logic [31:0]        left_d;
  logic [BURST_LG:0]  to_edge, burst_q;
  logic               last_d, last_q, cut, take, fua_flush, is_write, is_compare, cmp_ready, simple;
  item_t              item_w, item;
  logic               item_push, item_ready, item_valid, item_pop;
  logic               media_end;

  // The next burst is worked out a cycle ahead, while m_aw_valid holds the one before it: bursts go every other cycle.
  assign off_d      = busy_q ? addr_q[BURST_LG-1:0] : s_cmd.media_addr[BURST_LG-1:0];
  assign left_d     = busy_q ? left_q : s_cmd.bytes;
  assign to_edge    = (BURST_LG + 1)'(BURST_BYTES) - {1'b0, off_d};
  assign last_d     = left_d <= 32'(to_edge);
  assign cut        = busy_q && !stop && !m_aw_valid && item_ready;
  assign is_write   = s_cmd.op == CMD_WRITE;
  assign is_compare = s_cmd.op == CMD_COMPARE;
  // A Write goes to the cutter as soon as that is free; the others are one item and wait for room.
  assign simple     = s_cmd_valid && !is_write && !busy_q && !flush_q && !held_q && !stop && item_ready &&
                      (!is_compare || cmp_ready);
  assign fua_flush  = flush_q && !stop && item_ready;
  assign s_cmd_ready = is_write ? !held_q && !flush_q && !busy_q : simple;
  assign take       = s_cmd_valid && s_cmd_ready;
  assign item_push  = cut || simple || fua_flush;
  always_comb begin
    item_w.last    = cut ? last_q : 1'b1;
    item_w.fua     = cut && fua_q;
    item_w.compare = simple && is_compare;
    item_w.media   = fua_flush || (simple && !is_compare);
    item_w.rows    = 8'((burst_q >> ROW_LG) - 1'b1);
    item_w.slot    = simple ? s_cmd.slot : slot_q;
  end

  always_ff @(posedge clk) begin
    last_q  <= last_d;
    burst_q <= last_d ? left_d[BURST_LG:0] : to_edge;
    if (m_aw_ready) m_aw_valid <= 1'b0;
    if (cut) begin
      m_aw_valid <= 1'b1;
      m_aw_addr  <= addr_q;
      m_aw_len   <= item_w.rows;
      addr_q     <= addr_q + ADDR_W'(burst_q);
      left_q     <= left_q - 32'(burst_q);
      busy_q     <= !last_q;
    end
    if (take && is_write) begin
      busy_q <= 1'b1;
      addr_q <= s_cmd.media_addr[ADDR_W-1:0];
      left_q <= s_cmd.bytes;
      slot_q <= s_cmd.slot;
      fua_q  <= s_cmd.fua;
    end
    if (cut && last_q && fua_q) flush_q <= 1'b1;
    if (fua_flush) begin
      flush_q  <= 1'b0;
      held_q   <= 1'b1;
      cmd_q.op <= CMD_FLUSH;
    end else if (simple && !is_compare) begin
      held_q <= 1'b1;
      cmd_q  <= s_cmd;
    end else if (media_end) held_q <= 1'b0;
    if (rst) begin
      busy_q     <= 1'b0;
      held_q     <= 1'b0;
      flush_q    <= 1'b0;
      m_aw_valid <= 1'b0;
    end
  end

  db_fifo #(.WIDTH($bits(item_t)), .DEPTH(4)) i_items (
    .clk, .rst, .s_valid(item_push), .s_ready(item_ready), .s_data(item_w),
    .m_valid(item_valid), .m_ready(item_pop), .m_data(item), .level());

  // ---- Compare's side of the media
  logic              cmp_valid, cmp_pop, cmp_last, cmp_err, cmp_quiet, cmp_quiet_q;
  logic [DATA_W-1:0] cmp_data;
  db_axi_read #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .ROWS(CMP_BYTES * 8 / DATA_W), .USER_W(1)) i_compare (
    .clk, .rst, .stop, .quiet(cmp_quiet),
    .s_cmd_valid(simple && is_compare), .s_cmd_ready(cmp_ready), .s_cmd_addr(s_cmd.media_addr[ADDR_W-1:0]),
    .s_cmd_bytes(s_cmd.bytes), .s_cmd_user(1'b0),
    .m_ar_valid, .m_ar_ready, .m_ar_addr, .m_ar_len, .s_r_valid, .s_r_ready, .s_r_data, .s_r_resp, .s_r_last,
    .m_axis_tvalid(cmp_valid), .m_axis_tready(cmp_pop), .m_axis_tdata(cmp_data), .m_axis_tlast(cmp_last),
    .m_axis_terr(cmp_err), .m_axis_tuser());

  // ---- rows: which item do they belong to
  logic       w_free, write_row, cmp_row, discard, discard_last, fill, burst_room, ctl_ready, ctl_run_q, drained;
  logic [7:0] row_q;
  logic       last_row, prp_pop;     // last_row: known a row ahead, as no burst has one row only
  logic [4:0] dry_q;                 // cycles in which no row was taken while nothing more can come
  assign w_free    = !m_w_valid || m_w_ready;
  assign fill      = stop && dry_q[4];
  assign write_row = item_valid && !item.compare && !item.media && w_free && burst_room && (s_axis_tvalid || fill);
  assign cmp_row   = item_valid && item.compare && s_axis_tvalid && cmp_valid && direct_free && !stop;
  // Stopped: a Compare, whose media data may not come, makes way for the bursts behind it.
  assign discard      = stop && item_valid && item.compare;
  assign discard_last = discard && s_axis_tvalid && s_axis_tlast;
  assign cmp_pop   = cmp_row;
  assign s_axis_tready = (item_valid && !item.compare && !item.media && w_free && burst_room && !fill) ||
                         (item_valid && item.compare && cmp_valid && direct_free && !stop) || discard || ctl_ready;
  assign item_pop  = (write_row && last_row) || (cmp_row && cmp_last) || media_end ||
                     discard_last || (discard && fill);
  assign prp_pop   = (write_row && last_row && item.last && !fill) || (cmp_row && cmp_last) || discard_last ||
                     (media_end && cmd_q.op == CMD_DSM);
  assign drained   = burst_level == '0 && !m_w_valid && !m_aw_valid;

  always_ff @(posedge clk) begin
    s_prp_ready <= prp_pop && !rst;  // the next packet's last row is some rows away
    dry_q <= (no_more_rows && !(s_axis_tvalid && s_axis_tready)) ? (dry_q[4] ? dry_q : dry_q + 1'b1) : '0;
    if (write_row) begin
      row_q    <= last_row ? '0 : row_q + 1'b1;
      last_row <= !last_row && row_q + 8'd1 == item.rows;
    end
    if (w_free) begin
      m_w_valid <= write_row;
      m_w_data  <= s_axis_tdata;
      m_w_strb  <= {DATA_W/8{!(fill || s_axis_terr)}};
      m_w_last  <= last_row;
    end
    if (rst) begin
      row_q     <= '0;
      last_row  <= 1'b0;
      m_w_valid <= 1'b0;
      dry_q     <= '0;
    end
  end

  // ---- write responses
  status_t stream_status;            // of the packet that ends with this row
  localparam status_t NOT_HERE = '{dnr: 1'b0, more: 1'b0, crd: 2'b00, sct: SCT_GENERIC, sc: SC_DATA_TRANSFER_ERROR};
  assign stream_status = fill                 ? NOT_HERE
                       : (s_prp_status != '0) ? s_prp_status
                       : s_axis_terr          ? NOT_HERE : '0;
  burst_t     burst_m;
  logic       burst_valid, b_free, b_err_q;
  db_fifo #(.WIDTH($bits(burst_t)), .DEPTH(64)) i_bursts (
    .clk, .rst, .s_valid(write_row && last_row), .s_ready(burst_room),
    .s_data({item.last, item.fua, item.slot, stream_status}),
    .m_valid(burst_valid), .m_ready(s_b_valid && s_b_ready), .m_data(burst_m), .level(burst_level));
  localparam status_t WRITE_FAULT = '{dnr: 1'b0, more: 1'b0, crd: 2'b00, sct: SCT_MEDIA, sc: SC_WRITE_FAULT};
  localparam status_t READ_ERROR  = '{dnr: 1'b0, more: 1'b0, crd: 2'b00, sct: SCT_MEDIA, sc: SC_READ_ERROR};
  localparam status_t MISMATCH    = '{dnr: 1'b0, more: 1'b0, crd: 2'b00, sct: SCT_MEDIA, sc: SC_COMPARE_FAILED};
  logic      b_valid_q;
  slot_completion_t b_cpl_q;
  status_t   fua_status_q;           // of the Write whose flush is to come
  logic      b_fua_q;
  logic      b_take;
  assign b_free    = !b_valid_q;
  assign s_b_ready = b_free || stop;  // stopped, nobody may take completions, but every burst must end
  always_ff @(posedge clk) begin
    if (b_free)      b_valid_q <= s_b_valid && burst_m.last && !burst_m.fua;
    else if (b_take) b_valid_q <= 1'b0;
    b_fua_q <= s_b_valid && s_b_ready && burst_m.last && burst_m.fua;
    if (b_fua_q)        fua_status_q <= b_cpl_q.status;
    else if (media_end) fua_status_q <= '0;
    if (s_b_valid && s_b_ready) begin
      b_err_q <= (b_err_q || s_b_resp[1]) && !burst_m.last;
      if (b_free) b_cpl_q <= '{slot: burst_m.slot, status: (burst_m.status != '0) ? burst_m.status
                                              : (b_err_q || s_b_resp[1]) ? WRITE_FAULT : '0};
    end
    if (rst) begin
      b_valid_q    <= 1'b0;
      b_err_q      <= 1'b0;
      b_fua_q      <= 1'b0;
      fua_status_q <= '0;
    end
  end

  // ---- Compare's verdict, media commands' end
  logic      differ_q, cmp_err_q, differ, cerr;
  slot_completion_t direct_q;
  status_t   ctl_status;
  logic [DATA_W/128-1:0] unequal;
  for (genvar i = 0; i < DATA_W / 128; i++) begin : g_unequal
    assign unequal[i] = s_axis_tdata[128*i +: 128] != cmp_data[128*i +: 128] &&
                        !(s_axis_tzero[i] && cmp_data[128*i +: 128] == '0);
  end
  assign differ      = differ_q || unequal != '0;
  assign cerr        = cmp_err_q || cmp_err;
  assign direct_free = !direct_valid_q;
  always_ff @(posedge clk) begin
    if (cmp_row) begin
      differ_q  <= differ && !cmp_last;
      cmp_err_q <= cerr && !cmp_last;
    end
    if (direct_free) begin
      direct_valid_q  <= (cmp_row && cmp_last) || media_end;
      direct_q.slot   <= item.slot;
      if (item.media)                direct_q.status <= (cmd_q.op == CMD_DSM && s_prp_status != '0) ? s_prp_status
                                                      : (fua_status_q != '0) ? fua_status_q : ctl_status;
      else if (stream_status != '0)  direct_q.status <= stream_status;
      else if (cerr)                 direct_q.status <= READ_ERROR;
      else                           direct_q.status <= differ ? MISMATCH : '0;
    end
    if (direct_valid_q && direct_take) direct_valid_q <= 1'b0;
    if (rst) begin
      differ_q       <= 1'b0;
      cmp_err_q      <= 1'b0;
      direct_valid_q <= 1'b0;
    end
  end

  // ---- media commands
  logic ctl_start, ctl_done, media_out_q, ctl_end_q;
  assign ctl_start = item_valid && item.media && drained && !ctl_run_q && !ctl_end_q && !stop;
  assign media_end = ctl_end_q && direct_free;
  db_ssd_media_cmd #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_ctl (
    .clk, .rst, .stop, .s_start(ctl_start), .s_cmd(cmd_q),
    .s_axis_tvalid(s_axis_tvalid && ctl_run_q), .s_axis_tready(ctl_ready), .s_axis_tdata, .s_axis_tlast, .s_axis_tdw,
    .s_axis_terr, .m_media_valid, .m_media_ready, .m_media_op, .m_media_addr, .m_media_bytes, .s_media_done,
    .s_media_err, .m_done(ctl_done), .m_status(ctl_status));
  always_ff @(posedge clk) begin
    if (ctl_start)     ctl_run_q <= 1'b1;
    else if (ctl_done) ctl_run_q <= 1'b0;
    if (ctl_done)       ctl_end_q <= 1'b1;
    else if (media_end) ctl_end_q <= 1'b0;
    if (m_media_valid && m_media_ready) media_out_q <= 1'b1;
    else if (s_media_done)              media_out_q <= 1'b0;
    if (rst) begin
      ctl_run_q   <= 1'b0;
      ctl_end_q   <= 1'b0;
      media_out_q <= 1'b0;
    end
  end

  // ---- completions of both; what is offered stays until it is taken
  logic keep_direct_q, pick_b;
  assign pick_b      = b_valid_q && !keep_direct_q;
  assign m_cpl_valid = b_valid_q || direct_valid_q;
  assign m_cpl       = pick_b ? b_cpl_q : direct_q;
  assign b_take      = m_cpl_ready && pick_b;
  assign direct_take = m_cpl_ready && !pick_b;
  always_ff @(posedge clk) begin
    keep_direct_q <= direct_valid_q && !pick_b && !m_cpl_ready;
    media_err     <= m_cpl_valid && m_cpl_ready && (m_cpl.status == READ_ERROR || m_cpl.status == WRITE_FAULT);
    if (rst) begin
      keep_direct_q <= 1'b0;
      media_err     <= 1'b0;
    end
  end

  // A media command on offer counts as outstanding: it is not taken back.
  logic most_quiet;
  assign most_quiet = drained && writes_q == '0 && !m_media_valid && !media_out_q;
  assign quiet = most_quiet && cmp_quiet;
  assign idle  = most_quiet && cmp_quiet_q && !s_cmd_valid && !item_valid && !busy_q && !flush_q && !held_q &&
                 !m_cpl_valid && !s_axis_tvalid;
  always_ff @(posedge clk) begin
    cmp_quiet_q <= cmp_quiet;        // a Compare's item is in the queue meanwhile
    writes_q    <= writes_q + 3'(cut) - 3'(write_row && last_row);
    if (rst) writes_q <= '0;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst) begin
    if (prp_pop && !stop) assert (s_prp_valid);
    if (s_b_valid && s_b_ready) assert (burst_valid);
    if (cut) assert (item_w.rows != '0);
  end
`endif
endmodule
