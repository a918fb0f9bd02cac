// SPDX-License-Identifier: Apache-2.0
// A program around a fuzz target of C, which has libFuzzer's options.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int LLVMFuzzerRunDriver(int* count, char*** arguments, int (*target)(const uint8_t* data, size_t size));

int main(int count, char** arguments) { return LLVMFuzzerRunDriver(&count, &arguments, LLVMFuzzerTestOneInput); }
