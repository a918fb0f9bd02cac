// SPDX-License-Identifier: Apache-2.0
// Changes of the table that says where granules of the medium are, so that no two of them ever are at the same place: what
// is taken is refused, here, whatever the firmware asks for (formal/db_virt_place_formal.sv).
//
// Beside the table there is a map of what is taken: for each granule of the SSDs, by SSD, its eighths. A granule of a stripe
// over 2**n SSDs has a 2**n-th of that granule of each of them. Before a granule is put anywhere its old place is given back.
// After reset all granules are nowhere, and nothing is taken.
// Latency: look 2 cycles, release 4, put 6, find 6 and 2 more for each place that is not free; after reset EXTENTS cycles.
module db_virt_place
  import db_virt_pkg::*;
#(
  parameter int NUM_SSD = 2,     ///< 1, 2, 4, 8
  parameter int EXTENTS = 1024,  ///< granules that the table has room for: a power of two
  localparam int GRANULE_W = $clog2(EXTENTS),
  localparam int TAKEN_W   = 8 * NUM_SSD
) (
  input  logic                 clk,
  input  logic                 rst,
  /// granules of each SSD, at most EXTENTS / NUM_SSD; constant
  input  logic [15:0]          each,
  /// while not busy; granule and extent stay until it is not any more
  input  logic                 s_go,
  input  logic [1:0]           s_op,
  input  logic [15:0]          s_granule,
  input  extent_t              s_extent,
  output logic                 busy,
  output logic                 refused,
  output extent_t              m_found,
  /// the table: read data in the next cycle, and held
  output logic                 table_re,
  output logic [GRANULE_W-1:0] table_addr,
  input  extent_t              table_rdata,
  output logic                 table_we,
  output extent_t              table_wdata,
  /// what is taken, by granule of the SSDs: the same
  output logic                 taken_re,
  output logic [GRANULE_W-1:0] taken_addr,
  input  logic [TAKEN_W-1:0]   taken_rdata,
  output logic                 taken_we,
  output logic [TAKEN_W-1:0]   taken_wdata
);
  localparam int SSD_LOG2 = $clog2(NUM_SSD);
  typedef enum logic [2:0] {ST_CLEAR, ST_IDLE, ST_OLD, ST_FREE, ST_NEW, ST_TEST, ST_TAKE} state_e;
  state_e               state_q;
  logic [GRANULE_W-1:0] at_q;       // granule of the SSDs; while clearing, of either
  extent_t              old_q;
  logic [2:0]           part_q;
  logic                 refused_q, last;

  // ---- what a place takes
  function automatic logic [TAKEN_W-1:0] eighths(input logic [1:0] log2, input logic [SSD_W-1:0] ssd,
                                                 input logic [2:0] part);
    logic [TAKEN_W-1:0] m;
    for (int s = 0; s < NUM_SSD; s++) begin
      for (int e = 0; e < 8; e++) m[8*s+e] = SSD_W'(s) >> log2 == ssd >> log2 && 3'(e) >> (2'd3 - log2) == part;
    end
    return m;
  endfunction

  logic [7:0] free;   // parts
  logic [2:0] first;  // of them
  logic       any;
  always_comb begin
    any   = 1'b0;
    first = '0;
    for (int p = 7; p >= 0; p--) begin
      free[p] = (taken_rdata & eighths(s_extent.log2, s_extent.ssd, 3'(p))) == '0 && 3'(p) >> s_extent.log2 == '0;
      if (free[p]) begin
        any   = 1'b1;
        first = 3'(p);
      end
    end
  end

  logic there, fits;
  assign there = 19'(s_granule) < 19'(each) << SSD_LOG2;
  assign fits  = 32'(s_extent.ssd) < NUM_SSD && 32'(s_extent.log2) <= SSD_LOG2 && s_extent.ssd >> s_extent.log2 <<
                 s_extent.log2 == s_extent.ssd && s_extent.part >> s_extent.log2 == '0;
  assign last  = 16'(at_q) + 16'd1 >= each;

  // ---- the memories
  logic    clearing, put;
  extent_t now;
  assign clearing    = state_q == ST_CLEAR;
  assign put         = s_op == EXTENT_PUT;
  assign now         = '{valid: 1'b1, log2: s_extent.log2, part: part_q, ssd: s_extent.ssd, place: 16'(at_q)};
  assign table_re    = state_q == ST_IDLE && s_go;
  assign table_addr  = clearing ? at_q : s_granule[GRANULE_W-1:0];
  assign table_we    = clearing || state_q == ST_FREE || state_q == ST_TAKE;
  assign table_wdata = state_q == ST_TAKE ? now : '0;
  assign taken_re    = state_q == ST_OLD || state_q == ST_NEW;
  assign taken_addr  = state_q == ST_OLD ? table_rdata.place[GRANULE_W-1:0] :
                       state_q == ST_FREE ? old_q.place[GRANULE_W-1:0] : at_q;
  assign taken_we    = table_we;
  always_comb begin
    taken_wdata = '0;
    if (state_q == ST_FREE) taken_wdata = taken_rdata & ~eighths(old_q.log2, old_q.ssd, old_q.part);
    if (state_q == ST_TAKE) taken_wdata = taken_rdata | eighths(s_extent.log2, s_extent.ssd, part_q);
  end

  always_ff @(posedge clk) begin
    unique case (state_q)
      ST_CLEAR: begin
        at_q <= at_q + 1'b1;
        if (at_q == '1) state_q <= ST_IDLE;
      end
      ST_IDLE: if (s_go) begin
        m_found   <= '0;
        refused_q <= !there;
        if (there) state_q <= ST_OLD;
      end
      ST_OLD: begin
        old_q   <= table_rdata;
        at_q    <= put ? s_extent.place[GRANULE_W-1:0] : '0;
        state_q <= table_rdata.valid ? ST_FREE : ST_NEW;
        if (s_op == EXTENT_LOOK) begin
          m_found <= table_rdata;
          state_q <= ST_IDLE;
        end
      end
      ST_FREE: state_q <= ST_NEW;
      ST_NEW: begin
        state_q <= ST_TEST;
        if (s_op == EXTENT_RELEASE) state_q <= ST_IDLE;
        else if (!fits || (put && s_extent.place >= each)) begin
          refused_q <= 1'b1;
          state_q   <= ST_IDLE;
        end
      end
      ST_TEST: begin
        part_q <= put ? s_extent.part : first;
        if (put ? free[s_extent.part] : any) state_q <= ST_TAKE;
        else if (put || last) begin
          refused_q <= 1'b1;
          state_q   <= ST_IDLE;
        end else begin
          at_q    <= at_q + 1'b1;
          state_q <= ST_NEW;
        end
      end
      default: begin  // ST_TAKE
        m_found <= now;
        state_q <= ST_IDLE;
      end
    endcase
    if (rst) begin
      state_q   <= ST_CLEAR;
      at_q      <= '0;
      refused_q <= 1'b0;
      m_found   <= '0;
    end
  end
  assign busy    = state_q != ST_IDLE;
  assign refused = refused_q;
endmodule
