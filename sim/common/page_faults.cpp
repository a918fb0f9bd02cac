// SPDX-License-Identifier: Apache-2.0
#include "common/page_faults.h"

#include <csignal>
#include <mutex>

#include <sys/mman.h>

// STB_GNU_UNIQUE: the dynamic linker has one of each, whichever library it is of and however that was loaded. g++ makes
// that of inline variables, clang of nothing. All zeros at the begin; sizes as in page_faults.h.
asm(R"(
    .pushsection .bss.db_faults,"aw",%nobits
    .balign 8
    .type db_fault_at, %gnu_unique_object
    .size db_fault_at, 512
db_fault_at:
    .zero 512
    .type db_faults, %gnu_unique_object
    .size db_faults, 4
db_faults:
    .zero 4
    .popsection
)");

namespace db {
static_assert(sizeof db_fault_at == 512 && sizeof db_faults == 4);

namespace {

constexpr u64 PAGE = 4096, HUGE_PAGE = 2 << 20;

thread_local int guards = 0;
struct sigaction before;

bool replace(u64 at, u64 page) {
    void* const start = reinterpret_cast<void*>(at & ~(page - 1));
    return mmap(start, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void handler(int number, siginfo_t* info, void* context) {
    const u64 at = reinterpret_cast<u64>(info->si_addr);
    if (guards && info->si_code == BUS_ADRERR && (replace(at, PAGE) || replace(at, HUGE_PAGE))) {
        db_fault_at[db_faults % FAULTS_KEPT] = static_cast<const u8*>(info->si_addr);
        db_faults = db_faults + 1;
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        sigaction(number, &before, nullptr);  // and once more, to the end
    }
}

}  // namespace

bool PageFaults::look(const u8* from, u64 bytes) {
    const u64 first = reinterpret_cast<u64>(from) / PAGE, last = (reinterpret_cast<u64>(from) + bytes - 1) / PAGE;
    bool found = db_faults - seen > FAULTS_KEPT;  // too many to know
    for (; seen != db_faults; ++seen) {
        const u64 page = reinterpret_cast<u64>(db_fault_at[seen % FAULTS_KEPT]) / PAGE;
        found |= first <= page && page <= last;
    }
    return found;
}

PageFaults::Guard::Guard() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction mine = {};
        mine.sa_sigaction = handler;
        mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&mine.sa_mask);
        sigaction(SIGBUS, &mine, &before);
    });
    ++guards;
}

PageFaults::Guard::~Guard() { --guards; }

}  // namespace db
