// SPDX-License-Identifier: Apache-2.0
// What the parts of db_ssd_cq share: the engine's state, and what is kept of a completion queue.
package db_ssd_cq_pkg;

  typedef enum logic [2:0] {
    ST_INIT,    // after reset
    ST_IDLE,    // a completion is taken, its submission queue looked up
    ST_CQ,      // its completion queue is looked up
    ST_POST,    // its entry is offered
    ST_PARK,    // the queue is full
    ST_IRQ      // its interrupt is requested
  } cq_state_e;

  typedef struct packed {
    logic [51:0] base;    // host address / 4096
    logic [15:0] size;    // entries - 1
    logic [15:0] vector;
    logic        ien;     // interrupts enabled
  } cq_ctx_t;

  typedef struct packed {
    logic        phase;
    logic [15:0] index;
  } cq_tail_t;

endpackage
