// SPDX-License-Identifier: Apache-2.0
// Fuzz target: what is in the settings area at power-on. The first byte says of each copy whether its magic, count and checksum are
// made right, which no random bytes would be; then come how many words it has, and they; the rest is a script.
#include <string.h>

#include "hardware.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { COPY_LINES = MEDIA_LINES / 2, W_MAGIC = 0, W_SEQUENCE, W_COUNT, W_CRC, W_FIRST };
#define MAGIC (EXTENTS ? 0x32584244u : 0x32534244u)

/// CRC-32C bit by bit: of the sequence number, the count and the words.
static uint32_t checksum(const uint32_t* words) {
    uint32_t sum = ~0u;
    for (uint32_t i = W_SEQUENCE; i < W_FIRST + words[W_COUNT]; i++) {
        if (i == W_CRC) continue;
        sum ^= words[i];
        for (uint32_t bit = 0; bit < 32; bit++) sum = sum >> 1 ^ (sum & 1u ? 0x82f63b78u : 0);
    }
    return ~sum;
}

static void fill(struct script* s, uint32_t* words, uint32_t how) {
    uint32_t count = take8(s) | (how & 2u ? 256u : 0);
    for (uint32_t i = 0; i < W_FIRST + count; i++) words[i] = how & 4u ? take32(s) : take8(s);
    if (!(how & 1u)) return;
    words[W_MAGIC] = MAGIC;
    words[W_COUNT] = count;
    words[W_CRC] = checksum(words);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    memset(&model, 0, sizeof model);
    model.script = (struct script){data, size};
    uint32_t how = take8(&model.script);
    fill(&model.script, model.settings, how);
    if (how & 8u) fill(&model.script, model.settings + COPY_LINES, how >> 4);
    run_firmware();
    return 0;
}
