// SPDX-License-Identifier: Apache-2.0
// What media of NAND flash say of their health to the firmware: the words MediaHealth, and a pulse with each new warning.
#pragma once

#include <algorithm>
#include <iterator>

#include "doorbell_facts.h"
#include "media/media.h"

namespace db {

template <class Top>
class NandHealth {
    static constexpr u32 THRESHOLD = 10;  // of spare, percent

    Top& top;
    Media& media;
    u32 asked = 0, shown = 0, told = 0;
    u32 words[16] = {};

    u32 spare() const {
        const u32 once = media.nand->spare_once();
        return once ? media.nand->spare() * 100 / once : media.nand->worn() ? 0 : 100;
    }
    u32 state() const {
        return spare() | THRESHOLD << 8 | MEDIA_STATE_THERE | (media.nand->worn() ? MEDIA_STATE_DEGRADED : 0);
    }

    void picture() {
        const db_nand_figures f = media.nand->figures();
        const u64 programmed = f.host_units + f.moved_units + f.padding;
        words[MEDIA_HEALTH_STATE] = state() | u32(std::min<u64>(f.percent_used, 255)) << 16;
        words[MEDIA_HEALTH_HOST_LO] = u32(f.host_units);
        words[MEDIA_HEALTH_HOST_HI] = u32(f.host_units >> 32);
        words[MEDIA_HEALTH_MEDIA_LO] = u32(programmed);
        words[MEDIA_HEALTH_MEDIA_HI] = u32(programmed >> 32);
        words[MEDIA_HEALTH_ERASES_LEAST] = u32(f.good ? f.erase_least : 0);
        words[MEDIA_HEALTH_ERASES_MEAN] = u32(f.good ? f.erase_sum / f.good : 0);
        words[MEDIA_HEALTH_ERASES_MOST] = u32(f.erase_most);
        words[MEDIA_HEALTH_BAD] = u32(f.bad + f.retired);
        words[MEDIA_HEALTH_SPARE] = media.nand->spare();
        words[MEDIA_HEALTH_COLLECTIONS] = u32(f.collections);
    }

  public:
    NandHealth(Top& t, Media& m) : top(t), media(m) {}

    void reset() {
        asked = shown = told = 0;
        std::fill(std::begin(words), std::end(words), 0);
        top.s_media_health = 0;
        top.s_media_warning = 0;
    }

    void sample() { asked = top.m_media_health_word; }

    void update() {
        if (!media.nand) return;
        const u32 on = (spare() < THRESHOLD ? 1u : 0u) | (media.nand->worn() ? 2u : 0u);
        top.s_media_warning = (on & ~told) != 0;
        told = on;
        if (asked == shown && words[MEDIA_HEALTH_STATE]) return;
        if (asked == MEDIA_HEALTH_STATE || !words[MEDIA_HEALTH_STATE]) picture();
        shown = asked;
        top.s_media_health = words[shown];
    }
};

}  // namespace db
