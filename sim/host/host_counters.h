// SPDX-License-Identifier: Apache-2.0
// What the host around a simulated device counts.
#pragma once

#include "common/counters.h"

namespace db {

#define DB_HOST_COUNTERS(X)                  \
    X(IRQ_LOST, "error.irq_lost")            \
    X(MMIO_TIMEOUT, "error.mmio_timeout")    \
    X(NOT_GRANTED, "error.not_granted")      \
    X(WRITE_UNMAPPED, "host.write_unmapped") \
    X(READ_UNMAPPED, "host.read_unmapped")   \
    X(READS_ANSWERED, "host.reads_answered") \
    X(IRQS, "host.irqs")                     \
    X(MESSAGE_READS, "host.message_reads")   \
    X(MESSAGE_WRITES, "host.message_writes") \
    X(DOORBELLS, "sim.doorbells")
DB_COUNTERS(HostCount, DB_HOST_COUNTERS)

}  // namespace db
