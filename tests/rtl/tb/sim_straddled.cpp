// SPDX-License-Identifier: Apache-2.0
// The simulator's straddled CQ and CC alone, for tests/system/simulator/test_straddled.py: requests to a beat, beats to
// completions.
#include "pcie/cc_in.h"
#include "pcie/cq_straddled.h"

namespace {

constexpr db::u32 ROOM = db::CPL_DESC + db::MAX_DW + db::LANES;

struct Request {
    db::u32 w[db::REQ_DESC + db::MAX_DW + db::LANES];
    db::u32 ndw;
    db::u8 first_be, last_be;
    bool damaged;
};

/// Takes what CcStraddledIn finds.
struct Completions {
    db::CcStraddledIn<ROOM> in;
    db::u32 words[ROOM];
    db::u32 malformed, count, lengths[8], found[8][ROOM];

    db::u32* cc_words() { return words; }
    void cc_malformed() { ++malformed; }
    void cc_packet() {
        if (in.bad || count == 8) return cc_malformed();
        lengths[count] = in.ndw;
        std::memcpy(found[count++], words, sizeof words);
    }
};

}  // namespace

extern "C" {

/// Fills a beat from dword `*pos` of request `*at` on, of `n`; moves both on. Returns whether there is one.
int cq_beat(const Request* requests, db::u32 n, db::u32* at, db::u32* pos, db::u32* data, db::u32* user) {
    db::CqStraddledBeat beat;
    while (*at < n && beat.room()) {
        *pos += beat.put(requests[*at], *pos);
        if (*pos == requests[*at].ndw) ++*at, *pos = 0;
    }
    std::memcpy(data, beat.data, sizeof beat.data);
    std::memcpy(user, beat.user, sizeof beat.user);
    return !beat.empty();
}

/// One beat into `c`; its count starts anew.
void cc_beat(Completions* c, const db::u32* data, db::u32 user) {
    c->count = 0;
    db::Beat b{data};
    b.user[0] = user;
    c->in.beat(b, *c);
}

db::u32 size_of_completions() { return sizeof(Completions); }
db::u32 malformed(const Completions* c) { return c->malformed; }
db::u32 count(const Completions* c) { return c->count; }
db::u32 length(const Completions* c, db::u32 i) { return c->lengths[i]; }
const db::u32* found(const Completions* c, db::u32 i) { return c->found[i]; }
}
