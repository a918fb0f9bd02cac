// SPDX-License-Identifier: Apache-2.0
// When things happen on the channels and dies of NAND media. Time is in picoseconds. Requests come in the order of their
// times; what has ended is told in the order in which it ends. Nothing here depends on how far apart `step` is called.
//
// A die works through its own work in order: moves (reads of collection), programs, erases. Reads of the host go before
// what waits, and suspend what runs where the dies can. A page that is read stays in the register of its plane until that
// plane does something else, so a second read of it costs its transfer alone.
#pragma once

#include <vector>

#include "common/types.h"
#include "nand/geometry.h"

namespace db {

/// A first-in, first-out list that grows to what it has ever held.
template <class T>
class Fifo {
    std::vector<T> items = std::vector<T>(8);
    size_t head = 0, count = 0;

  public:
    bool empty() const { return !count; }
    size_t size() const { return count; }
    T& operator[](size_t i) { return items[(head + i) & (items.size() - 1)]; }
    T& front() { return items[head]; }
    const T& front() const { return items[head]; }
    void push(const T& value) {
        if (count == items.size()) {
            std::vector<T> more(items.size() * 2);
            for (size_t i = 0; i < count; ++i) more[i] = (*this)[i];
            items.swap(more);
            head = 0;
        }
        items[(head + count++) & (items.size() - 1)] = value;
    }
    T pop() {
        T value = items[head];
        head = (head + 1) & (items.size() - 1);
        --count;
        return value;
    }
};

class Timing {
  public:
    enum Kind : u8 { READ, MOVE, PROGRAM, ERASE };
    struct Ended {
        Kind kind;
        u64 tag, time;
    };

    Timing(const Geometry& g, const db_nand_config& c, db_nand_figures& f);

    /// So many bytes of a page to the host.
    void read(u64 now, u32 die, u32 plane, u32 page, u32 bytes, u64 tag);
    /// The die's own work. MOVE: bytes of a page to the controller.
    void work(u64 now, Kind kind, u32 die, u32 plane, u32 bytes, u64 tag);

    u64 next() const { return events.empty() ? NEVER : events.front().time; }
    /// The next event; what it ends is in `ended`.
    void step();
    std::vector<Ended> ended;

    /// Programs and erases that a die has still to do.
    u32 backlog(u32 die) const { return dies[die].backlog; }

  private:
    static constexpr u32 NO_PAGE = 0xFFFFFFFF;
    static constexpr u32 READS_AHEAD = 16;  // that begin before work that waits has its turn
    enum What : u8 { AVAILABLE, SENSED, ARRAY, CHANNEL };
    enum State : u8 { IDLE, TO_DIE, RUNNING, SUSPENDED, MOVING };
    struct Event {
        u64 time, order;
        What what;
        u32 index, plane, turn;
        bool operator<(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
    };
    struct Wanted {  // by the host
        u32 page, bytes;
        u64 tag;
    };
    struct Work {
        Kind kind;
        u32 plane, bytes;
        u64 tag;
    };
    struct Plane {
        Fifo<Wanted> waiting;
        u32 page = NO_PAGE;  // in the register, or on its way to it
        bool sensing = false;
        u32 leaving = 0;  // transfers of that page that have not ended
    };
    struct Die {
        std::vector<Plane> planes;
        Fifo<Work> work;
        Work now = {};
        State state = IDLE;
        u64 from = 0;           // no read begins before it: a suspension takes its time
        u64 end = 0, left = 0;  // of what runs, of what is suspended
        u32 suspensions = 0, turn = 0, backlog = 0;
        u32 ahead = 0;  // reads that have begun before work that waits
    };
    struct Transfer {
        Kind kind;
        u32 die, plane, bytes;
        u64 tag;
    };
    struct Channel {
        Fifo<Transfer> waiting;
        bool busy = false;
        Transfer now = {};
    };

    const Geometry& g;
    db_nand_figures& f;
    u64 read_ps, program_ps, erase_ps, suspend_ps, byte_fs;
    u32 most_suspensions;
    bool plane_reads;
    std::vector<Die> dies;
    std::vector<Channel> channels;
    std::vector<Event> events;
    u64 order = 0;

    void at(u64 time, What what, u32 index, u32 plane = 0, u32 turn = 0);
    void transfer(u64 now, const Transfer& t);
    void begin_transfer(u64 now, u32 channel);
    void end_transfer(u64 now, u32 channel);
    void send_page(u64 now, u32 die, u32 plane);
    bool reads_wait(const Die& d) const;
    bool planes_rest(const Die& d) const;
    void begin_reads(u64 now, u32 die);
    void run(u64 now, u32 die, u64 time);
    void end_array(u64 now, u32 die);
    void look(u64 now, u32 die);
};

}  // namespace db
