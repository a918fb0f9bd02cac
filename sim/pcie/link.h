// SPDX-License-Identifier: Apache-2.0
// One direction of the PCIe link: time on the wire, and what was sent. Time is a whole cycle and a fraction counted in
// `ticks_per_cycle`, chosen so that a byte is a whole number of ticks: rates are exact, nothing drifts.
#pragma once

#include <numeric>

#include "common/types.h"

namespace db {

/// CFG, configuration requests, is only seen at root ports.
enum Kind : u8 { MRD, MWR, CPLD, CPL, KINDS, CFG = KINDS, ALL_KINDS };

/// Bytes around each header and payload: Gen1/2 STP + sequence number + LCRC + END; Gen3 and later STP token + LCRC.
constexpr u32 TLP_FRAME = 8;
/// SDP + 6 + END, or SDP token + 6.
constexpr u32 DLLP_BYTES = 8;

/// Sees each TLP as it goes on the wire: its kind, its bytes, and when the last of them has left, in ticks.
struct LinkWatch {
    virtual void sent(u64 now, Kind k, u32 bytes, u64 end) = 0;

  protected:
    ~LinkWatch() = default;
};

struct Link {
    u64 ticks_per_cycle = 1, ticks_per_byte = 1;
    u64 free_c = 0, free_t = 0;  // from when on the wire is free
    u64 latency = 0;             // cycles
    u32 ack_every = 0, fc_every = 0, ack_n = 0, fc_n = 0;
    Link* back = nullptr;
    LinkWatch* watch = nullptr;
    struct {
        u64 tlps, head, data;
    } n[ALL_KINDS] = {};
    u64 acks = 0, fcs = 0;

    void rate(u64 gen, u64 lanes, u64 khz) {
        static const u64 mt[] = {2500, 5000, 8000, 16000, 32000};
        const u64 num = gen < 3 ? 8 : 128, den = gen < 3 ? 10 : 130;
        const u64 per_cycle = lanes * mt[gen - 1] * 1000 * num, per_byte = den * 8 * khz;
        const u64 g = std::gcd(per_cycle, per_byte);
        ticks_per_cycle = per_cycle / g;
        ticks_per_byte = per_byte / g;
    }

    void restart() {
        free_c = free_t = 0;
        ack_n = fc_n = 0;
    }

    void occupy(u64 now, u32 bytes) {
        if (free_c < now) {
            free_c = now;
            free_t = 0;
        }
        free_t += bytes * ticks_per_byte;
        if (free_t >= ticks_per_cycle) {
            const u64 q = free_t / ticks_per_cycle;
            free_c += q;
            free_t -= q * ticks_per_cycle;
        }
    }

    // The far end has one TLP more to acknowledge, and credits to give back if it was a request; completions have
    // infinite credit at both ends, as the specification demands of root complexes and endpoints.
    void far_received(u64 now, Kind k) {
        if (ack_every && ++ack_n >= ack_every) {
            ack_n = 0;
            ++acks;
            occupy(now, DLLP_BYTES);
        }
        if ((k <= MWR || k == CFG) && fc_every && ++fc_n >= fc_every) {
            fc_n = 0;
            ++fcs;
            occupy(now, DLLP_BYTES);
        }
    }

    bool ready(u64 now) const { return free_c <= now; }

    // Puts a TLP on the wire; returns the cycle in which all of it has arrived.
    u64 send(u64 now, Kind k, u32 header_dw, u32 payload) {
        occupy(now, TLP_FRAME + header_dw * 4 + payload);
        ++n[k].tlps;
        n[k].head += TLP_FRAME + header_dw * 4;
        n[k].data += payload;
        if (watch) watch->sent(now, k, TLP_FRAME + header_dw * 4 + payload, free_c * ticks_per_cycle + free_t);
        back->far_received(now, k);
        return free_c + (free_t != 0) + latency;
    }
};

// ---- counters

struct LinkNames {
    const char* kind[ALL_KINDS][3];
    const char *acks, *fcs;
};

#define DB_LINK_KIND_NAMES(way, kind) {way "." kind ".tlps", way "." kind ".header", way "." kind ".payload"}
#define DB_LINK_NAMES(way)                                                                             \
    {{DB_LINK_KIND_NAMES(way, "MRd"), DB_LINK_KIND_NAMES(way, "MWr"), DB_LINK_KIND_NAMES(way, "CplD"), \
      DB_LINK_KIND_NAMES(way, "Cpl"), DB_LINK_KIND_NAMES(way, "Cfg")},                                 \
     way ".ack.bytes",                                                                                 \
     way ".fc.bytes"}

constexpr LinkNames LINK_UP_NAMES = DB_LINK_NAMES("up"), LINK_DOWN_NAMES = DB_LINK_NAMES("down");

/// Calls visit(name, value) for the counters of a link (null: they are 0). kinds: KINDS, or ALL_KINDS at root ports.
template <class Visit>
void each_counter(const Link* l, const LinkNames& names, u32 kinds, Visit& visit) {
    for (u32 k = 0; k < kinds; ++k) {
        visit(names.kind[k][0], l ? l->n[k].tlps : 0);
        visit(names.kind[k][1], l ? l->n[k].head : 0);
        visit(names.kind[k][2], l ? l->n[k].data : 0);
    }
    visit(names.acks, l ? l->acks * DLLP_BYTES : 0);
    visit(names.fcs, l ? l->fcs * DLLP_BYTES : 0);
}

}  // namespace db
