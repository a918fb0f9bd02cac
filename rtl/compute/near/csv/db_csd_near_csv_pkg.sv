// SPDX-License-Identifier: Apache-2.0
// What the parts of Csv say to each other.
package db_csd_near_csv_pkg;
  import db_csd_near_pkg::*;

  localparam int DIGITS = NEAR_CSV_WHOLE + NEAR_CSV_DECIMALS;  // of a number

  // A row on its way: behind a packet's last one comes another, fin, without a byte. first, fin: not without valid.
  typedef struct packed {
    logic valid, first, fin;
  } step_t;

  // A byte. All but `nibble` are only where it belongs to the field or ends it.
  typedef struct packed {
    logic       in;       // the field
    logic       ends;     // it: a separator, or a line end
    logic       digit;
    logic       point;
    logic       sign;
    logic [3:0] nibble;   // the lower one; of a sign bit 2: minus
  } mark_t;

  // A number, or none.
  typedef struct packed {
    logic                    there;
    logic                    minus;
    logic [DIGITS-1:0][3:0]  digits;  // the last one has the lowest weight; 0 where none is
  } number_t;

  // A number as one that compares as it does.
  typedef struct packed {
    logic                    there;
    logic [4*DIGITS:0]       key;     // highest bit: not minus; of one with minus the digits are turned
  } key_t;

endpackage
