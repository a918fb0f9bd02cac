// SPDX-License-Identifier: Apache-2.0
// Namespaces: the table, Namespace Management and Namespace Attachment (Base 2.0, 5.22, 5.23 and 8.11).
//
// A namespace is a run of 4 KiB pages of the media, the first gap that is large enough. Pages that no namespace has
// hold zeros: they are zeroed when their namespace is deleted; those that never had one since power-on, when they are
// first given out.
#include "fw.h"

enum { SEL_CREATE = 0, SEL_DELETE = 1, SEL_ATTACH = 0, SEL_DETACH = 1 };

// What a host may say of a namespace to be created: dwords of Identify Namespace. All else has to be zero or is not read.
enum { W_NSZE = 0, W_NCAP = 2, W_FLBAS = 6, W_DPS = 7, W_ANAGRPID = 23, W_NVMSETID = 25, CREATE_WORDS = 26 };

static struct {
    uint64_t base, pages;    // of the media
    uint16_t generation;     // 0: there since power-on
    uint8_t spare;           // 512-byte blocks of the last page that are not part of it
    bool exists, attached, lba4k, changed;
} ns[MAX_NS + 1];

static uint64_t total;       // pages of the media
static uint64_t unused;      // from this page on nothing has been a namespace's since power-on
static uint16_t generation;  // of the last one created

bool ns_exists(uint32_t nsid) { return nsid >= 1 && nsid <= num_ns && ns[nsid].exists; }

bool ns_active(uint32_t nsid) { return ns_exists(nsid) && ns[nsid].attached; }

bool ns_lba4k(uint32_t nsid) { return ns[nsid].lba4k; }

uint32_t ns_generation(uint32_t nsid) { return ns[nsid].generation; }

uint64_t ns_bytes(uint32_t nsid) { return ns[nsid].pages << 12; }

uint64_t ns_blocks(uint32_t nsid)
{
    return ns[nsid].lba4k ? ns[nsid].pages : (ns[nsid].pages << 3) - ns[nsid].spare;
}

uint64_t ns_free_bytes(void)
{
    uint64_t pages = total;
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++) {
        if (ns[nsid].exists)
            pages -= ns[nsid].pages;
    }
    return pages << 12;
}

/// Why a command for a namespace that has to be attached, or only has to exist, cannot be done (Base 2.0, 3.2.1.5).
static uint32_t check(uint32_t nsid, bool found)
{
    if (found)
        return ST_SUCCESS;
    return nsid == 0 || (nsid > num_ns && nsid != NVME_NSID_ALL) ? ST_INVALID_NS : ST_INVALID_FIELD;
}

uint32_t ns_check_active(uint32_t nsid) { return check(nsid, ns_active(nsid)); }

uint32_t ns_check_exists(uint32_t nsid) { return check(nsid, ns_exists(nsid)); }

static void show(uint32_t nsid)
{
    hw_namespace(nsid, ns[nsid].attached, ns[nsid].lba4k, ns[nsid].base << 12, ns_blocks(nsid));
}

/// At power-on namespace 1 covers the whole media, in blocks of 512 bytes. Where there are operators, which may differ
/// by namespace, all there is room for share it in equal parts.
void ns_init(void)
{
    uint32_t count = csd_slots ? num_ns : 1;
    total = (uint64_t)HW->MEDIA_PAGES_HI << 32 | HW->MEDIA_PAGES_LO;
    uint64_t pages = div_u64(total, count, NULL);
    for (uint32_t nsid = 1; nsid <= count; nsid++) {
        ns[nsid].exists = ns[nsid].attached = true;
        ns[nsid].base = unused;
        ns[nsid].pages = pages;
        unused += pages;
        show(nsid);
    }
}

// ---------------------------------------------------------------- changes that the host wants to hear of
static void changed(uint32_t nsid)
{
    ns[nsid].changed = true;
    if (feature_events() & EVENT_NS_ATTRIBUTE)
        aer_event(AER_NOTICE, 0);
}

uint32_t ns_changed_page(void)
{
    uint32_t n = 0;
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++) {
        if (ns[nsid].changed) {
            put32(page + n, nsid);
            n += 4;
        }
    }
    return n;
}

void ns_changed_read(void)
{
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++)
        ns[nsid].changed = false;
}

// ---------------------------------------------------------------- the media; nothing is fetched meanwhile
static bool zero(uint64_t first, uint64_t pages) { return hw_media(1, first << 12, pages << 12) && hw_media(0, 0, 0); }

bool ns_format(uint32_t nsid, bool lba4k)
{
    if (!zero(ns[nsid].base, ns[nsid].pages))
        return false;
    bool differs = ns[nsid].lba4k != lba4k;
    ns[nsid].lba4k = lba4k;
    if (differs)
        ns[nsid].spare = 0;  // in the other block size it is all that it takes of the media
    show(nsid);
    if (differs)
        changed(nsid);
    return true;
}

/// Its key goes first. If the media does not zero it, it stays, locked.
static bool delete(uint32_t nsid)
{
    bool was_attached = ns[nsid].attached;
    csd_erase_ns(nsid);
    if (!zero(ns[nsid].base, ns[nsid].pages))
        return false;
    ns[nsid].exists = ns[nsid].attached = false;
    show(nsid);
    csd_forget_ns(nsid);
    if (was_attached)
        changed(nsid);
    return true;
}

/// The first page of the first gap of so many. False: there is none.
static bool find_gap(uint64_t pages, uint64_t *first)
{
    uint64_t at = 0;
    for (uint32_t nsid = 1; nsid <= num_ns; nsid++) {
        if (pages > total - at)
            return false;
        if (ns[nsid].exists && ns[nsid].base < at + pages && at < ns[nsid].base + ns[nsid].pages) {
            at = ns[nsid].base + ns[nsid].pages;  // beyond this one, and again past all
            nsid = 0;
        }
    }
    *first = at;
    return pages <= total - at;
}

// ---------------------------------------------------------------- Namespace Management
static uint32_t create(const cmd_t *cmd, uint32_t *dw0)
{
    uint32_t w[CREATE_WORDS];
    data_t d;
    if (cmd->dw[11] >> 24)
        return ST_IOCS_NOT_SUPPORTED;  // NVM alone
    if (cmd_nsid(cmd))
        return ST_INVALID_FIELD;       // the controller chooses
    uint32_t status = data_open(&d, cmd, sizeof w);
    if (status == ST_SUCCESS)
        status = data_get(&d, w, sizeof w);
    if (status != ST_SUCCESS)
        return status;

    uint64_t nsze = (uint64_t)w[W_NSZE + 1] << 32 | w[W_NSZE], ncap = (uint64_t)w[W_NCAP + 1] << 32 | w[W_NCAP];
    uint32_t flbas = w[W_FLBAS] >> 16 & 0xffu;
    if (nsze == 0 || ncap > nsze)
        return ST_INVALID_FIELD;
    if (ncap < nsze)
        return ST_THIN_PROVISIONING;
    if ((flbas & 15u) > 1 || (flbas >> 5 & 3u))
        return ST_INVALID_FORMAT;
    // Protection information, sharing with another controller, ANA groups, NVM sets, endurance groups: not here.
    if ((w[W_DPS] >> 8 & 0xffffu) || w[W_ANAGRPID] || w[W_NVMSETID])
        return ST_INVALID_FIELD;

    bool lba4k = flbas & 1u;
    uint64_t pages = lba4k ? nsze : (nsze >> 3) + ((uint32_t)nsze & 7u ? 1u : 0u), first;
    uint32_t nsid = 1;
    while (nsid <= num_ns && ns[nsid].exists)
        nsid++;
    if (nsid > num_ns)
        return ST_NSID_UNAVAILABLE;
    if (!find_gap(pages, &first)) {
        log_specific(pages >> 52 ? NEVER : pages << 12);  // bytes that it would take
        return ST_NS_CAPACITY;
    }
    if (first + pages > unused) {
        uint32_t ctl;
        bool done = hw_hold(&ctl) && zero(unused, first + pages - unused);
        hw_go_on(ctl);
        if (!done)
            return ST_WRITE_FAULT;
        unused = first + pages;
    }
    if (++generation == 0)
        generation = 1;
    ns[nsid].base = first;
    ns[nsid].pages = pages;
    ns[nsid].generation = generation;
    ns[nsid].spare = lba4k ? 0 : (uint8_t)(-(uint32_t)nsze & 7u);
    ns[nsid].lba4k = lba4k;
    ns[nsid].attached = false;
    ns[nsid].exists = true;
    *dw0 = nsid;
    return ST_SUCCESS;
}

uint32_t ns_management(const cmd_t *cmd, uint32_t *dw0)
{
    uint32_t select = cmd->dw[10] & 15u, nsid = cmd_nsid(cmd), status = ST_INTERNAL, ctl;
    bool all = nsid == NVME_NSID_ALL;
    if (select == SEL_CREATE)
        return create(cmd, dw0);
    if (select != SEL_DELETE)
        return ST_INVALID_FIELD;
    if (!all && !ns_exists(nsid))
        return ns_check_exists(nsid);
    // Commands under way end first; new ones wait, and find that it is gone.
    if (hw_hold(&ctl)) {
        status = ST_SUCCESS;
        for (uint32_t i = 1; i <= num_ns && status == ST_SUCCESS; i++) {
            if (ns[i].exists && (all || i == nsid) && !delete(i))
                status = ST_WRITE_FAULT;
        }
    }
    hw_go_on(ctl);
    return status;
}

// ---------------------------------------------------------------- Namespace Attachment
/// There is one controller, so a namespace that is private to another (Namespace Is Private) cannot be met.
uint32_t ns_attachment(const cmd_t *cmd)
{
    uint32_t select = cmd->dw[10] & 15u, nsid = cmd_nsid(cmd), list, ctl;
    data_t d;
    if (select != SEL_ATTACH && select != SEL_DETACH)
        return ST_INVALID_FIELD;
    uint32_t status = ns_check_exists(nsid);
    if (status == ST_SUCCESS)
        status = data_open(&d, cmd, sizeof list);
    if (status == ST_SUCCESS)
        status = data_get(&d, &list, sizeof list);
    if (status != ST_SUCCESS)
        return status;
    if (list != (1u | CFG_CNTLID << 16))
        return ST_CONTROLLER_LIST;  // one identifier, ours: any other list names a controller that there is not
    if (select == SEL_ATTACH) {
        if (ns[nsid].attached)
            return ST_NS_ATTACHED;
        ns[nsid].attached = true;
        show(nsid);
    } else {
        if (!ns[nsid].attached)
            return ST_NS_NOT_ATTACHED;
        bool drained = hw_hold(&ctl);
        if (drained) {
            ns[nsid].attached = false;
            show(nsid);
        }
        hw_go_on(ctl);
        if (!drained)
            return ST_INTERNAL;
    }
    changed(nsid);
    return ST_SUCCESS;
}
