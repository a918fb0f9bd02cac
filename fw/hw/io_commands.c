// SPDX-License-Identifier: Apache-2.0
#include "hw/io_commands.h"

#include "hw/registers.h"

enum { W_DW0, W_NSID, W_WHO, W_DW10, W_PRP };  // of an entry
#define EDS 31u

static volatile uint32_t* entry(const struct hw_io* io, uint32_t n) { return (*io->ring)[(io->taken + n) & io->last]; }

void hw_io_init(struct hw_io* io, hw_io_ring_t* ring, uint32_t slots) {
    io->ring = ring;
    io->taken = 0;
    io->last = slots > IO_PLACES / 2 ? IO_PLACES - 1 : IO_PLACES / 2 - 1;
    HW->IO_RING = (uint32_t)(uintptr_t)ring;
    HW->IO_DONE = 0;
}

uint32_t hw_io_waiting(const struct hw_io* io) { return (HW->IO_WRITTEN - io->taken) & (2 * IO_PLACES - 1); }

void hw_io_look(const struct hw_io* io, uint32_t n, struct hw_io_command* command) {
    volatile uint32_t* from = entry(io, n);
    uint32_t who = from[W_WHO];
    for (uint32_t i = 0; i < 16; i++) ((volatile uint32_t*)command->cmd.dw)[i] = 0;
    command->cmd.dw[0] = from[W_DW0];
    command->cmd.dw[1] = from[W_NSID];
    command->cmd.dw[10] = from[W_DW10];
    command->cmd.dw[11] = who >> EDS;
    for (uint32_t i = 0; i < 4; i++) command->cmd.dw[6 + i] = from[W_PRP + i];
    command->cmd.function = who & 0xffu;
    command->slot = (uint8_t)(who >> 8);
    command->queue = (uint8_t)(who >> 16);
}

void hw_io_remove(struct hw_io* io, uint32_t n) {
    for (; n; n--) {
        for (uint32_t i = 0; i < IO_ENTRY; i++) entry(io, n)[i] = entry(io, n - 1)[i];
    }
    io->taken = (uint16_t)((io->taken + 1) & (2 * IO_PLACES - 1));
    HW->IO_DONE = io->taken;
}

void hw_io_complete(uint32_t slot, uint32_t status) {
    if (!hw_wait(EV(COMPLETION_IDLE), NEVER)) return;
    HW->COMPLETION_ID = slot << DB_SSD_FW__COMPLETION_ID__SQID_bp;
    HW->COMPLETION_STATUS =
        (status & 0x7fffu) | DB_SSD_FW__COMPLETION_STATUS__IO_bm | DB_SSD_FW__COMPLETION_STATUS__GO_bm;
}

void hw_io_forget(struct hw_io* io, const struct hw_function* f, uint32_t qid, uint32_t cid) {
    for (uint32_t n = 0; n < hw_io_waiting(io);) {
        uint32_t who = entry(io, n)[W_WHO], id = entry(io, n)[W_DW0] >> 16;
        bool its = (who & 0xffu) == f->number && (qid == IO_ANY || (who >> 16 & 0xffu) == f->before_first + qid) &&
                   (cid == IO_ANY || id == cid);
        if (its) {
            hw_io_complete(who >> 8 & 0xffu, ST_ABORT_REQUESTED);
            hw_io_remove(io, n);
        } else {
            n++;
        }
    }
}

void hw_abort_in_namespace(const struct hw_function* f, uint32_t nsid) {
    HW->ABORT = DB_SSD_FW__ABORT__BY_FN_bm | DB_SSD_FW__ABORT__BY_NS_bm | nsid |
                (uint32_t)f->number << DB_SSD_FW__ABORT__KEY_bp | DB_SSD_FW__ABORT__GO_bm;
}

void hw_aborted_command(const struct hw_function* f, uint32_t* qid, uint32_t* cid) {
    uint32_t found = HW->ABORT_FOUND;
    *qid = (found >> DB_SSD_FW__ABORT_FOUND__SQID_bp & 0xffu) - f->before_first;
    *cid = found & 0xffffu;
}
