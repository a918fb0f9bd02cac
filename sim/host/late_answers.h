// SPDX-License-Identifier: Apache-2.0
// Completions that come after their read's time limit (DB_FAULT_LATE).
#pragma once

#include "common/ring.h"
#include "common/types.h"

namespace db {

class LateAnswers {
  public:
    struct Answer {
        u64 at, addr;
        u16 dw;
        u8 tag, fn;
    };

    void clear() { waiting.clear(); }
    /// All are late by the same time, so they come in order. Without room it never comes.
    void add(const Answer& a) {
        if (!waiting.full()) waiting.push(a);
    }
    bool due(u64 cycle) const { return !waiting.empty() && waiting.front().at <= cycle; }
    Answer take() {
        const Answer a = waiting.front();
        waiting.pop();
        return a;
    }
    u64 next_event() const { return waiting.empty() ? NEVER : waiting.front().at; }

  private:
    Ring<Answer, 64> waiting;
};

}  // namespace db
