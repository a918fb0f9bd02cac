// SPDX-License-Identifier: Apache-2.0
// Copy engine of the admin processor, with one 64-byte shift register for three jobs:
//   - submission queue entries go into a ring of 16 in RAM as they come, so that the path they share with I/O
//     commands never waits for the firmware (entry n at ring_base + 128 (n mod 16): 64 bytes, then its function)
//   - RAM or zeros to host memory, up to 4 KiB inside one page, in writes of at most 64 bytes
//   - 64 bytes of host memory to RAM
// Why: a processor that moves every word itself takes ten times as long, in life and in simulation.
// Latency: an entry 18 cycles; host writes 18 cycles for 64 bytes of RAM, 2 for zeros. It goes before the processor
// at the RAM. rst (of the data path) forgets what was in process.
module db_ssd_admin_copy
  import db_ssd_pkg::*;
(
  input  logic            clk,
  input  logic            rst,
  // submission queue entries, and their ring
  input  logic            s_sqe_valid,
  output logic            s_sqe_ready,
  input  logic [FN_W-1:0] s_sqe_fn,
  input  logic [511:0]    s_sqe_data,
  input  logic [8:0]      ring_base,     // 2 KiB
  output logic [4:0]      ring_wr,       // entries written, modulo 32
  input  logic [4:0]      ring_rd,       // entries done with, modulo 32
  // command
  input  logic            go,            // pulse; only when idle
  input  logic [1:0]      op,            // 0 RAM to host, 1 zeros to host, 2 host to RAM
  input  logic [FN_W-1:0] fn,
  input  logic [63:0]     host,          // bytes, dword aligned
  input  logic [17:0]     ram,           // words
  input  logic [10:0]     len_dw,        // 1..1024 (op 0, 1)
  output logic            idle,          // no command in process
  output logic            err,           // the last read failed
  // host writes and reads
  output logic            m_post_valid,
  input  logic            m_post_ready,
  output logic [FN_W-1:0] m_post_fn,
  output logic [63:0]     m_post_addr,
  output logic [4:0]      m_post_len_dw,
  output logic [511:0]    m_post_data,
  output logic            m_rd_valid,
  input  logic            m_rd_ready,
  output logic [FN_W-1:0] m_rd_fn,
  output logic [63:0]     m_rd_addr,
  input  logic            s_rd_valid,
  input  logic [511:0]    s_rd_data,
  input  logic            s_rd_err,
  // RAM port: an access whenever req; read data the cycle after
  output logic            ram_req,
  output logic            ram_we,
  output logic [17:0]     ram_addr,      // words
  output logic [31:0]     ram_wdata,
  input  logic [31:0]     ram_rdata
);
  localparam logic [1:0] OP_ZERO = 2'd1, OP_READ = 2'd2;

  typedef enum logic [2:0] {ST_IDLE, ST_SQE, ST_LOAD, ST_POST, ST_READ, ST_WAIT, ST_STORE} state_e;
  state_e          state_q;
  logic            busy_q, shift_q, fill_q, full_q;
  logic [511:0]    data_q;
  logic [4:0]      count_q;                // words done
  logic [10:0]     left_q;                 // dwords
  logic [63:0]     host_q;
  logic [17:0]     ram_q;                  // words
  logic [FN_W-1:0] fn_q, sqe_fn_q;
  logic [1:0]      op_q;
  logic [4:0]      chunk;

  assign chunk = (left_q > 11'd16) ? 5'd16 : left_q[4:0];

  // A full ring holds entries back. One cycle late, so it stops one short of 16.
  assign s_sqe_ready = state_q == ST_IDLE && !full_q;
  assign idle        = !busy_q;

  assign m_post_valid  = state_q == ST_POST;
  assign m_post_fn     = fn_q;
  assign m_post_addr   = host_q;
  assign m_post_data   = data_q;
  assign m_rd_valid    = state_q == ST_READ;
  assign m_rd_fn       = fn_q;
  assign m_rd_addr     = host_q;

  always_comb begin
    ram_req   = 1'b0;
    ram_we    = 1'b0;
    ram_addr  = ram_q;
    ram_wdata = data_q[31:0];
    unique case (state_q)
      ST_SQE: begin
        ram_req  = 1'b1;
        ram_we   = 1'b1;
        ram_addr = {ring_base, ring_wr[3:0], count_q};
        if (count_q[4]) ram_wdata = 32'(sqe_fn_q);
      end
      ST_LOAD:  ram_req = count_q < chunk;
      ST_STORE: begin
        ram_req = 1'b1;
        ram_we  = 1'b1;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    shift_q <= 1'b0;
    fill_q  <= 1'b0;
    full_q  <= (ring_wr - ring_rd) >= 5'd15;
    if (shift_q) data_q <= {fill_q ? ram_rdata : 32'd0, data_q[511:32]};
    unique case (state_q)
      ST_IDLE: begin
        count_q <= '0;
        if (s_sqe_valid && s_sqe_ready) begin
          data_q   <= s_sqe_data;
          sqe_fn_q <= s_sqe_fn;
          state_q  <= ST_SQE;
        end else if (busy_q) begin
          m_post_len_dw <= chunk;
          if (op_q == OP_READ) begin
            state_q <= ST_READ;
          end else if (op_q == OP_ZERO) begin
            data_q  <= '0;
            state_q <= ST_POST;
          end else begin
            state_q <= ST_LOAD;
          end
        end
      end
      ST_SQE: begin
        data_q  <= {32'd0, data_q[511:32]};
        count_q <= count_q + 5'd1;
        if (count_q == 5'd16) begin
          ring_wr <= ring_wr + 5'd1;
          state_q <= ST_IDLE;
        end
      end
      ST_LOAD: begin
        // 16 shifts always: a short piece is followed by zeros, and so ends at bit 0.
        shift_q <= count_q < 5'd16;
        fill_q  <= count_q < chunk;
        if (count_q < chunk) ram_q <= ram_q + 18'd1;
        count_q <= count_q + 5'd1;
        if (count_q == 5'd16) state_q <= ST_POST;
      end
      ST_POST: if (m_post_ready) begin
        host_q[11:0] <= host_q[11:0] + {5'd0, m_post_len_dw, 2'b00};
        left_q       <= left_q - 11'(m_post_len_dw);
        busy_q       <= left_q != 11'(m_post_len_dw);
        state_q      <= ST_IDLE;
      end
      ST_READ: if (m_rd_ready) state_q <= ST_WAIT;
      ST_WAIT: if (s_rd_valid) begin
        data_q  <= s_rd_data;
        err     <= s_rd_err;
        state_q <= ST_STORE;
      end
      ST_STORE: begin
        data_q  <= {32'd0, data_q[511:32]};
        ram_q   <= ram_q + 18'd1;
        count_q <= count_q + 5'd1;
        if (count_q == 5'd15) begin
          busy_q  <= 1'b0;
          state_q <= ST_IDLE;
        end
      end
      default: state_q <= ST_IDLE;
    endcase
    if (go) begin
      busy_q <= 1'b1;
      op_q   <= op;
      fn_q   <= fn;
      host_q <= host;
      ram_q  <= ram;
      left_q <= len_dw;
    end
    if (rst) begin
      state_q <= ST_IDLE;
      busy_q  <= 1'b0;
      ring_wr <= '0;
      full_q  <= 1'b0;
      err     <= 1'b0;
    end
  end

endmodule
