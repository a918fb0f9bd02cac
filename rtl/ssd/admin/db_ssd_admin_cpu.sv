// SPDX-License-Identifier: Apache-2.0
// The admin processor (picorv32, RV32I) and its bus: RAM at 0, the firmware's registers at 0x8000_0000, what
// the integrator adds at 0x9000_0000.
//
// The firmware waits by setting `sleep` and executing picorv32's waitirq, which goes on as soon as irq is high. irq is
// a level made from what is pending, so nothing can be lost between the firmware's last look and its sleep.
// `asleep` says that the processor has stopped: no access for 16 cycles after `sleep`, and irq low.
//
// Registers are written in whole words only.
// Latency: 2 cycles an access, RAM or register, 4 the extension; more while the copy engine holds the RAM port, and while
// a register says so (reg_wait).
module db_ssd_admin_cpu
  import db_ssd_pkg::*, db_ssd_admin_pkg::*;
#(
  parameter int RAM_BYTES = 65536     ///< multiple of 4096, 32768..1048576
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        irq,            ///< level
  input  logic        sleep,          ///< pulse, from the firmware
  output logic        asleep,
  output logic        sleeping,       ///< the processor waits for an event, or is about to
  output logic        trap,           ///< it met something illegal and stopped
  input  logic        restart,        ///< pulse: it begins anew
  // RAM; read data a cycle later
  output logic        m_ram_valid,
  input  logic        m_ram_ready,
  output ram_access_t m_ram,
  input  logic [31:0] ram_rdata,
  // registers; read data in the same cycle
  output logic        m_reg_valid,
  output fw_access_t  m_reg,
  input  logic [31:0] reg_rdata,
  input  logic        reg_wait,       ///< not yet: the access stays
  // extension: a cycle later, with read data in that cycle
  output ext_bus_t    ext,
  input  logic [31:0] ext_rdata
);
  logic        mem_valid, mem_ready_q, is_reg_q, is_reg;
  logic [31:0] mem_addr, mem_wdata, reg_rdata_q;
  logic [3:0]  mem_wstrb;
  logic        sleep_q;
  logic [4:0]  still_q;              // cycles without an access, saturates at 16
  logic        cpu_rst_n;
  logic        ext_wanted, ext_req_q, ext_first_q, ext_answer_q;  // extension accessed; its answer is in ext_rdata_q
  logic [31:0] ext_rdata_q;

  picorv32 #(
    .ENABLE_COUNTERS      (1'b0),
    .ENABLE_COUNTERS64    (1'b0),
    .TWO_STAGE_SHIFT      (1'b1),
    .CATCH_MISALIGN       (1'b1),
    .CATCH_ILLINSN        (1'b1),
    .ENABLE_IRQ           (1'b1),
    .ENABLE_IRQ_QREGS     (1'b0),
    .ENABLE_IRQ_TIMER     (1'b0),
    .LATCHED_IRQ          (32'd0),
    .PROGADDR_RESET       (32'd0),
    .STACKADDR            (32'(RAM_BYTES))
  ) i_cpu (
    .clk          (clk),
    .resetn       (cpu_rst_n),
    .trap         (trap),
    .mem_valid    (mem_valid),
    .mem_instr    (),
    .mem_ready    (mem_ready_q),
    .mem_addr     (mem_addr),
    .mem_wdata    (mem_wdata),
    .mem_wstrb    (mem_wstrb),
    .mem_rdata    (is_reg_q ? reg_rdata_q : ram_rdata),
    .mem_la_read  (),
    .mem_la_write (),
    .mem_la_addr  (),
    .mem_la_wdata (),
    .mem_la_wstrb (),
    .pcpi_valid   (),
    .pcpi_insn    (),
    .pcpi_rs1     (),
    .pcpi_rs2     (),
    .pcpi_wr      (1'b0),
    .pcpi_rd      (32'd0),
    .pcpi_wait    (1'b0),
    .pcpi_ready   (1'b0),
    .irq          ({28'd0, irq, 3'd0}),  // 0..2 are picorv32's own
    .eoi          (),
    .trace_valid  (),
    .trace_data   ()
  );

  assign is_reg      = mem_addr[31];
  assign m_ram_valid = mem_valid && !mem_ready_q && !is_reg;
  assign m_ram       = '{we: mem_wstrb, addr: mem_addr[19:2], wdata: mem_wdata};
  assign m_reg_valid = mem_valid && !mem_ready_q && is_reg && !mem_addr[28];
  assign m_reg       = '{wr: mem_wstrb != 4'd0, addr: {mem_addr[8:2], 2'b00}, wdata: mem_wdata};
  assign ext_wanted  = mem_valid && !mem_ready_q && is_reg && mem_addr[28];
  assign ext         = '{req: ext_req_q, req_first: ext_first_q, wr: mem_wstrb != 4'd0, addr: {mem_addr[11:2], 2'b00},
                         wdata: mem_wdata};

  logic unused_ok;
  assign unused_ok = &{1'b0, mem_addr[30:29], mem_addr[27:20], mem_addr[1:0]};

  assign sleeping = sleep_q;
  assign asleep = sleep_q && still_q[4] && !irq;

  always_ff @(posedge clk) begin
    cpu_rst_n   <= !rst && !restart;
    mem_ready_q <= (m_reg_valid && !reg_wait) || ext_answer_q || (m_ram_valid && m_ram_ready);
    is_reg_q    <= is_reg;
    if (m_reg_valid || ext_answer_q) reg_rdata_q <= ext_answer_q ? ext_rdata_q : reg_rdata;
    // Address and data are there a cycle before ext.req, and stay.
    ext_req_q    <= ext_wanted && !ext_req_q && !ext_answer_q;
    ext_first_q  <= ext_wanted && !ext_req_q && !ext_answer_q && mem_addr[11:8] == '0;
    ext_answer_q <= ext_req_q;
    ext_rdata_q  <= ext_rdata;
    if (irq) sleep_q <= 1'b0;
    else if (sleep) sleep_q <= 1'b1;
    if (mem_valid || !sleep_q) still_q <= '0;
    else if (!still_q[4]) still_q <= still_q + 5'd1;
    if (rst || restart) begin
      mem_ready_q  <= 1'b0;
      ext_req_q    <= 1'b0;
      ext_first_q  <= 1'b0;
      ext_answer_q <= 1'b0;
      sleep_q      <= 1'b0;
      still_q      <= '0;
    end
  end

endmodule
