// SPDX-License-Identifier: Apache-2.0
#include "hw/hw.h"

#include "base/config.h"
#include "hw/registers.h"

static uint64_t two(volatile uint32_t* lo, volatile uint32_t* hi) { return (uint64_t)*hi << 32 | *lo; }

/// A value that runs while its halves are read.
static uint64_t running(volatile uint32_t* lo, volatile uint32_t* hi) {
    uint32_t h, l;
    do {
        h = *hi;
        l = *lo;
    } while (h != *hi);
    return (uint64_t)h << 32 | l;
}

void hw_init(struct hw_config* config, hw_ring_t* ring) {
    uint32_t has = HW->CONFIG;
    config->num_qp = (uint8_t)has;
    config->num_vec = (uint16_t)((has & DB_SSD_FW__CONFIG__NUM_VEC_bm) >> DB_SSD_FW__CONFIG__NUM_VEC_bp);
    config->uncorrectable = (has & DB_SSD_FW__CONFIG__UNCORRECTABLE_bm) != 0;
    config->sgl = (has & DB_SSD_FW__CONFIG__SGL_bm) != 0;
    config->restarted = (has & DB_SSD_FW__CONFIG__RESTARTED_bm) != 0;
    config->num_ns = (uint8_t)(has >> DB_SSD_FW__CONFIG__NUM_NS_bp);
    if (config->num_ns > MAX_NS) config->num_ns = MAX_NS;
    config->key_slots = (uint8_t)(CSD->KEY_STATUS >> DB_CSD__KEY_STATUS__SLOTS_bp & 0x7fu);
    config->operators = CSD->CAPS;
    config->num_fn = (uint8_t)(HW->FN_CONFIG & 31u);
    config->vf_vec = (uint8_t)(HW->FN_CONFIG >> DB_SSD_FW__FN_CONFIG__VF_VEC_bp);
    if (FUNCTIONS > 1) config->num_cmds = (uint16_t)(HW->FN_CONFIG >> DB_SSD_FW__FN_CONFIG__NUM_CMDS_bp & 0x1ffu);
    config->media_pages = two(&HW->MEDIA_PAGES_LO, &HW->MEDIA_PAGES_HI);
    HW->SQ_RING = (uint32_t)(uintptr_t)ring;
}

// ---------------------------------------------------------------- functions
static void select(const struct hw_function* f) {
    if (FUNCTIONS > 1) HW->FN_SELECT = f->place;
}

void hw_function_queues(const struct hw_function* f) {
    HW->FN_QUEUES = f->place | (uint32_t)f->before_first << DB_SSD_FW__FN_QUEUES__BEFORE_FIRST_bp |
                    (uint32_t)f->num_qp << DB_SSD_FW__FN_QUEUES__COUNT_bp | DB_SSD_FW__FN_QUEUES__GO_bm;
}

void hw_function_share(const struct hw_function* f, uint32_t weight, uint32_t min, uint32_t max, uint32_t deadline_us) {
    HW->FN_DEADLINE = deadline_us;
    HW->FN_SHARE = f->place | weight << DB_SSD_FW__FN_SHARE__WEIGHT_bp | min << DB_SSD_FW__FN_SHARE__LEAST_bp |
                   max << DB_SSD_FW__FN_SHARE__MOST_bp | DB_SSD_FW__FN_SHARE__GO_bm;
}

#define RATE_MAX DB_SSD_FW__FN_LIMIT_RATE__RATE_bm
#define BURST_MAX DB_SSD_FW__FN_LIMIT_BURST__BURST_bm

/// So many a second as 1 / 2^fraction in a microsecond, rounded; something stays something.
static uint32_t per_microsecond(uint64_t each_second, uint32_t fraction) {
    uint64_t rate = 0, bits = each_second;
    uint32_t rest = 0;
    if (!each_second) return 0;
    for (uint32_t i = 0; i < 64 + fraction; i++) {
        rest = rest << 1 | (uint32_t)(bits >> 63);
        bits <<= 1;
        rate <<= 1;
        if (rest >= 1000000u) {
            rest -= 1000000u;
            rate |= 1;
        }
        if (rate > RATE_MAX) return RATE_MAX;
    }
    if (rest >= 500000u && rate < RATE_MAX) rate++;
    return rate ? (uint32_t)rate : 1;
}

static void limit(const struct hw_function* f, uint32_t bytes, uint32_t rate, uint64_t burst, uint32_t most) {
    HW->FN_LIMIT_RATE = rate;
    HW->FN_LIMIT_BURST = burst > most ? most : burst ? (uint32_t)burst : 1;
    HW->FN_LIMIT = f->place | bytes | DB_SSD_FW__FN_LIMIT__GO_bm;
}

void hw_function_limit(const struct hw_function* f, uint32_t iops, uint32_t burst, uint64_t bytes_per_s,
                       uint64_t burst_bytes) {
    limit(f, 0, per_microsecond(iops, 20), burst, 0x1ffff);
    limit(f, DB_SSD_FW__FN_LIMIT__BYTES_bm, per_microsecond(bytes_per_s, 12), burst_bytes, BURST_MAX);
}

uint32_t hw_functions_pending(void) { return HW->FN_PENDING; }

uint32_t hw_function_events(const struct hw_function* f) { return HW->FN_EVENT[f->place]; }

void hw_function_clear(const struct hw_function* f, uint32_t events) { HW->FN_EVENT[f->place] = events; }

void hw_functions_off(uint32_t places) { HW->FN_OFF = places; }

void hw_function_reset(const struct hw_function* f) {
    select(f);
    HW->CTL = HW->CTL | DB_SSD_FW__CTL__FLR_RST_bm;
    (void)hw_time();  // let CC fall
}

void hw_function_reset_done(const struct hw_function* f) {
    select(f);
    HW->CTL = HW->CTL | DB_SSD_FW__CTL__FLR_DONE_bm;
}

/// The number of a queue among those of all functions: admin queues, then I/O queues.
static uint32_t queue_of(const struct hw_function* f, uint32_t qid) {
    return FUNCTIONS == 1 ? qid : qid ? f->before_first + qid : f->place;
}

// ---------------------------------------------------------------- time, events, sleep
uint64_t hw_time(void) { return running(&HW->TIME_LO, &HW->TIME_HI); }

uint32_t hw_events(void) { return HW->EVENT; }

void hw_clear(uint32_t events) { HW->EVENT = events; }

static void wait_irq(void) {
    // picorv32's waitirq a0: goes on when its interrupt input is high
    __asm__ volatile(".word 0x0800050b" ::: "a0", "memory");
}

static void set_timer(uint64_t wake) {
    HW->WAKE_HI = 0xffffffffu;  // never by a half-written time
    HW->WAKE_LO = (uint32_t)wake;
    HW->WAKE_HI = (uint32_t)(wake >> 32);
}

void hw_sleep(uint32_t events, uint64_t wake) {
    set_timer(wake);
    HW->WAKE_ON = events | EV(TIMER);
    HW->SLEEP = DB_SSD_FW__SLEEP__GO_bm | DB_SSD_FW__SLEEP__TURN_bm;
    wait_irq();
}

void hw_turn(uint64_t wake) {
    set_timer(wake);
    HW->SLEEP = DB_SSD_FW__SLEEP__TURN_bm;
}

static bool wait_for(uint32_t events, uint32_t give_up, uint64_t until) {
    for (;;) {
        uint32_t now = HW->EVENT;
        if (now & give_up) return false;
        if (now & events) return true;
        if (until != NEVER && hw_time() >= until) return false;
        hw_sleep(events | give_up, until);
    }
}

/// With several functions no wait is that long, and a reset of one ends nothing of another.
bool hw_wait(uint32_t events, uint64_t until) { return wait_for(events, FUNCTIONS > 1 ? 0 : EV_RESET, until); }

bool hw_wait_only(uint32_t events, uint64_t until) { return wait_for(events, 0, until); }

// ---------------------------------------------------------------- the controller
void hw_control(uint32_t control) { HW->CTL = control; }

void hw_status(const struct hw_function* f, uint32_t rdy, uint32_t cfs, uint32_t shst) {
    select(f);
    HW->CSTS = rdy | cfs << DB_SSD_FW__CSTS__CFS_bp | shst << DB_SSD_FW__CSTS__SHST_bp;
}

void hw_subsystem_reset_done(const struct hw_function* f) {
    select(f);
    HW->CSTS = DB_SSD_FW__CSTS__NSSRO_bm;
}

uint32_t hw_cc(const struct hw_function* f) {
    select(f);
    return HW->CC;
}

uint32_t hw_aqa(const struct hw_function* f) {
    select(f);
    return HW->AQA;
}

uint64_t hw_asq(const struct hw_function* f) {
    select(f);
    return two(&HW->ASQ_LO, &HW->ASQ_HI);
}

uint64_t hw_acq(const struct hw_function* f) {
    select(f);
    return two(&HW->ACQ_LO, &HW->ACQ_HI);
}

// ---------------------------------------------------------------- commands, completions, data
#define NOBODY 0xffu  // no function has this number

bool hw_command(hw_ring_t* ring, cmd_t* cmd) {
    uint32_t pointers = HW->SQ_PTR;
    uint32_t rd = pointers >> DB_SSD_FW__SQ_PTR__RD_PTR_bp & 31u;
    if (rd == (pointers & 31u)) return false;
    volatile uint32_t* from = (*ring)[rd & 15u];
    _Pragma("unroll") for (uint32_t i = 0; i < 16; i++) cmd->dw[i] = from[i];
    cmd->function = from[FUNCTIONS > 1 ? 2 : 16];
    from[11] = 0;  // a word of a key comes here, and is not to stay
    HW->SQ_PTR = ((rd + 1) & 31u) << DB_SSD_FW__SQ_PTR__RD_PTR_bp;
    return true;
}

#if FUNCTIONS > 1
void hw_commands_forget(hw_ring_t* ring, uint32_t function) {
    uint32_t pointers = HW->SQ_PTR;
    for (uint32_t rd = pointers >> DB_SSD_FW__SQ_PTR__RD_PTR_bp; (rd ^ pointers) & 31u; rd++) {
        volatile uint32_t* its = &(*ring)[rd & 15u][2];
        if (*its == function) *its = NOBODY;
    }
}
#endif

static void complete(uint32_t id, uint32_t status, uint32_t dw0) {
    if (!hw_wait(EV(COMPLETION_IDLE), NEVER)) return;  // a reset takes the command with it
    HW->COMPLETION_DW0 = dw0;
    HW->COMPLETION_ID = id;
    HW->COMPLETION_STATUS = (status & 0x7fffu) | DB_SSD_FW__COMPLETION_STATUS__GO_bm;
}

void hw_complete(uint32_t function, uint32_t cid, uint32_t status, uint32_t dw0) {
    complete(
        cid | hw_place(function) << DB_SSD_FW__COMPLETION_ID__SQID_bp | function << DB_SSD_FW__COMPLETION_ID__FN_bp,
        status, dw0);
}

void hw_complete_io(const struct hw_function* f, uint32_t sqid, uint32_t cid, uint32_t status) {
    complete(cid | queue_of(f, sqid) << DB_SSD_FW__COMPLETION_ID__SQID_bp |
                 (uint32_t)f->number << DB_SSD_FW__COMPLETION_ID__FN_bp,
             status, 0);
}

bool hw_copy(uint32_t op, uint32_t function, uint64_t host, const void* ram, uint32_t bytes) {
    if (!hw_wait(EV(COPY_IDLE), NEVER)) return false;
    HW->COPY_HOST_LO = (uint32_t)host;
    HW->COPY_HOST_HI = (uint32_t)(host >> 32);
    HW->COPY_RAM = (uint32_t)(uintptr_t)ram;
    __asm__ volatile("" ::: "memory");  // what is written to RAM is there before
    HW->COPY_CMD = bytes >> 2 | op << DB_SSD_FW__COPY_CMD__OP_bp | function << DB_SSD_FW__COPY_CMD__FN_bp |
                   DB_SSD_FW__COPY_CMD__GO_bm;
    if (!hw_wait(EV(COPY_IDLE), NEVER)) return false;
    __asm__ volatile("" ::: "memory");  // a read has changed it
    return op != COPY_GET || HW->COPY_STAT == 0;
}

// ---------------------------------------------------------------- queues
static void write_queue(uint32_t control, uint64_t base, uint32_t size) {
    if (!hw_wait(EV(QUEUE_CTX_IDLE), NEVER)) return;
    HW->QUEUE_CTX_BASE_LO = (uint32_t)base;
    HW->QUEUE_CTX_BASE_HI = (uint32_t)(base >> 32);
    HW->QUEUE_CTX_SIZE = size;
    HW->QUEUE_CTX_CTL = control | DB_SSD_FW__QUEUE_CTX_CTL__GO_bm;
    (void)hw_wait(EV(QUEUE_CTX_IDLE), NEVER);
}

void hw_create_cq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t vector,
                  bool interrupts) {
    write_queue(queue_of(f, qid) | DB_SSD_FW__QUEUE_CTX_CTL__CQ_bm | DB_SSD_FW__QUEUE_CTX_CTL__VALID_bm |
                    (interrupts ? DB_SSD_FW__QUEUE_CTX_CTL__IEN_bm : 0),
                base, entries | ((FUNCTIONS > 1 ? f->first_vec : 0) + vector) << DB_SSD_FW__QUEUE_CTX_SIZE__VECTOR_bp);
}

void hw_create_sq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t cqid,
                  uint32_t priority) {
    if (FUNCTIONS > 1) HW->QUEUE_CTX_FN = f->number | qid << DB_SSD_FW__QUEUE_CTX_FN__HOST_QID_bp;
    write_queue(queue_of(f, qid) | queue_of(f, cqid) << DB_SSD_FW__QUEUE_CTX_CTL__CQID_bp |
                    DB_SSD_FW__QUEUE_CTX_CTL__VALID_bm | priority << DB_SSD_FW__QUEUE_CTX_CTL__PRIO_bp,
                base, entries);
}

void hw_delete_cq(const struct hw_function* f, uint32_t qid) {
    write_queue(queue_of(f, qid) | DB_SSD_FW__QUEUE_CTX_CTL__CQ_bm, 0, 0);
}

void hw_delete_sq(const struct hw_function* f, uint32_t qid) { write_queue(queue_of(f, qid), 0, 0); }

bool hw_sq_idle(const struct hw_function* f, uint32_t qid) {
    HW->SQ_SELECT = queue_of(f, qid);
    (void)HW->SQ_PTR;  // the event follows after 3 cycles
    // It says no, too, while any queue is at work: with many owners that is most of the time.
    for (uint32_t i = 1; FUNCTIONS > 1 && i < 16; i++) {
        if (HW->EVENT & EV(SQ_IDLE)) return true;
    }
    return (HW->EVENT & EV(SQ_IDLE)) != 0;
}

// ---------------------------------------------------------------- commands under way
void hw_abort(const struct hw_function* f, uint32_t how, uint32_t sqid, uint32_t key) {
    if (how & DB_SSD_FW__ABORT__BY_FN_bm) key = f->number;
    HW->ABORT = how | queue_of(f, sqid) | key << DB_SSD_FW__ABORT__KEY_bp | DB_SSD_FW__ABORT__GO_bm;
}

bool hw_abort_idle(void) { return (HW->EVENT & EV(ABORT_IDLE)) != 0; }

bool hw_abort_found(void) { return (HW->ABORT & DB_SSD_FW__ABORT__FOUND_bm) != 0; }

_Static_assert(DB_SSD_FW__ABORT_WATCH__WATCHING_bm == (1u << CFG_ABORT_LIMIT) - 1, "a watch for each Abort");

void hw_watch(const struct hw_function* f, uint32_t watch, uint32_t sqid, uint32_t cid) {
    write_queue(queue_of(f, sqid) | watch << DB_SSD_FW__QUEUE_CTX_CTL__PRIO_bp | DB_SSD_FW__QUEUE_CTX_CTL__WATCH_bm, 0,
                cid);
}

void hw_unwatch(uint32_t watch) {
    write_queue(watch << DB_SSD_FW__QUEUE_CTX_CTL__PRIO_bp | DB_SSD_FW__QUEUE_CTX_CTL__WATCH_bm |
                    DB_SSD_FW__QUEUE_CTX_CTL__VALID_bm,
                0, 0);
}

bool hw_watching(uint32_t watch) { return (HW->ABORT_WATCH >> DB_SSD_FW__ABORT_WATCH__WATCHING_bp >> watch & 1) != 0; }

bool hw_caught(uint32_t watch) { return (HW->ABORT_WATCH >> DB_SSD_FW__ABORT_WATCH__CAUGHT_bp >> watch & 1) != 0; }

// ---------------------------------------------------------------- settings
void hw_arbitration(uint32_t value) { HW->ARB = value; }

void hw_no_write_cache(uint32_t places) { HW->CACHE = places; }

void hw_coalescing(uint32_t value) { HW->COALESCE = value; }

void hw_vector(const struct hw_function* f, uint32_t vector, bool not_coalesced) {
    HW->INT_VEC_CFG = ((FUNCTIONS > 1 ? f->first_vec : 0) + vector) |
                      (not_coalesced ? DB_SSD_FW__INT_VEC_CFG__CD_bm : 0) | DB_SSD_FW__INT_VEC_CFG__GO_bm;
}

// ---------------------------------------------------------------- namespaces, media
void hw_namespace(uint32_t nsid, const struct hw_namespace* ns) {
    HW->NS_BASE_LO = (uint32_t)ns->base;
    HW->NS_BASE_HI = (uint32_t)(ns->base >> 32);
    HW->NS_BLOCKS_LO = (uint32_t)ns->blocks;
    HW->NS_BLOCKS_HI = (uint32_t)(ns->blocks >> 32);
#if FUNCTIONS > 1
    HW->NS_ATTACHED = ns->attached;
    HW->NS_BARRED = ns->barred | (ns->exclusive ? DB_SSD_FW__NS_BARRED__EXCLUSIVE_bm : 0);
#endif
#if SLM
    uint32_t set = ns->set << DB_SSD_FW__NS_CTL__SET_bp;
#else
    uint32_t set = 0;
#endif
    HW->NS_CTL = (nsid - 1) | set | (ns->attached ? DB_SSD_FW__NS_CTL__VALID_bm : 0) |
                 (ns->lba4k ? DB_SSD_FW__NS_CTL__LBA4K_bm : 0) | (ns->read_only ? DB_SSD_FW__NS_CTL__READ_ONLY_bm : 0) |
                 ns->gate << DB_SSD_FW__NS_CTL__GATE_bp | DB_SSD_FW__NS_CTL__GO_bm;
}

bool hw_media_idle(void) { return (HW->EVENT & EV(MEDIA_IDLE)) != 0; }

bool hw_media_idle_soon(void) {
    for (uint32_t i = 0; i < 16; i++) {
        if (hw_media_idle()) return true;
    }
    return false;
}

bool hw_media_ok(void) { return (HW->MEDIA_CMD & DB_SSD_FW__MEDIA_CMD__ERR_bm) == 0; }

bool hw_media_word_ok(void) { return (HW->STORE_CMD & DB_SSD_FW__STORE_CMD__ERR_bm) == 0; }

static void media_address(uint64_t addr) {
    HW->MEDIA_ADDR_LO = (uint32_t)addr;
    HW->MEDIA_ADDR_HI = (uint32_t)(addr >> 32);
}

static void media_start(uint32_t op, uint64_t addr, uint64_t bytes) {
    media_address(addr);
    HW->MEDIA_BYTES_LO = (uint32_t)bytes;
    HW->MEDIA_BYTES_HI = (uint32_t)(bytes >> 32);
    HW->MEDIA_CMD = op | DB_SSD_FW__MEDIA_CMD__GO_bm;
}

void hw_media_flush_start(uint32_t spared) { media_start(0, EXTENTS ? spared & MEDIA_FLUSH_SPARED : 0, 0); }

/// SSDs that have zeroed nothing have no part of it.
void hw_zeroes_flush_start(void) { media_start(0, EXTENTS ? MEDIA_FLUSH_ZEROED : 0, 0); }

/// The media is told the size: SSDs have no part of it.
void hw_settings_flush_start(void) { media_start(0, 0, EXTENTS ? SETTINGS_PAGES * PAGE_SIZE : 0); }

void hw_media_zero_start(uint64_t addr, uint64_t bytes) { media_start(1, addr, bytes); }

void hw_media_write_start(uint64_t addr, uint32_t word) {
    media_address(addr);
    HW->STORE_OUT = word;
    HW->STORE_CMD = DB_SSD_FW__STORE_CMD__WRITE_bm | DB_SSD_FW__STORE_CMD__GO_bm;
}

/// False: it takes too long.
static bool media_free(void) { return hw_media_idle_soon() || hw_wait_only(EV(MEDIA_IDLE), hw_time() + CFG_WAIT_US); }

bool hw_media_flush(uint32_t spared) {
    if (!media_free()) return false;
    hw_media_flush_start(spared);
    return hw_wait(EV(MEDIA_IDLE), NEVER) && hw_media_ok();
}

/// What is under way ends first: its answer would be taken for that of this access.
bool hw_media_read(uint64_t addr, uint32_t* word) {
    if (!media_free()) return false;
    media_address(addr);
    HW->STORE_CMD = DB_SSD_FW__STORE_CMD__GO_bm;
    bool done = media_free() && hw_media_word_ok();
    *word = HW->STORE_IN;
    return done;
}

// ---------------------------------------------------------------- what I/O commands leave
bool hw_io_error(struct hw_io_error* error) {
    if (!(HW->EVENT & EV(ERR))) return false;
    uint32_t id = HW->ERR_ID;
    error->queue = id >> DB_SSD_FW__ERR_ID__SQID_bp & 0xffu;
    error->cid = id & 0xffffu;
    error->status = HW->ERR_STATUS & 0x7fffu;
    error->nsid = HW->ERR_NSID;
    error->lba = two(&HW->ERR_LBA_LO, &HW->ERR_LBA_HI);
    HW->ERR_STATUS = DB_SSD_FW__ERR_STATUS__POP_bm;
    return true;
}

struct hw_doorbell_error hw_doorbell_error(void) {
    uint32_t bad = HW->DOORBELL_ERR;
    hw_clear(EV(DOORBELL_ERR));
    return (struct hw_doorbell_error){.function = bad >> DB_SSD_FW__DOORBELL_ERR__FN_bp & 0xffu, .value = bad & 1u};
}

void hw_counters(struct hw_counters* counters) {
    counters->read_sectors = running(&HW->RD_SECTORS_LO, &HW->RD_SECTORS_HI);
    counters->written_sectors = running(&HW->WR_SECTORS_LO, &HW->WR_SECTORS_HI);
    counters->reads = running(&HW->RD_CMDS_LO, &HW->RD_CMDS_HI);
    counters->writes = running(&HW->WR_CMDS_LO, &HW->WR_CMDS_HI);
    counters->media_errors = running(&HW->MEDIA_ERR_LO, &HW->MEDIA_ERR_HI);
}

uint32_t hw_media_health(uint32_t word) {
    HW->MEDIA_HEALTH_WORD = word;
    return HW->MEDIA_HEALTH;
}

uint32_t hw_media_state(void) {
    HW->MEDIA_HEALTH_WORD = MEDIA_HEALTH_BAD;  // the picture is taken when STATE is asked for after another
    uint32_t state = hw_media_health(MEDIA_HEALTH_STATE);
    return state & MEDIA_STATE_THERE ? state : 10u << 8 | 100u;
}
