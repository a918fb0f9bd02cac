// SPDX-License-Identifier: Apache-2.0
// Resets of a board, all in the clock of the PCIe block: what db_ssd's integration page asks of rst and por_rst.
//
// After configuration there is no reset that a register could wait for, so the registers here begin with the values of
// their `initial`: they are the only ones of a board that do. por_rst is high from then until rst falls for the first time.
// rst rises with the link's reset or when the memory is gone, and stays until nothing of the controller's is under way to
// the memory any more (db_board_gate says so), 16 cycles at least.
// Latency: link_rst to rst 2 cycles, memory_ready 4.
module db_board_reset (
  input  logic clk,
  input  logic link_rst,      ///< user_reset of the PCIe block
  input  logic memory_ready,  ///< calibrated; of any clock
  input  logic quiet,         ///< nothing of before is under way to the memory
  output logic memory_rst,    ///< of all between the controller and the memory: the memory has forgotten, too
  output logic rst,           ///< of the controller
  output logic por_rst        ///< of the controller: it is new
);
  (* ASYNC_REG = "TRUE" *) logic [1:0] ready_q;
  logic       link_rst_q, memory_rst_q, rst_q, por_q;
  logic [3:0] count_q;

  initial begin
    ready_q      = '0;
    link_rst_q   = 1'b1;
    memory_rst_q = 1'b1;
    rst_q        = 1'b1;
    por_q        = 1'b1;
    count_q      = '0;
  end
  always_ff @(posedge clk) begin
    ready_q      <= {ready_q[0], memory_ready};
    link_rst_q   <= link_rst;
    memory_rst_q <= !ready_q[1];
    if (link_rst_q || memory_rst_q) begin
      rst_q   <= 1'b1;
      count_q <= '0;
    end else if (rst_q && quiet) begin
      count_q <= count_q + 1'b1;
      if (count_q == '1) {rst_q, por_q} <= 2'b00;
    end
  end
  assign memory_rst = memory_rst_q;
  assign rst        = rst_q;
  assign por_rst    = por_q;
endmodule
