// SPDX-License-Identifier: Apache-2.0
// Bytes that a drive keeps: memory of this process, or a file that is mapped (sparse, locked, written out by sync()).
#pragma once

#include <string>

#include "common/types.h"

namespace db {

class Storage {
    int fd = -1;

  public:
    u8* mem = nullptr;
    u64 size = 0;

    Storage() = default;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    /// image: a file, or null or "" for memory. bytes 0: as long as the file is. what: a name for error messages.
    bool open(u64 bytes, const char* image, const char* what, std::string& why);
    /// Writes the file out; 0 or -1.
    int sync();
    /// Zeroes, gives the space back; false: outside.
    bool zero(u64 at, u64 bytes);
};

}  // namespace db
