// SPDX-License-Identifier: Apache-2.0
// Control side of the host: accesses to the drive, steps of bring-up and reasons of failure.
// docs/host.md ("Bring-up") has the same steps and reasons as tables; a test compares them.
package db_host_control_pkg;
  import db_pcie_pkg::*;

  // One dword access to the admin buffer and submission queue (db_host_admin_buf).
  typedef struct packed {
    logic        en;
    logic        we;
    logic [10:0] addr;   // dword: 0..1023 the buffer, from 1024 on the submission queue
    logic [31:0] wdata;
  } abuf_t;
  localparam logic [10:0] ABUF_SQ = 11'd1024;

  // ------------------------------------------------------------------ steps
  // db_host_pci and db_host_nvme go through theirs by counting, with the jumps that their code shows.
  typedef enum logic [5:0] {
    STEP_OFF        = 6'd0,   // not started, or no link
    STEP_VENDOR     = 6'd1,   // db_host_pci
    STEP_CLASS      = 6'd2,
    STEP_HEADER     = 6'd3,
    STEP_DECODE_OFF = 6'd4,
    STEP_BAR_ONES   = 6'd5,
    STEP_BAR_SIZE   = 6'd6,
    STEP_BAR_LOW    = 6'd7,
    STEP_BAR_HIGH   = 6'd8,
    STEP_BAR_CHECK  = 6'd9,
    STEP_CAP_FIRST  = 6'd10,
    STEP_CAP_NEXT   = 6'd11,
    STEP_DEV_CAP    = 6'd12,
    STEP_DEV_CTL    = 6'd13,
    STEP_COMMAND    = 6'd14,
    STEP_CAP_LO     = 6'd16,  // db_host_nvme
    STEP_CAP_HI     = 6'd17,
    STEP_DISABLE    = 6'd18,
    STEP_WAIT_OFF   = 6'd19,
    STEP_AQA        = 6'd20,
    STEP_ASQ_LO     = 6'd21,
    STEP_ASQ_HI     = 6'd22,
    STEP_ACQ_LO     = 6'd23,
    STEP_ACQ_HI     = 6'd24,
    STEP_ENABLE     = 6'd25,
    STEP_WAIT_ON    = 6'd26,
    STEP_ID_CTRL    = 6'd27,
    STEP_MDTS       = 6'd28,
    STEP_ONCS       = 6'd29,
    STEP_VWC        = 6'd30,
    STEP_ID_NS      = 6'd31,
    STEP_NSZE_LO    = 6'd32,
    STEP_NSZE_HI    = 6'd33,
    STEP_FLBAS      = 6'd34,
    STEP_LBAF       = 6'd35,
    STEP_QUEUES     = 6'd36,
    STEP_CREATE_CQ  = 6'd37,
    STEP_CREATE_SQ  = 6'd38,
    STEP_UP         = 6'd48,  // db_host_supervisor
    STEP_ABORT      = 6'd49,
    STEP_CHECK      = 6'd50
  } step_e;

  // ------------------------------------------------------------------ reasons
  typedef enum logic [4:0] {
    FAIL_NONE          = 5'd0,
    FAIL_NO_ANSWER     = 5'd1,
    FAIL_REFUSED       = 5'd2,
    FAIL_RETRY         = 5'd3,
    FAIL_CLASS         = 5'd4,
    FAIL_HEADER        = 5'd5,
    FAIL_BAR           = 5'd6,
    FAIL_BAR_PLACE     = 5'd7,
    FAIL_NO_PCIE_CAP   = 5'd8,
    FAIL_COMMAND_SET   = 5'd9,
    FAIL_PAGE_SIZE     = 5'd10,
    FAIL_NOT_READY     = 5'd11,
    FAIL_FATAL         = 5'd12,
    FAIL_ADMIN_TIMEOUT = 5'd13,
    FAIL_ADMIN_STATUS  = 5'd14,
    FAIL_METADATA      = 5'd15,
    FAIL_LBA_SIZE      = 5'd16,
    FAIL_NO_NAMESPACE  = 5'd17,
    FAIL_FEW_QUEUES    = 5'd18,
    FAIL_REMOVED       = 5'd19,
    FAIL_LATE          = 5'd20,
    FAIL_LINK          = 5'd21,
    FAIL_ASKED         = 5'd22,
    FAIL_DAMAGED       = 5'd23
  } fail_e;

  function automatic fail_e acc_fail(input acc_status_e s);
    unique case (s)
      ACC_GOOD:    return FAIL_NONE;
      ACC_REFUSED: return FAIL_REFUSED;
      ACC_RETRY:   return FAIL_RETRY;
      default:     return FAIL_NO_ANSWER;
    endcase
  endfunction

  // ------------------------------------------------------------------ NVMe
  localparam logic [23:0] REG_CAP_LO = 24'h00;
  localparam logic [23:0] REG_CAP_HI = 24'h04;
  localparam logic [23:0] REG_CC     = 24'h14;
  localparam logic [23:0] REG_CSTS   = 24'h1c;
  localparam logic [23:0] REG_AQA    = 24'h24;
  localparam logic [23:0] REG_ASQ_LO = 24'h28;
  localparam logic [23:0] REG_ASQ_HI = 24'h2c;
  localparam logic [23:0] REG_ACQ_LO = 24'h30;
  localparam logic [23:0] REG_ACQ_HI = 24'h34;

  localparam logic [31:0] CC_ENABLE  = 32'h0046_0001;  // entries of 64 and 16 bytes, pages of 4 KiB, NVM, enabled

endpackage
