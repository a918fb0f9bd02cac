// SPDX-License-Identifier: Apache-2.0
// Operators one behind the other, as in the picture of rtl/compute/README.md (AES has benches of its own).
module csd_chain_tb
  import db_csd_pkg::*;
#(
  parameter int DATA_W = 128
) (
  input  logic                       clk,
  input  logic                       rst,
  input  logic                       s_axis_tvalid,
  output logic                       s_axis_tready,
  input  logic [DATA_W-1:0]          s_axis_tdata,
  input  logic                       s_axis_tlast,
  input  op_ctx_t                    s_axis_tuser,
  output logic                       m_axis_tvalid,
  input  logic                       m_axis_tready,
  output logic [DATA_W-1:0]          m_axis_tdata,
  output logic                       m_axis_tlast,
  output row_ctx_t                   m_axis_tuser,
  output logic                       m_crc_valid,
  output result_t                    m_crc,
  output logic                       m_sha_valid,
  output result_t                    m_sha
);
  localparam int N = 4;
  logic                     valid[N], ready[N], last[N];
  logic [DATA_W-1:0]        data[N];
  row_ctx_t                 user[N];
  db_csd_front #(.DATA_W(DATA_W)) i_front (
    .clk, .rst, .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_tuser,
    .m_axis_tvalid(valid[0]), .m_axis_tready(ready[0]), .m_axis_tdata(data[0]), .m_axis_tlast(last[0]),
    .m_axis_tuser(user[0])
  );
  db_csd_pass #(.DATA_W(DATA_W)) i_pass (
    .clk, .rst, .s_axis_tvalid(valid[0]), .s_axis_tready(ready[0]), .s_axis_tdata(data[0]), .s_axis_tlast(last[0]),
    .s_axis_tuser(user[0]), .m_axis_tvalid(valid[1]), .m_axis_tready(ready[1]), .m_axis_tdata(data[1]),
    .m_axis_tlast(last[1]), .m_axis_tuser(user[1])
  );
  db_csd_add #(.DATA_W(DATA_W)) i_add (
    .clk, .rst, .s_axis_tvalid(valid[1]), .s_axis_tready(ready[1]), .s_axis_tdata(data[1]),
    .s_axis_tlast(last[1]), .s_axis_tuser(user[1]), .m_axis_tvalid(valid[2]), .m_axis_tready(ready[2]),
    .m_axis_tdata(data[2]), .m_axis_tlast(last[2]), .m_axis_tuser(user[2])
  );
  db_csd_crc32c #(.DATA_W(DATA_W)) i_crc (
    .clk, .rst, .s_axis_tvalid(valid[2]), .s_axis_tready(ready[2]), .s_axis_tdata(data[2]), .s_axis_tlast(last[2]),
    .s_axis_tuser(user[2]), .m_axis_tvalid(valid[3]), .m_axis_tready(ready[3]), .m_axis_tdata(data[3]),
    .m_axis_tlast(last[3]), .m_axis_tuser(user[3]),
    .m_res_valid(m_crc_valid), .m_res_ready(1'b1), .m_res(m_crc)
  );
  db_csd_sha256 #(.DATA_W(DATA_W), .CORES(2), .BUF_BYTES(2048)) i_sha (
    .clk, .rst, .s_axis_tvalid(valid[3]), .s_axis_tready(ready[3]), .s_axis_tdata(data[3]), .s_axis_tlast(last[3]),
    .s_axis_tuser(user[3]), .m_axis_tvalid, .m_axis_tready, .m_axis_tdata, .m_axis_tlast, .m_axis_tuser,
    .m_res_valid(m_sha_valid), .m_res_ready(1'b1), .m_res(m_sha)
  );
endmodule
