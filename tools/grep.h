// SPDX-License-Identifier: Apache-2.0
// dbgrep: strings, and lines that lie across parts of a file.
#ifndef GREP_H
#define GREP_H

#include "near.h"

// ---- grep_match.c: fixed strings

struct strings {
    uint8_t** text;
    size_t* bytes;
    size_t count, longest;
    bool fold;  // upper and lower case of ASCII are the same
};

void strings_add(struct strings* s, const char* lines);  // each line of the argument, as grep has it
void strings_ready(struct strings* s);                   // behind the last one
void strings_free(struct strings* s);
bool strings_in(const struct strings* s, const uint8_t* data, size_t bytes);
// The program of Load Program: its bytes, or 0 with a reason in *why.
uint32_t strings_program(const struct strings* s, bool where, bool invert, uint8_t* to, const char** why);
// What a drive with that program would say of these data.
uint32_t strings_result(const struct strings* s, bool where, bool invert, const uint8_t* data, uint32_t bytes,
                        uint8_t* result);

// ---- grep_lines.c: lines of a file from the results of its parts

struct lines {
    const struct strings* strings;
    bool invert, where, numbers;  // numbers: of lines; else `line` is told none
    // A line that counts: bytes start to end of the file, and how many line ends came before. 0 or -errno.
    int (*line)(void* context, uint64_t start, uint64_t end, uint64_t number);
    void* context;
    const struct near_file* file;
    uint64_t counted, ended;  // so far: lines that count, line ends
    // The line that has begun and not ended yet. Its start is in low to high.
    bool open, has;
    uint64_t low, high;
    uint8_t* tail;  // its last bytes: fewer than the longest string
    size_t tail_bytes;
    uint8_t* seam;  // room for a seam
    // A window of the file.
    uint8_t* window;
    uint64_t window_at;
    size_t window_bytes;
};

void lines_begin(struct lines* l, const struct near_file* f);
int lines_take(struct lines* l, const struct near_part* p, const uint8_t* result, uint32_t bytes);
int lines_end(struct lines* l);  // the last line, if it has no line end
void lines_free(struct lines* l);
// What of the bytes from `at` on is in the window: how many, fewer than `most`; or -errno.
ssize_t lines_window(struct lines* l, uint64_t at, uint64_t most, const uint8_t** data);
int lines_ends_in(struct lines* l, uint64_t from, uint64_t to, uint64_t* count);  // line ends there

#endif
