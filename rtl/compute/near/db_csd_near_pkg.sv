// SPDX-License-Identifier: Apache-2.0
// What passes between the blocks of near-storage commands: parameters, rows, words of a result. An operator of these is
// a module with the ports of db_csd_near_grep.
//
//   parameters  a word a cycle, while no packet is inside
//   rows        of the media's data, a packet a command: a row has DATA_W / 8 bytes, the last of a packet 1 to so many
//   words       16 bytes of the result, byte k in bits 8k+7:8k; one has `last`, the last one of each packet. An operator
//               that gives data gives rows instead, as db_csd_near_filter; a Grep does one or the other
package db_csd_near_pkg;
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;

  // ---- made by facts/generate.py from facts/doorbell.yaml: change it there
  // What a program of near-storage commands does: byte 0 of it.
  localparam logic [3:0] NEAR_NONE = 4'd0;
  localparam logic [3:0] NEAR_GREP = 4'd1;
  localparam logic [3:0] NEAR_AGGREGATE = 4'd2;
  localparam logic [3:0] NEAR_FILTER = 4'd3;
  localparam logic [3:0] NEAR_HASH = 4'd4;
  localparam logic [3:0] NEAR_CRYPT = 4'd5;
  localparam logic [3:0] NEAR_CSV = 4'd6;
  // Why a bitstream was not loaded.
  localparam logic [3:0] SLOT_OK = 4'd0;
  localparam logic [3:0] SLOT_NOT_ONE = 4'd1;  // it is none, or too long for where it is
  localparam logic [3:0] SLOT_FOREIGN = 4'd2;  // it is for another design
  localparam logic [3:0] SLOT_OTHER = 4'd3;  // it is for another slot
  localparam logic [3:0] SLOT_UNKNOWN = 4'd4;  // its operator is none that a slot can have
  localparam logic [3:0] SLOT_DAMAGED = 4'd5;  // its CRC is wrong
  localparam logic [3:0] SLOT_MEMORY = 4'd6;  // card memory could not be read
  localparam logic [3:0] SLOT_CHANGED = 4'd7;  // while it was loaded; the slot is empty
  localparam logic [3:0] SLOT_FIXED = 4'd8;  // there is no such slot, or what is in it stays
  localparam int NEAR_PREDICATES = 4;  // of a Filter, at most
  localparam int NEAR_COLUMNS = 4;  // that it chooses, at most
  localparam int NEAR_RECORD_MOST = 1024;  // bytes of its record
  localparam int NEAR_LINES_MOST = 16384;  // bytes that a command looks at, of which a Grep gives the lines, at most
  localparam int NEAR_CSV_WHOLE = 12;  // digits of a Csv's number before its point, at most
  localparam int NEAR_CSV_DECIMALS = 6;  // ... and behind it
  // ---- end of what is made

  localparam int NEAR_WORDS_LOG2 = 8;  // words of a program, as the hardware has it
  localparam int SLOT_ADDR_W = 33;      // bits of where a bitstream is: a register's 32, plus a place of the library

  // A word of a program; word 0 says whose it is (db_csd_near_programs) and no operator gets it.
  typedef struct packed {
    logic [NEAR_WORDS_LOG2-1:0] addr;
    logic [31:0]                data;
  } near_param_t;

  // Words of the longest program, log2: as many as two Filters with a Grep behind each have, at most 256.
  function automatic int near_words_log2(input int cells);
    int log2;
    log2 = 1 + $clog2(4 + 4 * NEAR_PREDICATES + NEAR_COLUMNS + 5 * cells);
    return log2 < NEAR_WORDS_LOG2 ? log2 : NEAR_WORDS_LOG2;
  endfunction

  // Whose program it is that looks at a row, and which of its owner's.
  typedef struct packed {
    logic [PLACE_W-1:0]            place;
    logic [NEAR_PROGRAMS_LOG2-1:0] number;
  } near_owner_t;

  // Beside a row, of the media's data or of an operator's.
  typedef struct packed {
    logic        first;         // of the packet
    logic        last;
    logic [6:0]  bytes;         // valid bytes: the first so many; fewer than all only with last, 0 of nothing
    logic [15:0] phase;         // of the command, on each row of the media's: CDW15, bits 31:16; else 0
    near_owner_t owner;         // likewise
  } near_row_t;

  // A word of a result.
  typedef struct packed {
    logic         last;         // of the packet's result
    logic [127:0] data;
  } near_word_t;

  // Where a packet's rows go, slots being bits: through `slots`, from `first`, which gets them, to `last`, which gives the
  // result. Nothing: the rows themselves are the result, or there is none.
  localparam int NEAR_SLOTS_MOST = 8;
  localparam logic [3:0]  NEAR_EXCHANGED = 4'hf;  // in place of a slot's operator: it can be exchanged
  localparam logic [15:0] NEAR_IN_SLOTS  = 16'd1 << NEAR_GREP | 16'd1 << NEAR_AGGREGATE | 16'd1 << NEAR_FILTER |
                                         16'd1 << NEAR_CSV;
  localparam logic [15:0] NEAR_ROWS      = 16'd1 << NEAR_GREP | 16'd1 << NEAR_FILTER;  // may give rows
  typedef struct packed {
    logic                       none;    // there is no such program, or the command looks at more than it takes
    logic                       absent;  // an operator of it is in no slot
    logic [NEAR_SLOTS_MOST-1:0] slots;
    logic [NEAR_SLOTS_MOST-1:0] first;
    logic [NEAR_SLOTS_MOST-1:0] last;
  } near_chain_t;

  // How many slots a parameter SLOTS has: a hexadecimal digit each, from the right, the operator in it.
  function automatic int near_slot_count(input logic [31:0] slots);
    int count;
    count = 0;
    for (int s = 0; s < NEAR_SLOTS_MOST; s++) if (slots[4*s +: 4] != '0) count = s + 1;
    return count;
  endfunction

  // Operators that there are, by number: those in slots, Hash and Crypt.
  function automatic logic [15:0] near_operators(input logic [31:0] slots);
    logic [15:0] there;
    there = 16'd1 << NEAR_HASH | 16'd1 << NEAR_CRYPT;
    for (int s = 0; s < near_slot_count(slots); s++) begin
      there |= slots[4*s +: 4] == NEAR_EXCHANGED ? NEAR_IN_SLOTS : 16'd1 << slots[4*s +: 4];
    end
    return there;
  endfunction

endpackage
