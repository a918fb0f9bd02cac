// SPDX-License-Identifier: Apache-2.0
// Admin data buffer (4 KiB) and admin submission queue (4 entries), which the drive reads and writes by rows and the
// admin engine and registers by dwords.
//
// Dword addresses: 0..1023 the buffer, 1024..1087 the submission queue. The drive's row writes outside the buffer are
// not for this memory. A dword access waits while the drive has the port that it needs: reads for reads, writes for
// writes. Latency: row read 2 cycles; m_dw_rdata 2 cycles after the cycle with s_dw.en and s_dw_ready. Throughput: a
// row read and a row write every cycle, a dword access in every cycle without.
//
// Without registers (SHARED 0) dwords are only written to the queue and read from the buffer; these are two memories
// then, and a dword access never waits. Rows of the buffer read as zeros.
module db_host_admin_buf
  import db_host_pkg::*;
#(
  /// bits of a row: 128, 256 or 512
  parameter int DATA_W = 128,
  /// 1: any access to any address; 0: see above
  parameter bit SHARED = 1'b1
) (
  input  logic                clk,

  /// row writes of db_pcie_root
  input  logic                s_wr_valid,
  input  logic [WIN_W-1:0]    s_wr_addr,
  input  logic [DATA_W-1:0]   s_wr_data,
  input  logic [DATA_W/8-1:0] s_wr_be,

  input  logic                s_row_re,
  /// dword address, its lane bits do not matter
  input  logic [10:0]         s_row_addr,
  /// 2 cycles after
  output logic [DATA_W-1:0]   m_row_data,

  input  admin_buf_t          s_dw,
  output logic                s_dw_ready,
  /// 2 cycles after the access, for a cycle
  output logic [31:0]         m_dw_rdata
);
  localparam int N     = DATA_W / 32;
  localparam int LANE_W    = $clog2(N);
  localparam int ROWS  = 1088 / N;
  localparam int ROW_W = $clog2(ROWS);

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  logic row_we;
  assign row_we = s_wr_valid && s_wr_addr[WIN_W-1:12] == {REGION_QUEUES, ADMIN_BUF[REGION_W-1:12]};

  logic [DATA_W-1:0]   wdata, dw_row;   // dw_row: the row with the dword
  logic [DATA_W/8-1:0] wbe, dw_be;
  logic [LANE_W-1:0]       lane_q, lane2_q;

  always_comb begin
    for (int l = 0; l < N; l++) dw_be[4*l +: 4] = {4{s_dw.addr[LANE_W-1:0] == LANE_W'(l)}};
  end

  if (SHARED) begin : g_shared
    logic        dw_we;
    logic [10:0] waddr, raddr;

    assign s_dw_ready = s_dw.we ? !row_we : !s_row_re;
    assign dw_we      = s_dw.en && s_dw.we && !row_we;
    assign waddr      = row_we ? {1'b0, s_wr_addr[11:2]} : s_dw.addr;
    assign raddr      = s_row_re ? s_row_addr : s_dw.addr;
    assign wdata      = row_we ? s_wr_data : {N{s_dw.wdata}};
    assign wbe        = row_we ? s_wr_be : dw_be;

    db_host_ram #(
      .DATA_W(DATA_W), .ROWS(ROWS), .URAM(1'b0)
    ) i_ram (
      .clk, .we(row_we || dw_we), .waddr(waddr[10-:ROW_W]), .wbe, .wdata, .re(1'b1), .raddr(raddr[10-:ROW_W]),
      .oe(1'b1), .clear(1'b0), .rdata(m_row_data)
    );
    assign dw_row = m_row_data;
  end else begin : g_split
    logic buffer_q;
    always_ff @(posedge clk) buffer_q <= !s_row_addr[10];

    assign s_dw_ready = 1'b1;
    assign wdata      = s_wr_data;
    assign wbe        = s_wr_be;
    db_host_ram #(
      .DATA_W(DATA_W), .ROWS(1024 / N), .URAM(1'b0)
    ) i_buffer (
      .clk, .we(row_we), .waddr(s_wr_addr[11:LANE_W+2]), .wbe, .wdata, .re(1'b1), .raddr(s_dw.addr[9:LANE_W]),
      .oe(1'b1), .clear(1'b0), .rdata(dw_row)
    );
    db_host_ram #(
      .DATA_W(DATA_W), .ROWS(64 / N), .URAM(1'b0)
    ) i_queue (
      .clk, .we(s_dw.en && s_dw.we && s_dw.addr[10]), .waddr(s_dw.addr[5:LANE_W]), .wbe(dw_be),
      .wdata({N{s_dw.wdata}}), .re(1'b1), .raddr(s_row_addr[5:LANE_W]), .oe(1'b1), .clear(buffer_q),
      .rdata(m_row_data)
    );
  end

  always_ff @(posedge clk) begin
    lane_q  <= s_dw.addr[LANE_W-1:0];
    lane2_q <= lane_q;
  end

  assign m_dw_rdata = dw_row[32*lane2_q +: 32];
endmodule
