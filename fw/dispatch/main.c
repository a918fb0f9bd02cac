// SPDX-License-Identifier: Apache-2.0
// The memory, all of it, and the first steps.
#include "commands/identify.h"
#include "dispatch/controller.h"
#include "dispatch/dispatcher.h"
#include "dispatch/functions.h"
#include "dispatch/life.h"

// start.S
extern struct boot_record boot_record;
extern const uint32_t serial_number;

// The linker takes variables from these two sections alone: nothing else remembers anything.
#define INSTANCE __attribute__((section(".bss.instance")))
#define KEPT __attribute__((section(".kept")))        // only power takes it away: as it was before a second start
#define SCRATCH __attribute__((section(".scratch")))  // written before it is read; not cleared

static struct drive drive INSTANCE;
static struct function functions[FUNCTIONS] INSTANCE;
static struct waiting waiting[FUNCTIONS] INSTANCE;
static struct buffers buffers SCRATCH;
#if FUNCTIONS > 1
static struct io_waiting io_waiting INSTANCE;
static struct reservations reservations KEPT;
static hw_ring_t ring __attribute__((aligned(1024), section(".rings")));
// The RAM ends behind as many places as there are slots, or 128.
static hw_io_ring_t io_ring __attribute__((aligned(2048), section(".rings.io")));
#else
static hw_ring_t ring __attribute__((aligned(2048), section(".scratch.ring")));  // first, as it is aligned so far
#endif

int main(void) {
    drive.serial = serial_number;
    drive.boot = &boot_record;
    drive.buffers = &buffers;
    drive.commands = admin_commands;
    drive.functions = functions;
    hw_init(&drive.hw, &ring);
#if FUNCTIONS > 1
    hw_io_init(drive.io, &io_ring, drive.hw.num_cmds);
    *drive.reservations = &reservations;
    resv_init(&drive);
#endif
    if (drive.hw.num_fn > FUNCTIONS) drive.hw.num_fn = FUNCTIONS;
    resources_init(&drive);
    drive.started_at = hw_time();
    if (drive.hw.restarted) controller_settle(&drive);
#if EXTENTS
    hw_extents(&drive.extents->hw);
#endif
    store_load(&drive);
    if (!drive.hw.restarted) {
        boot_record.power_cycles++;
        boot_record.unsafe_shutdowns += boot_record.in_use;
        boot_record.in_use = 0;
    }
    operators_restore(&drive);
    namespaces_init(&drive);
    if (EXTENTS) extents_restore(&drive);
    identify_init(&drive);
    for (uint32_t i = 0; i < drive.hw.num_fn; i++) life_reset_state(&drive, &functions[i]);
#if FUNCTIONS > 1
    functions_loop(&drive, waiting, &io_waiting, &ring);
#else
    controller_loop(&drive, waiting, &ring);
#endif
}
