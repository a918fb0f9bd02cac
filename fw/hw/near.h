// SPDX-License-Identifier: Apache-2.0
// Operators for near-storage commands (docs/csd/near-storage.md), where there are any: the words of functions' programs.
#ifndef HW_NEAR_H
#define HW_NEAR_H

#include <stdint.h>

/// Bit n: there is operator n, NEAR_*. 0: there are none, and what follows says and does nothing.
uint32_t hw_near_operators(void);
/// Pieces that the strings of a Grep may have, all together.
uint32_t hw_near_cells(void);
/// Programs of a function.
uint32_t hw_near_programs(void);

/// Words of a program, at most.
uint32_t hw_near_words(void);

/// The first word of a program: the head of its first operator. 0: there is no such program. The words that come next are
/// those behind it: the operator's, then the head of the next one.
void hw_near_first(uint32_t place, uint32_t which, uint32_t word);
void hw_near_word(uint32_t word);
/// In a head, beside the operator: how many words are its own; another operator gets what it gives.
#define HW_NEAR_WORDS(n) ((uint32_t)(n) << 8)
#define HW_NEAR_MORE (1u << 4)
/// In the first: a command of the program looks at NEAR_LINES_MOST bytes at most.
#define HW_NEAR_LINES (1u << 24)

#endif
