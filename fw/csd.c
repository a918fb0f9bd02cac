// SPDX-License-Identifier: Apache-2.0
// Operators in the data path, where there are any (db_csd; docs/operators.md): features C0h to CDh, keys, namespaces.
//
// What a namespace does outlives a controller reset, keys do not: it is locked then, and nothing is ever written plain.
#include "fw.h"

#define CSD ((volatile db_csd_t *)0x90000000u)

enum { OP_PASS = 0, OP_ADD = 1, OP_CTR = 2, OP_XTS = 3 };            // op_e of db_csd_pkg
enum { F_CONFIG = 0xc0, F_FIRST = 0xc1, F_GAP = 0xc9, F_LAST = 0xcd };
enum { CONFIG_PASS = 0, CONFIG_ADD = 1, CONFIG_AES128 = 2, CONFIG_AES256 = 8 };
enum { W_K2 = 8, W_IV = 16, KEY_WORDS = 20 };                         // words of the staging memory

#define WORDS      (F_LAST - F_FIRST + 1)
#define IV_MASK    0x1e00u                                            // CAh to CDh
#define SLOT_FEATURES 0u
#define ALL_SLOTS  0xffu

typedef struct {
    uint32_t number, command, nsid, bytes;
    uint64_t lba;
    uint32_t digest[8];
} result_t;

uint32_t csd_slots;                                                   // 0: no operators

static result_t results[CFG_RESULTS];                                // the newest is before results_next
static uint32_t results_next, results_count;
static uint32_t ops;                                                  // bit n: there is operator n
static uint32_t config;
static uint32_t addend;                                               // by feature C1h
static uint32_t words[WORDS], words_set;                              // C1h to CDh, and which have been set
static struct {
    bool own;                                                         // bound by command, not by feature C0h
    uint8_t op, slot;
} bound[MAX_NS + 1];

// ---------------------------------------------------------------- the hardware
static void wait_keys(void)
{
    while (CSD->KEY_STATUS & DB_CSD__KEY_STATUS__BUSY_bm)
        ;
}

static void key_command(uint32_t ctl)
{
    wait_keys();
    CSD->KEY_CTL = ctl | DB_CSD__KEY_CTL__GO_bm;
    wait_keys();
}

static void stage(uint32_t at, uint32_t word)
{
    volatile uint32_t *staging = (volatile uint32_t *)(0x90000000u + offsetof(db_csd_t, KEY_WORD));
    staging[at] = word;
}

/// What the next binding's operator gets; the table of the hardware keeps it.
static void set_params(const uint32_t *four)
{
    for (uint32_t i = 0; i < 4; i++)
        CSD->PARAM[i] = four[i];
}

static void write_binding(uint32_t nsid)
{
    CSD->BIND = (nsid - 1) | (uint32_t)bound[nsid].op << DB_CSD__BIND__OP_bp
              | (uint32_t)bound[nsid].slot << DB_CSD__BIND__SLOT_bp | DB_CSD__BIND__GO_bm;
}

// ---------------------------------------------------------------- features
static uint32_t swapped(uint32_t w)
{
    return w << 24 | (w & 0xff00u) << 8 | (w >> 8 & 0xff00u) | w >> 24;
}

static bool config_aes(void) { return config == CONFIG_AES128 || config == CONFIG_AES256; }

static void forget_words(void)
{
    for (uint32_t i = 0; i < WORDS; i++)
        ((volatile uint32_t *)words)[i] = 0;
    words_set = 0;
}

/// Key and IV to their slot once all of them are there. The last word is the first of the vector, as published.
static void apply_words(void)
{
    uint32_t n = config == CONFIG_AES256 ? 8 : 4;
    uint32_t need = IV_MASK | ((1u << n) - 1u);
    if (config == CONFIG_ADD)
        addend = words[0];
    if (!config_aes() || (words_set & need) != need) {
        key_command(SLOT_FEATURES);
        return;
    }
    wait_keys();
    for (uint32_t i = 0; i < n; i++)
        stage(i, swapped(words[n - 1 - i]));
    for (uint32_t i = 0; i < 4; i++)
        stage(W_IV + i, swapped(words[WORDS - 1 - i]));
    key_command(SLOT_FEATURES | DB_CSD__KEY_CTL__LOAD_bm | DB_CSD__KEY_CTL__CTR_bm
                | (n == 8 ? DB_CSD__KEY_CTL__K256_bm : 0));
}

static void apply_config(void)
{
    const uint32_t params[4] = {addend};
    set_params(params);
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++) {
        if (bound[nsid].own)
            continue;
        bound[nsid].op = config_aes() ? OP_CTR : config == CONFIG_ADD ? OP_ADD : OP_PASS;
        bound[nsid].slot = SLOT_FEATURES;
        write_binding(nsid);
    }
}

void csd_init(void)
{
    csd_slots = CSD->KEY_STATUS >> DB_CSD__KEY_STATUS__SLOTS_bp & 0x7fu;
    ops = CSD->CAPS;
    if (csd_slots)
        csd_reset();
}

/// The hardware has erased all keys by itself.
void csd_reset(void)
{
    if (csd_slots == 0)
        return;
    results_count = 0;
    forget_words();
    apply_config();
}

bool csd_feature(uint32_t fid)
{
    return csd_slots && fid >= F_CONFIG && fid <= F_LAST && fid != F_GAP;
}

uint32_t csd_feature_set(uint32_t fid, uint32_t value)
{
    uint32_t ctl;
    if (fid == F_CONFIG && value != CONFIG_PASS && value != CONFIG_ADD && value != CONFIG_AES128
        && value != CONFIG_AES256)
        return ST_INVALID_FIELD;
    if (!hw_hold(&ctl)) {
        hw_go_on(ctl);
        return ST_INTERNAL;
    }
    if (fid == F_CONFIG) {
        // Half of a longer key is no key, and a word of a key is nothing to add to data that anybody may read.
        bool other_size = config_aes() && value != config && value > CONFIG_ADD;
        if (other_size || (value == CONFIG_ADD && (words_set & ~1u)))
            forget_words();
        config = value;
    } else {
        words[fid - F_FIRST] = value;
        words_set |= 1u << (fid - F_FIRST);
    }
    if (fid != F_CONFIG || value != CONFIG_PASS)
        apply_words();       // with 0 the key stays for when it is wanted again
    apply_config();
    hw_go_on(ctl);
    return ST_SUCCESS;
}

/// Words of keys read as zeros.
uint32_t csd_feature_get(uint32_t fid)
{
    if (fid == F_CONFIG)
        return config;
    return fid == F_FIRST && config == CONFIG_ADD ? addend : 0;
}

// ---------------------------------------------------------------- commands
static void erase(uint32_t slot)
{
    if (slot == SLOT_FEATURES)
        forget_words();
    key_command(slot);
}

/// Format NVM with Secure Erase, and deletion: the key of the namespace goes, also for others that it is the key of.
void csd_erase_ns(uint32_t nsid)
{
    if (csd_slots && (bound[nsid].op == OP_CTR || bound[nsid].op == OP_XTS))
        erase(bound[nsid].slot);
}

/// CDW10: slot, and what its key is for as in KEY_CTL. Data: K1, K2 of 32 bytes each, IV of 16.
uint32_t csd_key_load(const cmd_t *cmd)
{
    const uint32_t flags = DB_CSD__KEY_CTL__K256_bm | DB_CSD__KEY_CTL__CTR_bm | DB_CSD__KEY_CTL__XTS_bm;
    uint32_t dw10 = cmd->dw[10], slot = dw10 & 0xffu, ctl;
    bool xts = dw10 & DB_CSD__KEY_CTL__XTS_bm;
    uint32_t key[KEY_WORDS];
    data_t d;
    if (slot == SLOT_FEATURES || slot >= csd_slots || (dw10 & ~(flags | 0xffu))
        || !(dw10 & (DB_CSD__KEY_CTL__CTR_bm | DB_CSD__KEY_CTL__XTS_bm)))
        return ST_INVALID_FIELD;
    uint32_t status = data_open(&d, cmd, sizeof key);
    if (status == ST_SUCCESS)
        status = data_get(&d, key, sizeof key);
    uint32_t n = dw10 & DB_CSD__KEY_CTL__K256_bm ? 8 : 4, differ = 0;
    for (uint32_t i = 0; i < n; i++)
        differ |= key[i] ^ key[W_K2 + i];
    if (status == ST_SUCCESS && xts && !differ)
        status = ST_INVALID_FIELD;  // IEEE 1619: two keys, not one
    if (status == ST_SUCCESS) {
        if (hw_hold(&ctl)) {
            wait_keys();
            for (uint32_t i = 0; i < KEY_WORDS; i++)
                stage(i, key[i]);
            key_command(slot | (dw10 & flags) | DB_CSD__KEY_CTL__LOAD_bm);
        } else {
            status = ST_INTERNAL;
        }
        hw_go_on(ctl);
    }
    for (uint32_t i = 0; i < KEY_WORDS; i++)
        ((volatile uint32_t *)key)[i] = 0;
    data_forget();
    return status;
}

/// CDW10: slot, FFh for all.
uint32_t csd_key_erase(const cmd_t *cmd)
{
    uint32_t slot = cmd->dw[10];
    if (slot != ALL_SLOTS && slot >= csd_slots)
        return ST_INVALID_FIELD;
    for (uint32_t i = 0; i < csd_slots; i++) {
        if (slot == i || slot == ALL_SLOTS)
            erase(i);
    }
    return ST_SUCCESS;
}

/// CDW10: operator in bits 3:0, key slot in 13:8; bit 31: as feature C0h says. CDW12 to 15: its parameters.
uint32_t csd_bind(const cmd_t *cmd)
{
    uint32_t dw10 = cmd->dw[10], op = dw10 & 15u, slot = dw10 >> 8 & 63u, ctl;
    bool own = !(dw10 >> 31);
    bool all = cmd_nsid(cmd) == NVME_NSID_ALL;
    if (!all && !ns_exists(cmd_nsid(cmd)))
        return ns_check_exists(cmd_nsid(cmd));
    if ((dw10 & 0x7fffc0f0u) || cmd->dw[11] || (own && (!(ops >> op & 1u) || slot >= csd_slots)))
        return ST_INVALID_FIELD;
    if (!hw_hold(&ctl)) {
        hw_go_on(ctl);
        return ST_INTERNAL;
    }
    set_params(&cmd->dw[12]);
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++) {
        if (!ns_exists(nsid) || (!all && nsid != cmd_nsid(cmd)))
            continue;
        bound[nsid].own = own;
        bound[nsid].op = (uint8_t)op;
        bound[nsid].slot = (uint8_t)slot;
        if (own)
            write_binding(nsid);
    }
    apply_config();
    hw_go_on(ctl);
    return ST_SUCCESS;
}

/// Log page C0h: what there is, which slots hold keys, what each namespace does.
uint32_t csd_page(void)
{
    memset(page, 0, 512);
    put16(page, 1);
    page[2] = (uint8_t)csd_slots;
    page[3] = num_ns;
    put32(page + 4, ops);
    page[8] = (uint8_t)config;
    wait_keys();
    for (uint32_t i = 0; i < csd_slots; i++) {
        CSD->KEY_CTL = i;
        page[16 + i] = (uint8_t)CSD->KEY_SLOT;
    }
    for (uint32_t nsid = 1; nsid <= num_ns && nsid <= 64; nsid++) {
        uint8_t *at = page + 128 + 4 * (nsid - 1);
        at[0] = bound[nsid].op;
        at[1] = bound[nsid].slot;
        at[2] = bound[nsid].own;
    }
    return 512;
}

/// Take over what the reducers have found; the hardware keeps only so many.
static void collect_results(void)
{
    for (uint32_t first; (first = CSD->RES) & DB_CSD__RES__VALID_bm;) {
        result_t *r = &results[results_next];
        r->number = first & DB_CSD__RES__TAG_bm;
        r->command = CSD->RES_CMD;
        r->nsid = CSD->RES_NSID;
        r->bytes = CSD->RES_BYTES;
        r->lba = (uint64_t)CSD->RES_LBA_HI << 32 | CSD->RES_LBA_LO;
        for (uint32_t i = 0; i < 8; i++)
            r->digest[i] = CSD->RES_DIGEST[i];
        if (CSD->RES != first)
            continue;  // dropped meanwhile, to make room for a new one
        CSD->RES_NEXT = DB_CSD__RES_NEXT__GO_bm;
        results_next = results_next + 1 == CFG_RESULTS ? 0 : results_next + 1;
        if (results_count < CFG_RESULTS)
            results_count++;
    }
}

/// The namespace is gone: a new one of its number does what feature C0h says, and what was found in it is no result.
void csd_forget_ns(uint32_t nsid)
{
    if (csd_slots == 0)
        return;
    bound[nsid].own = false;
    apply_config();
    for (uint64_t until = hw_time() + CFG_WAIT_US;
         CSD->KEY_STATUS & DB_CSD__KEY_STATUS__REDUCING_bm && hw_time() < until && !(HW->EVENT & EV_RESET);)
        collect_results();  // a reducer may be at work when its command has ended
    collect_results();
    uint32_t from = (results_next + CFG_RESULTS - results_count) % CFG_RESULTS, to = from, kept = 0;
    for (uint32_t n = results_count; n; n--, from = (from + 1) % CFG_RESULTS) {
        if (results[from].nsid == nsid)
            continue;
        results[to] = results[from];
        to = (to + 1) % CFG_RESULTS;
        kept++;
    }
    results_next = to;
    results_count = kept;
}

/// Log page C1h: results of the reducers, newest first.
uint32_t csd_results_page(void)
{
    collect_results();
    memset(page, 0, CSD_RESULTS_BYTES);
    put16(page, 1);
    put16(page + 2, results_count);
    uint8_t *at = page + 64;
    for (uint32_t n = 0, i = results_next; n < results_count; n++, at += 64) {
        i = i == 0 ? CFG_RESULTS - 1 : i - 1;
        put32(at, results[i].number);
        put32(at + 4, results[i].command);
        put32(at + 8, results[i].nsid);
        put32(at + 12, results[i].bytes);
        put64(at + 16, results[i].lba);
        for (uint32_t w = 0; w < 8; w++)
            put32(at + 32 + 4 * w, results[i].digest[w]);
    }
    return CSD_RESULTS_BYTES;
}
