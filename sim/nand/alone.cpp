// SPDX-License-Identifier: Apache-2.0
// NAND media without a drive around them (interface/db_nand.h), and a host that keeps some accesses in flight.
#include <cstring>

#include "nand/nand.h"

using namespace db;

struct db_nand {
    std::unique_ptr<Nand> model;
    u64 now = 0;
};

namespace {

constexpr u64 FLUSH_TAG = NEVER - 1;

/// Time passes until something is answered.
Nand::Done wait(db_nand* n) {
    Nand::Done done = {};
    while (!n->model->take(n->now, done)) {
        n->now = n->model->next();
        n->model->advance(n->now);
    }
    return done;
}

}  // namespace

extern "C" {

db_nand* db_nand_open(const db_nand_config* cfg, uint64_t bytes, char* why, uint32_t why_len) {
    std::string text;
    auto out = std::make_unique<db_nand>();
    out->model = Nand::make(*cfg, bytes, text);
    if (out->model) return out.release();
    if (why_len) {
        std::strncpy(why, text.c_str(), why_len - 1);
        why[why_len - 1] = 0;
    }
    return nullptr;
}

void db_nand_close(db_nand* n) { delete n; }

uint64_t db_nand_play(db_nand* n, const uint64_t* at, uint32_t count, uint32_t bytes, int write, uint32_t depth,
                      uint64_t* each) {
    const u64 start = n->now;
    std::vector<u64> began(count);
    for (u32 sent = 0, answered = 0; answered < count;) {
        if (sent < count && sent - answered < depth) {
            began[sent] = n->now;
            if (write) n->model->write(n->now, sent, at[sent], bytes);
            else n->model->read(n->now, sent, at[sent], bytes);
            ++sent;
            continue;
        }
        const Nand::Done done = wait(n);
        if (each) each[done.tag] = done.time - began[done.tag];
        ++answered;
    }
    return n->now - start;
}

uint64_t db_nand_flush(db_nand* n) {
    const u64 start = n->now;
    n->model->flush(n->now, FLUSH_TAG);
    wait(n);
    return n->now - start;
}

uint64_t db_nand_settle(db_nand* n) {
    const u64 start = n->now;
    while (n->model->next_work() != NEVER) {
        n->now = n->model->next_work();
        n->model->advance(n->now);
    }
    return n->now - start;
}

int db_nand_trim(db_nand* n, uint64_t at, uint64_t bytes) {
    n->model->trim(n->now, at, bytes);
    return 0;
}

void db_nand_read_figures(const db_nand* n, db_nand_figures* out) { *out = n->model->figures(); }
uint64_t db_nand_check(const db_nand* n) { return n->model->check(); }

}  // extern "C"
