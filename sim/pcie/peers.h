// SPDX-License-Identifier: Apache-2.0
// What hangs on the same switch as a device: it takes the device's requests by address, and sends requests of its own.
// A device that is alone has none (null).
#pragma once

#include "pcie/transmit.h"

namespace db {

struct Peers {
    virtual ~Peers() = default;

    // ---- what the device has sent, in its order; false: there is no room for it yet
    virtual bool takes(u64 addr) const = 0;  // a memory request to this address
    virtual bool write(const PostedTlp& p) = 0;
    virtual bool read(const ReadTlp& t) = 0;
    virtual bool asked(u32 requester) const = 0;  // the one that a completion of the device is for
    virtual bool answer(const AnswerTlp& c) = 0;

    // ---- what is for the device
    virtual bool pending() const = 0;
    /// Puts a packet on the device's link; false: none may go.
    virtual bool send() = 0;

    // ---- what the device is told
    virtual u32 present() const = 0;  // bits
    virtual u64 bar(u32 peer) const = 0;
    virtual u32 id(u32 peer) const = 0;  // bus, device, function
    virtual u64 window() const = 0;      // the address of the device's BAR 2
    virtual u64 pages() const = 0;       // that each peer has for the device
    virtual u32 left_alone() const = 0;  // bits: those that it does not bring up

    // ---- life
    /// The device is reset: what is on its way to it or from it is gone. power: so was theirs.
    virtual void reset(bool power) = 0;
    /// It is out of reset.
    virtual void start() = 0;
    virtual void step() = 0;  // a cycle
    virtual u64 next_event() const = 0;
};

}  // namespace db
