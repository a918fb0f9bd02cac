// SPDX-License-Identifier: Apache-2.0
// A port of the switch that a device shares with its SSDs: the link to one of them (that of a root port), what waits in
// the switch each way, and what the host does for the SSD: it gives it its BAR, bus master and sizes of packets. The host
// may own it too (ssd_port_host.cpp): then it reaches its registers, and the SSD the memory that it has mapped.
#pragma once

#include "common/host_memory.h"
#include "interface/db_switch_sim.h"
#include "pcie/receive.h"
#include "pcie/root_port_link.h"
#include "pcie/transmit.h"

namespace db {

#define DB_SSD_PORT_COUNTERS(X) X(STRAY, "error.stray")
DB_COUNTERS(SsdPortCount, DB_SSD_PORT_COUNTERS)

class SsdPort final : public RootPortLink {
    const EndpointContext& x;
    const u64 window, window_bytes;
    const u32 mrrs_code;
    u32 mps_given = 0;  // to the SSD
    u64 configure_at = 0;
    bool configured = false, configuring = false;
    Ring<u8, TAGS> refused;            // reads of the SSD that the switch answers
    u32 read_left[REQUEST_TAGS] = {};  // dwords of the device's reads that it has not got

    template <class Q>
    bool arrived(const Q& q) const {
        return q.head != q.mid && q.front().arrive <= cycle;
    }
    bool in_window(const UpRequest& u) const {
        return u.addr() - window < window_bytes && window_bytes - (u.addr() - window) >= (u.w[2] & 0x7ff) * 4;
    }
    void register_write(u32 reg, u32 value) { drive->config(0, 0, reg, true, value, 15); }
    void configure();
    void set_sizes();
    void drop_refused();
    void answer_refused();
    void reopen_answered();
    void show_link(bool on) override;

    // ---- the host as its owner
    static constexpr u32 HOST_TAG = 255;  // of none of the device's requests to an SSD
    Regions& memory;
    int host_answer = DB_MMIO_BAD;  // DB_MMIO_*, or bytes
    u8 host_data[8] = {};
    Ring<u8, TAGS> host_reads;  // reads of the SSD that the host answers
    bool host_request(u32 off, u32 len, const void* data);
    bool in_memory(const UpRequest& u) { return memory.find(u.addr(), (u.w[2] & 0x7ff) * 4) != nullptr; }
    void store(const UpRequest& u);
    bool take_for_host();
    void take_host_answer();
    void answer_host_reads();
    bool push_answer(u32 tag, u32 status, const u8* data);

  public:
    const u64 bar;
    Counters<SsdPortCount> own;

    SsdPort(u32 index, const db_host_port& port, const db_host_config& host, const db_switch_config& sw,
            u64 window_size, Regions& host_memory, const EndpointContext& context);

    bool present() const { return is_up && configured; }
    bool takes(u64 addr) const { return addr - bar < cfg.bar_bytes; }

    // ---- from the device; false: no room

    bool take_write(const PostedTlp& p);
    bool take_read(const ReadTlp& t);
    bool take_answer(const AnswerTlp& c);

    // ---- for the device, what has come over the link; null: nothing

    bool pending() const { return arrived(posted) || arrived(non_posted) || completion(); }
    /// The oldest request. write_only: no read may go.
    const UpRequest* request(bool write_only);
    void request_sent(const UpRequest& u);
    const UpCompletion* completion() const;
    /// Bytes of the read that end with this part of its answer; `last`: it is the last.
    u32 completion_sent(bool& last);

    // ---- the host as its owner; false: not now

    bool host_write(u32 off, const void* data, u32 len) { return host_request(off, len, data); }
    bool host_read(u32 off, u32 len);
    int host_poll(void* data);

    // ---- life

    void device_reset();
    void link_on();
    void clear() override;
    bool sample() override { return false; }
    void update(u64 now) override;
    u64 next_event() const;

    void answer(u32 tag, u32 status, const u8* data) override {
        if (!configuring) RootPortLink::answer(tag, status, data);
    }
};

}  // namespace db
