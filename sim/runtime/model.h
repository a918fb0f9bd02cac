// SPDX-License-Identifier: Apache-2.0
// A Verilated top with its context: made, evaluated, its coverage and waveform written, failed assertions found.
#pragma once

#include <memory>

#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

#include "common/types.h"

namespace db {

template <class Top>
class Model {
    VerilatedContext context;
    std::unique_ptr<Top> made;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> vcd;
#endif

  public:
    Top& top;

    Model() : made(new Top(&context, "top")), top(*made) {
        context.fatalOnError(false);
#if VM_TRACE
        context.traceEverOn(true);
#endif
    }
    ~Model() {
        top.final();
#if VM_TRACE
        if (vcd) vcd->close();
#endif
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// No input may change between low() and high(): the model follows its inputs in the first alone (settle_once in
    /// python/doorbell/build).
    void low() {
        top.clk = 0;
        top.eval();
    }
    void high() {
        top.clk = 1;
        top.eval();
    }
    /// The waveform's next point; its time counts half cycles.
    void dump(u64 half_cycle) {
#if VM_TRACE
        if (vcd) vcd->dump(half_cycle);
#else
        (void)half_cycle;
#endif
    }

    /// An assertion has failed, or the top has finished, since the last call.
    bool failed() {
        if (!context.gotFinish()) return false;
        context.gotFinish(false);
        context.gotError(false);
        return true;
    }

    int coverage(const char* path) {
#if VM_COVERAGE
        context.coveragep()->write(path);
        return 0;
#else
        (void)path;
        return -1;
#endif
    }

    int trace(const char* path) {
#if VM_TRACE
        if (vcd) vcd->close();
        vcd.reset(new VerilatedVcdC);
        top.trace(vcd.get(), 99);
        vcd->open(path);
        return vcd->isOpen() ? 0 : -1;
#else
        (void)path;
        return -1;
#endif
    }
};

}  // namespace db
