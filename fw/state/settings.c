// SPDX-License-Identifier: Apache-2.0
#include "state/settings.h"

#include "base/config.h"

uint8_t smart_warning(const struct settings* s, uint32_t media) {
    uint32_t spare = media & 0xffu, threshold = media >> 8 & 0xffu;
    uint32_t warning = CFG_TEMPERATURE >= s->temp_over || CFG_TEMPERATURE <= s->temp_under ? WARNS_TEMPERATURE : 0;
    if (spare < threshold) warning |= WARNS_SPARE;
    if (media & MEDIA_STATE_DEGRADED) warning |= WARNS_RELIABILITY;
    if (media & MEDIA_STATE_READ_ONLY) warning |= WARNS_READ_ONLY;
    return (uint8_t)warning;
}
