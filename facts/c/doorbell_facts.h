// SPDX-License-Identifier: Apache-2.0
// Made by facts/generate.py from facts/doorbell.yaml: change it there.
#ifndef DOORBELL_FACTS_H
#define DOORBELL_FACTS_H

// What is done to the data of a command. Codes 6 to 15: operators in folders (rtl/compute/ops).
enum {
    OP_PASS = 0,
    OP_ADD = 1,  // 32-bit words: add on write, subtract on read
    OP_AES_CTR = 2,  // key size is the slot's
    OP_AES_XTS = 3,
    OP_SHA256 = 4,
    OP_CRC32C = 5,
};

// Words of s_media_health. All are as they were when STATE was last asked for after another. Units are of 4 KiB.
enum {
    MEDIA_HEALTH_STATE = 0,  // 7:0 spare left and 15:8 its threshold, percent; 23:16 endurance used, percent; bits below
    MEDIA_HEALTH_HOST_LO = 1,  // units that the host wrote
    MEDIA_HEALTH_HOST_HI = 2,
    MEDIA_HEALTH_MEDIA_LO = 3,  // units that were programmed
    MEDIA_HEALTH_MEDIA_HI = 4,
    MEDIA_HEALTH_ERASES_LEAST = 5,  // of a block
    MEDIA_HEALTH_ERASES_MEAN = 6,
    MEDIA_HEALTH_ERASES_MOST = 7,
    MEDIA_HEALTH_BAD = 8,  // blocks that are bad
    MEDIA_HEALTH_SPARE = 9,  // blocks that may become so
    MEDIA_HEALTH_COLLECTIONS = 10,  // blocks that were collected
};

// Bits of MediaHealth.STATE.
enum {
    MEDIA_STATE_THERE = 0x01000000,  // the media has a health
    MEDIA_STATE_DEGRADED = 0x02000000,  // its reliability is
    MEDIA_STATE_READ_ONLY = 0x04000000,
};

// Vendor specific admin commands of db_csd and db_vcsd; bits 1:0 are the direction of their data.
enum {
    ADMIN_OPC_KEY_LOAD = 0xc1,
    ADMIN_OPC_KEY_ERASE = 0xc4,
    ADMIN_OPC_BIND = 0xc8,
    ADMIN_OPC_VIRTUAL_DRIVE = 0xcc,  // of db_vcsd
    ADMIN_OPC_SSD = 0xd0,  // of db_vcsd: who has an SSD
    ADMIN_OPC_SLOTS = 0xd4,  // of operators for near-storage commands: what is in them, and who may use them
    ADMIN_OPC_LOAD_PROGRAM = 0xd5,  // of a near-storage command; where there are operators for these
};

// Vendor specific I/O commands.
enum {
    OPC_NEAR = 0x82,  // near-storage command (docs/csd/near-storage.md)
    OPC_NEAR_STORE = 0x83,  // ... whose result is written to blocks, too
};

// Vendor specific statuses, of the command specific ones.
enum {
    SC_RESULT_TOO_LARGE = 0xc0,  // of a near-storage command: its result buffer is too small
    SC_OPERATOR_NOT_LOADED = 0xc1,  // of a near-storage command: its operator is in no slot
    SC_BITSTREAM_REFUSED = 0xc2,  // of command D4h; dword 0 says why (SlotError)
};

// What a program of near-storage commands does: byte 0 of it.
enum {
    NEAR_NONE = 0,
    NEAR_GREP = 1,
    NEAR_AGGREGATE = 2,
    NEAR_FILTER = 3,
    NEAR_HASH = 4,
    NEAR_CRYPT = 5,
    NEAR_CSV = 6,
};

// Type of programs that the admin command Program Load (85h) takes; vendor specific.
enum {
    PROGRAM_TYPE_NEAR = 0xc0,  // program of near-storage commands, as command D5h takes it
};

// What command D4h does: CDW10 bits 3:0.
enum {
    SLOT_GET = 0,  // what is in the slots
    SLOT_EXCHANGE = 1,  // load a bitstream
    SLOT_SHARE = 2,  // which slots a function may use
    SLOT_LIBRARY = 3,  // where bitstreams are that are loaded when their operators are missed
};

// Why a bitstream was not loaded.
enum {
    SLOT_OK = 0,
    SLOT_NOT_ONE = 1,  // it is none, or too long for where it is
    SLOT_FOREIGN = 2,  // it is for another design
    SLOT_OTHER = 3,  // it is for another slot
    SLOT_UNKNOWN = 4,  // its operator is none that a slot can have
    SLOT_DAMAGED = 5,  // its CRC is wrong
    SLOT_MEMORY = 6,  // card memory could not be read
    SLOT_CHANGED = 7,  // while it was loaded; the slot is empty
    SLOT_FIXED = 8,  // there is no such slot, or what is in it stays
};

// How a Crypt encrypts or decrypts.
enum {
    NEAR_XTS = 0,
    NEAR_CTR = 1,
};

// What a Hash makes of data.
enum {
    NEAR_SHA256 = 0,
    NEAR_CRC32C = 1,
};

// What a predicate of a Filter asks of a value: how it is to its number.
enum {
    NEAR_EQUAL = 0,
    NEAR_NOT_EQUAL = 1,
    NEAR_LESS = 2,
    NEAR_NOT_GREATER = 3,
    NEAR_GREATER = 4,
    NEAR_NOT_LESS = 5,
};

// What command CCh does: CDW10 bits 3:0.
enum {
    VIRTUAL_DRIVE_GET = 0,  // where a granule of a namespace is
    VIRTUAL_DRIVE_CREATE = 1,
    VIRTUAL_DRIVE_GROW = 2,
    VIRTUAL_DRIVE_EXCHANGE = 3,  // two namespaces have each other's places
};

// What command D0h does: CDW10 bits 3:0.
enum {
    SSD_GET = 0,  // who has it
    SSD_HAND_OVER = 1,  // its owner hands over a queue pair
    SSD_TAKE_BACK = 2,
    SSD_BRING_UP = 3,  // the card is to have it
};

// Who has an SSD: bits 2:0 of what command D0h gives.
enum {
    SSD_OWNER_CARD = 0,
    SSD_OWNER_LEAVING = 1,  // it is being taken back
    SSD_OWNER_NOBODY = 2,
    SSD_OWNER_HANDED = 3,  // its owner, who has handed over a queue pair
    SSD_OWNER_LOST = 4,  // the same, and it has failed
};

// Vendor specific features. Of db_csd: what namespaces do that are not bound, and the words of its key.
enum {
    FEATURE_CSD_CONFIG = 0xc0,
    FEATURE_CSD_WORD_FIRST = 0xc1,  // the key's words; of the adder, the addend
    FEATURE_CSD_WORD_GAP = 0xc9,  // not there
    FEATURE_CSD_WORD_IV = 0xca,  // the first of the IV
    FEATURE_CSD_WORD_LAST = 0xcd,
    FEATURE_FUNCTION_SHARE = 0xd0,  // what a function may have of what all share; CDW11: whose, its CNTLID
};

// Values of feature C0h.
enum {
    CSD_CONFIG_PASS = 0,
    CSD_CONFIG_ADD = 1,
    CSD_CONFIG_AES128 = 2,
    CSD_CONFIG_AES256 = 8,
};

// Vendor specific log pages: where neither OCP (C0h to CFh) nor nvme-cli's plugins have theirs.
enum {
    LOG_MEDIA = 0xeb,  // health of media that wear, of every top that has such
    LOG_CSD = 0xec,  // what is set
    LOG_CSD_RESULTS = 0xed,  // what reducers found
};

#define BAR_BYTES 0x4000u
#define BAR_REGISTERS 0x0000u  // of the controller
#define BAR_DOORBELLS 0x1000u
#define BAR_MSIX_TABLE 0x2000u
#define BAR_MSIX_PBA 0x3000u
#define SETTINGS_PAGES 32u  // 4 KiB each, at the end of the media: what a drive remembers without power
#define DSM_RANGES 0x10u  // of a Dataset Management, of db_vcsd
#define MEDIA_FLUSH_SPARED 0xffu  // address of db_vcsd's flush: SSDs that may fail, a bit each
#define MEDIA_FLUSH_ZEROED 0x100u  // ... only to SSDs that have zeroed since the last one
#define FROM_MEMORY 0x4u  // CDW15 of a near-storage command: its data lie in memory
#define FROM_SGL 0x8u  // ... where the SGL descriptor says that is there
#define STORE_NSID 0xff00u  // ... of one that stores: in which namespace; 0: in its own
#define NEAR_PREDICATES 4u  // of a Filter, at most
#define NEAR_COLUMNS 4u  // that it chooses, at most
#define NEAR_RECORD_MOST 1024u  // bytes of its record
#define NEAR_LINES_MOST 16384u  // bytes that a command looks at, of which a Grep gives the lines, at most
#define NEAR_CSV_WHOLE 12u  // digits of a Csv's number before its point, at most
#define NEAR_CSV_DECIMALS 6u  // ... and behind it
#define FW_REGISTERS 0x80000000u  // regs/db_ssd_fw.rdl
#define FW_EXTENSION 0x90000000u  // regs/db_csd.rdl, where there are operators
#define FW_EXTENTS 0x90000100u  // regs/db_vcsd.rdl, of db_vcsd
#define FW_SSDS 0x90000200u  // regs/db_vcsd_ssds.rdl, of db_vcsd
#define FW_SLOTS 0x90000500u  // regs/db_csd_slots.rdl, likewise
#define FW_NEAR 0x90000400u  // regs/db_csd_near.rdl, where there are operators for near-storage commands

#endif
