// SPDX-License-Identifier: Apache-2.0
// Types that travel between the blocks of the SSD controller. Widths are the largest that any configuration
// uses; a block's own parameters say how much of them is used.
package db_ssd_pkg;
  import db_nvme_pkg::*, db_pcie_fn_pkg::*, db_ssd_op_pkg::*;

  // ---- made by facts/generate.py from facts/doorbell.yaml: change it there
  localparam logic [15:0] BAR_BYTES = 16'h4000;
  localparam logic [15:0] BAR_REGISTERS = 16'h0000;  // of the controller
  localparam logic [15:0] BAR_DOORBELLS = 16'h1000;
  localparam logic [15:0] BAR_MSIX_TABLE = 16'h2000;
  localparam logic [15:0] BAR_MSIX_PBA = 16'h3000;
  localparam logic [15:0] DSM_RANGES = 16'h0010;  // of a Dataset Management, of db_vcsd
  localparam logic [15:0] MEDIA_FLUSH_SPARED = 16'h00ff;  // address of db_vcsd's flush: SSDs that may fail, a bit each
  localparam logic [15:0] MEDIA_FLUSH_ZEROED = 16'h0100;  // ... only to SSDs that have zeroed since the last one
  localparam logic [15:0] FROM_MEMORY = 16'h0004;  // CDW15 of a near-storage command: its data lie in memory
  localparam logic [15:0] FROM_SGL = 16'h0008;  // ... where the SGL descriptor says that is there
  localparam logic [15:0] STORE_NSID = 16'hff00;  // ... of one that stores: in which namespace; 0: in its own
  // ---- end of what is made

  /// Number of a queue: first the admin queues of all functions, then the I/O queues. With one function these are the
  /// host's queue identifiers.
  localparam int QID_W  = 8;
  localparam int ADMIN_PER_FN = 8;  // several functions: admin commands that one has inside at most
  localparam int SLOT_W = 8;   // command slot: an I/O command from decode to completion
  localparam int PIECE_RANGES = 4;  // of Dataset Management that db_ssd_order gives an engine at once, at most
  localparam int NEAR_PROGRAMS_LOG2 = 2;  // programs of near-storage commands of a function
  localparam int ABORT_WATCHES = 4;  // Aborts at once of commands that their queues hold

  // Whether a queue is an admin queue: those of so many functions are the first.
  function automatic logic is_admin_queue(input logic [QID_W-1:0] number, input int num_fn);
    return num_fn == 1 ? number == '0 : number < QID_W'(num_fn);
  endfunction

  // A command after decode: checked, and with byte addresses on the media.
  typedef struct packed {
    op_desc_t          desc;
    logic [FN_W-1:0]   fn;
    logic [SLOT_W-1:0] slot;
    logic              fua;         // what is written is durable before completion, what is read before it is read
    logic              lba4k;       // LBA size: 0 = 512 bytes, 1 = 4096 bytes
    logic [63:0]       media_addr;  // bytes; DSM: of the namespace's first block; memory: in memory
    logic [63:0]       ns_blocks;   // size of the namespace (DSM checks its ranges against it); computes: near_args_t
    logic [31:0]       bytes;       // READ, WRITE, COMPARE: of data; DSM: of range list; else: of media
    logic              sgl;         // its data pointer is an SGL descriptor
    logic [63:0]       prp1;
    logic [63:0]       prp2;
  } cmd_t;

  // Completion of an I/O command, by slot.
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    status_t           status;
  } slot_completion_t;

  // Completion in full, what a completion queue entry is made from. io, from the firmware alone: of the command in slot
  // `sqid`, whose context says the rest.
  typedef struct packed {
    logic             io;
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    status_t          status;
    logic [31:0]      dw0;
  } completion_t;

  // Queue context write, from the firmware (Create / Delete I/O queue, admin queues).
  typedef enum logic {QUEUE_SQ, QUEUE_CQ} queue_kind_e;
  typedef struct packed {
    queue_kind_e         kind;
    logic             valid;    // 1 create, 0 delete
    logic             watch;    // SQ: neither; abort the command `size` among its entries. valid: no longer
    logic [QID_W-1:0] qid;
    logic [63:0]      base;     // host address, page aligned
    logic [15:0]      size;     // entries - 1
    logic [QID_W-1:0] cqid;     // SQ: the completion queue it reports to
    logic [1:0]       prio;     // SQ: 0 urgent, 1 high, 2 medium, 3 low; watch: which one
    logic [15:0]      vector;   // CQ: MSI-X vector
    logic             ien;      // CQ: interrupts enabled
    logic [FN_W-1:0]  fn;       // SQ: whose it is
    logic [QID_W-1:0] host_qid; // SQ: and how its host calls it
  } queue_ctx_t;

  // Command to the media beside AXI4, which has no word for it.
  typedef enum logic [1:0] {MEDIA_FLUSH, MEDIA_ZERO, MEDIA_UNCORRECTABLE} media_op_e;

  // What stays of an I/O command in its slot until it completes, for its completion, error log and counters.
  typedef struct packed {
    op_desc_t         desc;
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [31:0]      nsid;
    logic [63:0]      slba;     // of a command that has one (desc.has_lba); else 0
    logic [31:0]      bytes;    // as in cmd_t
  } slot_ctx_t;

  // ---- between the blocks

  // A write to a doorbell register.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [8:0]       qid;      // as written: may be one that does not exist
    logic [QID_W-1:0] number;   // of the queue
    logic             exists;   // the function may have such a queue
    logic [15:0]      value;    // new tail or head
  } doorbell_t;

  // A doorbell write that the specification calls an error, for the error log and event.
  typedef struct packed {
    logic             kind;     // 0 no such queue, 1 a value that is not in the queue
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] qid;      // as its host calls it
  } doorbell_err_t;

  // What travels with a request for submission queue entries, and comes back with them.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      index;    // of the first entry in its queue
    logic [15:0]      size;     // of the queue: entries - 1
  } fetch_user_t;

  // A submission queue entry as it was fetched.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [QID_W-1:0] sqid;
    logic [15:0]      head;     // of its queue, behind this entry
    logic             err;      // it could not be read: sqe means nothing
    sqe_t             sqe;
  } fetched_sqe_t;

  // An admin command on its way to the firmware; with several functions also an I/O command that is its work
  // (desc.firmware).
  typedef struct packed {
    logic              io;        // ... one of these: it keeps its slot until the firmware's completion
    logic [SLOT_W-1:0] slot;
    logic [QID_W-1:0]  sqid;
    logic [FN_W-1:0]  fn;
    sqe_t             sqe;
  } admin_sqe_t;

  // What a completion needs of its submission queue.
  typedef struct packed {
    logic             valid;    // it exists; a completion of one that does not is dropped
    logic [QID_W-1:0] cqid;
    logic [15:0]      head;
    logic [QID_W-1:0] host_qid; // as its host calls it
  } sq_lookup_t;

  // A completion queue entry on its way to the host.
  typedef struct packed {
    logic [FN_W-1:0]  fn;
    logic [63:0]      addr;
    cqe_t             cqe;
  } cqe_post_t;

  // A finished command on its way to its completion queue.
  typedef struct packed {
    logic              io;      // it has a slot; else an admin command
    logic              drop;    // it was aborted: no entry is made for it
    logic [SLOT_W-1:0] slot;
    completion_t       completion;
  } finished_t;

  // A command is over: its completion queue entry is on its way, or dropped. io 0, and not an admin queue's: the entry
  // of an aborted command, which still has its slot.
  typedef struct packed {
    logic              io;      // it has a slot; else an admin command
    logic [SLOT_W-1:0] slot;
    logic [QID_W-1:0]  sqid;
  } retired_t;

  // An interrupt request.
  typedef struct packed {
    logic [15:0]      vector;   // among those of all functions: it says whose it is
    logic             admin;    // of the admin queue: not to be coalesced
  } irq_t;

  // What a segment of host memory carries in the read engine: who it belongs to, and how its PRPs ended (last segment).
  // memory: its data come from memory, so the status of its data pointer is elsewhere (db_ssd_read_finish).
  typedef struct packed {
    status_t           status;
    logic              memory;
    logic [SLOT_W-1:0] slot;
  } segment_user_t;

  // A word of the firmware's own on the media: at the start of a line of 64 bytes, the rest of which is nobody's.
  typedef struct packed {
    logic        write;
    logic [63:0] addr;          // bytes, a multiple of 64
    logic [31:0] data;
  } store_cmd_t;

  // A command that will need the media, for one that wants to know ahead (db_ssd_ahead). What it does when s_come has
  // said its slot: a Read and Verify read with id 0 and a Write writes, each in the order of s_come; a Compare reads with
  // id 1. A Flush and what has to be zeroed the media does by itself. What a Write or one of these came to, the media says
  // later.
  typedef enum logic [2:0] {AHEAD_READ, AHEAD_COMPARE, AHEAD_WRITE, AHEAD_FLUSH, AHEAD_ZERO} ahead_kind_e;
  typedef struct packed {
    logic [SLOT_W-1:0] slot;
    ahead_kind_e kind;
    logic        fua;           // Write, zero: it has ended when it is durable
    logic [63:0] addr;          // bytes; Flush: of its namespace
    logic [63:0] bytes;         // ... 0: of all
  } ahead_t;

  // A command to the media beside AXI4; it is answered by a pulse with an error flag.
  typedef struct packed {
    media_op_e   op;
    logic [63:0] addr;          // bytes
    logic [63:0] bytes;
  } media_cmd_t;

  // A command will send a packet through a tap; read and write are pulses, before the packet's first row.
  typedef struct packed {
    logic      read;            // data of the media on its way to the host
    logic      write;           // data of the host on its way to the media, to Compare, or a list of ranges
    logic      lba4k;           // block size: 0 = 512, 1 = 4096 bytes
    logic [NEAR_PROGRAMS_LOG2-1:0] near_program;  // of a near-storage command: which of its function's
    slot_ctx_t ctx;
  } tap_cmd_t;

  // ---- from and to the firmware

  // Arbitration (Base 2.0, 3.4.4): burst 2^n entries (7: no limit), weights - 1, weighted round robin on.
  typedef struct packed {
    logic       wrr;
    logic [2:0] burst;
    logic [7:0] weight_low;
    logic [7:0] weight_medium;
    logic [7:0] weight_high;
  } arb_cfg_t;

  // Interrupt coalescing (Base 2.0, feature 08h).
  typedef struct packed {
    logic [7:0] threshold;      // requests - 1 that make an interrupt; 0: each does
    logic [7:0] time_100us;     // 0: no waiting
  } coalesce_cfg_t;

  // Which I/O commands are to be aborted, or looked for (db_ssd_abort).
  typedef struct packed {
    logic             find;     // look whether an engine has one of namespace `key`, or of function `key`; else abort
    logic             by_fn;    // ... all of function `key`
    logic             by_ns;    // ... of these, the first that is found of namespace `sqid`
    logic             by_cid;   // ... of queue sqid, the one whose CID is `key`; else all
    logic [QID_W-1:0] sqid;
    logic [15:0]      key;
  } abort_cmd_t;

  // There was one; by_ns: this one.
  typedef struct packed {
    logic             found;
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
  } abort_found_t;

  // One vector's "coalescing disabled" (feature 09h).
  typedef struct packed {
    logic [15:0] vector;
    logic        exempt;
  } int_vec_cfg_t;

  // A namespace as decode needs it. Its gate: commands pass, or end at once with Namespace Not Ready, with Format In
  // Progress, or with Namespace Not Ready and the advice to come again after the first retry delay time.
  typedef enum logic [1:0] {NS_OPEN, NS_CLOSED, NS_FORMATTING, NS_LATER} ns_gate_e;
  // Its command set: of a memory, base is an address and blocks are bytes; of programs, base is that memory's.
  typedef enum logic [1:0] {SET_NVM, SET_MEMORY, SET_PROGRAMS} ns_set_e;
  typedef struct packed {
    logic        valid;         // attached
    logic [MAX_FN-1:0] attached; // ... with several functions: to which
    logic [MAX_FN-1:0] barred;   // ... which may not write, as another host has a reservation; may change at any time
    logic        exclusive;      // ... nor read
    ns_gate_e    gate;
    logic        read_only;     // write protected: commands that would change its blocks are refused
    logic        lba4k;         // block size: 0 = 512, 1 = 4096 bytes
    ns_set_e     set;
    logic [63:0] base;          // on the media, bytes
    logic [63:0] blocks;        // size
  } namespace_t;
  typedef struct packed {
    logic [7:0] index;          // NSID - 1
    namespace_t ns;
  } ns_entry_t;

  // The host's registers as the firmware sees them, of the PF; the two events are pulses.
  typedef struct packed {
    logic [31:0] cc;
    logic [31:0] aqa;
    logic [63:0] asq;
    logic [63:0] acq;
    logic        cc_written;
    logic        subsystem_reset;   // NSSR was written with "NVMe"
  } host_regs_t;

  // ... of a VF: the firmware looks at a word of them.
  typedef struct packed {
    logic [PLACE_W-1:0] place;      // of the function, 1..
    logic [2:0]         word;       // CC, AQA, ASQ and its upper half, ACQ and its upper half
  } vf_look_t;

  // What the firmware shows in CSTS; nssro is a pulse that sets it.
  typedef struct packed {
    logic       rdy;
    logic       cfs;
    logic [1:0] shst;
    logic       nssro;
  } csts_t;

  // Control of the whole controller; the resets are pulses.
  typedef struct packed {
    logic run;                  // submission queues may be fetched
    logic stop;                 // start no new DMA
    logic ctrl_rst;             // reset all but processor and BAR
    logic [MAX_FN-1:0] flr_rst; // reset a function's registers and its part of the MSI-X table
    logic [MAX_FN-1:0] off;     // a function sends nothing
  } control_t;

  // An I/O command that failed, for the error log.
  typedef struct packed {
    logic [QID_W-1:0] sqid;
    logic [15:0]      cid;
    logic [14:0]      status;   // status_t without CRD's place above: as in CQE dword 3, bits 31:17
    logic [31:0]      nsid;
    logic [63:0]      lba;
  } error_log_t;

  // Counters of the SMART / Health log: data in sectors of 512 bytes, commands, media errors. Since power-on: 4 years of
  // 16 GB/s go into them.
  localparam int SMART_W = 52;
  typedef struct packed {
    logic [SMART_W-1:0] read_sectors;
    logic [SMART_W-1:0] write_sectors;
    logic [SMART_W-1:0] read_cmds;
    logic [SMART_W-1:0] write_cmds;
    logic [SMART_W-1:0] media_errors;
  } smart_counters_t;

  // The firmware's extension bus (0x9000_0000): read data in the same cycle, zeros if there is nothing.
  typedef struct packed {
    logic        req;
    logic        req_first;     // ... of an address below 100h, those of the operators
    logic        wr;
    logic [11:0] addr;          // bytes; there a cycle before req, as is wdata
    logic [31:0] wdata;
  } ext_bus_t;

  // ---- the PCIe block's settings
  typedef struct packed {
    logic [1:0] max_payload;      // 0: 128 bytes ... 3: 1024
    logic [2:0] max_read_req;     // 0: 128 bytes ... 5: 4096
    logic       intx_disable;     // of the PF
    // by function
    logic [MAX_FN-1:0] bus_master;
    logic [MAX_FN-1:0] msix_enable;
    logic [MAX_FN-1:0] msix_mask;
    logic [MAX_FN-1:0] flr;       // function-level reset in process
    logic [MAX_FN-1:0] enable;    // it is there
  } link_cfg_t;

  // Which I/O queues a function has: those with the numbers from before_first + 1 on.
  typedef struct packed {
    logic [PLACE_W-1:0] place;    // of the function
    logic [QID_W-1:0] before_first;
    logic [QID_W-1:0] count;
  } fn_queues_t;

  // What a function may have of what all share: turns in proportion to its weight, command slots; when its commands
  // should have gone to an engine.
  localparam int DEADLINE_W = 16;
  typedef struct packed {
    logic [PLACE_W-1:0] place;
    logic [7:0]         weight;   // 1..255
    logic [8:0]         least;    // slots that it always gets
    logic [8:0]         most;     // ... that it has at most, at least 1
    logic [DEADLINE_W-1:0] deadline;  // us; 0: none
  } fn_share_t;

  // ... a limit of its commands a second, or of its bytes (db_ssd_sq_fn_bucket). 0: none.
  typedef struct packed {
    logic [PLACE_W-1:0] place;
    logic               bytes;
    logic [27:0]        rate;     // in a microsecond: commands / 2^20, or bytes / 2^12
    logic [27:0]        burst;    // commands, below 2^17; or bytes
  } fn_limit_t;

  // Either, from the firmware: pulses.
  typedef struct packed {
    logic      share_valid;
    fn_share_t share;
    logic      limit_valid;
    fn_limit_t limit;
  } fn_set_t;

  // Data of a function that is moved between its host and the media.
  localparam int MOVED_W = 22;
  typedef struct packed {
    logic [FN_W-1:0]    fn;
    logic [MOVED_W-1:0] bytes;
  } fn_moved_t;

endpackage
