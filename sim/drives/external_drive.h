// SPDX-License-Identifier: Apache-2.0
// A drive that the caller plays: requests of the host are messages to fetch and answer; the caller reads and writes
// the window through functions, which this cuts into requests that the link allows.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "interface/db_host_sim.h"
#include "pcie/drive.h"

namespace db {

struct ExternalDrive final : Drive {
    struct Transfer {
        u32 left = 0, len = 0;  // bytes not answered yet
        bool bad = false;
        std::vector<u8> data;
    };
    struct Piece {
        bool write;
        u64 addr;
        u32 len;
        int handle;
        u32 at;
        std::vector<u8> data;
    };
    struct Read {
        bool on = false;
        int handle = 0;
        u32 at = 0, len = 0, lead = 0;
    };

    u32 mps = 128, mrrs = 512, next_tag = 0;
    int next_handle = 1;
    std::deque<db_ext_msg> out;
    u32 pending[256] = {};  // id of the request that waits for an answer under this handle, and its dwords
    u64 id_of[256] = {};
    u64 next_id = 1;
    std::deque<Piece> todo;
    std::map<int, Transfer> transfers;
    Read rd[DrivePort::TAGS];
    bool link_on = false;

    bool messages() const override { return !out.empty(); }

    void message(u32 kind, u64 addr, u32 len, u32 target, const u8* data, int handle) {
        out.emplace_back();
        db_ext_msg& m = out.back();
        m.id = next_id++;
        m.addr = addr;
        m.kind = kind;
        m.len = len;
        m.target = target;
        if (data) std::memcpy(m.data, data, std::min<u32>(len, sizeof m.data));
        if (handle >= 0) {
            id_of[handle] = m.id;
            pending[handle] = (len + 3) / 4;
        }
    }

    void config(u32 handle, u32 target, u32 reg, bool write, u32 data, u8 be) override {
        const u32 lead = be ? u32(__builtin_ctz(be)) : 0, trail = be ? u32(__builtin_clz(u32(be))) - 28 : 4;
        const u32 len = write ? 4 - lead - (trail > 4 - lead ? 4 - lead : trail) : 4;
        message(write ? DB_EXT_CFG_WRITE : DB_EXT_CFG_READ, reg + (write ? lead : 0), len, target,
                write ? reinterpret_cast<const u8*>(&data) + lead : nullptr, int(handle));
    }
    void mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) override {
        if (!first_be) return;
        const u8 lbe = dw == 1 ? first_be : last_be;
        const u32 lead = u32(__builtin_ctz(first_be)), trail = lbe ? u32(__builtin_clz(u32(lbe))) - 28 : 4;
        message(DB_EXT_WRITE, addr + lead, dw * 4 - lead - trail, 0, data + lead, -1);
    }
    void mem_read(u32 handle, u64 addr, u32 dw, u8, u8) override {
        message(DB_EXT_READ, addr, dw * 4, 0, nullptr, int(handle));
    }

    // data: as many bytes as were asked for, or null.
    int answer(u64 id, u32 status, const u8* data) {
        for (u32 h = 0; h < 256; ++h) {
            if (!pending[h] || id_of[h] != id) continue;
            u8 dwords[4096] = {};
            if (data) std::memcpy(dwords, data, std::min<u32>(pending[h] * 4, sizeof dwords));
            pending[h] = 0;
            port->answer(h, status, data ? dwords : nullptr);
            return 0;
        }
        return -1;
    }

    void reset() override {
        clear();
        message(DB_EXT_RESET, 0, 0, 0, nullptr, -1);
    }
    void forget() override { std::memset(pending, 0, sizeof pending); }
    void clear() {
        todo.clear();
        for (auto& t : transfers)
            if (t.second.left) t.second.left = 0, t.second.bad = true;
        for (Read& r : rd) r.on = false;
        forget();
    }
    void link(bool up) override {
        link_on = up;
        clear();
        message(up ? DB_EXT_LINK_UP : DB_EXT_LINK_DOWN, 0, 0, 0, nullptr, -1);
    }

    int start_read(u64 addr, u32 len) {
        const int h = next_handle++;
        Transfer& t = transfers[h];
        t.len = t.left = len;
        t.data.assign(len, 0);
        if (!link_on) t.left = 0, t.bad = true;
        for (u32 at = 0; link_on && at < len;) {
            const u32 n = u32(std::min<u64>(len - at, mrrs - ((addr + at) & (mrrs - 1))));
            todo.push_back(Piece{false, addr + at, n, h, at, {}});
            at += n;
        }
        return h;
    }
    void start_write(u64 addr, const u8* data, u32 len) {
        for (u32 at = 0; link_on && at < len;) {
            const u32 n = u32(std::min<u64>(len - at, mps - ((addr + at) & (mps - 1))));
            todo.push_back(Piece{true, addr + at, n, 0, 0, std::vector<u8>(data + at, data + at + n)});
            at += n;
        }
    }
    int poll(int handle, u8* data) {
        const auto t = transfers.find(handle);
        if (t == transfers.end()) return -2;
        if (t->second.left) return -1;
        const int r = t->second.bad ? -2 : int(t->second.len);
        if (r > 0) std::memcpy(data, t->second.data.data(), t->second.len);
        transfers.erase(t);
        return r;
    }

    void read_data(u32 tag, u32 at, const u8* data, u32 dw, u32 status, bool last) override {
        Read& r = rd[tag];
        if (!r.on) return;
        const auto t = transfers.find(r.handle);
        if (t != transfers.end()) {
            if (status) t->second.bad = true;
            for (u32 i = 0; !status && i < dw * 4; ++i) {
                const u32 b = at * 4 + i;
                if (b >= r.lead && b - r.lead < r.len) t->second.data[r.at + b - r.lead] = data[i];
            }
            if (last) t->second.left -= r.len;
        }
        if (last) r.on = false;
    }

    void step() override {
        while (!todo.empty() && port->room(!todo.front().write)) {
            Piece& p = todo.front();
            if (p.write) {
                port->write(p.addr, p.data.data(), p.len);
            } else {
                const u32 tag = port->take_tag(next_tag, [&](u32 t) { return rd[t].on; });
                if (tag == DrivePort::TAGS) return;
                rd[tag] = Read{true, p.handle, p.at, p.len, u32(p.addr & 3)};
                port->read(p.addr, p.len, tag);
            }
            todo.pop_front();
        }
    }
    u64 next_event() const override { return todo.empty() ? NEVER : now; }
};

}  // namespace db
