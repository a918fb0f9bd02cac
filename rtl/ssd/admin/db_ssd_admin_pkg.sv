// SPDX-License-Identifier: Apache-2.0
// Types that travel between the blocks of the admin subsystem.
package db_ssd_admin_pkg;
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;

  // What the firmware can wait for: the bits of register EVENT, the first in bit 0 (tests/python/test_registers.py
  // compares them with regs/db_ssd_fw.rdl).
  typedef struct packed {
    logic media_warning;    // the media has a warning that it had not; stays until it is cleared
    logic abort_idle;       // no abort of I/O commands, or look for some, is in process
    logic host_quiet;       // no DMA is outstanding, and none will be while control.stop is on
    logic sq_idle;          // the selected submission queue has no command in flight
    logic drained;          // every I/O command that was requested is done; its entry may wait for a full queue
    logic queue_ctx_idle;   // no queue context waits to be taken
    logic completion_idle;  // no completion waits to be taken
    logic quiet;            // no DMA or media access is outstanding
    logic media_idle;       // neither a media command nor an access to a word on the media is in process
    logic copy_idle;        // the copy engine is idle
    logic timer;            // time_us has reached what the firmware asked for
    logic doorbell_err;     // a bad doorbell write; stays until it is cleared
    logic err;              // an error record of an I/O command waits
    logic flr;              // function-level reset in process
    logic nssr;             // subsystem reset asked for; stays
    logic en_fell;          // CC.EN went from 1 to 0; stays
    logic cc;               // CC was written; stays
    logic sqe;              // an admin submission queue entry is in the ring
  } event_t;

  // ... of a function.
  typedef struct packed {
    logic en_fell;            // CC.EN went from 1 to 0, or the function is no more: a pulse
    logic cc;                 // CC was written: a pulse
    logic flr;                // function-level reset in process
    logic enable;             // it is there
  } fn_event_t;

  // Events that stay in their register: pulses that set them.
  typedef struct packed {
    logic media_warning;
    logic doorbell_err;
    logic nssr;
    logic en_fell;
    logic cc;
  } event_set_t;

  // A copy between RAM and host memory.
  typedef enum logic [1:0] {COPY_PUT, COPY_ZERO, COPY_GET} copy_op_e;  // RAM to host, zeros to host, host to RAM
  typedef struct packed {
    copy_op_e        op;
    logic [FN_W-1:0] fn;
    logic [63:0]     host;     // bytes, dword aligned
    logic [17:0]     ram;      // words
    logic [10:0]     dwords;   // 1..1024 inside a page; of a get 1..16
  } copy_cmd_t;

  // An access to the RAM; read data a cycle later.
  typedef struct packed {
    logic [3:0]  we;           // bytes to write; 0 reads
    logic [17:0] addr;         // words
    logic [31:0] wdata;
  } ram_access_t;

  // An access to a register of the firmware.
  typedef struct packed {
    logic        wr;
    logic [8:0]  addr;         // bytes
    logic [31:0] wdata;
  } fw_access_t;

  // What the firmware starts: pulses. What they start stays on the ports beside them until the next one.
  typedef struct packed {
    logic sleep;
    logic turn;
    logic copy;
    logic completion;
    logic queue_ctx;
    logic media;
    logic store;
    logic abort_cmd;
    logic write_namespace;
  } start_t;

  // What an instance has.
  typedef struct packed {
    logic [7:0]  num_qp;
    logic [11:0] num_vec;
    logic [7:0]  num_ns;
    logic [51:0] media_pages;
    logic        uncorrectable;  // Write Uncorrectable
    logic        sgl;            // I/O commands may have SGLs
    logic [4:0]  memory;         // log2 of the bytes of a function's memory that is a namespace; 0: there is none
    logic        restarted;      // the processor was started again since power-on
    logic [4:0]  num_fn;         // functions
    logic [7:0]  vf_vec;         // vectors of a VF
    logic [8:0]  num_cmds;       // command slots that functions share; 0 where there is one
  } instance_t;

endpackage
