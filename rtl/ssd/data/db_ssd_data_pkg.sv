// SPDX-License-Identifier: Apache-2.0
// Types between the blocks of the data path (rtl/ssd/data), and the statuses that it gives.
package db_ssd_data_pkg;
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_op_pkg::*, db_ssd_pkg::*;

  // Which piece of a command goes to an engine, if db_ssd_order cuts it: one behind another, with others between them.
  typedef struct packed {
    logic [PLACE_W-1:0] place;      // of its function, of which no other command is under way in pieces
    logic              later;       // not the first
    logic              more;        // not the last: the command has not ended with it
  } piece_t;

  // ... as the media sees it: without the host's side.
  typedef struct packed {
    piece_t            piece;
    op_desc_t          desc;
    logic [SLOT_W-1:0] slot;
    logic              fua;
    logic              lba4k;
    logic [63:0]       media_addr;
    logic [63:0]       ns_blocks;
    logic [31:0]       bytes;
  } exec_cmd_t;

  function automatic exec_cmd_t exec_cmd(input cmd_t c, input piece_t piece);
    return '{piece: piece, desc: c.desc, slot: c.slot, fua: c.fua, lba4k: c.lba4k, media_addr: c.media_addr,
             ns_blocks: c.ns_blocks, bytes: c.bytes};
  endfunction

  // A step of the write engine, done in order: a burst of a Write, a whole Compare, or a media command. One of `write`,
  // `compare`, `media` is set.
  typedef struct packed {
    logic              write;
    logic              compare;
    logic              media;   // Flush, Write Zeroes, Dataset Management, end of a Write with FUA: db_ssd_write_issue
                                // shows the command
    logic              last;    // of the command
    logic              fua;     // Write: its flush follows and completes it
    logic [2:0]        blocks;  // Write: size of the burst in 512 bytes, less 1
    logic [SLOT_W-1:0] slot;
  } write_item_t;

  // Number of the last row of a burst of so many times 512 bytes, less 1.
  function automatic logic [7:0] last_row(input logic [2:0] blocks, input int data_w);
    return 8'((32'(blocks) + 32'd1) * (4096 / data_w) - 32'd1);
  endfunction

  // A write burst whose data is whole, until its response comes.
  typedef struct packed {
    logic              last;    // of the command
    logic              fua;
    logic [SLOT_W-1:0] slot;
    status_t           status;  // of the host's data, as far as it is known here
  } write_burst_t;

  // What the doer of an item says back to db_ssd_write_turn.
  typedef struct packed {
    logic row_ready;            // it takes a row of the host's data
    logic item_done;            // pulse: the next item
    logic packet_end;           // pulse: the last row of a packet of the host's data has gone
  } write_turn_t;

  // What the data path says of itself. idle: nothing is in the engine; quiet: the media owes it nothing; paused: it was
  // told to pause, and what it had begun has ended.
  typedef struct packed {
    logic read_idle;
    logic read_quiet;
    logic write_idle;
    logic write_quiet;
    logic write_paused;
  } data_state_t;

  // Data of the host could not be read.
  localparam status_t STATUS_NOT_HERE    = status(1'b0, SCT_GENERIC, SC_DATA_TRANSFER_ERROR);
  localparam status_t STATUS_WRITE_FAULT = status(1'b0, SCT_MEDIA, SC_WRITE_FAULT);
  localparam status_t STATUS_READ_ERROR  = status(1'b0, SCT_MEDIA, SC_READ_ERROR);
  localparam status_t STATUS_SIZE_LIMIT  = status(1'b1, SCT_SPECIFIC, SC_SIZE_LIMIT);
  localparam status_t STATUS_MISMATCH    = status(1'b0, SCT_MEDIA, SC_COMPARE_FAILED);

  // A media that is told ahead: ranges that a Dataset Management may have.
  localparam int RANGES_KEPT = int'(DSM_RANGES);

endpackage
