// SPDX-License-Identifier: Apache-2.0
#include "commands/log_pages.h"

#include "base/bytes.h"
#include "commands/features.h"
#include "commands/operators.h"
#include "commands/programs.h"
#include "commands/reservations.h"
#include "hw/near.h"
#include "hw/programs.h"

// ---------------------------------------------------------------- the pages: each returns how many bytes it has set
static uint32_t supported_page(struct request* r);
#define MEDIA_PAGE_BYTES 64u

static uint32_t error_page(struct request* r) {
    const struct error_log* log = &r->fn->errors;
#if FUNCTIONS == 1
    uint32_t i = log->next;
#else
    uint32_t i = log->count % CFG_ERROR_LOG;
#endif
    uint8_t* at = page_of(r);
    memset(at, 0, CFG_ERROR_LOG * 64);
    for (uint32_t n = 0; n < CFG_ERROR_LOG; n++, at += 64) {
        i = i == 0 ? CFG_ERROR_LOG - 1 : i - 1;  // newest first
        const struct error_entry* error = &log->entries[i];
#if FUNCTIONS == 1
        if (error->count == 0) break;
        put64(at, error->count);
#else
        if (error->status == 0) break;
        put64(at, log->count - n);
#endif
        put16(at + 8, error->cid == NO_COMMAND ? NO_COMMAND : error->sqid);
        put16(at + 10, error->cid);
        put16(at + 12, (uint32_t)error->status << 1);
        put16(at + 14, 0xffff);  // no field of the command is named
#if FUNCTIONS == 1
        put64(at + 16, error->lba);
        put32(at + 24, error->nsid);
        put64(at + 32, error->specific);
#else
        put32(at + 24, error->nsid);
        uint8_t* either = at + (error->specific ? 32 : 16);
        put32(either, error->lba[0]);
        put32(either + 4, error->lba[1]);
#endif
    }
    return CFG_ERROR_LOG * 64;
}

static uint32_t smart_page(struct request* r) {
    uint8_t* page = page_of(r);
    const struct history* before = &r->drive->before;
    struct hw_counters io = before->io;
    store_count(&io, false);
    memset(page, 0, 256);
    bool damaged = r->drive->store.found == STORE_DAMAGED || hw_keys_failed();
    uint32_t media = hw_media_state();
    page[0] = smart_warning(&r->fn->settings, media) | (damaged ? WARNS_RELIABILITY : 0);
    put16(page + 1, CFG_TEMPERATURE);
    page[3] = (uint8_t)media;  // available spare, its threshold, percentage used
    page[4] = (uint8_t)(media >> 8);
    page[5] = (uint8_t)(media >> 16);
    // data units: thousands of 512 bytes, rounded up
    put64(page + 32, div_u64(io.read_sectors + 999, 1000, NULL));
    put64(page + 48, div_u64(io.written_sectors + 999, 1000, NULL));
    put64(page + 64, io.reads);
    put64(page + 80, io.writes);
    put64(page + 112, r->drive->boot->power_cycles);
    put64(page + 128, div_u64(before->us + hw_time() - r->drive->started_at, 3600000000u, NULL));
    put64(page + 144, r->drive->boot->unsafe_shutdowns);
    put64(page + 160, io.media_errors);
    put64(page + 176, r->fn->errors.count);
    return 256;
}

/// The words of the media's health one after the other; Critical Warning in place of the bits of the state.
static uint32_t media_page(struct request* r) {
    uint8_t* page = page_of(r);
    uint32_t media = hw_media_state();
    put32(page, (media & 0x00ffffffu) | (uint32_t)smart_warning(&r->fn->settings, media) << 24);
    for (uint32_t word = 1; word < MEDIA_PAGE_BYTES / 4; word++) put32(page + 4 * word, hw_media_health(word));
    return MEDIA_PAGE_BYTES;
}

static uint32_t firmware_page(struct request* r) {
    uint8_t* page = page_of(r);
    memset(page, 0, 64);
    page[0] = 1;
    put_text(page + 8, CFG_FIRMWARE, 8);
    return 64;
}

static uint32_t changed_page(struct request* r) {
    uint32_t n = 0;
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (r->fn->ns[nsid].changed) {
            put32(page_of(r) + n, nsid);
            n += 4;
        }
    }
    return n;
}

static const struct {
    uint8_t opcode, effects;
} io_effects[] = {
    {OPC_FLUSH, EFFECTS_CSUPP},
    {OPC_WRITE, EFFECTS_CSUPP | EFFECTS_LBCC},
    {OPC_READ, EFFECTS_CSUPP},
    {OPC_COMPARE, EFFECTS_CSUPP},
    {OPC_WRITE_ZEROES, EFFECTS_CSUPP | EFFECTS_LBCC},
    {OPC_DSM, EFFECTS_CSUPP | EFFECTS_LBCC},
    {OPC_VERIFY, EFFECTS_CSUPP},
#if FUNCTIONS > 1
    {OPC_RESV_REGISTER, EFFECTS_CSUPP},
    {OPC_RESV_REPORT, EFFECTS_CSUPP},
    {OPC_RESV_ACQUIRE, EFFECTS_CSUPP},
    {OPC_RESV_RELEASE, EFFECTS_CSUPP},
#endif
};

static uint32_t csi_of(const struct request* r) { return r->cmd.dw[14] >> 24; }

static uint32_t effects_page(struct request* r) {
    uint8_t* page = page_of(r);
    memset(page, 0, 2048);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        const struct admin_command* c = &r->drive->commands[i];
        if (FUNCTIONS > 1 && r->fn->hw.place && (c->flags & PF_ONLY)) continue;
        if (c->run && (r->drive->hw.key_slots || !(c->flags & OPERATORS_ONLY))) put32(page + 4 * c->opcode, c->effects);
    }
#if SLM
    if (!hw_memory_log2()) {
        page[4 * ADMIN_OPC_PROGRAM_LOAD] = page[4 * ADMIN_OPC_PROGRAM_ACTIVATION] = 0;
        page[4 * ADMIN_OPC_MEMORY_RANGE_SET] = 0;
    }
    if (csi_of(r) == CSI_SLM) {
        page[1024 + 4 * SLM_OPC_READ] = EFFECTS_CSUPP;
        page[1024 + 4 * SLM_OPC_WRITE] = page[1024 + 4 * SLM_OPC_FILL] = EFFECTS_CSUPP | EFFECTS_LBCC;
        page[1024 + 4 * SLM_OPC_COPY] = EFFECTS_CSUPP | EFFECTS_LBCC;
        return 2048;
    }
    if (csi_of(r) == CSI_PROGRAMS) {
        page[1024 + 4 * PROGRAMS_OPC_EXECUTE] = EFFECTS_CSUPP | EFFECTS_LBCC;  // of the memory
        return 2048;
    }
#endif
    for (uint32_t i = 0; i < sizeof io_effects / sizeof io_effects[0]; i++)
        put32(page + 1024 + 4 * io_effects[i].opcode, io_effects[i].effects);
    if (hw_near_operators()) {
        page[4 * ADMIN_OPC_LOAD_PROGRAM] = page[1024 + 4 * OPC_NEAR] = EFFECTS_CSUPP;
        put32(page + 1024 + 4 * OPC_NEAR_STORE, EFFECTS_CSUPP | EFFECTS_LBCC);
    } else {
        page[4 * ADMIN_OPC_LOAD_PROGRAM] = page[4 * ADMIN_OPC_SLOTS] = 0;
    }
    if (r->drive->hw.uncorrectable) put32(page + 1024 + 4 * OPC_WRITE_UNCOR, EFFECTS_CSUPP | EFFECTS_LBCC);
    return 2048;
}

static uint32_t no_management_page(struct request* r) {
    (void)r;
    return 0;  // no command is supported
}

// ---------------------------------------------------------------- the table
enum {
    OF_OPERATORS = 1u << 0,  // only where there are operators in the data path
    OF_SEVERAL = 1u << 1,    // ... several functions
    OF_HEALTH = 1u << 2,     // ... media with a health
    OF_PROGRAMS = 1u << 3,   // of a function's namespace of programs
};
#define NO_EVENT 15u

static const struct log_page {
    uint8_t id;
    uint8_t flags : 4;
    uint8_t event : 4;  // reading it lets events of this type come again
    uint16_t bytes;
    handler_t* build;
} pages[] = {
    {LOG_ERROR, 0, AER_TYPE_ERROR, CFG_ERROR_LOG * 64, error_page},
    {LOG_SMART, 0, AER_TYPE_SMART, 512, smart_page},
    {LOG_FW_SLOT, 0, NO_EVENT, 512, firmware_page},
    {LOG_CHANGED_NS, 0, AER_TYPE_NOTICE, 4096, changed_page},
    {LOG_CMD_EFFECTS, 0, NO_EVENT, 4096, effects_page},
    {LOG_SUPPORTED, 0, NO_EVENT, 1024, supported_page},
    {LOG_FID_EFFECTS, 0, NO_EVENT, 1024, features_page},
    {LOG_MI_CMD_EFFECTS, 0, NO_EVENT, 1024, no_management_page},
#if FUNCTIONS > 1
    {LOG_RESERVATION, OF_SEVERAL, EVENT_RESERVATION, NOTICE_BYTES, notice_page},
#endif
    {LOG_MEDIA, OF_HEALTH, NO_EVENT, MEDIA_PAGE_BYTES, media_page},
#if SLM
    {LOG_PROGRAM_LIST, OF_PROGRAMS, NO_EVENT, PROGRAM_LIST_BYTES, program_list_page},
    {LOG_PROGRAM_TYPES, OF_PROGRAMS, NO_EVENT, PROGRAM_TYPES_BYTES, program_types_page},
    {LOG_RANGE_SET_LIST, OF_PROGRAMS, NO_EVENT, RANGE_SET_LIST_BYTES, range_sets_page},
#endif
    {LOG_CSD, OF_OPERATORS, NO_EVENT, OPERATORS_BYTES, operators_page},
    {LOG_CSD_RESULTS, OF_OPERATORS, NO_EVENT, RESULTS_BYTES, results_page},
};
#define PAGES (sizeof pages / sizeof pages[0])

static bool is_there(const struct request* r, const struct log_page* p) {
    if (FUNCTIONS > 1 && (p->flags & OF_SEVERAL)) return r->drive->hw.num_fn > 1;
    if (p->flags & OF_HEALTH) return hw_media_health(MEDIA_HEALTH_STATE) & MEDIA_STATE_THERE;
    if (SLM && (p->flags & OF_PROGRAMS)) return hw_memory_log2() != 0;
    return !(p->flags & OF_OPERATORS) || r->drive->hw.key_slots;
}

static uint32_t supported_page(struct request* r) {
    memset(page_of(r), 0, 1024);
    for (const struct log_page* p = pages; p < pages + PAGES; p++) page_of(r)[4 * p->id] = is_there(r, p);
    return 1024;
}

static const struct log_page* find(const struct request* r) {
    uint32_t id = r->cmd.dw[10] & 0xffu;
    for (const struct log_page* p = pages; p < pages + PAGES; p++) {
        if (p->id == id) return is_there(r, p) ? p : NULL;
    }
    return NULL;
}

/// The command set that the page is asked for: NVM, or one that the page has something to say of.
static bool csi_fits(const struct request* r, const struct log_page* p) {
    uint32_t csi = csi_of(r);
    if (!SLM || csi == CSI_NVM || !own_namespaces(r->fn)) return csi == CSI_NVM;
    return (csi == CSI_SLM && p->id == LOG_CMD_EFFECTS) ||
           (csi == CSI_PROGRAMS && (p->id == LOG_CMD_EFFECTS || (p->flags & OF_PROGRAMS)));
}

// ---------------------------------------------------------------- the command
uint32_t get_log_page(struct request* r) {
    const uint32_t* dw = r->cmd.dw;
    const struct log_page* p = find(r);
    uint32_t nsid = nsid_of(r), numd = dw[10] >> 16 | dw[11] << 16;
    uint64_t offset = (uint64_t)dw[13] << 32 | dw[12];
    if (!p) return ST_INVALID_LOG;
    if (numd >= PAGE_SIZE << CFG_MDTS >> 2) return ST_INVALID_FIELD;
    // Offsets are in bytes; no page is kept a namespace, but those of programs.
    if ((offset & 3u) || offset > p->bytes || (dw[14] >> 23 & 1u) || !csi_fits(r, p)) return ST_INVALID_FIELD;
    if (SLM && (p->flags & OF_PROGRAMS)) {
        uint32_t found = ns_check(r->drive, nsid, own_set(r->drive, r->fn, nsid) == CSI_PROGRAMS);
        if (found != ST_SUCCESS) return found;
    } else if (nsid != 0 && nsid != NSID_ALL) {
        return nsid <= last_nsid(r->drive) ? ST_INVALID_FIELD : ST_INVALID_NS;
    }
    uint32_t total = (numd + 1) << 2, skip = (uint32_t)offset, have = p->build(r);
    have = have > skip ? have - skip : 0;
    if (have > total) have = total;
    data_t d;
    uint32_t status = data_open(&d, r->drive->buffers, &r->cmd, total);
    if (status == ST_SUCCESS) status = data_put(&d, page_of(r) + skip, have);
    if (status == ST_SUCCESS) status = data_zero(&d, total - have);
    if (status == ST_SUCCESS && !(dw[10] >> 15 & 1u) && p->event != NO_EVENT) {  // RAE clear: it may come again
        if (p->event == AER_TYPE_NOTICE) ns_changed_read(r->drive, r->fn);
        if (FUNCTIONS > 1 && p->event == EVENT_RESERVATION) resv_notice_read(r->fn);
        else event_unmask(&r->fn->events, p->event);
    }
    return status;
}
