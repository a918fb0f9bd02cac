// SPDX-License-Identifier: Apache-2.0
// What the parts of db_ssd_sq share: the engine's state, which all of them follow, and what is kept of a queue.
package db_ssd_sq_pkg;

  typedef enum logic [2:0] {
    ST_INIT,      // after reset: every queue's memory is cleared
    ST_IDLE,
    ST_CTX,       // a queue is created or deleted
    ST_RETIRE,    // a command is over; what is kept of its queue is here
    ST_DOORBELL,  // a tail doorbell; the queue's context is here
    ST_AVAIL,     // a turn: how many entries are there
    ST_COUNT,     // ... how many this turn takes
    ST_GO         // ... they are requested
  } sq_state_e;

  typedef struct packed {
    logic [51:0] base;    // host address / 4096
    logic [15:0] size;    // entries - 1
    logic [1:0]  list;    // ready list that serves it: 0 urgent, 1 high, 2 medium, 3 low
  } sq_ctx_t;

  // How a queue stands: whether it has entries, where it waits for a turn, and its share of the slots.
  typedef struct packed {
    logic       listed;     // it has entries to request
    logic       in_own;     // it is in its class's list of queues below their guaranteed share; that may be stale
    logic       in_shared;  // ... in that of all queues that may have more
    logic       below;      // it has fewer commands than its guaranteed share
    logic       full;       // it has its largest share
    logic [8:0] cmds;       // commands requested and not over
  } sq_share_t;

endpackage
