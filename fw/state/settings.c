// SPDX-License-Identifier: Apache-2.0
#include "state/settings.h"

#include "base/config.h"

uint8_t smart_warning(const struct settings* s) {
    return CFG_TEMPERATURE >= s->temp_over || CFG_TEMPERATURE <= s->temp_under ? 1u << 1 : 0;
}
