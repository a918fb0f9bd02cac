// SPDX-License-Identifier: Apache-2.0
// One simulated host (db_host, db_recorder) with its root ports, drives and user, as far as that does not depend on the
// Verilated top: what the C interface works on. The top and the loop that turns its clock are in host_sim.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drives/external_drive.h"
#include "drives/make_drive.h"
#include "drives/model_drive.h"
#include "pcie/root_port_link.h"
#include "runtime/sim_counters.h"
#include "user/recorder_state.h"
#include "user/user_state.h"

struct db_host_sim {
    db_host_config cfg;
    std::vector<db_host_port> port_cfg;
    std::vector<std::unique_ptr<db::Drive>> drives;
    std::vector<std::unique_ptr<db::RootPortLink>> ports;
    db::Counters<db::SimCount> count;
    db::u64 cycle = 0;
    db::u32 events = 0, quiet = 0;  // DB_HSTOP_* that have happened; cycles in which nothing has moved

    db_host_sim(const db_host_config& c, const db_host_port* p, db::u32 n) : cfg(c), port_cfg(p, p + n) {}
    virtual ~db_host_sim() = default;
    db_host_sim(const db_host_sim&) = delete;
    db_host_sim& operator=(const db_host_sim&) = delete;

    /// Puts the drives behind the ports; false: `why`.
    bool open_drives(std::string& why);
    /// The drive behind a port, if it is of kind D.
    template <class D>
    D* drive(db::u32 port) {
        return port < drives.size() ? dynamic_cast<D*>(drives[port].get()) : nullptr;
    }
    template <class D>
    const D* drive(db::u32 port) const {
        return port < drives.size() ? dynamic_cast<const D*>(drives[port].get()) : nullptr;
    }
    /// An external drive has something to fetch.
    bool messages() const;

    virtual db::UserState& user() = 0;
    virtual const db::UserState& user() const = 0;
    /// Null: the top is not a recorder.
    virtual db::RecorderState* recorder() = 0;
    virtual void reset(bool with_drives) = 0;
    virtual int run(db::u64 cycles, db::u32 stop) = 0;
    /// DB_SIG_* of the top.
    virtual db::u64 signal(db::u32 which) const = 0;
    virtual bool idle() const = 0;
    virtual int coverage(const char* path) = 0;
    virtual int trace(const char* path) = 0;
};

namespace db {

/// Around the top that this library was built with; null and `why` if a drive cannot be opened.
std::unique_ptr<db_host_sim> make_host(const db_host_config& c, const db_host_port* p, std::string& why);

}  // namespace db
