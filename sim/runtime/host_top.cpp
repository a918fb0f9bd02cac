// SPDX-License-Identifier: Apache-2.0
// The only source of a host's simulator that depends on the top: DB_TOP, DB_TOP_HEADER, DB_DATA_W, DB_PORTS, and of a
// recorder DB_STREAM_W (bits of its stream) and DB_BUFFER_LOG2.
#include DB_TOP_HEADER
#include "runtime/host_sim.h"

#ifdef DB_STREAM_W
#include "user/recorder_user.h"
using User = db::RecorderUser<DB_TOP, DB_STREAM_W, DB_PORTS, DB_BUFFER_LOG2>;
#else
#include "user/host_user.h"
using User = db::HostUser<DB_TOP, DB_DATA_W>;
#endif

std::unique_ptr<db_host_sim> db::make_host(const db_host_config& c, const db_host_port* p, std::string& why) {
    auto sim = std::make_unique<HostSim<DB_TOP, DB_DATA_W, DB_PORTS, User>>(c, p);
    if (!sim->open_drives(why)) return nullptr;
    sim->reset(true);
    return sim;
}

extern "C" {
uint32_t db_host_data_w(void) { return DB_DATA_W; }
uint32_t db_host_ports(void) { return DB_PORTS; }
}
