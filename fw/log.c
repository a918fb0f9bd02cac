// SPDX-License-Identifier: Apache-2.0
// Log pages, the error log behind one of them, and asynchronous events (Base 2.0, 5.16 and 5.2).
#include "fw.h"

enum { LOG_SUPPORTED = 0x00, LOG_ERROR = 0x01, LOG_SMART = 0x02, LOG_FIRMWARE = 0x03, LOG_CHANGED_NS = 0x04,
       LOG_EFFECTS = 0x05, LOG_FEATURES = 0x12, LOG_MI = 0x13, LOG_CSD = 0xc0, LOG_RESULTS = 0xc1 };

// ---------------------------------------------------------------- error log
typedef struct {
    uint64_t count, lba, specific;
    uint32_t nsid;
    uint16_t cid, status;
    uint8_t sqid;
} error_t;

static error_t errors[CFG_ERROR_LOG];
static uint64_t error_count, next_specific;
static uint32_t error_next;
static uint64_t started_at;

void log_init(void) { started_at = hw_time(); }

void log_specific(uint64_t value) { next_specific = value; }

void log_error(uint32_t sqid, uint32_t cid, uint32_t status, uint32_t nsid, uint64_t lba)
{
    errors[error_next] = (error_t){++error_count, lba, next_specific, nsid, (uint16_t)cid, (uint16_t)status,
                                   (uint8_t)sqid};
    next_specific = 0;
    error_next = error_next + 1 == CFG_ERROR_LOG ? 0 : error_next + 1;
}

/// The pages are built from here on in `page`; each function returns how many bytes it has set.
static uint32_t error_page(void)
{
    uint32_t i = error_next;
    uint8_t *at = page;
    memset(page, 0, CFG_ERROR_LOG * 64);
    for (uint32_t n = 0; n < CFG_ERROR_LOG; n++, at += 64) {
        i = i == 0 ? CFG_ERROR_LOG - 1 : i - 1;  // newest first
        if (errors[i].count == 0)
            break;
        put64(at, errors[i].count);
        put16(at + 8, errors[i].sqid);
        put16(at + 10, errors[i].cid);
        put16(at + 12, (uint32_t)errors[i].status << 1);
        put16(at + 14, 0xffff);  // no field of the command is named
        put64(at + 16, errors[i].lba);
        put32(at + 24, errors[i].nsid);
        put64(at + 32, errors[i].specific);
    }
    return CFG_ERROR_LOG * 64;
}

uint8_t smart_warning(void)
{
    return CFG_TEMPERATURE >= feature_temperature(false) || CFG_TEMPERATURE <= feature_temperature(true) ? 1u << 1 : 0;
}

static uint64_t counter(volatile uint32_t *lo, volatile uint32_t *hi)
{
    uint32_t h, l;
    do {
        h = *hi;
        l = *lo;
    } while (h != *hi);
    return (uint64_t)h << 32 | l;
}

static uint32_t smart_page(void)
{
    memset(page, 0, 256);
    page[0] = smart_warning();
    put16(page + 1, CFG_TEMPERATURE);
    page[3] = 100;  // available spare, and its threshold, in percent
    page[4] = 10;
    // data units: thousands of 512 bytes, rounded up
    put64(page + 32, div_u64(counter(&HW->RD_SECTORS_LO, &HW->RD_SECTORS_HI) + 999, 1000, NULL));
    put64(page + 48, div_u64(counter(&HW->WR_SECTORS_LO, &HW->WR_SECTORS_HI) + 999, 1000, NULL));
    put64(page + 64, counter(&HW->RD_CMDS_LO, &HW->RD_CMDS_HI));
    put64(page + 80, counter(&HW->WR_CMDS_LO, &HW->WR_CMDS_HI));
    put64(page + 112, boot_record[0]);
    put64(page + 128, div_u64(hw_time() - started_at, 3600000000u, NULL));
    put64(page + 144, boot_record[1]);
    put64(page + 160, counter(&HW->MEDIA_ERR_LO, &HW->MEDIA_ERR_HI));
    put64(page + 176, error_count);
    return 256;
}

static uint32_t firmware_page(void)
{
    memset(page, 0, 64);
    page[0] = 1;
    put_text(page + 8, CFG_FIRMWARE, 8);
    return 64;
}

// Effects of commands: supported, changes data, changes a namespace's capabilities, or which there are, serialised. No
// scopes: they are optional, and Linux warns of an I/O command that has one.
#define CSUPP     1u
#define LBCC      2u
#define NCC       4u
#define NIC       8u
#define ALONE     (2u << 16)

static const struct {
    uint16_t at;  // opcode, + 256 for an I/O command
    uint32_t effects;
} effects[] = {
    {ADM_DELETE_SQ, CSUPP}, {ADM_CREATE_SQ, CSUPP}, {ADM_GET_LOG, CSUPP},
    {ADM_DELETE_CQ, CSUPP}, {ADM_CREATE_CQ, CSUPP}, {ADM_IDENTIFY, CSUPP},
    {ADM_ABORT, CSUPP}, {ADM_SET_FEATURES, CSUPP}, {ADM_GET_FEATURES, CSUPP},
    {ADM_AER, CSUPP}, {ADM_KEEP_ALIVE, CSUPP},
    {ADM_NS_MGMT, CSUPP | LBCC | NIC}, {ADM_NS_ATTACH, CSUPP | NIC},
    {ADM_FORMAT, CSUPP | LBCC | NCC | ALONE},
    {256 + 0x00, CSUPP},         // Flush
    {256 + 0x01, CSUPP | LBCC},  // Write
    {256 + 0x02, CSUPP},         // Read
    {256 + 0x05, CSUPP},         // Compare
    {256 + 0x08, CSUPP | LBCC},  // Write Zeroes
    {256 + 0x09, CSUPP | LBCC},  // Dataset Management
    {256 + 0x0c, CSUPP},         // Verify
};

static uint32_t effects_page(void)
{
    memset(page, 0, 2048);
    for (uint32_t i = 0; i < sizeof effects / sizeof effects[0]; i++)
        put32(page + 4 * effects[i].at, effects[i].effects);
    if (csd_slots) {
        put32(page + 4 * ADM_KEY_LOAD, CSUPP);
        put32(page + 4 * ADM_KEY_ERASE, CSUPP);
        put32(page + 4 * ADM_BIND, CSUPP | LBCC | ALONE);
    }
    return 2048;
}

// Effects of features: supported, and whom one concerns: a namespace (Error Recovery) or the controller.
static uint32_t features_page(void)
{
    const uint32_t scope_namespace = 1u << 20, scope_controller = 1u << 21;

    memset(page, 0, 1024);
    for (uint32_t fid = 0; fid < 256; fid++) {
        if (feature_known(fid))
            put32(page + 4 * fid, 1u | (fid == 0x05 ? scope_namespace : scope_controller));
    }
    return 1024;
}

static uint32_t supported_page(void)
{
    static const uint8_t pages[] = {LOG_SUPPORTED,  LOG_ERROR,   LOG_SMART,    LOG_FIRMWARE,
                                    LOG_CHANGED_NS, LOG_EFFECTS, LOG_FEATURES, LOG_MI};
    memset(page, 0, 1024);
    for (uint32_t i = 0; i < sizeof pages; i++)
        page[4 * pages[i]] = 1;
    page[4 * LOG_CSD] = page[4 * LOG_RESULTS] = csd_slots != 0;
    return 1024;
}

// ---------------------------------------------------------------- Get Log Page
static uint32_t size_of(uint32_t lid)
{
    switch (lid) {
    case LOG_SUPPORTED: return 1024;
    case LOG_ERROR:     return CFG_ERROR_LOG * 64;
    case LOG_SMART:     return 512;
    case LOG_FIRMWARE:  return 512;
    case LOG_CHANGED_NS: return 4096;
    case LOG_EFFECTS:   return 4096;
    case LOG_FEATURES:  return 1024;
    case LOG_MI:        return 1024;
    case LOG_CSD:       return csd_slots ? 512 : 0;
    case LOG_RESULTS:   return csd_slots ? CSD_RESULTS_BYTES : 0;
    default:            return 0;
    }
}

static uint32_t build(uint32_t lid)
{
    switch (lid) {
    case LOG_SUPPORTED: return supported_page();
    case LOG_ERROR:     return error_page();
    case LOG_SMART:     return smart_page();
    case LOG_FIRMWARE:  return firmware_page();
    case LOG_CHANGED_NS: return ns_changed_page();
    case LOG_EFFECTS:   return effects_page();
    case LOG_FEATURES:  return features_page();
    case LOG_CSD:       return csd_page();
    case LOG_RESULTS:   return csd_results_page();
    default:            return 0;  // LOG_MI: no command is supported
    }
}

uint32_t log_get(const cmd_t *cmd)
{
    uint32_t lid = cmd->dw[10] & 0xffu, size = size_of(lid), nsid = cmd_nsid(cmd);
    uint32_t numd = cmd->dw[10] >> 16 | cmd->dw[11] << 16;
    uint64_t offset = (uint64_t)cmd->dw[13] << 32 | cmd->dw[12];
    if (size == 0)
        return ST_INVALID_LOG;
    if (numd >= PAGE << CFG_MDTS >> 2)
        return ST_INVALID_FIELD;
    // Offsets are in bytes; there is the NVM command set alone; no page is kept a namespace.
    if ((offset & 3u) || offset > size || (cmd->dw[14] >> 23 & 1u) || cmd->dw[14] >> 24)
        return ST_INVALID_FIELD;
    if (nsid != 0 && nsid != NVME_NSID_ALL)
        return lid == LOG_SMART && nsid <= num_ns ? ST_INVALID_FIELD : ST_INVALID_NS;
    uint32_t total = (numd + 1) << 2, skip = (uint32_t)offset, have = build(lid);
    have = have > skip ? have - skip : 0;
    if (have > total)
        have = total;
    data_t d;
    uint32_t status = data_open(&d, cmd, total);
    if (status == ST_SUCCESS)
        status = data_put(&d, page + skip, have);
    if (status == ST_SUCCESS)
        status = data_zero(&d, total - have);
    if (status == ST_SUCCESS && !(cmd->dw[10] >> 15 & 1u)) {  // RAE clear: the event may come again
        if (lid == LOG_ERROR)
            aer_unmask(AER_ERROR);
        if (lid == LOG_SMART)
            aer_unmask(AER_SMART);
        if (lid == LOG_CHANGED_NS) {
            ns_changed_read();
            aer_unmask(AER_NOTICE);
        }
    }
    return status;
}

// ---------------------------------------------------------------- asynchronous events
static struct {
    uint16_t cid[CFG_AER_LIMIT];
    uint8_t fn[CFG_AER_LIMIT];
    uint32_t waiting;            // requests
    uint32_t info[AER_TYPES];    // 1 + information of an event that waits
    bool masked[AER_TYPES];      // reported, and its log page not read yet
} aer;

void aer_reset(void)
{
    memset(&aer, 0, sizeof aer);
    ns_changed_read();  // who resets the controller looks at all namespaces anyway
}

static void report(void)
{
    static const uint8_t page_of[AER_TYPES] = {LOG_ERROR, LOG_SMART, LOG_CHANGED_NS};
    for (uint32_t type = 0; type < AER_TYPES && aer.waiting; type++) {
        if (aer.info[type] == 0 || aer.masked[type])
            continue;
        uint32_t dw0 = type | (aer.info[type] - 1) << 8 | (uint32_t)page_of[type] << 16;
        aer.info[type] = 0;
        aer.masked[type] = true;
        aer.waiting--;
        hw_complete(aer.fn[aer.waiting], 0, aer.cid[aer.waiting], ST_SUCCESS, dw0);
    }
}

void aer_event(uint32_t type, uint32_t info)
{
    if (aer.masked[type])
        return;  // until its log page has been read
    aer.info[type] = info + 1;
    report();
}

void aer_unmask(uint32_t type)
{
    aer.masked[type] = false;
    if (type == AER_NOTICE)
        aer.info[type] = 0;  // one that still waits would say nothing new
}

uint32_t aer_command(const cmd_t *cmd)
{
    if (aer.waiting == CFG_AER_LIMIT)
        return ST_AER_LIMIT;
    aer.cid[aer.waiting] = (uint16_t)cmd_id(cmd);
    aer.fn[aer.waiting++] = (uint8_t)cmd->fn;
    report();
    return PENDING;
}

bool aer_abort(uint32_t cid)
{
    for (uint32_t i = 0; i < aer.waiting; i++) {
        if (aer.cid[i] != cid)
            continue;
        uint32_t fn = aer.fn[i];
        aer.waiting--;
        aer.cid[i] = aer.cid[aer.waiting];
        aer.fn[i] = aer.fn[aer.waiting];
        hw_complete(fn, 0, cid, ST_ABORT_REQUESTED, 0);
        return true;
    }
    return false;
}
