// SPDX-License-Identifier: Apache-2.0
#ifndef FAKE_OPERATORS_H
#define FAKE_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

struct result {
    uint8_t* bytes;
    uint32_t count;
};

// What a program gets of a command.
struct input {
    const uint8_t* data;
    uint32_t bytes;
    uint64_t slba;
    uint32_t lba;    // bytes of a block
    uint32_t phase;  // the upper half of dword 15
};

// A number of the environment.
uint64_t setting(const char* name, uint64_t otherwise);

bool legal_program(const uint8_t* p, uint32_t bytes);
// The status. `which` is the program's number.
int run_program(const uint8_t* p, uint32_t which, const struct input* in, struct result* r);
// What commands of a Hash have brought.
void forget_messages(uint32_t which);

#endif
