// SPDX-License-Identifier: Apache-2.0
// I/O queue entries of the host, carried out as block commands beside captures and reads: Flush, Write, Read, Write
// Zeroes, Dataset Management (deallocate). The queues are db_host's, so an entry becomes commands of at most 4 KiB of
// data, and its completion is made here.
//
// Data lies in the host's memory, behind packets: what a Write or a list needs is asked for 128 bytes at a time
// (m_fetch), what a Read gives goes out by db_rec_read. PRPs have stream number 1 and lead to whole pages; a list may go
// on in another page. Rows of a Write are collected before its command goes to the lane, so a slow host holds up no
// capture; reads of the recorder wait while one of these is under way. One entry at a time; the others wait, and
// from_host refuses what finds no room. A drive's reset ends its entry, but not in the middle of a request for data.
// Time: some 25 cycles beside those of the host, the drive and 2 a row.
module db_rec_io
  import db_rec_pkg::*, db_host_pkg::*, db_nvme_pkg::*;
#(
  parameter int N_DRIVES = 2,   ///< 1..8
  parameter int DATA_W   = 128  ///< 128, 256, 512
) (
  input  logic                            clk,
  input  logic                            rst,
  input  host_state_t    [N_DRIVES-1:0]   hosts,
  input  drive_state_t   [N_DRIVES-1:0]   drives,

  /// Entries as 16 dwords; the last one begins with {drive, queue}.
  input  logic                            s_entry_valid,
  output logic                            s_entry_ready,
  input  logic           [31:0]           s_entry_data,

  /// The host's memory.
  output logic                            m_fetch_valid,
  input  logic                            m_fetch_ready,
  output fetch_t                          m_fetch,
  output logic                            data_open,      ///< a reply with the tag of m_fetch is waited for
  input  logic                            s_data_valid,
  input  logic           [31:0]           s_data,
  input  logic                            s_data_error,   ///< pulse: the host refuses

  /// db_rec_lane: a command, then its rows.
  input  logic                            issue_free,     ///< db_rec_control has none
  output logic           [N_DRIVES-1:0]   m_issue_valid,  ///< only when it has none
  input  logic           [N_DRIVES-1:0]   m_issue_ready,
  output issue_t                          m_issue,
  output logic           [N_DRIVES-1:0]   m_row_lock,     ///< no block may begin: rows come
  output logic                            m_row_valid,
  input  logic           [N_DRIVES-1:0]   m_row_ready,
  output logic           [DATA_W-1:0]     m_row_data,

  /// db_rec_read
  output logic           [N_DRIVES-1:0]   wait_reads,     ///< the recorder is to issue none
  output logic           [N_DRIVES-1:0]   reads,          ///< rows of this drive are a Read's of the host
  output logic           [23:0]           read_addr,
  input  logic           [N_DRIVES-1:0]   reads_clear,    ///< none of the recorder's own are under way
  input  logic                            packet_done,    ///< pulse: 128 bytes have left

  input  logic           [N_DRIVES-1:0]   s_status_valid, ///< only those with USER_TAG
  output logic           [N_DRIVES-1:0]   s_status_ready,
  input  block_status_t  [N_DRIVES-1:0]   s_status,

  output logic                            m_done_valid,
  input  logic                            m_done_ready,
  output io_done_t                        m_done,
  output logic                            busy
);
  localparam int DW    = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam int L     = DATA_W / 32;                 // dwords of a row
  localparam int ROWS  = 4096 * 8 / DATA_W;
  localparam int RW    = $clog2(ROWS);
  localparam int MOST  = 8192;                        // blocks of a command without data
  if (!(DATA_W inside {128, 256, 512}) || N_DRIVES < 1 || N_DRIVES > 8) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512, N_DRIVES 1..8");
  end

  typedef enum logic [3:0] {
    ST_LOAD, ST_LOOK, ST_CHECK, ST_CHUNK, ST_PAGE, ST_RANGE, ST_FETCH, ST_DATA, ST_CLEAR, ST_ISSUE, ST_ROW_READ,
    ST_ROW, ST_STATUS, ST_NEXT, ST_DONE
  } state_e;
  typedef enum logic [1:0] {GET_DATA, GET_PAGE, GET_LIST, GET_RANGE} get_e;  // GET_LIST: where the list goes on
  state_e          state_q;
  get_e            get_q;
  logic [3:0]      index_q;
  logic [7:0]      opcode_q, ranges_q, tag_q;
  logic [15:0]     cid_q;
  logic [27:0]     prp1_q, prp2_q;                    // with the stream number
  logic [23:0]     page_q, fetch_q;                   // page at hand; where the next dwords are
  logic [34:0]     lba_q;
  logic            far_q;                             // behind the last LBA that lba_q can hold
  logic            deallocate_q, first_q, two_q;
  logic [31:0]     left_q;                            // blocks
  logic [13:0]     chunk_q;
  logic [5:0]      want_q;                            // dwords
  logic [5:0]      packets_q;                         // of 128 bytes that are still to come or to go
  logic [3:0]      qid_q;
  logic [DW-1:0]   d_q;
  status_t         status_q;
  block_op_e       op;
  logic            read, write, moves;
  logic [2:0]      shift;                             // log2 of a block's bytes - 9
  logic [13:0]     most;
  drive_state_t    drive;
  logic            known, ended_q;                    // ended_q: the command has its status
  logic            gone, reset_q;                     // reset_q: the drive was reset while m_fetch was offered
  logic            bad_page, bad_ranges, clear_q;     // clear_q: a Read may begin
  logic            issued_q;                          // the lane has the command
  logic            over_q;                            // left_q was more than `most` a cycle ago

  assign drive  = drives[d_q];
  assign read   = opcode_q == OPC_READ;
  assign write  = opcode_q == OPC_WRITE;
  assign moves  = read || write;
  assign known  = opcode_q inside {OPC_FLUSH, OPC_READ, OPC_WRITE, OPC_WRITE_ZEROES, OPC_DSM};
  assign shift  = 3'(hosts[d_q].lba_shift - 4'd9);
  assign most   = moves ? 14'd8 >> shift : 14'(MOST);
  assign gone   = (drive.flush || reset_q) && !(state_q inside {ST_LOAD, ST_DONE, ST_FETCH});
  assign bad_page   = s_data[27:24] != 4'd1 || s_data[11:0] != '0;
  assign bad_ranges = 9'(prp1_q[11:4]) + 9'(ranges_q) > 9'd255;  // they cross their page
  assign busy   = state_q != ST_LOAD || s_entry_valid;

  assign s_entry_ready = state_q == ST_LOAD;
  assign m_fetch_valid = state_q == ST_FETCH;
  assign m_fetch       = '{drive: 4'(d_q), addr: fetch_q, dwords: want_q, tag: tag_q};
  assign data_open     = state_q == ST_DATA;
  assign m_issue       = '{user: 1'b1, op: op, kind: KIND_READ_TRIM, block: lba_q, blocks: chunk_q};
  assign read_addr     = page_q;
  assign m_done_valid  = state_q == ST_DONE;
  assign m_done        = '{drive: 4'(d_q), qid: qid_q, cid: cid_q, status: status_q};
  always_comb begin
    unique case (opcode_q)
      OPC_WRITE:        op = BLOCK_WRITE;
      OPC_READ:         op = BLOCK_READ;
      OPC_WRITE_ZEROES: op = BLOCK_ZEROES;
      OPC_DSM:          op = BLOCK_TRIM;
      default:          op = BLOCK_FLUSH;
    endcase
    m_issue_valid  = '0;
    m_row_lock     = '0;
    wait_reads     = '0;
    reads          = '0;
    s_status_ready = '0;
    m_issue_valid[d_q]  = state_q == ST_ISSUE && !issued_q && !drive.flush && issue_free;
    m_row_lock[d_q]     = state_q inside {ST_ROW_READ, ST_ROW};
    wait_reads[d_q]     = read && state_q inside {ST_CLEAR, ST_ISSUE, ST_STATUS};
    reads[d_q]          = read && state_q inside {ST_ISSUE, ST_STATUS};
    s_status_ready[d_q] = state_q == ST_STATUS && s_status_valid[d_q];  // others are not ours
  end

  // ---- rows of a Write
  logic [DATA_W-1:0] row_q;
  logic [RW-1:0]     row_at_q;
  logic [$clog2(L)-1:0] lane_q;
  logic [RW:0]       rows_q;                          // still to go to the lane
  logic              row_full_q;
  db_ram_sdp #(.WIDTH(DATA_W), .DEPTH(ROWS)) i_rows (
    .clk, .we(row_full_q), .waddr(row_at_q), .wdata(row_q), .re(state_q == ST_ROW_READ), .raddr(row_at_q),
    .rdata(m_row_data)
  );
  assign m_row_valid = state_q == ST_ROW;

  always_ff @(posedge clk) begin
    reset_q    <= (drive.flush || reset_q) && state_q == ST_FETCH;
    row_full_q <= 1'b0;
    if (row_full_q) row_at_q <= row_at_q + 1'b1;
    over_q  <= left_q > 32'(most);
    clear_q <= state_q == ST_CLEAR && reads_clear[d_q] && issue_free;
    issued_q <= (m_issue_valid & m_issue_ready) != '0;
    unique case (state_q)
      ST_LOAD: begin
        status_q <= '0;
        first_q  <= 1'b1;
        if (s_entry_valid) begin
          index_q <= index_q + 4'd1;
          unique case (index_q)
            4'd0:  {cid_q, opcode_q} <= {s_entry_data[31:16], s_entry_data[7:0]};
            4'd6:  prp1_q <= s_entry_data[27:0];
            4'd8:  prp2_q <= s_entry_data[27:0];
            4'd10: {ranges_q, lba_q[31:0]} <= {s_entry_data[7:0], s_entry_data};
            4'd11: {far_q, lba_q[34:32], deallocate_q} <= {s_entry_data[31:3] != '0, s_entry_data[2:0],
                                                           s_entry_data[2]};
            4'd12: left_q <= 32'(s_entry_data[15:0]) + 32'd1;
            4'd15: begin
              d_q     <= DW'(s_entry_data[31:28]);
              qid_q   <= s_entry_data[27:24];
              state_q <= ST_LOOK;
            end
            default: ;
          endcase
        end
      end
      ST_LOOK: begin
        two_q   <= left_q <= 32'(most) << 1;
        state_q <= ST_CHECK;
        if (opcode_q == OPC_FLUSH) {left_q, lba_q} <= {32'd1, 35'd0};
      end
      ST_CHECK: begin
        page_q <= prp1_q[23:0];
        if (drive.dead || !hosts[d_q].link_up) begin
          status_q <= status(1'b0, SCT_PATH, SC_PATH_ERROR);
          state_q  <= ST_DONE;
        end else if (!known) begin
          status_q <= status(1'b0, SCT_GENERIC, SC_INVALID_OPCODE);
          state_q  <= ST_DONE;
        end else if ((moves && (prp1_q[27:24] != 4'd1 || prp1_q[11:0] != '0 ||
                      (over_q && (prp2_q[27:24] != 4'd1 || prp2_q[2:0] != '0 ||
                                  (two_q && prp2_q[11:3] != '0))))) ||
                     (opcode_q == OPC_DSM && (prp1_q[27:24] != 4'd1 || prp1_q[3:0] != '0 || bad_ranges))) begin
          status_q <= status(1'b0, SCT_GENERIC, SC_INVALID_PRP_OFFSET);
          state_q  <= ST_DONE;
        end else if (opcode_q == OPC_DSM) begin
          if (!deallocate_q) state_q <= ST_DONE;       // hints
          else if (drive.up) state_q <= ST_RANGE;
        end else if (opcode_q != OPC_FLUSH && far_q) begin
          status_q <= status(1'b0, SCT_GENERIC, SC_LBA_RANGE);
          state_q  <= ST_DONE;
        end else if (drive.up) begin
          state_q <= ST_CHUNK;
        end
      end

      // ---- a piece that one command can carry
      ST_CHUNK: begin
        chunk_q  <= over_q ? most : left_q[13:0];
        row_at_q <= '0;
        lane_q   <= '0;
        fetch_q  <= prp2_q[23:0];
        get_q    <= GET_PAGE;
        want_q   <= 6'd2;
        state_q  <= moves ? ST_PAGE : ST_ISSUE;
        if (moves && !first_q && two_q) page_q <= prp2_q[23:0];
        if (moves && !first_q && !two_q) begin
          if (prp2_q[11:3] == '1 && over_q) get_q <= GET_LIST;
          else prp2_q[11:3] <= prp2_q[11:3] + 1'b1;
          state_q <= ST_FETCH;
        end
        first_q <= 1'b0;
      end
      ST_PAGE: begin
        packets_q <= 6'(chunk_q << shift) << 2;
        rows_q    <= (RW + 1)'(16'(chunk_q << shift) << (RW - 3));
        fetch_q   <= page_q;
        get_q     <= GET_DATA;
        want_q    <= 6'd32;
        state_q   <= write ? ST_FETCH : ST_CLEAR;
      end

      // ---- dwords of the host
      ST_RANGE: begin
        fetch_q <= prp1_q[23:0];
        get_q   <= GET_RANGE;
        want_q  <= 6'd4;
        state_q <= ST_FETCH;
      end
      ST_FETCH: if (m_fetch_ready) state_q <= ST_DATA;
      ST_DATA:
        if (s_data_error) begin
          status_q <= status(1'b0, SCT_GENERIC, SC_DATA_TRANSFER_ERROR);
          state_q  <= ST_DONE;
          tag_q    <= tag_q + 8'd1;
        end else if (s_data_valid) begin
          want_q <= want_q - 6'd1;
          unique case (get_q)
            GET_DATA: begin
              for (int l = 0; l < L; l++) if (lane_q == ($clog2(L))'(l)) row_q[32*l+:32] <= s_data;
              lane_q     <= lane_q + 1'b1;
              row_full_q <= &lane_q;
            end
            GET_PAGE: if (want_q == 6'd2) page_q <= s_data[23:0];
            GET_LIST: if (want_q == 6'd2) prp2_q <= s_data[27:0];
            default: begin
              if (want_q == 6'd3) left_q <= s_data;
              if (want_q == 6'd2) lba_q[31:0] <= s_data;
              if (want_q == 6'd1) {far_q, lba_q[34:32]} <= {s_data[31:3] != '0, s_data[2:0]};
            end
          endcase
          if (want_q == 6'd1) begin
            tag_q   <= tag_q + 8'd1;
            fetch_q[11:7] <= fetch_q[11:7] + 1'b1;  // in its page
            want_q  <= 6'd32;
            if (get_q == GET_DATA) begin
              packets_q <= packets_q - 6'd1;
              state_q   <= packets_q == 6'd1 ? ST_CLEAR : ST_FETCH;
            end else begin
              state_q <= get_q == GET_PAGE ? ST_PAGE : get_q == GET_LIST ? ST_CHUNK : ST_NEXT;
              if (get_q == GET_RANGE) chunk_q <= '0;
            end
          end
          if (get_q inside {GET_PAGE, GET_LIST} && want_q == 6'd2 && bad_page) begin
            status_q <= status(1'b0, SCT_GENERIC, SC_INVALID_PRP_OFFSET);
            state_q  <= ST_DONE;
            tag_q    <= tag_q + 8'd1;
          end
        end

      // ---- the command
      ST_CLEAR: begin
        row_at_q <= '0;
        if (!read || clear_q) state_q <= ST_ISSUE;
      end
      ST_ISSUE: if (issued_q) state_q <= write ? ST_ROW_READ : ST_STATUS;
      ST_ROW_READ: state_q <= ST_ROW;
      ST_ROW:
        if (m_row_ready[d_q]) begin
          row_at_q <= row_at_q + 1'b1;
          rows_q   <= rows_q - 1'b1;
          state_q  <= rows_q == (RW + 1)'(1) ? ST_STATUS : ST_ROW_READ;
        end
      ST_STATUS: begin
        if (packet_done) begin
          packets_q <= packets_q - 6'd1;
          page_q[11:7] <= page_q[11:7] + 1'b1;
        end
        if (s_status_valid[d_q]) {ended_q, status_q} <= {1'b1, s_status[d_q].status};
        if (ended_q && (!read || packets_q == '0)) begin
          ended_q <= 1'b0;
          state_q <= status_q != '0 ? ST_DONE : ST_NEXT;
          left_q  <= left_q - 32'(chunk_q);
          {far_q, lba_q} <= {far_q, lba_q} + 36'(chunk_q);
        end
      end
      ST_NEXT: begin
        if (left_q != '0 && far_q) begin  // a range begins there, or goes on there
          status_q <= status(1'b0, SCT_GENERIC, SC_LBA_RANGE);
          state_q  <= ST_DONE;
        end else if (left_q != '0) begin
          state_q <= ST_CHUNK;
        end else if (opcode_q == OPC_DSM && ranges_q != '0) begin
          ranges_q     <= ranges_q - 8'd1;
          prp1_q[11:4] <= prp1_q[11:4] + 1'b1;  // in its page
          state_q      <= ST_RANGE;
        end else begin
          state_q <= ST_DONE;
        end
      end
      default:
        if (m_done_ready) state_q <= ST_LOAD;
    endcase
    if (gone) begin
      status_q <= status(1'b0, SCT_PATH, SC_HOST_ABORTED);
      state_q  <= ST_DONE;
      ended_q  <= 1'b0;
      tag_q    <= tag_q + 8'd1;
    end
    if (rst) begin
      state_q    <= ST_LOAD;
      index_q    <= '0;
      ended_q    <= 1'b0;
      reset_q    <= 1'b0;
      row_full_q <= 1'b0;
      issued_q   <= 1'b0;
      tag_q      <= '0;
    end
  end
endmodule
