// SPDX-License-Identifier: Apache-2.0
// Identify (Base 2.0, 5.17; NVM Command Set 1.0, 4.1.5).
#include "fw.h"

#define CONTROLLER_BYTES 1024u  // of Identify Controller: then zeros, and one power state at 2048

static uint8_t controller[CONTROLLER_BYTES] __attribute__((aligned(4)));
static const uint8_t power_state[32] __attribute__((aligned(4))) = {0x19};  // 25 * 0.01 W
static const uint8_t oui[3] = {CFG_OUI};
static const uint8_t uuid[12] = {CFG_UUID};

static void put_uuid(uint8_t *at)
{
    for (uint32_t i = 0; i < 12; i++)
        at[i] = uuid[i];
    for (uint32_t i = 0; i < 4; i++)
        at[12 + i] = (uint8_t)(serial_number >> (24 - 8 * i));
}

/// EUI-64: OUI, then the serial number and the namespace. NGUID: the same behind eight more bytes.
static void put_eui64(uint8_t *at, uint32_t nsid)
{
    for (uint32_t i = 0; i < 3; i++)
        at[i] = oui[i];
    for (uint32_t i = 0; i < 4; i++)
        at[3 + i] = (uint8_t)(serial_number >> (24 - 8 * i));
    at[7] = (uint8_t)nsid;
}

/// A namespace that has been created is told from one that had its number before: both have the generation in bytes 4
/// and 5. The EUI-64 has no room for it, so such a namespace has none.
static void put_nguid(uint8_t *at, uint32_t nsid)
{
    for (uint32_t i = 0; i < 8; i++)
        at[i] = uuid[i];
    put16(at + 4, ns_generation(nsid));
    put_eui64(at + 8, nsid);
}

static void put_ns_uuid(uint8_t *at, uint32_t nsid)
{
    put_uuid(at);
    at[0] = (uint8_t)nsid;
    put16(at + 4, ns_generation(nsid));
}

void identify_init(void)
{
    uint8_t *c = controller;
    put16(c + 0, CFG_PCI_VENDOR);
    put16(c + 2, CFG_PCI_SUBVENDOR);
    put_text(c + 4, CFG_SERIAL, 20);
    put_hex(c + 4 + sizeof CFG_SERIAL - 1, serial_number);
    put_text(c + 24, csd_slots ? CFG_MODEL_CSD : CFG_MODEL, 40);
    put_text(c + 64, CFG_FIRMWARE, 8);
    c[72] = CFG_RAB;
    for (uint32_t i = 0; i < 3; i++)
        c[73 + i] = oui[2 - i];
    c[77] = CFG_MDTS;
    put16(c + 78, CFG_CNTLID);
    put32(c + 80, NVME_VERSION);
    put32(c + 92, EVENT_NS_ATTRIBUTE);  // OAES
    c[111] = 1;                       // CNTRLTYPE: I/O controller
    put_uuid(c + 112);                // FGUID
    put16(c + 256, 1u << 3 | 1u << 1);  // OACS: namespace management, Format NVM
    c[258] = CFG_ABORT_LIMIT - 1;
    c[259] = CFG_AER_LIMIT - 1;
    c[260] = 1u << 1 | 1u;            // FRMW: one slot, read only
    c[261] = 1u << 5 | 1u << 2 | 1u << 1;  // LPA: supported log pages; extended data; commands supported and effects
    c[262] = CFG_ERROR_LOG - 1;
    put16(c + 266, CFG_TEMP_WARNING);
    put16(c + 268, CFG_TEMP_CRITICAL);
    put64(c + 280, (uint64_t)HW->MEDIA_PAGES_HI << 44 | (uint64_t)HW->MEDIA_PAGES_LO << 12);  // TNVMCAP
    put16(c + 320, CFG_KEEP_ALIVE_100MS);
    c[512] = 0x66;
    c[513] = 0x44;
    put32(c + 516, num_ns);           // NN
    put32(c + 540, num_ns);           // MNAN
    // ONCS: Verify, Timestamp, Select, Write Zeroes, Dataset Management, Compare
    put16(c + 520, 1u << 7 | 1u << 6 | 1u << 4 | 1u << 3 | 1u << 2 | 1u);
    c[524] = csd_slots ? 1u << 2 : 0;  // FNA: cryptographic erase
    c[525] = 3u << 1 | 1u;            // VWC: there is one; Flush takes the broadcast NSID
    uint32_t n = sizeof CFG_NQN - 1;
    put_text(c + 768, CFG_NQN, n);
    uint8_t id[16];
    put_uuid(id);
    for (uint32_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            c[768 + n++] = '-';
        c[768 + n++] = (uint8_t)"0123456789abcdef"[id[i] >> 4];
        c[768 + n++] = (uint8_t)"0123456789abcdef"[id[i] & 15u];
    }
}

static uint32_t identify_controller(const cmd_t *cmd)
{
    data_t d;
    put64(controller + 296, ns_free_bytes());  // UNVMCAP
    uint32_t status = data_open(&d, cmd, PAGE);
    if (status == ST_SUCCESS)
        status = data_put(&d, controller, CONTROLLER_BYTES);
    if (status == ST_SUCCESS)
        status = data_zero(&d, 2048 - CONTROLLER_BYTES);
    if (status == ST_SUCCESS)
        status = data_put(&d, power_state, sizeof power_state);
    if (status == ST_SUCCESS)
        status = data_zero(&d, PAGE - 2048 - sizeof power_state);
    return status;
}

/// The NSIDs above that of the command, of those that are active, or of all that exist.
static uint32_t namespace_list(const cmd_t *cmd, bool (*wanted)(uint32_t))
{
    uint32_t n = 0;
    if (cmd_nsid(cmd) >= NVME_NSID_ALL - 1)
        return ST_INVALID_NS;
    for (uint32_t i = 1; i <= num_ns; i++) {
        if (i > cmd_nsid(cmd) && wanted(i)) {
            put32(page + n, i);
            n += 4;
        }
    }
    return data_send(cmd, n, PAGE);
}

static uint32_t identify_namespace(const cmd_t *cmd, bool (*wanted)(uint32_t))
{
    uint32_t nsid = cmd_nsid(cmd);
    memset(page, 0, 192);
    if (nsid == NVME_NSID_ALL) {
        page[25] = 1;  // what all namespaces have in common: two formats
    } else if (nsid == 0 || nsid > num_ns) {
        return ST_INVALID_NS;
    } else if (!wanted(nsid)) {
        return data_send(cmd, 0, PAGE);
    } else {
        put64(page + 0, ns_blocks(nsid));
        put64(page + 8, ns_blocks(nsid));
        put64(page + 16, ns_blocks(nsid));
        page[25] = 1;
        page[26] = ns_lba4k(nsid);
        put64(page + 48, ns_bytes(nsid));  // NVMCAP
        put_nguid(page + 104, nsid);
        if (ns_generation(nsid) == 0)
            put_eui64(page + 120, nsid);
    }
    page[33] = 1u << 3 | 1u;     // DLFEAT: Write Zeroes deallocates; deallocated blocks read as zeros
    put32(page + 128, 9u << 16 | 1u << 24);
    put32(page + 132, 12u << 16);
    return data_send(cmd, 192, PAGE);
}

static uint8_t *descriptor(uint8_t *at, uint32_t type, uint32_t length)
{
    put32(at, type | length << 8);
    return at + 4;
}

static uint32_t namespace_descriptors(const cmd_t *cmd)
{
    uint32_t nsid = cmd_nsid(cmd);
    if (!ns_active(nsid))
        return ST_INVALID_NS;
    memset(page, 0, 64);
    uint8_t *at = page;
    if (ns_generation(nsid) == 0) {
        put_eui64(descriptor(at, 1, 8), nsid);
        at += 12;
    }
    put_nguid(descriptor(at, 2, 16), nsid);
    put_ns_uuid(descriptor(at + 20, 3, 16), nsid);
    descriptor(at + 40, 4, 1);   // command set 0: NVM
    return data_send(cmd, 60, PAGE);
}

/// Controllers from CNTID on, that a namespace is attached to, or all: there is one.
static uint32_t controller_list(const cmd_t *cmd, bool is_in)
{
    bool there = is_in && cmd->dw[10] >> 16 <= CFG_CNTLID;
    put32(page, there ? 1u | CFG_CNTLID << 16 : 0);
    return data_send(cmd, 4, PAGE);
}

uint32_t identify(const cmd_t *cmd)
{
    uint32_t nsid = cmd_nsid(cmd), csi = cmd->dw[11] >> 24;
    switch (cmd->dw[10] & 0xffu) {
    case 0x00: return identify_namespace(cmd, ns_active);
    case 0x01: return identify_controller(cmd);
    case 0x02: return namespace_list(cmd, ns_active);
    case 0x03: return namespace_descriptors(cmd);
    case 0x05: case 0x1b:  // namespace, active or any, of a command set: NVM says nothing more without protection information
        if (csi)
            return ST_INVALID_FIELD;
        if ((nsid == 0 || nsid > num_ns) && nsid != NVME_NSID_ALL)
            return ST_INVALID_NS;
        return data_send(cmd, 0, PAGE);
    case 0x06:  // controller, of a command set: no limit beside MDTS
        return csi ? (uint32_t)ST_INVALID_FIELD : data_send(cmd, 0, PAGE);
    case 0x07: return csi ? (uint32_t)ST_INVALID_FIELD : namespace_list(cmd, ns_active);
    case 0x08:  // namespace, whatever the command set
        if ((nsid == 0 || nsid > num_ns) && nsid != NVME_NSID_ALL)
            return ST_INVALID_NS;
        memset(page, 0, 16);
        page[14] = nsid == NVME_NSID_ALL || ns_active(nsid);  // NSTAT: ready
        return data_send(cmd, 16, PAGE);
    case 0x10: return namespace_list(cmd, ns_exists);
    case 0x11: return nsid == NVME_NSID_ALL ? (uint32_t)ST_INVALID_FIELD : identify_namespace(cmd, ns_exists);
    case 0x12:
        if (!ns_exists(nsid))
            return ns_check_exists(nsid);
        return controller_list(cmd, ns_active(nsid));
    case 0x13: return controller_list(cmd, true);
    case 0x1a: return csi ? (uint32_t)ST_INVALID_FIELD : namespace_list(cmd, ns_exists);
    case 0x1c:  // command sets that can be enabled together: NVM
        put64(page, 1);
        return data_send(cmd, 8, PAGE);
    default:
        return ST_INVALID_FIELD;
    }
}
