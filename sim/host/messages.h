// SPDX-License-Identifier: Apache-2.0
// Accesses of the device to host memory that only the caller can reach, in order, until the caller fetches them.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "pcie/endpoint_context.h"

namespace db {

struct Message {
    u64 id, addr;
    u32 fn, len;
    bool write;
    std::vector<u8> data;
};

class Messages {
    std::deque<Message> list;
    u32 write_count[MAX_FN] = {};
    u64 next_id = 1;

    template <class Which>
    void drop_if(Which which) {
        for (size_t i = list.size(); i-- > 0;) {
            if (!which(list[i])) continue;
            write_count[list[i].fn] -= list[i].write;
            list.erase(list.begin() + long(i));
        }
    }

  public:
    bool empty() const { return list.empty(); }
    /// Is there one of these functions (bits)?
    bool any(u32 functions) const {
        return std::any_of(list.begin(), list.end(), [=](const Message& m) { return functions >> m.fn & 1; });
    }
    /// Writes of a function that the caller has yet to fetch: nothing of it may overtake them.
    bool writes(u32 fn) const { return write_count[fn] != 0; }

    void clear() {
        list.clear();
        std::fill(write_count, write_count + MAX_FN, 0);
    }
    void add_write(u32 fn, u64 addr, const u8* first, const u8* end) {
        list.push_back(Message{next_id++, addr, fn, u32(end - first), true, {first, end}});
        ++write_count[fn];
    }
    /// Returns the message's id, under which the caller answers.
    u64 add_read(u32 fn, u64 addr, u32 len) {
        list.push_back(Message{next_id, addr, fn, len, false, {}});
        return next_id++;
    }
    /// The oldest of a function into `m`. False: there is none.
    bool take(u32 fn, Message& m) {
        const auto found = std::find_if(list.begin(), list.end(), [=](const Message& x) { return x.fn == fn; });
        if (found == list.end()) return false;
        m = std::move(*found);
        list.erase(found);
        write_count[fn] -= m.write;
        return true;
    }
    /// Forgets those of a function.
    void drop(u32 fn) {
        drop_if([=](const Message& m) { return m.fn == fn; });
    }
    /// The same, of those for addresses in [base, base + size).
    void drop(u32 fn, u64 base, u64 size) {
        drop_if([=](const Message& m) { return m.fn == fn && m.addr - base < size; });
    }
};

}  // namespace db
