// SPDX-License-Identifier: Apache-2.0
// Commands that the media does by itself: Flush, Write Zeroes, Write Uncorrectable, and the ranges of Dataset
// Management (deallocate).
//
// The caller starts one when every earlier write has its response, so what the media does here comes after them.
// Dataset Management: its ranges (16 bytes each: attributes, length in blocks, first block) come as a row stream;
// each is checked against the namespace and becomes one zero command. After a bad range the rest are not done.
// Write Zeroes with FUA is followed by a flush.
// Latency: 3 cycles plus the media's. Throughput: one media command at a time.
module db_ssd_media_cmd
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W = 40      ///< bits of a media address
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                stop,          ///< until rst: start no media command; what is left is never done
  input  logic                s_start,       ///< pulse, when idle
  input  exec_cmd_t          s_cmd,         ///< stays until m_done
  input  logic               s_void,        ///< from the cycle behind s_start on: only take the range list
  /// range list (Dataset Management)
  input  logic                s_row_valid,
  output logic                s_row_ready,
  input  logic [DATA_W-1:0]   s_row_data,
  input  row_info_t           s_row_info,
  output logic                m_media_valid,
  input  logic                m_media_ready,
  output media_cmd_t          m_media,
  input  logic                s_media_done,  ///< pulse, one for each command
  input  logic                s_media_err,   ///< with s_media_done
  output logic                m_done,        ///< pulse
  output status_t             m_status       ///< with m_done and until the next start
);
  localparam int RANGES  = DATA_W / 128;      // in a row
  localparam int RANGE_W = (RANGES > 1) ? $clog2(RANGES) : 1;

  typedef enum logic [2:0] {ST_IDLE, ST_ROW, ST_CHECK, ST_SEND, ST_WAIT, ST_NEXT} state_e;
  state_e             state_q;
  logic [RANGE_W-1:0] range_q;                 // of the row
  logic [31:0]        nlb;
  logic [63:0]        slba;
  logic               outside_q, empty_q, bad_q;  // of a range: a part is not in the namespace; nothing is to do
  logic [64:0]        range_end;
  logic               row_end_q, dsm;
  media_op_e          op_q;
  logic [ADDR_W-1:0]  addr_q;
  logic [63:0]        bytes_q;

  assign nlb       = s_row_data[128*range_q + 32 +: 32];
  assign slba      = s_row_data[128*range_q + 64 +: 64];
  assign range_end = {1'b0, slba} + {33'd0, nlb};
  assign dsm       = s_cmd.desc.ranges;
  assign m_media   = '{op: op_q, addr: 64'(addr_q), bytes: bytes_q};
  // A row is held until its last range is done.
  assign s_row_ready = (state_q == ST_ROW && (s_row_info.err || bad_q || s_void)) ||
                       (state_q == ST_CHECK && empty_q && row_end_q) ||
                       (state_q == ST_NEXT && row_end_q);

  always_ff @(posedge clk) begin
    logic next_range;
    next_range = 1'b0;
    m_done     <= 1'b0;
    unique case (state_q)
      ST_IDLE: begin
        bad_q    <= 1'b0;
        range_q  <= '0;
        op_q     <= s_cmd.desc.flush ? MEDIA_FLUSH : s_cmd.desc.uncorrectable ? MEDIA_UNCORRECTABLE : MEDIA_ZERO;
        addr_q   <= s_cmd.media_addr[ADDR_W-1:0];
        bytes_q  <= {32'd0, s_cmd.bytes};
        if (s_start) begin
          m_status      <= '0;
          m_media_valid <= !dsm && !stop;
          state_q       <= dsm ? ST_ROW : ST_SEND;
        end
      end
      ST_ROW: if (s_row_valid) begin
        row_end_q  <= 32'(range_q) + 32'd1 == 32'(s_row_info.dw >> 2);
        bytes_q    <= s_cmd.lba4k ? {20'd0, nlb, 12'd0} : {23'd0, nlb, 9'd0};
        addr_q     <= s_cmd.media_addr[ADDR_W-1:0] + ADDR_W'(s_cmd.lba4k ? slba << 12 : slba << 9);
        outside_q  <= nlb != 32'd0 && range_end > {1'b0, s_cmd.ns_blocks};
        empty_q    <= nlb == 32'd0 || range_end > {1'b0, s_cmd.ns_blocks};
        if (s_row_info.err && !bad_q) m_status <= STATUS_NOT_HERE;
        if (s_row_info.err || bad_q || s_void) begin          // swallow the rest
          m_done <= s_row_info.last;
          if (s_row_info.last) state_q <= ST_IDLE;
        end else state_q <= ST_CHECK;
      end
      ST_CHECK: begin
        if (outside_q) begin
          bad_q    <= 1'b1;
          m_status <= status(1'b1, SCT_GENERIC, SC_LBA_RANGE);
        end
        if (empty_q) next_range = 1'b1;
        else begin
          m_media_valid <= !stop;
          state_q       <= ST_SEND;
        end
      end
      ST_SEND: if (m_media_valid && m_media_ready) begin   // stopped, it stays here
        m_media_valid <= 1'b0;
        state_q       <= ST_WAIT;
      end
      ST_WAIT: if (s_media_done) begin
        if (s_media_err) begin
          m_status <= STATUS_WRITE_FAULT;
          bad_q    <= 1'b1;
        end
        if (dsm) state_q <= ST_NEXT;
        else if (op_q == MEDIA_ZERO && s_cmd.fua && !s_media_err) begin
          op_q    <= MEDIA_FLUSH;
          m_media_valid <= !stop;
          state_q       <= ST_SEND;
        end else begin
          m_done  <= 1'b1;
          state_q <= ST_IDLE;
        end
      end
      ST_NEXT: next_range = 1'b1;
      default: state_q <= ST_IDLE;
    endcase
    if (next_range) begin
      range_q <= row_end_q ? '0 : range_q + 1'b1;
      state_q <= ST_ROW;
      if (row_end_q && s_row_info.last) begin
        m_done  <= 1'b1;
        state_q <= ST_IDLE;
      end
    end
    if (rst) begin
      state_q       <= ST_IDLE;
      m_media_valid <= 1'b0;
      m_done        <= 1'b0;
    end
  end

endmodule
