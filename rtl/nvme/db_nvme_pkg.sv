// SPDX-License-Identifier: Apache-2.0
// NVMe constants and structures that both ends of the link share.
// Sources: NVMe Base Specification 2.0 (section numbers below) and NVM Command Set Specification 1.0.
package db_nvme_pkg;

  // I/O opcodes (NVM Command Set 1.0, figure "Opcodes for NVM Commands").
  localparam logic [7:0] OPC_FLUSH        = 8'h00;
  localparam logic [7:0] OPC_WRITE        = 8'h01;
  localparam logic [7:0] OPC_READ         = 8'h02;
  localparam logic [7:0] OPC_COMPARE      = 8'h05;
  localparam logic [7:0] OPC_WRITE_ZEROES = 8'h08;
  localparam logic [7:0] OPC_DSM          = 8'h09;
  localparam logic [7:0] OPC_VERIFY       = 8'h0c;

  // Admin opcodes (Base 2.0, figure "Opcodes for Admin Commands"), and a feature.
  localparam logic [7:0] ADMIN_OPC_CREATE_SQ    = 8'h01;
  localparam logic [7:0] ADMIN_OPC_CREATE_CQ    = 8'h05;
  localparam logic [7:0] ADMIN_OPC_IDENTIFY     = 8'h06;
  localparam logic [7:0] ADMIN_OPC_ABORT        = 8'h08;
  localparam logic [7:0] ADMIN_OPC_SET_FEATURES = 8'h09;
  localparam logic [7:0] FID_NUM_QUEUES         = 8'h07;

  // Controller registers: offsets in BAR 0 (Base 2.0, 3.1.3), dword by dword.
  localparam logic [7:0] NVME_REG_CAP_LO = 8'h00;
  localparam logic [7:0] NVME_REG_CAP_HI = 8'h04;
  localparam logic [7:0] NVME_REG_CC     = 8'h14;
  localparam logic [7:0] NVME_REG_CSTS   = 8'h1c;
  localparam logic [7:0] NVME_REG_AQA    = 8'h24;
  localparam logic [7:0] NVME_REG_ASQ_LO = 8'h28;
  localparam logic [7:0] NVME_REG_ASQ_HI = 8'h2c;
  localparam logic [7:0] NVME_REG_ACQ_LO = 8'h30;
  localparam logic [7:0] NVME_REG_ACQ_HI = 8'h34;
  localparam logic [31:0] CC_ENABLE = 32'h0046_0001;  // entries of 64 and 16 bytes, pages of 4 KiB, NVM, enabled

  // A status as it stands in CQE dword 3 bits 31:17: {DNR, M, CRD[1:0], SCT[2:0], SC[7:0]} (Base 2.0, 3.3.3.2.1).
  typedef struct packed {
    logic       dnr;
    logic       more;
    logic [1:0] crd;
    logic [2:0] sct;
    logic [7:0] sc;
  } status_t;

  function automatic status_t status(input logic dnr, input logic [2:0] sct, input logic [7:0] sc);
    return '{dnr: dnr, more: 1'b0, crd: 2'b00, sct: sct, sc: sc};
  endfunction

  // Generic command status (SCT 0).
  localparam logic [7:0] SC_SUCCESS             = 8'h00;
  localparam logic [7:0] SC_INVALID_OPCODE      = 8'h01;
  localparam logic [7:0] SC_INVALID_FIELD       = 8'h02;
  localparam logic [7:0] SC_DATA_TRANSFER_ERROR = 8'h04;
  localparam logic [7:0] SC_INTERNAL            = 8'h06;
  localparam logic [7:0] SC_INVALID_NS          = 8'h0b;
  localparam logic [7:0] SC_INVALID_PRP_OFFSET  = 8'h13;
  localparam logic [7:0] SC_LBA_RANGE           = 8'h80;
  // Media and data integrity errors (SCT 2).
  localparam logic [7:0] SC_WRITE_FAULT         = 8'h80;
  localparam logic [7:0] SC_READ_ERROR          = 8'h81;
  localparam logic [7:0] SC_COMPARE_FAILED      = 8'h85;
  localparam logic [7:0] SC_ACCESS_DENIED       = 8'h86;
  // Command specific (SCT 1).
  localparam logic [7:0] SC_SIZE_LIMIT          = 8'h83;  // Command Size Limit Exceeded

  localparam logic [2:0] SCT_GENERIC  = 3'd0;
  localparam logic [2:0] SCT_SPECIFIC = 3'd1;
  localparam logic [2:0] SCT_MEDIA    = 3'd2;

  // Submission queue entry, common format (Base 2.0, figure "Common Command Format").
  typedef struct packed {
    logic [31:0] cdw15;
    logic [31:0] cdw14;
    logic [31:0] cdw13;
    logic [31:0] cdw12;
    logic [31:0] cdw11;
    logic [31:0] cdw10;
    logic [63:0] prp2;
    logic [63:0] prp1;
    logic [63:0] mptr;
    logic [31:0] cdw3;
    logic [31:0] cdw2;
    logic [31:0] nsid;
    logic [15:0] cid;
    logic [1:0]  psdt;
    logic [3:0]  rsvd;
    logic [1:0]  fuse;
    logic [7:0]  opc;
  } sqe_t;

  // Completion queue entry (Base 2.0, figure "Common Completion Queue Entry Layout").
  typedef struct packed {
    status_t     status;
    logic        phase;
    logic [15:0] cid;
    logic [15:0] sqid;
    logic [15:0] sqhd;
    logic [31:0] dw1;
    logic [31:0] dw0;
  } cqe_t;

endpackage
