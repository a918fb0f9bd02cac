// SPDX-License-Identifier: Apache-2.0
// What db_ssd_decode answers to an entry.
package db_ssd_decode_pkg;
  import db_nvme_pkg::*, db_ssd_op_pkg::*;

  localparam status_t OK            = status(1'b0, SCT_GENERIC, SC_SUCCESS);
  localparam status_t ABORTED       = status(1'b0, SCT_GENERIC, SC_ABORT_REQUESTED);
  localparam status_t INVALID_OPC   = status(1'b1, SCT_GENERIC, SC_INVALID_OPCODE);
  localparam status_t INVALID_FIELD = status(1'b1, SCT_GENERIC, SC_INVALID_FIELD);
  localparam status_t INVALID_NS    = status(1'b1, SCT_GENERIC, SC_INVALID_NS);
  localparam status_t NS_NOT_READY  = status(1'b0, SCT_GENERIC, SC_NS_NOT_READY);
  localparam status_t FORMATTING    = status(1'b0, SCT_GENERIC, SC_FORMAT_IN_PROGRESS);
  localparam status_t COME_AGAIN    = '{dnr: 1'b0, more: 1'b0, crd: 2'd1, sct: SCT_GENERIC, sc: SC_NS_NOT_READY};
  localparam status_t CONFLICT      = status(1'b1, SCT_GENERIC, SC_RESV_CONFLICT);
  localparam status_t PROTECTED     = status(1'b1, SCT_GENERIC, SC_NS_WRITE_PROTECTED);
  localparam status_t LBA_RANGE     = status(1'b1, SCT_GENERIC, SC_LBA_RANGE);
  localparam status_t ACCESS_DENIED = status(1'b1, SCT_MEDIA, SC_ACCESS_DENIED);
  localparam status_t TOO_MANY      = status(1'b1, SCT_SPECIFIC, SC_SIZE_LIMIT);
  localparam status_t OVERLAPS      = status(1'b1, SCT_SPECIFIC, SC_OVERLAPPING_IO_RANGE);
  localparam status_t BAD_COUNT     = status(1'b1, SCT_GENERIC, SC_SGL_INVALID_COUNT);

  // Neither engine has anything to do. deallocates: as its entry says, of a Dataset Management.
  function automatic logic no_work(input op_desc_t op, input logic deallocates);
    no_work = !op.read_engine && !op.firmware && (!op.write_engine || (op.ranges && !deallocates));
  endfunction

  // What the operation alone is refused for, of a namespace that is read-only or locked, or of all of them.
  function automatic logic op_refused(input op_desc_t op, input logic deallocates, input logic all,
                                      input logic read_only, input logic locked);
    op_refused = !op.known || (all && !op.any_namespace) || (op.user_data && locked) ||
                 (op.modifies && read_only && !no_work(op, deallocates));
  endfunction
endpackage
