// SPDX-License-Identifier: Apache-2.0
// Configuration space of a drive: type 0 header, BAR 0, power management, MSI-X and PCI Express capabilities, and
// "retry" (CRS) for a time after reset. Mirror of python/doorbell/device/pci_config.py, which has a QEMU in front of it.
#pragma once

#include <algorithm>
#include <cstring>

#include "pcie/bar_map.h"
#include "pcie/drive.h"

namespace db {

struct PciFunction {
    static constexpr u32 COMMAND = 0x04, BAR0 = 0x10, CAP_PTR = 0x34, PM = 0x40, MSIX = 0x50, PCIE = 0x70;
    static constexpr u32 DEVCTL = PCIE + 8;
    static constexpr u32 DB_SSD = 0xdb01, MODEL_DRIVE = 0xdb02;  // device ids
    u32 reg[1024], writable[1024];
    u64 ready_at = 0;  // configuration requests before that cycle are answered with CRS
    u64 crs = 0;       // how long after a reset that is, cycles
    u32 bar_bytes = BAR_BYTES, mps_cap = 2, gen = 3, lanes = 4;
    bool bar64 = true;
    u32 vendor = 0x1234, device = MODEL_DRIVE, class_code = 0x010802;

    void reset(u64 now) {
        std::memset(reg, 0, sizeof reg);
        std::memset(writable, 0, sizeof writable);
        auto put = [&](u32 at, u32 value, u32 mask = 0) {
            reg[at / 4] = value;
            writable[at / 4] = mask;
        };
        put(0x00, device << 16 | vendor);
        put(COMMAND, 0x0010u << 16, 0x0546);
        put(0x08, class_code << 8 | 1);
        put(0x0c, 0, 0xff);
        put(BAR0, bar64 ? 4 : 0, ~(bar_bytes - 1));
        if (bar64) put(BAR0 + 4, 0, ~0u);
        put(0x2c, device << 16 | vendor);
        put(CAP_PTR, PM);
        put(0x3c, 1 << 8, 0xff);
        put(PM, MSIX << 8 | 0x01 | 3 << 16);
        put(PM + 4, 8, 3);
        put(MSIX, PCIE << 8 | 0x11 | 31 << 16, 0xc0000000);
        put(MSIX + 4, BAR_MSIX_TABLE);
        put(MSIX + 8, BAR_MSIX_PBA);
        put(PCIE, 0x10 | 2 << 16);
        put(PCIE + 4, mps_cap | 1 << 5 | 7 << 6 | 7 << 9 | 1 << 15 | 1 << 28);
        put(DEVCTL, 0x2810, 0x7fff);  // MRRS 512, MPS 128
        put(PCIE + 0x0c, gen | lanes << 4);
        put(PCIE + 0x10, (gen | lanes << 4) << 16, 0xc0);
        put(PCIE + 0x24, 0x1f);
        put(PCIE + 0x28, 0, 0x1f);
        put(PCIE + 0x2c, ((1u << gen) - 1) << 1);
        put(PCIE + 0x30, gen, 15);
        ready_at = now + crs;
    }

    // One configuration request; true if it asked for a function-level reset. Answers through `port`.
    bool request(DrivePort& port, u64 now, u32 handle, u32 target, u32 at, bool write, u32 data, u8 be) {
        u32 value = ~0u, status = SC;
        bool flr = false;
        if (now < ready_at) {
            status = CRS;
        } else if (target & 0xff) {
            status = UR;  // one function, device 0
        } else if (!write) {
            value = reg[at / 4 & 1023];
        } else {
            u32 mask = 0;
            for (u32 i = 0; i < 4; ++i)
                if (be >> i & 1) mask |= 0xffu << 8 * i;
            u32& r = reg[at / 4 & 1023];
            const u32 m = mask & writable[at / 4 & 1023];
            r = (r & ~m) | (data & m);
            flr = at == DEVCTL && be & 2 && data >> 15 & 1;
        }
        port.answer(handle, status, write || status ? nullptr : reinterpret_cast<const u8*>(&value));
        return flr;
    }

    bool memory_on() const { return reg[COMMAND / 4] >> 1 & 1; }
    bool bus_master() const { return reg[COMMAND / 4] >> 2 & 1; }
    u32 mps() const { return 128u << std::min(reg[DEVCTL / 4] >> 5 & 7, mps_cap); }
    u32 mrrs() const { return 128u << std::min(reg[DEVCTL / 4] >> 12 & 7, 5u); }
    u64 bar() const { return (u64(bar64 ? reg[BAR0 / 4 + 1] : 0) << 32) | (reg[BAR0 / 4] & ~15u); }
    bool hits(u64 addr, u32 bytes) const {
        return memory_on() && addr >= bar() && addr - bar() < bar_bytes && bar_bytes - (addr - bar()) >= bytes;
    }
};

}  // namespace db
