// SPDX-License-Identifier: Apache-2.0
// A bus' side of the media's NAND model, if it has one: cycles to the model's picoseconds, and to which of the bus'
// accesses an answer belongs.
#pragma once

#include "media/media.h"

namespace db {

class NandPort {
    Media& media;
    u64 clock_khz;
    u64 at = NEVER;  // cycle in which the model has something to say
    u64 resets = 0;  // its answers from before one are nobody's

  public:
    /// What was asked. An access is known by it, its id and its index among those of that id.
    enum Asked { READ, WRITE, COMMAND };

    NandPort(Media& m, u64 khz) : media(m), clock_khz(khz) {}
    bool there() const { return media.nand != nullptr; }
    u64 next() const { return at; }
    void forget() { ++resets; }

    void read(u64 now, u32 id, u32 index, u64 addr, u32 bytes) {
        media.nand->read(ps(now), tag(READ, id, index), addr - media.begin, bytes);
        look();
    }
    void write(u64 now, u32 id, u32 index, u64 addr, u32 bytes) {
        media.nand->write(ps(now), tag(WRITE, id, index), addr - media.begin, bytes);
        look();
    }
    void flush(u64 now, Asked what, u32 id, u32 index) {
        media.nand->flush(ps(now), tag(what, id, index));
        look();
    }
    void trim(u64 now, u64 addr, u64 bytes) {
        media.nand->trim(ps(now), addr - media.begin, bytes);
        look();
    }

    /// answered(what, id, index) for each answer that is there by now.
    template <class F>
    void take(u64 now, F answered) {
        Nand::Done done;
        media.nand->advance(ps(now));
        while (media.nand->take(ps(now), done))
            if (done.tag >> 40 == resets) answered(Asked(done.tag >> 36 & 0xF), done.tag >> 32 & 1, u32(done.tag));
        look();
    }

  private:
    u64 ps(u64 cycle) const { return u64((unsigned __int128)cycle * 1000000000 / clock_khz); }
    u64 tag(Asked what, u32 id, u32 index) const { return resets << 40 | u64(what) << 36 | u64(id) << 32 | index; }
    void look() {
        const u64 next = media.nand->next();
        at = next == NEVER ? NEVER : u64(((unsigned __int128)next * clock_khz + 999999999) / 1000000000);
    }
};

}  // namespace db
