// SPDX-License-Identifier: Apache-2.0
// Fuzz target: what hosts send to the firmware. The script of script.h begins on a drive on which nothing was saved.
#include <string.h>

#include "hardware.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    memset(&model, 0, sizeof model);
    model.script = (struct script){data, size};
    run_firmware();
    return 0;
}
