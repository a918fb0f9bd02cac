// SPDX-License-Identifier: Apache-2.0
// NVMe constants and structures that both ends of the link share.
// Sources: NVMe Base Specification 2.0 (section numbers below) and NVM Command Set Specification 1.0.
package db_nvme_pkg;

  // ---- made by facts/generate.py from facts/nvme.yaml: change it there
  localparam logic [31:0] NSID_ALL = 32'hffff_ffff;

  // Controller register offsets (Base 2.0, 3.1.3).
  localparam logic [23:0] NVME_REG_CAP = 24'h000000;
  localparam logic [23:0] NVME_REG_VS = 24'h000008;
  localparam logic [23:0] NVME_REG_INTMS = 24'h00000c;
  localparam logic [23:0] NVME_REG_INTMC = 24'h000010;
  localparam logic [23:0] NVME_REG_CC = 24'h000014;
  localparam logic [23:0] NVME_REG_CSTS = 24'h00001c;
  localparam logic [23:0] NVME_REG_NSSR = 24'h000020;
  localparam logic [23:0] NVME_REG_AQA = 24'h000024;
  localparam logic [23:0] NVME_REG_ASQ = 24'h000028;
  localparam logic [23:0] NVME_REG_ACQ = 24'h000030;
  localparam logic [23:0] NVME_REG_CMBLOC = 24'h000038;
  localparam logic [23:0] NVME_REG_CMBSZ = 24'h00003c;
  localparam logic [23:0] NVME_REG_BPINFO = 24'h000040;
  localparam logic [23:0] NVME_REG_BPRSEL = 24'h000044;
  localparam logic [23:0] NVME_REG_BPMBL = 24'h000048;
  localparam logic [23:0] NVME_REG_CMBMSC = 24'h000050;
  localparam logic [23:0] NVME_REG_CMBSTS = 24'h000058;
  localparam logic [23:0] NVME_REG_CRTO = 24'h000068;
  localparam logic [23:0] NVME_REG_PMRCAP = 24'h000e00;
  localparam logic [23:0] NVME_REG_PMRCTL = 24'h000e04;
  localparam logic [23:0] NVME_REG_PMRSTS = 24'h000e08;
  localparam logic [23:0] NVME_REG_PMREBS = 24'h000e0c;
  localparam logic [23:0] NVME_REG_PMRSWTP = 24'h000e10;
  localparam logic [23:0] NVME_REG_PMRMSCL = 24'h000e14;
  localparam logic [23:0] NVME_REG_PMRMSCU = 24'h000e18;
  localparam logic [23:0] NVME_REG_DBS = 24'h001000;

  // Admin commands (Base 2.0, 5).
  localparam logic [7:0] ADMIN_OPC_DELETE_SQ = 8'h00;
  localparam logic [7:0] ADMIN_OPC_CREATE_SQ = 8'h01;
  localparam logic [7:0] ADMIN_OPC_GET_LOG_PAGE = 8'h02;
  localparam logic [7:0] ADMIN_OPC_DELETE_CQ = 8'h04;
  localparam logic [7:0] ADMIN_OPC_CREATE_CQ = 8'h05;
  localparam logic [7:0] ADMIN_OPC_IDENTIFY = 8'h06;
  localparam logic [7:0] ADMIN_OPC_ABORT = 8'h08;
  localparam logic [7:0] ADMIN_OPC_SET_FEATURES = 8'h09;
  localparam logic [7:0] ADMIN_OPC_GET_FEATURES = 8'h0a;
  localparam logic [7:0] ADMIN_OPC_ASYNC_EVENT = 8'h0c;
  localparam logic [7:0] ADMIN_OPC_NS_MGMT = 8'h0d;
  localparam logic [7:0] ADMIN_OPC_FW_COMMIT = 8'h10;
  localparam logic [7:0] ADMIN_OPC_FW_DOWNLOAD = 8'h11;
  localparam logic [7:0] ADMIN_OPC_DEV_SELF_TEST = 8'h14;
  localparam logic [7:0] ADMIN_OPC_NS_ATTACH = 8'h15;
  localparam logic [7:0] ADMIN_OPC_KEEP_ALIVE = 8'h18;
  localparam logic [7:0] ADMIN_OPC_DIRECTIVE_SEND = 8'h19;
  localparam logic [7:0] ADMIN_OPC_DIRECTIVE_RECV = 8'h1a;
  localparam logic [7:0] ADMIN_OPC_VIRTUAL_MGMT = 8'h1c;
  localparam logic [7:0] ADMIN_OPC_NVME_MI_SEND = 8'h1d;
  localparam logic [7:0] ADMIN_OPC_NVME_MI_RECV = 8'h1e;
  localparam logic [7:0] ADMIN_OPC_CAPACITY_MGMT = 8'h20;
  localparam logic [7:0] ADMIN_OPC_LOCKDOWN = 8'h24;
  localparam logic [7:0] ADMIN_OPC_DBBUF = 8'h7c;
  localparam logic [7:0] ADMIN_OPC_FABRICS = 8'h7f;
  localparam logic [7:0] ADMIN_OPC_FORMAT_NVM = 8'h80;
  localparam logic [7:0] ADMIN_OPC_SECURITY_SEND = 8'h81;
  localparam logic [7:0] ADMIN_OPC_SECURITY_RECV = 8'h82;
  localparam logic [7:0] ADMIN_OPC_SANITIZE = 8'h84;
  localparam logic [7:0] ADMIN_OPC_PROGRAM_LOAD = 8'h85;  // computational programs: Load Program
  localparam logic [7:0] ADMIN_OPC_GET_LBA_STATUS = 8'h86;
  localparam logic [7:0] ADMIN_OPC_PROGRAM_ACTIVATION = 8'h88;  // ... Program Activation Management
  localparam logic [7:0] ADMIN_OPC_MEMORY_RANGE_SET = 8'h89;  // ... Memory Range Set Management

  // I/O commands of the NVM command set.
  localparam logic [7:0] OPC_FLUSH = 8'h00;
  localparam logic [7:0] OPC_WRITE = 8'h01;
  localparam logic [7:0] OPC_READ = 8'h02;
  localparam logic [7:0] OPC_WRITE_UNCOR = 8'h04;
  localparam logic [7:0] OPC_COMPARE = 8'h05;
  localparam logic [7:0] OPC_WRITE_ZEROES = 8'h08;
  localparam logic [7:0] OPC_DSM = 8'h09;
  localparam logic [7:0] OPC_VERIFY = 8'h0c;
  localparam logic [7:0] OPC_RESV_REGISTER = 8'h0d;
  localparam logic [7:0] OPC_RESV_REPORT = 8'h0e;
  localparam logic [7:0] OPC_RESV_ACQUIRE = 8'h11;
  localparam logic [7:0] OPC_RESV_RELEASE = 8'h15;
  localparam logic [7:0] OPC_COPY = 8'h19;

  // I/O commands of the Subsystem Local Memory command set.
  localparam logic [7:0] SLM_OPC_COPY = 8'h01;
  localparam logic [7:0] SLM_OPC_READ = 8'h02;
  localparam logic [7:0] SLM_OPC_FILL = 8'h04;
  localparam logic [7:0] SLM_OPC_WRITE = 8'h05;

  // I/O commands of the Computational Programs command set.
  localparam logic [7:0] PROGRAMS_OPC_EXECUTE = 8'h01;

  // Status Code Type.
  localparam logic [2:0] SCT_GENERIC = 3'd0;
  localparam logic [2:0] SCT_SPECIFIC = 3'd1;
  localparam logic [2:0] SCT_MEDIA = 3'd2;
  localparam logic [2:0] SCT_PATH = 3'd3;
  localparam logic [2:0] SCT_VENDOR = 3'd7;

  // {SCT[2:0], SC[7:0]}: bits 10:0 of the 15-bit status field (Base 2.0, 3.3.3.2.1).
  localparam logic [7:0] SC_SUCCESS = 8'h00;
  localparam logic [7:0] SC_INVALID_OPCODE = 8'h01;
  localparam logic [7:0] SC_INVALID_FIELD = 8'h02;
  localparam logic [7:0] SC_CID_CONFLICT = 8'h03;
  localparam logic [7:0] SC_DATA_TRANSFER_ERROR = 8'h04;
  localparam logic [7:0] SC_POWER_LOSS = 8'h05;
  localparam logic [7:0] SC_INTERNAL = 8'h06;
  localparam logic [7:0] SC_ABORT_REQUESTED = 8'h07;
  localparam logic [7:0] SC_ABORT_SQ_DELETED = 8'h08;
  localparam logic [7:0] SC_FUSED_FAIL = 8'h09;
  localparam logic [7:0] SC_FUSED_MISSING = 8'h0a;
  localparam logic [7:0] SC_INVALID_NS = 8'h0b;
  localparam logic [7:0] SC_CMD_SEQ_ERROR = 8'h0c;
  localparam logic [7:0] SC_SGL_INVALID_LAST = 8'h0d;
  localparam logic [7:0] SC_SGL_INVALID_COUNT = 8'h0e;
  localparam logic [7:0] SC_SGL_INVALID_DATA = 8'h0f;
  localparam logic [7:0] SC_SGL_INVALID_METADATA = 8'h10;
  localparam logic [7:0] SC_SGL_INVALID_TYPE = 8'h11;
  localparam logic [7:0] SC_CMB_INVALID_USE = 8'h12;
  localparam logic [7:0] SC_INVALID_PRP_OFFSET = 8'h13;
  localparam logic [7:0] SC_ATOMIC_WU_EXCEEDED = 8'h14;
  localparam logic [7:0] SC_OPERATION_DENIED = 8'h15;
  localparam logic [7:0] SC_SGL_INVALID_OFFSET = 8'h16;
  localparam logic [7:0] SC_HOSTID_FORMAT = 8'h18;
  localparam logic [7:0] SC_KAT_EXPIRED = 8'h19;
  localparam logic [7:0] SC_KAT_INVALID = 8'h1a;
  localparam logic [7:0] SC_ABORTED_PREEMPT = 8'h1b;
  localparam logic [7:0] SC_SANITIZE_FAILED = 8'h1c;
  localparam logic [7:0] SC_SANITIZE_IN_PROGRESS = 8'h1d;
  localparam logic [7:0] SC_SGL_INVALID_GRANULARITY = 8'h1e;
  localparam logic [7:0] SC_CMD_NOT_SUP_CMB = 8'h1f;
  localparam logic [7:0] SC_NS_WRITE_PROTECTED = 8'h20;
  localparam logic [7:0] SC_CMD_INTERRUPTED = 8'h21;
  localparam logic [7:0] SC_TRANSIENT_TRANSPORT = 8'h22;
  localparam logic [7:0] SC_LOCKDOWN = 8'h23;
  localparam logic [7:0] SC_MEDIA_NOT_READY = 8'h24;
  localparam logic [7:0] SC_LBA_RANGE = 8'h80;
  localparam logic [7:0] SC_CAP_EXCEEDED = 8'h81;
  localparam logic [7:0] SC_NS_NOT_READY = 8'h82;
  localparam logic [7:0] SC_RESV_CONFLICT = 8'h83;
  localparam logic [7:0] SC_FORMAT_IN_PROGRESS = 8'h84;
  localparam logic [7:0] SC_CQ_INVALID = 8'h00;
  localparam logic [7:0] SC_QID_INVALID = 8'h01;
  localparam logic [7:0] SC_QUEUE_SIZE = 8'h02;
  localparam logic [7:0] SC_ABORT_LIMIT = 8'h03;
  localparam logic [7:0] SC_AER_LIMIT = 8'h05;
  localparam logic [7:0] SC_FW_SLOT = 8'h06;
  localparam logic [7:0] SC_FW_IMAGE = 8'h07;
  localparam logic [7:0] SC_INVALID_VECTOR = 8'h08;
  localparam logic [7:0] SC_INVALID_LOG_PAGE = 8'h09;
  localparam logic [7:0] SC_INVALID_FORMAT = 8'h0a;
  localparam logic [7:0] SC_FW_NEEDS_CONV_RESET = 8'h0b;
  localparam logic [7:0] SC_INVALID_QUEUE_DELETION = 8'h0c;
  localparam logic [7:0] SC_FEATURE_NOT_SAVEABLE = 8'h0d;
  localparam logic [7:0] SC_FEATURE_NOT_CHANGEABLE = 8'h0e;
  localparam logic [7:0] SC_FEATURE_NOT_PER_NS = 8'h0f;
  localparam logic [7:0] SC_FW_NEEDS_SUBSYS_RESET = 8'h10;
  localparam logic [7:0] SC_FW_NEEDS_RESET = 8'h11;
  localparam logic [7:0] SC_FW_NEEDS_MAX_TIME = 8'h12;
  localparam logic [7:0] SC_FW_PROHIBITED = 8'h13;
  localparam logic [7:0] SC_OVERLAPPING_RANGE = 8'h14;
  localparam logic [7:0] SC_NS_INSUFFICIENT_CAP = 8'h15;
  localparam logic [7:0] SC_NSID_UNAVAILABLE = 8'h16;
  localparam logic [7:0] SC_NS_ALREADY_ATTACHED = 8'h18;
  localparam logic [7:0] SC_NS_IS_PRIVATE = 8'h19;
  localparam logic [7:0] SC_NS_NOT_ATTACHED = 8'h1a;
  localparam logic [7:0] SC_THIN_PROV_NOT_SUP = 8'h1b;
  localparam logic [7:0] SC_CTRL_LIST_INVALID = 8'h1c;
  localparam logic [7:0] SC_INVALID_CTRL_ID = 8'h1f;
  localparam logic [7:0] SC_INVALID_SECONDARY_STATE = 8'h20;
  localparam logic [7:0] SC_INVALID_NUM_RESOURCES = 8'h21;
  localparam logic [7:0] SC_INVALID_RESOURCE_ID = 8'h22;
  localparam logic [7:0] SC_IOCS_NOT_SUPPORTED = 8'h29;
  localparam logic [7:0] SC_IOCS_NOT_ENABLED = 8'h2a;
  localparam logic [7:0] SC_IOCS_COMBINATION_REJECTED = 8'h2b;
  localparam logic [7:0] SC_INVALID_IOCS = 8'h2c;
  localparam logic [7:0] SC_CONFLICTING_ATTRIBUTES = 8'h80;
  localparam logic [7:0] SC_INVALID_PI = 8'h81;
  localparam logic [7:0] SC_READ_ONLY = 8'h82;
  localparam logic [7:0] SC_SIZE_LIMIT = 8'h83;
  localparam logic [7:0] SC_OVERLAPPING_IO_RANGE = 8'h87;
  localparam logic [7:0] SC_NS_NOT_REACHABLE = 8'h88;
  localparam logic [7:0] SC_INSUFFICIENT_RESOURCES = 8'h89;
  localparam logic [7:0] SC_INSUFFICIENT_PROGRAM_RESOURCES = 8'h8a;
  localparam logic [7:0] SC_INVALID_MEMORY_NS = 8'h8b;
  localparam logic [7:0] SC_INVALID_RANGE_SET = 8'h8c;
  localparam logic [7:0] SC_INVALID_RANGE_SET_ID = 8'h8d;
  localparam logic [7:0] SC_INVALID_PROGRAM_DATA = 8'h8e;
  localparam logic [7:0] SC_INVALID_PROGRAM_INDEX = 8'h8f;
  localparam logic [7:0] SC_INVALID_PROGRAM_TYPE = 8'h90;
  localparam logic [7:0] SC_RANGES_EXCEEDED = 8'h91;
  localparam logic [7:0] SC_RANGE_SETS_EXCEEDED = 8'h92;
  localparam logic [7:0] SC_PROGRAMS_ACTIVATED_EXCEEDED = 8'h93;
  localparam logic [7:0] SC_PROGRAM_BYTES_EXCEEDED = 8'h94;
  localparam logic [7:0] SC_RANGE_SET_IN_USE = 8'h95;
  localparam logic [7:0] SC_NO_PROGRAM = 8'h96;
  localparam logic [7:0] SC_OVERLAPPING_MEMORY_RANGES = 8'h97;
  localparam logic [7:0] SC_PROGRAM_NOT_ACTIVATED = 8'h98;
  localparam logic [7:0] SC_PROGRAM_IN_USE = 8'h99;
  localparam logic [7:0] SC_PROGRAM_NOT_DOWNLOADABLE = 8'h9a;
  localparam logic [7:0] SC_PROGRAM_TOO_BIG = 8'h9b;
  localparam logic [7:0] SC_WRITE_FAULT = 8'h80;
  localparam logic [7:0] SC_READ_ERROR = 8'h81;
  localparam logic [7:0] SC_GUARD_CHECK = 8'h82;
  localparam logic [7:0] SC_APPTAG_CHECK = 8'h83;
  localparam logic [7:0] SC_REFTAG_CHECK = 8'h84;
  localparam logic [7:0] SC_COMPARE_FAILED = 8'h85;
  localparam logic [7:0] SC_ACCESS_DENIED = 8'h86;
  localparam logic [7:0] SC_UNWRITTEN_BLOCK = 8'h87;

  // Feature identifiers (Base 2.0, 5.27.1).
  localparam logic [7:0] FEATURE_ARBITRATION = 8'h01;
  localparam logic [7:0] FEATURE_POWER_MGMT = 8'h02;
  localparam logic [7:0] FEATURE_LBA_RANGE = 8'h03;
  localparam logic [7:0] FEATURE_TEMP_THRESH = 8'h04;
  localparam logic [7:0] FEATURE_ERR_RECOVERY = 8'h05;
  localparam logic [7:0] FEATURE_VOLATILE_WC = 8'h06;
  localparam logic [7:0] FEATURE_NUM_QUEUES = 8'h07;
  localparam logic [7:0] FEATURE_IRQ_COALESCE = 8'h08;
  localparam logic [7:0] FEATURE_IRQ_CONFIG = 8'h09;
  localparam logic [7:0] FEATURE_WRITE_ATOMIC = 8'h0a;
  localparam logic [7:0] FEATURE_ASYNC_EVENT = 8'h0b;
  localparam logic [7:0] FEATURE_AUTO_PST = 8'h0c;
  localparam logic [7:0] FEATURE_HOST_MEM_BUF = 8'h0d;
  localparam logic [7:0] FEATURE_TIMESTAMP = 8'h0e;
  localparam logic [7:0] FEATURE_KATO = 8'h0f;
  localparam logic [7:0] FEATURE_HCTM = 8'h10;
  localparam logic [7:0] FEATURE_NOPSC = 8'h11;
  localparam logic [7:0] FEATURE_RRL = 8'h12;
  localparam logic [7:0] FEATURE_PLM_CONFIG = 8'h13;
  localparam logic [7:0] FEATURE_PLM_WINDOW = 8'h14;
  localparam logic [7:0] FEATURE_LBA_STATUS_ATTR = 8'h15;
  localparam logic [7:0] FEATURE_HOST_BEHAVIOR = 8'h16;
  localparam logic [7:0] FEATURE_SANITIZE = 8'h17;
  localparam logic [7:0] FEATURE_ENDURANCE_EVT_CFG = 8'h18;
  localparam logic [7:0] FEATURE_IOCS_PROFILE = 8'h19;
  localparam logic [7:0] FEATURE_SPINUP_CONTROL = 8'h1a;
  localparam logic [7:0] FEATURE_SW_PROGRESS = 8'h80;
  localparam logic [7:0] FEATURE_HOST_ID = 8'h81;
  localparam logic [7:0] FEATURE_RESV_MASK = 8'h82;
  localparam logic [7:0] FEATURE_RESV_PERSIST = 8'h83;
  localparam logic [7:0] FEATURE_WRITE_PROTECT = 8'h84;

  // Log page identifiers (Base 2.0, 5.16.1).
  localparam logic [7:0] LOG_SUPPORTED = 8'h00;
  localparam logic [7:0] LOG_ERROR = 8'h01;
  localparam logic [7:0] LOG_SMART = 8'h02;
  localparam logic [7:0] LOG_FW_SLOT = 8'h03;
  localparam logic [7:0] LOG_CHANGED_NS = 8'h04;
  localparam logic [7:0] LOG_CMD_EFFECTS = 8'h05;
  localparam logic [7:0] LOG_DEVICE_SELF_TEST = 8'h06;
  localparam logic [7:0] LOG_TELEMETRY_HOST = 8'h07;
  localparam logic [7:0] LOG_TELEMETRY_CTRL = 8'h08;
  localparam logic [7:0] LOG_ENDURANCE_GROUP = 8'h09;
  localparam logic [7:0] LOG_PREDICTABLE_LAT = 8'h0a;
  localparam logic [7:0] LOG_PREDICTABLE_LAT_AGG = 8'h0b;
  localparam logic [7:0] LOG_ANA = 8'h0c;
  localparam logic [7:0] LOG_PERSISTENT_EVENT = 8'h0d;
  localparam logic [7:0] LOG_LBA_STATUS = 8'h0e;
  localparam logic [7:0] LOG_ENDURANCE_GRP_EVT = 8'h0f;
  localparam logic [7:0] LOG_FID_EFFECTS = 8'h12;
  localparam logic [7:0] LOG_MI_CMD_EFFECTS = 8'h13;
  localparam logic [7:0] LOG_RESERVATION = 8'h80;
  localparam logic [7:0] LOG_SANITIZE = 8'h81;
  localparam logic [7:0] LOG_PROGRAM_LIST = 8'h82;
  localparam logic [7:0] LOG_PROGRAM_TYPES = 8'h83;  // downloadable ones
  localparam logic [7:0] LOG_RANGE_SET_LIST = 8'h84;

  // Identify CDW10 bits 7:0.
  localparam logic [7:0] CNS_NS = 8'h00;
  localparam logic [7:0] CNS_CTRL = 8'h01;
  localparam logic [7:0] CNS_NS_ACTIVE_LIST = 8'h02;
  localparam logic [7:0] CNS_NS_DESC_LIST = 8'h03;
  localparam logic [7:0] CNS_NVMSET_LIST = 8'h04;
  localparam logic [7:0] CNS_CSI_NS = 8'h05;
  localparam logic [7:0] CNS_CSI_CTRL = 8'h06;
  localparam logic [7:0] CNS_CSI_NS_ACTIVE_LIST = 8'h07;
  localparam logic [7:0] CNS_CSI_INDEPENDENT_NS = 8'h08;
  localparam logic [7:0] CNS_NS_PRESENT_LIST = 8'h10;
  localparam logic [7:0] CNS_NS_PRESENT = 8'h11;
  localparam logic [7:0] CNS_CTRL_NS_LIST = 8'h12;
  localparam logic [7:0] CNS_CTRL_LIST = 8'h13;
  localparam logic [7:0] CNS_PRIMARY_CTRL_CAP = 8'h14;
  localparam logic [7:0] CNS_SCNDRY_CTRL_LIST = 8'h15;
  localparam logic [7:0] CNS_CSI_NS_PRESENT_LIST = 8'h1a;
  localparam logic [7:0] CNS_CSI_NS_PRESENT = 8'h1b;
  localparam logic [7:0] CNS_IOCS_LIST = 8'h1c;
  // ---- end of what is made

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

  // What a command says about its data in host memory (Base 2.0, 4.1.1 and 4.1.2).
  typedef struct packed {
    logic [7:0]  fn;         // PCIe function that owns the memory
    logic        sgl;        // {prp2, prp1} is an SGL descriptor (sgl_desc_t)
    logic [63:0] prp1;
    logic [63:0] prp2;
    logic [31:0] bytes;      // at least 4, a multiple of 4
  } prp_t;

  // The same, measured in pages of 4 KiB: what db_nvme_prp_fetch makes of it for db_nvme_prp_walk.
  localparam int PRP_PAGES_W = 21;  // bits of a count of pages: 32-bit lengths need so many
  typedef struct packed {
    logic [7:0]             fn;
    logic                   sgl;        // all pages are whole then but the last; of the pointers nothing is said
    logic [63:0]            prp1;
    logic [63:0]            prp2;
    logic [PRP_PAGES_W-1:0] pages;
    logic [12:0]            first_len;  // bytes in the first page
    logic [12:0]            last_len;   // bytes in the last page
    logic                   bad1;       // PRP1 is not dword aligned
    logic                   bad2;       // PRP2 is needed and has an offset that it must not have
    logic                   chains;     // its list does not end in the list's first page
  } prp_extent_t;

  // SGL descriptor (Base 2.0, 4.1.2): of data, or of a further segment of descriptors.
  typedef enum logic [3:0] {
    SGL_BLOCK = 4'h0, SGL_BUCKET = 4'h1, SGL_SEGMENT = 4'h2, SGL_LAST_SEGMENT = 4'h3
  } sgl_type_e;
  typedef struct packed {
    logic [3:0]  kind;       // sgl_type_e, or another one that nobody has
    logic [3:0]  subtype;    // 0: addr is an address
    logic [23:0] rsvd;
    logic [31:0] bytes;
    logic [63:0] addr;
  } sgl_desc_t;

  // Whether it is a sound pointer to a segment: whole descriptors, at least one, qword aligned.
  function automatic logic sgl_segment_ok(input sgl_desc_t d);
    return d.kind[3:1] == 3'b001 && d.subtype == '0 && d.addr[2:0] == '0 && d.bytes[3:0] == '0 &&
           d.bytes[31:4] != '0;
  endfunction

endpackage
