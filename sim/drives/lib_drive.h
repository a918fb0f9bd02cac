// SPDX-License-Identifier: Apache-2.0
// A drive that is another simulation of this kind: db_ssd in its own library, cycle by cycle beside the host. That
// library models its link in both directions, and hands what reaches its root complex over as messages; here nothing
// is charged for a second time. Configuration space, which db_ssd leaves to the hard block, is made here.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "drives/pci_function.h"
#include "interface/db_host_sim.h"
#include "pcie/drive.h"

namespace db {

struct LibDrive final : Drive {
    struct Read {  // of the drive, on its way through the core
        bool on = false;
        u64 id = 0;
        u32 len = 0;
        bool bad = false;
        std::vector<u8> data;
    };
    struct Register {
        bool on = false;
        int handle = 0;  // of the library
    };

    const db_lib_drive f;
    PciFunction pci;
    Read rd[DrivePort::TAGS];
    Register reg[256];
    std::vector<int> nobodys;  // handles of the library that nobody waits for any more
    u32 n_reg = 0, next_tag = 0;
    struct Write {
        u32 off, len;
        u8 data[64];
    };
    std::vector<Write> late;  // found the library's queue full
    bool have = false, link_on = false;
    db_msg msg;
    u64 ran = 0;

    LibDrive(const db_host_port& p, u64 khz) : f(p.lib) {
        pci.bar_bytes = BAR_BYTES;
        pci.bar64 = p.bar64;
        pci.mps_cap = p.drive_mps_cap_code;
        pci.gen = p.gen;
        pci.lanes = p.lanes;
        pci.crs = ns_to_cycles(p.crs_ns, khz);
        pci.device = PciFunction::DB_SSD;
    }

    bool on_wire() const override { return false; }

    void apply() { f.set_cfg(f.sim, 0, pci.bus_master(), 0, 0, 1, int(pci.mps()), int(pci.mrrs())); }

    void reset() override {
        pci.reset(now);
        f.reset(f.sim);
        for (Read& r : rd) r.on = false;
        forget();
        late.clear();
        have = false;
        apply();
    }

    void forget() override {
        for (Register& r : reg) {
            if (r.on) nobodys.push_back(r.handle);
            r.on = false;
        }
        n_reg = 0;
    }
    // Each is free again when it has been polled.
    void give_back() {
        u8 data[64];
        auto answered = [&](int h) { return f.mmio_poll(f.sim, h, data) != DB_MMIO_PENDING; };
        nobodys.erase(std::remove_if(nobodys.begin(), nobodys.end(), answered), nobodys.end());
    }

    void link(bool up) override {
        link_on = up;
        reset();
    }

    void config(u32 handle, u32 target, u32 at, bool write, u32 data, u8 be) override {
        const bool flr = pci.request(*port, now, handle, target, at, write, data, be);
        if (flr) reset();
        else if (write) apply();
    }

    void mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) override {
        if (!pci.hits(addr, dw * 4) || dw > 16 || !first_be) return;
        const u8 lbe = dw == 1 ? first_be : last_be;
        const u32 lead = u32(__builtin_ctz(first_be)), trail = lbe ? u32(__builtin_clz(u32(lbe))) - 28 : 4;
        Write w{u32(addr - pci.bar()) + lead, dw * 4 - lead - trail, {}};
        std::memcpy(w.data, data + lead, w.len);
        late.push_back(w);
        flush();
    }

    void flush() {
        u32 done = 0;
        while (done < late.size() && !f.mmio_write(f.sim, 0, late[done].off, late[done].data, late[done].len)) ++done;
        if (done) late.erase(late.begin(), late.begin() + done);
    }

    void mem_read(u32 handle, u64 addr, u32 dw, u8, u8) override {
        if (!pci.hits(addr, dw * 4) || dw > 16) return port->answer(handle, UR, nullptr);
        flush();
        const int h = late.empty() ? f.mmio_read(f.sim, 0, u32(addr - pci.bar()), dw * 4) : -1;
        if (h < 0) return port->answer(handle, CA, nullptr);        // more at once than a root port ever has
        if (reg[handle].on) nobodys.push_back(reg[handle].handle);  // the host has given that one up
        else ++n_reg;
        reg[handle] = Register{true, h};
    }

    void read_data(u32 tag, u32 at, const u8* data, u32 dw, u32 status, bool last) override {
        Read& r = rd[tag];
        if (!r.on) return;
        if (status) r.bad = true;
        else std::memcpy(r.data.data() + at * 4, data, std::min(dw * 4, r.len - at * 4));
        if (!last) return;
        r.on = false;
        f.dma_complete(f.sim, r.id, r.bad ? nullptr : r.data.data(), r.len);
    }

    // What has come over the drive's link: to the core.
    void pump() {
        for (;;) {
            if (!have) have = f.dma_next(f.sim, 0, &msg);
            if (!have || !port->room(!msg.write)) return;
            if (msg.write) {
                port->write(msg.addr, msg.data, msg.len);
            } else {
                const u32 tag = port->take_tag(next_tag, [&](u32 t) { return rd[t].on; });
                if (tag == DrivePort::TAGS) return;
                Read& r = rd[tag];
                r.on = true;
                r.bad = false;
                r.id = msg.id;
                r.len = msg.len;
                r.data.assign(msg.len, 0);
                port->read(msg.addr, msg.len, tag);
            }
            have = false;
        }
    }

    void step() override {
        const u64 behind = now > ran ? now - ran : 0;
        ran = now;
        if (!link_on) return;
        if (!late.empty()) flush();
        // after a jump (nothing was under way) time catches up; else this is one cycle
        if (behind) f.run(f.sim, behind, 0);
        pump();
        if (!nobodys.empty()) give_back();
        if (!n_reg) return;
        for (u32 h = 0; h < 256; ++h) {
            if (!reg[h].on) continue;
            u8 data[64];
            const int n = f.mmio_poll(f.sim, reg[h].handle, data);
            if (n == DB_MMIO_PENDING) continue;
            reg[h].on = false;
            --n_reg;
            port->answer(h, n < 0 ? u32(UR) : u32(SC), data);
        }
    }

    u64 next_event() const override {
        if (!link_on) return NEVER;
        return have || n_reg || !late.empty() || !f.idle(f.sim) ? now : NEVER;
    }
};

}  // namespace db
