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
    uint32_t fn;  // PCIe function it came from
} cmd_t;

static inline uint32_t cmd_opcode(const cmd_t *c) { return c->dw[0] & 0xffu; }
static inline uint32_t cmd_id(const cmd_t *c) { return c->dw[0] >> 16; }
static inline uint32_t cmd_nsid(const cmd_t *c) { return c->dw[1]; }
static inline uint64_t cmd_prp1(const cmd_t *c) { return (uint64_t)c->dw[7] << 32 | c->dw[6]; }
static inline uint64_t cmd_prp2(const cmd_t *c) { return (uint64_t)c->dw[9] << 32 | c->dw[8]; }

#endif
