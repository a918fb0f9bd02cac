// SPDX-License-Identifier: Apache-2.0
#include "commands/near.h"

#include "base/config.h"
#include "hw/near.h"
#include "hw/operators.h"
#include "hw/slots.h"
#include "state/key_slots.h"

enum { HEAD_BYTES = 16, STRINGS = 8, STRING_BYTES = 64, PIECE_BYTES = 16, CELL_WORDS = 5, CHAIN_MOST = 8 };
enum { FOLD = 1u << 0, WHERE = 1u << 1, LINES = 1u << 3 };  // flags of a Grep
enum { BEGINS = 1u << 8, ENDS = 1u << 9 };  // of the piece in a cell: it is the first, the last of its string
enum { NOTHING = 1u << 8 };                 // behind a piece in its cell: no byte, and zero as one
enum { BITMAP = 1u << 16 };                 // of a Filter's first word; its predicates' alternatives stand above it
enum { LESS = 1, EQUAL = 2, GREATER = 4, WANTED_SHIFT = 3 };  // what is true

static void forget(uint32_t place, uint32_t which) {
    hw_near_first(place, which, 0);
    hw_bind_program(place, which, OP_PASS, 0);
}

void near_reset(const struct function* fn) {
    for (uint32_t n = hw_near_programs(); n--;) forget(fn->hw.place, n);
}

// ---------------------------------------------------------------- operators of a program
// What follows says of each how many words the hardware gets, then makes them, and says how many bytes of the program it
// takes; 0: it is none. Words go to the hardware while they are made: it has no program before its first word.
static uint32_t lower(uint32_t c, uint32_t flags) { return (flags & FOLD) && c - 'A' < 26u ? c + ('a' - 'A') : c; }

SMALL static uint32_t words_of(const uint32_t* head) {
    switch (head[0] & 0xffu) {
        case NEAR_GREP: return 1 + CELL_WORDS * hw_near_cells();
        case NEAR_AGGREGATE: return 3;
        case NEAR_FILTER: return 1 + 4 * NEAR_PREDICATES + (head[1] >> 16);
        default: return 1;
    }
}

SMALL static uint32_t csv(const uint32_t* head) {
    uint32_t separator = head[1] & 0xffu, line_end = head[1] >> 8 & 0xffu;
    if (separator == line_end || head[1] >> 24 || head[2] || head[3]) return 0;
    hw_near_word(head[1]);
    return HEAD_BYTES;
}

SMALL static uint32_t grep(const uint32_t* head, uint32_t bytes) {
    const uint8_t *length = (const uint8_t*)(head + 2), *string = length + STRINGS;
    uint32_t flags = head[1], strings = flags >> 16, cells = hw_near_cells(), word = 0, left = bytes - HEAD_BYTES;
    uint32_t line_end = lower(flags >> 8 & 0xffu, flags);
    if ((flags & 0xf0u) || ((flags & LINES) && (flags & WHERE)) || strings - 1 >= STRINGS) return 0;
    hw_near_word(flags & 0xffffu);
    for (uint32_t i = 0; i < STRINGS; i++) {
        uint32_t n = length[i];
        if (n > STRING_BYTES || n > left || (n != 0) != (i < strings)) return 0;
        left -= n;
        for (uint32_t k = 0; k < n || k % PIECE_BYTES; k++) {
            uint32_t c = k < n ? lower(string[k], flags) : NOTHING;
            if (c == line_end) return 0;
            word = word >> 8 | c << 24;
            if (k % 4 == 3) hw_near_word(word);
            if (k % PIECE_BYTES != PIECE_BYTES - 1) continue;
            if (cells-- == 0) return 0;
            hw_near_word((k < n ? PIECE_BYTES : n % PIECE_BYTES) | (k < PIECE_BYTES ? BEGINS : 0) |
                         (k + 1 < n ? 0 : ENDS));
        }
        string += n;
    }
    for (uint32_t nothing = CELL_WORDS * cells; nothing; nothing--) hw_near_word(0);
    return bytes - left;
}

SMALL static uint32_t aggregate(const uint32_t* head) {
    uint32_t type = head[1], record = head[2] & 0xffffu, column = head[2] >> 16;
    if (type > 7 || head[3] || column + (1u << (type & 3u)) > record) return 0;
    hw_near_word(type);
    hw_near_word(record);
    hw_near_word(column);
    return HEAD_BYTES;
}

// A number of a column's type, as the hardware has it: repeated to 64 bits, the highest bit of a signed one turned.
SMALL static bool number(uint32_t type, uint32_t low, uint32_t high) {
    uint32_t bits = 8u << (type & 3u), off = (32u - bits) & 31u, sign = type & 4u ? 0x80000000u : 0;
    if (bits < 64) {
        uint32_t wide = low << off, fill = sign && (wide & sign) ? ~0u : 0;
        if (high != fill || low != (wide >> off | (fill & ~(~0u >> off)))) return false;
        low = (wide ^ sign) >> off;
        for (; bits < 32; bits *= 2) low |= low << bits;
        high = low;
    } else {
        high ^= sign;
    }
    hw_near_word(low);
    hw_near_word(high);
    return true;
}

SMALL static uint32_t filter(const uint32_t* head, uint32_t bytes) {
    // Which of less, equal and greater are true, by comparison, a digit each.
    enum {
        WANTED = LESS << 8 | (LESS | EQUAL) << 12 | EQUAL | (LESS | GREATER) << 4 | GREATER << 16 |
        (EQUAL | GREATER) << 20
    };
    uint32_t bitmap = head[1] & 0xffu, count = head[1] >> 8 & 0xffu, columns = head[1] >> 16;
    uint32_t record = head[2], word = record, from = 0, taken = HEAD_BYTES * (1 + count + (columns != 0));
    const uint32_t* p = head + 4;
    if (bitmap > 1 || count - 1 >= NEAR_PREDICATES || record - 1 >= NEAR_RECORD_MOST || head[3] ||
        columns > (bitmap ? 0 : NEAR_COLUMNS) || bytes < taken)
        return 0;
    for (uint32_t i = 1; i < count; i++) word |= (p[4 * i] >> 16 & 1u) << (16 + i);
    hw_near_word(bitmap ? word | BITMAP : word);
    for (uint32_t i = 0; i < NEAR_PREDICATES; i++) {
        uint32_t type = 0, wanted = LESS | EQUAL | GREATER, column = record - 1, low = 0,
                 high = 0;  // true of any record
        if (i < count) {
            uint32_t comparison = p[0] >> 8 & 0xffu;
            type = p[0] & 0xffu;
            column = p[1];
            low = p[2];
            high = p[3];
            if (type > 7 || comparison > NEAR_NOT_LESS || p[0] >> 16 > (i != 0) || column >= record) return 0;
            wanted = (uint32_t)WANTED >> (4 * comparison) & 7u;
            p += 4;
        }
        uint32_t later = record - column - (1u << (type & 3u));
        if (later > record) return 0;
        hw_near_word(type | wanted << WANTED_SHIFT);
        hw_near_word(column | later << 16);
        if (!number(type, low, high)) return 0;
    }
    for (uint32_t i = 0; columns && i < NEAR_COLUMNS; i++, p++) {
        uint32_t first = p[0] & 0xffffu, size = p[0] >> 16;
        if (i >= columns ? p[0] : first < from || !size || first + size > record) return 0;
        from = first + size;
        if (i < columns) hw_near_word(first | (from - 1) << 16);
    }
    return taken;
}

SMALL static uint32_t hash(const uint32_t* head, bool first) {
    if (head[1] > NEAR_CRC32C || (!first && head[1] != NEAR_CRC32C) || head[2] || head[3]) return 0;
    hw_near_word(head[1]);
    return HEAD_BYTES;
}

// What it gives another operator may get: the lines of a Grep, the records of a Filter.
static bool gives_rows(const uint32_t* head) {
    uint32_t op = head[0] & 0xffu, flags = head[1] & 0xffu;
    return op == NEAR_GREP ? (flags & LINES) != 0 : op == NEAR_FILTER && flags == 0;
}

// Enough slots for operators of which a program has `counts`, a digit each, if all of them are this function's.
SMALL static bool slots_suffice(uint32_t counts) {
    uint32_t slots = hw_slots(), exchanged = hw_slots_exchangeable(), spare = 0;
    for (uint32_t n = slots >> 28, s = 0; s < n; s++) {
        uint32_t op = slots >> (4 * s) & 15u;
        if (exchanged >> s & 1u) spare++;
        else if (counts >> (4 * op) & 15u) counts -= 1u << (4 * op);
    }
    counts &= ~(15u << (4 * NEAR_HASH));
    for (; counts; counts >>= 4) {
        if ((counts & 15u) > spare) return false;
        spare -= counts & 15u;
    }
    return true;
}

// The first word of a program that is no Crypt.
SMALL static uint32_t plain(const uint32_t* head, uint32_t bytes) {
    uint32_t first = 0, words = 0, counts = 0;
    for (uint32_t n = 0; n < CHAIN_MOST; n++) {
        uint32_t op = head[0] & 0xffu, behind = head[0] >> 8, own = words_of(head), taken = 0;
        words += 1 + own;
        if (bytes < HEAD_BYTES || behind > gives_rows(head) || words > hw_near_words()) return 0;
        if (n) hw_near_word(op | (behind ? HW_NEAR_MORE : 0) | HW_NEAR_WORDS(own));
        else first = op | (behind ? HW_NEAR_MORE : 0) | HW_NEAR_WORDS(own);
        if (op == NEAR_GREP) taken = grep(head, bytes);
        if (op == NEAR_AGGREGATE) taken = aggregate(head);
        if (op == NEAR_FILTER) taken = filter(head, bytes);
        if (op == NEAR_CSV) taken = csv(head);
        if (op == NEAR_HASH) taken = hash(head, n == 0);
        if (!taken || !(hw_near_operators() >> op & 1u)) return 0;
        if (op == NEAR_GREP && (head[1] & LINES)) first |= HW_NEAR_LINES;
        counts += 1u << (4 * op);
        if (!behind) return slots_suffice(counts) ? first : 0;
        taken = (taken + HEAD_BYTES - 1) / HEAD_BYTES * HEAD_BYTES;
        bytes = bytes > taken ? bytes - taken : 0;
        head += taken / 4;
    }
    return 0;
}

// CDW10; Program Load has more than the program's number in it.
static uint32_t which_of(const struct request* r) {
    bool standard = SLM && (r->cmd.dw[0] & 0xffu) == ADMIN_OPC_PROGRAM_LOAD;
    return standard ? r->cmd.dw[10] & 0xffffu : r->cmd.dw[10];
}

// What is behind a Crypt is all that the near-storage operators have of it; the rest is the data path's.
SMALL static uint32_t decrypt(const struct request* r, const uint32_t* head, uint32_t bytes) {
    uint32_t mode = head[1] & 0xffu, encrypts = head[1] >> 8 & 0xffu, number = head[1] >> 16;
    uint32_t behind = head[0] >> 8, slot = key_slot_own(r->drive, r->fn, number), first = NEAR_CRYPT;
    const uint32_t parameters[4] = {head[2], head[3], encrypts};
    if (behind > 1 || mode > NEAR_CTR || encrypts > 1 || slot == SLOT_FEATURES || slot >= r->drive->hw.key_slots)
        return 0;
    if (behind && !(first = plain(head + 4, bytes - HEAD_BYTES))) return 0;
    hw_operator_parameters(parameters);
    hw_bind_program(r->fn->hw.place, which_of(r), mode == NEAR_CTR ? OP_AES_CTR : OP_AES_XTS, slot);
    return first;
}

// ---------------------------------------------------------------- the commands
SMALL uint32_t load_program(struct request* r) { return near_load(r, ST_INVALID_FIELD); }

SMALL uint32_t near_load(struct request* r, uint32_t no_program) {
    uint32_t which = which_of(r), bytes = r->cmd.dw[11], place = r->fn->hw.place, first = 0;
    uint32_t* head = (uint32_t*)(void*)page_of(r);
    if (!hw_near_operators()) return ST_INVALID_OPCODE;
    if (which >= hw_near_programs() || bytes > PROGRAM_BYTES) return ST_INVALID_FIELD;
    if (SLM && program_active(r->fn, which)) return ST_PROGRAM_IN_USE;
    if (bytes) {
        uint32_t whole = (bytes + 3u) & ~3u;
        uint32_t status = data_receive(r->drive->buffers, &r->cmd, head, whole, whole);
        if (status != ST_SUCCESS) return status;
    }
    if (SLM) program_loaded(r->fn, which, false);
    forget(place, which);
    if (!bytes) return ST_SUCCESS;
    bool crypts = bytes >= HEAD_BYTES && (head[0] & 0xffu) == NEAR_CRYPT;
    first = crypts ? decrypt(r, head, bytes) : plain(head, bytes);
    if (!first) return no_program;
    hw_near_first(place, which, first);
    if (SLM) program_loaded(r->fn, which, true);
    return ST_SUCCESS;
}

#if SLM
void near_unload(struct function* fn, uint32_t which) {
    program_loaded(fn, which, false);
    forget(fn->hw.place, which);
}
#endif
