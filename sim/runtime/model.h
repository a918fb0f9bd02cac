// SPDX-License-Identifier: Apache-2.0
// A Verilated top with its context: made, evaluated, its coverage and waveform written, failed assertions found.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>

#include "verilated.h"
#if VM_COVERAGE
#include "Vtop__Syms.h"
#include "verilated_cov.h"
#endif
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#elif VM_TRACE
#include "verilated_vcd_c.h"
#endif

#ifdef DB_ROOT_HEADER
#include DB_ROOT_HEADER
#endif
#include "common/types.h"

namespace db {

template <class Top>
class Model {
    VerilatedContext context;
    std::unique_ptr<Top> made;
#if VM_TRACE
#if VM_TRACE_FST
    using Wave = VerilatedFstC;
#else
    using Wave = VerilatedVcdC;
#endif
    std::unique_ptr<Wave> wave;
    u64 first = 0, end = NEVER;  // half cycles that are written
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
        if (wave) wave->close();
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
    /// All of the model's state, in one piece, and its bytes. 0: not known; or a waveform or coverage needs every cycle.
    const void* state() const { return top.rootp; }
    static constexpr size_t state_bytes() {
#if defined(DB_ROOT_HEADER) && !VM_TRACE && !VM_COVERAGE
        return sizeof(*Top::rootp);
#else
        return 0;
#endif
    }
    /// The waveform's next point; its time counts half cycles.
    void dump(u64 half_cycle) {
#if VM_TRACE
        if (wave && half_cycle >= first && half_cycle < end) wave->dump(half_cycle);
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

    /// How often each line and toggle was met, up to n of them; returns how many there are, -1: it was not built for it.
    int coverage_counts(u32* out, int n) const {
#if VM_COVERAGE
        const auto& counts = top.rootp->vlSymsp->__Vcoverage;
        std::copy_n(counts, std::min<size_t>(size_t(n), std::size(counts)), out);
        return int(std::size(counts));
#else
        (void)out, (void)n;
        return -1;
#endif
    }

    int trace(const char* path) {
#if VM_TRACE
        if (wave) wave->close();
        wave.reset(new Wave);
        top.trace(wave.get(), 99);
        wave->open(path);
        return wave->isOpen() ? 0 : -1;
#else
        (void)path;
        return -1;
#endif
    }

    /// Only cycles from `from` on and before `to` are written.
    void trace_window(u64 from, u64 to) {
#if VM_TRACE
        first = from >= NEVER / 2 ? NEVER : 2 * from;
        end = to >= NEVER / 2 ? NEVER : 2 * to;
#else
        (void)from, (void)to;
#endif
    }
};

}  // namespace db
