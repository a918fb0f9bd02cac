// SPDX-License-Identifier: Apache-2.0
// What the drive reads in the window, a row at a time: submission entries, PRP lists and range lists are made here from
// the command's context and the address; data comes from the write ring, admin entries and data from the admin buffer.
//
// Nothing that is made is stored, so a command may be read at any time and as often as the drive likes. All else in the
// window (completion queues, the read ring, beyond the write ring) reads as zeros.
// With SGLs the data of a Read or a Write is one data block. It may go on past the ring's end, so a ring that has room for
// it stands twice in its region; data in one of 8 MiB, which has none, is described by PRPs.
// Latency: ROW_LATENCY (4) cycles. Throughput: a row every cycle.
module db_host_window_rows
  import db_host_pkg::*;
  import db_nvme_pkg::*;
#(
  /// bits of a row: 128, 256 or 512
  parameter int DATA_W        = 128,
  /// a power of two, 4 KiB .. 8 MiB
  parameter int WR_RING_BYTES = 65536,
  /// the same
  parameter int RD_RING_BYTES = 524288,
  /// I/O queue pairs: 1, 2 or 4
  parameter int NUM_QP        = 1,
  /// a place may be of a slot that is tried a second time
  parameter bit RETRY         = 1'b0,
  localparam int WROW_W = $clog2(WR_RING_BYTES / (DATA_W / 8))
) (
  input  logic              clk,

  /// a multiple of the window's size
  input  logic [63:0]       window_base,
  input  logic [31:0]       nsid,
  /// the drive takes SGLs
  input  logic              sgl,
  input  slot_map_t         map,

  input  logic              s_row_valid,
  /// of a row
  input  logic [WIN_W-1:0]  s_row_addr,
  output logic [DATA_W-1:0] m_row_data,

  output logic              m_ctx_re,
  output logic [CID_W-1:0]  m_ctx_slot,
  /// the cycle after
  input  entry_ctx_t        s_ctx,

  output logic              m_write_ring_re,
  output logic [WROW_W-1:0] m_write_ring_addr,
  /// 2 cycles after
  input  logic [DATA_W-1:0] s_write_ring_data,

  output logic              m_admin_buf_re,
  /// dword address of the row
  output logic [10:0]       m_admin_buf_addr,
  /// 2 cycles after
  input  logic [DATA_W-1:0] s_admin_buf_data
);
  localparam int N      = DATA_W / 32;
  localparam int LSB    = $clog2(DATA_W / 8);
  localparam int WR_W   = $clog2(WR_RING_BYTES);
  localparam int PAGE_W = REGION_W - 12;  // log2 of the pages in a region
  localparam logic [PAGE_W-1:0] WR_PAGES = PAGE_W'(WR_RING_BYTES / 4096 - 1);  // masks
  localparam logic [PAGE_W-1:0] RD_PAGES = PAGE_W'(RD_RING_BYTES / 4096 - 1);
  localparam bit WR_TWICE = WR_RING_BYTES < 2 ** REGION_W;
  localparam bit RD_TWICE = RD_RING_BYTES < 2 ** REGION_W;

  if (!(DATA_W inside {128, 256, 512}) || !(NUM_QP inside {1, 2, 4})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), NUM_QP 1, 2 or 4 (is %0d)", DATA_W, NUM_QP);
  end
  if (WR_RING_BYTES != (1 << WR_W) || WR_RING_BYTES < 4096 || WR_RING_BYTES > 8388608 ||
      RD_RING_BYTES != (1 << $clog2(RD_RING_BYTES)) || RD_RING_BYTES < 4096 || RD_RING_BYTES > 8388608) begin : g_ring
    $error("%m: WR_RING_BYTES and RD_RING_BYTES must be powers of two from 4096 to 8388608");
  end

  typedef enum logic [2:0] {
    ROW_ZERO, ROW_ENTRY, ROW_WR_LIST, ROW_RD_LIST, ROW_RANGE, ROW_WRITE_RING, ROW_ADMIN
  } row_kind_e;

  // ---- first cycle: what is it
  region_e             region;
  logic [REGION_W-1:0] off;
  row_kind_e           kind;
  logic [CID_W-1:0]    entry;
  logic                second, second1_q, second2_q;  // a slot's second entry

  assign region = region_e'(s_row_addr[WIN_W-1:REGION_W]);
  assign off    = s_row_addr[REGION_W-1:0];

  always_comb begin
    kind = ROW_ZERO;
    unique case (region)
      REGION_QUEUES: begin
        if (off[REGION_W-1:20] == IO_SQ[REGION_W-1:20]) kind = ROW_ENTRY;
        if (off[REGION_W-1:12] inside {ADMIN_SQ[REGION_W-1:12], ADMIN_BUF[REGION_W-1:12]}) kind = ROW_ADMIN;
      end
      REGION_WR_DATA: if (32'(off) < 2 * WR_RING_BYTES) kind = ROW_WRITE_RING;
      REGION_WR_PRP: kind = ROW_WR_LIST;
      REGION_RD_PRP: kind = ROW_RD_LIST;
      REGION_RANGES: kind = ROW_RANGE;
      default: kind = ROW_ZERO;
    endcase
    entry  = off[6 +: CID_W];
    second = RETRY && map.second && region == REGION_QUEUES && off[15:6] == {1'b0, map.place};
    if (region == REGION_QUEUES) entry = map.base + CID_W'(off[15:6] * NUM_QP) + CID_W'(off[19:16] & 4'(NUM_QP - 1));
    if (second) entry = map.oldest;
  end

  row_kind_e         kind1_q, kind2_q, kind3_q;
  logic [CID_W-1:0]  slot1_q, slot2_q;
  logic [PAGE_W-1:0] page1_q, page2_q;   // of the row's first PRP entry
  logic              ctx_re_q, write_ring_re_q, admin_buf_re_q;
  logic [WROW_W-1:0] write_ring_addr_q;
  logic [10:0]       admin_buf_addr_q;

  always_ff @(posedge clk) begin
    kind1_q           <= kind;
    kind2_q           <= kind1_q;
    kind3_q           <= kind2_q;
    slot1_q           <= entry & map.mask;
    slot2_q           <= slot1_q;
    second1_q         <= second;
    second2_q         <= second1_q;
    page1_q           <= off[REGION_W-1:12] + PAGE_W'(off[11:3]) + 1'b1;
    page2_q           <= page1_q;
    ctx_re_q          <= s_row_valid && (kind == ROW_ENTRY || kind == ROW_RANGE);
    write_ring_re_q   <= s_row_valid && kind == ROW_WRITE_RING;
    admin_buf_re_q    <= s_row_valid && kind == ROW_ADMIN;
    write_ring_addr_q <= off[WR_W-1:LSB];
    admin_buf_addr_q  <= off[13] ? {1'b0, off[11:2]} : {5'b1_0000, off[7:2]};
  end

  assign m_ctx_re          = ctx_re_q;
  assign m_ctx_slot        = slot1_q;
  assign m_write_ring_re   = write_ring_re_q;
  assign m_write_ring_addr = write_ring_addr_q;
  assign m_admin_buf_re    = admin_buf_re_q;
  assign m_admin_buf_addr  = admin_buf_addr_q;

  // ---- third cycle: entries and lists
  function automatic logic [63:0] at(input region_e where, input logic [REGION_W-1:0] offset);
    return {window_base[63:WIN_W], where, offset};
  endfunction

  sqe_t              sqe;
  sgl_desc_t         block;
  logic              is_write;
  logic [14:0]       ends;         // units of 512 bytes from the start of the first page to the end of the data
  logic [PAGE_W-1:0] first_page, second_page;
  logic [DATA_W-1:0] entry_row, list_row, gen_q;

  always_comb begin
    is_write    = s_ctx.slot.op == BLOCK_WRITE;
    ends        = 15'(s_ctx.slot.buf512[2:0]) + 15'(s_ctx.slot.len512);
    first_page  = s_ctx.slot.buf512[13:3];
    second_page = (first_page + 1'b1) & (is_write ? WR_PAGES : RD_PAGES);
    sqe         = '0;
    sqe.cid     = 16'({second2_q, s_ctx.gen, slot2_q});
    sqe.nsid    = nsid;
    unique case (s_ctx.slot.op)
      BLOCK_READ:   sqe.opc = OPC_READ;
      BLOCK_WRITE:  sqe.opc = OPC_WRITE;
      BLOCK_TRIM:   sqe.opc = OPC_DSM;
      BLOCK_ZEROES: sqe.opc = OPC_WRITE_ZEROES;
      BLOCK_VERIFY: sqe.opc = OPC_VERIFY;
      default:      sqe.opc = OPC_FLUSH;
    endcase
    block       = '{kind: SGL_BLOCK, subtype: '0, rsvd: '0, bytes: 32'({s_ctx.slot.len512, 9'd0}),
                    addr: at(is_write ? REGION_WR_DATA : REGION_RD_DATA, {s_ctx.slot.buf512, 9'd0})};
    if (s_ctx.slot.op inside {BLOCK_READ, BLOCK_WRITE} && sgl && (is_write ? WR_TWICE : RD_TWICE)) begin
      sqe.psdt             = 2'b01;
      {sqe.prp2, sqe.prp1} = block;
    end else if (s_ctx.slot.op inside {BLOCK_READ, BLOCK_WRITE}) begin
      sqe.prp1 = at(is_write ? REGION_WR_DATA : REGION_RD_DATA, {s_ctx.slot.buf512, 9'd0});
      if (ends > 15'd16) sqe.prp2 = at(is_write ? REGION_WR_PRP : REGION_RD_PRP, {first_page, 12'd0});
      else if (ends > 15'd8) sqe.prp2 = at(is_write ? REGION_WR_DATA : REGION_RD_DATA, {second_page, 12'd0});
    end
    if (s_ctx.slot.op inside {BLOCK_READ, BLOCK_WRITE, BLOCK_ZEROES, BLOCK_VERIFY}) begin
      {sqe.cdw11, sqe.cdw10} = s_ctx.slot.lba;
      sqe.cdw12              = {16'd0, s_ctx.slot.blocks[15:0] - 16'd1};
    end
    if (s_ctx.slot.op == BLOCK_TRIM) begin
      sqe.prp1  = at(REGION_RANGES, REGION_W'({slot2_q, 6'd0}));
      sqe.cdw11 = 32'd4;  // deallocate
    end
  end

  if (DATA_W == 512) begin : g_whole
    assign entry_row = sqe;
  end else begin : g_part
    logic [5:LSB] part1_q, part2_q;
    always_ff @(posedge clk) begin
      part1_q <= off[5:LSB];
      part2_q <= part1_q;
    end
    assign entry_row = sqe[DATA_W*part2_q +: DATA_W];
  end

  always_comb begin
    for (int j = 0; j < N / 2; j++) begin
      list_row[64*j +: 64] = (kind2_q == ROW_WR_LIST) ? at(REGION_WR_DATA, {(page2_q + PAGE_W'(j)) & WR_PAGES, 12'd0})
                                                      : at(REGION_RD_DATA, {(page2_q + PAGE_W'(j)) & RD_PAGES, 12'd0});
    end
  end

  always_ff @(posedge clk) begin
    unique case (kind2_q)
      ROW_ENTRY:                gen_q <= entry_row;
      ROW_WR_LIST, ROW_RD_LIST: gen_q <= list_row;
      ROW_RANGE:                gen_q <= {N / 4{s_ctx.slot.lba, s_ctx.slot.blocks, 32'd0}};
      default:                  gen_q <= '0;
    endcase
    unique case (kind3_q)
      ROW_WRITE_RING: m_row_data <= s_write_ring_data;
      ROW_ADMIN:      m_row_data <= s_admin_buf_data;
      default:        m_row_data <= gen_q;
    endcase
  end
endmodule
