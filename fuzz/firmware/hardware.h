// SPDX-License-Identifier: Apache-2.0
// What stands in for fw/hw when the firmware runs on this machine: functions, host memory, media, queues as a model that holds the
// firmware to what the hardware asks of it, and a script that says what comes next.
#ifndef HARDWARE_H
#define HARDWARE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hw/hw.h"
#include "hw/io_commands.h"

enum { HOST_BYTES = 1 << 16, MEDIA_LINES = 2048, IDENTIFIERS = 1024, ADMIN_INSIDE = FUNCTIONS > 1 ? 8 : 16 };
#define SETTINGS_LINES (SETTINGS_PAGES * PAGE_SIZE / 64u)

/// Bytes that decide; behind their end all are 0.
struct script {
    const uint8_t* at;
    size_t left;
};
uint32_t take8(struct script* script);
uint32_t take32(struct script* script);

struct model_function {
    uint32_t cc, aqa, event;
    uint32_t wants;           // what the host writes to CC as soon as RDY is 0
    bool flr, rdy, ready;     // rdy: CSTS.RDY; ready: its host may send commands
    uint32_t inside;          // admin commands that are not completed
    bool there[IDENTIFIERS];  // ... of these identifiers
    uint8_t opcode[IDENTIFIERS];
    bool sq[256], cq[256];  // I/O queues
};

struct model {
    struct script script;
    struct hw_config config;
    jmp_buf end;  // of a run
    uint64_t time;
    uint32_t burst;                // events that come with the next one
    uint32_t calls, sleeps, idle;  // since the last sleep; sleeps; of them those with nothing to do
    bool ended;                    // the script is
    uint32_t events;               // that stay until they are cleared
    uint32_t next_identifier;
    struct model_function functions[FUNCTIONS];
    cmd_t ring[16];
    uint32_t ring_count;
    struct hw_io_command io[IO_PLACES];
    uint32_t io_count;
    bool io_slot[256];  // a command that the firmware has and has not completed
    uint8_t host[HOST_BYTES];
    uint32_t settings[MEDIA_LINES];  // a word a line of the settings area
    bool media_fails, word_ok, abort_found;
    uint32_t media_busy, abort_busy;  // looks until it is idle
    uint64_t ns_base[MAX_NS + 1], ns_bytes[MAX_NS + 1];
    struct hw_io_error error;
    bool has_error, has_doorbell_error;
    uint32_t watching;
    uint32_t extents[1u << 12];  // places of granules
    uint8_t owners[4];           // of SSDs
};
extern struct model model;

/// The firmware has done what the hardware does not allow, or what a host must never see: a line on stderr, and the end.
_Noreturn void broken(const char* what, uint32_t value);
/// Power on, and run until the script has ended and all is at rest.
void run_firmware(void);
/// The next event of the script. False: it has ended.
bool next_event(void);
/// An admin command of the function at this place, unless it has no more room inside.
void submit(uint32_t place, const uint32_t* dw);
/// The host writes CC.
void write_cc(uint32_t place, uint32_t cc);
void ask_flr(uint32_t place);

#endif
