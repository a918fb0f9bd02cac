// SPDX-License-Identifier: Apache-2.0
// What the command lines of the tools have in common.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"

int near_bad(const char* tool, const char* text, const char* what) {
    fprintf(stderr, "%s: %s%s (%s --help says more)\n", tool, text, what, tool);
    return 2;
}

bool near_number(const char* text, long least, long most, int* to) {
    char* rest;
    errno = 0;
    long v = strtol(text, &rest, 10);
    *to = (int)v;
    return *text && !*rest && !errno && v >= least && v <= most;
}

int near_finish(const char* tool, int status) {
    if (!fflush(stdout) && !ferror(stdout)) return status;
    fprintf(stderr, "%s: cannot write: %s\n", tool, strerror(errno));
    return 2;
}
