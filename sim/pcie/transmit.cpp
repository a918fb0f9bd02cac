// SPDX-License-Identifier: Apache-2.0
#include "pcie/transmit.h"

#include <algorithm>
#include <cstring>

namespace db {

namespace {
u32 credits_of(u32 dw) { return (dw + 3) / 4; }  // of 16 bytes
}  // namespace

void Transmit::clear() {
    posted.clear();
    reads.clear();
    answers.clear();
    flight.clear();
    credits.clear();
    numbers.clear();
    tx_bytes = answer_bytes = 0;
    posted_headers = x.cfg.posted_headers;
    posted_data = x.cfg.posted_credits;
    read_headers = x.cfg.read_headers;
    reads_out = reads_at_host = completion_bytes = 0;
    std::memset(tag_used, 0, sizeof tag_used);
}

// ---- the wire

bool Transmit::read_may_go(u64 posted_seq) const {
    const db_config& cfg = x.cfg;
    const ReadTlp& r = reads.next();
    return r.seq < posted_seq && (!cfg.read_headers || read_headers) && HOST_READS - reads_at_host > READ_SLOTS &&
           (!cfg.max_reads || reads_out < cfg.max_reads) &&
           (!cfg.completion_buffer || completion_bytes == 0 || completion_bytes + r.dw * 4u <= cfg.completion_buffer);
}

void Transmit::send() {
    while (link.ready(x.cycle)) {
        const bool have_posted = posted.unsent(), have_read = reads.unsent(), have_answer = answers.unsent();
        const u64 posted_seq = have_posted ? posted.next().seq : NEVER;
        bool posted_ok = false;
        if (have_posted) {
            const u32 need = credits_of(posted.next().ndw);
            posted_ok = !x.cfg.posted_headers || (posted_headers && (!x.cfg.posted_credits || posted_data >= need));
        }
        const bool read_ok = have_read && read_may_go(posted_seq);
        // an answer stays behind earlier writes, unless those cannot move
        const bool answer_ok = have_answer && (answers.next().seq < posted_seq || !posted_ok);
        const u64 read_seq = read_ok ? reads.next().seq : NEVER, answer_seq = answer_ok ? answers.next().seq : NEVER;
        if (posted_ok && posted_seq < read_seq && posted_seq < answer_seq) {
            send_posted();
        } else if (read_ok && read_seq < answer_seq) {
            send_read();
        } else if (answer_ok) {
            AnswerTlp& c = answers.next();
            c.arrive = link.send(x.cycle, c.ndw ? CPLD : CPL, CPL_DESC, c.ndw * 4);
            answer_bytes -= 12 + c.ndw * 4;
            ++answers.mid;
        } else {
            if (have_posted || have_read) ++count.stat[HardBlockCount::CREDIT_STALL];
            return;
        }
    }
}

void Transmit::send_posted() {
    const PostedTlp& p = posted.next();
    const u64 addr = (u64(p.w[1]) << 32) | p.w[0];
    flight.push(Flight{link.send(x.cycle, MWR, header_dw(addr), p.ndw * 4), false});
    if (x.cfg.posted_headers) {
        --posted_headers;
        if (x.cfg.posted_credits) posted_data -= credits_of(p.ndw);
    }
    tx_bytes -= 16 + p.ndw * 4;
    if (!numbers.full()) numbers.push(p.number);
    ++posted.mid;
}

void Transmit::send_read() {
    const ReadTlp& r = reads.next();
    flight.push(Flight{link.send(x.cycle, MRD, header_dw(r.addr), 0), true});
    if (x.cfg.read_headers) --read_headers;
    ++reads_out;
    completion_bytes += r.dw * 4;
    if (!numbers.full()) numbers.push(r.number);
    ++reads.mid;
}

void Transmit::take_credits() {
    while (!credits.empty() && credits.front().at <= x.cycle) {
        const Credit& c = credits.front();
        posted_headers += c.posted_headers;
        posted_data += c.posted_data;
        read_headers += c.read_headers;
        credits.pop();
    }
}

// ---- the far end

void Transmit::accept() {
    Credit c{x.cycle + credit_cycles, 0, 0, 0};
    if (flight.front().read) {
        c.read_headers = 1;
        ++reads_at_host;
        reads.pop();
    } else {
        c.posted_headers = 1;
        c.posted_data = credits_of(posted.front().ndw);
        posted.pop();
    }
    flight.pop();
    if (c.read_headers ? x.cfg.read_headers : x.cfg.posted_headers) credits.push(c);
}

u64 Transmit::next_event(bool blocked) const {
    if (!numbers.empty()) return x.cycle;
    u64 e = NEVER;
    if (waiting()) e = std::min(e, link.free_c);
    if (!flight.empty() && !blocked) e = std::min(e, flight.front().arrive);
    if (!answers.empty()) e = std::min(e, answers.front().arrive);
    if (!credits.empty()) e = std::min(e, credits.front().at);
    return e;
}

}  // namespace db
