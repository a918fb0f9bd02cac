// SPDX-License-Identifier: Apache-2.0
// What the drive reads in the window, a row at a time: submission entries, PRP lists and range lists are made here from
// the command's context and the address; data comes from the write ring, admin entries and data from the admin buffer.
//
// Nothing that is made is stored, so a command may be read at any time and as often as the drive likes. All else in the
// window (completion queues, the read ring, beyond the write ring) reads as zeros.
// Latency: ROW_LATENCY (4) cycles. Throughput: a row every cycle.
module db_host_window_rows
  import db_host_pkg::*;
  import db_nvme_pkg::*;
#(
    parameter int unsigned DATA_W        = 128,     // bits of a row: 128, 256 or 512
    parameter int unsigned WR_RING_BYTES = 65536,   // a power of two, 4 KiB .. 8 MiB
    parameter int unsigned RD_RING_BYTES = 524288,  // the same
    parameter int unsigned NUM_QP        = 1,       // I/O queue pairs: 1, 2 or 4
    localparam int unsigned WROW_W = $clog2(WR_RING_BYTES / (DATA_W / 8))
) (
    input  logic              clk,

    input  logic [63:0]       window_base,  // a multiple of the window's size
    input  logic [31:0]       nsid,
    input  logic [CID_W-1:0]  sq_base,      // slot of entry 0 of the first queue
    input  logic [CID_W-1:0]  slot_mask,    // slots in use - 1

    input  logic              s_row_valid,
    input  logic [WIN_W-1:0]  s_row_addr,   // of a row
    output logic [DATA_W-1:0] m_row_data,

    output logic              m_ctx_re,
    output logic [CID_W-1:0]  m_ctx_slot,
    input  slot_t             s_ctx,        // the cycle after
    input  logic [GEN_W-1:0]  s_ctx_gen,

    output logic              m_wbuf_re,
    output logic [WROW_W-1:0] m_wbuf_addr,
    input  logic [DATA_W-1:0] s_wbuf_data,  // 2 cycles after

    output logic              m_abuf_re,
    output logic [10:0]       m_abuf_addr,  // dwords
    input  logic [DATA_W-1:0] s_abuf_data   // 2 cycles after
);
  localparam int unsigned N      = DATA_W / 32;
  localparam int unsigned LSB    = $clog2(DATA_W / 8);
  localparam int unsigned WR_W   = $clog2(WR_RING_BYTES);
  localparam int unsigned PAGE_W = REGION_W - 12;  // log2 of the pages in a region
  localparam logic [PAGE_W-1:0] WR_PAGES = PAGE_W'(WR_RING_BYTES / 4096 - 1);  // masks
  localparam logic [PAGE_W-1:0] RD_PAGES = PAGE_W'(RD_RING_BYTES / 4096 - 1);

  if (!(DATA_W inside {128, 256, 512}) || !(NUM_QP inside {1, 2, 4})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), NUM_QP 1, 2 or 4 (is %0d)", DATA_W, NUM_QP);
  end
  if (WR_RING_BYTES != (1 << WR_W) || WR_RING_BYTES < 4096 || WR_RING_BYTES > 8388608 ||
      RD_RING_BYTES != (1 << $clog2(RD_RING_BYTES)) || RD_RING_BYTES < 4096 || RD_RING_BYTES > 8388608) begin : g_ring
    $error("%m: WR_RING_BYTES and RD_RING_BYTES must be powers of two from 4096 to 8388608");
  end

  typedef enum logic [2:0] {ZERO, SQE, PRP_WR, PRP_RD, RANGE, WBUF, ABUF} kind_e;

  // ------------------------------------------------------------------ first cycle: what is it
  region_e             region;
  logic [REGION_W-1:0] off;
  kind_e               kind;
  logic [CID_W-1:0]    entry;

  assign region = region_e'(s_row_addr[WIN_W-1:REGION_W]);
  assign off    = s_row_addr[REGION_W-1:0];

  always_comb begin
    kind = ZERO;
    unique case (region)
      REG_QUEUES: begin
        if (off[REGION_W-1:20] == IO_SQ[REGION_W-1:20]) kind = SQE;
        if (off[REGION_W-1:12] inside {ADMIN_SQ[REGION_W-1:12], ADMIN_BUF[REGION_W-1:12]}) kind = ABUF;
      end
      REG_WR_DATA: if (32'(off) < WR_RING_BYTES) kind = WBUF;
      REG_WR_PRP: kind = PRP_WR;
      REG_RD_PRP: kind = PRP_RD;
      REG_RANGES: kind = RANGE;
      default: kind = ZERO;
    endcase
    entry = off[6 +: CID_W];
    if (region == REG_QUEUES) entry = sq_base + CID_W'(off[15:6] * NUM_QP) + CID_W'(off[19:16] & 4'(NUM_QP - 1));
  end

  kind_e             kind1_q, kind2_q, kind3_q;
  logic [CID_W-1:0]  slot1_q, slot2_q;
  logic [PAGE_W-1:0] page1_q, page2_q;   // of the row's first PRP entry
  logic              ctx_re_q, wbuf_re_q, abuf_re_q;
  logic [WROW_W-1:0] wbuf_addr_q;
  logic [10:0]       abuf_addr_q;

  always_ff @(posedge clk) begin
    kind1_q     <= kind;
    kind2_q     <= kind1_q;
    kind3_q     <= kind2_q;
    slot1_q     <= entry & slot_mask;
    slot2_q     <= slot1_q;
    page1_q     <= off[REGION_W-1:12] + PAGE_W'(off[11:3]) + 1'b1;
    page2_q     <= page1_q;
    ctx_re_q    <= s_row_valid && (kind == SQE || kind == RANGE);
    wbuf_re_q   <= s_row_valid && kind == WBUF;
    abuf_re_q   <= s_row_valid && kind == ABUF;
    wbuf_addr_q <= off[WR_W-1:LSB];
    abuf_addr_q <= off[13] ? {1'b0, off[11:2]} : {5'b1_0000, off[7:2]};
  end

  assign m_ctx_re    = ctx_re_q;
  assign m_ctx_slot  = slot1_q;
  assign m_wbuf_re   = wbuf_re_q;
  assign m_wbuf_addr = wbuf_addr_q;
  assign m_abuf_re   = abuf_re_q;
  assign m_abuf_addr = abuf_addr_q;

  // ------------------------------------------------------------------ third cycle: entries and lists
  function automatic logic [63:0] at(input region_e where, input logic [REGION_W-1:0] offset);
    return {window_base[63:WIN_W], where, offset};
  endfunction

  sqe_t              sqe;
  logic              is_write;
  logic [14:0]       ends;         // units of 512 bytes from the start of the first page to the end of the data
  logic [PAGE_W-1:0] first_page, second_page;
  logic [DATA_W-1:0] entry_row, list_row, gen_q;

  always_comb begin
    is_write    = s_ctx.op == OP_WRITE;
    ends        = 15'(s_ctx.buf512[2:0]) + 15'(s_ctx.len512);
    first_page  = s_ctx.buf512[13:3];
    second_page = (first_page + 1'b1) & (is_write ? WR_PAGES : RD_PAGES);
    sqe         = '0;
    sqe.cid     = 16'({s_ctx_gen, slot2_q});
    sqe.nsid    = nsid;
    unique case (s_ctx.op)
      OP_READ:   sqe.opc = OPC_READ;
      OP_WRITE:  sqe.opc = OPC_WRITE;
      OP_TRIM:   sqe.opc = OPC_DSM;
      OP_ZEROES: sqe.opc = OPC_WRITE_ZEROES;
      OP_VERIFY: sqe.opc = OPC_VERIFY;
      default:   sqe.opc = OPC_FLUSH;
    endcase
    if (s_ctx.op inside {OP_READ, OP_WRITE}) begin
      sqe.prp1 = at(is_write ? REG_WR_DATA : REG_RD_DATA, {s_ctx.buf512, 9'd0});
      if (ends > 15'd16) sqe.prp2 = at(is_write ? REG_WR_PRP : REG_RD_PRP, {first_page, 12'd0});
      else if (ends > 15'd8) sqe.prp2 = at(is_write ? REG_WR_DATA : REG_RD_DATA, {second_page, 12'd0});
    end
    if (s_ctx.op inside {OP_READ, OP_WRITE, OP_ZEROES, OP_VERIFY}) begin
      {sqe.cdw11, sqe.cdw10} = s_ctx.lba;
      sqe.cdw12              = {16'd0, s_ctx.blocks[15:0] - 16'd1};
    end
    if (s_ctx.op == OP_TRIM) begin
      sqe.prp1  = at(REG_RANGES, REGION_W'({slot2_q, 6'd0}));
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
    for (int j = 0; j < int'(N) / 2; j++) begin
      list_row[64*j +: 64] = (kind2_q == PRP_WR) ? at(REG_WR_DATA, {(page2_q + PAGE_W'(j)) & WR_PAGES, 12'd0})
                                                 : at(REG_RD_DATA, {(page2_q + PAGE_W'(j)) & RD_PAGES, 12'd0});
    end
  end

  always_ff @(posedge clk) begin
    unique case (kind2_q)
      SQE:            gen_q <= entry_row;
      PRP_WR, PRP_RD: gen_q <= list_row;
      RANGE:          gen_q <= {N / 4{s_ctx.lba, s_ctx.blocks, 32'd0}};
      default:        gen_q <= '0;
    endcase
    unique case (kind3_q)
      WBUF:    m_row_data <= s_wbuf_data;
      ABUF:    m_row_data <= s_abuf_data;
      default: m_row_data <= gen_q;
    endcase
  end
endmodule
