// SPDX-License-Identifier: Apache-2.0
// Control side of the host: accesses to the drive, steps of bring-up and reasons of failure.
// docs/host/theory.md ("Bring-up") has the same steps and reasons as tables; a test compares them.
package db_host_control_pkg;
  import db_nvme_pkg::*;
  import db_pcie_block_pkg::*;

  /// A raw access of the user to BAR 0.
  typedef struct packed {
    logic        write;
    logic [23:0] addr;
    logic [31:0] wdata;
  } raw_access_t;

  /// The answer to an admin command.
  typedef struct packed {
    logic timeout;       ///< there was none: cqe means nothing
    cqe_t cqe;
  } admin_answer_t;

  // ---- steps
  /// db_host_pci and db_host_nvme go through theirs by counting, with the jumps that their code shows.
  typedef enum logic [5:0] {
    STEP_OFF        = 6'd0,   ///< not started, or no link
    STEP_VENDOR     = 6'd1,   ///< db_host_pci
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
    STEP_CAP_LO     = 6'd16,  ///< db_host_nvme
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
    STEP_SGLS       = 6'd39,  ///< between STEP_VWC and STEP_ID_NS
    STEP_UP         = 6'd48,  ///< db_host_supervisor
    STEP_ABORT      = 6'd49,
    STEP_CHECK      = 6'd50,
    STEP_SHUTDOWN   = 6'd51
  } step_e;

  // ---- controller configuration (CC)
  localparam logic [31:0] CC_ENABLE   = 32'h0046_0001;  // entries of 64 and 16 bytes, pages of 4 KiB, NVM, enabled
  localparam logic [31:0] CC_SHUTDOWN = 32'h0046_4001;  // the same, and SHN: a normal shutdown

  // ---- reasons
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
    FAIL_DAMAGED       = 5'd23,
    FAIL_SHUTDOWN      = 5'd24
  } fail_e;

  function automatic fail_e acc_fail(input acc_status_e s);
    unique case (s)
      ACC_GOOD:    return FAIL_NONE;
      ACC_REFUSED: return FAIL_REFUSED;
      ACC_RETRY:   return FAIL_RETRY;
      default:     return FAIL_NO_ANSWER;
    endcase
  endfunction

  /// The last failure, as the registers show it.
  typedef struct packed {
    fail_e   reason;     ///< FAIL_NONE: none yet
    step_e   step;
    status_t status;     ///< of bring-up's last admin command
  } failure_t;

  /// What a step of db_host_nvme asks.
  typedef enum logic [1:0] {
    ASK_REGISTER, ASK_COMMAND, ASK_BUFFER
  } ask_kind_e;

endpackage
