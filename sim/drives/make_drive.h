// SPDX-License-Identifier: Apache-2.0
// What stands at the far end of a link, made from its configuration.
#pragma once

#include <memory>
#include <string>

#include "interface/db_host_sim.h"
#include "pcie/drive.h"

namespace db {

/// What is wrong with a port's configuration, or "".
std::string fault_in(const db_host_port& p);

/// The drive number `index`, not yet at its port; null: `why`. The configuration must stay; its image's name is taken.
std::unique_ptr<Drive> make_drive(db_host_port& p, u64 clock_khz, u64 seed, u32 index, std::string& why);

}  // namespace db
