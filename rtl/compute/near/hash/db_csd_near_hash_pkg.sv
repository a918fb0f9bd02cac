// SPDX-License-Identifier: Apache-2.0
// Messages of SHA-256 (db_csd_near_hash), and what of them is to be hashed.
package db_csd_near_hash_pkg;
  import db_csd_near_pkg::*, db_ssd_near_pkg::*;

  localparam int MESSAGES_LOG2 = 2;                                       // of a program
  localparam int MESSAGE_W     = $bits(near_owner_t) + MESSAGES_LOG2;
  localparam int TOTAL_W       = 48;                                      // bytes of a message
  localparam int BLOCK_BYTES   = 64;
  localparam int BLOCK_LOG     = 6;

  typedef logic [MESSAGE_W-1:0] message_t;  // near_owner_t, and which of the program's

  // Rows in a core's buffer.
  typedef struct packed {
    message_t                message;
    logic                    starts;  // the message begins with them
    logic                    ends;    // ... and ends: padding follows
    logic [NEAR_BYTES_W-1:0] bytes;   // of them that are to be hashed; none: the rows are only dropped
    logic [16:0]             rows;
    logic [TOTAL_W-1:0]      total;   // bytes of the message up to and with these
  } hash_job_t;

endpackage
