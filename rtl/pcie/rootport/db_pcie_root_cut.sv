// SPDX-License-Identifier: Apache-2.0
// Requests of the drive, cut into completions of at most MPS that end at multiples of it. Queue of 32 requests.
//
// A bad request becomes one completion. m_cut's data is not a register but comes from few gates.
// Latency: 2 cycles from s_req to m_cut. Throughput: a completion a cycle.
module db_pcie_root_cut
  import db_pcie_block_pkg::*;
#(
  parameter int DATA_W      = 128,  ///< bits of a row: 128, 256 or 512
  parameter int WINDOW_LOG2 = 26,   ///< log2 of the window's bytes
  localparam int ROW_LOG2 = $clog2(DATA_W / 8)
) (
  input  logic                            clk,
  input  logic                            rst,
  /// 0: 128 bytes .. 5: 4096
  input  logic [2:0]                      cfg_mps,

  /// always taken: the sender goes by req_room
  input  logic                            s_req_valid,
  input  window_req_t                     s_req,
  /// there is room for 2 more
  output logic                            req_room,
  /// a request's last completion has left
  input  logic                            req_done,
  /// no request is inside, or under way behind
  output logic                            empty,

  output logic                            m_cut_valid,
  input  logic                            m_cut_ready,
  output window_cpl_t                     m_cut,
  /// the row where it begins
  output logic [WINDOW_LOG2-1:ROW_LOG2]   m_cut_row
);
  localparam int LANE_W = ROW_LOG2 - 2;
  localparam int REQS   = 32;
  localparam int REQ_W  = $clog2(REQS);

  typedef struct packed {
    logic                   bad;
    logic [WINDOW_LOG2-3:0] addr;  // dwords
    logic [9:0]             more;  // dwords - 1
  } cut_t;

  // ---- requests
  logic [$bits(cut_t)-1:0] mem_q[REQS];
  logic [REQ_W-1:0]        in_q, at_q;
  logic [REQ_W:0]          level_q;
  cut_t                    cut_in;

  assign cut_in.bad  = s_req.bad;
  assign cut_in.addr = s_req.addr_dw[WINDOW_LOG2-3:0];
  assign cut_in.more = s_req.dwords[9:0] - 10'd1;

  always_ff @(posedge clk) begin
    if (s_req_valid) begin
      mem_q[in_q] <= cut_in;
      in_q        <= in_q + 1'b1;
    end
    if (s_req_valid != req_done) level_q <= s_req_valid ? level_q + 1'b1 : level_q - 1'b1;
    if (rst) begin
      in_q    <= '0;
      level_q <= '0;
    end
  end

  assign req_room = !level_q[REQ_W] && level_q[REQ_W-1:1] != '1;
  assign empty    = level_q == '0;

  // ---- cut
  cut_t       cut_q;
  logic       valid_q, first_q;
  logic [9:0] mask_q;  // dwords of MPS - 1
  logic [9:0] room;    // dwords up to the next multiple of MPS, less 1
  logic       final_cut, take, load;

  assign room      = ~cut_q.addr[9:0] & mask_q;
  assign final_cut = cut_q.more <= room || cut_q.bad;
  assign take      = valid_q && m_cut_ready;
  assign load      = at_q != in_q && (!valid_q || (take && final_cut));

  always_ff @(posedge clk) begin
    mask_q <= 10'((16'd32 << cfg_mps) - 16'd1);
    if (load) begin
      cut_q   <= mem_q[at_q];
      first_q <= 1'b1;
      valid_q <= 1'b1;
      at_q    <= at_q + 1'b1;
    end else if (take) begin
      cut_q.addr[9:0] <= (cut_q.addr[9:0] | mask_q) + 1'b1;  // a request never leaves its page
      cut_q.more      <= cut_q.more - room - 1'b1;
      first_q         <= 1'b0;
      valid_q         <= !final_cut;
    end
    if (rst) begin
      valid_q <= 1'b0;
      at_q    <= '0;
    end
  end

  assign m_cut_valid = valid_q;
  assign m_cut       = '{bad: cut_q.bad, first: first_q, final_c: final_cut, addr: cut_q.addr[4:0], more: cut_q.more,
                         size: final_cut ? cut_q.more : room};
  assign m_cut_row   = cut_q.addr[WINDOW_LOG2-3:LANE_W];
endmodule
