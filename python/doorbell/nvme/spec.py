# SPDX-License-Identifier: Apache-2.0
"""NVMe constants and structures, written from the NVMe Base Specification 2.0 and NVM Command Set 1.0.

Used by the host driver and by the tests as the reference; `tests/python/test_headers.py` compares everything here with
libnvme's and Linux's headers. Structures are packed little-endian ctypes: `IdCtrl.from_buffer_copy(data)` reads one,
`bytes(entry)` writes one. 128-bit counters are 16-byte arrays: see `u128`.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_uint8, c_uint16, c_uint32, c_uint64
from enum import IntEnum
from typing import NamedTuple

PAGE_SIZE = 4096
SQE_BYTES = 64
CQE_BYTES = 16
NSID_ALL = 0xFFFFFFFF


# ---------------------------------------------------------------------------------------------------- registers


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


class Cap(NamedTuple):
    """Fields of the CAP register (Base 2.0, 3.1.3.1)."""

    mqes: int  # entries - 1 (zero based)
    cqr: int
    ams: int
    to: int  # 500 ms units
    dstrd: int  # doorbell stride is 4 << dstrd bytes
    nssrs: int
    css: int
    bps: int
    cps: int
    mpsmin: int
    mpsmax: int
    pmrs: int
    cmbs: int
    nsss: int
    crms: int  # bit 0 CRWMS, bit 1 CRIMS

    @classmethod
    def decode(cls, v: int) -> Cap:
        def f(low: int, width: int) -> int:
            return (v >> low) & ((1 << width) - 1)

        return cls(f(0, 16), f(16, 1), f(17, 2), f(24, 8), f(32, 4), f(36, 1), f(37, 8), f(45, 1), f(46, 2),
                   f(48, 4), f(52, 4), f(56, 1), f(57, 1), f(58, 1), f(59, 2))


def doorbell_offset(qid: int, is_cq: bool, dstrd: int = 0) -> int:
    """BAR offset of a queue's doorbell (NVMe over PCIe 1.0, 3.1.2)."""
    return Reg.DBS + (2 * qid + int(is_cq)) * (4 << dstrd)


# ------------------------------------------------------------------------------------------------------ opcodes


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


# ------------------------------------------------------------------------------------------------------- status


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


def status_name(status15: int) -> str:
    """Readable name of a 15-bit status field, for messages."""
    code = status15 & STATUS_CODE_MASK
    name = Status(code).name if code in Status._value2member_map_ else f"SCT {code >> 8} SC {code & 0xff:02x}h"
    return name + (" DNR" if status15 & STATUS_DNR else "")


# -------------------------------------------------------------------------- features, log pages, identify selectors


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


# --------------------------------------------------------------------------------------------------- structures


class _Le(ctypes.LittleEndianStructure):
    _pack_ = 1


class Sqe(_Le):
    """Submission queue entry, common command format with PRPs. `flags`: FUSE in bits 1:0, PSDT in bits 7:6."""

    _fields_ = [
        ("opcode", c_uint8), ("flags", c_uint8), ("cid", c_uint16), ("nsid", c_uint32), ("cdw2", c_uint32),
        ("cdw3", c_uint32), ("mptr", c_uint64), ("prp1", c_uint64), ("prp2", c_uint64), ("cdw10", c_uint32),
        ("cdw11", c_uint32), ("cdw12", c_uint32), ("cdw13", c_uint32), ("cdw14", c_uint32), ("cdw15", c_uint32),
    ]


class Cqe(_Le):
    """Completion queue entry. `status`: the phase tag in bit 0, the 15-bit status field above it."""

    _fields_ = [
        ("dw0", c_uint32), ("dw1", c_uint32), ("sqhd", c_uint16), ("sqid", c_uint16), ("cid", c_uint16),
        ("status", c_uint16),
    ]

    @property
    def phase(self) -> int:
        return self.status & 1

    @property
    def status15(self) -> int:
        return self.status >> 1


class PowerState(_Le):
    _fields_ = [
        ("mp", c_uint16), ("rsvd2", c_uint8), ("flags", c_uint8), ("enlat", c_uint32), ("exlat", c_uint32),
        ("rrt", c_uint8), ("rrl", c_uint8), ("rwt", c_uint8), ("rwl", c_uint8), ("idlp", c_uint16),
        ("ips", c_uint8), ("rsvd19", c_uint8), ("actp", c_uint16), ("apws", c_uint8), ("rsvd23", c_uint8 * 9),
    ]


class IdCtrl(_Le):
    """Identify Controller, CNS 01h (Base 2.0, 5.17.2.1)."""

    _fields_ = [
        ("vid", c_uint16), ("ssvid", c_uint16), ("sn", c_char * 20), ("mn", c_char * 40), ("fr", c_char * 8),
        ("rab", c_uint8), ("ieee", c_uint8 * 3), ("cmic", c_uint8), ("mdts", c_uint8), ("cntlid", c_uint16),
        ("ver", c_uint32), ("rtd3r", c_uint32), ("rtd3e", c_uint32), ("oaes", c_uint32), ("ctratt", c_uint32),
        ("rrls", c_uint16), ("rsvd102", c_uint8 * 9), ("cntrltype", c_uint8), ("fguid", c_uint8 * 16),
        ("crdt1", c_uint16), ("crdt2", c_uint16), ("crdt3", c_uint16), ("rsvd134", c_uint8 * 119),
        ("nvmsr", c_uint8), ("vwci", c_uint8), ("mec", c_uint8), ("oacs", c_uint16), ("acl", c_uint8),
        ("aerl", c_uint8), ("frmw", c_uint8), ("lpa", c_uint8), ("elpe", c_uint8), ("npss", c_uint8),
        ("avscc", c_uint8), ("apsta", c_uint8), ("wctemp", c_uint16), ("cctemp", c_uint16), ("mtfa", c_uint16),
        ("hmpre", c_uint32), ("hmmin", c_uint32), ("tnvmcap", c_uint8 * 16), ("unvmcap", c_uint8 * 16),
        ("rpmbs", c_uint32), ("edstt", c_uint16), ("dsto", c_uint8), ("fwug", c_uint8), ("kas", c_uint16),
        ("hctma", c_uint16), ("mntmt", c_uint16), ("mxtmt", c_uint16), ("sanicap", c_uint32),
        ("hmminds", c_uint32), ("hmmaxd", c_uint16), ("nsetidmax", c_uint16), ("endgidmax", c_uint16),
        ("anatt", c_uint8), ("anacap", c_uint8), ("anagrpmax", c_uint32), ("nanagrpid", c_uint32),
        ("pels", c_uint32), ("domainid", c_uint16), ("rsvd358", c_uint8 * 10), ("megcap", c_uint8 * 16),
        ("rsvd384", c_uint8 * 128), ("sqes", c_uint8), ("cqes", c_uint8), ("maxcmd", c_uint16), ("nn", c_uint32),
        ("oncs", c_uint16), ("fuses", c_uint16), ("fna", c_uint8), ("vwc", c_uint8), ("awun", c_uint16),
        ("awupf", c_uint16), ("icsvscc", c_uint8), ("nwpc", c_uint8), ("acwu", c_uint16), ("ocfs", c_uint16),
        ("sgls", c_uint32), ("mnan", c_uint32), ("maxdna", c_uint8 * 16), ("maxcna", c_uint32),
        ("rsvd564", c_uint8 * 204), ("subnqn", c_char * 256), ("rsvd1024", c_uint8 * 768), ("ioccsz", c_uint32),
        ("iorcsz", c_uint32), ("icdoff", c_uint16), ("fcatt", c_uint8), ("msdbd", c_uint8), ("ofcs", c_uint16),
        ("rsvd1806", c_uint8 * 242), ("psd", PowerState * 32), ("vs", c_uint8 * 1024),
    ]


class Lbaf(_Le):
    """LBA format: metadata bytes, log2 of the data bytes, relative performance."""

    _fields_ = [("ms", c_uint16), ("ds", c_uint8), ("rp", c_uint8)]


class IdNs(_Le):
    """Identify Namespace, CNS 00h, NVM command set."""

    _fields_ = [
        ("nsze", c_uint64), ("ncap", c_uint64), ("nuse", c_uint64), ("nsfeat", c_uint8), ("nlbaf", c_uint8),
        ("flbas", c_uint8), ("mc", c_uint8), ("dpc", c_uint8), ("dps", c_uint8), ("nmic", c_uint8),
        ("rescap", c_uint8), ("fpi", c_uint8), ("dlfeat", c_uint8), ("nawun", c_uint16), ("nawupf", c_uint16),
        ("nacwu", c_uint16), ("nabsn", c_uint16), ("nabo", c_uint16), ("nabspf", c_uint16), ("noiob", c_uint16),
        ("nvmcap", c_uint8 * 16), ("npwg", c_uint16), ("npwa", c_uint16), ("npdg", c_uint16), ("npda", c_uint16),
        ("nows", c_uint16), ("mssrl", c_uint16), ("mcl", c_uint32), ("msrc", c_uint8), ("rsvd81", c_uint8 * 11),
        ("anagrpid", c_uint32), ("rsvd96", c_uint8 * 3), ("nsattr", c_uint8), ("nvmsetid", c_uint16),
        ("endgid", c_uint16), ("nguid", c_uint8 * 16), ("eui64", c_uint8 * 8), ("lbaf", Lbaf * 64),
        ("vs", c_uint8 * 3712),
    ]


class IdCtrlNvm(_Le):
    """I/O command set specific Identify Controller, CNS 06h, CSI 0. Size limits: 2**n minimum pages, 0 = none."""

    _fields_ = [
        ("vsl", c_uint8), ("wzsl", c_uint8), ("wusl", c_uint8), ("dmrl", c_uint8), ("dmrsl", c_uint32),
        ("dmsl", c_uint64), ("rsvd16", c_uint8 * 4080),
    ]


class IdNsNvm(_Le):
    """I/O command set specific Identify Namespace, CNS 05h, CSI 0."""

    _fields_ = [
        ("lbstm", c_uint64), ("pic", c_uint8), ("rsvd9", c_uint8 * 3), ("elbaf", c_uint32 * 64),
        ("rsvd268", c_uint8 * 3828),
    ]


class IdNsIndependent(_Le):
    """I/O command set independent Identify Namespace, CNS 08h."""

    _fields_ = [
        ("nsfeat", c_uint8), ("nmic", c_uint8), ("rescap", c_uint8), ("fpi", c_uint8), ("anagrpid", c_uint32),
        ("nsattr", c_uint8), ("rsvd9", c_uint8), ("nvmsetid", c_uint16), ("endgrpid", c_uint16),
        ("nstat", c_uint8), ("rsvd15", c_uint8 * 4081),
    ]


class NsIdDesc(_Le):
    """Header of a namespace identification descriptor; `nidl` bytes of identifier follow. nidt 0 ends the list."""

    _fields_ = [("nidt", c_uint8), ("nidl", c_uint8), ("rsvd2", c_uint8 * 2)]


class CtrlList(_Le):
    """Controller List: Identify CNS 12h and 13h, data of Namespace Attachment."""

    _fields_ = [("num", c_uint16), ("identifier", c_uint16 * 2047)]


class SmartLog(_Le):
    """SMART / Health Information, log page 02h."""

    _fields_ = [
        ("critical_warning", c_uint8), ("temperature", c_uint16), ("avail_spare", c_uint8),
        ("spare_thresh", c_uint8), ("percent_used", c_uint8), ("endu_grp_crit_warn_sumry", c_uint8),
        ("rsvd7", c_uint8 * 25), ("data_units_read", c_uint8 * 16), ("data_units_written", c_uint8 * 16),
        ("host_reads", c_uint8 * 16), ("host_writes", c_uint8 * 16), ("ctrl_busy_time", c_uint8 * 16),
        ("power_cycles", c_uint8 * 16), ("power_on_hours", c_uint8 * 16), ("unsafe_shutdowns", c_uint8 * 16),
        ("media_errors", c_uint8 * 16), ("num_err_log_entries", c_uint8 * 16), ("warning_temp_time", c_uint32),
        ("critical_comp_time", c_uint32), ("temp_sensor", c_uint16 * 8), ("thm_temp1_trans_count", c_uint32),
        ("thm_temp2_trans_count", c_uint32), ("thm_temp1_total_time", c_uint32),
        ("thm_temp2_total_time", c_uint32), ("rsvd232", c_uint8 * 280),
    ]


class ErrorLogEntry(_Le):
    """Error Information, log page 01h, one entry. `status_field`: the phase tag in bit 0."""

    _fields_ = [
        ("error_count", c_uint64), ("sqid", c_uint16), ("cmdid", c_uint16), ("status_field", c_uint16),
        ("parm_error_location", c_uint16), ("lba", c_uint64), ("nsid", c_uint32), ("vs", c_uint8),
        ("trtype", c_uint8), ("rsvd30", c_uint8 * 2), ("cs", c_uint64), ("trtype_spec_info", c_uint16),
        ("rsvd42", c_uint8 * 22),
    ]


class FwSlotLog(_Le):
    """Firmware Slot Information, log page 03h."""

    _fields_ = [("afi", c_uint8), ("rsvd1", c_uint8 * 7), ("frs", (c_char * 8) * 7), ("rsvd64", c_uint8 * 448)]


class EffectsLog(_Le):
    """Commands Supported and Effects, log page 05h."""

    _fields_ = [("acs", c_uint32 * 256), ("iocs", c_uint32 * 256), ("rsvd2048", c_uint8 * 2048)]


class DsmRange(_Le):
    """One range of a Dataset Management command."""

    _fields_ = [("cattr", c_uint32), ("nlb", c_uint32), ("slba", c_uint64)]


def u128(raw: ctypes.Array[c_uint8]) -> int:
    """Value of a 16-byte counter."""
    return int.from_bytes(bytes(raw), "little")
