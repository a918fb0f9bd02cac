# SPDX-License-Identifier: Apache-2.0
"""Constants of the NVMe Base Specification 2.0 and NVM Command Set 1.0.

Made by facts/generate.py from facts/nvme.yaml: change it there.
"""

from enum import IntEnum


class Reg(IntEnum):
    """Controller register offsets (Base 2.0, 3.1.3)."""

    CAP = 0x0000
    VS = 0x0008
    INTMS = 0x000C
    INTMC = 0x0010
    CC = 0x0014
    CSTS = 0x001C
    NSSR = 0x0020
    AQA = 0x0024
    ASQ = 0x0028
    ACQ = 0x0030
    CMBLOC = 0x0038
    CMBSZ = 0x003C
    BPINFO = 0x0040
    BPRSEL = 0x0044
    BPMBL = 0x0048
    CMBMSC = 0x0050
    CMBSTS = 0x0058
    CRTO = 0x0068
    PMRCAP = 0x0E00
    PMRCTL = 0x0E04
    PMRSTS = 0x0E08
    PMREBS = 0x0E0C
    PMRSWTP = 0x0E10
    PMRMSCL = 0x0E14
    PMRMSCU = 0x0E18
    DBS = 0x1000


class AdminOpc(IntEnum):
    """Admin commands (Base 2.0, 5)."""

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
    PROGRAM_LOAD = 0x85  # computational programs: Load Program
    GET_LBA_STATUS = 0x86
    PROGRAM_ACTIVATION = 0x88  # ... Program Activation Management
    MEMORY_RANGE_SET = 0x89  # ... Memory Range Set Management


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


class SlmOpc(IntEnum):
    """I/O commands of the Subsystem Local Memory command set."""

    COPY = 0x01
    READ = 0x02
    FILL = 0x04
    WRITE = 0x05


class ProgramsOpc(IntEnum):
    """I/O commands of the Computational Programs command set."""

    EXECUTE = 0x01


class ProgramSelect(IntEnum):
    """What Program Activation Management does: CDW10 bits 19:16."""

    DEACTIVATE = 0
    ACTIVATE = 1


class RangeSetSelect(IntEnum):
    """What Memory Range Set Management does: CDW10 bits 3:0."""

    CREATE = 0
    DELETE = 1


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
    INVALID_CTRL_ID = 0x11F
    INVALID_SECONDARY_STATE = 0x120
    INVALID_NUM_RESOURCES = 0x121
    INVALID_RESOURCE_ID = 0x122
    IOCS_NOT_SUPPORTED = 0x129
    IOCS_NOT_ENABLED = 0x12A
    IOCS_COMBINATION_REJECTED = 0x12B
    INVALID_IOCS = 0x12C
    CONFLICTING_ATTRIBUTES = 0x180
    INVALID_PI = 0x181
    READ_ONLY = 0x182
    SIZE_LIMIT = 0x183
    OVERLAPPING_IO_RANGE = 0x187
    # ... of the Computational Programs command set
    NS_NOT_REACHABLE = 0x188
    INSUFFICIENT_RESOURCES = 0x189
    INSUFFICIENT_PROGRAM_RESOURCES = 0x18A
    INVALID_MEMORY_NS = 0x18B
    INVALID_RANGE_SET = 0x18C
    INVALID_RANGE_SET_ID = 0x18D
    INVALID_PROGRAM_DATA = 0x18E
    INVALID_PROGRAM_INDEX = 0x18F
    INVALID_PROGRAM_TYPE = 0x190
    RANGES_EXCEEDED = 0x191
    RANGE_SETS_EXCEEDED = 0x192
    PROGRAMS_ACTIVATED_EXCEEDED = 0x193
    PROGRAM_BYTES_EXCEEDED = 0x194
    RANGE_SET_IN_USE = 0x195
    NO_PROGRAM = 0x196
    OVERLAPPING_MEMORY_RANGES = 0x197
    PROGRAM_NOT_ACTIVATED = 0x198
    PROGRAM_IN_USE = 0x199
    PROGRAM_NOT_DOWNLOADABLE = 0x19A
    PROGRAM_TOO_BIG = 0x19B
    # media and data integrity
    WRITE_FAULT = 0x280
    READ_ERROR = 0x281
    GUARD_CHECK = 0x282
    APPTAG_CHECK = 0x283
    REFTAG_CHECK = 0x284
    COMPARE_FAILED = 0x285
    ACCESS_DENIED = 0x286
    UNWRITTEN_BLOCK = 0x287


class Feature(IntEnum):
    """Feature identifiers (Base 2.0, 5.27.1)."""

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
    """Log page identifiers (Base 2.0, 5.16.1)."""

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
    MI_CMD_EFFECTS = 0x13
    RESERVATION = 0x80
    SANITIZE = 0x81
    PROGRAM_LIST = 0x82
    PROGRAM_TYPES = 0x83  # downloadable ones
    RANGE_SET_LIST = 0x84


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
    CSI_NS_PRESENT_LIST = 0x1A
    CSI_NS_PRESENT = 0x1B
    IOCS_LIST = 0x1C


class Csi(IntEnum):
    """Command Set Identifiers."""

    NVM = 0x00
    KV = 0x01
    ZNS = 0x02
    SLM = 0x03  # subsystem local memory
    PROGRAMS = 0x04  # computational programs


class Nidt(IntEnum):
    """Namespace Identifier Type in a namespace identification descriptor."""

    EUI64 = 0x01
    NGUID = 0x02
    UUID = 0x03
    CSI = 0x04


class AerType(IntEnum):
    """Asynchronous event type: completion dword 0 bits 2:0."""

    ERROR = 0
    SMART = 1
    NOTICE = 2
    IO_COMMAND_SET = 6
    VENDOR = 7


class AerError(IntEnum):
    """Asynchronous event information of type ERROR: completion dword 0 bits 15:8."""

    INVALID_DB_REG = 0x00
    INVALID_DB_VALUE = 0x01
    DIAG_FAILURE = 0x02
    PERSISTENT_INTERNAL = 0x03
    TRANSIENT_INTERNAL = 0x04
    FW_IMAGE_LOAD = 0x05


class AerNotice(IntEnum):
    """Asynchronous event information of type NOTICE."""

    NS_CHANGED = 0x00


class NsMgmt(IntEnum):
    """Namespace Management CDW10 bits 3:0."""

    CREATE = 0
    DELETE = 1


class NsAttach(IntEnum):
    """Namespace Attachment CDW10 bits 3:0."""

    ATTACH = 0
    DETACH = 1


class VirtMgmt(IntEnum):
    """Virtualization Management CDW10 bits 3:0 (Base 2.0, 5.28)."""

    PRIMARY_ALLOCATE = 1
    OFFLINE = 7
    ASSIGN = 8
    ONLINE = 9


class VirtResource(IntEnum):
    """Virtualization Management CDW10 bits 10:8."""

    VQ = 0
    VI = 1


class ResvRegister(IntEnum):
    """Reservation Register CDW10 bits 2:0, RREGA (Base 2.0, 7.3)."""

    REGISTER = 0
    UNREGISTER = 1
    REPLACE = 2


class ResvPtpl(IntEnum):
    """Reservation Register CDW10 bits 31:30, CPTPL: persistence through power loss."""

    NO_CHANGE = 0
    CLEAR = 2
    SET = 3


class ResvAcquire(IntEnum):
    """Reservation Acquire CDW10 bits 2:0, RACQA (Base 2.0, 7.2)."""

    ACQUIRE = 0
    PREEMPT = 1
    PREEMPT_ABORT = 2


class ResvRelease(IntEnum):
    """Reservation Release CDW10 bits 2:0, RRELA (Base 2.0, 7.4)."""

    RELEASE = 0
    CLEAR = 1


class ResvType(IntEnum):
    """Reservation type, RTYPE (Base 2.0, 8.19)."""

    NONE = 0
    WRITE_EXCLUSIVE = 1
    EXCLUSIVE_ACCESS = 2
    WRITE_EXCLUSIVE_REGISTRANTS = 3
    EXCLUSIVE_ACCESS_REGISTRANTS = 4
    WRITE_EXCLUSIVE_ALL = 5
    EXCLUSIVE_ACCESS_ALL = 6


class ResvNotice(IntEnum):
    """Type of a Reservation Notification log page (Base 2.0, 5.16.1.24), and its bit of feature 82h."""

    EMPTY = 0
    REGISTRATION_PREEMPTED = 1
    RESERVATION_RELEASED = 2
    RESERVATION_PREEMPTED = 3


PAGE_SIZE = 0x1000
SQE_BYTES = 0x40
CQE_BYTES = 0x10
NSID_ALL = 0xFFFFFFFF
NSSR_MAGIC = 0x4E564D65  # "NVMe": writing it to NSSR resets the subsystem

# CC fields
CC_EN = 1
CC_CSS_SHIFT = 4
CC_CSS_ALL = 6  # all command sets, not NVM alone
CC_MPS_SHIFT = 7
CC_AMS_SHIFT = 0xB
CC_SHN_SHIFT = 0xE
CC_IOSQES_SHIFT = 0x10
CC_IOCQES_SHIFT = 0x14
CC_CRIME = 0x1000000
CC_AMS_RR = 0
CC_AMS_WRRU = 1
CC_SHN_NORMAL = 1
CC_SHN_ABRUPT = 2

# CSTS fields
CSTS_RDY = 1
CSTS_CFS = 2
CSTS_SHST_SHIFT = 2
CSTS_SHST_MASK = 0xC
CSTS_NSSRO = 0x10
CSTS_PP = 0x20
STATUS_CODE_MASK = 0x7FF  # {SCT, SC}
STATUS_CRD_SHIFT = 0xB
STATUS_MORE = 0x2000
STATUS_DNR = 0x4000

# Optional asynchronous events (OAES), and the same bits of feature ASYNC_EVENT
OAES_NS_ATTR = 0x100

# Optional admin command support (OACS)
OACS_SECURITY = 1
OACS_FORMAT = 2
OACS_FW = 4
OACS_NS_MGMT = 8
OACS_VIRTUAL_MGMT = 0x80

# Optional NVM command support (ONCS)
ONCS_COMPARE = 1
ONCS_WRITE_UNCOR = 2
ONCS_DSM = 4
ONCS_WRITE_ZEROES = 8
ONCS_SAVE_SELECT = 0x10
ONCS_RESERVATIONS = 0x20
ONCS_TIMESTAMP = 0x40
ONCS_VERIFY = 0x80
ONCS_COPY = 0x100

# Commands Supported and Effects entry
EFFECTS_CSUPP = 1
EFFECTS_LBCC = 2
EFFECTS_NCC = 4
EFFECTS_NIC = 8
EFFECTS_CCC = 0x10

# Read / Write CDW12, Write Zeroes CDW12, DSM CDW11
RW_LR = 0x80000000
RW_FUA = 0x40000000
RW_DTYPE_SHIFT = 0x14
WZ_DEAC = 0x2000000
DSM_IDR = 1
DSM_IDW = 2
DSM_AD = 4

# Create I/O queue CDW11
CREATE_Q_PC = 1
CREATE_CQ_IEN = 2
CREATE_SQ_QPRIO_SHIFT = 1
QPRIO_URGENT = 0
QPRIO_HIGH = 1
QPRIO_MEDIUM = 2
QPRIO_LOW = 3
