// SPDX-License-Identifier: Apache-2.0
// An FPGA's configuration port (ICAP), where a top has one (m_icap_*): takes a word of 32 bits at 200 MHz, as UltraScale+'s does, and
// counts the words.
#pragma once

#include <type_traits>

#include "media/card_memory.h"

namespace db {

template <class Top, class = void>
class ConfigurationPort {
  public:
    ConfigurationPort(Top&, Counters<CardCount>&, u32) {}
    void reset() {}
    bool sample() { return false; }
    void update() {}
    void skipped(u64) {}
};

template <class Top>
class ConfigurationPort<Top, std::void_t<decltype(std::declval<Top&>().m_icap_valid)>> {
    static constexpr u32 PORT_KHZ = 200000;

    Top& top;
    Counters<CardCount>& count;
    u32 clock_khz, phase = 0;  // of the port's clock, in 1 / clock_khz

  public:
    ConfigurationPort(Top& t, Counters<CardCount>& c, u32 khz) : top(t), count(c), clock_khz(khz) {}
    void reset() {
        phase = 0;
        top.m_icap_ready = 0;
    }

    /// Outputs of the core in the cycle that ends now. True if something moves.
    bool sample() {
        if (top.m_icap_valid && top.m_icap_ready) ++count[CardCount::PORT_WORDS];
        return top.m_icap_valid;
    }

    /// Cycles in which nothing was offered.
    void skipped(u64 cycles) {
        if (PORT_KHZ < clock_khz) phase = u32((phase + cycles * PORT_KHZ) % clock_khz);
    }

    /// After the clock edge.
    void update() {
        phase += PORT_KHZ;
        top.m_icap_ready = phase >= clock_khz;
        if (phase >= clock_khz) phase -= clock_khz;
        if (phase >= clock_khz) phase = 0;  // the core's clock is slower: a word a cycle
    }
};

}  // namespace db
