// SPDX-License-Identifier: Apache-2.0
// Bytes that a drive keeps: memory of this process, or a file that is mapped (sparse, locked, written out by sync()).
//
// A file is read through its mapping and written by system calls: these say what is wrong if its disk is full, and leave
// no half of a block when the process ends. One that has failed, or was truncated, is read by system calls too: each page
// of its mapping that faults would cost the process a mapping, and these are numbered.
#pragma once

#include <cstring>
#include <set>
#include <string>

#include "common/page_faults.h"

namespace db {

class Storage {
    int fd = -1;
    std::string name;
    PageFaults faults;
    bool unmapped = false;  // what is mapped is not the file's any more
    std::set<std::string> said;
    bool sync_failed = false;  // once the kernel could not write pages, it has forgotten which

    bool lock(std::string& why);
    bool covers(u64 end);  // is the file so long?
    void say(const std::string& what);
    bool load_from_file(u8* to, u64 at, u64 bytes);
    bool store_in_file(u64 at, const u8* from, u64 bytes);

  public:
    u8* mem = nullptr;
    u64 size = 0;
    std::string trouble;  // for the user, a line, not twice the same; who has passed it on clears it

    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    /// image: a file, or null or "" for memory. bytes 0: as long as the file is. what: a name for error messages.
    bool open(u64 bytes, const char* image, const char* what, std::string& why);
    /// Writes the file out; 0 or -1. Once it could not, all that follow fail: what was written before may be lost, also if
    /// a truncated file is made longer again.
    int sync();
    /// Zeroes, gives the space back; false: outside, or the file fails.
    bool zero(u64 at, u64 bytes);

    /// Copies, within a PageFaults::Guard; false: the file fails.
    bool load(u8* to, u64 at, u64 bytes) {
        if (!unmapped) {
            std::memcpy(to, mem + at, bytes);
            if (!faults.hit(mem + at, bytes)) return true;
            unmapped = true;
        }
        return load_from_file(to, at, bytes);
    }
    /// What of a page is stored at once is there or not, whenever the process ends.
    bool store(u64 at, const u8* from, u64 bytes) {
        if (fd >= 0) return store_in_file(at, from, bytes);
        std::memcpy(mem + at, from, bytes);
        return true;
    }
};

}  // namespace db
