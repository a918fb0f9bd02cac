// SPDX-License-Identifier: Apache-2.0
// Mapped files can go while they are used: one is truncated, or has no room on its disk. The kernel says so by SIGBUS in
// the middle of a copy, which would end the process. In a PageFaults::Guard such a page becomes one of zeros, the copy
// goes on, and who copied asks hit(). A copy that meets none pays one comparison.
#pragma once

#include "common/types.h"

namespace db {

class PageFaults {
    static volatile u32 total;  // of the process: a signal has no other way to say something
    u32 seen = total;

    bool look(const u8* from, u64 bytes);

  public:
    /// While it lives, this thread's faults are survived.
    class Guard {
      public:
        Guard();
        ~Guard();
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
    };

    /// Has a page of these bytes gone since they were looked at last?
    bool hit(const u8* from, u64 bytes) { return total != seen && look(from, bytes); }
    /// From the handler.
    static void note(const u8* at);
};

}  // namespace db
