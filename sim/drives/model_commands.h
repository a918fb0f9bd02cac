// SPDX-License-Identifier: Apache-2.0
// What the model of a drive keeps of queues and commands.
#pragma once

#include <deque>
#include <vector>

#include "common/types.h"

namespace db {

/// Entries that one read of a submission queue brings.
struct ModelFetch {
    u32 start, count;
    bool done;
    std::vector<u8> data;
};

struct ModelSq {
    bool on = false;
    u64 base = 0;
    u32 size = 0, head = 0, tail = 0, fetched = 0, cq = 0;
    std::deque<ModelFetch> fetches;

    u32 used() const { return (tail + size - head) % size; }
};

struct ModelCq {
    bool on = false, phase = true;
    u64 base = 0;
    u32 size = 0, head = 0, tail = 0;
    std::deque<u32> waiting;  // commands without a place

    u32 used() const { return (tail + size - head) % size; }
    bool full() const { return (tail + 1) % size == head; }
};

struct ModelCommand {
    /// Stands for an opcode where a command has had its effect and only its completion is left.
    static constexpr u32 OPC_NONE = 0x100;

    bool on = false, admin = false, sgl = false, write = false, list_done = false, media_done = false, queued = false;
    bool lost = false, failed = false, keep = false;  // keep: asynchronous event request
    bool damage = false, twice = false, wrong_phase = false, copied = false;
    u32 handle = 0, sq = 0, cid = 0, opc = 0, dw0 = 0, status = 0, sqe[16];
    u64 bytes = 0, issued = 0, got = 0, lba = 0, blocks = 0, late = 0, held = 0, again = 0;
    u64 copy = 0, astray = 0;  // how far beside their places: its entry, once more; its data
    u32 other_cid = 0;         // of an entry before its own, xor
    u32 pages = 0;             // entries wanted beside PRP1
    u64 list_at = 0;           // where the next part of the list is
    std::vector<u64> page;     // of page i of the transfer: address (the first with its offset); or of an SGL
    std::vector<u8> buf;       // data of the host, or answer of an admin command

    /// A field of 64 bits from dword `i` on.
    u64 wide(u32 i) const { return (u64(sqe[i + 1]) << 32) | sqe[i]; }
    u32 nsid() const { return sqe[1]; }
    u64 prp1() const { return wide(6); }
    u64 prp2() const { return wide(8); }
};

/// A fault that the caller wants: who meets it, and what happens (DB_DFAULT_*, and its argument).
struct ModelFault {
    u32 kind;
    int opcode, admin;  // -1: any
    u64 lba, blocks;    // blocks 0: any
    u32 skip, count;
    u64 arg, hits;
};

}  // namespace db
