// SPDX-License-Identifier: Apache-2.0
#include "dispatch/io_commands.h"

#include "commands/reservations.h"
#include "hw/io_commands.h"

/// False: it waits.
static bool step(struct io_waiting* io, uint32_t* wake, bool* poll) {
    struct function* fn = io->of.fn;
    uint32_t others = fn->wake;
    fn->wake = 0;
    if (!io->of.saving) store_page_taken(&io->of.drive->store);
    uint32_t status = reservation_command(&io->of);
    if (status == WAIT && fn->wake) *wake |= fn->wake;
    else if (status == WAIT) *poll = true;
    fn->wake = others;
    io->there = status == WAIT && (io->of.step || io->of.saving);
    if (status != WAIT) hw_io_complete(io->slot, status);
    return status != WAIT;
}

bool io_commands_turn(struct drive* drive, struct io_waiting* io, uint32_t* wake, bool* poll) {
    if (io->there) return step(io, wake, poll);
    uint32_t busy = 0, count = hw_io_waiting(drive->io);
    for (uint32_t n = 0; n < count; n++) {
        struct hw_io_command next;
        hw_io_look(drive->io, n, &next);
        uint32_t place = hw_place(next.cmd.function);
        if (place >= drive->hw.num_fn || (busy >> place & 1u) || drive->functions[place].life != READY) continue;
        io->of = (struct request){.drive = drive, .fn = &drive->functions[place], .cmd = next.cmd};
        io->slot = next.slot;
        bool over = step(io, wake, poll);
        if (over || io->there) {
            hw_io_remove(drive->io, n);
            return true;
        }
        busy |= 1u << place;  // its later ones stay behind it
    }
    return false;
}

void io_commands_dismiss(struct drive* drive, const struct function* fn, struct io_waiting* io) {
    hw_io_forget(drive->io, &fn->hw, IO_ANY, IO_ANY);
    if (!io->there || io->of.fn != fn) return;
    io->there = false;
    hw_io_complete(io->slot, ST_ABORT_REQUESTED);
}
