// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.h"

#include "base/bytes.h"
#include "hw/hw.h"

/// Read the list entry at d->prp2, and nothing beside it, and step over it.
static uint32_t next_entry(data_t* d, uint64_t* entry) {
    if (!hw_copy(COPY_GET, d->function, d->prp2, d->buffers->line, 8)) return ST_DATA_TRANSFER;
    *entry = (uint64_t)d->buffers->line[1] << 32 | d->buffers->line[0];
    d->prp2 += 8;
    return *entry ? ST_SUCCESS : (uint32_t)ST_INVALID_FIELD;
}

#if FUNCTIONS > 1
/// Look at the descriptor in d->words: checks and their order are those of db_nvme_sgl_walk.
static uint32_t look(data_t* d) {
    enum { BLOCK = 0x00, BUCKET = 0x10, SEGMENT = 0x20, LAST_SEGMENT = 0x30 };  // type and subtype
    uint32_t address = d->words[0], length = d->words[2], kind = d->words[3] >> 24;
    if ((kind | 0x10u) == LAST_SEGMENT) {
        if (d->segment) return ST_SGL_COUNT;
        if (d->last || !length || (length & 15u) || (address & 7u)) return ST_SGL_SEGMENT;
        d->last = kind == LAST_SEGMENT;
        d->segment = length;
        d->prp2 = (uint64_t)d->words[1] << 32 | address;
        return ST_SUCCESS;
    }
    if (kind & ~0x10u) return ST_SGL_TYPE;
    d->bucket = kind == BUCKET;
    if (d->bucket) {
        if (!d->to_host) return ST_SUCCESS;  // it is nothing
        address = 0;
    }
    if ((address | length) & 3u) return ST_SGL_GRANULARITY;
    d->at = (uint64_t)d->words[1] << 32 | address;
    d->block = length;
    return ST_SUCCESS;
}

/// Go on to the next descriptor with data once the block is used up, or to the next page of it.
static uint32_t next_block(data_t* d) {
    while (!d->block) {
        if (!d->segment) return ST_SGL_LENGTH;
        if (!d->descriptors--) return ST_SGL_COUNT;
        for (uint32_t i = 0; i < 4; i += 2) {  // it may lie across two pages
            if (!hw_copy(COPY_GET, d->function, d->prp2, d->buffers->line, 8)) return ST_DATA_TRANSFER;
            d->words[i] = d->buffers->line[0];
            d->words[i + 1] = d->buffers->line[1];
            d->prp2 += 8;
            d->segment -= 8;
        }
        uint32_t status = look(d);
        if (status != ST_SUCCESS) return status;
    }
    d->room = PAGE_SIZE - ((uint32_t)d->at & (PAGE_SIZE - 1));
    if (d->room > d->block) d->room = d->block;
    d->block -= d->room;
    return ST_SUCCESS;
}
#endif

uint32_t data_open(data_t* d, struct buffers* buffers, const cmd_t* cmd, uint32_t bytes) {
    uint64_t prp1 = cmd_prp1(cmd);
    d->buffers = buffers;
    d->function = cmd->function;
    d->at = prp1;
    d->left = bytes;
    d->prp2 = cmd_prp2(cmd);
#if FUNCTIONS > 1
    d->sgl = cmd_sgl(cmd);
    d->bucket = false;
    if (d->sgl) {
        d->to_host = cmd_to_host(cmd);
        d->last = false;
        d->descriptors = SGL_DESCRIPTORS;
        d->segment = d->block = d->room = 0;
        for (uint32_t i = 0; i < 4; i++) d->words[i] = cmd->dw[6 + i];
        return look(d);
    }
#endif
    if (prp1 & 3u) return ST_PRP_OFFSET;
    d->room = PAGE_SIZE - ((uint32_t)prp1 & (PAGE_SIZE - 1));
    d->list = false;
    if (bytes > d->room) {
        d->list = bytes - d->room > PAGE_SIZE;
        if (d->prp2 == 0) return ST_INVALID_FIELD;  // it is needed, and was not given
        if (d->prp2 & (d->list ? 7u : PAGE_SIZE - 1)) return ST_PRP_OFFSET;
    }
    return ST_SUCCESS;
}

/// Go on to the next page once this one is full.
static uint32_t next_page(data_t* d) {
    if (d->room || !d->left) return ST_SUCCESS;
#if FUNCTIONS > 1
    if (d->sgl) return next_block(d);
#endif
    if (d->list) {
        uint64_t entry;
        // The last entry of a page of the list is more data, or where the list goes on.
        bool chains = ((uint32_t)d->prp2 & (PAGE_SIZE - 1)) == PAGE_SIZE - 8 && d->left > PAGE_SIZE;
        uint32_t status = next_entry(d, &entry);
        if (status == ST_SUCCESS && chains) {
            if (entry & (PAGE_SIZE - 1)) return ST_PRP_OFFSET;
            d->prp2 = entry;
            status = next_entry(d, &entry);
        }
        if (status != ST_SUCCESS) return status;
        d->at = entry;
    } else {
        d->at = d->prp2;
    }
    d->room = PAGE_SIZE;
    return d->at & (PAGE_SIZE - 1) ? ST_PRP_OFFSET : ST_SUCCESS;
}

static uint32_t move(data_t* d, uint32_t op, const uint8_t* ram, uint32_t bytes) {
    while (bytes) {
        uint32_t status = next_page(d);
        if (status != ST_SUCCESS) return status;
        uint32_t n = bytes < d->room ? bytes : d->room;
#if FUNCTIONS > 1
        if (!d->bucket)
#endif
            if (!hw_copy(op, d->function, d->at, ram, n)) return ST_DATA_TRANSFER;
        d->at += n;
        d->room -= n;
        d->left -= n;
        bytes -= n;
        ram += n;
    }
    return ST_SUCCESS;
}

uint32_t data_put(data_t* d, const uint8_t* ram, uint32_t bytes) { return move(d, COPY_PUT, ram, bytes); }

uint32_t data_zero(data_t* d, uint32_t bytes) { return move(d, COPY_ZERO, d->buffers->page, bytes); }

static uint32_t get(data_t* d, uint32_t* words, uint32_t bytes) {
    while (bytes) {
        uint32_t status = next_page(d);
        if (status != ST_SUCCESS) return status;
        uint32_t n = bytes < d->room ? bytes : d->room;
        if (n > sizeof d->buffers->line) n = sizeof d->buffers->line;
        if (!hw_copy(COPY_GET, d->function, d->at, d->buffers->line, n)) return ST_DATA_TRANSFER;
        for (uint32_t i = 0; i < n >> 2; i++) *words++ = d->buffers->line[i];
        d->at += n;
        d->room -= n;
        d->left -= n;
        bytes -= n;
    }
    return ST_SUCCESS;
}

uint32_t data_receive(struct buffers* buffers, const cmd_t* cmd, uint32_t* words, uint32_t bytes, uint32_t total) {
    data_t d;
    uint32_t status = data_open(&d, buffers, cmd, total);
    return status == ST_SUCCESS ? get(&d, words, bytes) : status;
}

void data_forget(struct buffers* buffers) { memset(buffers->line, 0, sizeof buffers->line); }

uint32_t data_send(struct buffers* buffers, const cmd_t* cmd, uint32_t bytes, uint32_t total) {
    data_t d;
    uint32_t status = data_open(&d, buffers, cmd, total);
    if (status == ST_SUCCESS) status = data_put(&d, buffers->page, bytes);
    if (status == ST_SUCCESS) status = data_zero(&d, total - bytes);
    return status;
}
