// SPDX-License-Identifier: Apache-2.0
// Queues, namespaces, media, operators and SSDs as the firmware sees them (hardware.h). What is held here: every number that the
// firmware gives the hardware is within what it has, namespaces never overlap, and of the media nothing but settings is written.
#include <string.h>

#include "hardware.h"
#include "hw/extents.h"
#include "hw/near.h"
#include "hw/operators.h"
#include "hw/slots.h"
#include "hw/ssds.h"

static uint64_t media_bytes(void) { return model.config.media_pages * 4096u; }
static uint64_t settings_at(void) { return media_bytes() - SETTINGS_LINES * 64u; }

// ---------------------------------------------------------------- functions, queues
void hw_function_queues(const struct hw_function* f) {
    if ((uint32_t)f->before_first + f->num_qp > model.config.num_qp + model.config.num_fn)
        broken("gives a function queues that there are not", f->num_qp);
}
void hw_function_share(const struct hw_function* f, uint32_t weight, uint32_t min, uint32_t max, uint32_t deadline_us) {
    (void)f;
    if (weight - 1u > 254u || max == 0 || max > 256u || min > max) broken("a share that there cannot be", max);
    if (deadline_us > 0xffffu || (deadline_us && !hw_near_operators()))
        broken("a deadline that there cannot be", deadline_us);
}
void hw_function_limit(const struct hw_function* f, uint32_t iops, uint32_t burst, uint64_t bytes,
                       uint64_t burst_bytes) {
    (void)f, (void)iops, (void)burst, (void)bytes, (void)burst_bytes;
}

static struct model_function* owner(const struct hw_function* f, uint32_t qid) {
    if (f->place >= model.config.num_fn || qid > f->num_qp) broken("a queue that there is not", qid);
    return &model.functions[f->place];
}
void hw_create_cq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t vector,
                  bool on) {
    (void)on;
    if (vector >= f->num_vec || entries > 4095u || base % 4096u)
        broken("a completion queue that there cannot be", vector);
    owner(f, qid)->cq[qid] = true;
}
void hw_create_sq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t cqid,
                  uint32_t prio) {
    if (entries > 4095u || base % 4096u || prio > 3u) broken("a submission queue that there cannot be", entries);
    if (!owner(f, cqid)->cq[cqid]) broken("a submission queue without completion queue", cqid);
    owner(f, qid)->sq[qid] = true;
}
void hw_delete_cq(const struct hw_function* f, uint32_t qid) { owner(f, qid)->cq[qid] = false; }
void hw_delete_sq(const struct hw_function* f, uint32_t qid) { owner(f, qid)->sq[qid] = false; }
bool hw_sq_idle(const struct hw_function* f, uint32_t qid) { return owner(f, qid) != NULL; }

void hw_abort(const struct hw_function* f, uint32_t how, uint32_t sqid, uint32_t key) {
    (void)how, (void)key;
    (void)owner(f, sqid);
    if (model.abort_busy) broken("looks at the slots twice at once", how);
    model.abort_busy = 1;
}
bool hw_abort_idle(void) { return !model.abort_busy || !model.abort_busy--; }
bool hw_abort_found(void) { return !model.ended && model.abort_found; }
void hw_abort_in_namespace(const struct hw_function* f, uint32_t nsid) {
    if (nsid == 0 || nsid > model.config.num_ns) broken("aborts in no namespace", nsid);
    hw_abort(f, 0, 0, nsid);
}
void hw_aborted_command(const struct hw_function* f, uint32_t* qid, uint32_t* cid) {
    *qid = f->num_qp ? 1u : 0;
    *cid = 7;
}
void hw_watch(const struct hw_function* f, uint32_t watch, uint32_t sqid, uint32_t cid) {
    (void)cid;
    (void)owner(f, sqid);
    if (watch >= CFG_ABORT_LIMIT) broken("a watch that there is not", watch);
    model.watching |= 1u << watch;
}
void hw_unwatch(uint32_t watch) { model.watching &= ~(1u << watch); }
bool hw_watching(uint32_t watch) {
    bool now = model.watching >> watch & 1u;
    if (model.ended) model.watching = 0;
    return now;
}
bool hw_caught(uint32_t watch) { return watch & 1u; }
void hw_arbitration(uint32_t value) { (void)value; }
void hw_coalescing(uint32_t value) { (void)value; }
void hw_no_write_cache(uint32_t places) { (void)places; }
void hw_vector(const struct hw_function* f, uint32_t vector, bool off) {
    (void)off;
    if (vector >= f->num_vec) broken("a vector that there is not", vector);
}

// ---------------------------------------------------------------- namespaces, media
void hw_namespace(uint32_t nsid, const struct hw_namespace* ns) {
    if (nsid == 0 || nsid > model.config.num_ns) broken("a namespace that there is not", nsid);
    uint64_t bytes = ns->attached ? ns->blocks * (ns->lba4k ? 4096u : 512u) : 0;
    model.ns_base[nsid] = ns->base;
    model.ns_bytes[nsid] = bytes;
    if (!bytes) return;
    if (ns->base % 4096u || ns->base > media_bytes() || bytes > media_bytes() - ns->base)
        broken("a namespace beyond the media", nsid);
    for (uint32_t i = 1; i <= MAX_NS; i++) {
        uint64_t other = model.ns_base[i];
        if (i != nsid && model.ns_bytes[i] && ns->base < other + model.ns_bytes[i] && other < ns->base + bytes)
            broken("namespaces overlap", nsid << 8 | i);
    }
}
static void begin_media(void) {
    if (model.media_busy) broken("asks the media twice at once", model.media_busy);
    model.media_busy = 1;
}
void hw_media_flush_start(uint32_t spared) {
    (void)spared;
    begin_media();
}
void hw_zeroes_flush_start(void) { begin_media(); }
void hw_settings_flush_start(void) { begin_media(); }
void hw_media_zero_start(uint64_t addr, uint64_t bytes) {
    if (!bytes || addr > media_bytes() || bytes > media_bytes() - addr)
        broken("zeroes beyond the media", (uint32_t)(addr >> 12));
    begin_media();
}
static uint32_t* line(uint64_t addr) {
    uint64_t at = (addr - settings_at()) / 64u;
    if (addr % 64u || addr < settings_at() || at >= SETTINGS_LINES)
        broken("settings beside their area", (uint32_t)(addr >> 12));
    return &model.settings[at];
}
void hw_media_write_start(uint64_t addr, uint32_t word) {
    uint32_t* at = line(addr);
    begin_media();
    model.word_ok = !model.media_fails;
    if (model.word_ok) *at = word;
}
bool hw_media_idle(void) { return !model.media_busy; }
bool hw_media_idle_soon(void) {
    model.media_busy = 0;
    return true;
}
bool hw_media_ok(void) { return !model.media_fails; }
bool hw_media_word_ok(void) { return model.word_ok; }
bool hw_media_flush(uint32_t spared) {
    (void)spared;
    return hw_media_idle_soon() && hw_media_ok();
}
bool hw_media_read(uint64_t addr, uint32_t* word) {
    *word = *line(addr);
    return !model.media_fails;
}

// ---------------------------------------------------------------- what I/O commands leave
bool hw_io_error(struct hw_io_error* error) {
    *error = model.error;
    bool has = model.has_error;
    model.has_error = false;
    return has;
}
struct hw_doorbell_error hw_doorbell_error(void) {
    model.has_doorbell_error = false;
    return (struct hw_doorbell_error){.function = model.error.queue, .value = model.error.lba & 1u};
}
void hw_counters(struct hw_counters* c) {
    uint64_t n = model.sleeps;
    *c = (struct hw_counters){n, 2 * n, n + 1, n ^ 5u, 1};
}

#if FUNCTIONS > 1
void hw_io_init(struct hw_io* io, hw_io_ring_t* ring, uint32_t slots) {
    (void)ring;
    io->last = (uint16_t)(slots - 1u);
}
uint32_t hw_io_waiting(const struct hw_io* io) {
    (void)io;
    return model.io_count;
}
void hw_io_look(const struct hw_io* io, uint32_t n, struct hw_io_command* command) {
    (void)io;
    if (n >= model.io_count) broken("an I/O command that there is not", n);
    *command = model.io[n];
}
void hw_io_remove(struct hw_io* io, uint32_t n) {
    (void)io;
    if (n >= model.io_count) broken("removes an I/O command that there is not", n);
    memmove(model.io + n, model.io + n + 1, (--model.io_count - n) * sizeof *model.io);
}
void hw_io_complete(uint32_t slot, uint32_t status) {
    if (slot > 255u || !model.io_slot[slot]) broken("completes an I/O command twice", slot);
    if (status > 0x7fffu) broken("a status of more than 15 bits", status);
    model.io_slot[slot] = false;
}
void hw_io_forget(struct hw_io* io, const struct hw_function* f, uint32_t qid, uint32_t cid) {
    for (uint32_t n = 0; n < model.io_count;) {
        const struct hw_io_command* c = &model.io[n];
        bool its = c->cmd.function == f->number && (qid == IO_ANY || c->queue == f->before_first + qid);
        if (!its || (cid != IO_ANY && cid != cmd_id(&c->cmd))) {
            n++;
            continue;
        }
        hw_io_complete(c->slot, ST_ABORT_REQUESTED);
        hw_io_remove(io, n);
    }
}
#endif

// ---------------------------------------------------------------- operators
void hw_keys_wait(void) {}
bool hw_keys_failed(void) { return false; }
void hw_key_stage(uint32_t at, uint32_t word) {
    (void)word;
    if (at >= KEY_WORDS) broken("a word that no key has", at);
}
static void check_slot(uint32_t slot) {
    if (slot >= model.config.key_slots) broken("a key slot that there is not", slot);
}
void hw_key_load(uint32_t slot, uint32_t flags) {
    (void)flags;
    check_slot(slot);
}
void hw_key_erase(uint32_t slot) { check_slot(slot); }
uint32_t hw_key_slot(uint32_t slot) {
    check_slot(slot);
    return 0x80u;
}
void hw_operator_parameters(const uint32_t* four) { model.error.status ^= four[0] & four[3] & 0x7fffu; }
void hw_bind(uint32_t nsid, uint32_t op, uint32_t slot) {
    if (nsid == 0 || nsid > model.config.num_ns || op > 0xffu || slot > 0xffu) broken("binds no namespace", nsid);
}
void hw_bind_program(uint32_t place, uint32_t which, uint32_t op, uint32_t slot) {
    if (place >= model.config.num_fn || which > 3u || op > 0xffu || slot > 0xffu) broken("binds no program", which);
}
bool hw_reducing(void) { return false; }
bool hw_result(struct hw_result* result) {
    (void)result;
    return false;
}
uint32_t hw_near_operators(void) { return model.config.key_slots ? 0x7eu : 0; }
uint32_t hw_near_cells(void) { return 8; }
uint32_t hw_near_words(void) { return 128; }
uint32_t hw_near_programs(void) { return model.config.key_slots ? 4 : 0; }
static uint32_t near_words;
void hw_near_first(uint32_t place, uint32_t which, uint32_t word) {
    (void)word;
    if (place >= model.config.num_fn || which > 3u) broken("a program that there is not", which);
    near_words = 0;
}
void hw_near_word(uint32_t word) {
    (void)word;
    if (++near_words > 127u) broken("a program of too many words", near_words);
}

// Four slots, of which 1 and 2 can be exchanged; an exchange ends when it has been asked for twice.
static uint32_t slots_asked, slots_ended;
uint32_t hw_slots(void) { return model.config.key_slots ? 0x40006321u : 0; }
uint32_t hw_slots_exchangeable(void) { return 6; }
void hw_slots_share(uint32_t place, uint32_t slots) {
    if (place >= model.config.num_fn || slots > 15u) broken("slots that there are not", slots);
}
void hw_slots_exchange(uint32_t slot, uint32_t at) {
    if (slots_asked) broken("a second exchange", slot);
    if (slot > 3u || at % 64u) broken("an exchange that there cannot be", slot);
    slots_asked = 2;
}
bool hw_slots_busy(void) { return slots_asked != 0; }
uint32_t hw_slots_ended(void) {
    if (slots_asked && --slots_asked == 0) slots_ended++;
    return slots_ended & 255u;
}
uint32_t hw_slots_error(void) { return slots_ended % 9u; }
void hw_slots_library(uint32_t at, uint32_t form) {
    uint32_t stride = form & 0xffffu;
    if (at % 64u || (stride && (stride < 7u || stride > 24u))) broken("a library that there cannot be", form);
}

// ---------------------------------------------------------------- SSDs
#if EXTENTS
enum { GRANULE_LOG2 = 20, SSDS_LOG2 = 2 };
static uint32_t each(void) { return (uint32_t)(settings_at() >> (GRANULE_LOG2 + SSDS_LOG2)); }
void hw_extents(struct hw_extents* is) {
    *is = (struct hw_extents){
        .granule = GRANULE_LOG2, .ssds = SSDS_LOG2, .each = each(), .stripe = model.config.uncorrectable};
}
static uint32_t* granule_of(uint32_t granule) {
    if (granule >= each() << SSDS_LOG2 || granule >= sizeof model.extents / 4u)
        broken("a granule that there is not", granule);
    return &model.extents[granule];
}
uint32_t hw_extent(uint32_t granule) { return *granule_of(granule); }
void hw_extent_release(uint32_t granule) { *granule_of(granule) = 0; }
bool hw_extent_put(uint32_t granule, uint32_t place) {
    place |= HW_SOMEWHERE;
    *granule_of(granule) = 0;
    if ((place & DB_VCSD__PLACE__PLACE_bm) >= each()) return false;
    for (uint32_t i = 0; i < each() << SSDS_LOG2; i++) {
        if (model.extents[i] == place) return false;
    }
    *granule_of(granule) = place;
    return true;
}
bool hw_extent_find(uint32_t granule, uint32_t place) {
    place &= ~(uint32_t)DB_VCSD__PLACE__PLACE_bm;
    for (uint32_t i = 0; i < each(); i++) {
        if (hw_extent_put(granule, place | i)) return true;
    }
    return false;
}
static void check_ssd(uint32_t ssd) {
    if (ssd >> SSDS_LOG2) broken("an SSD that there is not", ssd);
}
struct hw_ssd hw_ssd(uint32_t ssd) {
    check_ssd(ssd);
    return (struct hw_ssd){.status = 0, .owner = model.owners[ssd], .depth = 6, .present = ssd != 3};
}
void hw_ssd_hand_over(uint32_t ssd, const struct hw_queue_pair* pair) {
    (void)pair;
    check_ssd(ssd);
    model.owners[ssd] = SSD_OWNER_HANDED;
}
void hw_ssd_bring_up(uint32_t ssd) {
    check_ssd(ssd);
    model.owners[ssd] = SSD_OWNER_CARD;
}
void hw_ssd_take_back(uint32_t ssd) {
    check_ssd(ssd);
    model.owners[ssd] = SSD_OWNER_NOBODY;
}
#endif

// ---------------------------------------------------------------- health of the media: a drive with and one without
uint32_t hw_media_health(uint32_t word) {
    if (model.config.media_pages & 1u) return 0;
    return word == MEDIA_HEALTH_STATE ? MEDIA_STATE_THERE | MEDIA_STATE_DEGRADED | 7u << 16 | 10u << 8 | 3u
                                      : 100u * word;
}
uint32_t hw_media_state(void) {
    uint32_t state = hw_media_health(MEDIA_HEALTH_STATE);
    return state ? state : 10u << 8 | 100u;
}
