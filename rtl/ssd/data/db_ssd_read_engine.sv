// SPDX-License-Identifier: Apache-2.0
// Read pipe: Read and Verify, from decoded command to completion. (OpenExpress: HTRW, the read half.)
//
// A command goes two ways at once: its PRPs are walked into segments of host memory, and its data is requested from
// the media. Both run ahead over following commands; db_pcie_write brings segments and data together and sends them.
// Verify has data but no segments: its rows are swallowed here.
// Latency: command to AR 1 cycle, to its first segment 4. Throughput: a row a cycle.
module db_ssd_read_engine
  import db_nvme_pkg::*, db_ssd_pkg::*;
#(
  parameter int DATA_W    = 256,    // bits: 128, 256, 512
  parameter int ADDR_W    = 40,     // bits of a media address
  parameter int BUF_BYTES = 16384   // of data requested from the media ahead: media latency x bandwidth
) (
  input  logic                     clk,
  input  logic                     rst,
  input  logic                     stop,
  output logic                     quiet,          // nothing is missing from the media
  output logic                     idle,
  input  logic                     s_cmd_valid,
  output logic                     s_cmd_ready,
  input  cmd_t                     s_cmd,
  // PRP list reads: a db_pcie_read
  output logic                     m_req_valid,
  input  logic                     m_req_ready,
  output logic [FN_W-1:0]          m_req_fn,
  output logic [63:0]              m_req_addr,
  output logic [12:0]              m_req_len,
  output logic                     m_req_first,
  output logic                     m_req_last,
  input  logic                     s_list_tvalid,
  output logic                     s_list_tready,
  input  logic [DATA_W-1:0]        s_list_tdata,
  input  logic                     s_list_tlast,
  input  logic [$clog2(DATA_W/32):0] s_list_tdw,
  input  logic                     s_list_terr,
  // AXI4 reads
  output logic                     m_ar_valid,
  input  logic                     m_ar_ready,
  output logic [ADDR_W-1:0]        m_ar_addr,
  output logic [7:0]               m_ar_len,
  input  logic                     s_r_valid,
  output logic                     s_r_ready,
  input  logic [DATA_W-1:0]        s_r_data,
  input  logic [1:0]               s_r_resp,
  input  logic                     s_r_last,
  // segments and data to db_pcie_write; user {status, slot}
  output logic                     m_seg_valid,
  input  logic                     m_seg_ready,
  output logic [FN_W-1:0]          m_seg_fn,
  output logic [63:0]              m_seg_addr,
  output logic [12:0]              m_seg_len,
  output logic                     m_seg_first,
  output logic                     m_seg_last,
  output logic                     m_seg_drop,
  output logic [$bits(status_t)+SLOT_W-1:0] m_seg_user,
  output logic                     m_axis_tvalid,
  input  logic                     m_axis_tready,
  output logic [DATA_W-1:0]        m_axis_tdata,
  output logic                     m_axis_tlast,
  output logic                     m_axis_terr,
  input  logic                     s_done_valid,
  output logic                     s_done_ready,
  input  logic [$bits(status_t)+SLOT_W-1:0] s_done_user,
  input  logic                     s_done_err,
  // completions
  output logic                     m_cpl_valid,
  input  logic                     m_cpl_ready,
  output slot_completion_t                m_cpl,
  output logic                     media_err       // pulse: a command met a media error
);
  localparam int ROWS = BUF_BYTES * 8 / DATA_W;

  // ---- to the walker (Read) and to the media (both)
  logic to_prp_q, to_media_q;                       // already given
  logic prp_ready, media_ready, prp_done, media_done;
  logic verify;
  assign verify      = s_cmd.op == CMD_VERIFY;
  assign prp_done    = to_prp_q || verify || prp_ready;
  assign media_done  = to_media_q || media_ready;
  assign s_cmd_ready = prp_done && media_done;
  always_ff @(posedge clk) begin
    to_prp_q   <= s_cmd_valid && !s_cmd_ready && prp_done;
    to_media_q <= s_cmd_valid && !s_cmd_ready && media_done;
    if (rst) begin
      to_prp_q   <= 1'b0;
      to_media_q <= 1'b0;
    end
  end

  status_t           seg_status;
  logic [SLOT_W-1:0] seg_slot;
  db_nvme_prp #(.DATA_W(DATA_W), .USER_W(SLOT_W)) i_prp (
    .clk, .rst,
    .s_cmd_valid(s_cmd_valid && !to_prp_q && !verify), .s_cmd_ready(prp_ready), .s_cmd_fn(s_cmd.fn),
    .s_cmd_prp1(s_cmd.prp1), .s_cmd_prp2(s_cmd.prp2), .s_cmd_bytes(s_cmd.bytes), .s_cmd_user(s_cmd.slot),
    .m_req_valid, .m_req_ready, .m_req_fn, .m_req_addr, .m_req_len, .m_req_first, .m_req_last,
    .m_req_drop(), .m_req_user(),
    .s_list_tvalid, .s_list_tready, .s_list_tdata, .s_list_tlast, .s_list_tdw, .s_list_tuser(1'b0), .s_list_terr,
    .m_seg_valid, .m_seg_ready, .m_seg_fn, .m_seg_addr, .m_seg_len, .m_seg_first, .m_seg_last, .m_seg_drop,
    .m_seg_user(seg_slot), .m_seg_status(seg_status));
  assign m_seg_user = {seg_status, seg_slot};

  logic              row_valid, row_ready, row_last, row_err, row_verify;
  logic [SLOT_W-1:0] row_slot;
  db_axi_read #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .ROWS(ROWS), .USER_W(SLOT_W + 1), .FAST(1'b1)) i_media (
    .clk, .rst, .stop, .quiet,
    .s_cmd_valid(s_cmd_valid && !to_media_q), .s_cmd_ready(media_ready),
    .s_cmd_addr(s_cmd.media_addr[ADDR_W-1:0]), .s_cmd_bytes(s_cmd.bytes), .s_cmd_user({verify, s_cmd.slot}),
    .m_ar_valid, .m_ar_ready, .m_ar_addr, .m_ar_len, .s_r_valid, .s_r_ready, .s_r_data, .s_r_resp, .s_r_last,
    .m_axis_tvalid(row_valid), .m_axis_tready(row_ready), .m_axis_tdata(m_axis_tdata), .m_axis_tlast(row_last),
    .m_axis_terr(row_err), .m_axis_tuser({row_verify, row_slot}));

  // ---- rows of Read go out, rows of Verify end here
  logic    verify_err_q, verify_valid_q;            // an error so far; a Verify's completion waits
  status_t verify_status_q;
  logic [SLOT_W-1:0] verify_slot_q;
  logic    verify_end, verify_take;
  localparam status_t READ_ERROR = '{dnr: 1'b0, more: 1'b0, crd: 2'b00, sct: SCT_MEDIA, sc: SC_READ_ERROR};
  assign m_axis_tvalid = row_valid && !row_verify;
  assign m_axis_tlast  = row_last;
  assign m_axis_terr   = row_err;
  assign row_ready     = row_verify ? !verify_valid_q : m_axis_tready;
  assign verify_end    = row_valid && row_verify && row_ready && row_last;
  always_ff @(posedge clk) begin
    if (row_valid && row_verify && row_ready) verify_err_q <= (verify_err_q || row_err) && !row_last;
    if (verify_end) begin
      verify_valid_q  <= 1'b1;
      verify_slot_q   <= row_slot;
      verify_status_q <= (verify_err_q || row_err) ? READ_ERROR : '0;
    end else if (verify_take) verify_valid_q <= 1'b0;
    if (rst) begin
      verify_err_q   <= 1'b0;
      verify_valid_q <= 1'b0;
    end
  end

  // ---- completions of both; the PRP walk's error comes before the media's
  logic    out_free;
  status_t done_status;
  assign out_free     = !m_cpl_valid || m_cpl_ready;
  assign s_done_ready = out_free;
  assign verify_take  = out_free && !s_done_valid && verify_valid_q;
  assign done_status  = s_done_user[SLOT_W +: $bits(status_t)];
  always_ff @(posedge clk) begin
    media_err <= 1'b0;
    if (out_free) begin
      m_cpl_valid <= s_done_valid || verify_valid_q;
      m_cpl.slot  <= s_done_valid ? s_done_user[SLOT_W-1:0] : verify_slot_q;
      if (!s_done_valid)                          m_cpl.status <= verify_status_q;
      else if (done_status == '0 && s_done_err)   m_cpl.status <= READ_ERROR;
      else                                        m_cpl.status <= done_status;
      media_err <= s_done_valid ? s_done_err : verify_valid_q && verify_status_q != '0;
    end
    if (rst) begin
      m_cpl_valid <= 1'b0;
      media_err   <= 1'b0;
    end
  end

  assign idle = quiet && !s_cmd_valid && !row_valid && !m_seg_valid && !m_cpl_valid && !verify_valid_q && !m_req_valid;

endmodule
