// SPDX-License-Identifier: Apache-2.0
// Reservation Register, Acquire, Release and Report, which are I/O commands, and what else hosts see of reservations:
// features 81h to 83h, log page 80h (Base 2.0, 7.2 to 7.5, 8.19; 5.27.1.25 to 5.27.1.27; 5.16.1.22).
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
