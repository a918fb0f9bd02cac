// SPDX-License-Identifier: Apache-2.0
// The four PCIe streams (PG213) as structs. Their widths follow from DATA_W, so they are macros:
//
//   `include "db_pcie_types.svh"
//   module db_sender #(
//     parameter int DATA_W = 256,
//     localparam type rq_t = `DB_PCIE_RQ_T(DATA_W)
//   ) (
//     output logic m_rq_valid,
//     input  logic m_rq_ready,
//     output rq_t  m_rq
//   );
//
// Where no port has the type: typedef `DB_PCIE_RQ_T(DATA_W) rq_t; in the body. Fields are those of the AXI4-Stream. Data is
// the lowest member, so that simulators find it at a word's edge.
`ifndef DB_PCIE_TYPES_SVH
`define DB_PCIE_TYPES_SVH

`define DB_PCIE_STREAM_T(DATA_W, USER_W) \
  struct packed { \
    logic [(USER_W)-1:0]    tuser; \
    logic                   tlast; \
    logic [(DATA_W)/32-1:0] tkeep; \
    logic [(DATA_W)-1:0]    tdata; \
  }

`define DB_PCIE_RQ_T(DATA_W) `DB_PCIE_STREAM_T(DATA_W, db_pcie_pkg::rq_user_w(DATA_W))
`define DB_PCIE_RC_T(DATA_W) `DB_PCIE_STREAM_T(DATA_W, db_pcie_pkg::rc_user_w(DATA_W))
`define DB_PCIE_CQ_T(DATA_W) `DB_PCIE_STREAM_T(DATA_W, db_pcie_pkg::cq_user_w(DATA_W))
`define DB_PCIE_CC_T(DATA_W) `DB_PCIE_STREAM_T(DATA_W, db_pcie_pkg::cc_user_w(DATA_W))

`endif
