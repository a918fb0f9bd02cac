// SPDX-License-Identifier: Apache-2.0
// The root complex at the far end of a device's link: takes requests in the order in which they were sent, lets writes
// land in host memory, answers reads, sends the host's own accesses. Requests of the PF for SSDs beside the device go to
// those; they share the device's link with the host, in turn.
#pragma once

#include <deque>

#include "host/domain.h"
#include "host/host_counters.h"
#include "host/interrupts.h"
#include "host/late_answers.h"
#include "host/messages.h"
#include "host/mmio.h"
#include "host/pending_reads.h"
#include "host/read_faults.h"
#include "host/watches.h"
#include "pcie/peers.h"

namespace db {

class RootComplex {
    EndpointContext& x;
    Transmit& tx;
    Receive& rx;
    Link& down;
    Counters<HostCount>& count;
    const u64 read_cycles, timeout_cycles;
    const u32 jitter_cycles;

    bool write(const PostedTlp& p);
    bool deliver(const PostedTlp& p);
    void deliver_kept();
    bool read(const ReadTlp& t);
    void store(u8* dst, const PostedTlp& p);
    u32 cut(u64 addr, u32 left_dw);
    void send_completion();
    void send_again(const RcPacket& answer);
    void send_late();
    void take_requests();
    void end_timed_out();
    bool for_peers(u64 addr, u32 function) const { return peers && !function && peers->takes(addr); }
    /// Not so one that has been reset or taken away: what is still on its way from it, the caller is not to see any more.
    bool has_bus_master(u32 fn) const { return x.bus_master >> fn & 1; }
    bool is_interrupt(u64 addr) const { return addr - x.cfg.msi_base < x.cfg.msi_bytes; }
    bool send_one();
    void send();
    void take_answers();
    bool peers_turn = false;  // of those that want the device's link
    // Writes and interrupts of each function that come behind messages which are not delivered yet; bits: functions that
    // have some, and that have to wait.
    std::deque<PostedTlp> kept[MAX_FN];
    u32 keeps = 0, held = 0;

  public:
    Domains domains;  // by function
    Traffic traffic[MAX_FN];
    Messages messages;
    ReadFaults faults;
    Interrupts interrupts;
    Watches watches;
    PendingReads reads;
    LateAnswers late;
    Mmio mmio;
    Peers* peers = nullptr;

    RootComplex(EndpointContext& context, Transmit& transmit, Receive& receive, Link& down_link,
                HardBlockCounters& hard, Counters<HostCount>& counters);

    void clear();

    /// What has come over the link.
    void receive() {
        if (keeps & ~held) deliver_kept();
        if (tx.request_arrived()) take_requests();
        if (tx.answer_arrived()) take_answers();
    }
    /// What leaves for the device.
    void transmit() {
        if (reads.timed_out()) end_timed_out();
        reads.activate();
        if (reads.ready_count() || mmio.pending() || late.due(x.cycle) || (peers && peers->pending())) send();
    }

    /// A function's next message of the caller's memory; false: none.
    bool next_message(u32 fn, db_msg* out);
    /// Removes a function's regions, and what is on its way to the caller for them. How many there were.
    int unmap(u32 fn, u64 base, u64 size);
    /// Forgets what is on its way from a function to the caller.
    void drop_messages(u32 fn);
    /// The caller has yet to deliver messages of a function: what it writes comes behind them.
    void hold(u32 fn, bool on) { held = (held & ~(1u << fn)) | u32(on) << fn; }
    u32 kept_writes(u32 fn) const { return u32(kept[fn].size()); }
    /// What comes next is the caller's to say, who takes his own time, not that of cycles.
    bool waits_for_caller() const { return keeps || !messages.empty() || reads.any_for_caller(); }

    /// The next request that arrives waits for the caller.
    bool blocked() const {
        return tx.request_on_its_way() && tx.next_is_read() && messages.writes(x.index_of(tx.next_function()));
    }

    u64 next_event() const;
};

}  // namespace db
