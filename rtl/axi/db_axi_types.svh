// SPDX-License-Identifier: Apache-2.0
// AXI4 between blocks: channels, requests and responses as packed structs. A module's parameters give their widths:
//
//   `include "db_axi_types.svh"
//   module db_reader #(
//     parameter int ADDR_W = 40,
//     parameter int DATA_W = 256,
//     localparam type axi_read_req_t = `DB_AXI_READ_REQ_T(ADDR_W),
//     localparam type axi_read_rsp_t = `DB_AXI_READ_RSP_T(DATA_W)
//   ) (
//     output axi_read_req_t m_axi_read_req,
//     input  axi_read_rsp_t m_axi_read_rsp
//   );
//
// Where no port has the type: typedef `DB_AXI_READ_REQ_T(ADDR_W) axi_read_req_t; in the body.
//
// A request is what the master drives, a response what the slave drives, valid and ready included. Reads and writes are
// apart, as in AXI. Bursts are INCR, a beat is a row of DATA_W bits, and there are no IDs: whoever joins masters, or
// makes the flat port of a top, adds them. In a master no part of a request depends combinationally on the response.
// Data is the lowest member, so that simulators find it at a word's edge.
`ifndef DB_AXI_TYPES_SVH
`define DB_AXI_TYPES_SVH

// Address of a burst, AR and AW; len: rows - 1; fua, of a read: what the slave has of it in a volatile cache it makes
// durable first.
`define DB_AXI_ADDR_T(ADDR_W) \
  struct packed { \
    logic                fua; \
    logic [(ADDR_W)-1:0] addr; \
    logic [7:0]          len; \
  }

`define DB_AXI_W_T(DATA_W) \
  struct packed { \
    logic                  last; \
    logic [(DATA_W)/8-1:0] strb; \
    logic [(DATA_W)-1:0]   data; \
  }

`define DB_AXI_R_T(DATA_W) \
  struct packed { \
    logic                last; \
    logic [1:0]          resp; \
    logic [(DATA_W)-1:0] data; \
  }

`define DB_AXI_READ_REQ_T(ADDR_W) \
  struct packed { \
    logic                   ar_valid; \
    `DB_AXI_ADDR_T(ADDR_W)  ar; \
    logic                   r_ready; \
  }

`define DB_AXI_READ_RSP_T(DATA_W) \
  struct packed { \
    logic                ar_ready; \
    logic                r_valid; \
    `DB_AXI_R_T(DATA_W)  r; \
  }

`define DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W) \
  struct packed { \
    logic                   aw_valid; \
    `DB_AXI_ADDR_T(ADDR_W)  aw; \
    logic                   b_ready; \
    logic                   w_valid; \
    `DB_AXI_W_T(DATA_W)     w; \
  }

// b: the response, BRESP.
// aw_held: who stands between keeps the address on AW back (db_axi_page_lock), and so must the master its rows. Else they go
// whether or not the address has been taken: a slave may wait for W before it takes AW.
`define DB_AXI_WRITE_RSP_T \
  struct packed { \
    logic       aw_held; \
    logic       aw_ready; \
    logic       w_ready; \
    logic       b_valid; \
    logic [1:0] b; \
  }

`endif
