// SPDX-License-Identifier: Apache-2.0
// Completion entries, as the drive writes them: picks them out of the row writes to the queues' region, checks place
// and phase against what must come next in that queue, and hands them on. Nothing of a queue is stored. An entry
// counts when its last dword is written, so a drive's bridge may split it, if it keeps the order.
//
// Latency: 2 cycles from a row write to m_io_valid (3 above 128 bits). Throughput: an entry a cycle; a row of several
// entries takes as many cycles, those behind it wait in a FIFO that holds all that can be outstanding.
module db_host_cqe
  import db_nvme_pkg::*, db_host_pkg::*;
#(
  /// bits of a row: 128, 256, 512
  parameter int DATA_W   = 128,
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS = 128,
  /// I/O queue pairs: 1, 2, 4
  parameter int NUM_QP   = 1
) (
  input  logic                clk,
  input  logic                rst,
  /// the I/O queues are new: all entries from 0, phase 1
  input  logic                start,
  /// while low, I/O entries are dropped
  input  logic                io_up,
  /// entries of each I/O completion queue, a power of 2
  input  logic [15:0]         sq_size,
  /// row writes from db_pcie_root
  input  logic                s_wr_valid,
  input  logic [WIN_W-1:0]    s_wr_addr,
  input  logic [DATA_W-1:0]   s_wr_data,
  input  logic [DATA_W/8-1:0] s_wr_be,
  /// I/O completions
  output logic                m_io_valid,
  output cqe_t                m_io_cqe,
  /// next place of each queue: what its head doorbell may say
  output logic [3:0][15:0]    cq_head,
  /// admin completions: any entry; the user checks phase and command
  output logic                m_admin_valid,
  output admin_entry_t        m_admin,
  /// one cycle: an I/O entry at the wrong place, with the wrong phase or wrong length
  output logic                stat_bad
);
  localparam int PER_ROW = DATA_W / 128;

  if (!(DATA_W inside {128, 256, 512}) || !(NUM_QP inside {1, 2, 4}) || NUM_CMDS < 8 || NUM_CMDS > 256 ||
      (NUM_CMDS & (NUM_CMDS - 1)) != 0) begin : g_bad
    $error("%m: DATA_W 128, 256 or 512 (is %0d), NUM_QP 1, 2 or 4 (is %0d), NUM_CMDS 8..256 (is %0d)", DATA_W,
           NUM_QP, NUM_CMDS);
  end

  // ---- rows of completion queues
  logic                hit;
  logic [REGION_W-1:0] off;
  assign off = s_wr_addr[REGION_W-1:0];
  assign hit = s_wr_valid && region_e'(s_wr_addr[WIN_W-1:REGION_W]) == REGION_QUEUES &&
               (off[REGION_W-1:18] == IO_CQ[REGION_W-1:18] || off[REGION_W-1:12] == ADMIN_CQ[REGION_W-1:12]);

  typedef struct packed {
    logic              admin;
    logic [1:0]        q;
    logic [11:0]       idx;    // of the row's first entry
    logic [PER_ROW-1:0] whole; // entries whose last dword is written
    logic [PER_ROW-1:0] dw0;   // entries whose first dword is written
    logic [DATA_W-1:0] data;
  } row_t;
  row_t row, cur;
  logic cur_valid, cur_ready;

  always_comb begin
    row.admin = !off[21];
    row.q     = off[17:16];
    row.idx   = off[15:4];
    row.data  = s_wr_data;
    for (int i = 0; i < PER_ROW; i++) begin
      row.whole[i] = &s_wr_be[16*i+12+:4];
      row.dw0[i]   = &s_wr_be[16*i+:4];
    end
  end

  if (PER_ROW == 1) begin : g_one
    always_ff @(posedge clk) begin
      cur_valid <= hit && !rst;
      cur       <= row;
    end
  end else begin : g_many
    logic unused_ready;
    db_fifo #(
      .WIDTH($bits(row_t)),
      .DEPTH(NUM_CMDS)
    ) i_rows (
      .clk, .rst,
      .s_valid(hit), .s_ready(unused_ready), .s_data(row),
      .m_valid(cur_valid), .m_ready(cur_ready), .m_data(cur), .level()
    );
  end

  // ---- one entry a cycle
  logic [1:0]        sel, sel_q;  // entry of the row
  logic [127:0]      entry;
  logic              whole, dw0;
  assign sel = (PER_ROW == 1) ? 2'd0 : sel_q;
  logic [11:0]       idx;
  assign entry     = cur.data[128*sel+:128];
  assign whole     = 1'(cur.whole >> sel);
  assign dw0       = 1'(cur.dw0 >> sel);
  assign idx       = cur.idx + 12'(sel);
  assign cur_ready = sel == 2'(PER_ROW - 1);

  localparam int QP_W    = (NUM_QP == 4) ? 2 : 1;
  localparam int PLACE_W = $clog2(2 * NUM_CMDS / NUM_QP);  // of a place in a queue
  logic [PLACE_W-1:0] head_q[NUM_QP];
  logic          phase_q[NUM_QP];
  logic [31:0]   admin_dw0_q;
  logic          good;
  logic [QP_W-1:0] q;
  assign q    = (NUM_QP == 1) ? '0 : QP_W'(cur.q);
  assign good = idx == 12'(head_q[q]) && entry[112] == phase_q[q] && 32'(cur.q) < NUM_QP;
  for (genvar i = 0; i < 4; i++) begin : g_head
    if (i < NUM_QP) begin : g_used
      assign cq_head[i] = 16'(head_q[i]);
    end else begin : g_none
      assign cq_head[i] = '0;
    end
  end

  always_ff @(posedge clk) begin
    m_io_valid    <= 1'b0;
    m_admin_valid <= 1'b0;
    stat_bad      <= 1'b0;
    m_io_cqe      <= cqe_t'(entry);
    m_admin       <= '{index: idx[1:0], cqe: cqe_t'(entry)};
    if (!dw0) m_admin.cqe.dw0 <= admin_dw0_q;
    if (cur_valid) begin
      sel_q <= cur_ready ? '0 : sel_q + 2'd1;
      if (cur.admin) begin
        m_admin_valid <= whole;
        if (dw0) admin_dw0_q <= entry[31:0];
      end else if (whole && io_up) begin
        m_io_valid <= good;
        stat_bad   <= !good;
        if (good) begin
          if (head_q[q] == PLACE_W'(sq_size - 16'd1)) begin
            head_q[q]  <= '0;
            phase_q[q] <= !phase_q[q];
          end else begin
            head_q[q] <= head_q[q] + 1'b1;
          end
        end
      end
    end
    if (start) begin
      for (int i = 0; i < NUM_QP; i++) begin
        head_q[i]  <= '0;
        phase_q[i] <= 1'b1;
      end
    end
    if (rst) begin
      sel_q         <= '0;
      m_io_valid    <= 1'b0;
      m_admin_valid <= 1'b0;
      stat_bad      <= 1'b0;
      admin_dw0_q   <= '0;
      for (int i = 0; i < NUM_QP; i++) begin
        head_q[i]  <= '0;
        phase_q[i] <= 1'b1;
      end
    end
  end
endmodule
