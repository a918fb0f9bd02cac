// SPDX-License-Identifier: Apache-2.0
// Whether a model stands still: a cycle has left all of its state as it was, inputs with it, so the next one does too,
// and so on until an input changes.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/types.h"

namespace db {

/// Most models move in most cycles, so one line of the state, where something moved last, is looked at first. All of it
/// is copied and compared where that line has been the same for some cycles; for more of them, the more often in vain.
class Stillness {
    static constexpr size_t LINE = 64;
    static constexpr u32 LEAST = 4, MOST = 1024;  // cycles

    const u8* state;
    size_t size, line = 0;
    std::vector<u8> was;
    u8 line_was[LINE] = {};
    u32 alike = 0, wait = LEAST;
    bool copied = false;

    bool line_moves() {
        const size_t n = std::min(LINE, size - line);
        if (!std::memcmp(line_was, state + line, n)) return false;
        std::memcpy(line_was, state + line, n);
        return true;
    }

  public:
    /// bytes: of the state, in one piece; 0: it is not known, and nothing stands still.
    Stillness(const void* at, size_t bytes) : state(static_cast<const u8*>(at)), size(bytes), was(bytes) {}

    /// After each cycle, when its inputs are set; silent: nothing moves at the model's ports. True: it stands still.
    bool after_cycle(bool silent) {
        if (!silent || !size || line_moves()) {
            alike = 0;
            copied = false;
            return false;
        }
        if (copied) {
            copied = false;
            alike = 0;
            if (!std::memcmp(was.data(), state, size)) {
                wait = LEAST;
                return true;
            }
            line = size_t(std::mismatch(was.begin(), was.end(), state).first - was.begin()) / LINE * LINE;
            line_moves();
            wait = std::min(2 * wait, MOST);
        } else if (++alike >= wait) {
            std::memcpy(was.data(), state, size);
            copied = true;
        }
        return false;
    }
};

}  // namespace db
