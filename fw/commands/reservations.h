// SPDX-License-Identifier: Apache-2.0
// Reservation Register, Acquire, Release and Report, which are I/O commands, and what else hosts see of reservations:
// features 81h to 83h, log page 80h (Base 2.0, 7.2 to 7.5, 8.19; 5.27.1.25 to 5.27.1.27; 5.16.1.24. Base 2.1 and 2.2, 7.5 to
// 7.8, 8.1.22; 5.1.25.1.28 to 5.1.25.1.30; 5.1.12.1.32).
#ifndef RESERVATIONS_H
#define RESERVATIONS_H

#include "commands/command.h"

/// Of any of the four. WAIT with r->step 0: nothing has been read or done yet.
handler_t reservation_command;

handler_t host_id_set, host_id_get;
handler_t notice_mask_set, notice_mask_get;
handler_t persistence_set, persistence_get;
#define NOTICE_BYTES 64u
handler_t notice_page;

#endif
