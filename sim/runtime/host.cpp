// SPDX-License-Identifier: Apache-2.0
#include "runtime/host.h"

using namespace db;

bool db_host_sim::open_drives(std::string& why) {
    for (u32 i = 0; i < ports.size(); ++i) {
        db_host_port& p = port_cfg[i];
        std::unique_ptr<Drive> d;
        if (p.drive == DB_DRIVE_MODEL) {
            auto m = std::make_unique<ModelDrive>(p, cfg.clock_khz, cfg.seed, i);
            if (!m->open(why)) return false;
            p.model.image = nullptr;
            d = std::move(m);
        } else if (p.drive == DB_DRIVE_LIB) {
            d = std::make_unique<LibDrive>(p, cfg.clock_khz);
        } else {
            d = std::make_unique<ExternalDrive>();
        }
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
