// SPDX-License-Identifier: Apache-2.0
// Media that behave like NAND flash, as their controller sees them: accesses of up to 4 KiB with the times at which they
// are answered. Data is elsewhere. Times are picoseconds and never fall from one call to the next; nothing depends on how
// often `advance` is called.
#pragma once

#include <memory>
#include <string>

#include "nand/ftl.h"

namespace db {

class Nand {
  public:
    struct Done {
        u64 tag, time;
    };

    /// Null and `why` if the description does not do.
    static std::unique_ptr<Nand> make(const db_nand_config& c, u64 bytes, std::string& why);

    // What is asked is answered by `take`, with its tag. An access does not cross 4 KiB.
    void read(u64 now, u64 tag, u64 at, u32 bytes);
    void write(u64 now, u64 tag, u64 at, u32 bytes);
    /// All that was written before is on the flash, or in a buffer that lasts.
    void flush(u64 now, u64 tag);
    /// What lies wholly inside holds no data any more.
    void trim(u64 now, u64 at, u64 bytes);

    void advance(u64 now);
    /// When there will be something to take, or something happens that leads to it; NEVER: nobody waits.
    u64 next() const;
    bool take(u64 now, Done& out);
    /// When the flash does something, whoever waits for it.
    u64 next_work() const { return timing.next(); }

    db_nand_figures figures() const;
    u64 check() const;
    /// Blocks that may become bad, and how many they were; a block is worn that its die cannot spare.
    u32 spare() const { return ftl.blocks.spare(); }
    u32 spare_once() const { return ftl.blocks.spare_once(); }
    bool worn() const { return ftl.blocks.worn(); }

  private:
    static constexpr u32 NOWHERE = 0xFFFFFFFF;
    struct Entry {
        u32 unit = NO_UNIT;  // NO_UNIT: trimmed meanwhile
        u8 sectors = 0;      // bits: those that are here
        bool sent = false;   // to a die
        u64 born = 0;        // how many flushes there had been
    };
    struct Waiting {
        u64 tag;
        u32 unit;
        u8 sectors;
    };
    struct Flush {
        u64 tag, number, left;
    };

    Geometry g;
    db_nand_config config;
    db_nand_figures f = {};
    Timing timing;
    Ftl ftl;
    std::vector<Entry> entries;            // of the write buffer
    std::vector<u32> free;                 // of them
    std::vector<u32> entry_of;             // by unit, or NOWHERE
    Fifo<u32> staged;                      // not sent yet
    Fifo<Waiting> waiting;                 // writes that found no room
    std::vector<Flush> flushes;            // that wait
    std::vector<std::vector<u32>> groups;  // entries of a program under way
    std::vector<u32> free_groups;
    std::vector<u32> page;  // units of the next program
    Fifo<Done> done;
    u64 outstanding = 0;  // answers that are neither given nor in `done`
    u64 flush_number = 0;

    Nand(const Geometry& geometry, const db_nand_config& c);
    void answer(u64 now, u64 tag);
    bool accept(u64 now, u32 unit, u8 sectors);
    void send(u64 now);
    void programmed(u64 now, u32 group);
};

}  // namespace db
