// SPDX-License-Identifier: Apache-2.0
// What the controller says of itself: whether it rests, and statistics.
package db_ssd_stat_pkg;
  import db_ssd_pkg::*;

  // ---- what keeps the controller from being idle
  typedef struct packed {
    logic sq;                     // submission queues have entries to request, or change
    logic sqe;                    // an entry waits for decode
    logic decode;
    logic admin_sqe;
    logic aborting;               // commands are being aborted, or looked for
  } front_busy_t;

  typedef struct packed {
    logic slot_completion;
    logic admin_completion;
    logic finished;
    logic cq;
    logic error_log;
    logic coalesce;
    logic msix;
  } completion_busy_t;

  typedef struct packed {
    logic             link_request;       // streams of the PCIe block
    logic             link_answer;
    logic             link_completion;
    logic             reg_access;
    logic             dma;
    front_busy_t      front;
    logic             read_engine;
    logic             write_engine;
    completion_busy_t completion;
    logic             media_cmd;
    logic             cpu;
    logic             fw_post;
    logic             queue_ctx;
    logic             operators;
    logic             reset;              // one is asked for, or under way
  } busy_t;

  // Nothing is outstanding at the host or at the media.
  typedef struct packed {
    logic dma;
    logic read_engine;
    logic write_engine;
    logic media;
  } quiet_t;

  // ---- a pulse for each stage of a command
  typedef struct packed {
    logic             valid;
    logic [QID_W-1:0] qid;
    logic [15:0]      tail;
  } stat_doorbell_t;

  typedef struct packed {
    logic             valid;      // entries are requested
    logic [QID_W-1:0] qid;
    logic [15:0]      index;
    logic [6:0]       count;
  } stat_fetch_t;

  typedef struct packed {
    logic              valid;     // an I/O entry became a command
    logic [SLOT_W-1:0] slot;
    logic [QID_W-1:0]  sqid;
    logic [15:0]       cid;
  } stat_decode_t;

  typedef struct packed {
    logic              valid;
    logic [SLOT_W-1:0] slot;
  } stat_slot_t;

  typedef struct packed {
    logic        valid;
    logic [15:0] vector;
  } stat_irq_t;

  typedef struct packed {
    stat_doorbell_t doorbell;
    stat_fetch_t    fetch;
    stat_decode_t   decode;
    stat_slot_t     data;         // the command's data has been moved
    stat_slot_t     cqe;          // its completion queue entry left
    stat_irq_t      irq;
  } stat_t;

  // Who waits for whom in this cycle, and what happens that should not; the lowest bit is counter 0.
  typedef struct packed {
    logic late_completion;        // 6 a PCIe completion came that no request waits for, and was dropped
    logic write_for_media;        // 5 the write engine for the media to take a row
    logic write_for_host;         // 4 ... for the host's data
    logic segments_for_writer;    // 3 segments for the writer of host memory
    logic rows_for_writer;        // 2 rows of the media for it
    logic read_for_media;         // 1 the read engine for rows of the media
    logic all_for_link;           // 0 everybody for the PCIe block
  } stall_t;

endpackage
