// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.h"

#include "base/bytes.h"
#include "hw/hw.h"

uint32_t data_open(data_t* d, struct buffers* buffers, const cmd_t* cmd, uint32_t bytes) {
    uint64_t prp1 = cmd_prp1(cmd);
    if (prp1 & 3u) return ST_PRP_OFFSET;
    d->buffers = buffers;
    d->function = cmd->function;
    d->at = prp1;
    d->room = PAGE_SIZE - ((uint32_t)prp1 & (PAGE_SIZE - 1));
    d->left = bytes;
    d->prp2 = cmd_prp2(cmd);
    d->list = false;
    if (bytes > d->room) {
        d->list = bytes - d->room > PAGE_SIZE;
        if (d->prp2 == 0) return ST_INVALID_FIELD;  // it is needed, and was not given
        if (d->prp2 & (d->list ? 7u : PAGE_SIZE - 1)) return ST_PRP_OFFSET;
    }
    return ST_SUCCESS;
}

/// Read the list entry at d->prp2, and nothing beside it, and step over it.
static uint32_t next_entry(data_t* d, uint64_t* entry) {
    if (!hw_copy(COPY_GET, d->function, d->prp2, d->buffers->line, 8)) return ST_DATA_TRANSFER;
    *entry = (uint64_t)d->buffers->line[1] << 32 | d->buffers->line[0];
    d->prp2 += 8;
    return *entry ? ST_SUCCESS : (uint32_t)ST_INVALID_FIELD;
}

/// Go on to the next page once this one is full.
static uint32_t next_page(data_t* d) {
    if (d->room || !d->left) return ST_SUCCESS;
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
