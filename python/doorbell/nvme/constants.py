# SPDX-License-Identifier: Apache-2.0
"""NVMe's numbers, from the Base Specification 2.0 and NVM Command Set 1.0.

Registers, opcodes, statuses, selectors, bits: nothing but enumerations and integers; what reads and writes them is in
structures.py. tests/python/test_headers.py compares them with libnvme's and Linux's headers.
"""

from __future__ import annotations

from enum import IntEnum

PAGE_SIZE = 4096
SQE_BYTES = 64
CQE_BYTES = 16
NSID_ALL = 0xFFFFFFFF


class Reg(IntEnum):
    """Controller register offsets (Base 2.0, 3.1.3)."""

    CAP = 0x00
    VS = 0x08
    INTMS = 0x0C
    INTMC = 0x10
    CC = 0x14
    CSTS = 0x1C
    NSSR = 0x20
    AQA = 0x24
    ASQ = 0x28
    ACQ = 0x30
    CMBLOC = 0x38
    CMBSZ = 0x3C
    BPINFO = 0x40
    BPRSEL = 0x44
    BPMBL = 0x48
    CMBMSC = 0x50
    CMBSTS = 0x58
    CRTO = 0x68
    PMRCAP = 0xE00
    PMRCTL = 0xE04
    PMRSTS = 0xE08
    PMREBS = 0xE0C
    PMRSWTP = 0xE10
    PMRMSCL = 0xE14
    PMRMSCU = 0xE18
    DBS = 0x1000


NSSR_MAGIC = 0x4E564D65  # "NVMe": writing it to NSSR resets the subsystem

# CC fields
CC_EN = 1 << 0
CC_CSS_SHIFT = 4
CC_MPS_SHIFT = 7
CC_AMS_SHIFT = 11
CC_SHN_SHIFT = 14
CC_IOSQES_SHIFT = 16
CC_IOCQES_SHIFT = 20
CC_CRIME = 1 << 24
CC_AMS_RR = 0
CC_AMS_WRRU = 1
CC_SHN_NORMAL = 1
CC_SHN_ABRUPT = 2

# CSTS fields
CSTS_RDY = 1 << 0
CSTS_CFS = 1 << 1
CSTS_SHST_SHIFT = 2
CSTS_SHST_MASK = 3 << 2
CSTS_NSSRO = 1 << 4
CSTS_PP = 1 << 5


class AdminOpc(IntEnum):
    DELETE_SQ = 0x00
    CREATE_SQ = 0x01
    GET_LOG_PAGE = 0x02
    DELETE_CQ = 0x04
    CREATE_CQ = 0x05
    IDENTIFY = 0x06
    ABORT = 0x08
    SET_FEATURES = 0x09
    GET_FEATURES = 0x0A
    ASYNC_EVENT = 0x0C
    NS_MGMT = 0x0D
    FW_COMMIT = 0x10
    FW_DOWNLOAD = 0x11
    DEV_SELF_TEST = 0x14
    NS_ATTACH = 0x15
    KEEP_ALIVE = 0x18
    DIRECTIVE_SEND = 0x19
    DIRECTIVE_RECV = 0x1A
    VIRTUAL_MGMT = 0x1C
    NVME_MI_SEND = 0x1D
    NVME_MI_RECV = 0x1E
    CAPACITY_MGMT = 0x20
    LOCKDOWN = 0x24
    DBBUF = 0x7C
    FABRICS = 0x7F
    FORMAT_NVM = 0x80
    SECURITY_SEND = 0x81
    SECURITY_RECV = 0x82
    SANITIZE = 0x84
    GET_LBA_STATUS = 0x86


class NvmOpc(IntEnum):
    """I/O commands of the NVM command set."""

    FLUSH = 0x00
    WRITE = 0x01
    READ = 0x02
    WRITE_UNCOR = 0x04
    COMPARE = 0x05
    WRITE_ZEROES = 0x08
    DSM = 0x09
    VERIFY = 0x0C
    RESV_REGISTER = 0x0D
    RESV_REPORT = 0x0E
    RESV_ACQUIRE = 0x11
    RESV_RELEASE = 0x15
    COPY = 0x19


class Sct(IntEnum):
    """Status Code Type."""

    GENERIC = 0
    SPECIFIC = 1
    MEDIA = 2
    PATH = 3
    VENDOR = 7


class Status(IntEnum):
    """{SCT[2:0], SC[7:0]}: bits 10:0 of the 15-bit status field (Base 2.0, 3.3.3.2.1)."""

    SUCCESS = 0x000
    INVALID_OPCODE = 0x001
    INVALID_FIELD = 0x002
    CID_CONFLICT = 0x003
    DATA_TRANSFER_ERROR = 0x004
    POWER_LOSS = 0x005
    INTERNAL = 0x006
    ABORT_REQUESTED = 0x007
    ABORT_SQ_DELETED = 0x008
    FUSED_FAIL = 0x009
    FUSED_MISSING = 0x00A
    INVALID_NS = 0x00B
    CMD_SEQ_ERROR = 0x00C
    SGL_INVALID_LAST = 0x00D
    SGL_INVALID_COUNT = 0x00E
    SGL_INVALID_DATA = 0x00F
    SGL_INVALID_METADATA = 0x010
    SGL_INVALID_TYPE = 0x011
    CMB_INVALID_USE = 0x012
    INVALID_PRP_OFFSET = 0x013
    ATOMIC_WU_EXCEEDED = 0x014
    OPERATION_DENIED = 0x015
    SGL_INVALID_OFFSET = 0x016
    HOSTID_FORMAT = 0x018
    KAT_EXPIRED = 0x019
    KAT_INVALID = 0x01A
    ABORTED_PREEMPT = 0x01B
    SANITIZE_FAILED = 0x01C
    SANITIZE_IN_PROGRESS = 0x01D
    SGL_INVALID_GRANULARITY = 0x01E
    CMD_NOT_SUP_CMB = 0x01F
    NS_WRITE_PROTECTED = 0x020
    CMD_INTERRUPTED = 0x021
    TRANSIENT_TRANSPORT = 0x022
    LOCKDOWN = 0x023
    MEDIA_NOT_READY = 0x024
    LBA_RANGE = 0x080
    CAP_EXCEEDED = 0x081
    NS_NOT_READY = 0x082
    RESV_CONFLICT = 0x083
    FORMAT_IN_PROGRESS = 0x084
    # command specific
    CQ_INVALID = 0x100
    QID_INVALID = 0x101
    QUEUE_SIZE = 0x102
    ABORT_LIMIT = 0x103
    AER_LIMIT = 0x105
    FW_SLOT = 0x106
    FW_IMAGE = 0x107
    INVALID_VECTOR = 0x108
    INVALID_LOG_PAGE = 0x109
    INVALID_FORMAT = 0x10A
    FW_NEEDS_CONV_RESET = 0x10B
    INVALID_QUEUE_DELETION = 0x10C
    FEATURE_NOT_SAVEABLE = 0x10D
    FEATURE_NOT_CHANGEABLE = 0x10E
    FEATURE_NOT_PER_NS = 0x10F
    FW_NEEDS_SUBSYS_RESET = 0x110
    FW_NEEDS_RESET = 0x111
    FW_NEEDS_MAX_TIME = 0x112
    FW_PROHIBITED = 0x113
    OVERLAPPING_RANGE = 0x114
    NS_INSUFFICIENT_CAP = 0x115
    NSID_UNAVAILABLE = 0x116
    NS_ALREADY_ATTACHED = 0x118
    NS_IS_PRIVATE = 0x119
    NS_NOT_ATTACHED = 0x11A
    THIN_PROV_NOT_SUP = 0x11B
    CTRL_LIST_INVALID = 0x11C
    IOCS_NOT_SUPPORTED = 0x129
    IOCS_NOT_ENABLED = 0x12A
    IOCS_COMBINATION_REJECTED = 0x12B
    INVALID_IOCS = 0x12C
    CONFLICTING_ATTRIBUTES = 0x180
    INVALID_PI = 0x181
    READ_ONLY = 0x182
    SIZE_LIMIT = 0x183
    # media and data integrity
    WRITE_FAULT = 0x280
    READ_ERROR = 0x281
    GUARD_CHECK = 0x282
    APPTAG_CHECK = 0x283
    REFTAG_CHECK = 0x284
    COMPARE_FAILED = 0x285
    ACCESS_DENIED = 0x286
    UNWRITTEN_BLOCK = 0x287


STATUS_CODE_MASK = 0x7FF  # {SCT, SC}
STATUS_CRD_SHIFT = 11
STATUS_MORE = 1 << 13
STATUS_DNR = 1 << 14


class Feature(IntEnum):
    ARBITRATION = 0x01
    POWER_MGMT = 0x02
    LBA_RANGE = 0x03
    TEMP_THRESH = 0x04
    ERR_RECOVERY = 0x05
    VOLATILE_WC = 0x06
    NUM_QUEUES = 0x07
    IRQ_COALESCE = 0x08
    IRQ_CONFIG = 0x09
    WRITE_ATOMIC = 0x0A
    ASYNC_EVENT = 0x0B
    AUTO_PST = 0x0C
    HOST_MEM_BUF = 0x0D
    TIMESTAMP = 0x0E
    KATO = 0x0F
    HCTM = 0x10
    NOPSC = 0x11
    RRL = 0x12
    PLM_CONFIG = 0x13
    PLM_WINDOW = 0x14
    LBA_STATUS_ATTR = 0x15
    HOST_BEHAVIOR = 0x16
    SANITIZE = 0x17
    ENDURANCE_EVT_CFG = 0x18
    IOCS_PROFILE = 0x19
    SPINUP_CONTROL = 0x1A
    SW_PROGRESS = 0x80
    HOST_ID = 0x81
    RESV_MASK = 0x82
    RESV_PERSIST = 0x83
    WRITE_PROTECT = 0x84


class FeatureSelect(IntEnum):
    """Get Features CDW10 bits 10:8."""

    CURRENT = 0
    DEFAULT = 1
    SAVED = 2
    SUPPORTED = 3


class LogPage(IntEnum):
    SUPPORTED = 0x00
    ERROR = 0x01
    SMART = 0x02
    FW_SLOT = 0x03
    CHANGED_NS = 0x04
    CMD_EFFECTS = 0x05
    DEVICE_SELF_TEST = 0x06
    TELEMETRY_HOST = 0x07
    TELEMETRY_CTRL = 0x08
    ENDURANCE_GROUP = 0x09
    PREDICTABLE_LAT = 0x0A
    PREDICTABLE_LAT_AGG = 0x0B
    ANA = 0x0C
    PERSISTENT_EVENT = 0x0D
    LBA_STATUS = 0x0E
    ENDURANCE_GRP_EVT = 0x0F
    FID_EFFECTS = 0x12
    RESERVATION = 0x80
    SANITIZE = 0x81


class Cns(IntEnum):
    """Identify CDW10 bits 7:0."""

    NS = 0x00
    CTRL = 0x01
    NS_ACTIVE_LIST = 0x02
    NS_DESC_LIST = 0x03
    NVMSET_LIST = 0x04
    CSI_NS = 0x05
    CSI_CTRL = 0x06
    CSI_NS_ACTIVE_LIST = 0x07
    CSI_INDEPENDENT_NS = 0x08
    NS_PRESENT_LIST = 0x10
    NS_PRESENT = 0x11
    CTRL_NS_LIST = 0x12
    CTRL_LIST = 0x13
    PRIMARY_CTRL_CAP = 0x14
    SCNDRY_CTRL_LIST = 0x15
    IOCS_LIST = 0x1C


class Csi(IntEnum):
    NVM = 0
    KV = 1
    ZNS = 2


class Nidt(IntEnum):
    """Namespace Identifier Type in a namespace identification descriptor."""

    EUI64 = 1
    NGUID = 2
    UUID = 3
    CSI = 4


class AerType(IntEnum):
    """Asynchronous event type: completion dword 0 bits 2:0."""

    ERROR = 0
    SMART = 1
    NOTICE = 2
    IO_COMMAND_SET = 6
    VENDOR = 7


class AerError(IntEnum):
    """Asynchronous event information of type ERROR: completion dword 0 bits 15:8."""

    INVALID_DB_REG = 0
    INVALID_DB_VALUE = 1
    DIAG_FAILURE = 2
    PERSISTENT_INTERNAL = 3
    TRANSIENT_INTERNAL = 4
    FW_IMAGE_LOAD = 5


class AerNotice(IntEnum):
    """Asynchronous event information of type NOTICE."""

    NS_CHANGED = 0


class NsMgmt(IntEnum):
    """Namespace Management CDW10 bits 3:0."""

    CREATE = 0
    DELETE = 1


class NsAttach(IntEnum):
    """Namespace Attachment CDW10 bits 3:0."""

    ATTACH = 0
    DETACH = 1


# Optional asynchronous events (OAES), and the same bits of feature ASYNC_EVENT
OAES_NS_ATTR = 1 << 8

# Optional admin command support (OACS)
OACS_SECURITY = 1 << 0
OACS_FORMAT = 1 << 1
OACS_FW = 1 << 2
OACS_NS_MGMT = 1 << 3

# Optional NVM command support (ONCS)
ONCS_COMPARE = 1 << 0
ONCS_WRITE_UNCOR = 1 << 1
ONCS_DSM = 1 << 2
ONCS_WRITE_ZEROES = 1 << 3
ONCS_SAVE_SELECT = 1 << 4
ONCS_RESERVATIONS = 1 << 5
ONCS_TIMESTAMP = 1 << 6
ONCS_VERIFY = 1 << 7
ONCS_COPY = 1 << 8

# Commands Supported and Effects entry
EFFECTS_CSUPP = 1 << 0
EFFECTS_LBCC = 1 << 1
EFFECTS_NCC = 1 << 2
EFFECTS_NIC = 1 << 3
EFFECTS_CCC = 1 << 4

# Read / Write CDW12, Write Zeroes CDW12, DSM CDW11
RW_LR = 1 << 31
RW_FUA = 1 << 30
RW_DTYPE_SHIFT = 20
WZ_DEAC = 1 << 25
DSM_IDR = 1 << 0
DSM_IDW = 1 << 1
DSM_AD = 1 << 2

# Create I/O queue CDW11
CREATE_Q_PC = 1 << 0
CREATE_CQ_IEN = 1 << 1
CREATE_SQ_QPRIO_SHIFT = 1
QPRIO_URGENT = 0
QPRIO_HIGH = 1
QPRIO_MEDIUM = 2
QPRIO_LOW = 3
