// SPDX-License-Identifier: Apache-2.0
// In the place of db_host_axil where there are no registers: the settings are parameters, reads give 0, writes do
// nothing, both are OKAY.
// Latency: 1 cycle to a response. Throughput: an access every 2 cycles.
module db_host_fixed
  import db_host_pkg::*;
#(
  /// namespace
  parameter logic [31:0] NSID        = 32'd1,
  /// longest wait for an admin command, milliseconds
  parameter logic [15:0] ADMIN_MS    = 16'd10000,
  /// longest wait for a late command after its Abort
  parameter logic [15:0] ABORT_MS    = 16'd1000,
  /// time between looks at CSTS; 0: never
  parameter logic [15:0] POLL_MS     = 16'd1,
  /// longest wait for commands to end before a shutdown, and then for the drive
  parameter logic [15:0] SHUTDOWN_MS = 16'd10000,
  /// repeat what a reset took, else report it
  parameter bit          REPEAT      = 1'b1,
  /// PRPs for drives that take SGLs, too
  parameter bit          PRP_ONLY    = 1'b0,
  /// cycles until a command is late; 0: never
  parameter logic [31:0] CMD_TIMEOUT = 32'd1_250_000_000
) (
  input  logic        clk,
  input  logic        rst,

  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  output logic [1:0]  s_axil_bresp,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,

  output settings_t   settings
);
  assign settings = '{nsid: NSID, admin_ms: ADMIN_MS, abort_ms: ABORT_MS, poll_ms: POLL_MS, shutdown_ms: SHUTDOWN_MS,
                      repeat_on_reset: REPEAT, prp_only: PRP_ONLY, cmd_timeout: CMD_TIMEOUT};

  logic r_valid_q, aw_q, w_q, b_done;  // aw_q, w_q: an address, a word has been taken; no ready follows a valid
  assign s_axil_awready = !aw_q;
  assign s_axil_wready  = !w_q;
  assign s_axil_bvalid  = aw_q && w_q;
  assign b_done         = s_axil_bvalid && s_axil_bready;
  assign s_axil_bresp   = '0;
  assign s_axil_arready = !r_valid_q;
  assign s_axil_rvalid  = r_valid_q;
  assign s_axil_rdata   = '0;
  assign s_axil_rresp   = '0;
  always_ff @(posedge clk) begin
    r_valid_q <= r_valid_q ? !s_axil_rready : s_axil_arvalid;
    aw_q      <= (aw_q || s_axil_awvalid) && !b_done;
    w_q       <= (w_q || s_axil_wvalid) && !b_done;
    if (rst) begin
      r_valid_q <= 1'b0;
      aw_q      <= 1'b0;
      w_q       <= 1'b0;
    end
  end
endmodule
