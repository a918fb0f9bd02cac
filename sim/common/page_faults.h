// SPDX-License-Identifier: Apache-2.0
// Mapped files can go while they are used: one is truncated, or has no room on its disk. The kernel says so by SIGBUS in
// the middle of a copy, which would end the process. In a PageFaults::Guard such a page becomes one of zeros, the copy
// goes on, and who copied asks hit(). A copy that meets none pays one comparison.
#pragma once

#include "common/types.h"

namespace db {

/// Faults that are remembered.
constexpr u32 FAULTS_KEPT = 64;

// What has happened is the process's: a signal has no other way to say something. A simulation may run inside another
// one's library (drives/lib_drive.h), and the signal comes to the handler that was set last, whichever library met it. So
// all libraries share these: they are unique in the process (page_faults.cpp).
extern "C" {
extern const u8* volatile db_fault_at[FAULTS_KEPT];
extern volatile u32 db_faults;
}

class PageFaults {
    u32 seen = db_faults;

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
    bool hit(const u8* from, u64 bytes) { return db_faults != seen && look(from, bytes); }
};

}  // namespace db
