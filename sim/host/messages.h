// SPDX-License-Identifier: Apache-2.0
// Accesses of the device to host memory that only the caller can reach, in order, until the caller fetches them.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "common/types.h"

namespace db {

struct Message {
    u64 id, addr;
    u32 len;
    bool write;
    std::vector<u8> data;
};

class Messages {
    std::deque<Message> list;
    u32 write_count = 0;
    u64 next_id = 1;

  public:
    bool empty() const { return list.empty(); }
    /// Writes that the caller has yet to fetch: nothing may overtake them.
    bool writes() const { return write_count != 0; }

    void clear() {
        list.clear();
        write_count = 0;
    }
    void add_write(u64 addr, const u8* first, const u8* end) {
        list.push_back(Message{next_id++, addr, u32(end - first), true, {first, end}});
        ++write_count;
    }
    /// Returns the message's id, under which the caller answers.
    u64 add_read(u64 addr, u32 len) {
        list.push_back(Message{next_id, addr, len, false, {}});
        return next_id++;
    }
    Message take() {
        Message m = std::move(list.front());
        list.pop_front();
        write_count -= m.write;
        return m;
    }
    /// Forgets those for addresses in [base, base + size).
    void drop(u64 base, u64 size) {
        for (size_t i = list.size(); i-- > 0;) {
            if (list[i].addr - base >= size) continue;
            write_count -= list[i].write;
            list.erase(list.begin() + long(i));
        }
    }
};

}  // namespace db
