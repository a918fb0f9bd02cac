// SPDX-License-Identifier: Apache-2.0
// Who reads host memory in the controller, with what share of tags and memory (db_pcie_endpoint); and who asks whether the
// command of a slot has been aborted (db_ssd_abort).
package db_ssd_link_pkg;
  import db_pcie_block_pkg::*;

  localparam int RD_DATA = 0;  // data of Write, Compare, Dataset Management
  localparam int RD_SQE  = 1;
  localparam int RD_PRPR = 2;  // PRP lists of the read engine
  localparam int RD_PRPW = 3;  // ... of the write engine
  localparam int RD_FW   = 4;
  localparam int RD_NEAR = 5;  // data of near-storage commands that lie in memory
  localparam int RD_LIST = 6;  // PRP lists of those
  localparam int RD_MOST = 7;
  localparam client_cfg_t [RD_MOST-1:0] RD_CLIENTS = {
    client_cfg_t'{tags_log2: 16'd2, ring_dw_log2: 16'd9,  chunk_bytes: 16'd256, has_user: 1'b0},  // RD_LIST
    client_cfg_t'{tags_log2: 16'd5, ring_dw_log2: 16'd12, chunk_bytes: 16'd512, has_user: 1'b0},  // RD_NEAR
    client_cfg_t'{tags_log2: 16'd1, ring_dw_log2: 16'd6,  chunk_bytes: 16'd128, has_user: 1'b0},  // RD_FW
    client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd9,  chunk_bytes: 16'd256, has_user: 1'b0},  // RD_PRPW
    client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd9,  chunk_bytes: 16'd256, has_user: 1'b0},  // RD_PRPR
    client_cfg_t'{tags_log2: 16'd3, ring_dw_log2: 16'd10, chunk_bytes: 16'd512, has_user: 1'b1},  // RD_SQE
    client_cfg_t'{tags_log2: 16'd6, ring_dw_log2: 16'd13, chunk_bytes: 16'd512, has_user: 1'b0}}; // RD_DATA
  localparam bit [RD_MOST-1:0] RD_OWNED = 7'b1101101;  // whose requests are a slot's

  localparam int ASK_DATA  = 0;
  localparam int ASK_PRPR  = 1;
  localparam int ASK_PRPW  = 2;
  localparam int ASK_WRITE = 3;  // 3 and 4: what goes to the host next, and behind that
  localparam int ASK_ITEM  = 5;
  localparam int ASK_AHEAD = 6;
  localparam int ASK_NEAR  = 7;
  localparam int ASK_LIST  = 8;
  localparam int ASK_MOST  = 9;
endpackage
