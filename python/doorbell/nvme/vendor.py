# SPDX-License-Identifier: Apache-2.0
"""What Doorbell fixes: BAR 0, vendor commands, codes of operators.

Made by facts/generate.py from facts/doorbell.yaml: change it there.
"""

from enum import IntEnum


class Op(IntEnum):
    """What is done to the data of a command. Codes 6 to 15: operators in folders (rtl/compute/ops)."""

    PASS = 0
    ADD = 1  # 32-bit words: add on write, subtract on read
    AES_CTR = 2  # key size is the slot's
    AES_XTS = 3
    SHA256 = 4
    CRC32C = 5


class MediaHealth(IntEnum):
    """Words of s_media_health. All are as they were when STATE was last asked for after another. Units are of 4 KiB."""

    STATE = 0  # 7:0 spare left and 15:8 its threshold, percent; 23:16 endurance used, percent; bits below
    HOST_LO = 1  # units that the host wrote
    HOST_HI = 2
    MEDIA_LO = 3  # units that were programmed
    MEDIA_HI = 4
    ERASES_LEAST = 5  # of a block
    ERASES_MEAN = 6
    ERASES_MOST = 7
    BAD = 8  # blocks that are bad
    SPARE = 9  # blocks that may become so
    COLLECTIONS = 10  # blocks that were collected


class MediaHealthState(IntEnum):
    """Bits of MediaHealth.STATE."""

    THERE = 0x01000000  # the media has a health
    DEGRADED = 0x02000000  # its reliability is
    READ_ONLY = 0x04000000


class VendorOpc(IntEnum):
    """Vendor specific admin commands of db_csd and db_vcsd; bits 1:0 are the direction of their data."""

    KEY_LOAD = 0xC1
    KEY_ERASE = 0xC4
    BIND = 0xC8
    VIRTUAL_DRIVE = 0xCC  # of db_vcsd
    SSD = 0xD0  # of db_vcsd: who has an SSD
    SLOTS = 0xD4  # of operators for near-storage commands: what is in them, and who may use them
    LOAD_PROGRAM = 0xD5  # of a near-storage command; where there are operators for these


class VendorIoOpc(IntEnum):
    """Vendor specific I/O commands."""

    NEAR = 0x82  # near-storage command (docs/csd/near-storage.md)
    NEAR_STORE = 0x83  # ... whose result is written to blocks, too


class VendorStatus(IntEnum):
    """Vendor specific statuses, of the command specific ones."""

    RESULT_TOO_LARGE = 0xC0  # of a near-storage command: its result buffer is too small
    OPERATOR_NOT_LOADED = 0xC1  # of a near-storage command: its operator is in no slot
    BITSTREAM_REFUSED = 0xC2  # of command D4h; dword 0 says why (SlotError)


class NearOperator(IntEnum):
    """What a program of near-storage commands does: byte 0 of it."""

    NONE = 0
    GREP = 1
    AGGREGATE = 2
    FILTER = 3
    HASH = 4
    CRYPT = 5
    CSV = 6


class ProgramType(IntEnum):
    """Type of programs that the admin command Program Load (85h) takes; vendor specific."""

    NEAR = 0xC0  # program of near-storage commands, as command D5h takes it


class SlotAction(IntEnum):
    """What command D4h does: CDW10 bits 3:0."""

    GET = 0  # what is in the slots
    EXCHANGE = 1  # load a bitstream
    SHARE = 2  # which slots a function may use
    LIBRARY = 3  # where bitstreams are that are loaded when their operators are missed


class SlotError(IntEnum):
    """Why a bitstream was not loaded."""

    OK = 0
    NOT_ONE = 1  # it is none, or too long for where it is
    FOREIGN = 2  # it is for another design
    OTHER = 3  # it is for another slot
    UNKNOWN = 4  # its operator is none that a slot can have
    DAMAGED = 5  # its CRC is wrong
    MEMORY = 6  # card memory could not be read
    CHANGED = 7  # while it was loaded; the slot is empty
    FIXED = 8  # there is no such slot, or what is in it stays


class NearMode(IntEnum):
    """How a Crypt encrypts or decrypts."""

    XTS = 0
    CTR = 1


class NearDigest(IntEnum):
    """What a Hash makes of data."""

    SHA256 = 0
    CRC32C = 1


class NearComparison(IntEnum):
    """What a predicate of a Filter asks of a value: how it is to its number."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    NOT_GREATER = 3
    GREATER = 4
    NOT_LESS = 5


class VirtualDrive(IntEnum):
    """What command CCh does: CDW10 bits 3:0."""

    GET = 0  # where a granule of a namespace is
    CREATE = 1
    GROW = 2
    EXCHANGE = 3  # two namespaces have each other's places


class SsdAction(IntEnum):
    """What command D0h does: CDW10 bits 3:0."""

    GET = 0  # who has it
    HAND_OVER = 1  # its owner hands over a queue pair
    TAKE_BACK = 2
    BRING_UP = 3  # the card is to have it


class SsdOwner(IntEnum):
    """Who has an SSD: bits 2:0 of what command D0h gives."""

    CARD = 0
    LEAVING = 1  # it is being taken back
    NOBODY = 2
    HANDED = 3  # its owner, who has handed over a queue pair
    LOST = 4  # the same, and it has failed


class VendorFeature(IntEnum):
    """Vendor specific features. Of db_csd: what namespaces do that are not bound, and the words of its key."""

    CSD_CONFIG = 0xC0
    CSD_WORD_FIRST = 0xC1  # the key's words; of the adder, the addend
    CSD_WORD_GAP = 0xC9  # not there
    CSD_WORD_IV = 0xCA  # the first of the IV
    CSD_WORD_LAST = 0xCD
    FUNCTION_SHARE = 0xD0  # what a function may have of what all share; CDW11: whose, its CNTLID


class CsdConfig(IntEnum):
    """Values of feature C0h."""

    PASS = 0
    ADD = 1
    AES128 = 2
    AES256 = 8


class VendorLog(IntEnum):
    """Vendor specific log pages: where neither OCP (C0h to CFh) nor nvme-cli's plugins have theirs."""

    MEDIA = 0xEB  # health of media that wear, of every top that has such
    CSD = 0xEC  # what is set
    CSD_RESULTS = 0xED  # what reducers found


BAR_BYTES = 0x4000
BAR_REGISTERS = 0x0000  # of the controller
BAR_DOORBELLS = 0x1000
BAR_MSIX_TABLE = 0x2000
BAR_MSIX_PBA = 0x3000
SETTINGS_PAGES = 32  # 4 KiB each, at the end of the media: what a drive remembers without power
DSM_RANGES = 0x10  # of a Dataset Management, of db_vcsd
MEDIA_FLUSH_SPARED = 0xFF  # address of db_vcsd's flush: SSDs that may fail, a bit each
MEDIA_FLUSH_ZEROED = 0x100  # ... only to SSDs that have zeroed since the last one
FROM_MEMORY = 0x4  # CDW15 of a near-storage command: its data lie in memory
FROM_SGL = 0x8  # ... where the SGL descriptor says that is there
STORE_NSID = 0xFF00  # ... of one that stores: in which namespace; 0: in its own
NEAR_PREDICATES = 4  # of a Filter, at most
NEAR_COLUMNS = 4  # that it chooses, at most
NEAR_RECORD_MOST = 1024  # bytes of its record
NEAR_LINES_MOST = 16384  # bytes that a command looks at, of which a Grep gives the lines, at most
NEAR_CSV_WHOLE = 12  # digits of a Csv's number before its point, at most
NEAR_CSV_DECIMALS = 6  # ... and behind it
FW_REGISTERS = 0x80000000  # regs/db_ssd_fw.rdl
FW_EXTENSION = 0x90000000  # regs/db_csd.rdl, where there are operators
FW_EXTENTS = 0x90000100  # regs/db_vcsd.rdl, of db_vcsd
FW_SSDS = 0x90000200  # regs/db_vcsd_ssds.rdl, of db_vcsd
FW_SLOTS = 0x90000500  # regs/db_csd_slots.rdl, likewise
FW_NEAR = 0x90000400  # regs/db_csd_near.rdl, where there are operators for near-storage commands
