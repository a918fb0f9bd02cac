// SPDX-License-Identifier: Apache-2.0
// I/O commands that are the firmware's work: where there are several functions, those of reservations. The hardware has
// checked their namespace, and writes them into a ring; each has a slot until hw_io_complete.
#ifndef HW_IO_COMMANDS_H
#define HW_IO_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nvme.h"
#include "hw/hw.h"

#define IO_PLACES 256u   // a place for each slot; 128 of them where there are no more slots
#define IO_ENTRY 8u      // words
#define IO_ANY 0x10000u  // of queues, of identifiers: each

/// 2048-byte aligned.
typedef volatile uint32_t hw_io_ring_t[IO_PLACES][IO_ENTRY];

struct hw_io {
    hw_io_ring_t* ring;
    uint16_t taken;  // so many have left the ring
    uint16_t last;   // of its places
};

struct hw_io_command {
    cmd_t cmd;  // dwords 0, 1, 6 to 10, bit 0 of dword 11
    uint8_t slot, queue;
};

void hw_io_init(struct hw_io* io, hw_io_ring_t* ring, uint32_t slots);
uint32_t hw_io_waiting(const struct hw_io* io);
/// The one behind `n` others. It stays.
void hw_io_look(const struct hw_io* io, uint32_t n, struct hw_io_command* command);
/// It leaves the ring.
void hw_io_remove(struct hw_io* io, uint32_t n);
/// Its end. Of a command that was aborted: no entry is made.
void hw_io_complete(uint32_t slot, uint32_t status);
/// Those of a function that wait, of its queue `qid` or IO_ANY, with identifier `cid` or IO_ANY, have been aborted: nothing
/// is done for them.
void hw_io_forget(struct hw_io* io, const struct hw_function* f, uint32_t qid, uint32_t cid);

/// Abort a command of the function in a namespace, if there is one: its queue as the host calls it, and its identifier, when
/// hw_abort_idle and hw_abort_found say so.
void hw_abort_in_namespace(const struct hw_function* f, uint32_t nsid);
void hw_aborted_command(const struct hw_function* f, uint32_t* qid, uint32_t* cid);

#endif
