// SPDX-License-Identifier: Apache-2.0
// Types that travel between the blocks of the SSD controller. Widths are the largest that any configuration
// uses; a block's own parameters say how much of them is used.
package db_ssd_pkg;
  import db_nvme_pkg::*;

  localparam int FN_W   = 8;   // PCIe function number
  localparam int QID_W  = 8;   // queue identifier: 0 is the admin queue
  localparam int SLOT_W = 8;   // command slot: an I/O command from decode to completion

  typedef enum logic [3:0] {
    CMD_READ, CMD_VERIFY, CMD_WRITE, CMD_COMPARE, CMD_DSM, CMD_ZERO, CMD_FLUSH
  } cmd_e;

  // A command after decode: checked, and with byte addresses on the media.
  typedef struct packed {
    logic [FN_W-1:0]   fn;
    logic [SLOT_W-1:0] slot;
    cmd_e              op;
    logic              fua;         // Write, Write Zeroes: complete only when the media has made it durable
    logic              lba4k;       // LBA size: 0 = 512 bytes, 1 = 4096 bytes
    logic [63:0]       media_addr;  // bytes; DSM: of the namespace's first block
    logic [63:0]       ns_blocks;   // size of the namespace in blocks (DSM checks its ranges against it)
    logic [31:0]       bytes;       // READ, WRITE, COMPARE: of data; DSM: of range list; VERIFY, ZERO: of media
    logic [63:0]       prp1;
    logic [63:0]       prp2;
  } cmd_t;

  // Completion of an I/O command, by slot.
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    status_t           status;
  } slot_cpl_t;

  // Completion in full, what a completion queue entry is made from.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    status_t          status;
    logic [31:0]      dw0;
  } cpl_t;

  // Queue context write, from the firmware (Create / Delete I/O queue, admin queues).
  typedef enum logic {QC_SQ, QC_CQ} qc_kind_e;
  typedef struct packed {
    qc_kind_e         kind;
    logic             valid;    // 1 create, 0 delete
    logic [QID_W-1:0] qid;
    logic [63:0]      base;     // host address, page aligned
    logic [15:0]      size;     // entries - 1
    logic [QID_W-1:0] cqid;     // SQ: the completion queue it reports to
    logic [1:0]       prio;     // SQ: 0 urgent, 1 high, 2 medium, 3 low
    logic [15:0]      vector;   // CQ: MSI-X vector
    logic             ien;      // CQ: interrupts enabled
  } qctx_t;

  // Command to the media beside AXI4, which has no word for it.
  typedef enum logic {MEDIA_FLUSH, MEDIA_ZERO} media_op_e;

  // What stays of an I/O command in its slot until it completes, for its completion, error log and counters.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [7:0]       opcode;
    logic [31:0]      nsid;
    logic [63:0]      slba;     // of Read, Write, Compare, Write Zeroes, Verify; else 0
    logic [31:0]      bytes;    // as in cmd_t
  } slot_ctx_t;

endpackage
