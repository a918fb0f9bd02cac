// SPDX-License-Identifier: Apache-2.0
// Watches the admin processor: one that has trapped, or whose firmware's loop stands for half a second, is dead. Then
// CSTS.CFS tells the host, and nothing is fetched any more. The reset that the host asks for next starts the processor
// again; its firmware finds `restarted` and lets the data path come to rest before anything else. So does one that a
// link reset starts.
//
// Why: a turn of the loop takes milliseconds, and what takes longer it sleeps for; so nobody else would ever end it. With
// much to do it does not sleep between two turns, so it says where one ends.
// Latency: a trap shows 2 cycles later, a hang after 0.5 to 1.1 s.
module db_ssd_admin_watchdog (
  input  logic        clk,
  input  logic        rst,
  input  logic        por_rst,      ///< with rst, at its begin or all of it: power was off
  input  logic [63:0] time_us,      ///< free running
  input  logic        trap,         ///< the processor met something illegal and stopped
  input  logic        turn,         ///< it waits for an event, or a turn of its loop is over
  input  logic        s_reset,      ///< level: the host asks for a reset
  output logic        dead,
  output logic        restart,      ///< pulse: start it again
  output logic        restarted     ///< it has been started since, and not for the first time
);
  localparam int TURN_LG = 19;  // log2 of the most microseconds that a turn of the firmware may take

  logic       time_q;   // turns over every 2^TURN_LG us
  logic [1:0] turns_q;  // how often it has since the last turn of the loop
  logic       on_q;     // the reset is that of power-on
  always_ff @(posedge clk) begin
    time_q  <= time_us[TURN_LG];
    turns_q <= (turn || restart) ? '0 : turns_q + 2'(!turns_q[1] && time_us[TURN_LG] != time_q);
    dead    <= !restart && (dead || trap || turns_q[1]);
    restart <= dead && s_reset && !restart;
    on_q <= por_rst || (on_q && rst);
    if (restart || rst) restarted <= !on_q;
    if (por_rst)        restarted <= 1'b0;
    if (rst) begin
      time_q    <= 1'b0;
      turns_q   <= '0;
      dead      <= 1'b0;
      restart   <= 1'b0;
    end
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, time_us};
endmodule
