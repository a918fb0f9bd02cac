// SPDX-License-Identifier: Apache-2.0
// The media of the model of a drive: where its data is, and how long reads and writes take. Integer arithmetic only:
// the same everywhere.
#pragma once

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db_host_sim.h"
#include "util.h"

namespace db {

struct ModelMedia {
    static constexpr u32 FRAC = 16;  // bits behind the cycle
    const db_model_config& c;
    u64 khz;
    Rng rng;
    u8* mem = nullptr;
    u64 size = 0;
    int fd = -1;
    u64 rd_tpb, wr_tpb, slow_tpb;        // ticks a byte
    u64 rd_free = 0, wr_free = 0;        // ticks
    u64 cached = 0, cached_at = 0;       // bytes in the SLC cache, and when that was (ticks)
    u64 written = 0, stalls = 0;

    ModelMedia(const db_model_config& config, u64 clock_khz, u64 seed) : c(config), khz(clock_khz), rng(seed) {
        rd_tpb = ticks(c.read_mbps);
        wr_tpb = ticks(c.write_mbps);
        slow_tpb = ticks(c.slow_mbps);
    }
    ~ModelMedia() {
        if (mem) {
            sync();
            munmap(mem, size);
        }
        if (fd >= 0) close(fd);
    }
    u64 ticks(u64 mbps) const { return mbps ? (khz << FRAC) / (mbps * 1000) : 0; }

    bool open(std::string& why) {
        size = c.bytes & ~u64{4095};
        if (c.image && *c.image) {
            fd = ::open(c.image, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
            if (fd < 0) return why = std::string("cannot open ") + c.image + ": " + strerror(errno), false;
            if (flock(fd, LOCK_EX | LOCK_NB))
                return why = std::string(c.image) + " is in use by another simulation", false;
            struct stat st;
            if (fstat(fd, &st)) return why = std::string(c.image) + ": " + strerror(errno), false;
            if (!size) size = u64(st.st_size) & ~u64{4095};
            if (u64(st.st_size) < size && ftruncate(fd, off_t(size)))
                return why = std::string("cannot extend ") + c.image + ": " + strerror(errno), false;
        }
        if (!size) return why = "a drive needs at least 4096 bytes", false;
        void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd, 0);
        if (p == MAP_FAILED) return why = std::string("cannot map the drive's data: ") + strerror(errno), false;
        mem = static_cast<u8*>(p);
        return true;
    }

    int sync() { return fd >= 0 && (msync(mem, size, MS_SYNC) || fdatasync(fd)) ? -1 : 0; }

    // One drawn latency, cycles.
    u64 draw(u32 kind) {
        const db_latency& l = c.latency[kind];
        u64 ns = l.a;
        if (l.kind == DB_LAT_UNIFORM && l.b > l.a) ns += rng.below(l.b - l.a + 1);
        if (l.kind == DB_LAT_LOGNORMAL) {
            // twelve uniform numbers less their mean are close to a normal one, here in 1/256
            int z = -6 * 256;
            for (int i = 0; i < 12; ++i) z += int(rng.below(257));
            u64 up = 1 << 16;  // b^|z|, whole powers by multiplying, the rest linear
            const u64 b = (u64(l.b) << 16) / 1000;
            int left = z < 0 ? -z : z;
            for (; left >= 256; left -= 256) up = up * b >> 16;
            up += (up * (b - (1 << 16)) >> 16) * u64(left) >> 8;
            ns = z < 0 ? (ns << 16) / up : ns * up >> 16;
        }
        return ns_to_cycles(ns, khz);
    }

    // When data of a read that takes `latency` is there.
    u64 read(u64 now, u64 latency, u64 bytes) {
        const u64 t = now << FRAC;
        if (rd_free < t) rd_free = t;
        rd_free += bytes * rd_tpb;
        return std::max(now + latency, rd_free >> FRAC);
    }

    // When a write that is all there at `now` has reached the media, at the media's pace alone.
    u64 write(u64 now, u64 bytes) {
        const u64 t = now << FRAC;
        if (wr_free < t) wr_free = t;
        u64 per_byte = wr_tpb;
        if (c.slc_bytes && slow_tpb) {
            const u64 gone = (wr_free - cached_at) / slow_tpb;
            cached = cached > gone ? cached - gone : 0;
            cached_at = wr_free;
            if (cached + bytes > c.slc_bytes) per_byte = std::max(slow_tpb, wr_tpb);
            cached += bytes;
        }
        wr_free += bytes * per_byte;
        const u64 before = written;
        written += bytes;
        if ((c.stall_every && before / c.stall_every != written / c.stall_every) ||
            (c.stall_ppm && rng.below(1000000) < c.stall_ppm)) {
            wr_free += ns_to_cycles(c.stall_ns, khz) << FRAC;
            ++stalls;
        }
        return wr_free >> FRAC;
    }

    void reset() { rd_free = wr_free = 0; }
};

}  // namespace db
