// SPDX-License-Identifier: Apache-2.0
// Copy engine of the admin processor, a dword at a time, for three jobs:
//   - submission queue entries go into a ring of 16 in RAM as they come, so that the path they share with I/O
//     commands never waits for the firmware (entry n at ring_base + 128 (n mod 16): 64 bytes, then its function; with
//     several functions at ring_base + 64 (n mod 16), its function in place of dword 2, which no command has);
//     I/O commands for the firmware, which there are with several functions, into a ring of 256, or 128 where there are
//     no more slots, and what they need of their entry (entry n at io_base + 32 (n mod 256): dwords 0 and 1, then
//     {CDW11 bit 0, 0, queue, slot, function}, dword 10, dwords 6 to 9)
//   - RAM or zeros to host memory, up to 4 KiB inside one page, in writes of at most 4 dwords
//   - up to 64 bytes of host memory to RAM, whole rows of the answer there
// Why: a processor that moves every word itself takes ten times as long, in life and in simulation. Nothing is kept
// here but the dwords of a write: entry and answer are held by whoever offers them until their last dword is in RAM.
// Latency: an entry 18 cycles, of an I/O command 9; host writes 7 cycles for 4 dwords of RAM, 2 for zeros. It goes before the processor at
// the RAM. rst (of the data path) forgets what was in process.
module db_ssd_admin_copy
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_ssd_pkg::*, db_ssd_admin_pkg::*;
#(
  parameter int NUM_FN = 1,          ///< functions, 1..17
  parameter int NUM_CMDS = 256,      ///< command slots, 2..256
  parameter int DATA_W = 256         ///< bits of a row of the answer: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  // submission queue entries, and their ring
  input  logic              s_sqe_valid,
  output logic              s_sqe_ready,
  input  admin_sqe_t        s_sqe,
  input  logic [9:0]        ring_base,    ///< 1 KiB; one function: even
  output logic [4:0]        ring_wr,      ///< entries written, modulo 32
  input  logic [4:0]        ring_rd,      ///< entries done with, modulo 32
  input  logic [8:0]        io_base,      ///< 2 KiB
  output logic [8:0]        io_wr,        ///< I/O commands written, modulo 512
  // command
  input  logic              start,        ///< pulse; only when idle
  input  copy_cmd_t         cmd,          ///< op, fn and host stay until idle
  output logic              idle,         ///< no command in process
  output logic              err,          ///< the last read failed
  // host writes, and reads of up to 64 bytes with their answer in rows
  output logic              m_post_valid,
  input  logic              m_post_ready,
  output post_t             m_post,
  output logic              m_read_valid,
  input  logic              m_read_ready,
  output segment_t          m_read,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  // RAM: an access whenever valid; read data the cycle after
  output logic              m_ram_valid,
  output ram_access_t       m_ram,
  input  logic [31:0]       ram_rdata
);
  localparam int LANE_W = $clog2(DATA_W / 32);
  localparam bit MANY   = NUM_FN > 1;

  typedef enum logic [2:0] {ST_IDLE, ST_SQE, ST_LOAD, ST_POST, ST_READ, ST_STORE} state_e;
  state_e       state_q;
  logic         busy_q, fill_q, full_q, row_end;
  logic [1:0]   place_q;                 // where the dword that was read goes
  logic [127:0] data_q;
  logic [4:0]   count_q;                 // dwords done: of an entry, a row, a write
  logic [10:0]  left_q;                  // dwords of the command
  logic [9:0]   page_q;                  // dword in the host's page
  logic [17:0]  ram_q;                   // words
  logic [2:0]   chunk, chunk_q;
  logic         io;                      // the entry is an I/O command
  logic [31:0]  sqe_dw;
  logic [3:0]   entry_dw;                // which of the entry's dwords
  logic         sqe_end;                 // the last one
  logic [511:0] sqe;

  assign chunk   = (left_q > 11'd4) ? 3'd4 : left_q[2:0];
  assign row_end = &count_q[LANE_W-1:0];
  assign sqe     = s_sqe.sqe;
  assign io      = MANY && s_sqe.io;
  always_comb begin
    entry_dw = count_q[3:0];
    if (io && count_q[2])      entry_dw = count_q[3:0] + 4'd2;
    else if (io && count_q[1]) entry_dw = 4'd10;
  end
  assign sqe_dw  = sqe[32*entry_dw +: 32];
  assign sqe_end = MANY ? (&count_q[2:0] && (io || count_q[3])) : count_q[4];

  // A full ring holds entries back. One cycle late, so it stops one short of 16.
  assign s_sqe_ready = state_q == ST_SQE && sqe_end;
  assign s_row_ready = state_q == ST_STORE && row_end;
  assign idle        = !busy_q;

  assign m_post_valid = state_q == ST_POST;
  assign m_post       = '{fn: cmd.fn, addr: {cmd.host[63:12], page_q, 2'b00}, dwords: chunk_q, data: data_q};
  assign m_read_valid = state_q == ST_READ;
  assign m_read       = '{fn: cmd.fn, addr: {cmd.host[63:2], 2'b00}, len: {cmd.dwords, 2'b00}, first: 1'b1,
                         last: 1'b1, drop: 1'b0};

  logic unused_ok;
  assign unused_ok = &{1'b0, cmd.host[1:0], s_row_info.dw};

  always_comb begin
    m_ram_valid = 1'b0;
    m_ram       = '{we: 4'b0000, addr: ram_q, wdata: s_row_data[32*count_q[LANE_W-1:0] +: 32]};
    unique case (state_q)
      ST_SQE: begin
        m_ram_valid = 1'b1;
        m_ram       = '{we: 4'b1111, addr: {ring_base[9:1], ring_wr[3:0], count_q}, wdata: sqe_dw};
        if (MANY) m_ram.addr = {ring_base, ring_wr[3:0], count_q[3:0]};
        if (MANY ? count_q[3:0] == 4'd2 : count_q[4]) m_ram.wdata = 32'(s_sqe.fn);
        if (io) begin
          m_ram.addr = {io_base + 9'({io_wr[7] && NUM_CMDS > 128, io_wr[6]}), io_wr[5:0], count_q[2:0]};
          if (count_q[2:0] == 3'd2) m_ram.wdata = {sqe[32*11], 7'd0, s_sqe.sqid, s_sqe.slot, 8'(s_sqe.fn)};
        end
      end
      ST_LOAD:  m_ram_valid = count_q[2:0] != chunk_q;
      ST_STORE: begin
        m_ram_valid = s_row_valid;
        m_ram.we    = 4'b1111;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    fill_q  <= state_q == ST_LOAD && count_q[2:0] != chunk_q;
    place_q <= count_q[1:0];
    full_q  <= (ring_wr - ring_rd) >= 5'd15;
    for (int i = 0; i < 4; i++) if (fill_q && place_q == 2'(i)) data_q[32*i +: 32] <= ram_rdata;
    if (state_q == ST_IDLE) data_q <= '0;
    unique case (state_q)
      ST_IDLE: begin
        count_q <= '0;
        chunk_q <= chunk;
        if (s_sqe_valid && (!full_q || io)) state_q <= ST_SQE;
        else if (busy_q) begin
          if (cmd.op == COPY_GET) state_q <= ST_READ;
          else state_q <= (cmd.op == COPY_ZERO) ? ST_POST : ST_LOAD;
        end
      end
      ST_SQE: begin
        count_q <= count_q + 5'd1;
        if (sqe_end) begin
          if (io) io_wr <= io_wr + 9'd1;
          else ring_wr <= ring_wr + 5'd1;
          state_q <= ST_IDLE;
        end
      end
      ST_LOAD: begin                     // one cycle more, for the last dword
        if (m_ram_valid) ram_q <= ram_q + 18'd1;
        count_q <= count_q + 5'd1;
        if (!m_ram_valid) state_q <= ST_POST;
      end
      ST_POST: if (m_post_ready) begin
        page_q  <= page_q + 10'(chunk_q);
        left_q  <= left_q - 11'(chunk_q);
        busy_q  <= left_q != 11'(chunk_q);
        state_q <= ST_IDLE;
      end
      ST_READ: if (m_read_ready) begin
        err     <= 1'b0;
        state_q <= ST_STORE;
      end
      ST_STORE: if (s_row_valid) begin
        ram_q   <= ram_q + 18'd1;
        count_q <= count_q + 5'd1;
        err     <= err || s_row_info.err;
        if (row_end && s_row_info.last) begin
          busy_q  <= 1'b0;
          state_q <= ST_IDLE;
        end
      end
      default: state_q <= ST_IDLE;
    endcase
    if (start) begin
      busy_q <= 1'b1;
      page_q <= cmd.host[11:2];
      ram_q  <= cmd.ram;
      left_q <= cmd.dwords;
    end
    if (rst) begin
      state_q <= ST_IDLE;
      busy_q  <= 1'b0;
      ring_wr <= '0;
      io_wr   <= '0;
      full_q  <= 1'b0;
      fill_q  <= 1'b0;
      err     <= 1'b0;
    end
  end

endmodule
