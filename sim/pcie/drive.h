// SPDX-License-Identifier: Apache-2.0
// What stands at the far end of a root port's link: a drive, and what a drive may do with its link.
#pragma once

#include "pcie/tlp.h"

namespace db {

/// The drive's side of its link. Requests leave in the order in which they are given, except that writes pass reads for
/// which there is no credit.
struct DrivePort {
    static constexpr u32 TAGS = 256;
    virtual ~DrivePort() = default;
    virtual bool room(bool read) const = 0;     // one more request fits
    virtual bool tag_ready(u32 tag) const = 0;  // free, with no answer to an older request on its way
    // 1 to MPS bytes (write) or MRRS bytes (read) at any byte address, inside one 4 KiB page.
    virtual void write(u64 addr, const u8* data, u32 len) = 0;
    virtual void read(u64 addr, u32 len, u32 tag) = 0;
    // The end of a request of the host. `data`: whole dwords of a good read, as many as were asked for.
    virtual void answer(u32 handle, u32 status, const u8* data) = 0;
    virtual void damage_next() = 0;  // the next write will be marked as discontinued
    virtual void drop_link() = 0;

    /// A tag that is free at both ends, looked for from `next` on, which moves behind it; TAGS: there is none.
    /// busy(tag): the drive uses it.
    template <class Busy>
    u32 take_tag(u32& next, Busy busy) const {
        for (u32 k = 0; k < TAGS; ++k) {
            const u32 tag = (next + k) % TAGS;
            if (busy(tag) || !tag_ready(tag)) continue;
            next = tag + 1;
            return tag;
        }
        return TAGS;
    }
};

struct Drive {
    DrivePort* port = nullptr;
    u64 now = 0;  // cycle

    virtual ~Drive() = default;
    // False: the drive's own model charges link and latency, and the port charges nothing.
    virtual bool on_wire() const { return true; }
    // Requests of the host. Addresses are dword aligned; each request with a handle ends in exactly one answer().
    virtual void config(u32 handle, u32 target, u32 reg, bool write, u32 data, u8 be) = 0;  // target: bus, dev, fn
    virtual void mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) = 0;
    virtual void mem_read(u32 handle, u64 addr, u32 dw, u8 first_be, u8 last_be) = 0;
    // A completion of a read of this drive: `dw` dwords from dword `at` of the request on.
    virtual void read_data(u32 tag, u32 at, const u8* data, u32 dw, u32 status, bool last) = 0;
    // Who has asked was reset: what has not been answered never is.
    virtual void forget() {}
    virtual void reset() = 0;  // power or hot reset: all that was on its way is gone
    virtual void link(bool up) = 0;
    virtual void step() = 0;             // once a cycle, after `now` has been set
    virtual u64 next_event() const = 0;  // cycle in which step() has something to do if nobody says anything
    virtual bool messages() const { return false; }  // the caller has something to fetch
};

}  // namespace db
