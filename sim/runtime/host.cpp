// SPDX-License-Identifier: Apache-2.0
#include "runtime/host.h"

using namespace db;

bool db_host_sim::open_drives(std::string& why) {
    for (u32 i = 0; i < ports.size(); ++i) {
        std::unique_ptr<Drive> d = make_drive(port_cfg[i], cfg.clock_khz, cfg.seed, i, why);
        if (!d) return false;
        d->port = ports[i].get();
        ports[i]->drive = d.get();
        drives.push_back(std::move(d));
    }
    return true;
}

bool db_host_sim::messages() const {
    for (const auto& d : drives)
        if (d->messages()) return true;
    return false;
}
