// SPDX-License-Identifier: Apache-2.0
#include "commands/identify.h"

#include "base/bytes.h"
#include "commands/programs.h"
#include "commands/virtualization.h"
#include "hw/programs.h"

static const uint8_t power_state[32] __attribute__((aligned(4))) = {0x19};  // 25 * 0.01 W
#define RESCAP 0xffu  // reservations: all types, persistence, IEKEY as of 1.3

// SGLs of whole dwords at dword addresses, bit buckets, and more of an SGL than there is data
#define SGLS (1u << 18 | 1u << 16 | 2u)

static const uint8_t oui[3] = {CFG_OUI};
static const uint8_t uuid[12] = {CFG_UUID};

static void put_uuid(const struct drive* drive, uint8_t* at) {
    for (uint32_t i = 0; i < 12; i++) at[i] = uuid[i];
    for (uint32_t i = 0; i < 4; i++) at[12 + i] = (uint8_t)(drive->serial >> (24 - 8 * i));
}

/// EUI-64: OUI, then the serial number and the namespace. NGUID: the same behind eight more bytes.
static void put_eui64(const struct drive* drive, uint8_t* at, uint32_t nsid) {
    for (uint32_t i = 0; i < 3; i++) at[i] = oui[i];
    for (uint32_t i = 0; i < 4; i++) at[3 + i] = (uint8_t)(drive->serial >> (24 - 8 * i));
    at[7] = (uint8_t)nsid;
}

/// How many had been created when it was; 0: it was there from the first.
static uint32_t generation_of(const struct drive* drive, uint32_t nsid) {
    return SLM && nsid > drive->hw.num_ns ? 0 : drive->namespaces.of[nsid].generation;
}

/// A namespace that has been created is told from one that had its number before: both have the generation in bytes 4
/// and 5. The EUI-64 has no room for it, so such a namespace has none.
static void put_nguid(const struct drive* drive, uint8_t* at, uint32_t nsid) {
    for (uint32_t i = 0; i < 8; i++) at[i] = uuid[i];
    put16(at + 4, generation_of(drive, nsid));
    put_eui64(drive, at + 8, nsid);
}

static void put_ns_uuid(const struct drive* drive, uint8_t* at, uint32_t nsid) {
    put_uuid(drive, at);
    at[0] = (uint8_t)nsid;
    put16(at + 4, generation_of(drive, nsid));
}

/// What does not change.
static void describe(const struct drive* drive, uint8_t* c) {
    put16(c + 0, CFG_PCI_VENDOR);
    put16(c + 2, CFG_PCI_SUBVENDOR);
    put_text(c + 4, CFG_SERIAL, 20);
    put_hex(c + 4 + sizeof CFG_SERIAL - 1, drive->serial);
    put_text(c + 24, drive->hw.key_slots ? CFG_MODEL_CSD : CFG_MODEL, 40);
    put_text(c + 64, CFG_FIRMWARE, 8);
    c[72] = CFG_RAB;
    for (uint32_t i = 0; i < 3; i++) c[73 + i] = oui[2 - i];
    c[77] = CFG_MDTS;
    put32(c + 80, NVME_VERSION);
    put32(c + 92, OAES_NS_ATTR);      // OAES
    c[111] = 1;                       // CNTRLTYPE: I/O controller
    put_uuid(drive, c + 112);         // FGUID
    put16(c + 128, CFG_RETRY_100MS);  // CRDT1
    put16(c + 256, OACS_NS_MGMT | OACS_FORMAT);
    c[258] = CFG_ABORT_LIMIT - 1;
    c[259] = CFG_AER_LIMIT - 1;
    c[260] = 1u << 1 | 1u;                 // FRMW: one slot, read only
    c[261] = 1u << 5 | 1u << 2 | 1u << 1;  // LPA: supported log pages; extended data; commands supported and effects
    c[262] = CFG_ERROR_LOG - 1;
    put16(c + 266, CFG_TEMP_WARNING);
    put16(c + 268, CFG_TEMP_CRITICAL);
    put64(c + 280, drive->namespaces.total << 12);  // TNVMCAP
    put16(c + 320, CFG_KEEP_ALIVE_100MS);
    c[512] = 0x66;
    c[513] = 0x44;
    put32(c + 516, last_nsid(drive));  // NN
    put32(c + 540, last_nsid(drive));  // MNAN
    if (drive->hw.sgl) put32(c + 536, SGLS);
    // ONCS: Timestamp, Select, Write Zeroes, Dataset Management, Compare; Write Uncorrectable. Not Verify: with its bit VSL
    // would be advice, without it VSL is a limit.
    put16(c + 520, 1u << 6 | 1u << 4 | 1u << 3 | 1u << 2 | 1u | (drive->hw.uncorrectable ? 1u << 1 : 0));
    if (FUNCTIONS > 1) {
        c[96] = 1u;  // CTRATT: host identifiers of 128 bits
        c[520] |= ONCS_RESERVATIONS;
    }
    c[524] = drive->hw.key_slots ? 1u << 2 : 0;  // FNA: cryptographic erase
    c[531] = 1u << 1 | 1u;                       // NWPC: write protection, also until a power cycle
    c[525] = 3u << 1 | 1u;                       // VWC: there is one; Flush takes the broadcast NSID
    uint32_t n = sizeof CFG_NQN - 1;
    put_text(c + 768, CFG_NQN, n);
    uint8_t id[16];
    put_uuid(drive, id);
    for (uint32_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) c[768 + n++] = '-';
        c[768 + n++] = (uint8_t)"0123456789abcdef"[id[i] >> 4];
        c[768 + n++] = (uint8_t)"0123456789abcdef"[id[i] & 15u];
    }
}

void identify_init(struct drive* drive) {
#if FUNCTIONS == 1
    describe(drive, drive->controller);
#else
    (void)drive;
#endif
}

// ---------------------------------------------------------------- what each CNS says
/// Which namespaces a CNS is of: those that are attached to the function, or all that exist.
enum scope { NONE, ACTIVE, ALLOCATED };

/// CSI_SLM, CSI_PROGRAMS: it is the function's own, which exists for nobody else. 0: it is none of these.
static uint32_t set_of(const struct request* r, uint32_t nsid) { return SLM ? own_set(r->drive, r->fn, nsid) : 0; }

/// What the host says.
static uint32_t csi_of(const struct request* r) { return r->cmd.dw[11] >> 24; }

/// It has Namespace Management. A VF has not, and knows of what is attached to it, and of nothing else.
static bool manages(const struct request* r) { return FUNCTIONS == 1 || r->fn->hw.place == 0; }

static bool is_in(const struct request* r, enum scope scope, uint32_t nsid) {
    if (SLM && nsid > r->drive->hw.num_ns) return set_of(r, nsid) != 0;
    return scope == ACTIVE || !manages(r) ? ns_active(r->fn, nsid) : ns_exists(r->drive, nsid);
}

/// The first `bytes` of the page, then zeros.
static uint32_t send(struct request* r, uint32_t bytes) {
    return data_send(r->drive->buffers, &r->cmd, bytes, PAGE_SIZE);
}

/// Limits of commands that move no data to or from the host (NVM Command Set 1.0, 4.1.5.2).
static uint32_t controller_of_set(struct request* r, enum scope scope) {
    uint8_t* page = page_of(r);
    (void)scope;
    if (SLM && csi_of(r)) return send(r, 0);
    memset(page, 0, 16);
    page[0] = CFG_MDTS;  // VSL
    page[1] = CFG_WZSL;
    if (EXTENTS) page[3] = CFG_DMRL;
    put32(page + 4, CFG_DMRSL);
    put64(page + 8, CFG_DMSL);
    return send(r, 16);
}

static uint32_t controller(struct request* r, enum scope scope) {
    (void)scope;
#if FUNCTIONS == 1
    uint8_t* c = r->drive->controller;
#else
    uint8_t* c = page_of(r);  // no room to keep it
    memset(c, 0, CONTROLLER_BYTES);
    describe(r->drive, c);
#endif
    data_t d;
    put16(c + 78, r->fn->hw.place);  // CNTLID
    if (FUNCTIONS > 1) {
        bool vf = r->fn->hw.place;
        c[76] = (uint8_t)(1u << 1 | (vf ? 1u << 2 : 0));  // CMIC: several controllers; of a VF
        put16(c + 256, OACS_FORMAT | (vf ? 0 : OACS_NS_MGMT | OACS_VIRTUAL_MGMT));
    }
    put64(c + 296, ns_free_bytes(r->drive));  // UNVMCAP
    uint32_t status = data_open(&d, r->drive->buffers, &r->cmd, PAGE_SIZE);
    if (status == ST_SUCCESS) status = data_put(&d, c, CONTROLLER_BYTES);
    if (status == ST_SUCCESS) status = data_zero(&d, 2048 - CONTROLLER_BYTES);
    if (status == ST_SUCCESS) status = data_put(&d, power_state, sizeof power_state);
    if (status == ST_SUCCESS) status = data_zero(&d, PAGE_SIZE - 2048 - sizeof power_state);
    return status;
}

/// It asks for namespaces of one command set.
static bool of_set(const struct request* r);

/// The NSIDs above that of the command.
static uint32_t namespace_list(struct request* r, enum scope scope) {
    uint32_t n = 0;
    if (nsid_of(r) >= NSID_ALL - 1) return ST_INVALID_NS;
    for (uint32_t i = 1; i <= last_nsid(r->drive); i++) {
        if (i > nsid_of(r) && is_in(r, scope, i) && !(SLM && of_set(r) && csi_of(r) != set_of(r, i))) {
            put32(page_of(r) + n, i);
            n += 4;
        }
    }
    return send(r, n);
}

static uint32_t namespace(struct request* r, enum scope scope) {
    uint32_t nsid = nsid_of(r);
    uint8_t* page = page_of(r);
    memset(page, 0, 192);
    if (nsid == NSID_ALL) {
        if (scope == ALLOCATED || !manages(r)) return ST_INVALID_NS;
        page[25] = 1;  // what all namespaces have in common: two formats
    } else if (nsid == 0 || nsid > last_nsid(r->drive)) {
        return ST_INVALID_NS;
    } else if (SLM && set_of(r, nsid)) {
        return ST_INVALID_IOCS;
    } else if (!is_in(r, scope, nsid)) {
        return send(r, 0);
    } else {
        const struct namespace* ns = namespace_of(r, nsid);
        put64(page + 0, ns_blocks(ns));
        put64(page + 8, ns_blocks(ns));
        put64(page + 16, ns_blocks(ns));
        page[25] = 1;
        page[26] = ns->lba4k;
        page[30] = ns->shared;  // NMIC
        if (FUNCTIONS > 1) page[31] = RESCAP;
        put64(page + 48, ns_bytes(ns));           // NVMCAP
        page[99] = ns_read_only(r->drive, nsid);  // NSATTR
        put_nguid(r->drive, page + 104, nsid);
        if (ns->generation == 0) put_eui64(r->drive, page + 120, nsid);
    }
    page[33] = 1u << 3 | 1u;  // DLFEAT: Write Zeroes deallocates; deallocated blocks read as zeros
    put32(page + 128, 9u << 16 | 1u << 24);
    put32(page + 132, 12u << 16);
    return send(r, 192);
}

static uint8_t* descriptor(uint8_t* at, uint32_t type, uint32_t length) {
    put32(at, type | length << 8);
    return at + 4;
}

static uint32_t namespace_descriptors(struct request* r, enum scope scope) {
    uint32_t nsid = nsid_of(r);
    uint8_t* at = page_of(r);
    if (nsid == NSID_ALL) return ST_INVALID_NS;
    if (!is_in(r, scope, nsid)) return ns_check(r->drive, nsid, false);
    memset(at, 0, 64);
    if (!set_of(r, nsid) && generation_of(r->drive, nsid) == 0) {
        put_eui64(r->drive, descriptor(at, 1, 8), nsid);
        at += 12;
    }
    put_nguid(r->drive, descriptor(at, 2, 16), nsid);
    put_ns_uuid(r->drive, descriptor(at + 20, 3, 16), nsid);
    at = descriptor(at + 40, 4, 1);  // command set
    if (SLM) *at = (uint8_t)set_of(r, nsid);
    return send(r, 60);
}

static bool may_exist(const struct request* r) {
    return (nsid_of(r) != 0 && nsid_of(r) <= last_nsid(r->drive)) || (nsid_of(r) == NSID_ALL && manages(r));
}

/// Of the NVM command set, which says nothing more without protection information, or of the function's own.
static uint32_t namespace_of_set(struct request* r, enum scope scope) {
    if (!may_exist(r) || (scope == ALLOCATED && nsid_of(r) == NSID_ALL)) return ST_INVALID_NS;
#if SLM
    uint32_t nsid = nsid_of(r), csi = csi_of(r);
    if (csi && nsid == NSID_ALL) return ST_INVALID_NS;
    if (is_in(r, scope, nsid) && csi != set_of(r, nsid)) return ST_INVALID_FIELD;
    if (set_of(r, nsid)) return send(r, own_identify(r, csi));
#endif
    return send(r, 0);
}

static uint32_t namespace_of_any_set(struct request* r, enum scope scope) {
    if (!may_exist(r)) return ST_INVALID_NS;
    memset(page_of(r), 0, 16);
    if (is_in(r, scope, nsid_of(r)) && !set_of(r, nsid_of(r))) {
        page_of(r)[1] = namespace_of(r, nsid_of(r))->shared;
        if (FUNCTIONS > 1) page_of(r)[2] = RESCAP;
        page_of(r)[8] = ns_read_only(r->drive, nsid_of(r));  // NSATTR
    }
    page_of(r)[14] = nsid_of(r) == NSID_ALL || is_in(r, scope, nsid_of(r));  // NSTAT: ready
    return send(r, 16);
}

static bool has(const struct request* r, const struct function* fn, uint32_t nsid) {
    if (SLM && nsid > r->drive->hw.num_ns) return fn == r->fn;  // its own
    return ns_active(fn, nsid);
}

/// Controllers from CNTID on, all or those that have a namespace.
static uint32_t controller_list(struct request* r, uint32_t nsid) {
    uint32_t n = 0;
    for (uint32_t i = r->cmd.dw[10] >> 16; i < r->drive->hw.num_fn; i++) {
        if (nsid == 0 || has(r, &r->drive->functions[i], nsid)) put16(page_of(r) + 2 * ++n, i);
    }
    put16(page_of(r), n);
    put16(page_of(r) + 2 * (n + 1), 0);
    return send(r, (2 * (n + 1) + 3) & ~3u);
}

static uint32_t controllers_of_namespace(struct request* r, enum scope scope) {
    if (!is_in(r, scope, nsid_of(r))) return ns_check(r->drive, nsid_of(r), false);
    return controller_list(r, nsid_of(r));
}

static uint32_t controllers(struct request* r, enum scope scope) {
    (void)scope;
    return controller_list(r, 0);
}

static uint32_t primary(struct request* r, enum scope scope) {
    (void)scope;
    return r->fn->hw.place ? (uint32_t)ST_INVALID_FIELD : send(r, primary_capabilities(r));
}

static uint32_t secondaries(struct request* r, enum scope scope) {
    (void)scope;
    return r->fn->hw.place ? (uint32_t)ST_INVALID_FIELD : send(r, secondary_list(r));
}

/// Command sets that can be enabled together: NVM, and where a function has them memory and programs.
static uint32_t command_sets(struct request* r, enum scope scope) {
    (void)scope;
    put64(page_of(r), SLM && hw_memory_log2() ? 1u << CSI_NVM | 1u << CSI_SLM | 1u << CSI_PROGRAMS : 1u);
    return send(r, 8);
}

// ---------------------------------------------------------------- the table
static const struct cns {
    uint32_t (*say)(struct request* r, enum scope scope);
    uint8_t scope;
    bool of_set;  // CSI has to be one that there is; else it is not looked at
} table[CNS_IOCS_LIST + 1] = {
    [CNS_NS] = {namespace, ACTIVE, false},
    [CNS_CTRL] = {controller, NONE, false},
    [CNS_NS_ACTIVE_LIST] = {namespace_list, ACTIVE, false},
    [CNS_NS_DESC_LIST] = {namespace_descriptors, ACTIVE, false},
    [CNS_CSI_NS] = {namespace_of_set, ACTIVE, true},
    [CNS_CSI_CTRL] = {controller_of_set, NONE, true},
    [CNS_CSI_NS_ACTIVE_LIST] = {namespace_list, ACTIVE, true},
    [CNS_CSI_INDEPENDENT_NS] = {namespace_of_any_set, ACTIVE, false},
    [CNS_NS_PRESENT_LIST] = {namespace_list, ALLOCATED, false},
    [CNS_NS_PRESENT] = {namespace, ALLOCATED, false},
    [CNS_CTRL_NS_LIST] = {controllers_of_namespace, ALLOCATED, false},
    [CNS_CTRL_LIST] = {controllers, NONE, false},
    [CNS_PRIMARY_CTRL_CAP] = {FUNCTIONS > 1 ? primary : NULL, NONE, false},
    [CNS_SCNDRY_CTRL_LIST] = {FUNCTIONS > 1 ? secondaries : NULL, NONE, false},
    [CNS_CSI_NS_PRESENT_LIST] = {namespace_list, ALLOCATED, true},
    [CNS_CSI_NS_PRESENT] = {namespace_of_set, ALLOCATED, true},
    [CNS_IOCS_LIST] = {command_sets, NONE, false},
};

static bool of_set(const struct request* r) { return table[r->cmd.dw[10] & 0xffu].of_set; }

static bool is_set(const struct request* r) {
    uint32_t csi = csi_of(r);
    return csi == CSI_NVM || (SLM && (csi == CSI_SLM || csi == CSI_PROGRAMS) && own_namespaces(r->fn));
}

uint32_t identify(struct request* r) {
    uint32_t cns = r->cmd.dw[10] & 0xffu;
    if (cns > CNS_IOCS_LIST || !table[cns].say || (table[cns].of_set && !is_set(r))) return ST_INVALID_FIELD;
    return table[cns].say(r, (enum scope)table[cns].scope);
}
