// SPDX-License-Identifier: Apache-2.0
// AXI4 between a controller and the memory of a board: the requests and responses of rtl/axi/db_axi_types.svh, each with
// the id of its AW, B, AR or R. FUA is 0: memory without a cache.
`ifndef DB_BOARD_AXI_SVH
`define DB_BOARD_AXI_SVH
`include "db_axi_types.svh"

`define DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W) \
  struct packed { \
    logic                                aw_id; \
    `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W)  axi; \
  }

`define DB_BOARD_WRITE_RSP_T \
  struct packed { \
    logic                b_id; \
    `DB_AXI_WRITE_RSP_T  axi; \
  }

`define DB_BOARD_READ_REQ_T(ADDR_W) \
  struct packed { \
    logic                       ar_id; \
    `DB_AXI_READ_REQ_T(ADDR_W)  axi; \
  }

`define DB_BOARD_READ_RSP_T(DATA_W) \
  struct packed { \
    logic                       r_id; \
    `DB_AXI_READ_RSP_T(DATA_W)  axi; \
  }

`endif
