// SPDX-License-Identifier: Apache-2.0
// Rows of the list of a Memory Copy to its ranges (docs/csd/programs.md), for db_ssd_copy.
//
// Latency: 1 cycle from a range's last row. Throughput: a range a cycle: a row of 512 bits has two and stays for both.
module db_ssd_copy_list
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*;
#(
  parameter int DATA_W = 256     ///< bits of a row: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_row_valid,    ///< a row of a list
  input  logic              s_row_taken,    ///< ... and somebody takes it
  input  logic [DATA_W-1:0] s_row_data,
  input  logic              s_row_last,
  input  logic [SLOT_W-1:0] s_row_slot,
  output logic              stay,           ///< the row is to stay a cycle more
  output copy_range_t       m_range
);
  localparam int RANGE_W = 256;
  logic [COPY_RANGES_LOG2-1:0] index_q;
  logic                        found;       // a range ends with what is here
  logic [RANGE_W-1:0]          range;
  logic                        taken;       // all of the row
  assign taken = s_row_valid && s_row_taken && !stay;
  if (DATA_W == 128) begin : g_half
    logic         second_q;
    logic [127:0] low_q;
    always_ff @(posedge clk) begin
      if (taken) {second_q, low_q} <= {!second_q && !s_row_last, s_row_data};
      if (rst) second_q <= 1'b0;
    end
    assign {stay, found, range} = {1'b0, taken && second_q, s_row_data, low_q};
  end else if (DATA_W == 256) begin : g_whole
    assign {stay, found, range} = {1'b0, taken, s_row_data};
  end else begin : g_two
    logic second_q;
    always_ff @(posedge clk) second_q <= s_row_valid && s_row_taken && !second_q && !rst;
    assign stay  = s_row_valid && !second_q;
    assign found = s_row_valid && s_row_taken;
    assign range = second_q ? s_row_data[2*RANGE_W-1-:RANGE_W] : s_row_data[RANGE_W-1:0];
  end
  always_ff @(posedge clk) begin
    if (found) index_q <= index_q + 1'b1;
    if (taken && s_row_last) index_q <= '0;
    m_range <= '{valid: found && !rst, slot: s_row_slot, index: index_q, nsid: range[31:0], start: range[127:64],
                 amount: range[159:128]};
    if (rst) index_q <= '0;
  end
  logic unused_ok;
  assign unused_ok = &{1'b0, range};
endmodule
