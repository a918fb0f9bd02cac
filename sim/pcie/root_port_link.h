// SPDX-License-Identifier: Apache-2.0
// A root port without its pins: the queues of its hard block, the link behind them, and the drive's side of it. Posted
// requests of the drive and the others have queues and credits of their own, as on any PCIe link: posted ones may pass,
// and are not passed.
#pragma once

#include "common/random.h"
#include "interface/db_host_sim.h"
#include "pcie/drive.h"
#include "pcie/link.h"
#include "pcie/root_port_queues.h"
#include "pcie/stream_out.h"

namespace db {

class RootPortLink : public DrivePort {
    bool damage = false;
    u64 timeout;  // NEVER: none

    u64 wire(Link& l, Kind k, u32 head, u32 payload) {
        return drive->on_wire() ? l.send(cycle, k, head, payload) : cycle;
    }
    void send_down();
    void deliver_down();
    void deliver(const DownRequest& d);
    void send_up();
    void expire();
    UpRequest& request(UpRequest& u, u64 addr, u32 len, u32 type, u32 tag);
    void end_here(u32 tag, u32 code, u32 status);

  protected:
    static constexpr u32 SLOTS = 128, RC_SLOTS = 256, REQUEST_TAGS = 256;

    u64 seq = 0, forgotten = 0;  // forgotten: reads of the core before this one are for nobody
    Ring<DownRequest, SLOTS> requests;
    Ring<DownCompletion, SLOTS> completions;
    Ring<bool, SLOTS * 2> on_way_down;  // true: a completion
    Ring<UpRequest, SLOTS> posted, non_posted;
    Ring<UpCompletion, RC_SLOTS> answers;
    OpenRequest open_request[REQUEST_TAGS] = {};
    u32 open_requests = 0;
    OpenRead open_read[TAGS] = {};
    u32 request_bytes = 0, completion_bytes = 0, posted_bytes = 0;  // that wait for the wire; in the drive's credits
    StreamOut cq, rc;
    bool cq_non_posted = false;  // which queue CQ's packet is in
    u32 np_credit = 0;           // of PG213's counter
    bool drop_wanted = false;
    Rng rng;
    const u32 stall_pct;

    bool stalled() { return stall_pct && rng.below(100) < stall_pct; }
    bool request_room() const {
        return requests.unsent() < cfg.tx_tlps && request_bytes < cfg.tx_bytes && requests.size() < SLOTS - 3;
    }
    bool completion_room() const {
        return completions.unsent() < cfg.tx_tlps && completion_bytes < cfg.tx_bytes && completions.size() < SLOTS - 1;
    }
    void clear_link();
    /// The packet of RQ is in the queue's slot. dw: of payload in it.
    void take_request(const RqRequest& r);
    /// The packet of CC is in the queue's slot and is well formed as far as its length goes.
    void take_completion();
    /// A cycle of the link and the drive.
    void act();
    virtual void show_link(bool on) = 0;

  public:
    const db_host_port& cfg;
    Drive* drive = nullptr;
    u64 cycle = 0;
    bool is_up = false;
    u32 mps = 128, mrrs = 512;
    Link down, up;
    HardBlockCounters hard;
    Counters<RootPortCount> count;

    RootPortLink(u32 index, const db_host_port& port, const db_host_config& host);

    /// Data link up or down. What was on its way is gone; a packet that has begun on CQ or RC is finished.
    void set_link(bool on);

    /// Forgets everything, as by a reset of the hard block.
    virtual void clear() = 0;
    /// Before the edge. True if something moves.
    virtual bool sample() = 0;
    /// Between two edges.
    virtual void update(u64 now) = 0;
    u64 next_event() const;

    // ---- the drive's requests (DrivePort)

    bool room(bool read) const override {
        const auto& q = read ? non_posted : posted;
        return is_up && q.unsent() < cfg.drive_tx && q.size() < SLOTS - 1;
    }
    bool tag_ready(u32 tag) const override { return !open_read[tag].on && !open_read[tag].stale; }
    void write(u64 addr, const u8* data, u32 len) override;
    void read(u64 addr, u32 len, u32 tag) override;
    void answer(u32 tag, u32 status, const u8* data) override;
    void damage_next() override { damage = true; }
    void drop_link() override { drop_wanted = true; }
};

}  // namespace db
