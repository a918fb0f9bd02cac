// SPDX-License-Identifier: Apache-2.0
// db_csd_wrap with cores to try it: a pipeline (INTERVAL 1), a core that takes a beat every INTERVAL cycles, or, without
// FORMAT_PRESERVING, one that drops the odd beats of a command. What a core does to the data is to invert them.
module csd_wrap_tb #(
  parameter int DATA_W = 128,
  parameter int USER_W = 24,
  parameter int DEPTH = 16,
  parameter int LATENCY = 7,
  parameter int INTERVAL = 1,
  parameter bit FORMAT_PRESERVING = 1'b1
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_axis_tvalid,
  output logic              s_axis_tready,
  input  logic [DATA_W-1:0] s_axis_tdata,
  input  logic              s_axis_tlast,
  input  logic [USER_W-1:0] s_axis_tuser,
  output logic              m_axis_tvalid,
  input  logic              m_axis_tready,
  output logic [DATA_W-1:0] m_axis_tdata,
  output logic              m_axis_tlast,
  output logic [USER_W-1:0] m_axis_tuser
);
  logic to_valid, to_ready, to_last, from_valid, from_ready, from_last;
  logic [DATA_W-1:0] to_data, from_data;
  logic [USER_W-1:0] to_user;
  db_csd_wrap #(
    .DATA_W(DATA_W), .USER_W(USER_W), .DEPTH(DEPTH), .FORMAT_PRESERVING(FORMAT_PRESERVING)
  ) dut (
    .clk, .rst, .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_tuser,
    .m_core_valid(to_valid), .m_core_ready(to_ready), .m_core_data(to_data), .m_core_last(to_last),
    .m_core_user(to_user),
    .s_core_valid(from_valid), .s_core_ready(from_ready), .s_core_data(from_data), .s_core_last(from_last),
    .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tlast, .m_axis_tuser
  );

  if (FORMAT_PRESERVING) begin : g_pipe
    logic [LATENCY-1:0] valid_q;
    logic [DATA_W-1:0]  data_q[LATENCY];
    int                 pause_q;
    assign to_ready = pause_q == 0;
    always_ff @(posedge clk) begin
      pause_q <= to_valid && to_ready ? INTERVAL - 1 : pause_q == 0 ? 0 : pause_q - 1;
      valid_q <= LATENCY'({valid_q, to_valid && to_ready});
      data_q[0] <= ~to_data;
      for (int i = 1; i < LATENCY; i++) data_q[i] <= data_q[i-1];
      if (rst) begin
        pause_q <= 0;
        valid_q <= '0;
      end
    end
    assign from_valid = valid_q[LATENCY-1];
    assign from_data  = data_q[LATENCY-1];
    assign from_last  = 1'b0;
  end else begin : g_drop
    logic odd_q, full_q, last_q;
    logic [DATA_W-1:0] data_q;
    assign to_ready   = !full_q || from_ready;
    assign from_valid = full_q;
    assign from_data  = data_q;
    assign from_last  = last_q;
    always_ff @(posedge clk) begin
      if (to_ready) full_q <= to_valid && !odd_q;
      if (to_valid && to_ready) begin
        odd_q  <= !odd_q && !to_last;
        data_q <= ~to_data;
        last_q <= to_user[0];  // the bench sets it with the last even beat
      end
      if (rst) begin
        odd_q  <= 1'b0;
        full_q <= 1'b0;
      end
    end
  end
endmodule
