// SPDX-License-Identifier: Apache-2.0
// The host's accesses to BAR 0 of the device's functions: queue towards the link, answers to reads, doorbell pages.
#pragma once

#include "common/ring.h"
#include "host/host_counters.h"
#include "pcie/link.h"
#include "pcie/receive.h"
#include "pcie/transmit.h"

namespace db {

class Mmio {
    static constexpr u32 SLOTS = 1024, TAGS = 64, MAX_BYTES = 64;
    static constexpr u32 NOTHING = ~0u;  // in the doorbell page: nothing was written since we looked
    enum { FREE = 0, WAITING = 1, ANSWERED = 2 };
    struct Request {
        u32 fn, off, len, tag;
        bool write;
        u8 data[MAX_BYTES];
    };
    struct Read {
        int state;  // FREE, WAITING, ANSWERED, or a DB_MMIO_* code
        u32 fn, off, len, dw;
        u64 deadline;
        bool forgotten;  // free when it is answered
        u8 data[MAX_BYTES];
    };

    EndpointContext& x;
    Receive& rx;
    HardBlockCounters& hard;
    Counters<HostCount>& count;
    const u64 timeout;  // NEVER: none
    Ring<Request, SLOTS> requests;
    Ring<Request, TAGS> held;  // reads without a credit, which writes pass
    Read read[TAGS] = {};
    u32 reads_out = 0, next_tag = 0;
    u8* page[MAX_FN] = {};
    u32 pages = 0;  // bits: those that are there
    u32 first = 0;  // the function whose page is looked at first

    void end(Read& m, int state) { m.state = m.forgotten ? int{FREE} : state; }
    void hold_reads();
    bool fits(u32 off, u32 len) const {
        const bool there = !(off & DB_BAR_4) || (x.cmb_log2 && (off & ~DB_BAR_4) + u64(len) <= u64{1} << x.cmb_log2);
        return !requests.full() && len && (off & 3) + len <= MAX_BYTES && there;
    }

  public:
    Mmio(EndpointContext& context, Receive& receive, HardBlockCounters& hard_block, Counters<HostCount>& counters)
        : x(context), rx(receive), hard(hard_block), count(counters),
          timeout(x.cfg.mmio_timeout_ns ? x.cycles(x.cfg.mmio_timeout_ns) : NEVER) {}

    /// Reads that were waiting have timed out.
    void clear();

    // ---- the caller

    int start_write(u32 fn, u32 off, const void* data, u32 len);
    int start_read(u32 fn, u32 off, u32 len);
    int poll(int handle, void* data);
    void forget(int handle);
    void set_page(u32 fn, void* doorbells);
    void forget_page(u32 fn);

    // ---- the link

    bool pending() const { return !requests.empty() || !held.empty(); }
    /// The next access finds room.
    bool may_go() {
        if (rx.has_credits()) hold_reads();
        return (!held.empty() && rx.request_room(true)) ||
               (!requests.empty() && rx.request_room(!requests.front().write));
    }
    /// Puts the next access on the link.
    void send(Link& down);
    /// An answer of the core has come.
    void answer(const AnswerTlp& c);
    /// One has come that is for nobody.
    void nobody_asked() { ++hard.cc[CcError::UNEXPECTED]; }

    // ---- time

    /// What was written to doorbell pages becomes writes. Where there is not room for all, who is left out is the first
    /// next time.
    void look_at_pages() {
        const u32 before = pages & u32(ones(first));
        for (u32 part : {pages & ~before, before}) {
            for (; part; part &= part - 1) {
                const u32 fn = u32(__builtin_ctz(part));
                if (scan_page(fn)) continue;
                first = fn + 1;
                return;
            }
        }
    }
    /// False: there was not room for all of it.
    bool scan_page(u32 fn);
    void expire();
    /// When the next read is given up.
    u64 next_deadline() const;
};

}  // namespace db
