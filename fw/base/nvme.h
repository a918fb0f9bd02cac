// SPDX-License-Identifier: Apache-2.0
// Constants of the NVMe Base Specification 2.0 and the NVM Command Set Specification 1.0 that the firmware uses.
#ifndef NVME_H
#define NVME_H

#include <stdint.h>

#define NVME_VERSION   0x00020000u
#define NVME_NSID_ALL  0xffffffffu

// Admin opcodes.
enum {
    ADM_DELETE_SQ    = 0x00,
    ADM_CREATE_SQ    = 0x01,
    ADM_GET_LOG      = 0x02,
    ADM_DELETE_CQ    = 0x04,
    ADM_CREATE_CQ    = 0x05,
    ADM_IDENTIFY     = 0x06,
    ADM_ABORT        = 0x08,
    ADM_SET_FEATURES = 0x09,
    ADM_GET_FEATURES = 0x0a,
    ADM_AER          = 0x0c,
    ADM_NS_MGMT      = 0x0d,
    ADM_NS_ATTACH    = 0x15,
    ADM_KEEP_ALIVE   = 0x18,
    ADM_FORMAT       = 0x80,
    ADM_KEY_LOAD     = 0xc1,  // ours; bits 1:0 are the direction of its data
    ADM_KEY_ERASE    = 0xc4,
    ADM_BIND         = 0xc8,
};

// I/O opcodes, for what is said of them: the hardware executes them.
enum {
    IO_FLUSH = 0x00, IO_WRITE = 0x01, IO_READ = 0x02, IO_COMPARE = 0x05, IO_WRITE_ZEROES = 0x08, IO_DSM = 0x09,
    IO_VERIFY = 0x0c,
};

// Features, log pages, Identify.
enum {
    FEATURE_ARBITRATION = 0x01, FEATURE_POWER = 0x02, FEATURE_TEMPERATURE = 0x04, FEATURE_ERROR_RECOVERY = 0x05,
    FEATURE_WRITE_CACHE = 0x06, FEATURE_QUEUES = 0x07, FEATURE_COALESCING = 0x08, FEATURE_VECTOR = 0x09,
    FEATURE_ATOMICITY = 0x0a, FEATURE_EVENTS = 0x0b, FEATURE_TIMESTAMP = 0x0e, FEATURE_KEEP_ALIVE = 0x0f,
    FEATURE_COMMAND_SETS = 0x19, FEATURE_PROGRESS = 0x80,
    FEATURE_OPERATOR = 0xc0,                                     // ours
    FEATURE_WORD_0 = 0xc1, FEATURE_WORD_7 = 0xc8,                // of a key
    FEATURE_WORD_9 = 0xca, FEATURE_WORD_12 = 0xcd,               // of an initial vector
};
enum {
    LOG_SUPPORTED = 0x00, LOG_ERROR = 0x01, LOG_SMART = 0x02, LOG_FIRMWARE = 0x03, LOG_CHANGED_NS = 0x04,
    LOG_EFFECTS = 0x05, LOG_FEATURES = 0x12, LOG_MI = 0x13,
    LOG_OPERATORS = 0xc0, LOG_RESULTS = 0xc1,                    // ours
};
enum {
    CNS_NAMESPACE = 0x00, CNS_CONTROLLER = 0x01, CNS_ACTIVE = 0x02, CNS_DESCRIPTORS = 0x03, CNS_NAMESPACE_CSI = 0x05,
    CNS_CONTROLLER_CSI = 0x06, CNS_ACTIVE_CSI = 0x07, CNS_NAMESPACE_ANY = 0x08, CNS_ALLOCATED = 0x10,
    CNS_ALLOCATED_NAMESPACE = 0x11, CNS_CONTROLLERS_OF_NS = 0x12, CNS_CONTROLLERS = 0x13, CNS_ALLOCATED_CSI = 0x1a,
    CNS_ALLOCATED_NAMESPACE_CSI = 0x1b, CNS_COMMAND_SETS = 0x1c,
};

// Commands supported and effects: supported, changes data, changes a namespace's capabilities, or which there are,
// serialised. No scopes: they are optional, and Linux warns of an I/O command that has one.
#define CSUPP 1u
#define LBCC  2u
#define NCC   4u
#define NIC   8u
#define ALONE (2u << 16)

// Status: {DNR, M, CRD, SCT, SC} as in completion dword 3 bits 31:17.
#define DNR               0x4000u
#define GENERIC(sc)       (DNR | (sc))
#define SPECIFIC(sc)      (DNR | 0x100u | (sc))
enum {
    ST_SUCCESS            = 0,
    ST_INVALID_OPCODE     = GENERIC(0x01),
    ST_INVALID_FIELD      = GENERIC(0x02),
    ST_DATA_TRANSFER      = 0x04,
    ST_INTERNAL           = 0x06,
    ST_ABORT_REQUESTED    = 0x07,
    ST_INVALID_NS         = GENERIC(0x0b),
    ST_SEQUENCE           = GENERIC(0x0c),
    ST_PRP_OFFSET         = GENERIC(0x13),
    ST_KEEP_ALIVE_EXPIRED = GENERIC(0x17),
    ST_CQ_INVALID         = SPECIFIC(0x00),
    ST_QUEUE_ID           = SPECIFIC(0x01),
    ST_QUEUE_SIZE         = SPECIFIC(0x02),
    ST_AER_LIMIT          = SPECIFIC(0x05),
    ST_VECTOR             = SPECIFIC(0x08),
    ST_INVALID_LOG        = SPECIFIC(0x09),
    ST_INVALID_FORMAT     = SPECIFIC(0x0a),
    ST_QUEUE_DELETION     = SPECIFIC(0x0c),
    ST_NOT_SAVEABLE       = SPECIFIC(0x0d),
    ST_NOT_CHANGEABLE     = SPECIFIC(0x0e),
    ST_NS_CAPACITY        = SPECIFIC(0x15),
    ST_NSID_UNAVAILABLE   = SPECIFIC(0x16),
    ST_NS_ATTACHED        = SPECIFIC(0x18),
    ST_NS_NOT_ATTACHED    = SPECIFIC(0x1a),
    ST_THIN_PROVISIONING  = SPECIFIC(0x1b),
    ST_CONTROLLER_LIST    = SPECIFIC(0x1c),
    ST_IOCS_NOT_SUPPORTED = SPECIFIC(0x29),
    ST_IOCS_REJECTED      = SPECIFIC(0x2b),
    ST_WRITE_FAULT        = 0x280,
};

// Notices that a host may ask for (feature 0Bh), and that Identify Controller promises (OAES).
#define EVENT_NS_ATTRIBUTE (1u << 8)

// CC fields.
#define CC_EN(cc)     ((cc) & 1u)
#define CC_CSS(cc)    ((cc) >> 4 & 7u)
#define CC_MPS(cc)    ((cc) >> 7 & 15u)
#define CC_AMS(cc)    ((cc) >> 11 & 7u)
#define CC_SHN(cc)    ((cc) >> 14 & 3u)
#define CC_IOSQES(cc) ((cc) >> 16 & 15u)
#define CC_IOCQES(cc) ((cc) >> 20 & 15u)

// A command.
typedef struct {
    uint32_t dw[16];
    uint32_t function;  // of PCIe, that it came from
} cmd_t;

static inline uint32_t cmd_opcode(const cmd_t *c) { return c->dw[0] & 0xffu; }
static inline uint32_t cmd_id(const cmd_t *c) { return c->dw[0] >> 16; }
static inline uint32_t cmd_nsid(const cmd_t *c) { return c->dw[1]; }
static inline uint64_t cmd_prp1(const cmd_t *c) { return (uint64_t)c->dw[7] << 32 | c->dw[6]; }
static inline uint64_t cmd_prp2(const cmd_t *c) { return (uint64_t)c->dw[9] << 32 | c->dw[8]; }

#endif
