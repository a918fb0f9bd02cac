// SPDX-License-Identifier: Apache-2.0
// The switch that a device shares with up to 8 SSDs (db_vcsd): requests of the device to an SSD's BAR go there, requests
// of the SSDs to the device's BAR 2 come on its CQ, and answers go back by the requester. Of the host an SSD reaches
// the memory alone that its owner there has mapped for it; unless somebody has, nothing.
#pragma once

#include <memory>
#include <vector>

#include "pcie/peers.h"
#include "switch/ssd_port.h"

namespace db {

class Switch final : public Peers {
    static constexpr u32 FIRST_BUS = 2;  // of the SSDs; the device's is 1, the host's requester ID is 0
    static constexpr u32 BAR_OF_WINDOW = 2, WINDOW_LOG2 = 26;

    EndpointContext& x;
    Transmit& tx;
    Receive& rx;
    Link& down;
    const db_switch_config cfg;
    std::vector<db_host_port> port_cfg;
    std::vector<std::unique_ptr<Drive>> drives;
    std::vector<std::unique_ptr<SsdPort>> ports;
    Regions memory;
    u32 aperture_log2, turn = 0;
    bool starting = false;  // power comes

    /// The one with the BAR at an address, or null.
    SsdPort* at(u64 addr) const;
    bool send_completion(SsdPort& p);
    bool send_request(SsdPort& p);

  public:
    Switch(const db_switch_config& c, const db_host_port* p, u32 n, EndpointContext& context, Transmit& transmit,
           Receive& receive, Link& down_link);
    /// Puts the SSDs behind the ports; false: `why`.
    bool open(std::string& why);

    u32 size() const { return u32(ports.size()); }
    SsdPort& port(u32 i) { return *ports[i]; }
    const SsdPort& port(u32 i) const { return *ports[i]; }
    /// Memory of the host that SSDs reach: of who owns them. -1: it meets another.
    int map(u64 base, u64 size, u8* ptr) { return memory.add(base, size, ptr, true); }
    /// Takes an SSD away, or brings it back.
    void link(u32 i, bool up);

    bool takes(u64 addr) const override { return at(addr) != nullptr; }
    bool write(const PostedTlp& p) override { return at(p.addr())->take_write(p); }
    bool read(const ReadTlp& t) override { return at(t.addr)->take_read(t); }
    bool asked(u32 requester) const override { return !(requester & 0xff) && (requester >> 8) - FIRST_BUS < size(); }
    bool answer(const AnswerTlp& c) override { return ports[(c.requester() >> 8) - FIRST_BUS]->take_answer(c); }

    bool pending() const override;
    bool send() override;

    u32 present() const override;
    u64 bar(u32 peer) const override { return ports[peer]->bar; }
    u32 id(u32 peer) const override { return (FIRST_BUS + peer) << 8; }
    u64 window() const override { return cfg.window_base; }
    u64 pages() const override { return cfg.ssd_pages; }
    u32 left_alone() const override { return u32(cfg.left_alone); }

    void reset(bool power) override;
    void start() override;
    void step() override;
    u64 next_event() const override;
};

}  // namespace db
