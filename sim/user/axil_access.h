// SPDX-License-Identifier: Apache-2.0
// One access of the caller to a top's registers over AXI4-Lite.
#pragma once

#include "user/user_state.h"

namespace db {

/// Before the edge: one AXI4-Lite access. True if one is under way.
template <class Top>
bool sample_axil(const Top& top, Access& a, u32& events) {
    if (a.state != Access::ASKED) return false;
    if (a.write) {
        if (top.s_axil_awvalid && top.s_axil_awready) a.a_done = true;
        if (top.s_axil_wvalid && top.s_axil_wready) a.w_done = true;
        if (top.s_axil_bvalid && top.s_axil_bready) a.state = Access::ANSWERED, a.resp = top.s_axil_bresp;
    } else {
        if (top.s_axil_arvalid && top.s_axil_arready) a.a_done = true;
        if (top.s_axil_rvalid && top.s_axil_rready) {
            a.state = Access::ANSWERED;
            a.resp = top.s_axil_rresp;
            a.data = top.s_axil_rdata;
        }
    }
    if (a.state == Access::ANSWERED) events |= DB_HSTOP_ANSWER;
    return true;
}

/// Between two edges. on: this port is meant.
template <class Top>
void update_axil(Top& top, const Access& a, bool on = true) {
    const bool ask = on && a.state == Access::ASKED;
    top.s_axil_awvalid = ask && a.write && !a.a_done;
    top.s_axil_wvalid = ask && a.write && !a.w_done;
    top.s_axil_arvalid = ask && !a.write && !a.a_done;
    top.s_axil_bready = ask && a.write;
    top.s_axil_rready = ask && !a.write;
    if (ask) {
        top.s_axil_awaddr = top.s_axil_araddr = a.addr;
        top.s_axil_wdata = a.data;
        top.s_axil_wstrb = 15;
    }
}

}  // namespace db
