// SPDX-License-Identifier: Apache-2.0
// Command D0h of db_vcsd: who has an SSD behind the card; its owner hands over a queue pair (docs/vcsd/hand-over.md).
#ifndef SSD_H
#define SSD_H

#include "commands/command.h"

handler_t ssd_command;

#endif
