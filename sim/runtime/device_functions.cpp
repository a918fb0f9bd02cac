// SPDX-License-Identifier: Apache-2.0
// Functions of a device that come, go and are reset.
#include "runtime/device.h"

using namespace db;

namespace {

/// Calls act(fn) for each bit.
template <class Act>
void each(u32 functions, Act act) {
    for (; functions; functions &= functions - 1) act(u32(__builtin_ctz(functions)));
}

}  // namespace

void db_sim::enable_vfs(u32 n) {
    EndpointContext& x = context;
    const u32 wanted = u32(ones(n + 1)), gone = x.enabled & ~wanted;
    if (wanted == x.enabled) return;
    if (gone) vfs_ended = x.cycle;
    x.enabled = wanted;
    x.bus_master &= wanted;
    x.msix_enable &= wanted;
    x.msix_mask &= wanted;
    flr_waiting &= wanted;
    flr_active &= wanted;
    show_flrs();
    show_settings();
    each(gone, [&](u32 fn) { host.drop_messages(fn); });
}

void db_sim::begin_flr(u32 fn) {
    flr_waiting |= ~flr_active & 1u << fn;
    look_at_flrs();
}

void db_sim::end_flrs(u32 which) {
    flr_active &= ~which;
    show_flrs();
    each(which, [&](u32 fn) { flr_ended[fn] = context.cycle; });
    quiet = 0;
}

// As the specification has it, the function's command register and MSI-X enable fall back to 0, and the PF's VF Enable.
void db_sim::look_at_flrs() {
    if (const u32 done = flr_acknowledged & flr_active) end_flrs(done);
    flr_acknowledged = 0;
    EndpointContext& x = context;
    each(flr_waiting, [&](u32 fn) {
        if (!(flr_waiting >> fn & 1)) return;  // a VF that the PF's has taken away
        if (flr_ended[fn] && x.cycle < flr_ended[fn] + APART) return;
        const u32 others = ~(1u << fn);
        if (!fn) {
            enable_vfs(0);
            x.intx_disable = false;
        }
        x.bus_master &= others;
        x.msix_enable &= others;
        x.msix_mask &= others;
        flr_waiting &= others;
        flr_active |= ~others;
        show_flrs();
        show_settings();
        host.drop_messages(fn);
    });
}
