// SPDX-License-Identifier: Apache-2.0
// Shape of NAND media: how many of what, and where a unit lies. A unit is 4 KiB, what the mapping knows. A block here is one
// of each plane of a die: they are programmed and erased together.
#pragma once

#include <string>

#include "common/types.h"
#include "interface/db_nand.h"

namespace db {

constexpr u32 UNIT = 4096;           // bytes
constexpr u32 NO_UNIT = 0xFFFFFFFF;  // of a mapping: there is none
constexpr u32 SECTORS = 8;           // 512 bytes each, of a unit
constexpr u32 RESERVE = 3;           // blocks of a die that collection works with

struct Geometry {
    u32 units = 0;  // that the host sees
    u32 channels = 0, dies = 0, planes = 0, pages = 0;
    u32 page_units = 0;     // of a page of one plane
    u32 program_units = 0;  // of a page of all planes
    u32 block_units = 0;
    u32 blocks = 0;  // of a die, bad ones too

    u32 channel_of(u32 die) const { return die % channels; }
    u32 die_of(u32 slot) const { return slot / block_units / blocks; }
    u32 block_of(u32 slot) const { return slot / block_units; }  // of all dies
    u32 page_of(u32 slot) const { return slot / page_units; }    // of one plane, of all dies
    u32 plane_of(u32 slot) const { return slot / page_units % planes; }
    u32 first_of(u32 block) const { return block * block_units; }
    u64 slots() const { return u64{dies} * blocks * block_units; }

    /// For so many bytes; "" or what is wrong with the description.
    std::string make(const db_nand_config& c, u64 bytes);
};

}  // namespace db
