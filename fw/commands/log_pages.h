// SPDX-License-Identifier: Apache-2.0
// Get Log Page (Base 2.0, 5.16).
#ifndef LOG_PAGES_H
#define LOG_PAGES_H

#include "commands/command.h"

handler_t get_log_page;

#endif
