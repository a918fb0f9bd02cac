// SPDX-License-Identifier: Apache-2.0
// The firmware's own memory, which its main.c keeps to itself.
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdbool.h>
#include <stdint.h>

/// As power-on leaves it: what is cleared is, what is not has another value in each run.
void firmware_power_on(uint32_t noise);
int firmware_main(void);
/// CSTS.CFS of a function is 1, or it is not enabled.
bool is_failed(uint32_t place);

#endif
