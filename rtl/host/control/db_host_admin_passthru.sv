// SPDX-License-Identifier: Apache-2.0
// Admin commands of the user while I/O runs, from a port and from the registers, one at a time; the registers first.
//
// The port brings a command as its 16 dwords, one a cycle; from the registers they are fetched by index. Each command
// gets one answer. While the drive takes none, or if it goes down meanwhile (`stop`), that is a time-out: the command
// may or may not have been carried out. The rest of a command that is coming in is then taken and thrown away.
// Latency: none added to a dword; 1 cycle from the answer to m_adm_valid.
module db_host_admin_passthru
  import db_host_control_pkg::*;
(
  input  logic          clk,
  input  logic          rst,
  input  logic          io_up,
  /// commands are taken: falls before io_up when the drive is to be shut down
  input  logic          io_open,
  /// the drive goes down
  input  logic          stop,

  /// the port: 16 dwords, then an answer
  input  logic          s_adm_valid,
  output logic          s_adm_ready,
  input  logic [31:0]   s_adm_data,
  output logic          m_adm_valid,
  input  logic          m_adm_ready,
  /// holds its value until the next answer
  output admin_answer_t m_adm,

  /// the registers: a pulse, ignored while busy
  input  logic          s_reg_go,
  /// of the dword wanted; it comes the cycle after
  output logic [3:0]    m_reg_index,
  input  logic [31:0]   s_reg_data,
  output logic          m_reg_busy,
  /// one cycle, with m_adm
  output logic          m_reg_done,

  /// db_host_admin
  output logic          m_cmd_valid,
  input  logic          m_cmd_ready,
  output logic [31:0]   m_cmd_data,
  input  logic          s_rsp_valid,
  input  admin_answer_t s_rsp,

  output logic          busy,
  /// a command is on its way to the drive, or in it
  output logic          under_way
);
  typedef enum logic [2:0] {
    ST_IDLE, ST_LOAD, ST_WAIT, ST_DRAIN, ST_REPLY
  } state_e;
  state_e     state_q;
  logic       go_q, regs_q;  // the registers' command waits; is the one in process
  logic [3:0] count_q;       // dwords taken
  logic       fetched_q;     // s_reg_data is that of count_q

  logic take;
  assign m_reg_index = count_q;
  assign m_reg_busy  = go_q;
  assign m_cmd_valid = state_q == ST_LOAD && !stop && (regs_q ? fetched_q : s_adm_valid);
  assign m_cmd_data  = regs_q ? s_reg_data : s_adm_data;
  assign s_adm_ready = !regs_q && (state_q == ST_DRAIN || (state_q == ST_LOAD && !stop && m_cmd_ready));
  assign take        = (m_cmd_valid && m_cmd_ready) || (s_adm_valid && s_adm_ready);
  assign m_adm_valid = state_q == ST_REPLY && !regs_q;
  assign busy        = go_q || s_adm_valid || m_adm_valid;
  assign m_reg_done  = state_q == ST_REPLY && regs_q;
  assign under_way   = state_q inside {ST_LOAD, ST_WAIT};

  always_ff @(posedge clk) begin
    if (s_reg_go) go_q <= 1'b1;
    fetched_q <= state_q == ST_LOAD && !take;
    if (take) count_q <= count_q + 1'b1;

    unique case (state_q)
      ST_IDLE: begin
        count_q       <= '0;
        regs_q        <= go_q;
        m_adm.timeout <= 1'b1;
        if (go_q) state_q <= io_open ? ST_LOAD : ST_REPLY;
        else if (s_adm_valid) state_q <= io_open ? ST_LOAD : ST_DRAIN;
      end
      ST_LOAD: begin
        if (take && count_q == '1) state_q <= ST_WAIT;
        else if (stop || !io_up) state_q <= regs_q ? ST_REPLY : ST_DRAIN;
      end
      ST_WAIT: begin
        if (s_rsp_valid) begin
          m_adm <= s_rsp;
        end
        if (s_rsp_valid || stop || !io_up) state_q <= ST_REPLY;
      end
      ST_DRAIN: if (take && count_q == '1) state_q <= ST_REPLY;
      default: begin
        if (regs_q) go_q <= 1'b0;
        if (regs_q || m_adm_ready) state_q <= ST_IDLE;
      end
    endcase
    if (rst) begin
      state_q <= ST_IDLE;
      go_q    <= 1'b0;
      regs_q  <= 1'b0;
      count_q <= '0;
    end
  end
endmodule
