// SPDX-License-Identifier: Apache-2.0
// Asynchronous events of a function: requests that wait for one, and events that wait for a request (Base 2.0, 5.2).
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/nvme.h"

#define EVENT_RESERVATION 3u                 // of AER_TYPE_IO_COMMAND_SET: where there are several functions
#define AER_TYPES (FUNCTIONS > 1 ? 4u : 3u)  // AER_TYPE_ERROR, SMART, NOTICE, and this

#if FUNCTIONS == 1
typedef uint32_t event_t;
#else
typedef uint8_t event_t;
#endif

struct events {
    event_t function;  // whose they are
    uint16_t cid[CFG_AER_LIMIT];
    event_t waiting;          // requests
    event_t info[AER_TYPES];  // 1 + information of an event that waits
    bool masked[AER_TYPES];   // reported, and its log page not read yet
};

void events_reset(struct events* events);
void event_report(struct events* events, uint32_t type, uint32_t info);
/// The log page of such events has been read.
void event_unmask(struct events* events, uint32_t type);
/// A request comes. False: there are enough.
bool event_request(struct events* events, uint32_t cid);
/// A request is aborted. False: there is none of this identifier.
bool event_abort(struct events* events, uint32_t cid);

#endif
