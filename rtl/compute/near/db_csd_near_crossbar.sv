// SPDX-License-Identifier: Apache-2.0
// Rows of near-storage commands on their way: of the media to the slot that gets them first, of a slot to the next,
// of the last to the result.
//
// A row has one place to go: where `s_to` says, or `route` for the slot that gives it; with neither it is a
// result's. For the result only rows of what the oldest command goes through are taken. That no two rows have one
// place to go is what db_csd_near_rename gives: rows come to a slot from one other at most, to the first of a
// command from none, and those of its last go to none.
// Latency: none. Throughput: a row a cycle for each slot and the result.
module db_csd_near_crossbar
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512; any whole bytes will do
  parameter int SLOTS  = 5     ///< 1..8
) (
  input  logic [SLOTS-1:0][SLOTS-1:0]  route,         ///< rows of slot s go to those of route[s]
  /// A command's rows, of the media.
  input  logic                         s_valid,
  output logic                         s_ready,
  input  logic [DATA_W-1:0]            s_data,
  input  near_row_t                    s_row,
  input  logic [SLOTS-1:0]             s_to,          ///< none: they are its result
  /// Into slots.
  output logic [SLOTS-1:0]             slot_valid,
  input  logic [SLOTS-1:0]             slot_ready,
  output logic [SLOTS-1:0][DATA_W-1:0] slot_data,
  output near_row_t [SLOTS-1:0]        slot_row,
  /// Out of slots.
  input  logic [SLOTS-1:0]             gives_valid,
  output logic [SLOTS-1:0]             gives_ready,
  input  logic [SLOTS-1:0][DATA_W-1:0] gives_data,
  input  near_row_t [SLOTS-1:0]        gives_row,
  /// The oldest command, and what gives its result; none: its rows of the media.
  input  logic                         from_valid,
  input  logic [SLOTS-1:0]             from_last,
  output logic                         m_valid,
  input  logic                         m_ready,
  output logic [DATA_W-1:0]            m_data,        ///< of a row of the media, 0 behind the bytes that count
  output near_row_t                    m_row
);
  if (DATA_W < 8 || DATA_W % 8 != 0 || SLOTS < 1 || SLOTS > NEAR_SLOTS_MOST) begin : g_bad
    $error("%m: DATA_W must be whole bytes (is %0d), SLOTS 1..8 (is %0d)", DATA_W, SLOTS);
  end

  for (genvar s = 0; s < SLOTS; s++) begin : g_slot
    always_comb begin
      slot_valid[s] = s_valid && s_to[s];
      slot_data[s]  = s_data;
      slot_row[s]   = s_row;
      for (int from_slot = 0; from_slot < SLOTS; from_slot++) begin
        if (route[from_slot][s]) begin
          slot_valid[s] = gives_valid[from_slot];
          slot_data[s]  = gives_data[from_slot];
          slot_row[s]   = gives_row[from_slot];
        end
      end
    end
    assign gives_ready[s] = route[s] != '0 ? (route[s] & slot_ready) != '0 : from_valid && from_last[s] && m_ready;
  end

  logic              plain, plain_ready;
  logic [DATA_W-1:0] plain_data;
  assign plain       = s_to == '0;
  assign plain_ready = from_valid && from_last == '0 && m_ready;
  assign s_ready     = plain ? plain_ready : (s_to & slot_ready) != '0;
  for (genvar i = 0; i < DATA_W / 8; i++) begin : g_plain
    assign plain_data[8*i +: 8] = 7'(i) < s_row.bytes ? s_data[8*i +: 8] : '0;
  end
  always_comb begin
    m_valid = from_valid && from_last == '0 && s_valid && plain;
    m_data  = plain_data;
    m_row   = s_row;
    for (int s = 0; s < SLOTS; s++) begin
      if (from_last[s]) begin
        m_valid = from_valid && gives_valid[s];
        m_data  = gives_data[s];
        m_row   = gives_row[s];
      end
    end
  end
endmodule
