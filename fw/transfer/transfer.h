// SPDX-License-Identifier: Apache-2.0
// Data of a command to and from host memory, through PRP1, PRP2 and PRP lists (Base 2.0, 4.1.1), or an SGL (4.1.2), which
// I/O commands may have.
//
// All functions return the status of the command so far.
#ifndef TRANSFER_H
#define TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/nvme.h"

/// Memory that the copy engine reads and writes, for one command at a time. Written before it is read.
struct buffers {
    uint8_t page[PAGE_SIZE] __attribute__((aligned(64)));  // data on its way to the host is built here
    uint32_t line[16] __attribute__((aligned(64)));        // up to 64 bytes read from the host
#if FUNCTIONS == 1
    uint32_t settings[PAGE_SIZE / 4];  // on their way to the media
#endif
};

enum { SGL_DESCRIPTORS = 32 };  // beside that in the command

typedef struct {
    struct buffers* buffers;
    uint32_t function;
    uint32_t left;  // bytes not yet moved
    uint32_t room;  // bytes left in this page
    uint64_t at;    // host address
    uint64_t prp2;
    bool list;  // prp2 points into a list
#if FUNCTIONS > 1
    bool sgl;  // prp2 points to its next descriptor
    bool to_host;
    bool last;             // the segment is the last
    bool bucket;           // data goes nowhere
    uint32_t descriptors;  // that may be read
    uint32_t segment;      // bytes of it that have not been read
    uint32_t block;        // bytes of it beyond this page
    uint32_t words[4];     // a descriptor
#endif
} data_t;

/// Nothing beside the buffer is read or written. Without a PRP that is needed a command ends with Invalid Field. Of an SGL
/// SGL_DESCRIPTORS are read, then the command ends: each takes a turn of the copy engine, while others wait.
uint32_t data_open(data_t* d, struct buffers* buffers, const cmd_t* cmd, uint32_t bytes);
uint32_t data_put(data_t* d, const uint8_t* ram, uint32_t bytes);
uint32_t data_zero(data_t* d, uint32_t bytes);
/// The first `bytes` of the data of a command that brings `total`.
uint32_t data_receive(struct buffers* buffers, const cmd_t* cmd, uint32_t* words, uint32_t bytes, uint32_t total);
/// Send the first `bytes` of the page as `total` bytes, zeros behind them.
uint32_t data_send(struct buffers* buffers, const cmd_t* cmd, uint32_t bytes, uint32_t total);
/// Leave nothing of what `data_receive` has read.
void data_forget(struct buffers* buffers);

#endif
