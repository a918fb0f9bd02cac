// SPDX-License-Identifier: Apache-2.0
#ifndef VIRTUAL_DRIVE_H
#define VIRTUAL_DRIVE_H

#include "commands/command.h"

/// Where namespaces are on the SSDs (docs/vcsd/administration.md).
handler_t virtual_drive;

#endif
