// SPDX-License-Identifier: Apache-2.0
// What the firmware says of the NVMe specifications; the numbers are in facts/.
#ifndef NVME_H
#define NVME_H

#include <stdbool.h>
#include <stdint.h>

#include "doorbell_facts.h"
#include "nvme_facts.h"

#define NVME_VERSION 0x00020000u

// Statuses that commands end with, as in completion dword 3 bits 31:17. DNR: the same command will fail again.
enum {
    ST_SUCCESS = STATUS_SUCCESS,
    ST_DATA_TRANSFER = STATUS_DATA_TRANSFER_ERROR,
    ST_INTERNAL = STATUS_DNR | STATUS_INTERNAL,
    ST_ABORT_REQUESTED = STATUS_ABORT_REQUESTED,
    ST_WRITE_FAULT = STATUS_WRITE_FAULT,
    ST_INVALID_OPCODE = STATUS_DNR | STATUS_INVALID_OPCODE,
    ST_INVALID_FIELD = STATUS_DNR | STATUS_INVALID_FIELD,
    ST_INVALID_NS = STATUS_DNR | STATUS_INVALID_NS,
    ST_NS_WRITE_PROTECTED = STATUS_DNR | STATUS_NS_WRITE_PROTECTED,
    ST_RESV_CONFLICT = STATUS_DNR | STATUS_RESV_CONFLICT,
    ST_HOSTID_FORMAT = STATUS_DNR | STATUS_HOSTID_FORMAT,
    ST_ABORTED_PREEMPT = STATUS_DNR | STATUS_ABORTED_PREEMPT,
    ST_SEQUENCE = STATUS_DNR | STATUS_CMD_SEQ_ERROR,
    ST_PRP_OFFSET = STATUS_DNR | STATUS_INVALID_PRP_OFFSET,
    ST_SGL_SEGMENT = STATUS_DNR | STATUS_SGL_INVALID_LAST,
    ST_SGL_COUNT = STATUS_DNR | STATUS_SGL_INVALID_COUNT,
    ST_SGL_LENGTH = STATUS_DNR | STATUS_SGL_INVALID_DATA,
    ST_SGL_TYPE = STATUS_DNR | STATUS_SGL_INVALID_TYPE,
    ST_SGL_GRANULARITY = STATUS_DNR | STATUS_SGL_INVALID_GRANULARITY,
    ST_KEEP_ALIVE_EXPIRED = STATUS_DNR | STATUS_KAT_EXPIRED,
    ST_CQ_INVALID = STATUS_DNR | STATUS_CQ_INVALID,
    ST_QUEUE_ID = STATUS_DNR | STATUS_QID_INVALID,
    ST_QUEUE_SIZE = STATUS_DNR | STATUS_QUEUE_SIZE,
    ST_ABORT_LIMIT = STATUS_DNR | STATUS_ABORT_LIMIT,
    ST_AER_LIMIT = STATUS_DNR | STATUS_AER_LIMIT,
    ST_VECTOR = STATUS_DNR | STATUS_INVALID_VECTOR,
    ST_INVALID_LOG = STATUS_DNR | STATUS_INVALID_LOG_PAGE,
    ST_INVALID_FORMAT = STATUS_DNR | STATUS_INVALID_FORMAT,
    ST_QUEUE_DELETION = STATUS_DNR | STATUS_INVALID_QUEUE_DELETION,
    ST_NOT_SAVEABLE = STATUS_DNR | STATUS_FEATURE_NOT_SAVEABLE,
    ST_NOT_CHANGEABLE = STATUS_DNR | STATUS_FEATURE_NOT_CHANGEABLE,
    ST_NOT_NS_SPECIFIC = STATUS_DNR | STATUS_FEATURE_NOT_PER_NS,
    ST_NS_CAPACITY = STATUS_DNR | STATUS_NS_INSUFFICIENT_CAP,
    ST_NSID_UNAVAILABLE = STATUS_DNR | STATUS_NSID_UNAVAILABLE,
    ST_NS_ATTACHED = STATUS_DNR | STATUS_NS_ALREADY_ATTACHED,
    ST_NS_NOT_ATTACHED = STATUS_DNR | STATUS_NS_NOT_ATTACHED,
    ST_THIN_PROVISIONING = STATUS_DNR | STATUS_THIN_PROV_NOT_SUP,
    ST_CONTROLLER_LIST = STATUS_DNR | STATUS_CTRL_LIST_INVALID,
    ST_NS_PRIVATE = STATUS_DNR | STATUS_NS_IS_PRIVATE,
    ST_DENIED = STATUS_DNR | STATUS_OPERATION_DENIED,
    ST_CONTROLLER_ID = STATUS_DNR | STATUS_INVALID_CTRL_ID,
    ST_SECONDARY_STATE = STATUS_DNR | STATUS_INVALID_SECONDARY_STATE,
    ST_NUM_RESOURCES = STATUS_DNR | STATUS_INVALID_NUM_RESOURCES,
    ST_RESOURCE_ID = STATUS_DNR | STATUS_INVALID_RESOURCE_ID,
    ST_BITSTREAM_REFUSED = STATUS_DNR | 0x100u | SC_BITSTREAM_REFUSED,
    ST_IOCS_NOT_SUPPORTED = STATUS_DNR | STATUS_IOCS_NOT_SUPPORTED,
    ST_IOCS_REJECTED = STATUS_DNR | STATUS_IOCS_COMBINATION_REJECTED,
};

// Effects of a command that may be executed with no other.
#define EFFECTS_ALONE (2u << 16)

// Fields of CC.
static inline uint32_t cc_en(uint32_t cc) { return cc & CC_EN; }
static inline uint32_t cc_css(uint32_t cc) { return cc >> CC_CSS_SHIFT & 7u; }
static inline uint32_t cc_mps(uint32_t cc) { return cc >> CC_MPS_SHIFT & 15u; }
static inline uint32_t cc_ams(uint32_t cc) { return cc >> CC_AMS_SHIFT & 7u; }
static inline uint32_t cc_shn(uint32_t cc) { return cc >> CC_SHN_SHIFT & 3u; }
static inline uint32_t cc_iosqes(uint32_t cc) { return cc >> CC_IOSQES_SHIFT & 15u; }
static inline uint32_t cc_iocqes(uint32_t cc) { return cc >> CC_IOCQES_SHIFT & 15u; }

// A command.
typedef struct {
    uint32_t dw[16];
    uint32_t function;  // of PCIe, that it came from
} cmd_t;

static inline uint32_t cmd_opcode(const cmd_t* c) { return c->dw[0] & 0xffu; }
static inline bool cmd_to_host(const cmd_t* c) { return c->dw[0] & 2u; }
static inline bool cmd_sgl(const cmd_t* c) { return c->dw[0] & 0xc000u; }  // PSDT; 3 has been refused
static inline uint32_t cmd_id(const cmd_t* c) { return c->dw[0] >> 16; }
static inline uint32_t cmd_nsid(const cmd_t* c) { return c->dw[1]; }
static inline uint64_t cmd_prp1(const cmd_t* c) { return (uint64_t)c->dw[7] << 32 | c->dw[6]; }
static inline uint64_t cmd_prp2(const cmd_t* c) { return (uint64_t)c->dw[9] << 32 | c->dw[8]; }

#endif
