// SPDX-License-Identifier: Apache-2.0
// main.c with its memory in reach (firmware.h).
#include <string.h>

#define main firmware_main
#include "dispatch/main.c"
#undef main

#include "firmware.h"

struct boot_record boot_record;
const uint32_t serial_number = 1;

void firmware_power_on(uint32_t noise) {
    memset(&drive, 0, sizeof drive);
    memset(functions, 0, sizeof functions);
    memset(waiting, 0, sizeof waiting);
    memset(&buffers, (int)noise, sizeof buffers);
    memset(&boot_record, 0, sizeof boot_record);
#if FUNCTIONS > 1
    memset(&io_waiting, 0, sizeof io_waiting);
    memset(&reservations, 0, sizeof reservations);
#endif
}

bool is_failed(uint32_t place) { return functions[place].life != READY; }
