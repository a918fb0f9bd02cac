// SPDX-License-Identifier: Apache-2.0
// What the blocks of db_vcsd's media share: where an address is, whose a block command is.
package db_virt_pkg;
  localparam int SSD_W       = 3;   // bits of an SSD's index
  localparam int STRIPE_LOG2 = 17;  // log2 of a chunk's bytes

  typedef enum logic [1:0] {
    PLACE_SSD,
    PLACE_CARD,   ///< the card's own memory
    PLACE_NONE    ///< nowhere: no SSD has it, or it is not there, or has blocks that are too large for this access
  } place_e;

  /// Where a burst is.
  typedef struct packed {
    place_e           kind;
    logic [SSD_W-1:0] ssd;
    logic [63:0]      lba;     ///< in blocks of the SSD
    logic [31:0]      blocks;
  } place_t;

  /// Where a granule of the medium is: on 2**log2 SSDs from `ssd` on, in `part` of as many of their granule `place`.
  typedef struct packed {
    logic             valid;   ///< it is somewhere
    logic [1:0]       log2;
    logic [2:0]       part;
    logic [SSD_W-1:0] ssd;     ///< a multiple of 2**log2
    logic [15:0]      place;
  } extent_t;

  // Who looks it up; LOOK_COMMAND shares its copy with the firmware.
  localparam int LOOK_READ    = 0;
  localparam int LOOK_WRITE   = 1;
  localparam int LOOK_COMMAND = 2;  // db_virt_command and db_virt_zero, in turn
  localparam int LOOK_AHEAD   = 3;
  localparam int LOOKERS      = 4;

  // What the firmware asks of the table (regs/db_vcsd.rdl); 3: find.
  localparam logic [1:0] EXTENT_LOOK    = 2'd0;
  localparam logic [1:0] EXTENT_RELEASE = 2'd1;
  localparam logic [1:0] EXTENT_PUT     = 2'd2;

  /// What is known of an SSD.
  typedef struct packed {
    logic       present;       ///< the host says so
    logic       up;            ///< its queues work
    logic       dead;          ///< it has failed for good
    logic [3:0] lba_shift;     ///< log2 of a block's bytes, while up or dead
  } ssd_state_t;

  // A part of a command that reads: what an SSD is asked for with one block command.
  typedef struct packed {
    logic [db_ssd_pkg::SLOT_W-1:0] slot;
    logic        alone;        ///< its rows are not taken in turn with those of others
    logic        tells;        ///< with it the command has come on this SSD
    logic [8:0]  len512;        ///< its size in 512 bytes, and in blocks
    logic [8:0]  blocks;
    logic [63:0] lba;
  } want_t;

  // ... of one that writes: the room that it needs at an SSD. Or a flush, or a Write Zeroes.
  typedef struct packed {
    logic [db_ssd_pkg::SLOT_W-1:0] slot;
    logic        flush;        ///< it needs no room: a flush, or
    logic        zero;         ///< ... a Write Zeroes
    logic        over;         ///< it does not wait for room
    logic        tells;        ///< with it the command has its room on this SSD
    logic [8:0]  len512;
    logic [5:0]  bursts;       ///< so many pages it is in
  } room_t;
  // What an SSD does without data: a flush or a Write Zeroes.
  typedef struct packed {
    logic [db_ssd_pkg::SLOT_W-1:0] slot;
    logic        zero;
    logic [63:0] lba;          ///< of a Write Zeroes, in blocks of the SSD
    logic [31:0] blocks;
  } alone_t;
  localparam int BURSTS_OUT = 288;  // that an SSD is given at once; those of 1 MiB are fewer

  // A command goes: what becomes of its bursts.
  localparam int MAX_SSD = 8;
  localparam int LET_W   = 21;
  typedef struct packed {
    logic               compare;   ///< they come with id 1
    logic [MAX_SSD-1:0] none;      ///< of these SSDs nothing is to be had
    logic [LET_W-1:0]   len512;    ///< their size in 512 bytes, but what is the card's own
  } let_t;

  // What is known of a command that waits.
  typedef struct packed {
    logic [MAX_SSD-1:0] mask;      ///< the SSDs that are asked
    let_t               let_go;
  } known_t;

  // Whose a block command is: bits 1:0 of its tag. Above them, of TAG_WRITE, the command's slot.
  localparam logic [1:0] TAG_READ  = 2'd0;
  localparam logic [1:0] TAG_WRITE = 2'd1;
  localparam logic [1:0] TAG_MEDIA = 2'd2;
  function automatic logic [15:0] write_tag(input logic [db_ssd_pkg::SLOT_W-1:0] slot);
    return 16'({slot, TAG_WRITE});
  endfunction
  /// Whether an access (its first byte, its bytes) is of whole blocks.
  function automatic logic whole(input logic [3:0] lba_shift, input logic [11:9] addr, input logic [11:9] bytes);
    logic [11:9] less;  // bits below a block
    less = 3'((4'd1 << (lba_shift - 4'd9)) - 4'd1);
    return ((addr | bytes) & less) == '0;
  endfunction
endpackage
