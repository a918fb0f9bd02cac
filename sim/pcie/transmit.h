// SPDX-License-Identifier: Apache-2.0
// The endpoint's way up: what its hard block has taken from the core and not yet sent, credits of the root complex,
// and what is on the wire. The root complex takes from the far end.
#pragma once

#include "common/ring.h"
#include "pcie/endpoint_context.h"
#include "pcie/hard_block.h"
#include "pcie/link.h"

namespace db {

struct PostedTlp {
    u32 w[REQ_DESC + MAX_DW + LANES];
    u64 seq;
    u32 ndw;
    u8 first_be, last_be, number;

    u64 addr() const { return (u64(w[1]) << 32) | (w[0] & ~3u); }
    /// The hard block's number of the function.
    u32 function() const { return w[2] >> 16 & 0xff; }
};
struct ReadTlp {
    u64 addr, seq;
    u16 dw;
    u8 first_be, last_be, tag, fn, number;
};
/// The core's completion of a read of a BAR.
struct AnswerTlp {
    u32 w[CPL_DESC + MAX_DW + LANES];
    u64 seq, arrive;
    u32 ndw;

    u32 requester() const { return w[1] >> 16; }
};

class Transmit {
    static constexpr u32 POSTED_SLOTS = 64, READ_SLOTS = 64, ANSWER_SLOTS = 64;
    struct Flight {
        u64 arrive;
        bool read;
    };
    struct Credit {
        u64 at;
        u32 posted_headers, posted_data, read_headers;
    };

    EndpointContext& x;
    HardBlockCounters& count;
    Link& link;
    const u64 credit_cycles;
    u64 seq = 0;
    Ring<PostedTlp, POSTED_SLOTS> posted;
    Ring<ReadTlp, READ_SLOTS> reads;
    Ring<AnswerTlp, ANSWER_SLOTS> answers;
    Ring<Flight, 256> flight;
    Ring<Credit, 1024> credits;
    u32 tx_bytes = 0;                                           // posted payload and headers waiting for the wire
    u32 answer_bytes = 0;                                       // and of answers
    u32 posted_headers = 0, posted_data = 0, read_headers = 0;  // credits left
    u32 reads_out = 0, reads_at_host = 0, completion_bytes = 0;
    u8 tag_used[256 * 256] = {};

    void send_posted();
    void send_read();
    bool read_may_go(u64 posted_seq) const;

  public:
    static constexpr u32 MAX_POSTED = POSTED_SLOTS / 2, MAX_READS = READ_SLOTS / 2;
    /// Reads that a root complex can hold.
    static constexpr u32 HOST_READS = 1024;

    Transmit(EndpointContext& context, HardBlockCounters& counters, Link& up)
        : x(context), count(counters), link(up), credit_cycles(x.cycles(x.cfg.credit_ns)) {}

    void clear();

    // ---- from the core

    /// Both a write and a read may come in.
    bool request_room() const {
        return posted.unsent() < x.cfg.tx_tlps && tx_bytes < x.cfg.tx_bytes && posted.size() < POSTED_SLOTS - 3 &&
               reads.unsent() < x.cfg.read_queue && reads.size() < READ_SLOTS - 2;
    }
    /// For so many and one. With SSDs beside the device answers are many and long: they have the room that writes have.
    bool answer_room(u32 number) const {
        return answers.size() < ANSWER_SLOTS - number &&
               (!x.has_peers || (answers.unsent() < x.cfg.tx_tlps && answer_bytes < x.cfg.tx_bytes));
    }

    /// Where the words of the next write, or answer, are put; room is certain: tready falls before a queue is full.
    u32* posted_words() { return posted.slot().w; }
    u32* answer_words() { return answers.slot().w; }

    void push_posted(const RqRequest& r) {
        PostedTlp& p = posted.slot();
        p.seq = seq++;
        p.ndw = r.dw;
        p.first_be = r.first_be;
        p.last_be = r.last_be;
        p.number = r.number;
        tx_bytes += 16 + r.dw * 4;
        posted.push();
    }
    /// False: the tag is in use.
    bool push_read(const RqRequest& r) {
        u8& used = tag_used[r.fn << 8 | r.tag];
        if (used) return false;
        used = 1;
        reads.push(ReadTlp{r.addr, seq++, u16(r.dw), r.first_be, r.last_be, r.tag, r.fn, r.number});
        return true;
    }
    void push_answer(u32 dw) {
        AnswerTlp& c = answers.slot();
        c.seq = seq++;
        c.ndw = dw;
        c.arrive = 0;
        answer_bytes += 12 + dw * 4;
        answers.push();
    }

    // ---- the wire

    bool waiting() const { return posted.unsent() || reads.unsent() || answers.unsent(); }
    /// Puts on the wire what may go, until it is busy.
    void send();
    void credits_back() {
        if (!credits.empty() && credits.front().at <= x.cycle) take_credits();
    }
    void take_credits();

    /// Sequence numbers of requests that are on the wire: no completion passes them any more. The core sees them next.
    Ring<u8, 256> numbers;

    // ---- the far end, in the order in which requests were sent

    bool request_arrived() const { return !flight.empty() && flight.front().arrive <= x.cycle; }
    bool request_on_its_way() const { return !flight.empty(); }
    bool next_is_read() const { return flight.front().read; }
    const ReadTlp& next_read() const { return reads.front(); }
    const PostedTlp& next_posted() const { return posted.front(); }
    /// The hard block's number of the next request's function.
    u32 next_function() const { return next_is_read() ? next_read().fn : next_posted().function(); }
    /// The root complex has taken the next request: its credit is on the way back.
    void accept();

    bool answer_arrived() const { return answers.head != answers.mid && answers.front().arrive <= x.cycle; }
    const AnswerTlp& next_answer() const { return answers.front(); }
    void accept_answer() { answers.pop(); }

    bool tag_in_use(u8 fn, u8 tag) const { return tag_used[fn << 8 | tag]; }
    /// The root complex has no further use for a read; the core may use its tag again.
    void read_done(u8 fn, u8 tag) {
        tag_used[fn << 8 | tag] = 0;
        --reads_out;
        --reads_at_host;
    }
    /// The core has taken so many bytes out of the completion buffer.
    void release(u32 bytes) { completion_bytes -= bytes; }

    /// The next cycle in which something happens. blocked: the root complex takes no requests.
    u64 next_event(bool blocked) const;
};

}  // namespace db
