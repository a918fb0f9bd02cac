// SPDX-License-Identifier: Apache-2.0
// Types of the order of commands among functions (db_ssd_order).
package db_ssd_order_pkg;
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;

  localparam int COST_W = 12;           // of a command, in stretches of 512 bytes
  localparam int STEP_W = COST_W + 16;  // ... divided by a weight

  // Dataset Management: ranges of 16 bytes in a piece.
  localparam int PIECE_W = $clog2(16 * PIECE_RANGES);

  // A command that waits for its turn.
  typedef struct packed {
    logic [PLACE_W-1:0] place;      // its function
    logic [SLOT_W-1:0]  slot;
    logic               user_data;  // its segments say how much has been moved
    logic [COST_W-1:0]  cost;
    logic [STEP_W-1:0]  step;
    logic [DEADLINE_W-1:0] deadline;  // us from now, in which it should go; 0: none
  } order_entry_t;

endpackage
