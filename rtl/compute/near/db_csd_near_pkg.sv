// SPDX-License-Identifier: Apache-2.0
// What passes between the blocks of near-storage commands: parameters, rows, words of a result. An operator of these is
// a module with the ports of db_csd_near_grep.
//
//   parameters  a word a cycle, while no packet is inside
//   rows        of the media's data, a packet a command: a row has DATA_W / 8 bytes, the last of a packet 1 to so many
//   words       16 bytes of the result, byte k in bits 8k+7:8k; one has `last`, the last one of each packet. An operator
//               that gives data gives rows instead, as db_csd_near_filter
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
  localparam int NEAR_PREDICATES = 4;  // of a Filter, at most
  localparam int NEAR_COLUMNS = 4;  // that it chooses, at most
  localparam int NEAR_RECORD_MOST = 1024;  // bytes of its record
  localparam int NEAR_CSV_WHOLE = 12;  // digits of a Csv's number before its point, at most
  localparam int NEAR_CSV_DECIMALS = 6;  // ... and behind it
  // ---- end of what is made

  localparam int NEAR_OPERATORS  = 6;  // 1 to so many
  localparam int NEAR_WORDS_LOG2 = 8;  // words of a program, as the hardware has it

  // A word of a program; word 0 says whose it is (db_csd_near_programs) and no operator gets it.
  typedef struct packed {
    logic [NEAR_WORDS_LOG2-1:0] addr;
    logic [31:0]                data;
  } near_param_t;

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

endpackage
