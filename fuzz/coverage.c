// SPDX-License-Identifier: Apache-2.0
// Coverage of code that gcc has compiled, as libFuzzer wants it: gcc calls a function in each block (-fsanitize-coverage=trace-pc),
// libFuzzer looks at counters, of which each block gets one here.
#include <stdint.h>

void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);
void __wrap___sanitizer_cov_trace_pc(void);

static uint8_t counters[1u << 16];

__attribute__((constructor)) static void begin(void) {
    __sanitizer_cov_8bit_counters_init(counters, counters + sizeof counters);
}

/// The archive of libFuzzer has a function of this name that does nothing: the linker is told to take this one (--wrap).
void __wrap___sanitizer_cov_trace_pc(void) {
    uintptr_t block = (uintptr_t)__builtin_return_address(0);
    counters[block * 0x9e3779b97f4a7c15u >> 48]++;
}
