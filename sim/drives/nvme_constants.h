// SPDX-License-Identifier: Apache-2.0
// Numbers of NVMe (Base Specification 2.0, NVM Command Set 1.0).
#pragma once

#include "common/types.h"

namespace db::nvme {

// ---- controller registers

constexpr u32 REG_CAP_LO = 0x00, REG_CAP_HI = 0x04, REG_VS = 0x08, REG_INTMS = 0x0c, REG_INTMC = 0x10, REG_CC = 0x14,
              REG_CSTS = 0x1c, REG_AQA = 0x24, REG_ASQ_LO = 0x28, REG_ASQ_HI = 0x2c, REG_ACQ_LO = 0x30,
              REG_ACQ_HI = 0x34;
constexpr u32 VERSION_2_0 = 0x20000;

// CAP: positions of fields in 64 bits
constexpr u32 CAP_CQR = 16, CAP_TO = 24, CAP_DSTRD = 32, CAP_CSS = 37, CAP_MPSMIN = 48, CAP_MPSMAX = 52;

// CC: positions of fields
constexpr u32 CC_EN = 1, CC_CSS = 4, CC_MPS = 7, CC_SHN = 14, CC_IOSQES = 16, CC_IOCQES = 20;
constexpr u32 CC_CSS_MASK = 7, CC_MPS_MASK = 15, CC_SHN_MASK = 3, CC_ENTRY_MASK = 15;

// CSTS
constexpr u32 CSTS_RDY = 1, CSTS_CFS = 2, CSTS_SHST_MASK = 0xc, CSTS_SHST_BUSY = 4, CSTS_SHST_DONE = 8;

constexpr u32 AQA_MASK = 0x0fff0fff, AQA_SIZE_MASK = 0xfff;

// ---- entries

constexpr u32 SQE_BYTES = 64, CQE_BYTES = 16, SQE_BYTES_LOG2 = 6, CQE_BYTES_LOG2 = 4;
/// Command dword 0: fused operation, and PRP or SGL; all 0 is a plain command with PRPs.
constexpr u32 CDW0_FUSE_PSDT_MASK = 0xc300;
constexpr u32 NSID_ALL = ~0u;
constexpr u32 CQE_PHASE = 16, CQE_STATUS = 17;  // positions in dword 3
/// Dword 10 and 11 of Create Queue.
constexpr u32 QUEUE_CONTIGUOUS = 1;
/// Data Set Management: bytes of a range, and "deallocate" in dword 11.
constexpr u32 DSM_RANGE_BYTES = 16, DSM_DEALLOCATE = 4;

// ---- opcodes

constexpr u32 IO_FLUSH = 0x00, IO_WRITE = 0x01, IO_READ = 0x02, IO_WRITE_ZEROES = 0x08, IO_DSM = 0x09,
              IO_VERIFY = 0x0c;
constexpr u32 ADMIN_DELETE_SQ = 0x00, ADMIN_CREATE_SQ = 0x01, ADMIN_GET_LOG_PAGE = 0x02, ADMIN_DELETE_CQ = 0x04,
              ADMIN_CREATE_CQ = 0x05, ADMIN_IDENTIFY = 0x06, ADMIN_ABORT = 0x08, ADMIN_SET_FEATURES = 0x09,
              ADMIN_GET_FEATURES = 0x0a, ADMIN_ASYNC_EVENT = 0x0c;

// ---- Identify

constexpr u32 CNS_NAMESPACE = 0, CNS_CONTROLLER = 1, CNS_ACTIVE_NAMESPACES = 2, CNS_NAMESPACE_DESCRIPTORS = 3;
/// ONCS.
constexpr u32 ONCS_DSM = 0x04, ONCS_WRITE_ZEROES = 0x08, ONCS_VERIFY = 0x80;
/// A namespace's descriptor: type EUI-64, and the length of one.
constexpr u32 DESCRIPTOR_EUI64 = 1, EUI64_BYTES = 8;

// ---- features and log pages

constexpr u32 FEATURE_FIRST = 0x01, FEATURE_NUMBER_OF_QUEUES = 0x07, FEATURE_LAST = 0x0b;
constexpr u32 LOG_ERRORS = 1, LOG_SMART = 2, LOG_FIRMWARE_SLOTS = 3;

// ---- status: status code type << 8 | status code

constexpr u32 STATUS_OK = 0x00, STATUS_INVALID_OPCODE = 0x01, STATUS_INVALID_FIELD = 0x02, STATUS_TRANSFER = 0x04,
              STATUS_ABORTED = 0x07, STATUS_INVALID_NAMESPACE = 0x0b, STATUS_INVALID_PRP_OFFSET = 0x13,
              STATUS_LBA_OUT_OF_RANGE = 0x80, STATUS_INVALID_CQ = 0x100, STATUS_INVALID_QUEUE_ID = 0x101,
              STATUS_INVALID_QUEUE_SIZE = 0x102, STATUS_INVALID_LOG_PAGE = 0x109,
              STATUS_INVALID_QUEUE_DELETION = 0x10c;
/// Status code type of media and data integrity errors.
constexpr u32 STATUS_TYPE_MEDIA = 2;

}  // namespace db::nvme
