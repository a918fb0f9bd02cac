// SPDX-License-Identifier: Apache-2.0
// Admin commands and log pages of the Computational Programs command set, and what Identify says of a function's
// namespaces of memory and of programs (docs/csd/programs.md).
//
// Where fields stand in the data structures is this project's reading of the command set: so are the 64 bytes of each log
// page before its first descriptor, and the order of the fields in Identify Namespace.
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "commands/command.h"

/// Program Load (85h), Program Activation Management (88h), Memory Range Set Management (89h).
handler_t program_load, program_activation, memory_range_sets;

#define PROGRAM_LIST_BYTES (64u + PROGRAMS_EACH * 64u)
#define PROGRAM_TYPES_BYTES (64u + 32u)
#define RANGE_SET_LIST_BYTES (64u + RANGE_SETS * 80u)
/// Log pages 82h, 83h and 84h, in the page of the buffers: their bytes.
handler_t program_list_page, program_types_page, range_sets_page;

/// Identify Namespace of command set `csi`, in the page of the buffers: its bytes.
uint32_t own_identify(struct request* r, uint32_t csi);

#endif
