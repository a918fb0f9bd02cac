// SPDX-License-Identifier: Apache-2.0
#include "nand/geometry.h"

using namespace db;

namespace {

std::string range(const char* name, u64 value, u64 least, u64 most) {
    if (value >= least && value <= most) return "";
    return std::string(name) + ": " + std::to_string(value) + " is not in " + std::to_string(least) + " to " +
           std::to_string(most);
}

std::string fault_in(const db_nand_config& c) {
    const struct {
        const char* name;
        u64 value, least, most;
    } limits[] = {
        {"channels", c.channels, 1, 64},
        {"ways", c.ways, 1, 64},
        {"planes", c.planes, 1, 8},
        {"pages", c.pages, 4, 4096},
        {"page_bytes", c.page_bytes, UNIT, 65536},
        {"bus_mbps", c.bus_mbps, 1, 100000},
        {"read_us (in ns)", c.read_ns, 1, 1000000000},
        {"program_us (in ns)", c.program_ns, 1, 1000000000},
        {"erase_us (in ns)", c.erase_ns, 1, 4000000000},
        {"suspends", c.suspends, 0, 1000},
        {"suspend_us (in ns)", c.suspend_ns, 0, 1000000000},
        {"controller_us (in ns)", c.controller_ns, 0, 1000000000},
        {"buffer_units", c.buffer_units, 4 * c.planes * (c.page_bytes / UNIT), 1 << 24},
        {"over_provisioning (of a million)", c.over_provisioning_ppm, 10000, 10000000},
        {"bad_blocks (of a million)", c.bad_blocks_ppm, 0, 200000},
        {"precondition", c.precondition, DB_NAND_EMPTY, DB_NAND_STEADY},
    };
    if (c.page_bytes % UNIT) return "page_bytes: a multiple of 4096";
    for (const auto& l : limits)
        if (std::string why = range(l.name, l.value, l.least, l.most); !why.empty()) return why;
    return "";
}

}  // namespace

std::string Geometry::make(const db_nand_config& c, u64 bytes) {
    if (std::string why = fault_in(c); !why.empty()) return why;
    channels = c.channels;
    dies = c.channels * c.ways;
    planes = c.planes;
    pages = c.pages;
    page_units = c.page_bytes / UNIT;
    program_units = planes * page_units;
    block_units = pages * program_units;
    const u64 row = u64{dies} * block_units, all = bytes / UNIT;
    if (all < 8 * row)
        return "a capacity of " + std::to_string(bytes) + " bytes is too small: " + std::to_string(dies) +
               " dies with blocks of " + std::to_string(u64{block_units} * UNIT) + " bytes want at least " +
               std::to_string(8 * row * UNIT) + " (fewer channels, ways, planes or pages want less)";
    const u64 needed = (all * (1000000 + u64{c.over_provisioning_ppm}) / 1000000 + row - 1) / row;
    const u64 bad = (needed * c.bad_blocks_ppm * 2 + 999999) / 1000000;  // room for twice as many as are to be expected
    if ((needed + RESERVE + bad) * row >= NO_UNIT)
        return "a capacity of " + std::to_string(bytes) + " bytes is too large";
    units = u32(all);
    blocks = u32(needed + RESERVE + bad);
    return "";
}
